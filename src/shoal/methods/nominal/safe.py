"""safe: the frequency vector is edited until no combination is rare, with small errors in all control tables.

SAFE, Höhne 2003, 2010, 2015, as described in Cost 2023, chapter 2 (Algorithms 1 to 4, Appendix A). Three entries at a
time are changed by up to 3 records each, under bounds on the error of every cell; then the bounds are tightened. The
sum of the vector may differ from the number of records by a few: the diagnostics report it, and groups are made from a
vector that was adjusted to the number of records. The published loop need not end; here the bounds rise by one (first
those of higher tables, up to a difference of 3) when all kinds of windows together removed at most 2 % of the problems,
that is, of the combinations with 1 to k - 1 records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.contract import Outcome, SelectedRecords
from shoal.methods.kernels.safe_windows import safe_pass
from shoal.methods.nominal.frequency_vectors import Vector, adjusted_vector, frequency_vector, groups_of_vector
from shoal.methods.registry import method

Keep = Literal["best", "last"]
ONE_DIM_BOUND, HIGHER_DIM_BOUND, BOUND_DIFFERENCE = 2, 3, 3
DEVIATION = 3  # records by which an entry may differ from the original
FIRST_PART, PART = 5_000, 500  # entries after which the windows begin again
STAGNATION = 0.02  # share of problems removed by a pass that is too small to go on
IMPROVEMENTS = 20
MOST_EXCEEDINGS, MOST_EXCEEDINGS_AT_ALL = 5, 50  # cells beyond their bound after tightening
MOST_RISES = 40
_EXTRA_FROM = np.array([10, 20, 50, 100, 200, 1_000, 10_000, 100_000, 1_000_000])


@dataclass(frozen=True)
class SafeResult:
    """The result of SAFE.

    Parameters
    ----------
    y
        The k-anonymous frequency vector, its entries in the order of :func:`frequency_vector`.
    bounds
        The final bounds of one-dimensional and of higher tables.
    within_bounds
        Whether the vector satisfies the bounds; if not, the last rare combinations were removed or raised to k
        regardless of them.
    """

    y: NDArray[np.int64]
    bounds: tuple[int, int]
    within_bounds: bool


def extra_error(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return g: the additional error allowed in cells with many records (Cost 2023, Appendix A).

    Examples
    --------
    >>> extra_error(np.array([9.0, 10.0, 250.0, 5e6])).tolist()
    [0.0, 1.0, 5.0, 9.0]
    """
    return np.searchsorted(_EXTRA_FROM, target, side="right").astype(np.float64)


def safe_vector(
    vector: Vector, k: int, *, improve: bool = True, keep: Keep = "best", progress: Progress = SILENT
) -> SafeResult:
    """Return the vector of SAFE; its sum may differ from the number of records.

    Examples
    --------
    >>> codes = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32), [4, 1, 2, 5], axis=0)
    >>> safe_vector(frequency_vector(codes), 3).y.tolist()
    [4, 0, 3, 5]
    """
    y0 = vector.counts
    y = y0.copy()
    error = np.zeros(vector.tables.size, np.int64)
    one_dim = vector.tables.dimensions() == 1
    extra = extra_error(vector.target).astype(np.int64)
    low, high = ONE_DIM_BOUND, HIGHER_DIM_BOUND
    deviation = max(DEVIATION, k)
    progress.stage("SAFE: removing rare combinations", int(_problems(y, k)))
    for rise in range(MOST_RISES + 1):
        limit = np.where(one_dim, low, high) + extra
        if _remove(vector, y, error, limit, k, deviation, progress) or rise == MOST_RISES:
            break
        low, high = (low, high + 1) if high - low < BOUND_DIFFERENCE else (low + 1, high)
    within = _problems(y, k) == 0
    if not within:
        y = adjusted_vector(vector, y, k, int(y.sum()))
    elif improve:
        best, last = _improve(vector, y, np.where(one_dim, low, high) + extra, k, deviation, progress)
        y = best if keep == "best" or not last.any() else last
    return SafeResult(y, (low, high), within)


