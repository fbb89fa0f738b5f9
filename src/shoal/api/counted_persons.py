"""The persons that ``assess`` and ``verify`` count: from the table itself, or from the original of a released table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.api.checks_in_parts import absent_persons
from shoal.core.equal_histories import histories_per_class
from shoal.errors import ParameterError
from shoal.flow.units import Integers, UnitIndex, read_units
from shoal.privacy.equivalence_classes import EquivalenceClasses
from shoal.privacy.k_anonymity import class_labels
from shoal.privacy.kept_constants import with_several_values
from shoal.privacy.l_diversity import distinct_l
from shoal.schema.columns import Schema
from shoal.schema.requirements import Of, Requirements

if TYPE_CHECKING:
    from shoal.core.progress import Progress
    from shoal.flow.holder_record import HolderRecord
    from shoal.schema.plan import ReadOptions
    from shoal.tables import Table


@dataclass(frozen=True, eq=False)
class Persons:
    """What k counts in a table.

    Parameters
    ----------
    of
        Rows, persons or households.
    codes
        The person or household of each row; None where rows are counted.
    notes
        What a reader has to know about it.
    index
        Person and household of each row, where they are known: requirements on confidential attributes count persons.
    """

    of: Of = Of.ROWS
    codes: Integers | None = None
    notes: tuple[str, ...] = ()
    index: UnitIndex | None = None

    def per_class(self, classes: EquivalenceClasses) -> Integers | None:
        """Return the number of different persons or households that each class matches.

        For histories the smallest number of persons with equal sequences, over the persons in the class.
        """
        if self.codes is None:
            return None
        if self.of == Of.HISTORIES and self.index is not None:
            if classes.links:
                raise ParameterError("histories are compared value by value; choose missing_semantics=distinct")
            return histories_per_class(classes.labels, self.codes, self.index.order)
        return distinct_l(classes.counts(self.codes, int(self.codes.max()) + 1))


def several_values(table: Table, schema: Schema, persons: Persons) -> dict[str, dict[str, Any]]:
    """Return how many persons or households have several values in each column that is to stay constant.

    A column that has one value in each household of the original is counted by households, all others by persons.
    Returns the fields of an assessment.
    """
    index = persons.index
    if index is None:
        return {}
    several, within = {}, {}
    for name in schema.constant:
        shared = index.household if name in index.shared else None
        owners, noun = (index.unit, Of.UNITS.noun) if shared is None else (shared, Of.HOUSEHOLDS.noun)
        several[name], within[name] = with_several_values(class_labels(table, [name]), owners), noun
    return {"several_values": several, "constant_within": within}


def find_persons(
    table: Table,
    schema: Schema,
    *,
    unit: str | None,
    household: str | None,
    time: str | None = None,
    of: str | None,
    original: Any,
    record: HolderRecord | str | Path | None,
    reading: ReadOptions,
    progress: Progress,
) -> Persons:
    """Return the persons or households of a table: of its own columns, or of those of its original.

    Parameters
    ----------
    table, schema
        The table, and its schema without columns that it lacks.
    unit, household, time, of
        What the user named.
    original, record
        The original of a released table, and its holder's record.
    reading
        How text files are read.
    progress
        Progress callback.

    Returns
    -------
    persons
        Raises where persons are to be counted explicitly and neither table has them; otherwise counts rows, and says
        so, where a unit is named that the table lacks.
    """
    if original is not None or record is not None:
        if original is None:
            raise ParameterError("the holder's record states the order of the rows; name the original with original=")
        from shoal.api.released_units import released_units

        wanted = Of(Requirements(of=of).of or _stated_of(record))
        if wanted == Of.ROWS:
            raise ParameterError("of=rows counts rows, for which no original is needed; leave one of them out")
        found = released_units(
            original, table, schema, wanted, unit=unit, household=household, time=time, record=record,
            reading=reading, progress=progress,
        )  # fmt: skip
        return Persons(wanted, found.counted(wanted), index=found)
    counting = Requirements(of=of).counting(schema)
    # rows of a release that keeps links are in order; its times are replaced or dropped
    units = read_units(table, schema, ordered=counting == Of.HISTORIES and not schema.keep_links)
    if units is not None:
        from shoal.api.released_units import within_households

        return Persons(counting, units.counted(counting), index=within_households(units, schema))
    note = absent_persons(table.names, unit, household)
    return Persons() if note is None else Persons(notes=(note,))


def _stated_of(record: HolderRecord | str | Path | None) -> Of:
    """Return what k counted according to the holder's record; persons where that is not stated."""
    if record is None:
        return Of.UNITS
    from shoal.api.released_units import read_record

    plan = read_record(record).header["plan"]
    stated = Of(plan["requirements"].get("of", Of.HISTORIES if plan["schema"].get("keep_links") else Of.UNITS))
    return Of.UNITS if stated == Of.ROWS else stated
