"""Charges to money: the rows of one stretch of an hour, which sum to the node's cost exactly.

A stretch is the part of an hour in which price and capacity of a set of nodes stand still. Each
account becomes a row, each cell (a resource of a node) its `system`, `unattributed` and `idle`
rows; amounts are integer picos, and the idle row takes what rounding leaves. See "Rounding" in
`docs/explain/cost-arithmetic.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seedance.costs.charge import Accounts, BoolArray, Charges, Role
from seedance.costs.minutes import Float32Array
from seedance.facts.costs import Flag
from seedance.facts.money import PICOS
from seedance.facts.samples import FloatArray, IntArray

HOUR_MS = 3_600_000
_SLOTS = 60
_CRUMBS = 1000
"""Picos below which an idle amount is rounding, not idle capacity."""

UInt64Array = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Cells:
    """Resources of nodes over one stretch: arrays and lists of equal length.

    `pot` is what the whole capacity costs an hour in picos (0 where `priced` is False), `node_ms`
    how long the node lived in the stretch, `capacity` and `kept_back` priced units. `idle`,
    `system`, `unattributed` are the entity numbers of the node's own rows.
    """

    resource: IntArray
    capacity: FloatArray
    kept_back: FloatArray
    pot: IntArray
    priced: BoolArray
    price_id: UInt64Array
    reason: npt.NDArray[np.object_]
    node_ms: IntArray
    idle: UInt64Array
    system: UInt64Array
    unattributed: UInt64Array

    def __len__(self) -> int:
        return len(self.resource)


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows as columns; quantities in resource-hours, amounts in picos, minutes as N × 60."""

    entity: UInt64Array
    resource: IntArray
    price_id: UInt64Array
    requested: FloatArray
    used: FloatArray
    charged: FloatArray
    unused: FloatArray
    covered: FloatArray
    alive: FloatArray
    picos: IntArray
    unused_picos: IntArray
    priced: BoolArray
    overcommit: Float32Array
    flags: IntArray
    reason: npt.NDArray[np.object_]
    requested_minutes: Float32Array
    used_minutes: Float32Array
    charged_minutes: Float32Array
    covered_minutes: npt.NDArray[np.uint8]
    cell: IntArray

    def __len__(self) -> int:
        return len(self.entity)


def half_even(amount: int, parts: int) -> int:
    """`amount` ÷ `parts` as a whole number, rounded half-even."""
    whole, rest = divmod(amount, parts)
    twice = 2 * rest
    return whole + (1 if twice > parts or (twice == parts and whole % 2) else 0)


def node_costs(cells: Cells) -> IntArray:
    """Exact cost of each cell over the stretch in picos: pot × time lived, rounded once."""
    return np.array(
        [
            half_even(int(p) * int(ms), HOUR_MS)
            for p, ms in zip(cells.pot, cells.node_ms, strict=True)
        ],
        np.int64,
    )


def container_rows(
    accounts: Accounts,
    charges: Charges,
    cells: Cells,
    *,
    entity: UInt64Array,
    flags: IntArray,
    reserved: FloatArray,
    alive: FloatArray,
    node_alive: FloatArray,
    first_minute: int,
    gap_seconds: float,
    measured: int,
) -> RowBlock:
    """One row an account that was charged or used anything in the stretch.

    Args:
        entity, flags: who the account is, and what is known of it beforehand.
        reserved, alive: accounts × minutes of the stretch (see `charge.reserve`).
        node_alive: cells × minutes.
        first_minute: slot of the stretch's first minute within its hour.
        gap_seconds: unknown time from which use is only partly known.
        measured: how many of the resources, the first ones, have a metric of their use.
    """
    there = np.flatnonzero(alive.max(axis=1, initial=0.0) > 0)
    mine = slice(None) if len(there) == len(accounts) else there  # usually all, without copies
    cell = accounts.cell[mine]
    charged, unused = charges.charged[mine].sum(axis=1), charges.unused[mine].sum(axis=1)
    unit = _unit_price(cells)[cell]
    used, known = charges.used[mine].sum(axis=1), charges.known[mine].sum(axis=1)
    lived = alive[mine].sum(axis=1)
    over, gone = _crowded_and_gone(charges, cell, mine, reserved=reserved, node_alive=node_alive)
    marks = (
        flags[mine] | np.where(over > 0, Flag.OVERCOMMITTED, 0) | np.where(gone, Flag.NODE_GONE, 0)
    )
    metered = (accounts.role[mine] != Role.POD) & (cells.resource[cell] < measured)
    marks |= _metric_flags(metered, known=known, lived=lived, gap_seconds=gap_seconds)
    picos = np.rint(charged * unit).astype(np.int64)
    return RowBlock(
        entity=entity[mine],
        resource=cells.resource[cell],
        price_id=cells.price_id[cell],
        requested=reserved[mine].sum(axis=1) / 3600,
        used=used / 3600,
        charged=charged / 3600,
        unused=unused / 3600,
        covered=known / 3600,
        alive=lived / 3600,
        picos=picos,
        unused_picos=np.minimum(np.rint(unused * unit).astype(np.int64), picos),
        priced=cells.priced[cell],
        overcommit=over.astype(np.float32),
        flags=marks,
        reason=cells.reason[cell],
        requested_minutes=_slots(reserved[mine], first_minute),
        used_minutes=_slots(charges.used[mine], first_minute),
        charged_minutes=_slots(charges.charged[mine], first_minute),
        covered_minutes=_slots(charges.known[mine] * 60, first_minute).round().astype(np.uint8),
        cell=cell,
    )


