"""Sums that are kept: a settled set never changes, so neither do its parts for one shape.

The first question of a shape leaves the parts of each whole day and finished hour it read in a
table in memory; the next one, on the same page a minute later, reads a few thousand parts instead
of millions of rows. Nothing is lost when they are forgotten, and nothing can be stale: a set that
is settled anew has another id. Only the embedded engine is trusted to remember as long as this
process lives.
"""

from __future__ import annotations

from seedance.store.reportplan import Plan
from seedance.store.reportsql import Grain, Kept, Pieces
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
    """The sets of the plan whose parts are in memory, after keeping those that can be."""
    finished = {ident: step for ident, step in plan.hours.items() if ident in plan.finished}
    hours = finished if len(finished) >= FEWEST_HOURS else {}
    if not store.engine.embedded or not (plan.days or hours):
        return Kept({}, {})
    with store.summing:
        known_days = _known(store, pieces.shape("day"))
        known_hours = _known(store, pieces.shape("hour"))
        new_days = [ident for ident in plan.days if ident not in known_days]
        new_hours = [ident for ident in hours if ident not in known_hours]
        if (new_days or new_hours) and _worth_it(store, pieces, len(new_days) + len(new_hours)):
            _keep(store, pieces, plan, "day", new_days)
            _keep(store, pieces, plan, "hour", new_hours)
            known_days = _known(store, pieces.shape("day"))
            known_hours = _known(store, pieces.shape("hour"))
        return Kept(
            {ident: step for ident, step in plan.days.items() if ident in known_days},
            {ident: step for ident, step in hours.items() if ident in known_hours},
        )


def _known(store: Store, shape: int) -> set[int]:
    return store.summed.setdefault(shape, set())


def _worth_it(store: Store, pieces: Pieces, sets: int) -> bool:
    """Whether the parts of so many sets are few enough; makes room where they are."""
    width = store.engine.rows(*pieces.width())[0]["width"]
    wanted = int(width) * sets * _RESOURCES
    if wanted > WIDEST:
        return False
    # Parts are counted from above: what is forgotten too early is made anew.
    kept = sum(len(ids) for ids in store.summed.values())
    if not kept or store.summed_parts + wanted > MOST:
        store.engine.command(statement("report_sums_forget"))
        store.engine.command(statement("report_sums_table"))
        store.summed.clear()
        store.summed_parts = 0
    store.summed_parts += wanted
    return True


def _keep(store: Store, pieces: Pieces, plan: Plan, grain: Grain, ids: list[int]) -> None:
    if ids:
        store.engine.command(*pieces.keep(grain, ids, start=plan.start, end=plan.end))
        _known(store, pieces.shape(grain)).update(ids)
