"""The interface to OpenDP: noise, random selection and privacy maps for the mechanisms of this package.

No other module of Shoal draws noise for differential privacy. OpenDP computes with integers and rational numbers and
takes its random bits from the operating system. It has no seed, because a known seed would make the noise removable, so
results with noise are not reproducible. The scale of Laplace noise is chosen such that the privacy map of OpenDP
certifies the requested epsilon.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import MissingExtra

LARGEST_INTEGER = 2**62
"""Integers beyond this could overflow 64 bits when noise is added."""


@cache
def library() -> Any:
    """Return OpenDP; raises :class:`MissingExtra` if it is not installed."""
    try:
        import opendp.prelude as opendp
    except ImportError as problem:
        raise MissingExtra(
            "differential privacy needs the library opendp, which draws the noise; "
            "install it with: python3 -m pip install 'shoal[dp]'"
        ) from problem
    opendp.enable_features("contrib")
    return opendp


def integer_noise(values: NDArray[np.int64], sensitivity: int, epsilon: float) -> NDArray[np.int64]:
    """Return integers with discrete Laplace noise of scale sensitivity / epsilon.

    Parameters
    ----------
    values
        The integers to protect.
    sensitivity
        The largest change of the values between neighbours, summed over all values.
    epsilon
        Privacy loss epsilon.
    """
    measurement = _integer_laplace(certified_scale(sensitivity / epsilon, sensitivity, epsilon, _integer_laplace))
    return np.array(measurement(values.tolist()), np.int64)


def real_noise(values: NDArray[np.float64], sensitivity: float, epsilon: float) -> NDArray[np.float64]:
    """Return numbers with Laplace noise of scale sensitivity / epsilon, rounded once to the nearest float."""
    measurement = _real_laplace(certified_scale(sensitivity / epsilon, float(sensitivity), epsilon, _real_laplace))
    return np.array(measurement(values.tolist()), np.float64)


def select(scores: NDArray[np.int64], sensitivity: int, epsilon: float) -> int:
    """Return a position, drawn with probability proportional to exp(epsilon score / (2 sensitivity)).

    The position of the largest score plus Gumbel noise of scale 2 sensitivity / epsilon has exactly this distribution.
    OpenDP provides it as a mechanism of zero-concentrated differential privacy with the loss epsilon²/8 of the
    exponential mechanism.
    """
    scale = 2 * sensitivity / epsilon
    while Fraction(epsilon) * Fraction(scale) < 2 * sensitivity:
        scale = math.nextafter(scale, math.inf)
    return int(_gumbel_selection(scale)(scores.tolist()))


def bernoulli_draws(n: int, probability: float) -> NDArray[np.bool_]:
    """Return n independent draws that are true with exactly the given probability."""
    if probability > 0.5:
        return ~bernoulli_draws(n, 1.0 - probability)
    opendp = library()
    flips = opendp.m.make_randomized_response_bitvec(
        opendp.bitvector_domain(max_weight=0), opendp.discrete_distance(), f=2 * probability
    )
    zeros = bytes(-(-n // 8))
    return np.unpackbits(np.frombuffer(flips(zeros), np.uint8))[:n].astype(bool)


def certified_scale(scale: float, sensitivity: float, epsilon: float, make: Any) -> float:
    """Return the smallest scale from the given one upwards for which OpenDP certifies epsilon."""
    while _certified(make, scale, sensitivity) > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


@lru_cache(maxsize=4096)
def _certified(make: Any, scale: float, sensitivity: float) -> float:
    return float(make(scale).map(sensitivity))


@lru_cache(maxsize=256)
def _integer_laplace(scale: float) -> Any:
    opendp = library()
    numbers = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l1_distance(T="i64")
    return opendp.m.make_laplace(*numbers, scale=scale)


@lru_cache(maxsize=256)
def _real_laplace(scale: float) -> Any:
    opendp = library()
    numbers = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l1_distance(T=float)
    return opendp.m.make_laplace(*numbers, scale=scale)


@lru_cache(maxsize=256)
def _gumbel_selection(scale: float) -> Any:
    opendp = library()
    scores = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.linf_distance(T="i64")
    return opendp.m.make_noisy_max(*scores, opendp.zero_concentrated_divergence(), scale=scale)
