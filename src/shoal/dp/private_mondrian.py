"""A private Mondrian: cut the space at private medians, stop by noisy counts (Thaeter 2021, section 10.3, completed).

The text sketches it; this is one way to finish it. On each level, every part is counted with noise and stays whole if
the count is below 2k; otherwise a column is chosen and cut at a private median (EXPQ). The parts of a level
are disjoint, so a level costs the same however many parts it has, and the whole tree costs depth times a level. The
depth follows from a first noisy count of all records. At the end each part is released with a noisy count and, if
wanted, a noisy mean. Cost O(n d depth).

The column of a cut is the one in which the part is longest (``side``): that is free, and since the cuts follow the
records it loses least. ``deviation`` asks the exponential mechanism for the column with the largest sum of deviations
from the middle of the part, one choice however many columns there are, since a record adds at most half a side.
``mad`` is the way of the text: two private quantiles for each column, its median and the median of the distances from
it, so that the price is shared by twice the number of columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.guarantee import check_smallest
from shoal.dp.opendp_library import select, whole_noise
from shoal.dp.quantile import private_quantile
from shoal.errors import DataError, ParameterError

Spread = Literal["deviation", "mad", "side"]

_CANDIDATES = 256
_UNIT = 2**16
_DEEPEST = 24


@dataclass
class Part:
    """A part of the space, its records while it is being cut, and what it was cut into."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    records: NDArray[np.int64]
    halves: tuple[Part, Part] | None = None
    leaf: int = -1


