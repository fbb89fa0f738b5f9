"""The guarantee of differential privacy: epsilon, delta and the neighbouring relation (Thaeter 2021, Def. 10.4).

A mechanism M is (epsilon, delta)-differentially private if for every set S of results and all neighbouring databases X
and Y: Pr[M(X) in S] <= exp(epsilon) Pr[M(Y) in S] + delta. *add-remove* neighbours (unbounded differential privacy)
differ in the presence of one record, so that the number of records is protected too. *replace* neighbours (bounded
differential privacy) have the same number of records, which is public, and differ in the values of one record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shoal.errors import ParameterError


class Neighbours(StrEnum):
    """The neighbouring relation: which pairs of databases the guarantee covers.

    Examples
    --------
    >>> Neighbours("replace").name
    'REPLACE'
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


_DESCRIPTIONS = {
    Neighbours.ADD_REMOVE: "one {} more or less",
    Neighbours.REPLACE: "one {} with other values",
}


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of differential privacy.

    Parameters
    ----------
    epsilon
        Bound on the privacy loss; smaller values protect more.
    delta
        Probability that the bound fails; it must be far below one over the number of records.
    neighbours
        The neighbouring relation.
    public
        Quantities that are considered public and are not protected.
    rows_per_person
        Where the guarantee is per person: how many rows of a person are used at most. None: it is per record.

    Examples
    --------
    >>> guarantee = Guarantee(0.5)
    >>> guarantee.sentence
    '(0.5, 0)-differential privacy; neighbours: one record more or less'
    >>> guarantee.for_replacement().epsilon
    1.0
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    public: tuple[str, ...] = ()
    rows_per_person: int | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)

    @property
    def sentence(self) -> str:
        """The guarantee in words."""
        known = f"; public: {', '.join(self.public)}" if self.public else ""
        relation = _DESCRIPTIONS[self.neighbours].format("record" if self.rows_per_person is None else "person")
        if self.rows_per_person is not None:
            rows = "1 row" if self.rows_per_person == 1 else f"{self.rows_per_person} rows"
            relation += f", of whom at most {rows} are used"
        return f"({self.epsilon:g}, {self.delta:g})-differential privacy; neighbours: {relation}{known}"

    def for_persons(self, rows: int) -> Guarantee:
        """Return the guarantee per person that follows where at most so many records of a person are used.

        Group privacy: m epsilon, and delta (e^(m epsilon) - 1) / (e^epsilon - 1) for m records.

        Examples
        --------
        >>> Guarantee(0.25).for_persons(4).sentence
        '(1, 0)-differential privacy; neighbours: one person more or less, of whom at most 4 rows are used'
        """
        from shoal.dp.person_rows import delta_factor

        if self.neighbours == Neighbours.REPLACE:
            raise ParameterError(
                "a guarantee per person needs neighbours that differ in the presence of records (add-remove): the "
                "number of records depends on how many rows a person has"
            )
        delta = self.delta * delta_factor(rows, self.epsilon) if self.delta else 0.0
        if delta >= 1:
            raise ParameterError(
                f"epsilon={self.epsilon:g} and delta={self.delta:g} per record give no guarantee for {rows} rows per "
                "person; choose fewer rows or a smaller epsilon"
            )
        return Guarantee(rows * self.epsilon, delta, self.neighbours, self.public, rows)

    def for_replacement(self) -> Guarantee:
        """Return the guarantee for *replace* neighbours that follows: one record less, then one record more.

        Group privacy of two steps: 2 epsilon, and (1 + exp(epsilon)) delta (Dwork & Roth 2014, Theorem 2.2 and its
        extension to delta).
        """
        if self.neighbours == Neighbours.REPLACE:
            return self
        delta = (1 + math.exp(self.epsilon)) * self.delta
        if delta >= 1:
            raise ParameterError(
                f"epsilon={self.epsilon:g} and delta={self.delta:g} give no guarantee for records that are replaced"
            )
        return Guarantee(2 * self.epsilon, delta, Neighbours.REPLACE, self.public, self.rows_per_person)

    def as_dict(self) -> dict[str, Any]:
        """Return the guarantee for a manifest."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": str(self.neighbours),
            "public": list(self.public),
            **({} if self.rows_per_person is None else {"rows_per_person": self.rows_per_person}),
            "sentence": self.sentence,
        }


def check_epsilon(epsilon: float) -> None:
    """Raise :class:`ParameterError` unless epsilon is a positive finite number in a sensible range.

    Examples
    --------
    >>> check_epsilon(0)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: epsilon=0 must be a finite number above 0; common values are 0.1 to 2
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon={epsilon!r} must be a finite number above 0; common values are 0.1 to 2")
    if not 1e-9 <= epsilon <= 1e6:
        raise ParameterError(f"epsilon={epsilon:g} must be between 1e-9 and 1e6; common values are 0.1 to 2")


def check_delta(delta: float, *, needed: bool = False) -> None:
    """Raise :class:`ParameterError` unless 0 <= delta < 1, and if delta is 0 where the mechanism needs more.

    Examples
    --------
    >>> check_delta(1.5)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: delta=1.5 must be at least 0 and below 1
    """
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1:
        raise ParameterError(f"delta={delta!r} must be at least 0 and below 1")
    if needed and delta == 0:
        raise ParameterError(
            "this mechanism protects by sampling and needs delta above 0; choose it far below one over the number of "
            "records, for example 1e-6"
        )


def check_fraction(value: float, name: str) -> None:
    """Raise :class:`ParameterError` unless a number is strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ParameterError(f"{name}={value!r} must be strictly between 0 and 1")


def check_k(k: int) -> None:
    """Raise :class:`ParameterError` unless k is an integer of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"k={k!r} must be an integer of at least 1")
