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
        The noisy numbers, integers if the originals were integers.
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
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
) -> LaplaceRelease:
    """Release numbers with Laplace noise.

    Parameters
    ----------
    values
        The answers f(X), integers or floats.
    sensitivity
        The largest change of the answers between neighbours, summed over all answers. It must hold for all possible
        databases, not only for the given one; for integers it must be an integer.
    epsilon
        Privacy loss epsilon.
    neighbours
        The relation for which the sensitivity holds.

    Returns
    -------
    release
        The noisy answers. Time O(number of answers).

    Examples
    --------
    >>> release = laplace_mechanism([120, 80], sensitivity=1, epsilon=0.5)
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
    if numbers.dtype.kind == "f":
        if not np.isfinite(numbers).all():
            raise DataError("the Laplace mechanism needs finite numbers; some are NaN or infinite")
        noisy: NDArray[Any] = real_noise(numbers.astype(np.float64), sensitivity, epsilon)
        return LaplaceRelease(noisy, sensitivity / epsilon, guarantee)
    if sensitivity != int(sensitivity):
        raise ParameterError(f"sensitivity={sensitivity} must be an integer for integer values; round it up")
    if numbers.size and max(abs(int(numbers.max())), abs(int(numbers.min()))) > LARGEST_INTEGER:
        raise DataError("numbers beyond 2**62 are too large to add noise in 64 bits")
    return LaplaceRelease(
        integer_noise(numbers.astype(np.int64), int(sensitivity), epsilon), sensitivity / epsilon, guarantee
    )
