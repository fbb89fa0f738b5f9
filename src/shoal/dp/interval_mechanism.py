"""ReleaseIntervals: split a column into intervals of about equal content by noisy bisection (Thaeter 2021, Alg. 25).

Blum, Ligett & Roth 2013, doi:10.1145/2450142.2450148, section 5. Values are 1..2^sigma. Starting at the lower end, the
mechanism searches for the shortest interval that contains a fraction alpha/6 of the records; each of its at most sigma
comparisons is protected by Laplace noise. Every interval then receives the same number of synthetic records, drawn
uniformly.

The published algorithm is incomplete; this is the interpretation used here. An interval with too few records grows;
intervals are disjoint, so that each starts after the previous one; the bisection is on integers; there are at most
ceil(8/alpha) intervals, and the last one contains the rest. A comparison tests whether count - (alpha/6) |X| plus noise
is negative. One record changes this number by at most 1, whether it is added, removed or replaced, so the number of
records need not be public.

For several columns, each interval is split further along the next column. The intervals are disjoint, so the privacy
loss of a column counts once, and the budget is divided equally among the columns. Time O(d n sigma / alpha).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.database import clipped_cells
from shoal.dp.guarantee import Guarantee, check_epsilon, check_fraction
from shoal.dp.opendp_library import integer_noise
from shoal.errors import DataError, ParameterError

MAX_BOXES = 200_000
"""The largest number of boxes that several columns may be split into."""


@dataclass(frozen=True)
class Intervals:
    """The release of ReleaseIntervals: boxes with about equal content.

    Parameters
    ----------
    low, high
        The first and last cell of each box in each column, from 0; boxes x columns.
    guarantee, accountant
        The privacy guarantee, and the privacy budget that was spent.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    guarantee: Guarantee
    accountant: Accountant

    def synthetic(self, records: int, shape: tuple[int, ...] | None = None) -> NDArray[np.int64]:
        """Return about ``records`` synthetic records, the same number in each box, drawn uniformly within it.

        ``shape`` is the number of cells of each column that can occur, if this is less than the grid of 2**sigma.
        """
        each = max(1, round(records / len(self.low)))
        last = self.high.max(axis=0) if shape is None else np.array(shape) - 1
        low, high = (np.repeat(np.minimum(ends, last), each, axis=0) for ends in (self.low, self.high))
        drawn: NDArray[np.int64] = np.random.default_rng().integers(low, high, dtype=np.int64, endpoint=True)
        return drawn


def release_intervals(
    codes: NDArray[np.int64],
    sigma: int | tuple[int, ...],
    *,
    epsilon: float,
    alpha: float,
    progress: Progress = SILENT,
) -> Intervals:
    """Split the space into boxes of about equal content.

    Parameters
    ----------
    codes
        n x d integers from 0 to 2**sigma - 1: cells of a public grid (the paper counts from 1).
    sigma
        The number of binary digits of the grid, for all columns or for each.
    epsilon
        Total privacy loss epsilon.
    alpha
        Target accuracy: each interval contains a fraction of about alpha/6 of the records.
    progress
        Progress callback.

    Returns
    -------
    intervals
        The boxes.

    Examples
    --------
    >>> cells = np.repeat(np.arange(16), 5000)[:, None]
    >>> boxes = release_intervals(cells, 4, epsilon=1.0, alpha=0.9)
    >>> int(boxes.low[0, 0]), int(boxes.high[-1, 0]), len(boxes.low) <= max_intervals(0.9)
    (0, 15, True)
    """
    check_fraction(alpha, "alpha")
    codes = np.asarray(codes, np.int64)
    if codes.ndim != 2:
        raise DataError("codes must be n x d integers")
    d = codes.shape[1]
    digits = (sigma,) * d if isinstance(sigma, int) else tuple(sigma)
    if len(digits) != d or any(not 1 <= digit <= 40 for digit in digits):
        raise ParameterError(f"sigma={sigma} must give 1 to 40 binary digits for each of the {d} columns")
    codes = clipped_cells(codes, [2**digit for digit in digits])
    if max_intervals(alpha) ** d > MAX_BOXES:
        raise ParameterError(
            f"alpha={alpha} on {d} columns may need {max_intervals(alpha)}**{d} boxes, more than {MAX_BOXES:,}; "
            "use a larger alpha or fewer columns"
        )
    accountant = Accountant(epsilon)
    parts = [np.arange(len(codes))]
    low, high = np.zeros((1, d), np.int64), np.array([[2**digit - 1 for digit in digits]])
    for column, digit in enumerate(digits):
        queries = digit * max_intervals(alpha)
        query_epsilon = accountant.share(1, d * queries)
        accountant.spend(f"splits along column {column + 1}", query_epsilon, times=queries, parts=len(parts))
        progress.stage("splitting", len(parts))
        pieces, lows, highs = [], [], []
        for part, from_, to in zip(parts, low, high, strict=True):
            values = codes[part, column]
            order = np.argsort(values, kind="stable")
            for first, last, records in _cut(values[order], digit, query_epsilon, alpha):
                pieces.append(part[order[records]])
                lows.append(np.where(np.arange(d) == column, first, from_))
                highs.append(np.where(np.arange(d) == column, last, to))
            progress.advance()
        parts, low, high = pieces, np.array(lows), np.array(highs)
    return Intervals(low, high, accountant.guarantee(), accountant)