@dataclass(frozen=True)
class Boxes:
    """The parts that a private Mondrian has cut.

    Parameters
    ----------
    low, high
        The first and last cell of each part in each column; parts x columns. These may be released.
    labels
        The part of each record. This must not be released.
    root
        The tree of cuts, without records.
    depth
        The number of levels that was planned.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    labels: NDArray[np.int64]
    root: Part = field(repr=False)
    depth: int


def mondrian_boxes(
    codes: NDArray[np.int64],
    shape: tuple[int, ...],
    *,
    k: int,
    account: Accountant,
    epsilon: float,
    spread: Spread = "side",
    progress: Progress = SILENT,
) -> Boxes:
    """Cut the space into parts of about k to 2k records, for a price.

    Parameters
    ----------
    codes
        n x d whole numbers: cells of a public grid.
    shape
        The number of cells of each column of the grid.
    k
        Parts with a noisy count below 2k stay whole.
    account, epsilon
        Who keeps the account, and how much of it may be spent here.
    spread
        How the column of a cut is chosen: ``side``, ``deviation`` or ``mad``.
    progress
        Hears how deep the cuts are.

    Returns
    -------
    boxes
        The parts.

    Examples
    --------
    >>> cells = np.arange(4000)[:, None] % 64
    >>> account = Accountant(5.0)
    >>> boxes = mondrian_boxes(cells, (64,), k=100, account=account, epsilon=5.0)
    >>> bool(boxes.low.min() == 0 and boxes.high.max() == 63), account.spent_epsilon <= 5.0
    (True, True)
    """
    codes = _checked(codes, shape, k, spread)
    for_size = account.spend("number of records, for the depth", account.share(1, 10, of=epsilon))
    size = int(whole_noise(np.array([len(codes)]), 1, for_size)[0])
    depth = min(_DEEPEST, max(0, math.ceil(math.log2(max(size, 1) / (2 * k)))))
    root = Part(np.zeros(len(shape), np.int64), np.array(shape, np.int64) - 1, np.arange(len(codes)))
    active = [root]
    progress.stage("cutting", depth)
    for level in range(1, depth + 1):
        active = _cut_level(codes, np.array(shape), active, k, account, (level, depth), epsilon, spread)
        progress.advance()
    leaves = _leaves(root)
    labels = np.empty(len(codes), np.int64)
    for place, part in enumerate(leaves):
        part.leaf = place
        labels[part.records] = place
    _forget_records(root)
    return Boxes(np.array([part.low for part in leaves]), np.array([part.high for part in leaves]), labels, root, depth)


def _cut_level(
    codes: NDArray[np.int64],
    shape: NDArray[np.int64],
    parts: list[Part],
    k: int,
    account: Accountant,
    level: tuple[int, int],
    epsilon: float,
    spread: Spread,
) -> list[Part]:
    """Cut all parts of a level that are large enough, and return what they were cut into."""
    parts = [part for part in parts if (part.high > part.low).any()]
    if not parts:
        return []
    name, tenths = f"level {level[0]} of {level[1]}", 10 * level[1]
    stop, column, cut = (2, 2, 5) if spread != "side" else (2, 0, 7)  # of nine tenths
    price = account.share(stop, tenths, of=epsilon)
    account.spend(f"{name}: which parts stay whole", price, parts=len(parts))
    counts = whole_noise(np.array([part.records.size for part in parts]), 1, price)
    parts = [part for part, count in zip(parts, counts, strict=True) if count >= 2 * k]
    if not parts:
        return []
    for_column = account.share(column, tenths, of=epsilon) if column else 0.0
    if column:
        account.spend(f"{name}: which column is cut", for_column, parts=len(parts))
    for_cut = account.share(cut, tenths, of=epsilon)
    account.spend(f"{name}: where it is cut", for_cut, parts=len(parts))
    for part in parts:
        chosen = _column(codes, shape, part, for_column, account, spread)
        _halve(codes, part, chosen, for_cut)
    return [half for part in parts if part.halves for half in part.halves]


def _column(
    codes: NDArray[np.int64], shape: NDArray[np.int64], part: Part, epsilon: float, account: Accountant, spread: Spread
) -> int:
    """Choose the column to cut among those with more than one cell."""
    open_ = np.flatnonzero(part.high > part.low)
    side = (part.high - part.low)[open_] * _UNIT // shape[open_]
    if open_.size == 1 or spread == "side":
        return int(open_[side.argmax()])
    values = codes[np.ix_(part.records, open_)]
    if spread == "deviation":
        away = np.abs(2 * values - (part.low + part.high)[open_]) * _UNIT // shape[open_]
        return int(open_[select(away.sum(axis=0), max(1, int(side.max())), epsilon)])
    price = account.share(1, 2 * open_.size, of=epsilon)
    estimates = []
    for place, column in enumerate(open_):
        middle = private_quantile(values[:, place], _candidates(part.low[column], part.high[column]), epsilon=price)
        away = np.abs(values[:, place] - middle)
        typical = private_quantile(away, _candidates(0, int(part.high[column] - part.low[column])), epsilon=price)
        estimates.append(typical / shape[column])
    return int(open_[int(np.argmax(estimates))])


def _halve(codes: NDArray[np.int64], part: Part, column: int, epsilon: float) -> None:
    values = codes[part.records, column]
    cut = private_quantile(values, _candidates(part.low[column], part.high[column] - 1), epsilon=epsilon)
    below = values <= cut
    high, low = part.high.copy(), part.low.copy()
    high[column], low[column] = cut, cut + 1
    part.halves = Part(part.low, high, part.records[below]), Part(low, part.high, part.records[~below])


def _candidates(low: int, high: int) -> NDArray[np.int64]:
    """Return up to 256 cells spread evenly over a public range."""
    return np.unique(np.linspace(low, high, min(_CANDIDATES, int(high) - int(low) + 1)).round().astype(np.int64))


def _leaves(part: Part) -> list[Part]:
    """Return the parts that were not cut, from the low to the high side."""
    return [part] if part.halves is None else [*_leaves(part.halves[0]), *_leaves(part.halves[1])]


def _forget_records(part: Part) -> None:
    """Leave nothing in the tree that must not be released."""
    part.records = np.empty(0, np.int64)
    for half in part.halves or ():
        _forget_records(half)


def _checked(codes: NDArray[np.int64], shape: tuple[int, ...], k: int, spread: str) -> NDArray[np.int64]:
    check_smallest(k)
    if spread not in {"deviation", "mad", "side"}:
        raise ParameterError(f'spread="{spread}" is not possible; choose deviation, mad or side')
    codes = np.asarray(codes, np.int64)
    if codes.ndim != 2 or codes.shape[1] != len(shape) or not shape:
        raise DataError("codes must be n x d whole numbers, and shape must have d numbers of cells")
    if codes.size and ((codes < 0).any() or (codes >= np.array(shape)).any()):
        raise DataError("there are records outside the grid; clip them first")
    if max(shape) > 2**40:
        raise ParameterError("a column may have at most 2**40 cells")
    return codes
