"""The exponential mechanism: a random choice that prefers high utility (Thaeter 2021, Def. 10.11).

McSherry & Talwar 2007. Candidate r is chosen with probability proportional to exp(epsilon u(r) / (2 sensitivity)).
Among m candidates, the utility of the chosen one is below the best by (2 sensitivity / epsilon) (ln m + t) or more with
probability at most exp(-t).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.dp.guarantee import Guarantee, Neighbours, check_epsilon, check_fraction
from shoal.dp.opendp_library import LARGEST_INTEGER, select
from shoal.errors import DataError, ParameterError

_UTILITY_STEPS = 2**30


@dataclass(frozen=True)
class Choice:
    """The result of the exponential mechanism.

    Parameters
    ----------
    index
        The position of the chosen candidate in the list, from 0.
    guarantee
        The privacy guarantee.
    """

    index: int
    guarantee: Guarantee


def exponential_mechanism(
    utilities: ArrayLike,
    *,
    sensitivity: float,
    epsilon: float,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
) -> Choice:
    """Choose one of several candidates by their utilities.

    Parameters
    ----------
    utilities
        The utility u(X, r) of each candidate r; the candidates must not depend on the data. Utilities are rounded to
        2**-30 of the sensitivity, and the sensitivity is increased by the same amount, so that the guarantee does not
        depend on the rounding of sums. A utility more than 2**32 sensitivities below the best is raised to this
        difference; this changes no probability by more than exp(-2**31 epsilon).
    sensitivity
        The largest change of the utility of any candidate between neighbours.
    epsilon
        Privacy loss epsilon.
    neighbours
        The relation for which the sensitivity holds.

    Returns
    -------
    choice
        The position of the candidate. Time O(number of candidates).

    Examples
    --------
    >>> exponential_mechanism([0, 1000, 3], sensitivity=1, epsilon=1.0).index
    1
    """
    check_epsilon(epsilon)
    if not (isinstance(sensitivity, int | float) and 0 < sensitivity < math.inf):
        raise ParameterError(f"sensitivity={sensitivity!r} must be a finite number above 0")
    scores: NDArray[Any] = np.asarray(utilities)
    if scores.ndim != 1 or not scores.size or scores.dtype.kind not in "iuf":
        raise DataError("the exponential mechanism needs one number for each candidate, and at least one candidate")
    if not np.isfinite(scores).all():
        raise DataError("utilities must be finite; some are NaN or infinite")
    # integers and floats are treated alike, since one record can make a float of an integer
    per = _UTILITY_STEPS / Fraction(sensitivity)
    steps, change = [round(Fraction(score) * per) for score in scores.tolist()], _UTILITY_STEPS + 1
    best = max(steps)
    # only differences matter; a maximum with the best minus a constant changes no more than the utilities do
    gaps = np.array([max(step - best, -LARGEST_INTEGER) for step in steps], np.int64)
    return Choice(select(gaps, change, epsilon), Guarantee(float(epsilon), 0.0, Neighbours(neighbours)))


def exponential_shortfall(candidates: int, sensitivity: float, epsilon: float, beta: float) -> float:
    """Return the largest difference between best and chosen utility, exceeded with probability at most beta.

    Dwork & Roth 2014, Corollary 3.12: (2 sensitivity / epsilon) (ln candidates + ln 1/beta).

    Parameters
    ----------
    candidates
        Number of candidates that the mechanism chooses from.
    sensitivity
        Sensitivity of the utility.
    epsilon
        Privacy loss of the choice.
    beta
        Probability that the difference is exceeded.

    Returns
    -------
    shortfall
        In units of the utility.

    Examples
    --------
    >>> round(exponential_shortfall(100, 1, 1.0, 0.01), 2)
    18.42
    """
    check_epsilon(epsilon)
    check_fraction(beta, "beta")
    return 2 * sensitivity / epsilon * (math.log(candidates) + math.log(1 / beta))
