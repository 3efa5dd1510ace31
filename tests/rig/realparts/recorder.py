"""An independent witness: every object of a cluster as its API said it, and when it said so."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event as Signal
from threading import Lock, Thread

from realparts.api import Api, ApiError, Json

PATHS = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "Pod": "/api/v1/pods",
    "Deployment": "/apis/apps/v1/deployments",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "DaemonSet": "/apis/apps/v1/daemonsets",
    "Job": "/apis/batch/v1/jobs",
    "CronJob": "/apis/batch/v1/cronjobs",
}


@dataclass(frozen=True, slots=True)
class Sight:
    """One thing the API said: `event` is ADDED, MODIFIED, DELETED, or UNSEEN after a gap."""

    at: datetime
    event: str
    raw: Json


@dataclass(slots=True)
class Recorder:
    """Watches all kinds of one cluster in threads of its own, from `start` to `stop`."""

    api: Api
    sights: dict[tuple[str, str], list[Sight]] = field(default_factory=dict)
    """What was seen of each (kind, uid), in order."""
    gaps: int = 0
    """How often a watch could not go on where it stood."""
    _stop: Signal = field(default_factory=Signal)
    _lock: Lock = field(default_factory=Lock)

    def start(self) -> None:
        """Start to watch; returns once every kind was listed."""
        for kind, path in PATHS.items():
            version = self._list(kind, path)
            Thread(target=self._follow, args=(kind, path, version), daemon=True).start()

    def stop(self) -> None:
        """Record no more; the threads end with their next event or with the process."""
        self._stop.set()

    def settle(self) -> int:
        """List once more and note what a watch may have missed around a gap; how many that were.

        What an API server says now is the truth about the objects that are there.
        """
        missed = 0
        for kind, path in PATHS.items():
            known = self.of(kind)
            for raw in self.api.get(path)["items"]:
                seen = known.get(raw["metadata"]["uid"], [])
                newest = seen[-1].raw["metadata"]["resourceVersion"] if seen else ""
                if int(newest or 0) < int(raw["metadata"]["resourceVersion"]):
                    self._note(kind, "MODIFIED", raw)
                    missed += 1
        return missed

    def of(self, kind: str) -> dict[str, list[Sight]]:
        """Uid → sights of one kind, as far as they are known now."""
        with self._lock:
            return {
                uid: list(sights) for (known, uid), sights in self.sights.items() if known == kind
            }

    def _follow(self, kind: str, path: str, version: str) -> None:
        while not self._stop.is_set():
            try:
                for event in self.api.watch(path, version=version):
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._note(kind, event["type"], event["object"])
                    if self._stop.is_set():
                        return
            except ApiError as error:
                if error.status == 410:
                    version = self._list_again(kind, path)
                else:
                    time.sleep(0.1)
            except OSError:
                time.sleep(0.1)

    def _list(self, kind: str, path: str) -> str:
        answer = self.api.get(path)
        for raw in answer["items"]:
            self._note(kind, "ADDED", raw)
        return str(answer["metadata"]["resourceVersion"])

    def _list_again(self, kind: str, path: str) -> str:
        """After a gap: new states are noted, objects that are gone get a sight UNSEEN."""
        self.gaps += 1
        try:
            answer = self.api.get(path)
        except (ApiError, OSError):
            return "1"  # too old by now: the next watch comes back here
        present = {raw["metadata"]["uid"] for raw in answer["items"]}
        for uid, sights in self.of(kind).items():
            if uid not in present and sights[-1].event not in ("DELETED", "UNSEEN"):
                self._note(kind, "UNSEEN", sights[-1].raw)
        for raw in answer["items"]:
            self._note(kind, "MODIFIED", raw)
        return str(answer["metadata"]["resourceVersion"])

    def _note(self, kind: str, event: str, raw: Json) -> None:
        sight = Sight(datetime.now(UTC), event, raw)
        with self._lock:
            self.sights.setdefault((kind, raw["metadata"]["uid"]), []).append(sight)
