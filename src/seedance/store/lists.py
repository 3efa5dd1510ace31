"""Lists of objects for people: filtered, sorted, paged, as they stood at an instant."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from seedance.facts.inventory import ClusterId, ObjectVersion, Uid
from seedance.store.objects import FOREVER
from seedance.store.statements import statement
from seedance.store.store import Store

SORTS = ("name", "namespace", "kind", "age", "node", "cluster")
"""What lists can be sorted by."""

NOT_WORKLOADS = ("Node", "Namespace", "Pod", "PersistentVolumeClaim")
"""Kinds that own no pods."""

WATCHED = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")
"""Kinds of workloads that the inventory holds; one that such a kind owns is not a top one."""


@dataclass(frozen=True, slots=True)
class LabelTest:
    """One requirement of a label selector."""

    key: str
    how: Literal["exists", "absent", "in", "notin"]
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Which:
    """Which objects are meant. `kinds` () with `never` means all kinds but those.

    `top` leaves out what another watched object owns; `whose` is the UID of an owner, `place` the
    name of a node, both for pods.
    """

    kinds: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    namespace: str = ""
    name: str = ""
    top: bool = False
    place: str = ""
    whose: str = ""
    labels: tuple[LabelTest, ...] = ()

    def params(self) -> dict[str, object]:
        """Parameters of the statements of this module."""
        return {
            "kinds": list(self.kinds),
            "never": list(self.never),
            "clusters": list(self.clusters),
            "namespace": self.namespace,
            "name": self.name,
            "top": self.top,
            "known": list(WATCHED),
            "place": self.place,
            "whose": self.whose,
            "keys": [test.key for test in self.labels],
            "ops": [test.how for test in self.labels],
            "sets": [list(test.values) for test in self.labels],
        }


def list_objects(
    store: Store, which: Which, *, at: datetime, limit: int, offset: int, sort: str
) -> tuple[list[ObjectVersion], int]:
    """One page, and how many objects there are; `sort` is one of `SORTS`, `-` for downwards."""
    params = {
        **which.params(),
        "at": at,
        "sort": sort.removeprefix("-"),
        "down": sort.startswith("-"),
        "limit": limit,
        "offset": offset,
    }
    rows = store.engine.rows(statement("report_objects"), params)
    if not rows and offset:  # behind the last page: the total is still asked for
        first = {**params, "limit": 1, "offset": 0}
        counted = store.engine.rows(statement("report_objects"), first)
        return [], counted[0]["found"] if counted else 0
    return _versions(rows), rows[0]["found"] if rows else 0


def list_history(
    store: Store, which: Which, *, at: datetime, limit: int = 100
) -> list[ObjectVersion]:
    """Versions of the objects of a name up to `at`, newest first."""
    params = {**which.params(), "at": at, "limit": limit}
    return _versions(store.engine.rows(statement("report_history"), params))


def series_by_door(store: Store) -> dict[str, int]:
    """Door to the number of series that came through it."""
    return {row["door"]: row["series"] for row in store.engine.rows(statement("report_doors"))}


def cluster_words(store: Store, *, metrics: Sequence[str]) -> set[str]:
    """What series of these metrics name as their cluster, "" where they name none."""
    params = {"metrics": list(metrics)}
    return {row["word"] for row in store.engine.rows(statement("report_cluster_words"), params)}


def words_heard(
    store: Store, words: Collection[str], *, metrics: Sequence[str], since: datetime
) -> dict[str, int]:
    """Those of `words` that samples since an instant name, to the number of their series."""
    params = {"metrics": list(metrics), "words": sorted(words), "since": since}
    rows = store.engine.rows(statement("report_words_heard"), params)
    return {row["word"]: row["series"] for row in rows}


def newest_settles(store: Store) -> list[dict[str, Any]]:
    """Per cluster: hour, begun, done, row_count, open of its newest settled hour.

    `broken` counts the violated invariants of all hours that count, `broken_text` is one of them.
    """
    return store.engine.rows(statement("report_newest"))


def _versions(rows: Sequence[Mapping[str, Any]]) -> list[ObjectVersion]:
    return [
        ObjectVersion(
            cluster=ClusterId(row["cluster"]),
            kind=row["kind"],
            uid=Uid(row["uid"]),
            namespace=row["namespace"],
            name=row["name"],
            valid_from=row["valid_from"],
            valid_to=None if row["valid_to"] >= FOREVER else row["valid_to"],
            ended=row["ended"],
            doc=json.loads(row["doc"]),
        )
        for row in rows
    ]
