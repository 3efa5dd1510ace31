"""Lists and descriptions of clusters, nodes, namespaces, workloads and pods, now or in the past."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from seedance.flows.answers import Description, ObjectList

if TYPE_CHECKING:
    from seedance.store.store import Store

KINDS = ("clusters", "nodes", "namespaces", "workloads", "pods")
"""What can be listed and described."""


def objects(
    store: Store,
    kind: str,
    *,
    at: datetime,
    cluster: str = "",
    namespace: str = "",
    selector: str = "",
    limit: int = 100,
    offset: int = 0,
    sort: str = "name",
    only_cluster: str = "",
) -> ObjectList:
    """A page of the objects of `kind` (one of `KINDS`) that existed at `at`.

    `cluster` is an id or a name; `selector` is kubectl's (`app=x,tier!=db,team,!old`).

    Raises:
        UsageError: an unknown kind, sort or selector.
    """
    raise NotImplementedError


def describe(
    store: Store,
    kind: str,
    name: str,
    *,
    at: datetime,
    cluster: str = "",
    namespace: str = "",
    only_cluster: str = "",
) -> Description:
    """Everything known about one object at `at`.

    Raises:
        UsageError: an unknown kind, or a name that several clusters or namespaces have.
        NotFoundError: nothing of that name was ever seen.
    """
    raise NotImplementedError
