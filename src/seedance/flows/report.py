"""Questions about money and objects, answered: the one source of API, pages and metrics.

A question comes in as `CostQuery` (plain text), is checked, its window is laid over the settled
sets, the store sums (`store.reports`, the only place where costs are added up), and the sums are
dressed for people: keys with reasons, shares that name their numerator, links to the other doors.
"""

from __future__ import annotations

from datetime import datetime

from seedance.facts.costquery import CostQuery
from seedance.flows.answers import CostAnswer
from seedance.store.store import Store

__all__ = ["CostAnswer", "CostQuery", "costs"]


def costs(store: Store, query: CostQuery, *, now: datetime) -> CostAnswer:
    """What the window cost, grouped, filtered, sorted and paged as the query says.

    Raises:
        UsageError: a word of the query that makes no sense; says which and what would.
        NoDataError: nothing was settled in the window; says why and since when there is data.
    """
    raise NotImplementedError
