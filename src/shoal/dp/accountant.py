"""The accountant: every spend of the privacy budget in a list, and their sum (Thaeter 2021, Fact 10.5).

Spends on the same records add up (sequential composition). A spend on disjoint parts of the records counts once, since
a record is in one part only (parallel composition; add-remove neighbours). Sums are kept as exact fractions, so that
shares of a budget never add up to more than it by rounding.
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
    """One line of the account.

    Parameters
    ----------
    what
        What was asked of the data.
    epsilon, delta
        The price of one question.
    times
        How many questions at most are put to the same records: their prices add up.
    parts
        How many disjoint parts of the records each question is put to: this costs nothing more.
    """

    what: str
    epsilon: float
    delta: float = 0.0
    times: int = 1
    parts: int = 1

    @property
    def total_epsilon(self) -> Fraction:
        """The price of the line."""
        return Fraction(self.epsilon) * self.times

    @property
    def total_delta(self) -> Fraction:
        """The failure probability of the line."""
        return Fraction(self.delta) * self.times

    def as_dict(self) -> dict[str, Any]:
        """Return the line for a manifest."""
        return {
            "what": self.what,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "times": self.times,
            "disjoint_parts": self.parts,
            "cost_epsilon": float(self.total_epsilon),
            "cost_delta": float(self.total_delta),
        }


class Accountant:
    """Keeps the account of a budget and refuses to overspend it.

    Parameters
    ----------
    epsilon, delta
        The whole budget.

    Examples
    --------
    >>> account = Accountant(1.0)
    >>> third = account.share(1, 3)
    >>> for level in range(3):
    ...     _ = account.spend(f"level {level}", third)
    >>> account.spend("one more", 0.1)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: "one more" would cost epsilon=0.1, but of the budget of 1 only 5.55112e-17 is left
    >>> account.spent_epsilon <= 1.0, len(account.spends)
    (True, 3)
    """

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        check_epsilon(epsilon)
        check_delta(delta)
        self.epsilon = float(epsilon)
        self.delta = float(delta)
        self.spends: list[Spend] = []

    def share(self, part: int, whole: int, of: float | None = None) -> float:
        """Return part/whole of an epsilon (of the budget if none is given), rounded down."""
        return rounded_down(Fraction(self.epsilon if of is None else of) * part / whole)

    def spend(self, what: str, epsilon: float, delta: float = 0.0, *, times: int = 1, parts: int = 1) -> float:
        """Write down a spend before it is made; returns its epsilon, or raises if the budget does not allow it."""
        line = Spend(what, epsilon, delta, times, parts)
        left = Fraction(self.epsilon) - self._sum_epsilon()
        if line.total_epsilon > left:
            raise ParameterError(
                f'"{what}" would cost epsilon={float(line.total_epsilon):g}, but of the budget of {self.epsilon:g} '
                f"only {float(left):g} is left"
            )
        left = Fraction(self.delta) - self._sum_delta()
        if line.total_delta > left:
            raise ParameterError(
                f'"{what}" would cost delta={float(line.total_delta):g}, but of the budget of {self.delta:g} '
                f"only {float(left):g} is left"
            )
        self.spends.append(line)
        return epsilon

    @property
    def spent_epsilon(self) -> float:
        """The sum of all spends."""
        return float(self._sum_epsilon())

    @property
    def spent_delta(self) -> float:
        """The sum of all failure probabilities."""
        return float(self._sum_delta())

    def guarantee(self, neighbours: Neighbours = Neighbours.ADD_REMOVE, public: tuple[str, ...] = ()) -> Guarantee:
        """Return what the whole budget promises, whether or not all of it was spent."""
        return Guarantee(self.epsilon, self.delta, neighbours, public)

    def as_dict(self) -> dict[str, Any]:
        """Return budget, spends and sum for a manifest."""
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