def _crowded_and_gone(
    charges: Charges,
    cell: IntArray,
    mine: slice | IntArray,
    *,
    reserved: FloatArray,
    node_alive: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Largest overcommitment that each row was charged under, and whether its node was gone."""
    over, gone = np.zeros(len(cell)), np.zeros(len(cell), dtype=bool)
    if charges.overcommit.any():
        crowded = (charges.overcommit[cell] > 0) & (charges.charged[mine] > 0)
        over = np.where(crowded, charges.overcommit[cell], 0.0).max(axis=1, initial=0.0)
    if node_alive.min(initial=1.0) == 0:
        gone = ((node_alive[cell] == 0) & (reserved[mine] > 0)).any(axis=1)
    return over, gone


def _metric_flags(
    metered: BoolArray, *, known: FloatArray, lived: FloatArray, gap_seconds: float
) -> IntArray:
    """`no-metrics` or `partial-metrics` where a metric could be: not for excesses or GPUs."""
    unknown = lived - known
    partial = (unknown > gap_seconds) | (unknown > lived / 2)
    marks = np.where(
        known == 0, int(Flag.NO_METRICS), np.where(partial, int(Flag.PARTIAL_METRICS), 0)
    )
    return np.where(metered, marks, 0)


def _unit_price(cells: Cells) -> FloatArray:
    """Picos per unit-second of each cell."""
    price = np.zeros(len(cells))
    np.divide(cells.pot, cells.capacity * 3600.0, out=price, where=cells.capacity > 0)
    return price


def _slots(values: FloatArray, first_minute: int) -> Float32Array:
    """Unit-seconds of a stretch as means over the 60 minutes of its hour."""
    out = np.zeros((len(values), _SLOTS), np.float32)
    cut = out[:, first_minute : first_minute + values.shape[1]]
    np.multiply(values, 1 / 60.0, out=cut, casting="same_kind")
    return out


def node_rows(
    charges: Charges, cells: Cells, containers: RowBlock, *, first_minute: int
) -> tuple[RowBlock, RowBlock]:
    """The rows of the nodes themselves, and the container rows with rounding crumbs settled.

    Returns:
        (containers, nodes): per cell Σ containers + Σ nodes = `node_costs`, exactly.
    """
    unit, cost = _unit_price(cells), node_costs(cells)
    spent = _by_cell(containers.cell, containers.picos, len(cells))
    parts = (charges.system, charges.unattributed, charges.idle)
    sums = [part.sum(axis=1) for part in parts]
    system, unattributed = (np.rint(amount * unit).astype(np.int64) for amount in sums[:2])
    idle = cost - spent - system - unattributed
    crumbs = (idle != 0) & ((idle < 0) | (sums[2] * unit < _CRUMBS))
    amounts = [system, unattributed, np.where(crumbs, 0, idle)]
    picos = containers.picos.copy()
    for cell in np.flatnonzero(crumbs):
        _settle_crumbs(int(cell), int(idle[cell]), picos, containers.cell, amounts)
    blocks = [
        _node_block(cells, entity, picos=amount, minutes=part, first_minute=first_minute)
        for entity, amount, part in zip(
            (cells.system, cells.unattributed, cells.idle), amounts, parts, strict=True
        )
    ]
    return _with_picos(containers, picos), concat(blocks)


def _by_cell(cell: IntArray, picos: IntArray, cells: int) -> IntArray:
    """Exact sums of picos per cell; `cell` in any order."""
    total = np.zeros(cells, np.int64)
    np.add.at(total, cell, picos)
    return total


def _settle_crumbs(
    cell: int, crumbs: int, picos: IntArray, row_cell: IntArray, amounts: list[IntArray]
) -> None:
    """Give what rounding left of a cell without idle capacity to its largest rows, none below 0."""
    mine = np.flatnonzero(row_cell == cell)
    places: list[tuple[IntArray, int]] = [(picos, int(i)) for i in mine]
    places += [(column, cell) for column in amounts]
    for column, at in sorted(places, key=lambda place: -int(place[0][place[1]])):
        step = max(crumbs, -int(column[at]))
        column[at] += step
        crumbs -= step
        if crumbs == 0:
            return


def _node_block(
    cells: Cells,
    entity: UInt64Array,
    *,
    picos: IntArray,
    minutes: FloatArray,
    first_minute: int,
) -> RowBlock:
    """Rows of one kind, one a cell that has a quantity or an amount."""
    quantity = minutes.sum(axis=1)
    mine = np.flatnonzero((quantity > 0) | (picos != 0))
    zero = np.zeros(len(mine))
    empty = np.zeros((len(mine), _SLOTS), np.float32)
    return RowBlock(
        entity=entity[mine],
        resource=cells.resource[mine],
        price_id=cells.price_id[mine],
        requested=zero,
        used=zero,
        charged=quantity[mine] / 3600,
        unused=zero,
        covered=zero,
        alive=cells.node_ms[mine] / HOUR_MS,
        picos=picos[mine],
        unused_picos=np.zeros(len(mine), np.int64),
        priced=cells.priced[mine],
        overcommit=np.zeros(len(mine), np.float32),
        flags=np.zeros(len(mine), np.int64),
        reason=cells.reason[mine],
        requested_minutes=empty,
        used_minutes=empty,
        charged_minutes=_slots(minutes[mine], first_minute),
        covered_minutes=empty.astype(np.uint8),
        cell=mine,
    )


def _with_picos(block: RowBlock, picos: IntArray) -> RowBlock:
    values = {name: getattr(block, name) for name in RowBlock.__slots__}
    return RowBlock(
        **{**values, "picos": picos, "unused_picos": np.minimum(block.unused_picos, picos)}
    )


MINUTE_COLUMNS = ("requested_minutes", "used_minutes", "charged_minutes", "covered_minutes")
"""Columns of a block that are matrices; all others have one value a row."""


def concat(blocks: Sequence[RowBlock], *, minutes: bool = True) -> RowBlock:
    """The rows of all blocks, in order; at least one block.

    Without `minutes` the matrices are left empty: they are most of the bytes.
    """
    joined = {}
    for name in RowBlock.__slots__:
        parts = [getattr(block, name) for block in blocks]
        skip = not minutes and name in MINUTE_COLUMNS
        joined[name] = parts[0][:0] if skip else np.concatenate(parts)
    return RowBlock(**joined)


def violations(cells: Cells, containers: RowBlock, nodes: RowBlock) -> list[str]:
    """What is wrong with the rows of a stretch: sums that miss the node, rows below zero."""
    found: list[str] = []
    total, given = np.zeros(len(cells), np.int64), np.zeros(len(cells))
    for block in (containers, nodes):
        total += _by_cell(block.cell, np.where(block.priced, block.picos, 0), len(cells))
        given += np.bincount(block.cell, weights=block.charged, minlength=len(cells))
        if (block.picos < 0).any():
            found.append(f"{int((block.picos < 0).sum())} rows below zero")
        if not np.isfinite(block.charged).all() or (block.charged < 0).any():
            found.append("a charged quantity that is negative or not finite")
    off = total - np.where(cells.priced, node_costs(cells), 0)
    if off.any():
        worst = int(np.abs(off).argmax())
        found.append(f"rows miss a node's cost by {abs(int(off[worst])) / PICOS:.12f}")
    most = cells.capacity * cells.node_ms / HOUR_MS
    if (given > most * (1 + 1e-6) + 1e-9).any():
        found.append("more given out than a node has")
    return found
