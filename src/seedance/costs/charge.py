"""Minutes to charges: what each container of a node is charged for, and what is left of the node.

Everything here is a matrix of accounts (rows) by minutes (columns) in unit-seconds: core-seconds,
GiB-seconds, GPU-seconds. An *account* is one resource of one container (or of a pod's excess); a
*cell* is one resource of one node. See "What is charged" in `docs/explain/cost-arithmetic.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from seedance.costs.minutes import MINUTE_MS, Grid
from seedance.facts.samples import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

_NOISE = 1e-9
"""Relative excess over the capacity that is float noise, not overcommitment."""


class Role(IntEnum):
    """How an account takes part in its pod's reservation."""

    APP = 0
    """A container with a reservation of its own: app, native sidecar, ephemeral."""
    INIT = 1
    """An init container: charged out of the pod's excess first."""
    POD = 2
    """The excess of the pod's effective request over its containers."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Accounts sorted by (cell, pod): arrays of equal length.

    `may_exceed` says that the container could use more than it requests.
    """

    cell: IntArray
    pod: IntArray
    role: IntArray
    may_exceed: BoolArray

    def __len__(self) -> int:
        return len(self.cell)


@dataclass(frozen=True, slots=True)
class Segments:
    """Stretches over which an account requests a constant amount (priced units, milliseconds)."""

    account: IntArray
    start: IntArray
    end: IntArray
    request: FloatArray


@dataclass(frozen=True, slots=True)
class Charges:
    """What each account is charged for and what is left of each cell, per minute, unit-seconds.

    `overcommit` is T/C per cell and minute, where above 1.
    """

    charged: FloatArray
    unused: FloatArray
    used: FloatArray
    known: FloatArray
    system: FloatArray
    unattributed: FloatArray
    idle: FloatArray
    overcommit: FloatArray


