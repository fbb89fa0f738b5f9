"""Shares estimated from trials, with 95 % confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution


@dataclass(frozen=True)
class Estimate:
    """A share between 0 and 1.

    Parameters
    ----------
    value
        The estimate.
    low, high
        The ends of the 95 % confidence interval; equal to the value where nothing was sampled or drawn.
    trials
        The number of records or cells that it is based on.
    """

    value: float
    low: float
    high: float
    trials: int

    def __str__(self) -> str:
        if self.low == self.value == self.high:
            return f"{100 * self.value:.2f} %"
        return f"{100 * self.value:.2f} % ({100 * self.low:.2f} to {100 * self.high:.2f})"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "trials": self.trials}


def exactly(value: float, trials: int) -> Estimate:
    """Return a figure that was counted, not estimated.

    Examples
    --------
    >>> str(exactly(0.25, 8))
    '25.00 %'
    """
    return Estimate(value, value, value, trials)


def share(successes: NDArray[np.float64]) -> Estimate:
    """Return the mean of trials that succeed with a probability between 0 and 1, with its Wilson score interval.

    The interval of Wilson (1927) does not collapse where no or every trial succeeds. Trials with fractional success
    vary less than those that succeed or fail, so the interval is conservative for them.

    Examples
    --------
    >>> estimate = share(np.array([1.0, 0.0, 0.0, 0.0]))
    >>> estimate.value, round(estimate.low, 3), round(estimate.high, 3)
    (0.25, 0.046, 0.699)
    """
    n = successes.size
    if not n:
        return Estimate(0.0, 0.0, 1.0, 0)
    p = float(successes.mean())
    middle = (p + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * sqrt(max(p * (1 - p), 0.0) / n + _Z * _Z / (4 * n * n))
    return Estimate(p, max(0.0, min(middle - half, p)), min(1.0, max(middle + half, p)), n)


def share_of_persons(successes: NDArray[np.float64], persons: NDArray[np.int64] | None) -> Estimate:
    """Return the mean over persons of the share of their trials that succeed; of all trials without persons.

    Examples
    --------
    >>> share_of_persons(np.array([1.0, 1.0, 1.0, 0.0]), np.array([7, 7, 7, 3])).value
    0.5
    """
    if persons is None or not successes.size:
        return share(successes)
    inside = np.unique(persons, return_inverse=True)[1].reshape(-1)
    return share(np.bincount(inside, successes) / np.bincount(inside))


def repeated(values: NDArray[np.float64], trials: int) -> Estimate:
    """Return the mean of repeated runs with its normal interval, cut to 0..1.

    Examples
    --------
    >>> repeated(np.array([0.25, 0.25, 0.25]), 100).high
    0.25
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / sqrt(values.size) if values.size > 1 else 0.0
    return Estimate(mean, max(0.0, mean - _Z * error), min(1.0, mean + _Z * error), trials)
