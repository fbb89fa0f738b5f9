"""Running a search for groups of at most 2k-1 values: in pieces, and from both ends in parallel.

A long column is searched by two threads: one from the smallest value up, one from the largest down, each to a little
beyond the middle. Groups have at most 2k-1 values, so the optimal clustering has a cut in any 2k-1 consecutive
positions; the position with the smallest sum of the two totals is such a cut. The halves depend on n alone, so the
labels do not depend on the number of processors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import Kernel, compiled
from shoal.core.progress import SILENT, Progress
from shoal.core.threads import run_two
from shoal.errors import ParameterError
from shoal.methods.univariate.costs import COSTS, Cost
from shoal.methods.univariate.searches import capped_kernel, surcharge_kernel
from shoal.methods.univariate.sorting import PARALLEL_VALUES


def capped_cuts(
    values: NDArray[Any],
    weights: NDArray[np.float64],
    k: int,
    cost: Cost,
    search: str,
    *,
    largest: int | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Return the cuts 0 = c₀ < c₁ < ... = n of the optimal clustering with groups of k to 2k-1 (or ``largest``) values.

    Parameters
    ----------
    values
        Sorted values, or records in the given order (n x d).
    weights
        One per value; empty for costs without weights.
    k, cost, search, largest
        As in :func:`shoal.methods.univariate.optimal_1d.optimal_1d`.
    progress
        Progress callback.
    """
    n = values.shape[0]
    progress.stage("cutting the sorted values", n)
    constant = k if search == "direct" else None
    if cost.mirror is None or largest is not None or n < max(PARALLEL_VALUES, 16 * k):
        forward = _Run(capped_kernel(search, cost.name, constant), values, weights, k, largest, cost, n)
        forward.go(progress)
        if not np.isfinite(forward.total[n]):
            raise ParameterError(
                f"{n} records cannot be cut into groups of {k} to {largest}; allow a larger max_size or another k"
            )
        return backtrack(forward.last, n)
    kernel, mirrored = (capped_kernel(search, name, constant) for name in (cost.name, cost.mirror))
    middle = n // 2
    far = slice(
        None, middle - 3 * k, -1
    )  # the values that the backward run reads: its half, the overlap, and k values for ties
    forward = _Run(kernel, values[: middle + 3 * k], weights[: middle + 3 * k], k, None, cost, middle + k)
    backward = _Run(mirrored, -values[far], weights[far].copy(), k, None, COSTS[cost.mirror], n - middle + k)
    run_two(lambda: forward.go(progress), lambda: backward.go(SILENT))
    meeting = np.arange(middle - k + 1, middle + k)
    twice = surcharge_kernel(cost.name)(values[middle - 2 * k : middle + 2 * k], k)[k + 1 : 3 * k]
    best = int(meeting[np.argmin(forward.total[meeting] + backward.total[n - meeting] - twice)])
    up = backtrack(forward.last, best)
    down = backtrack(backward.last, n - best)
    return np.concatenate([up, n - down[-2::-1]])


class _Run:
    """The state of one pass over the values, in one direction."""

    def __init__(
        self,
        kernel: Kernel,
        values: NDArray[Any],
        weights: NDArray[np.float64],
        k: int,
        largest: int | None,
        cost: Cost,
        stop: int,
    ) -> None:
        self.kernel, self.values, self.weights, self.k, self.stop = kernel, values, weights, k, stop
        self.largest = min(largest, 2 * k - 1) if largest else (-1 if cost.concave else 2 * k - 1)
        self.sums = np.zeros((3 * k + 1, *values.shape[1:]))
        self.mass = np.zeros(3 * k + 1)
        self.total = np.empty(stop + 1)
        self.total[:k] = [0.0, *[np.inf] * (k - 1)]  # fewer than k values cannot be a group
        self.last = np.empty(stop + 1, np.int32)
        self.last[:k] = 0

    def go(self, progress: Progress) -> None:
        """Fill the totals, a million values at a time."""
        done = self.k
        while done <= self.stop:
            before = done
            done = self.kernel(
                self.values,
                self.weights,
                self.k,
                self.largest,
                done,
                self.stop,
                self.sums,
                self.mass,
                self.total,
                self.last,
            )
            progress.advance(done - before)


def backtrack(last: NDArray[Any], end: int) -> NDArray[np.int64]:
    """Return the cuts of the clustering from the size of the last group of each prefix (Stamm & Schaub 2024, Alg. 3).

    Examples
    --------
    >>> backtrack(np.array([0, 0, 2, 3, 2, 2]), 5)
    array([0, 3, 5])
    """
    cuts = np.empty(end + 1, np.int64)
    return cuts[walk_back(last, end, cuts) :].copy()


@compiled
def walk_back(last: Any, end: int, cuts: Any) -> int:
    """Write the cuts from the end of the array to its beginning; return where they begin."""
    position = cuts.size - 1
    cuts[position] = end
    while end > 0:
        end -= last[end]
        position -= 1
        cuts[position] = end
    return position
