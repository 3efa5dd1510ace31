"""Sums that are kept: a settled set never changes, so neither do its parts for one shape.

The first question of a shape leaves the parts of each whole day and finished hour it read in a
table in memory; the next one, on the same page a minute later, reads a few thousand parts instead
of millions of rows. Nothing is lost when they are forgotten, and nothing can be stale: a set that
is settled anew has another id. Only the embedded engine is trusted to remember as long as this
process lives.
"""

from __future__ import annotations

from seedance.store.engine import checked
from seedance.store.reportplan import Plan
from seedance.store.reportsql import Grain, Kept, Pieces, filled
from seedance.store.statements import statement
from seedance.store.store import Store

MOST = 600_000
"""Parts in memory (about 250 bytes each); beyond it all are forgotten."""

WIDEST = 250_000
"""Parts that one question may leave; a question by pod is answered from the rows each time."""

_RESOURCES = 2
"""Most keys have cpu and memory; the few with more do not matter for an estimate."""

FEWEST_HOURS = 3
"""From so many finished hours on their parts are worth keeping."""


def keep_sums(store: Store, pieces: Pieces, plan: Plan) -> Kept:
    """The sets of the plan whose parts are in memory, after keeping those that can be.

    The table that is named may be dropped before it is read, when another question needs room;
    the reader then gets `StoreError` and takes the rows instead.
    """
    finished = {ident: step for ident, step in plan.hours.items() if ident in plan.finished}
    hours = finished if len(finished) >= FEWEST_HOURS else {}
    if not store.engine.embedded or not (plan.days or hours):
        return Kept()
    memory = store.sums
    with memory.lock:
        new_days = sorted(set(plan.days) - memory.known(pieces.shape("day")))
        new_hours = sorted(set(hours) - memory.known(pieces.shape("hour")))
        if (new_days or new_hours) and _worth_it(store, pieces, len(new_days) + len(new_hours)):
            _keep(store, pieces, plan, "day", new_days)
            _keep(store, pieces, plan, "hour", new_hours)
        known_days = memory.known(pieces.shape("day"))
        known_hours = memory.known(pieces.shape("hour"))
        return Kept(
            {ident: step for ident, step in plan.days.items() if ident in known_days},
            {ident: step for ident, step in hours.items() if ident in known_hours},
            memory.table,
        )


def _worth_it(store: Store, pieces: Pieces, sets: int) -> bool:
    """Whether the parts of so many sets are few enough; makes room where they are."""
    memory = store.sums
    width = store.engine.rows(*pieces.width())[0]["width"]
    wanted = int(width) * sets * _RESOURCES
    if wanted > WIDEST:
        return False
    # Parts are counted from above: what is forgotten too early is made anew.
    if not memory.table or memory.parts + wanted > MOST:
        _begin_anew(store)
    memory.parts += wanted
    return True


def _begin_anew(store: Store) -> None:
    """A fresh table under a new name; those before it, of an earlier process too, are dropped."""
    memory = store.sums
    before = [row["name"] for row in store.engine.rows(statement("report_sums_tables"))]
    memory.begin(before)
    store.engine.command(filled(statement("report_sums_table"), SUMS=memory.table))
    for name in before:
        store.engine.command(filled(statement("report_sums_forget"), SUMS=checked(name)))


def _keep(store: Store, pieces: Pieces, plan: Plan, grain: Grain, ids: list[int]) -> None:
    memory = store.sums
    if ids:
        query = pieces.keep(grain, ids, table=memory.table, start=plan.start, end=plan.end)
        store.engine.command(*query)
        memory.shapes.setdefault(pieces.shape(grain), set()).update(ids)
