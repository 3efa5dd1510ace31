"""English of the pages: their sentences, windows and calm states (empty, error, sign in)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from seedance.facts.words_phrase import Phrase

_PAGES = {
    "page:spent": Phrase(
        "", "{who} cost {cost} {when}; {unused} of it was requested but never used."
    ),
    "page:top": Phrase("", "{first} and {second} account for {share}."),
    "page:top-one": Phrase("", "{first} accounts for {share}."),
    "page:idle": Phrase("", "A further {idle} was idle capacity, {share} of all node cost."),
    "page:idle-none": Phrase("", "No node capacity was idle."),
    "page:unattributed": Phrase("", "{cost} cannot be given to anyone yet."),
    "page:unpriced": Phrase("", "{hours} have no price and are not in these figures."),
    "page:total": Phrase("Total of the window", ""),
    "page:shown": Phrase("Left by the filter", ""),
    "page:all": Phrase("All costs", ""),
    "page:sum": Phrase("Sum", ""),
    "page:cost": Phrase("Cost", "All node cost of the window: pods, idle and system."),
    "page:filtered": Phrase("What the filter leaves", ""),
    "page:everything": Phrase("Everything", ""),
    "fact:settled": Phrase("Settled", "settled {at}"),
    "page:costs": Phrase(
        "", "{what} cost {cost} {when}: {unused} charged but unused, {idle} idle."
    ),
    "page:inventory": Phrase("", "{count} at {at}."),
    "page:healthy": Phrase("", "Everything reports. Figures are settled up to {at}."),
    "page:unhealthy": Phrase("", "{count} attention. Figures are settled up to {at}."),
    "page:unsettled": Phrase("", "Nothing has been settled yet."),
    "page:part": Phrase("{n} part needs", ""),
    "page:parts": Phrase("{n} parts need", ""),
    "page:stale": Phrase(
        "Stale figures",
        "These figures end at {at}. Newer hours have not been settled.",
        "Open Status to see what holds them up.",
    ),
    "page:provisional": Phrase("", "The current hour is provisional."),
}

_SHELL = {
    "nav:o": Phrase("Overview", ""),
    "nav:c": Phrase("Costs", ""),
    "nav:i": Phrase("Inventory", ""),
    "nav:s": Phrase("Status", ""),
    "at:now": Phrase("Now", ""),
    "at:hour": Phrase("One hour ago", ""),
    "at:day": Phrase("One day ago", ""),
    "at:week": Phrase("One week ago", ""),
}

_FACTS = {
    "fact:exact": Phrase("Exactly", "Rounded once, at each cost row, to 12 places."),
    "fact:window": Phrase("Window", ""),
    "fact:unused": Phrase("unused", ""),
    "waste:unused": Phrase("", "Used {share} of what it requests. A smaller request saves this."),
    "waste:unknown": Phrase("", "Charged for more than it used."),
}

_WINDOWS = {
    "window:today": Phrase("Today", "today"),
    "window:yesterday": Phrase("Yesterday", "yesterday"),
    "window:week": Phrase("This week", "this week"),
    "window:lastweek": Phrase("Last week", "last week"),
    "window:month": Phrase("This month", "this month"),
    "window:lastmonth": Phrase("Last month", "last month"),
    "window:last-m": Phrase("Last {n} minutes", "in the last {n} minutes"),
    "window:last-h": Phrase("Last {n} hours", "in the last {n} hours"),
    "window:last-d": Phrase("Last {n} days", "in the last {n} days"),
    "window:last-w": Phrase("Last {n} weeks", "in the last {n} weeks"),
    "window:custom": Phrase("Chosen window", "in the chosen window"),
    "idle:rows": Phrase("As rows", "Idle stands in rows of its own"),
    "idle:share": Phrase("Shared", "Idle is spread over those who are charged"),
    "idle:hide": Phrase("Hidden", "Idle is left to the hidden row"),
}

_STATES = {
    "empty:costs": Phrase(
        "No costs in this window",
        "Costs appear here a minute after the first cluster is watched and its nodes have a price.",
        "seedance serve --kubeconfig ~/.kube/config",
    ),
    "empty:filtered": Phrase(
        "Nothing matches the filter",
        "No row of this window matches. The whole sum is in the row Hidden by the filter.",
        "Remove a filter, or widen the window.",
    ),
    "empty:inventory": Phrase(
        "Nothing was alive here at that time",
        "Clusters, namespaces, workloads and pods appear as soon as a cluster is watched.",
        "seedance serve --kubeconfig ~/.kube/config",
    ),
    "empty:watch": Phrase(
        "No cluster is watched",
        "Each watched cluster and kind is listed here with its state.",
        "seedance serve --kubeconfig ~/.kube/config",
    ),
    "empty:sources": Phrase(
        "No usage arrives yet",
        "Each node is listed here with where its usage comes from.",
        "Point Prometheus' remote_write at /api/v1/write, or watch a cluster: kubelets are read.",
    ),
    "empty:wastes": Phrase("Nothing stands out", "No workload left money unused in this window."),
    "error:page": Phrase(
        "This page cannot be shown",
        "{detail}",
        "The other pages still work.",
    ),
    "error:token": Phrase(
        "That token is not known", "It may be mistyped, or it was revoked.", "Ask for a new one."
    ),
}

PAGES: Mapping[str, Phrase] = MappingProxyType(
    {**_PAGES, **_SHELL, **_FACTS, **_WINDOWS, **_STATES}
)
"""Code to phrase."""