def _problems(y: NDArray[np.int64], k: int) -> int:
    return int(((y > 0) & (y < k)).sum())


def _remove(
    vector: Vector,
    y: NDArray[np.int64],
    error: NDArray[np.int64],
    limit: NDArray[np.int64],
    k: int,
    deviation: int,
    progress: Progress,
) -> bool:
    """Run all kinds of windows while they remove problems (Algorithm 1); returns whether none remains."""
    ends = [*range(FIRST_PART, y.size, PART), y.size]
    while True:
        before = _problems(y, k)
        for kind in range(4):
            for end in ends:
                left = _problems(y[:end], k)
                while left:
                    removed = safe_pass(
                        vector.tables.cells, vector.counts, y, error, limit, kind, end, k, deviation, False
                    )
                    progress.advance(max(int(removed), 0))
                    if removed <= STAGNATION * left:
                        break
                    left = _problems(y[:end], k)
            if _problems(y, k) == 0:
                return True
        if before - _problems(y, k) <= STAGNATION * before:
            return False


def _improve(
    vector: Vector, y: NDArray[np.int64], limit: NDArray[np.int64], k: int, deviation: int, progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tighten the bounds and repair cells that exceed them (Algorithm 3); return the best vector and the last."""
    goal = np.where(vector.tables.dimensions() == 1, ONE_DIM_BOUND, HIGHER_DIM_BOUND)
    best, best_error = y.copy(), vector.chi_square(y)
    y, limit = y.copy(), limit.copy()
    error = np.rint(vector.error(y)).astype(np.int64)
    progress.stage("SAFE: tightening bounds", IMPROVEMENTS)
    for _ in range(IMPROVEMENTS):
        if not (limit > goal).any() or (np.abs(error) > limit).sum() >= MOST_EXCEEDINGS_AT_ALL:
            break
        while (limit > goal).any():
            tighter = np.maximum(limit - 1, np.minimum(limit, goal))
            if (np.abs(error) > tighter).sum() >= MOST_EXCEEDINGS:
                break
            limit = tighter
        safe_pass(vector.tables.cells, vector.counts, y, error, limit, 3, y.size, k, deviation, True)
        reached = vector.chi_square(y)
        if reached < best_error and y.any():
            best, best_error = y.copy(), reached
        progress.advance()
    return best, y


@method(
    "safe",
    title="SAFE: edit the frequency vector under bounds on the errors of tables",
    complexity="O(n_a s) per pass for n_a combinations and s tables",
    guarantees=(SelectedRecords(),),
    reference="Höhne 2010; Cost 2023, chapter 2",
    when="tables of categories whose one-dimensional counts must stay within one or two records",
    represents=True,
)
def safe(
    codes: NDArray[np.int32],
    k: int,
    *,
    tables: int | str | None = None,
    improve: bool = True,
    keep: Keep = "best",
    progress: Progress = SILENT,
) -> Outcome:
    """Group records by the SAFE heuristic.

    Parameters
    ----------
    tables
        Control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    improve
        Whether the bounds are tightened afterwards (Algorithm 3).
    keep
        The vector that is returned after tightening: ``best``, of least chi-square error, or ``last``, as published.

    Examples
    --------
    >>> codes = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32), [4, 1, 2, 5], axis=0)
    >>> outcome = safe(codes, 3)
    >>> np.bincount(outcome.labels).tolist(), outcome.diagnostics["vector_records"]
    ([4, 3, 5], 12)
    """
    vector = frequency_vector(codes, tables)
    found = safe_vector(vector, k, improve=improve, keep=keep, progress=progress)
    released = adjusted_vector(vector, found.y, k, len(codes))
    labels, representatives = groups_of_vector(vector, released)
    return Outcome(
        labels,
        representatives,
        diagnostics={
            "control_tables": len(vector.tables.tables),
            "chi_square": vector.chi_square(released),
            "records": len(codes),
            "vector_records": int(found.y.sum()),
            "vector_chi_square": vector.chi_square(found.y),
            "bounds": list(found.bounds),
            "within_bounds": found.within_bounds,
        },
    )