def reserve(segments: Segments, *, accounts: int, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Reserved unit-seconds and charged seconds of each account in each minute."""
    seconds = np.full((len(segments.account), grid.minutes), MINUTE_MS / 1000.0)
    cut = np.flatnonzero((segments.start > grid.start_ms) | (segments.end < grid.end_ms))
    if len(cut):  # most segments hold all the time
        edges = grid.start_ms + np.arange(grid.minutes, dtype=np.int64) * MINUTE_MS
        start, end = segments.start[cut, None], segments.end[cut, None]
        overlap = np.minimum(end, edges + MINUTE_MS) - np.maximum(start, edges)
        seconds[cut] = np.maximum(overlap, 0) / 1000.0
    amount = seconds * segments.request[:, None]
    if np.array_equal(segments.account, np.arange(accounts)):
        return amount, seconds
    reserved, alive = np.zeros((accounts, grid.minutes)), np.zeros((accounts, grid.minutes))
    np.add.at(reserved, segments.account, amount)
    np.add.at(alive, segments.account, seconds)
    return reserved, alive


def charge(
    accounts: Accounts,
    *,
    reserved: FloatArray,
    alive: FloatArray,
    used: FloatArray,
    known: FloatArray,
    capacity: FloatArray,
    kept_back: FloatArray,
    node_alive: FloatArray,
) -> Charges:
    """Charge every account and share out what is left of each cell.

    Args:
        accounts: sorted by (cell, pod); every cell of `capacity` may have none.
        reserved, alive: accounts × minutes, unit-seconds and seconds (see `reserve`).
        used, known: accounts × minutes, unit-seconds and seconds of measured use.
        capacity, kept_back: cells × minutes, unit-seconds of the node and of what the kubelet
            keeps back of it.
        node_alive: cells × minutes, seconds for which the node existed.
    """
    known = np.minimum(known, alive)
    if alive.min(initial=1.0) == 0:
        used = np.where(alive > 0, used, 0.0)
    rate = np.divide(reserved, alive, out=np.zeros_like(reserved), where=alive > 0)
    blind = rate * (alive - known)  # charged as requested, since nothing is known
    seen = np.maximum(rate * known, used)
    seen, excess = _draw_on_pod(accounts, seen=seen, blind=blind, reserved=reserved, used=used)
    charged = seen + blind
    if excess is not None:
        charged = np.where((accounts.role == Role.POD)[:, None], excess, charged)

    total = _per_cell(charged, accounts, len(capacity))
    ratio = np.divide(total, capacity, out=np.zeros_like(total), where=capacity > 0)
    over = total > capacity * (1 + _NOISE)
    scale = np.where(over, np.divide(1.0, ratio, out=np.zeros_like(ratio), where=ratio > 0), 1.0)
    if over.any():
        charged, seen = charged * scale[accounts.cell], seen * scale[accounts.cell]
    unused = np.maximum(seen - used, 0.0)
    unused[accounts.role == Role.POD] = 0.0

    left = np.maximum(capacity - np.minimum(total, capacity), 0.0)
    system = np.minimum(kept_back, left)
    left = left - system
    doubt = _doubt(accounts, alive=alive, known=known, node_alive=node_alive)
    unattributed = left * doubt
    return Charges(
        charged,
        unused,
        used,
        known,
        system,
        unattributed,
        left - unattributed,
        np.where(over, ratio, 0.0),
    )


def _per_cell(values: FloatArray, accounts: Accounts, cells: int) -> FloatArray:
    out = np.zeros((cells, values.shape[1]))
    if len(accounts):
        first = np.flatnonzero(np.diff(accounts.cell, prepend=-1))
        out[accounts.cell[first]] = np.add.reduceat(values, first)
    return out


def _draw_on_pod(
    accounts: Accounts,
    *,
    seen: FloatArray,
    blind: FloatArray,
    reserved: FloatArray,
    used: FloatArray,
) -> tuple[FloatArray, FloatArray | None]:
    """Charges in known time with init containers drawn on their pod, and the excess left over.

    Returns:
        (seen, excess): `seen` with the init rows replaced; `excess` holds the charge of POD rows,
        None where no pod has any.
    """
    shared = np.flatnonzero(_pods_that_share(accounts))
    if not len(shared):
        return seen, None
    excess = np.zeros_like(seen)
    role = accounts.role[shared][:, None]
    pod = accounts.pod[shared] * (int(accounts.cell.max()) + 1) + accounts.cell[shared]
    first = np.flatnonzero(np.diff(pod, prepend=-1))
    member = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(pod))))

    def of_pod(values: FloatArray) -> FloatArray:
        total: FloatArray = np.add.reduceat(values, first)
        return total

    own, mine, use = reserved[shared], seen[shared], used[shared]
    app = role == Role.APP
    overflow = of_pod(np.where(app, mine + blind[shared] - own, 0.0))
    slack = of_pod(np.where(app, np.maximum(mine - use, 0.0), 0.0))
    pool = np.maximum(of_pod(np.where(role == Role.POD, own, 0.0)) - overflow, 0.0)
    wanted = of_pod(np.where(role == Role.INIT, use, 0.0))
    drawn = np.minimum(wanted, pool)
    due = drawn + np.maximum(wanted - drawn - slack, 0.0)
    part = np.divide(due, wanted, out=np.zeros_like(due), where=wanted > 0)
    seen = seen.copy()
    seen[shared] = np.where(role == Role.INIT, use * part[member], mine)
    excess[shared] = np.where(role == Role.POD, (pool - drawn)[member], 0.0)
    return seen, excess


def _pods_that_share(accounts: Accounts) -> BoolArray:
    """Accounts of pods that have an excess or init containers."""
    if not len(accounts):
        return np.zeros(0, dtype=bool)
    shares = np.zeros(int(accounts.pod.max()) + 1, dtype=bool)
    shares[accounts.pod[accounts.role != Role.APP]] = True
    mine: BoolArray = shares[accounts.pod]
    return mine


def _doubt(
    accounts: Accounts, *, alive: FloatArray, known: FloatArray, node_alive: FloatArray
) -> FloatArray:
    """Share (0–1) of each cell's minute in which some container's use could be anything."""
    doubt = np.zeros_like(node_alive)
    if not known.size:
        return doubt
    rows = np.flatnonzero(
        accounts.may_exceed & (accounts.role != Role.POD) & (known.min(axis=1) == 0)
    )
    if not len(rows):
        return doubt
    known, alive = known[rows], alive[rows]
    never = known.max(axis=1) == 0
    full = alive >= (MINUTE_MS / 1000.0) * (1 - _NOISE)
    blind = (known == 0) & (full | never[:, None])
    np.maximum.at(doubt, accounts.cell[rows], np.where(blind, alive, 0.0))
    share = np.divide(doubt, node_alive, out=np.zeros_like(doubt), where=node_alive > 0)
    return np.minimum(share, 1.0)
