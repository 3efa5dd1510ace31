"""The Status page: is everything reporting, how late is it, and what to do where it is not.

Parts tell of themselves as plain values; names they lack are simply not shown, so a part can grow
without this page.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from seedance.facts import words
from seedance.facts.window import parse_instant
from seedance.facts.words_phrase import Phrase
from seedance.flows.reporting.answers import Health, SettleOf, StatusAnswer, TableSize
from seedance.web.pages import figures, sentences
from seedance.web.pages.computed import Fact

_HIDDEN = frozenset(
    {"healthy", "reason", "ready", "kinds", "rejected", "left_out", "bodies", "resent"}
)
_LATE_SECONDS = 600
_NODES = 100
_DIGEST = 12
_STRANGERS = 5
"""Names that one hint bears."""


@dataclass(frozen=True, slots=True)
class KindRow:
    """The watch of one kind in one cluster."""

    cluster: str
    kind: str
    look: str
    state: str
    objects: str
    last: str
    detail: str


@dataclass(frozen=True, slots=True)
class StatusPage:
    """Everything the template of the Status page shows."""

    lead: Markup
    ready: bool
    health: list[Health]
    recorder: list[Fact]
    rejected: list[Fact]
    watches: list[KindRow]
    scrapes: list[KindRow]
    sources: list[Fact]
    settles: list[SettleOf]
    store: list[TableSize]
    store_bytes: int
    manifests: list[Fact]
    version: str
    started: datetime | None
    hints: list[Phrase]
    zone: str


def status_page(answer: StatusAnswer, zone: str) -> StatusPage:
    """View values of an answer."""
    return StatusPage(
        lead=_lead(answer, zone),
        ready=answer.ready,
        health=answer.health,
        recorder=_facts("recorder", answer.recorder, zone),
        rejected=_rejected(answer.recorder),
        watches=[row for watch in answer.watches for row in _kinds(watch, zone)],
        scrapes=[row for scrape in answer.scrapes for row in _kinds(scrape, zone)],
        sources=[Fact(words.name(f"door:{k}"), f"{v:,}") for k, v in answer.sources.items()],
        settles=answer.settles,
        store=answer.store,
        store_bytes=sum(table.bytes for table in answer.store),
        manifests=_facts("manifests", answer.manifests, zone),
        version=answer.version,
        started=answer.started,
        hints=_hints(answer),
        zone=zone,
    )


def _lead(answer: StatusAnswer, zone: str) -> Markup:
    if not answer.settles:
        return sentences.sentence("page:unsettled")
    newest = max(settle.ended for settle in answer.settles)
    at = sentences.figure(f"{figures.instant(newest, zone)} {zone}", None)
    ill = [item for item in answer.health if not item.healthy]
    ill_settles = sum(1 for settle in answer.settles if settle.violations)
    if not ill and not ill_settles:
        return sentences.sentence("page:healthy", at=at)
    count = len(ill) + ill_settles
    text = words.name("page:part" if count == 1 else "page:parts").format(n=count)
    return sentences.sentence("page:unhealthy", count=sentences.figure(text, "#health"), at=at)


def _kinds(account: Mapping[str, Any], zone: str) -> Iterable[KindRow]:
    cluster = str(account.get("cluster_name") or account.get("name") or account.get("cluster", ""))
    kinds = account.get("kinds") or _nodes(account)
    if isinstance(kinds, Mapping):
        kinds = [{"kind": name, **_mapping(value)} for name, value in kinds.items()]
    if not kinds:
        kinds = [{**account, "kind": words.name("watch:all")}]
    for kind in kinds:
        yield _kind_row(cluster, _mapping(kind), zone)


def _nodes(account: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Kubelets as rows: those that fail first, as many as a page bears."""
    nodes = [_mapping(node) for node in account.get("nodes", []) if isinstance(node, Mapping)]
    nodes.sort(key=lambda node: (not node.get("error"), str(node.get("node", ""))))
    return [{**node, "kind": str(node.get("node", ""))} for node in nodes[:_NODES]]


def _kind_row(cluster: str, kind: Mapping[str, Any], zone: str) -> KindRow:
    error = str(kind.get("error") or kind.get("reason") or "")
    synced = kind.get("synced", kind.get("healthy", not error))
    look = "off" if kind.get("refused") else "good" if synced else "bad" if error else "warn"
    last = next((kind[name] for name in _LAST if kind.get(name)), None)
    count = next((kind[name] for name in ("objects", "samples", "nodes") if name in kind), "")
    count = len(count) if isinstance(count, list) else count
    return KindRow(
        cluster=cluster,
        kind=str(kind.get("kind", "")),
        look=look,
        state=words.name(f"watch:{look}"),
        objects=f"{count:,}" if isinstance(count, int) else str(count),
        last=_text(last, zone),
        detail=error,
    )


_LAST = ("last_event", "last_seen", "last_success", "last_round")


def _facts(group: str, account: Mapping[str, Any], zone: str) -> list[Fact]:
    found = []
    for name, value in account.items():
        if name in _HIDDEN or isinstance(value, Mapping) or value in (None, "", []):
            continue
        phrase = words.phrase(f"{group}:{name}")
        found.append(
            Fact(phrase.name.replace("_", " "), _shown(name, value, zone), phrase.sentence)
        )
    return found


def _shown(name: str, value: Any, zone: str) -> str:
    if name.endswith("_bytes"):
        return figures.byte_size(value)
    return str(value)[:_DIGEST] if name == "fingerprint" else _text(value, zone)


def _rejected(account: Mapping[str, Any]) -> list[Fact]:
    rejected = _mapping(account.get("rejected"))
    return [
        Fact(words.name(f"rejected:{name}"), f"{count:,}", words.sentence(f"rejected:{name}"))
        for name, count in rejected.items()
        if count
    ]


def _hints(answer: StatusAnswer) -> list[Phrase]:
    found = []
    if not answer.watches:
        found.append("hint:cluster")
    if not answer.sources:
        found.append("hint:usage")
    manifests = answer.manifests
    if not manifests.get("books"):
        found.append("hint:prices")
    if not manifests.get("rules"):
        found.append("hint:owners")
    return [*_stranger_hints(answer), *(words.phrase(code) for code in found)]


def _stranger_hints(answer: StatusAnswer) -> Iterable[Phrase]:
    """The two names that differ, and what makes them one."""
    told = [stranger.word for stranger in answer.strangers]
    known = [str(cluster.get("name") or cluster.get("id", "")) for cluster in answer.clusters]
    names = _some(known) or words.name("hint:unwatched")
    named = [word for word in told if word]
    if named:
        word = shlex.quote(named[0])
        yield _filled("hint:strangers", words=_some(named), names=names, word=word)
    if "" in told and known:
        yield _filled("hint:nameless", names=names, name=known[0])


def _filled(code: str, **values: str) -> Phrase:
    found = words.phrase(code)
    return Phrase(found.name, found.sentence.format(**values), found.step.format(**values))


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:_STRANGERS]) + (", …" if len(texts) > _STRANGERS else "")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any, zone: str) -> str:
    if isinstance(value, bool):
        return words.name("state:yes" if value else "state:no")
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return figures.quantity(value) or ""
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return _instant(str(value), zone) if value else ""


def _instant(text: str, zone: str) -> str:
    try:
        return figures.instant(parse_instant(text), zone)
    except ValueError:
        return text


def is_late(settle: SettleOf) -> bool:
    """Whether a cluster's figures are older than anyone should have to expect."""
    return settle.lag_seconds > _LATE_SECONDS
