"""The Laplace mechanism: numbers plus noise of scale sensitivity / epsilon (Thaeter 2021, Def. 10.8).

Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14. The noise has density exp(-|x| / b) / (2 b) and variance
2 b². Whole numbers get its discrete twin, so that no digit after the point can betray the number before the noise
(Mironov 2012); use whole numbers wherever counts allow it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.dp.guarantee import Guarantee, Neighbours, check_epsilon
from shoal.dp.opendp_library import LARGEST, real_noise, whole_noise
from shoal.errors import DataError, ParameterError


@dataclass(frozen=True)
class LaplaceRelease:
    """Noisy numbers.

    Parameters
    ----------
    values
        The numbers, whole where the originals were.
    scale
        The scale b of the noise.
    guarantee
        What is promised.
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
        The answers f(X), whole numbers or floats.
    sensitivity
        The largest change of the answers between neighbours, summed over all answers. It must hold for all possible
        databases, not only for the present one; for whole numbers it must be whole.
    epsilon
        The price.
    neighbours
        The relation for which the sensitivity holds.

    Returns
    -------
    release
        The noisy answers. Cost O(number of answers).

    Examples
    --------
    >>> release = laplace_mechanism([120, 80], sensitivity=1, epsilon=0.5)
    >>> release.scale, release.guarantee.sentence
    (2.0, '(0.5, 0)-differential privacy; neighbours: one record more or less')
    """
    check_epsilon(epsilon)
    numbers = np.atleast_1d(np.asarray(values))
    if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
        raise DataError("the Laplace mechanism takes a list of numbers")
    if not (isinstance(sensitivity, int | float) and 0 < sensitivity < math.inf):
        raise ParameterError(f"sensitivity={sensitivity!r} must be a finite number above 0")
    guarantee = Guarantee(float(epsilon), 0.0, Neighbours(neighbours))
    if numbers.dtype.kind == "f":
        if not np.isfinite(numbers).all():
            raise DataError("the Laplace mechanism takes finite numbers; there are NaN or infinite ones")
        noisy: NDArray[Any] = real_noise(numbers.astype(np.float64), sensitivity, epsilon)
        return LaplaceRelease(noisy, sensitivity / epsilon, guarantee)
    if sensitivity != int(sensitivity):
        raise ParameterError(f"sensitivity={sensitivity} of whole numbers must be a whole number; round it up")
    if numbers.size and max(abs(int(numbers.max())), abs(int(numbers.min()))) > LARGEST:
        raise DataError("numbers beyond 2**62 leave no room for noise")
    return LaplaceRelease(
        whole_noise(numbers.astype(np.int64), int(sensitivity), epsilon), sensitivity / epsilon, guarantee
    )
