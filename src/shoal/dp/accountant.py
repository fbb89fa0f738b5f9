"""Privacy accounting: a list of all queries with their privacy loss, and the total (Thaeter 2021, Fact 10.5).

The losses of queries to the same records add up (sequential composition). A query to disjoint parts of the records
counts once, since a record is in one part only (parallel composition; add-remove neighbours). Sums are exact fractions,
so that rounding never makes the shares of a budget exceed it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.dp.guarantee import Guarantee, Neighbours, check_delta, check_epsilon
from shoal.errors import ParameterError


@dataclass(frozen=True)
class Spend:
    """The privacy loss of a query, or of several equal ones.

    Parameters
    ----------
    query
        Description of the query.
    epsilon, delta
        Privacy loss of one query.
    times
        Maximum number of such queries to the same records; their losses add up.
    parts
        Number of disjoint parts of the records that each query is applied to; this adds no loss.

    Examples
    --------
    >>> Spend("counts", epsilon=0.5, times=2)
    Spend(query='counts', epsilon=0.5, delta=0.0, times=2, parts=1)
    """

    query: str
    epsilon: float
    delta: float = 0.0
    times: int = 1
    parts: int = 1

    @property
    def total_epsilon(self) -> Fraction:
        """The total epsilon of these queries."""
        return Fraction(self.epsilon) * self.times

    @property
    def total_delta(self) -> Fraction:
        """The total delta of these queries."""
        return Fraction(self.delta) * self.times

    def as_dict(self) -> dict[str, Any]:
        """Return the entry for a manifest."""
        return {
            "query": self.query,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "times": self.times,
            "disjoint_parts": self.parts,
            "total_epsilon": float(self.total_epsilon),
            "total_delta": float(self.total_delta),
        }


class Accountant:
    """Records the privacy loss of queries and raises an error before the privacy budget is exceeded.

    Parameters
    ----------
    epsilon, delta
        The privacy budget.

    Examples
    --------
    >>> accountant = Accountant(1.0)
    >>> third = accountant.share(1, 3)
    >>> for level in range(3):
    ...     _ = accountant.spend(f"level {level}", third)
    >>> accountant.spend("one more", 0.1)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: "one more" needs epsilon=0.1, but only 5.55112e-17 of the budget of 1 is left
    >>> accountant.spent_epsilon <= 1.0, len(accountant.spends)
    (True, 3)
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        check_epsilon(epsilon)
        check_delta(delta)
        self.epsilon = float(epsilon)
        self.delta = float(delta)
        self.spends: list[Spend] = []

    def share(self, part: int, whole: int, of: float | None = None) -> float:
        """Return part / whole of an epsilon (by default of the budget), rounded down."""
        return rounded_down(Fraction(self.epsilon if of is None else of) * part / whole)

    def spend(self, query: str, epsilon: float, delta: float = 0.0, *, times: int = 1, parts: int = 1) -> float:
        """Record the privacy loss of a query before it is run; returns its epsilon.

        Raises :class:`ParameterError` if the budget does not allow the query.
        """
        line = Spend(query, epsilon, delta, times, parts)
        left = Fraction(self.epsilon) - self._sum_epsilon()
        if line.total_epsilon > left:
            raise ParameterError(
                f'"{query}" needs epsilon={float(line.total_epsilon):g}, but only {float(left):g} of the budget of '
                f"{self.epsilon:g} is left"
            )
        left = Fraction(self.delta) - self._sum_delta()
        if line.total_delta > left:
            raise ParameterError(
                f'"{query}" needs delta={float(line.total_delta):g}, but only {float(left):g} of the budget of '
                f"{self.delta:g} is left"
            )
        self.spends.append(line)
        return epsilon

    @property
    def spent_epsilon(self) -> float:
        """The total epsilon of all queries."""
        return float(self._sum_epsilon())

    @property
    def spent_delta(self) -> float:
        """The total delta of all queries."""
        return float(self._sum_delta())

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, public: tuple[str, ...] = ()) -> Guarantee:
        """Return the guarantee of the entire budget, whether or not all of it was spent."""
        return Guarantee(self.epsilon, self.delta, neighbours, public)

    def as_dict(self) -> dict[str, Any]:
        """Return budget, queries and total for a manifest."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "spends": [line.as_dict() for line in self.spends],
            "spent_epsilon": self.spent_epsilon,
            "spent_delta": self.spent_delta,
        }

    def _sum_epsilon(self) -> Fraction:
        return sum((line.total_epsilon for line in self.spends), Fraction(0))

    def _sum_delta(self) -> Fraction:
        return sum((line.total_delta for line in self.spends), Fraction(0))


def rounded_down(value: Fraction) -> float:
    """Return the largest float that is not above a fraction.

    Examples
    --------
    >>> Fraction(rounded_down(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest
