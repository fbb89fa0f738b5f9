"""The release of a private Mondrian: noisy counts and means of its parts, as microaggregated or synthetic records."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.database import clipped_cells
from shoal.dp.guarantee import Guarantee
from shoal.dp.opendp_library import integer_noise
from shoal.dp.private_mondrian import MondrianBoxes, Part, SplitCriterion, mondrian_boxes

_UNIT = 2**16


@dataclass(frozen=True)
class MondrianRelease:
    """The parts of the space with noisy counts and means.

    Parameters
    ----------
    low, high
        The first and last cell of each part; parts x columns.
    counts
        The noisy count of each part; may be negative.
    means
        The noisy mean of each part in each column, within the part; None if no means were requested.
    guarantee, accountant
        The privacy guarantee, and the privacy budget that was spent.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    counts: NDArray[np.int64]
    means: NDArray[np.float64] | None
    guarantee: Guarantee
    accountant: Accountant
    root: Part = field(repr=False)

    def synthetic(self) -> NDArray[np.int64]:
        """Return synthetic records: in each part as many as its noisy count, drawn uniformly within the part."""
        counts = np.maximum(self.counts, 0)
        low, high = np.repeat(self.low, counts, axis=0), np.repeat(self.high, counts, axis=0)
        drawn: NDArray[np.int64] = np.random.default_rng().integers(low, high, dtype=np.int64, endpoint=True)
        return drawn

    def microaggregated(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return representatives and the number of records that each represents, at least k.

        A part with a noisy count below k is merged into the nearest part on the other side of the last split. This
        uses noisy values only, so it adds no privacy loss. No part is removed if the total of the counts is at least k.
        """
        centres = (self.low + self.high) / 2 if self.means is None else self.means
        groups = _merged(self.root, centres, np.maximum(self.counts, 0), k)
        kept = [(centre, count) for centre, count in groups if count >= max(k, 1)]
        representatives = np.array([centre for centre, _ in kept]).reshape(-1, centres.shape[1])
        return representatives, np.array([count for _, count in kept], np.int64)


def mondrian(
    codes: NDArray[np.int64],
    shape: tuple[int, ...],
    *,
    k: int,
    epsilon: float,
    means: bool = True,
    split_criterion: SplitCriterion = "side",
    progress: Progress = SILENT,
) -> MondrianRelease:
    """Release noisy counts, and optionally means, of the parts of a private Mondrian.

    Parameters
    ----------
    codes
        n x d integers: cells of a public grid; cells beyond it are clipped to it.
    shape
        The number of cells of each column of the grid.
    k
        Parts have about k to 2k records.
    epsilon
        Total privacy loss epsilon: one half for the parts; the other half for the counts, or two fifths of it for the
        counts and three fifths for the means.
    means
        Whether means are released.
    split_criterion
        Criterion for the column of a split: ``side`` (longest side of the part), ``deviation`` (largest deviation from
        its centre) or ``mad`` (largest median absolute deviation).
    progress
        Progress callback.

    Returns
    -------
    release
        The parts; the guarantee is for add-remove neighbours.

    Examples
    --------
    >>> cells = np.random.default_rng(1).integers(0, 1024, (5000, 2))
    >>> release = mondrian(cells, (1024, 1024), k=100, epsilon=2.0)
    >>> centres, counts = release.microaggregated(100)
    >>> bool(counts.min() >= 100), release.accountant.spent_epsilon <= 2.0
    (True, True)
    """
    codes = clipped_cells(codes, shape)
    accountant = Accountant(epsilon)
    boxes = mondrian_boxes(
        codes,
        shape,
        k=k,
        accountant=accountant,
        epsilon=accountant.share(5, 10),
        split_criterion=split_criterion,
        progress=progress,
    )
    for_counts = accountant.share(2 if means else 5, 10)
    accountant.spend("count of each part", for_counts, parts=len(boxes.low))
    counts = integer_noise(np.bincount(boxes.labels, minlength=len(boxes.low)).astype(np.int64), 1, for_counts)
    noisy_means = None
    if means:
        for_means = accountant.share(3, 10)
        accountant.spend("mean of each part", for_means, parts=len(boxes.low))
        noisy_means = _means(codes, boxes, counts, for_means)
    return MondrianRelease(boxes.low, boxes.high, counts, noisy_means, accountant.guarantee(), accountant, boxes.root)


def _means(
    codes: NDArray[np.int64], boxes: MondrianBoxes, counts: NDArray[np.int64], epsilon: float
) -> NDArray[np.float64]:
    """Return noisy means, clipped to their parts."""
    sums, sensitivity = position_sums(codes, boxes)
    noisy = integer_noise(sums.ravel(), sensitivity, epsilon).reshape(sums.shape)
    offset = np.clip(noisy / _UNIT / np.maximum(counts, 1)[:, None], -1.0, 1.0)
    means: NDArray[np.float64] = (boxes.low + boxes.high) / 2 + offset * (boxes.high - boxes.low) / 2
    return means


def position_sums(codes: NDArray[np.int64], boxes: MondrianBoxes) -> tuple[NDArray[np.int64], int]:
    """Return sums of positions within the part, from -1 to 1 in steps of 2**-16, and their sensitivity."""
    low, high = boxes.low, boxes.high
    d = codes.shape[1]
    positions = (2 * codes - (low + high)[boxes.labels]) * _UNIT // np.maximum(high - low, 1)[boxes.labels]
    sums = np.empty(low.shape, np.int64)
    for column in range(d):  # sums below 2**53 are exact in floats
        sums[:, column] = np.bincount(boxes.labels, positions[:, column], minlength=len(low))
    return sums, d * _UNIT


def _merged(
    part: Part, centres: NDArray[np.float64], counts: NDArray[np.int64], k: int
) -> list[tuple[NDArray[np.float64], int]]:
    """Return the groups of a subtree; each has at least k records, unless it is the only one."""
    if part.halves is None:
        return [(centres[part.leaf], int(counts[part.leaf]))]
    below, above = (_merged(half, centres, counts, k) for half in part.halves)
    for few, many in ((below, above), (above, below)):
        if len(few) == 1 and few[0][1] < k:
            return _joined(few[0], many)
    return [*below, *above]


def _joined(
    small: tuple[NDArray[np.float64], int], groups: list[tuple[NDArray[np.float64], int]]
) -> list[tuple[NDArray[np.float64], int]]:
    """Return the groups after a small group was merged into the nearest of them."""
    nearest = int(np.argmin([((centre - small[0]) ** 2).sum() for centre, _ in groups]))
    centre, count = groups[nearest]
    total = small[1] + count
    weight = small[1] / total if total else 0.5
    groups = list(groups)
    groups[nearest] = (weight * small[0] + (1 - weight) * centre, total)
    return groups