def _cut(ordered: NDArray[np.int64], sigma: int, epsilon: float, alpha: float) -> list[tuple[int, int, slice]]:
    """Return first cell, last cell and records of each interval of one column of one part."""
    top = 2**sigma - 1
    content = Fraction(alpha).limit_denominator(10**6) / 6
    found: list[tuple[int, int, slice]] = []
    first, start = 0, 0
    while first <= top:
        last = top
        if len(found) < max_intervals(alpha) - 1:
            low, last = first, top
            while low < last:  # at most sigma queries
                middle = (low + last) // 2
                count = int(np.searchsorted(ordered, middle, side="right")) - start
                if _too_few(count, ordered.size, content, epsilon):
                    low = middle + 1
                else:
                    last = middle
        end = int(np.searchsorted(ordered, last, side="right"))
        found.append((first, last, slice(start, end)))
        first, start = last + 1, end
    return found


def _too_few(count: int, size: int, content: Fraction, epsilon: float) -> bool:
    """Return, with noise, whether a count is below its fraction of the size; computed in integers."""
    excess = content.denominator * count - content.numerator * size
    return bool(integer_noise(np.array([excess]), content.denominator, epsilon)[0] < 0)


def max_intervals(alpha: float) -> int:
    """Return the largest number of intervals of a column, ceil(4 / (3 alpha/6)).

    Parameters
    ----------
    alpha
        Largest error of an interval query, as a share of the records.

    Returns
    -------
    intervals
        Their largest number (Thaeter 2021, section 10.2).

    Examples
    --------
    >>> max_intervals(0.1)
    80
    """
    return math.ceil(Fraction(8) / Fraction(alpha).limit_denominator(10**6))


def intervals_records_needed(*, sigma: int, epsilon: float, alpha: float, beta: float) -> int:
    """Return the number of records needed for an error of at most alpha in one column, except with probability beta.

    Thaeter 2021, Theorem 10.20: (288 sigma / (epsilon alpha³)) ln(8 sigma / (beta alpha)). There is no such theorem for
    several columns.

    Parameters
    ----------
    sigma
        The column has 2**sigma cells.
    epsilon
        Privacy loss of the column.
    alpha
        Largest error of an interval query, as a share of the records.
    beta
        Probability that the error is exceeded.

    Returns
    -------
    records
        The smallest number for which the theorem holds.

    Examples
    --------
    >>> f"{intervals_records_needed(sigma=5, epsilon=0.1, alpha=0.1, beta=0.01):.2e}"
    '1.53e+08'
    """
    check_epsilon(epsilon)
    check_fraction(alpha, "alpha")
    check_fraction(beta, "beta")
    if sigma < 1:
        raise ParameterError(f"sigma={sigma} must be at least 1")
    return math.ceil(288 * sigma / (epsilon * alpha**3) * math.log(8 * sigma / (beta * alpha)))
