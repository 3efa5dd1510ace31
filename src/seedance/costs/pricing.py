"""What a node costs: the one price-book entry that wins, and its price split over resources.

`price_pieces` cuts a window where a price begins or ends and gives each piece its price, or the
reason why there is none. Exact: amounts are fractions until they are rounded once to 12 places,
and the parts of a whole-node price add up to it. Pure; specified in `docs/explain/prices.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from seedance.facts.costs import Reason
from seedance.facts.inventory import Node
from seedance.facts.money import PICOS, from_picos
from seedance.facts.prices import NodePrice, Unpriced, base_units
from seedance.facts.window import Window
from seedance.manifests.currency import CORE, CURRENCIES, GPU, MEMORY, plain
from seedance.manifests.pricebook import PriceBook, PriceRule
from seedance.manifests.priceentry import GPU_RESOURCES, PerModel, SplitWeights

Priced = NodePrice | Unpriced

GPU_MODEL_LABELS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
"""Node labels that name the model of its GPUs; the first that is set counts."""

ACCELERATORS = (
    "nvidia.com/",
    "amd.com/gpu",
    "gpu.intel.com/",
    "habana.ai/",
    "aws.amazon.com/neuron",
    "google.com/tpu",
    "huawei.com/",
    "cambricon.com/",
)
"""How the names of resources begin that are costly devices: never free for lack of a price."""


def price_pieces(
    books: Sequence[PriceBook], node: Node, window: Window
) -> list[tuple[Window, Priced]]:
    """The price of `node` in each piece of `window`, in order, covering it without gaps.

    Args:
        books: all books that were loaded, in any order; ties were refused at load.
        node: its facts; labels, type, zone and so on select the entry, capacity is priced.
        window: any; it is cut where prices change (whole minutes), and only there.
    """
    rules = [rule for book in books for rule in book.candidates(node)]
    known: dict[int, Priced] = {}
    pieces: list[tuple[Window, Priced]] = []
    for piece in _cut(window, _changes(books, rules)):
        price = _price_at(books, rules, piece.start, node=node, known=known)
        same = pieces and pieces[-1][1] == price
        start = pieces.pop()[0].start if same else piece.start
        pieces.append((Window(start, piece.end), price))
    return pieces


def price_at(books: Sequence[PriceBook], node: Node, at: datetime) -> Priced:
    """The price of `node` at one instant."""
    rules = [rule for book in books for rule in book.candidates(node)]
    return _price_at(books, rules, at, node=node, known={})


def gpu_model(labels: Mapping[str, str]) -> str:
    """The model of a node's GPUs as its labels name it, or ""."""
    return next((labels[key] for key in GPU_MODEL_LABELS if labels.get(key)), "")


def is_accelerator(resource: str) -> bool:
    """Whether a resource is a GPU, a part of one, or another costly device."""
    return resource.startswith(ACCELERATORS)


def _changes(books: Iterable[PriceBook], rules: Iterable[PriceRule]) -> set[datetime]:
    ends = {at for rule in rules for at in (rule.valid_from, rule.valid_to)}
    ends |= {at for book in books for at in (book.spec.valid_from, book.spec.valid_to)}
    return {at for at in ends if at is not None}


def _cut(window: Window, at: Iterable[datetime]) -> Iterator[Window]:
    inside = sorted(instant for instant in at if window.start < instant < window.end)
    edges = [window.start, *inside, window.end]
    return (Window(start, end) for start, end in pairwise(edges))


def _price_at(
    books: Sequence[PriceBook],
    rules: Sequence[PriceRule],
    at: datetime,
    *,
    node: Node,
    known: dict[int, Priced],
) -> Priced:
    best = max(
        (rule for rule in rules if rule.holds_at(at)),
        key=lambda rule: (rule.rank, rule.book, rule.entry.name),
        default=None,
    )
    if best is None:
        in_force = any(book.spec.holds_at(at) for book in books)
        return Unpriced(Reason.NO_MATCHING_ENTRY if in_force else Reason.NO_PRICE_BOOK)
    if id(best) not in known:
        known[id(best)] = _applied(best, node)
    return known[id(best)]


@dataclass(frozen=True, slots=True)
class _Capacity:
    """A node's capacity in priced units, exact, by resource name; only what is above zero."""

    units: Mapping[str, Fraction]
    model: str

    @classmethod
    def of(cls, node: Node) -> _Capacity:
        return cls(
            units={
                name: Fraction(str(base)) / Fraction(base_units(name))
                for name, base in sorted(node.capacity.items())
                if base > 0
            },
            model=gpu_model(node.labels),
        )

    def must_be_priced(self) -> Iterator[str]:
        """Resources that are unpriced, not free, without a price."""
        return (name for name in self.units if name in {"cpu", "memory"} or is_accelerator(name))


def _applied(rule: PriceRule, node: Node) -> Priced:
    capacity = _Capacity.of(node)
    if not capacity.units:
        return Unpriced(Reason.NO_CAPACITY)
    if rule.entry.node_hour is None:
        return _per_resource(rule, capacity)
    return _whole_node(rule, rule.entry.node_hour, capacity)


