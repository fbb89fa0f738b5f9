"""A private Mondrian: split the space at private medians, stop by noisy counts (Thaeter 2021, section 10.3).

The source sketches the mechanism; this is one way to complete it. On each level, every part is counted with noise and
is not split if the count is below 2k; otherwise a column is chosen and split at a private median (EXPQ). The parts of a
level are disjoint, so the privacy loss of a level does not depend on the number of parts, and the loss of the tree is
the depth times that of a level. The depth follows from a first noisy count of all records. Finally, each part is
released with a noisy count and, optionally, a noisy mean. Time O(n d depth).

The split criterion ``side`` chooses the column in which the part is longest. It does not use the records, so it adds no
privacy loss, and it gives the smallest information loss, because the earlier splits follow the records. ``deviation``
chooses the column with the largest sum of deviations from the centre of the part by the exponential mechanism, one
query for all columns, since a record adds at most half a side. ``mad`` is the criterion of the source: two private
quantiles for each column, its median and the median of the distances from it, so that the privacy loss is divided by
twice the number of columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.database import clipped_cells
from shoal.dp.guarantee import check_k
from shoal.dp.opendp_library import integer_noise, select
from shoal.dp.quantile import private_quantile
from shoal.errors import ParameterError

SplitCriterion = Literal["deviation", "mad", "side"]

_CANDIDATES = 256
_UNIT = 2**16
_MAX_DEPTH = 24


@dataclass
class Part:
    """A part of the space, its records during the splitting, and its two halves if it was split."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    records: NDArray[np.int64]
    halves: tuple[Part, Part] | None = None
    leaf: int = -1


