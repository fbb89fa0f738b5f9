"""The Laplace mechanism: numbers plus noise of scale sensitivity / epsilon (Thaeter 2021, Def. 10.8).

Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14. The noise has density exp(-|x| / b) / (2 b) and variance
2 b². Integers receive noise from the discrete Laplace distribution, whose results have no low-order digits that could
reveal the original number (Mironov 2012); use integers wherever possible, for example for counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.dp.guarantee import Guarantee, Neighbours, check_epsilon
from shoal.dp.opendp_library import LARGEST_INTEGER, integer_noise, real_noise
from shoal.errors import DataError, ParameterError


@dataclass(frozen=True)
class LaplaceRelease:
    """The noisy numbers.

    Parameters
    ----------
    values
        The noisy numbers, integers if this was requested.
    scale
        The scale b of the noise.
    guarantee
        The privacy guarantee.
    """

    values: NDArray[Any]
    scale: float
    guarantee: Guarantee


def laplace_mechanism(
    values: ArrayLike,
    *,
    sensitivity: float,
    epsilon: float,
    integers: bool = False,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
) -> LaplaceRelease:
    """Release numbers with Laplace noise.

    Parameters
    ----------
    values
        The answers f(X); finite numbers.
    sensitivity
        The largest change of the answers between neighbours, summed over all answers. It must hold for all possible
        databases, not only for the given one; for integers it must be an integer.
    epsilon
        Privacy loss epsilon.
    integers
        Whether the answers are integers for all possible databases, for example counts; they then receive integer
        noise. This is declared and not read from the answers, whose type may depend on one record.
    neighbours
        The relation for which the sensitivity holds.

    Returns
    -------
    release
        The noisy answers. Time O(number of answers).

    Examples
    --------
    >>> release = laplace_mechanism([120, 80], sensitivity=1, epsilon=0.5, integers=True)
    >>> release.scale, release.guarantee.sentence
    (2.0, '(0.5, 0)-differential privacy; neighbours: one record more or less')
    """
    check_epsilon(epsilon)
    numbers = np.atleast_1d(np.asarray(values))
    if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
        raise DataError("the Laplace mechanism needs a list of numbers")
    if not (isinstance(sensitivity, int | float) and 0 < sensitivity < math.inf):
        raise ParameterError(f"sensitivity={sensitivity!r} must be a finite number above 0")
    guarantee = Guarantee(float(epsilon), 0.0, Neighbours(neighbours))
    if not integers:
        if not np.isfinite(numbers).all():
            raise DataError("the Laplace mechanism needs finite numbers; some are NaN or infinite")
        noisy: NDArray[Any] = real_noise(numbers.astype(np.float64), sensitivity, epsilon)
        return LaplaceRelease(noisy, sensitivity / epsilon, guarantee)
    if sensitivity != int(sensitivity):
        raise ParameterError(f"sensitivity={sensitivity} must be an integer for integer values; round it up")
    if numbers.dtype.kind == "f":
        raise DataError(
            "integers=True needs integers, and floats were given; convert them by a rule that does not depend on the "
            "data, and state the sensitivity of the result"
        )
    # the clipping lets noise be added in 64 bits; it increases no difference between neighbours
    clipped = np.clip(numbers, 0 if numbers.dtype.kind == "u" else -LARGEST_INTEGER, LARGEST_INTEGER).astype(np.int64)
    return LaplaceRelease(integer_noise(clipped, int(sensitivity), epsilon), sensitivity / epsilon, guarantee)
