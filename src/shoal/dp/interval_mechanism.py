"""ReleaseIntervals: cut a column into intervals of about equal content by noisy bisection (Thaeter 2021, Alg. 25).

Blum, Ligett & Roth 2013, doi:10.1145/2450142.2450148, section 5. Values are 1..2^sigma. Starting at the lower end, the
shortest interval is sought that holds a share alpha/6 of the records; each of its at most sigma comparisons is
protected by Laplace noise. Every interval then gets the same number of synthetic records, spread evenly.

Readings of the damaged print: an interval that is too light grows; intervals are disjoint, so that each starts after
the last; the bisection is on whole numbers; at most ceil(8/alpha) intervals are cut, the last of which takes the rest.
A comparison asks whether count - (alpha/6) |X| plus noise is negative. One record changes that by at most 1, whether it
is added, removed or replaced, so the number of records need not be public.

For several columns, each interval is cut further along the next column. The intervals are disjoint, so a column costs
its share once, and the budget is shared evenly by the columns. Cost O(d n sigma / alpha).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.guarantee import Guarantee, check_epsilon, check_share
from shoal.dp.opendp_library import whole_noise
from shoal.errors import DataError, ParameterError

MOST_BOXES = 200_000
"""The most boxes that several columns may be cut into."""


@dataclass(frozen=True)
class Intervals:
    """What ReleaseIntervals releases: boxes with about equal content.

    Parameters
    ----------
    low, high
        The first and last cell of each box in each column, from 0; boxes x columns.
    guarantee, accountant
        What is promised and what was spent.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    guarantee: Guarantee
    accountant: Accountant

    def synthetic(self, records: int, shape: tuple[int, ...] | None = None) -> NDArray[np.int64]:
        """Return about so many synthetic records, the same number in each box, drawn evenly within it.

        ``shape`` is the number of cells of each column that can occur, if it is less than the whole grid.
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
    """Cut the space into boxes of about equal content.

    Parameters
    ----------
    codes
        n x d whole numbers from 0 to 2**sigma - 1: cells of a public grid (the text counts from 1).
    sigma
        The binary digits of the grid, for all columns or for each.
    epsilon
        The price of everything.
    alpha
        The accuracy aimed at: intervals hold a share of about alpha/6.
    progress
        Hears how many boxes of a column are cut.

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
    check_share(alpha, "alpha")
    codes = np.asarray(codes, np.int64)
    if codes.ndim != 2:
        raise DataError("codes must be n x d whole numbers")
    d = codes.shape[1]
    digits = (sigma,) * d if isinstance(sigma, int) else tuple(sigma)
    if len(digits) != d or any(not 1 <= digit <= 40 for digit in digits):
        raise ParameterError(f"sigma={sigma} must give 1 to 40 binary digits for each of the {d} columns")
    if codes.size and ((codes < 0).any() or (codes >= 2 ** np.array(digits)).any()):
        raise DataError("there are records outside the grid of 2**sigma cells; clip them first")
    if max_intervals(alpha) ** d > MOST_BOXES:
        raise ParameterError(
            f"alpha={alpha} on {d} columns may cut {max_intervals(alpha)}**{d} boxes, more than {MOST_BOXES:,}; "
            "use a larger alpha or fewer columns"
        )
    account = Accountant(epsilon)
    parts = [np.arange(len(codes))]
    low, high = np.zeros((1, d), np.int64), np.array([[2**digit - 1 for digit in digits]])
    for column, digit in enumerate(digits):
        questions = digit * max_intervals(alpha)
        price = account.share(1, d * questions)
        account.spend(f"cuts along column {column + 1}", price, times=questions, parts=len(parts))
        progress.stage("cutting", len(parts))
        pieces, lows, highs = [], [], []
        for part, from_, to in zip(parts, low, high, strict=True):
            values = codes[part, column]
            order = np.argsort(values, kind="stable")
            for first, last, records in _cut(values[order], digit, price, alpha):
                pieces.append(part[order[records]])
                lows.append(np.where(np.arange(d) == column, first, from_))
                highs.append(np.where(np.arange(d) == column, last, to))
            progress.advance()
        parts, low, high = pieces, np.array(lows), np.array(highs)
    return Intervals(low, high, account.guarantee(), account)


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
            while low < last:  # at most sigma questions
                middle = (low + last) // 2
                count = int(np.searchsorted(ordered, middle, side="right")) - start
                if _too_light(count, ordered.size, content, epsilon):
                    low = middle + 1
                else:
                    last = middle
        end = int(np.searchsorted(ordered, last, side="right"))
        found.append((first, last, slice(start, end)))
        first, start = last + 1, end
    return found


def _too_light(count: int, size: int, content: Fraction, epsilon: float) -> bool:
    """Say, with noise, whether a count is below its share of the size, in whole numbers."""
    excess = content.denominator * count - content.numerator * size
    return bool(whole_noise(np.array([excess]), content.denominator, epsilon)[0] < 0)


def max_intervals(alpha: float) -> int:
    """Return the most intervals of a column, ceil(4 / (3 alpha/6)).

    Examples
    --------
    >>> max_intervals(0.1)
    80
    """
    return math.ceil(Fraction(8) / Fraction(alpha).limit_denominator(10**6))


def intervals_records_needed(*, sigma: int, epsilon: float, alpha: float, beta: float) -> int:
    """Return how many records one column needs for an error of at most alpha, except with probability beta.

    Thaeter 2021, Theorem 10.20: (288 sigma / (epsilon alpha³)) ln(8 sigma / (beta alpha)). There is no such theorem for
    several columns.

    Examples
    --------
    >>> f"{intervals_records_needed(sigma=5, epsilon=0.1, alpha=0.1, beta=0.01):.2e}"
    '1.53e+08'
    """
    check_epsilon(epsilon)
    check_share(alpha, "alpha")
    check_share(beta, "beta")
    if sigma < 1:
        raise ParameterError(f"sigma={sigma} must be at least 1")
    return math.ceil(288 * sigma / (epsilon * alpha**3) * math.log(8 * sigma / (beta * alpha)))
