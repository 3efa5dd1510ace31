"""Checks that look at several manifests, or at figures in their context.

Equal names, entries or rules that tie, books of two currencies, figures of an implausible unit.
Each yields `ManifestError`s with the place; none of them raises.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations

from seedance.facts.errors import ManifestError
from seedance.facts.prices import base_units
from seedance.manifests.currency import (
    CORE,
    DEVICE,
    GPU,
    MEMORY,
    NODE,
    STORAGE,
    Bounds,
    monthly_as_hourly,
    oddity,
)
from seedance.manifests.objects import Envelope
from seedance.manifests.ownership import OwnershipRules
from seedance.manifests.pricebook import PriceBook, PriceRule
from seedance.manifests.priceentry import GPU_RESOURCES, PriceEntry, ResourcePrices
from seedance.manifests.source import Document, Place, spell

Loaded = tuple[Document, Envelope]
_Candidate = tuple[Document, PriceRule]

LIST_FACTOR = 50
"""A whole-node price so many times the list price is taken for a price per month."""


def all_of(loaded: Sequence[Loaded], *, listed: Sequence[PriceBook]) -> Iterator[ManifestError]:
    """Everything that is wrong with manifests that are fine one by one.

    Args:
        loaded: every manifest with the document it came from.
        listed: the built-in sheet, to compare whole-node prices with.
    """
    books = [(document, book) for document, book in loaded if isinstance(book, PriceBook)]
    rules = [(document, one) for document, one in loaded if isinstance(one, OwnershipRules)]
    yield from equal_names(loaded)
    yield from mixed_currencies(books)
    list_prices = _list_prices(listed)
    for document, book in books:
        yield from implausible(document, book, list_prices)
    yield from tied_entries(books)
    yield from tied_rules(rules)


def _error(document: Document, place: Place, message: str, *, hint: str) -> ManifestError:
    return ManifestError(
        message,
        file=document.file,
        line=document.line_of(place),
        path=spell(place),
        hint=hint,
    )


def _where(document: Document, place: Place) -> str:
    return f"{document.file}:{document.line_of(place)}"


def equal_names(loaded: Iterable[Loaded]) -> Iterator[ManifestError]:
    """Two manifests of one kind and name."""
    place: Place = ("metadata", "name")
    seen: dict[tuple[str, str], Document] = {}
    for document, manifest in loaded:
        kind = type(manifest).__name__
        first = seen.setdefault((kind, manifest.name), document)
        if first is not document:
            yield _error(
                document,
                place,
                f"another {kind} is named {manifest.name}: {_where(first, place)}",
                hint="give each a name of its own, such as contract-2026 and contract-2027",
            )


def mixed_currencies(books: Sequence[tuple[Document, PriceBook]]) -> Iterator[ManifestError]:
    """A book in another currency than the first."""
    place: Place = ("spec", "currency")
    for document, book in books[1:]:
        first_document, first = books[0]
        if book.spec.currency != first.spec.currency:
            yield _error(
                document,
                place,
                f"{book.spec.currency} here, {first.spec.currency} in "
                f"{_where(first_document, place)}",
                hint="a store has one currency and Seedance does not convert: state every price "
                "in it",
            )


def tied_entries(books: Sequence[tuple[Document, PriceBook]]) -> Iterator[ManifestError]:
    """Two entries of equal rank that can match one node at one instant."""
    ranked: dict[tuple[bool, int, int, float], list[_Candidate]] = defaultdict(list)
    for document, book in books:
        for rule in book.rules:
            ranked[rule.rank].append((document, rule))
    for group in ranked.values():
        for one, other in sorted(_close_pairs(group)):
            (first_document, first), (document, rule) = group[one], group[other]
            if first.overlaps(rule) and first.could_share_a_node(rule):
                where = _where(first_document, ("spec", "entries", first.index))
                yield _error(
                    document,
                    ("spec", "entries", rule.index),
                    f"{rule.book}/{rule.entry.name} ties with {first.book}/{first.entry.name} "
                    f"({where}): a node could match both, and neither is first",
                    hint="give one of them a higher priority, a more specific node selector or a "
                    "later validFrom",
                )


def _close_pairs(group: Sequence[_Candidate]) -> set[tuple[int, int]]:
    """Pairs, by position, that could share a node as far as their instance types go.

    Long price lists name one type an entry, so this is far less than every pair.
    """
    by_type: dict[str, list[int]] = defaultdict(list)
    for position, (_, rule) in enumerate(group):
        for name in rule.wants.get("instance_type") or ("",):
            by_type[name].append(position)
    untyped = by_type.pop("", [])
    pairs = set(combinations(untyped, 2))
    for positions in by_type.values():
        pairs |= set(combinations(positions, 2))
        pairs |= {(min(one, two), max(one, two)) for one in untyped for two in positions}
    return pairs


def tied_rules(rules: Sequence[tuple[Document, OwnershipRules]]) -> Iterator[ManifestError]:
    """Two sets of ownership rules that start at one instant and hold at the same time."""
    for (first_document, first), (document, one) in combinations(rules, 2):
        if first.spec.valid_from == one.spec.valid_from:
            yield _error(
                document,
                ("spec",),
                f"{one.name} ties with {first.name} ({_where(first_document, ('spec',))}): both "
                f"hold from the same instant",
                hint="the rules of the newest validFrom count: give one of them a later validFrom",
            )


def implausible(
    document: Document, book: PriceBook, list_prices: Mapping[str, Decimal]
) -> Iterator[ManifestError]:
    """Figures that cannot be a price per hour, unless the entry says `unusual`."""
    currency = book.spec.currency
    for index, entry in enumerate(book.spec.entries):
        if entry.unusual:
            continue
        place: Place = ("spec", "entries", index)
        for where, amount, bounds in _figures(entry):
            message, hint = oddity(amount, bounds, currency)
            if message:
                yield _error(document, (*place, *where), message, hint=hint)
        yield from _far_above_list(document, entry, (*place, "nodeHour"), currency, list_prices)


def _figures(entry: PriceEntry) -> Iterator[tuple[Place, Decimal, Bounds]]:
    if entry.node_hour is not None:
        yield ("nodeHour",), entry.node_hour, NODE
    if entry.per_resource is not None:
        for where, amount, bounds in _unit_figures(entry.per_resource):
            yield ("perResource", *where), amount, bounds


def _unit_figures(prices: ResourcePrices) -> Iterator[tuple[Place, Decimal, Bounds]]:
    if prices.cpu_core_hour is not None:
        yield ("cpuCoreHour",), prices.cpu_core_hour, CORE
    if prices.memory_gib_hour is not None:
        yield ("memoryGiBHour",), prices.memory_gib_hour, MEMORY
    if prices.gpu_hour is not None:
        if prices.gpu_hour.default is not None:
            yield ("gpuHour", "default"), prices.gpu_hour.default, GPU
        for model, amount in prices.gpu_hour.by_model.items():
            yield ("gpuHour", "byModel", model), amount, GPU
    for name, amount in prices.resources.items():
        yield ("resources", name), amount, _bounds_of(name)


def _bounds_of(resource: str) -> Bounds:
    if resource in GPU_RESOURCES:
        return GPU
    if resource.startswith("hugepages-"):
        return MEMORY
    return STORAGE if base_units(resource) > 1 else DEVICE


def _list_prices(listed: Iterable[PriceBook]) -> dict[str, Decimal]:
    """Whole-node list price of each instance type, in US dollars."""
    return {
        name: entry.node_hour
        for book in listed
        for entry in book.spec.entries
        for name in entry.node.instance_type
        if entry.node_hour is not None
    }


def _far_above_list(
    document: Document,
    entry: PriceEntry,
    place: Place,
    currency: str,
    list_prices: Mapping[str, Decimal],
) -> Iterator[ManifestError]:
    if entry.node_hour is None or currency != "USD":
        return
    for name in entry.node.instance_type:
        list_price = list_prices.get(name)
        if list_price is not None and entry.node_hour > list_price * LIST_FACTOR:
            yield _error(
                document,
                place,
                f"{entry.node_hour} {currency} per hour is {entry.node_hour / list_price:.0f} "
                f"times the list price of {name}, {list_price}: is that a price per month?",
                hint=f"per hour it is {entry.node_hour} / 730 = "
                f'{monthly_as_hourly(entry.node_hour)}; if it is meant, add unusual: "<reason>"',
            )
