"""How persons with several rows are grouped: slots of histories, the price of a suppressed row, and who weighs what."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shoal.core.choices import choice
from shoal.errors import ParameterError
from shoal.schema.columns import Schema
from shoal.schema.requirements import Of, Requirements


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
