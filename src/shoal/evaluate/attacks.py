"""What an attack on a release achieved, next to what it achieves without the release: honest figures need both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.estimates import Estimate

SAMPLE = 10_000
"""How many records an attack tries where searching for all would take too long."""


@dataclass(frozen=True)
class Attack:
    """The result of one attack.

    Parameters
    ----------
    name
        What was tried: ``linkage``, ``one-to-one``, ``interval``, ``rank-interval`` or ``attribute``.
    target
        The column that was to be learned; empty where whole records were to be found.
    success
        The share of records for which the attack succeeds, with its 95 % interval.
    baseline
        The same without what the release tells of these persons: a guess, a shuffled release, or people of a control
        table who are not in the release.
    records
        How many records the release has.
    how
        What was assumed and, where records were sampled, how many.
    """

    name: str
    target: str
    success: Estimate
    baseline: Estimate
    records: int
    how: str

    @property
    def excess(self) -> float:
        """What the release adds: the success above the baseline as a share of what was left to gain, at least 0."""
        left = 1 - self.baseline.value
        return max(0.0, (self.success.value - self.baseline.value) / left) if left > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "name": self.name,
            "target": self.target,
            "success": self.success.to_dict(),
            "baseline": self.baseline.to_dict(),
            "excess": self.excess,
            "records": self.records,
            "how": self.how,
        }


def sampled_rows(n: int, sample: int | None, seed: int) -> NDArray[np.int64]:
    """Return the records an attack tries, in ascending order: all, or a random sample without repetition.

    Examples
    --------
    >>> sampled_rows(3, 10, 0).tolist()
    [0, 1, 2]
    """
    if sample is None or n <= sample:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))


def sampling_words(tried: int, n: int) -> str:
    """Return how many records were tried, for a person to read."""
    return f"all {n:,} records" if tried == n else f"a random sample of {tried:,} of {n:,} records"