@dataclass(frozen=True)
class MondrianBoxes:
    """The parts of a private Mondrian.

    Parameters
    ----------
    low, high
        The first and last cell of each part in each column; parts x columns. These may be released.
    labels
        The part of each record. This must not be released.
    root
        The tree of splits, without records.
    depth
        The maximum number of levels, from the noisy number of records.
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
    accountant: Accountant,
    epsilon: float,
    split_criterion: SplitCriterion = "side",
    progress: Progress = SILENT,
) -> MondrianBoxes:
    """Split the space privately into parts of about k to 2k records.

    Parameters
    ----------
    codes
        n x d integers: cells of a public grid; cells beyond it are clipped to it.
    shape
        The number of cells of each column of the grid.
    k
        Parts with a noisy count below 2k are not split.
    accountant, epsilon
        The privacy accounting, and the part of its budget that may be spent here.
    split_criterion
        Criterion for the column of a split: ``side`` (longest side of the part), ``deviation`` (largest deviation from
        its centre) or ``mad`` (largest median absolute deviation).
    progress
        Progress callback.

    Returns
    -------
    boxes
        The parts.

    Examples
    --------
    >>> cells = np.arange(4000)[:, None] % 64
    >>> accountant = Accountant(5.0)
    >>> boxes = mondrian_boxes(cells, (64,), k=100, accountant=accountant, epsilon=5.0)
    >>> bool(boxes.low.min() == 0 and boxes.high.max() == 63), accountant.spent_epsilon <= 5.0
    (True, True)
    """
    codes = _checked(codes, shape, k, split_criterion)
    for_size = accountant.spend("number of records, for the depth", accountant.share(1, 10, of=epsilon))
    size = int(integer_noise(np.array([len(codes)]), 1, for_size)[0])
    depth = min(_MAX_DEPTH, max(0, math.ceil(math.log2(max(size, 1) / (2 * k)))))
    root = Part(np.zeros(len(shape), np.int64), np.array(shape, np.int64) - 1, np.arange(len(codes)))
    active = [root]
    progress.stage("splitting", depth)
    for level in range(1, depth + 1):
        active = _cut_level(
            codes, np.array(shape), active, k=k, accountant=accountant, level=(level, depth), epsilon=epsilon,
            split_criterion=split_criterion,
        )  # fmt: skip
        progress.advance()
    leaves = _leaves(root)
    labels = np.empty(len(codes), np.int64)
    for index, part in enumerate(leaves):
        part.leaf = index
        labels[part.records] = index
    _remove_records(root)
    return MondrianBoxes(
        np.array([part.low for part in leaves]), np.array([part.high for part in leaves]), labels, root, depth
    )


def _cut_level(
    codes: NDArray[np.int64],
    shape: NDArray[np.int64],
    parts: list[Part],
    *,
    k: int,
    accountant: Accountant,
    level: tuple[int, int],
    epsilon: float,
    split_criterion: SplitCriterion,
) -> list[Part]:
    """Split all parts of a level that are large enough, and return their halves."""
    parts = [part for part in parts if (part.high > part.low).any()]
    if not parts:
        return []
    name, tenths = f"level {level[0]} of {level[1]}", 10 * level[1]
    stop, column, cut = (2, 2, 5) if split_criterion != "side" else (2, 0, 7)  # of nine tenths
    for_count = accountant.share(stop, tenths, of=epsilon)
    accountant.spend(f"{name}: which parts are split", for_count, parts=len(parts))
    counts = integer_noise(np.array([part.records.size for part in parts]), 1, for_count)
    parts = [part for part, count in zip(parts, counts, strict=True) if count >= 2 * k]
    if not parts:
        return []
    for_column = accountant.share(column, tenths, of=epsilon) if column else 0.0
    if column:
        accountant.spend(f"{name}: which column is split", for_column, parts=len(parts))
    for_cut = accountant.share(cut, tenths, of=epsilon)
    accountant.spend(f"{name}: where it is split", for_cut, parts=len(parts))
    for part in parts:
        chosen = _column(codes, shape, part, for_column, accountant, split_criterion)
        _halve(codes, part, chosen, for_cut)
    return [half for part in parts if part.halves for half in part.halves]


def _column(
    codes: NDArray[np.int64],
    shape: NDArray[np.int64],
    part: Part,
    epsilon: float,
    accountant: Accountant,
    split_criterion: SplitCriterion,
) -> int:
    """Return the column to split, among those with more than one cell."""
    open_ = np.flatnonzero(part.high > part.low)
    side = (part.high - part.low)[open_] * _UNIT // shape[open_]
    if open_.size == 1 or split_criterion == "side":
        return int(open_[side.argmax()])
    values = codes[np.ix_(part.records, open_)]
    if split_criterion == "deviation":
        away = np.abs(2 * values - (part.low + part.high)[open_]) * _UNIT // shape[open_]
        return int(open_[select(away.sum(axis=0), max(1, int(side.max())), epsilon)])
    for_quantile = accountant.share(1, 2 * open_.size, of=epsilon)
    estimates = []
    for index, column in enumerate(open_):
        middle = private_quantile(
            values[:, index], _candidates(part.low[column], part.high[column]), epsilon=for_quantile
        )
        away = np.abs(values[:, index] - middle)
        typical = private_quantile(
            away, _candidates(0, int(part.high[column] - part.low[column])), epsilon=for_quantile
        )
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
    """Return up to 256 evenly spaced cells of a public range."""
    return np.unique(np.linspace(low, high, min(_CANDIDATES, int(high) - int(low) + 1)).round().astype(np.int64))


def _leaves(part: Part) -> list[Part]:
    """Return the parts that were not split, from the low to the high side."""
    return [part] if part.halves is None else [*_leaves(part.halves[0]), *_leaves(part.halves[1])]


def _remove_records(part: Part) -> None:
    """Remove from the tree what must not be released."""
    part.records = np.empty(0, np.int64)
    for half in part.halves or ():
        _remove_records(half)


def _checked(codes: NDArray[np.int64], shape: tuple[int, ...], k: int, split_criterion: str) -> NDArray[np.int64]:
    check_k(k)
    if split_criterion not in {"deviation", "mad", "side"}:
        raise ParameterError(f'split_criterion="{split_criterion}" is unknown; choose deviation, mad or side')
    if shape and max(shape) > 2**40:
        raise ParameterError("a column may have at most 2**40 cells")
    return clipped_cells(codes, shape)
