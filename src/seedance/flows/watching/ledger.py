"""Sights of objects to versions: what changed, since when, and what ended.

The flow: a sight is normalised and compared with the open version of the same object. Equal:
nothing. Different: the open version ends and a new one begins at the moment of the sight. The
first version begins at the object's creation, also when it was first seen later. A deletion ends
the last version at the moment it was seen, or, where nobody saw it, at an estimate.

Pure: no store, no clock. Versions wait in `pending` until they are written; then `forget` them. The
facts of open versions are kept packed, since they are needed only when one ends.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from seedance.facts.inventory import (
    ClusterId,
    Ended,
    Node,
    ObjectVersion,
    Pod,
    Uid,
)
from seedance.facts.window import parse_instant
from seedance.intake.inventory import Facts, normalise
from seedance.intake.pods import TERMINAL_PHASES

METRICS_PATH = "metrics.k8s.io/resource-metrics-path"
"""Annotation of a node: where its kubelet serves resource metrics, as metrics-server reads it."""

_TICK = timedelta(milliseconds=1)  # the resolution of the store
_ENDED_KEPT = 20_000
_LIVED = ("scheduled", "started", "finished")  # not the deletion, which may be in the future

Doc = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A sight of an object: in a list (ADDED), in a watch, or written by a demo or a test."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    kind: str
    document: Mapping[str, Any]
    observed: datetime


@dataclass(frozen=True, slots=True)
class End:
    """When an object ended, and whether that was seen or estimated."""

    at: datetime
    ended: Ended = "seen"


@dataclass(slots=True)
class _Open:
    kind: str
    namespace: str
    name: str
    created: datetime
    valid_from: datetime
    digest: bytes
    packed: bytes
    node: str = ""
    terminal: bool = False
    metrics_path: str = ""

    def doc(self) -> Doc:
        found: Doc = json.loads(zlib.decompress(self.packed))
        return found


class Ledger:
    """The open versions of one cluster's objects. Not thread-safe."""

    def __init__(self, cluster: ClusterId, versions: Iterable[ObjectVersion] = ()) -> None:
        self.cluster = cluster
        self.pending: dict[tuple[Uid, datetime], ObjectVersion] = {}
        self.since: datetime | None = None
        """The earliest instant about which something waiting in `pending` is news."""
        self._open: dict[Uid, _Open] = {}
        self._ended: dict[Uid, End] = {}
        for version in versions:
            self._open[version.uid] = _opened(version)

    def sight(self, event: Event) -> None:
        """Take an object that lives.

        Raises:
            IntakeError: if the document cannot be read; the ledger is unchanged.
        """
        uid, entry, facts = self._read(event)
        doc = facts.to_doc()
        text = _text(doc)
        digest = _digest(text)
        if entry is None:
            start = self._start(uid, facts, event.observed)
            self._begin(uid, event, facts, start, (doc, text, digest))
            self._news(start, *_instants(doc))
        elif digest != entry.digest:
            start = max(event.observed, entry.valid_from + _TICK)
            before = entry.doc()
            self._close(uid, entry, End(start, ""), before)
            self._begin(uid, event, facts, start, (doc, text, digest))
            self._news(start, *(_instants(doc) - _instants(before)))

    def gone(self, event: Event, *, end: End | None = None) -> ObjectVersion | None:
        """Take a deletion: what the object was last is kept, as a version of its own if need be.

        Returns:
            The version that ended; None if it had ended before.

        Raises:
            IntakeError: if the document cannot be read; the ledger is unchanged.
        """
        end = end or End(event.observed)
        uid, entry, facts = self._read(event)
        if uid in self._ended:
            return None
        doc = facts.to_doc()
        if entry is None:
            start = facts.created
        elif _digest(_text(doc)) == entry.digest:
            return self.end(uid, end)
        else:
            before = entry.doc()
            start = max(end.at - _TICK, entry.valid_from + _TICK)
            self._close(uid, entry, End(start, ""), before)
            self._news(*(_instants(doc) - _instants(before)))
        metadata = event.document["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace") or ""
        self._open[uid] = _Open(
            kind=event.kind,
            namespace=namespace,
            name=name,
            created=facts.created,
            valid_from=start,
            digest=b"",
            packed=zlib.compress(_text(doc), 1),
        )
        self._news(start)
        return self.end(uid, end)

    def end(self, uid: Uid, end: End) -> ObjectVersion:
        """End an open version, never before it began; an estimated end may be corrected later.

        Returns:
            The version that ended.
        """
        entry = self._open.pop(uid)
        end = replace(end, at=max(end.at, entry.valid_from + _TICK))
        version = self._close(uid, entry, end, entry.doc())
        self._news(end.at)
        self._ended[uid] = end
        if len(self._ended) > _ENDED_KEPT:
            del self._ended[next(iter(self._ended))]
        return version

    def correct(self, version: ObjectVersion, at: datetime) -> ObjectVersion | None:
        """Move an estimated end; None if the object was seen again meanwhile."""
        if version.uid in self._open:
            return None
        self._ended[version.uid] = End(at, "estimated")
        moved = replace(version, valid_to=at)
        self.pending[version.uid, version.valid_from] = moved
        self._news(at, version.valid_to or at)
        return moved

    def ended(self, uid: Uid) -> bool:
        """Whether the object is one of those that ended lately."""
        return uid in self._ended

    def forget(self, written: Iterable[ObjectVersion]) -> None:
        """Take versions that are written off the list of those that wait."""
        for version in written:
            key = (version.uid, version.valid_from)
            if self.pending.get(key) is version:
                del self.pending[key]
        if not self.pending:
            self.since = None

    def known(self, kind: str) -> set[Uid]:
        """Objects of a kind that live."""
        return {uid for uid, entry in self._open.items() if entry.kind == kind}

    def counts(self) -> dict[str, int]:
        """How many objects live, by kind."""
        found: dict[str, int] = {}
        for entry in self._open.values():
            found[entry.kind] = found.get(entry.kind, 0) + 1
        return found

    def named(self, uid: Uid) -> tuple[str, str]:
        """Namespace and name of an object that lives."""
        entry = self._open[uid]
        return entry.namespace, entry.name

    def facts_until(self, uid: Uid, at: datetime) -> datetime:
        """The newest instant, up to `at`, at which an object that lives is known to have lived."""
        entry = self._open[uid]
        told = (entry.valid_from, *_walk(entry.doc(), _LIVED))
        return max((instant for instant in told if instant <= at), default=at)

    def births(self, *, but: Collection[Uid]) -> dict[tuple[str, str], datetime]:
        """When the pods that live, `but` some, were created, by namespace and name."""
        return {
            (entry.namespace, entry.name): entry.created
            for uid, entry in self._open.items()
            if entry.kind == "Pod" and uid not in but
        }

    def pods_on_nodes(self) -> dict[str, set[tuple[str, str]]]:
        """Namespace and name of the pods that run, by node."""
        found: dict[str, set[tuple[str, str]]] = {}
        for entry in self._open.values():
            if entry.node and not entry.terminal:
                found.setdefault(entry.node, set()).add((entry.namespace, entry.name))
        return found

    def metrics_paths(self) -> dict[str, str]:
        """By node: the path of its resource metrics, "" for the usual one."""
        nodes = (entry for entry in self._open.values() if entry.kind == "Node")
        return {entry.name: entry.metrics_path for entry in nodes}

    def _read(self, event: Event) -> tuple[Uid, _Open | None, Facts]:
        facts = normalise(event.kind, event.document)
        uid = Uid(event.document["metadata"]["uid"])
        entry = self._open.get(uid)
        if isinstance(facts, Pod):
            facts = _completed(facts, entry, event.observed)
        return uid, entry, facts

    def _start(self, uid: Uid, facts: Facts, observed: datetime) -> datetime:
        """When a version begins that has none before it.

        That is the creation, but for an object that is back: one whose end was estimated has
        lived on, one that was seen to end was brought back (a restored backup of the cluster).
        """
        end = self._ended.pop(uid, None)
        if end is None:
            return facts.created
        return end.at if end.ended == "estimated" else max(observed, end.at)

    def _begin(
        self,
        uid: Uid,
        event: Event,
        facts: Facts,
        start: datetime,
        written: tuple[Doc, bytes, bytes],
    ) -> None:
        doc, text, digest = written
        metadata = event.document["metadata"]
        entry = _Open(
            kind=event.kind,
            namespace=metadata.get("namespace") or "",
            name=metadata["name"],
            created=facts.created,
            valid_from=start,
            digest=digest,
            packed=zlib.compress(text, 1),
        )
        _point(entry, facts)
        self._open[uid] = entry
        self._write(uid, entry, None, "", doc)

    def _close(self, uid: Uid, entry: _Open, end: End, doc: Doc) -> ObjectVersion:
        return self._write(uid, entry, end.at, end.ended, doc)

    def _write(
        self, uid: Uid, entry: _Open, valid_to: datetime | None, ended: Ended, doc: Doc
    ) -> ObjectVersion:
        version = ObjectVersion(
            cluster=self.cluster,
            kind=entry.kind,
            uid=uid,
            namespace=entry.namespace,
            name=entry.name,
            valid_from=entry.valid_from,
            valid_to=valid_to,
            ended=ended,
            doc=doc,
        )
        self.pending[uid, entry.valid_from] = version
        return version

    def _news(self, *instants: datetime) -> None:
        self.since = min((*instants, self.since) if self.since else instants, default=self.since)


