"""EXPQ: a private quantile by the exponential mechanism (Du et al. 2020; Smith 2011; Thaeter 2021, section 10.3).

The utility of a candidate is higher, the closer the fraction of records at or below it is to the requested quantile.
Candidates are fixed points of a public range, so that they do not depend on the data; the published form draws from the
gaps between the records instead, which is the limit for infinitely many candidates. Time O(n log candidates).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.dp.guarantee import check_epsilon
from shoal.dp.opendp_library import select
from shoal.errors import ParameterError


def private_quantile(
    values: NDArray[np.int64], candidates: NDArray[np.int64], *, epsilon: float, quantile: float = 0.5
) -> int:
    """Return one of the candidates, with high probability one close to the quantile of the values.

    Parameters
    ----------
    values
        Integers; for other data, the cells of a public grid.
    candidates
        Possible values of the quantile, in ascending order; they must not depend on the data.
    epsilon
        Privacy loss epsilon, for add-remove neighbours.
    quantile
        The quantile, from 0 to 1; 0.5 is the median.

    Returns
    -------
    value
        A candidate.

    Examples
    --------
    >>> ages = np.repeat(np.arange(20, 61), 100)
    >>> 37 < private_quantile(ages, np.arange(0, 101), epsilon=1.0) < 43
    True
    """
    check_epsilon(epsilon)
    if not 0 <= quantile <= 1:
        raise ParameterError(f"quantile={quantile} must be between 0 and 1")
    if not candidates.size:
        raise ParameterError("a private quantile needs at least one candidate")
    scores, sensitivity = quantile_scores(values, candidates, quantile)
    return int(candidates[select(scores, sensitivity, epsilon)])


def quantile_scores(
    values: NDArray[np.int64], candidates: NDArray[np.int64], quantile: float = 0.5
) -> tuple[NDArray[np.int64], int]:
    """Return the score of each candidate and the sensitivity of the scores.

    With q = a / b, the score is -|(b - a) below - a above|: zero at the quantile, changed by b - a or a by an
    additional record on one side or the other.

    Examples
    --------
    >>> quantile_scores(np.array([1, 2, 3, 4]), np.array([1, 2, 3]))
    (array([-2,  0, -2]), 1)
    """
    q = Fraction(quantile).limit_denominator(1000)
    first_above = np.searchsorted(candidates, values, side="left")  # the first candidate that is at least the value
    below = np.cumsum(np.bincount(first_above, minlength=candidates.size + 1))[: candidates.size].astype(np.int64)
    above = values.size - below
    down, up = q.numerator, q.denominator - q.numerator
    return -np.abs(up * below - down * above), max(down, up)
