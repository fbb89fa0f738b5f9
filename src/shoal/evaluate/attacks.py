"""The result of a simulated attack on a release, with the baseline that it has to be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.evaluate.estimates import Estimate

MAX_SEARCHED = 10_000
"""The number of records that an attack tries where searching for all would take too long."""


@dataclass(frozen=True)
class Attack:
    """The result of one attack.

    Parameters
    ----------
    name
        ``candidates``, ``record-linkage``, ``person-linkage``, ``assignment-linkage``, ``interval-disclosure``,
        ``rank-interval-disclosure``, ``attribute-disclosure``, ``singling-out``, ``linkability``, ``membership``,
        ``differencing-of-totals``, ``intersection`` or ``intersection-by-values``.
    target
        The column whose values are to be disclosed, or how many columns are used; empty for attacks on whole records.
    success
        The share of records or persons for which the attack succeeds, with its 95 % confidence interval.
    baseline
        The success without the information that the release has about these individuals: a random guess, a shuffled
        release, or individuals of a control table who are not in the release.
    records
        The number of records of the release.
    description
        The assumptions and, where records were sampled, the size of the sample.
    counted
        What the success is a share of: ``records`` or, where persons have several records, ``persons``.
    """

    name: str
    target: str
    success: Estimate
    baseline: Estimate
    records: int
    description: str
    counted: str = "records"

    @property
    def baseline_adjusted_success(self) -> float:
        """The success above the baseline as a share of the largest possible increase, at least 0."""
        possible = 1 - self.baseline.value
        return max(0.0, (self.success.value - self.baseline.value) / possible) if possible > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {
            "name": self.name,
            "target": self.target,
            "success": self.success.to_dict(),
            "baseline": self.baseline.to_dict(),
            "baseline_adjusted_success": self.baseline_adjusted_success,
            "records": self.records,
            "counted": self.counted,
            "description": self.description,
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


def sample_description(tried: int, n: int) -> str:
    """Return the number of records that were tried as text."""
    return f"all {n:,} records" if tried == n else f"a random sample of {tried:,} of {n:,} records"


def by_persons(description: str, units: NDArray[np.int64] | None) -> tuple[str, str]:
    """Return description and unit of count of an attack whose success is averaged over the records of each person.

    Examples
    --------
    >>> by_persons("guessed from the class", np.array([0, 0, 1]))[0]
    'guessed from the class; every person counts the same, whatever the number of rows'
    >>> by_persons("guessed from the class", None)
    ('guessed from the class', 'records')
    """
    if units is None:
        return description, "records"
    return f"{description}; every person counts the same, whatever the number of rows", "persons"