def _completed(pod: Pod, entry: _Open | None, observed: datetime) -> Pod:
    """Instants that the API leaves out, from what was seen.

    A pod that ended without any container's end (evicted before it ran, node lost) ended when
    that was first seen; a pod that is on a node without having been scheduled there by anyone was
    put there when it was created, or when it was first seen there.
    """
    bound = bool(pod.node) and pod.scheduled is None
    over = pod.phase in TERMINAL_PHASES and pod.finished is None
    if not bound and not over:
        return pod
    before = Pod.from_doc(entry.doc()) if entry else None
    if bound:
        first = before.scheduled if before else pod.created
        pod = replace(pod, scheduled=first or observed)
    if over:
        pod = replace(pod, finished=(before.finished if before else None) or observed)
    return pod


def _opened(version: ObjectVersion) -> _Open:
    text = _text(version.doc)
    entry = _Open(
        kind=version.kind,
        namespace=version.namespace,
        name=version.name,
        created=parse_instant(version.doc["created"]),
        valid_from=version.valid_from,
        digest=_digest(text),
        packed=zlib.compress(text, 1),
    )
    if version.kind == "Pod":
        _point(entry, Pod.from_doc(version.doc))
    elif version.kind == "Node":
        _point(entry, Node.from_doc(version.doc))
    return entry


def _point(entry: _Open, facts: Facts) -> None:
    """Keep at hand what is asked for often."""
    if isinstance(facts, Pod):
        entry.node = facts.node
        entry.terminal = facts.phase in TERMINAL_PHASES
    elif isinstance(facts, Node):
        entry.metrics_path = facts.annotations.get(METRICS_PATH, "")


def _text(doc: Mapping[str, Any]) -> bytes:
    return json.dumps(doc, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def _instants(doc: Mapping[str, Any]) -> set[datetime]:
    """Every instant in a document of facts that charged time may depend on."""
    return set(_walk(doc, (*_LIVED, "deletion")))


def _walk(doc: Mapping[str, Any], keys: Iterable[str]) -> Iterator[datetime]:
    for part in (doc, *doc.get("containers", ())):
        for key in keys:
            if part.get(key):
                yield parse_instant(part[key])