def _per_resource(rule: PriceRule, capacity: _Capacity) -> Priced:
    exact: dict[str, Fraction] = {}
    for name, units in capacity.units.items():
        price = _unit_price(rule, name, capacity.model)
        if price is not None:
            exact[name] = Fraction(price) * units * _paid(rule, name)
    if not exact and any(capacity.must_be_priced()):
        return Unpriced(Reason.NO_RESOURCE_PRICE)
    per_hour = tuple((name, from_picos(round(part * PICOS))) for name, part in exact.items())
    return _node_price(rule, per_hour, capacity=capacity, note="")


def _unit_price(rule: PriceRule, resource: str, model: str) -> Decimal | None:
    prices = rule.entry.per_resource
    if prices is None:
        return None
    if resource in prices.resources:
        return prices.resources[resource]
    if resource == "cpu":
        return prices.cpu_core_hour
    if resource == "memory":
        return prices.memory_gib_hour
    return _of_gpu(prices.gpu_hour, resource, model)


def _of_gpu(figures: PerModel | None, resource: str, model: str) -> Decimal | None:
    if figures is None or resource not in GPU_RESOURCES:
        return None
    return figures.of(model)


def _whole_node(rule: PriceRule, price: Decimal, capacity: _Capacity) -> Priced:
    weights = {name: _weight(rule.weights, name, capacity.model) for name in capacity.units}
    weighted = {
        name: capacity.units[name] * Fraction(weight)
        for name, weight in weights.items()
        if weight is not None
    }
    total = sum(weighted.values(), Fraction(0))
    if not total:
        return Unpriced(Reason.NO_CAPACITY)
    if not rule.entry.unusual and price > _highest(rule.currency, capacity):
        return Unpriced(Reason.IMPLAUSIBLE_PRICE)
    exact = {
        name: Fraction(price) * part / total * _paid(rule, name) for name, part in weighted.items()
    }
    note = "split " + " : ".join(
        f"{name} {plain(weight)}" for name, weight in weights.items() if weight is not None
    )
    note += " (default weights)" if rule.default_weights else ""
    return _node_price(rule, _rounded_together(exact), capacity=capacity, note=note)


def _weight(weights: SplitWeights, resource: str, model: str) -> Decimal | None:
    if resource in weights.resources:
        return weights.resources[resource]
    if resource == "cpu":
        return weights.cpu
    if resource == "memory":
        return weights.memory
    return _of_gpu(weights.gpu, resource, model)


def _highest(currency: str, capacity: _Capacity) -> Decimal:
    """The price of a whole node above which it is taken for a price per month."""
    scale = CURRENCIES.get(currency, Decimal("Infinity"))
    high = Decimal(0)
    for name, units in capacity.units.items():
        if name == "cpu":
            high += CORE.high * _decimal(units)
        elif name == "memory":
            high += MEMORY.high * _decimal(units)
        elif is_accelerator(name):
            high += GPU.high * _decimal(units)
    return high * scale


def _decimal(units: Fraction) -> Decimal:
    return Decimal(units.numerator) / Decimal(units.denominator)


def _paid(rule: PriceRule, resource: str) -> Fraction:
    """The part of a price that is left after the discount."""
    if rule.discount is None:
        return Fraction(1)
    percent = rule.discount.percent
    if rule.discount.gpu_percent is not None and is_accelerator(resource):
        percent = rule.discount.gpu_percent
    return 1 - Fraction(percent) / 100


def _rounded_together(exact: Mapping[str, Fraction]) -> tuple[tuple[str, Decimal], ...]:
    """Parts rounded so that their sum is the sum rounded: each gets the growth of the sum."""
    rounded: list[tuple[str, Decimal]] = []
    so_far, sum_exact = 0, Fraction(0)
    for name, part in exact.items():
        sum_exact += part
        sum_picos = round(sum_exact * PICOS)
        rounded.append((name, from_picos(sum_picos - so_far)))
        so_far = sum_picos
    return tuple(rounded)


def _node_price(
    rule: PriceRule, per_hour: tuple[tuple[str, Decimal], ...], *, capacity: _Capacity, note: str
) -> NodePrice:
    priced = {name for name, _ in per_hour}
    return NodePrice(
        per_hour=per_hour,
        currency=rule.currency,
        book=rule.book,
        entry=rule.entry.name,
        source="; ".join(part for part in (rule.source, note, *_conditions(rule)) if part),
        estimate=rule.estimate,
        unpriced=tuple(name for name in capacity.must_be_priced() if name not in priced),
    )


def _conditions(rule: PriceRule) -> Iterator[str]:
    if rule.discount is not None:
        text = f"{plain(rule.discount.percent)} % off"
        if rule.discount.gpu_percent is not None:
            text += f", accelerators {plain(rule.discount.gpu_percent)} % off"
        yield text
    if rule.entry.unusual:
        yield f"unusual: {rule.entry.unusual}"
