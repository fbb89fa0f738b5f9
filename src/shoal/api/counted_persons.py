"""The persons that ``assess`` and ``verify`` count: from the table itself, or from the original of a released table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError
from shoal.flow.units import Integers, read_units
from shoal.privacy.equivalence_classes import EquivalenceClasses
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
    """

    of: Of = Of.ROWS
    codes: Integers | None = None
    notes: tuple[str, ...] = ()

    def per_class(self, classes: EquivalenceClasses) -> Integers | None:
        """Return the number of different persons or households that each class matches."""
        if self.codes is None:
            return None
        return distinct_l(classes.counts(self.codes, int(self.codes.max()) + 1))


def find_persons(
    table: Table,
    schema: Schema,
    *,
    unit: str | None,
    household: str | None,
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
    unit, household, of
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

        wanted = Requirements(of=of).of or Of.UNITS
        if wanted == Of.ROWS:
            raise ParameterError("of=rows counts rows, for which no original is needed; leave one of them out")
        found = released_units(
            original, table, schema, Of(wanted), unit=unit, household=household, record=record, reading=reading,
            progress=progress,
        )  # fmt: skip
        return Persons(Of(wanted), found)
    counting = Requirements(of=of).counting(schema)
    units = read_units(table, schema, ordered=False)
    codes = None if units is None else units.counted(counting)
    if codes is not None:
        return Persons(counting, codes)
    absent = [name for name in (unit, household) if name is not None and name not in table.names]
    if not absent:
        return Persons()
    note = (
        f'k counts records: the table has no column "{absent[0]}"; to count persons, name the original with --original '
        "and the holder's record with --record"
    )
    return Persons(notes=(note,))
