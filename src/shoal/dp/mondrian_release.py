"""What a private Mondrian releases: noisy counts and means of its parts, as microaggregated or as synthetic records."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.guarantee import Guarantee
from shoal.dp.opendp_library import whole_noise
from shoal.dp.private_mondrian import Boxes, Part, Spread, mondrian_boxes

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
        The noisy mean of each part in each column, within the part; None if no means were asked for.
    guarantee, accountant
        What is promised and what was spent.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    counts: NDArray[np.int64]
    means: NDArray[np.float64] | None
    guarantee: Guarantee
    accountant: Accountant
    root: Part = field(repr=False)

    def synthetic(self) -> NDArray[np.int64]:
        """Return synthetic records: as many in each part as it counts, drawn evenly within it."""
        counts = np.maximum(self.counts, 0)
        low, high = np.repeat(self.low, counts, axis=0), np.repeat(self.high, counts, axis=0)
        drawn: NDArray[np.int64] = np.random.default_rng().integers(low, high, dtype=np.int64, endpoint=True)
        return drawn

    def microaggregated(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return representatives and how often each is released: at least k times.

        A part with a noisy count below k joins the nearest part on the other side of the last cut. This looks at noisy
        values only, so it costs nothing, and no part is deleted as long as all together count k.
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
    spread: Spread = "side",
    progress: Progress = SILENT,
) -> MondrianRelease:
    """Release noisy counts, and means if wanted, of the parts of a private Mondrian.

    Parameters
    ----------
    codes
        n x d whole numbers: cells of a public grid.
    shape
        The number of cells of each column of the grid.
    k
        Parts have about k to 2k records.
    epsilon
        The price of everything: half of it for the parts; the rest for the counts, or two fifths of the rest for the
        counts and three fifths for the means.
    means
        Whether means are released.
    spread
        How the column of a cut is chosen: ``side``, ``deviation`` or ``mad``.
    progress
        Hears how deep the cuts are.

    Returns
    -------
    release
        The parts, with neighbours by adding or removing a record.

    Examples
    --------
    >>> cells = np.random.default_rng(1).integers(0, 1024, (5000, 2))
    >>> release = mondrian(cells, (1024, 1024), k=100, epsilon=2.0)
    >>> centres, counts = release.microaggregated(100)
    >>> bool(counts.min() >= 100), release.accountant.spent_epsilon <= 2.0
    (True, True)
    """
    account = Accountant(epsilon)
    boxes = mondrian_boxes(
        codes, shape, k=k, account=account, epsilon=account.share(5, 10), spread=spread, progress=progress
    )
    for_counts = account.share(2 if means else 5, 10)
    account.spend("count of each part", for_counts, parts=len(boxes.low))
    counts = whole_noise(np.bincount(boxes.labels, minlength=len(boxes.low)).astype(np.int64), 1, for_counts)
    noisy_means = None
    if means:
        for_means = account.share(3, 10)
        account.spend("mean of each part", for_means, parts=len(boxes.low))
        noisy_means = _means(np.asarray(codes, np.int64), boxes, counts, for_means)
    return MondrianRelease(boxes.low, boxes.high, counts, noisy_means, account.guarantee(), account, boxes.root)


def _means(codes: NDArray[np.int64], boxes: Boxes, counts: NDArray[np.int64], epsilon: float) -> NDArray[np.float64]:
    """Return noisy means, within their parts."""
    sums, sensitivity = position_sums(codes, boxes)
    noisy = whole_noise(sums.ravel(), sensitivity, epsilon).reshape(sums.shape)
    offset = np.clip(noisy / _UNIT / np.maximum(counts, 1)[:, None], -1.0, 1.0)
    means: NDArray[np.float64] = (boxes.low + boxes.high) / 2 + offset * (boxes.high - boxes.low) / 2
    return means


def position_sums(codes: NDArray[np.int64], boxes: Boxes) -> tuple[NDArray[np.int64], int]:
    """Return sums of positions within the part, from -1 to 1 in steps of 2**-16, and how much one record adds."""
    low, high = boxes.low, boxes.high
    d = codes.shape[1]
    positions = (2 * codes - (low + high)[boxes.labels]) * _UNIT // np.maximum(high - low, 1)[boxes.labels]
    sums = np.empty(low.shape, np.int64)
    for column in range(d):  # sums below 2**53, so floats hold them exactly
        sums[:, column] = np.bincount(boxes.labels, positions[:, column], minlength=len(low))
    return sums, d * _UNIT


def _merged(
    part: Part, centres: NDArray[np.float64], counts: NDArray[np.int64], k: int
) -> list[tuple[NDArray[np.float64], int]]:
    """Return the groups of a part of the tree; each counts at least k, unless it is the only one."""
    if part.halves is None:
        return [(centres[part.leaf], int(counts[part.leaf]))]
    below, above = (_merged(half, centres, counts, k) for half in part.halves)
    for few, many in ((below, above), (above, below)):
        if len(few) == 1 and few[0][1] < k:
            return _joined(few[0], many)
    return [*below, *above]


def _joined(
    one: tuple[NDArray[np.float64], int], groups: list[tuple[NDArray[np.float64], int]]
) -> list[tuple[NDArray[np.float64], int]]:
    """Return the groups after one more has joined the nearest of them."""
    nearest = int(np.argmin([((centre - one[0]) ** 2).sum() for centre, _ in groups]))
    centre, count = groups[nearest]
    total = one[1] + count
    weight = one[1] / total if total else 0.5
    groups = list(groups)
    groups[nearest] = (weight * one[0] + (1 - weight) * centre, total)
    return groups
