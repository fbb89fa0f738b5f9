"""What a release must satisfy: k and further privacy requirements; and how persons with several rows are grouped.

Each requirement beyond k is compared with the measure of the same name over all equivalence classes and all
confidential attributes.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from shoal.core.arguments import choice
from shoal.core.grouping import check_k
from shoal.errors import ParameterError
from shoal.schema.columns import Schema

if TYPE_CHECKING:
    from shoal.schema.columns import Schema


TOLERANCE = 1e-9
MODELS = ("l", "c", "p", "alpha", "t", "beta", "delta")
"""The requirements beyond k, by name."""


class Diversity(StrEnum):
    """The forms of l-diversity."""

    DISTINCT = "distinct"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


class Of(StrEnum):
    """What k counts in an equivalence class."""

    ROWS = "rows"
    UNITS = "units"
    HOUSEHOLDS = "households"
    HISTORIES = "histories"

    @property
    def noun(self) -> str:
        """What is counted, as a word for people; *histories* are persons with equal sequences of rows."""
        return {Of.ROWS: "records", Of.UNITS: "persons", Of.HOUSEHOLDS: "households", Of.HISTORIES: "histories"}[self]

    def amount(self, number: int) -> str:
        """Return a number with what is counted.

        Examples
        --------
        >>> Of.UNITS.amount(1), Of.ROWS.amount(1_200), Of.HISTORIES.amount(1)
        ('1 person', '1200 records', '1 history')
        """
        single = "history" if self == Of.HISTORIES else self.noun[:-1]
        return f"{number} {single if number == 1 else self.noun}"


@dataclass(frozen=True)
class Requirements:
    """What every equivalence class of a release must satisfy; a requirement that is None is not requested.

    Parameters
    ----------
    k
        Minimum number of records, persons or households in an equivalence class; see ``of``.
    of
        What k counts: ``rows``, ``units`` (different persons), ``households`` or ``histories`` (persons with equal
        sequences of rows); None counts histories where links are kept, persons where the schema has a unit, otherwise
        rows.
    max_size
        Maximum number of records in a group.
    global_recoding
        Whether records with identical quasi-identifiers stay in one group, so that equal values are always replaced by
        the same value.
    l
        l-diversity: minimum number of well represented values of each confidential attribute.
    l_kind
        ``distinct`` (so many different values), ``entropy`` (exp of the entropy), or ``recursive`` with ``c``.
    c
        For recursive (c, l)-diversity: the most frequent value occurs less than c times as often as the l-th and all
        rarer ones together.
    p
        p-sensitivity: minimum number of different values of each confidential attribute.
    alpha
        (alpha, k)-anonymity: maximum share of one value in a class.
    t
        t-closeness: maximum distance of the distribution in a class to that of the table.
    beta
        basic beta-likeness: no value is more than 1 + beta times as frequent in a class as in the table.
    delta
        delta-disclosure: frequencies in a class are within a factor exp(delta) of those in the table.
    max_share
        Maximum part of the rows of a class that belong to one person, for example 0.2; needs a unit. A share of at most
        1/k implies k persons.

    Where the schema has a unit, all of these count persons: l and p are persons with different values, shares give
    every person equal weight (see :mod:`shoal.privacy.person_values`).

    Examples
    --------
    >>> Requirements(k=5, l=3, t=0.2).requested()
    {'l': 3, 't': 0.2}
    >>> Requirements(k=5, t=1.5)
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: t=1.5 is not possible; t-closeness needs 0 <= t <= 1
    """

    k: int = 2
    of: Of | str | None = None
    max_size: int | None = None
    global_recoding: bool = False
    l: float | None = None
    l_kind: Diversity | str = Diversity.DISTINCT
    c: float | None = None
    p: int | None = None
    alpha: float | None = None
    t: float | None = None
    beta: float | None = None
    delta: float | None = None
    max_share: float | None = None

    def __post_init__(self) -> None:
        check_k(self.k, self.k)
        if not isinstance(self.global_recoding, bool):
            raise ParameterError(f"global_recoding must be True or False, not {self.global_recoding!r}")
        if not isinstance(self.l_kind, Diversity):
            object.__setattr__(self, "l_kind", choice(Diversity, self.l_kind, "l_kind"))
        if self.of is not None and not isinstance(self.of, Of):
            object.__setattr__(self, "of", choice(Of, self.of, "of"))
        for name in (*MODELS, "max_share"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not _is_number(value)):
                raise ParameterError(f"{name} must be a number, not {value!r}")
        if self.max_size is not None and (isinstance(self.max_size, bool) or not isinstance(self.max_size, int)):
            raise ParameterError(f"max_size must be an integer, not {self.max_size!r}")
        if self.max_size is not None and self.max_size < self.k:
            raise ParameterError(f"max_size={self.max_size} is below k={self.k}; no group could be formed")
        self._check_diversity()
        rules: list[tuple[str, bool, str]] = [
            ("p", self.p is None or (self.p >= 1 and float(self.p).is_integer()), "p-sensitivity needs p = 1, 2, ..."),
            ("alpha", self.alpha is None or 0 < self.alpha <= 1, "(alpha, k)-anonymity needs 0 < alpha <= 1"),
            ("t", self.t is None or 0 <= self.t <= 1, "t-closeness needs 0 <= t <= 1"),
            ("beta", self.beta is None or self.beta > 0, "beta-likeness needs beta > 0"),
            ("delta", self.delta is None or self.delta > 0, "delta-disclosure needs delta > 0"),
            ("max_share", self.max_share is None or 0 < self.max_share <= 1, "it is a share above 0 and at most 1"),
        ]
        for name, sensible, rule in rules:
            if not sensible:
                raise ParameterError(f"{name}={getattr(self, name)} is not possible; {rule}")

    def _check_diversity(self) -> None:
        if self.l is not None and self.l < 1:
            raise ParameterError(f"l={self.l} is not possible; l-diversity needs l of at least 1")
        if self.l is not None and self.l_kind != Diversity.ENTROPY and not float(self.l).is_integer():
            raise ParameterError(f"l={self.l} must be an integer; only entropy l-diversity allows other numbers")
        if self.c is not None and self.c <= 0:
            raise ParameterError(f"c={self.c} is not possible; recursive (c, l)-diversity needs c > 0")
        if (self.l_kind == Diversity.RECURSIVE) != (self.c is not None):
            raise ParameterError("recursive (c, l)-diversity needs both l_kind=recursive and c, for example c=3")
        if self.c is not None and self.l is None:
            raise ParameterError("recursive (c, l)-diversity needs l as well, for example l=2")

    def counting(self, schema: Schema) -> Of:
        """Return what k counts in a table with this schema; raises where the schema lacks the column for it.

        Examples
        --------
        >>> from shoal.schema.columns import Column, Kind, Role, Schema
        >>> Requirements(k=5).counting(Schema((Column("patient", Role.UNIT, Kind.NOMINAL),)))
        <Of.UNITS: 'units'>
        """
        if self.max_share is not None and schema.unit is None:
            raise ParameterError(
                "max_share limits the share of a person in a class, but no column says which rows belong to one "
                'person; name it with --unit (Python: unit="patient_id")'
            )
        if self.of is None:
            return Of.ROWS if schema.unit is None else Of.HISTORIES if schema.keep_links else Of.UNITS
        wanted = Of(self.of)
        if wanted in {Of.UNITS, Of.HISTORIES} and schema.unit is None:
            counted = "persons" if wanted == Of.UNITS else "persons with equal histories"
            raise ParameterError(
                f"of={wanted} counts {counted}, but no column says which rows belong to one person; name it with "
                '--unit (Python: unit="patient_id")'
            )
        if wanted == Of.HOUSEHOLDS and schema.household is None:
            raise ParameterError(
                "of=households counts households, but no column says which persons belong to one; name it with "
                '--household (Python: household="household_id")'
            )
        return wanted

    @property
    def recursive_l(self) -> int | None:
        """The l that c belongs to, for recursive diversity."""
        return int(self.l) if self.l is not None and self.l_kind == Diversity.RECURSIVE else None

    def requested(self) -> dict[str, Any]:
        """Return the requirements beyond k that are requested, by name."""
        requested = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name in MODELS and getattr(self, field.name) is not None
        }
        if self.l is not None and self.l_kind != Diversity.DISTINCT:
            requested["l_kind"] = str(self.l_kind)
        return requested

    @property
    def beyond_k(self) -> bool:
        """Whether any requirement beyond k is requested."""
        return bool(self.requested())

    def achieved_by(self, figures: Mapping[str, float]) -> dict[str, tuple[float, float, bool]]:
        """Return for each requirement the requested value, the achieved one, and whether that satisfies it.

        Parameters
        ----------
        figures
            The figures of an assessment: ``l``, ``entropy_l``, ``c``, ``p``, ``alpha``, ``t``, ``beta``, ``delta``,
            and ``max_share`` where persons are known.
        """
        found: dict[str, tuple[float, float, bool]] = {}
        if self.l is not None and self.l_kind == Diversity.RECURSIVE:
            assert self.c is not None
            found["c"] = (self.c, figures["c"], figures["c"] < self.c)
        elif self.l is not None:
            reached = figures["l" if self.l_kind == Diversity.DISTINCT else "entropy_l"]
            found["l"] = (self.l, reached, reached >= self.l - TOLERANCE)
        if self.p is not None:
            found["p"] = (self.p, figures["p"], figures["p"] >= self.p)
        for name in ("alpha", "t", "beta", "delta"):
            limit = getattr(self, name)
            if limit is not None:
                found[name] = (limit, figures[name], figures[name] <= limit + TOLERANCE)
        if self.max_share is not None:
            reached = figures.get("max_share", math.inf)
            found["max_share"] = (self.max_share, reached, reached <= self.max_share + TOLERANCE)
        return found


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def violation(name: str, requested: float, achieved: float, *, persons: bool = False) -> str:
    """Return in words that a requirement is violated, counted by records or by persons.

    Examples
    --------
    >>> violation("t", 0.2, 0.3141592)
    't=0.2 is violated, the table has t=0.3142'
    """
    counted = ", counted by persons" if persons else ""
    return f"{name}={requested:g} is violated, the table has {name}={achieved:.4g}{counted}"


class Slots(StrEnum):
    """Which rows of two histories are compared: by rank from the last or the first row, or by equal times."""

    LAST = "last"
    FIRST = "first"
    TIME = "time"


class Weighting(StrEnum):
    """Whether every row or every person counts the same in means and loss of nested groups."""

    ROWS = "rows"
    PERSONS = "persons"


@dataclass(frozen=True)
class PersonOptions:
    """How whole persons are grouped.

    Parameters
    ----------
    slots
        For histories: rows are compared by rank from the ``last`` or the ``first`` row, or by equal ``time``.
    suppressed_weight
        For histories: what a suppressed row costs, as a multiple of replacing it by the mean of the table.
    weighting
        For columns that stay constant: whether every row counts the same (``rows``), or every person (``persons``).

    Examples
    --------
    >>> PersonOptions(slots="first").given()
    {'slots': 'first'}
    """

    slots: Slots | str = Slots.LAST
    suppressed_weight: float = 1.0
    weighting: Weighting | str = Weighting.ROWS

    def __post_init__(self) -> None:
        object.__setattr__(self, "slots", choice(Slots, self.slots, "slots"))
        object.__setattr__(self, "weighting", choice(Weighting, self.weighting, "weighting"))
        price: Any = self.suppressed_weight
        if isinstance(price, bool) or not isinstance(price, numbers.Real) or not math.isfinite(price) or price < 0:
            raise ParameterError(f"suppressed_weight={price!r} is not possible; choose a number of at least 0")
        object.__setattr__(self, "suppressed_weight", float(price))

    @classmethod
    def of(cls, **given: Any) -> PersonOptions:
        """Return the options that are not None.

        Examples
        --------
        >>> PersonOptions.of(slots=None, suppressed_weight=2)
        PersonOptions(slots=<Slots.LAST: 'last'>, suppressed_weight=2.0, weighting=<Weighting.ROWS: 'rows'>)
        """
        return cls(**{name: value for name, value in given.items() if value is not None})

    def given(self) -> dict[str, str | float]:
        """Return the options that differ from the defaults, for JSON."""
        found: dict[str, str | float] = {} if self.slots == Slots.LAST else {"slots": str(self.slots)}
        found |= {} if self.suppressed_weight == 1.0 else {"suppressed_weight": self.suppressed_weight}
        return found | ({} if self.weighting == Weighting.ROWS else {"weighting": str(self.weighting)})


def check_person_plan(schema: Schema, requirements: Requirements, options: PersonOptions) -> None:
    """Raise for combinations that cannot be: links without a unit, constants without a person, options without use."""
    histories, constant = requirements.counting(schema) == Of.HISTORIES, schema.constant
    if schema.keep_links and schema.unit is None:
        raise ParameterError(
            "links are kept between the rows of a person, but no column says which rows belong to one person; name it "
            'with --unit (Python: unit="patient_id")'
        )
    if constant and schema.unit is None and schema.household is None:
        raise ParameterError(
            f'column "{constant[0]}" is to stay constant within persons, but no column says which rows belong to one '
            'person; name it with --unit (Python: unit="patient_id"), or with --household (Python: household=)'
        )
    if histories or constant:
        reason = "of=histories" if histories else "columns that stay constant"
        for name, used in (("max_size", requirements.max_size), ("global_recoding", requirements.global_recoding)):
            if used:
                raise ParameterError(
                    f"{reason} and {name} cannot be combined: groups of whole persons have no upper size and may "
                    f"separate equal records; leave {name} out"
                )
    for name in ("slots", "suppressed_weight"):
        if name in options.given() and not histories:
            raise ParameterError(
                f"{name} is about histories; count these with --of histories (Python: of=...), or leave it out"
            )
    if "weighting" in options.given() and (histories or not constant):
        raise ParameterError(
            "weighting is about columns that stay constant within persons; name them with --constant (Python: "
            "constant=)"
            if not histories
            else "weighting does not apply to histories, in which each person has one row in each class; leave it out"
        )
    if options.slots == Slots.TIME and schema.time is None:
        raise ParameterError(
            "slots=time compares rows with equal times; name the time with --time (Python: time=), or choose last"
        )
