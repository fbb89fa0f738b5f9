"""The exponential mechanism: a choice, the better the likelier (Thaeter 2021, Def. 10.11; McSherry & Talwar 2007).

Choice r is made with probability proportional to exp(epsilon u(r) / (2 sensitivity)). A choice that is worse than the
best by (2 sensitivity / epsilon) (ln m + t) among m is made with probability at most exp(-t).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.dp.guarantee import Guarantee, Neighbours, check_epsilon, check_share
from shoal.dp.opendp_library import LARGEST, select
from shoal.errors import DataError, ParameterError

_STEPS = 2**30


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Parameters
    ----------
    place
        The place of the chosen candidate in the list.
    guarantee
        What is promised.
    """

    place: int
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
        The utility u(X, r) of each candidate r; the candidates must not depend on the data. Floats are rounded to
        2**-30 of the sensitivity, and the sensitivity is widened by as much, so that the promise does not hang on how
        a sum was rounded.
    sensitivity
        The largest change of any one utility between neighbours.
    epsilon
        The price.
    neighbours
        The relation for which the sensitivity holds.

    Returns
    -------
    choice
        The place of the candidate. Cost O(number of candidates).

    Examples
    --------
    >>> exponential_mechanism([0, 1000, 3], sensitivity=1, epsilon=1.0).place
    1
    """
    check_epsilon(epsilon)
    if not (isinstance(sensitivity, int | float) and 0 < sensitivity < math.inf):
        raise ParameterError(f"sensitivity={sensitivity!r} must be a finite number above 0")
    scores: NDArray[Any] = np.asarray(utilities)
    if scores.ndim != 1 or not scores.size or scores.dtype.kind not in "iuf":
        raise DataError("the exponential mechanism takes one number for each candidate, and at least one candidate")
    if not np.isfinite(scores).all():
        raise DataError("utilities must be finite; there are NaN or infinite ones")
    whole = scores.dtype.kind in "iu" and sensitivity == int(sensitivity)
    if whole:
        steps, change = [int(score) for score in scores.tolist()], int(sensitivity)
    else:
        per = _STEPS / Fraction(sensitivity)
        steps, change = [round(Fraction(score) * per) for score in scores.tolist()], _STEPS + 1
    best = max(steps)
    if best - min(steps) > LARGEST:
        raise DataError("utilities lie too far apart for the sensitivity; bound them first, as the data are bounded")
    gaps = np.array([step - best for step in steps], np.int64)  # only differences count
    return Choice(select(gaps, change, epsilon), Guarantee(float(epsilon), 0.0, Neighbours(neighbours)))


def exponential_shortfall(candidates: int, sensitivity: float, epsilon: float, beta: float) -> float:
    """Return how far below the best the chosen utility may fall, except with probability beta.

    Dwork & Roth 2014, Corollary 3.12: (2 sensitivity / epsilon) (ln candidates + ln 1/beta).

    Examples
    --------
    >>> round(exponential_shortfall(100, 1, 1.0, 0.01), 2)
    18.42
    """
    check_epsilon(epsilon)
    check_share(beta, "beta")
    return 2 * sensitivity / epsilon * (math.log(candidates) + math.log(1 / beta))
