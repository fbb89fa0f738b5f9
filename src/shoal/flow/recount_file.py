"""The recount of a file from its bytes, after it was written and before it becomes visible.

The table in memory was counted when it was made. What counts for an intruder is the file: a format may store two values
differently that are equal in memory, or cut texts short. Only a file that passes this count is renamed into place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ParameterError
from shoal.flow.prepare import Integers
from shoal.flow.released import recount_table
from shoal.privacy.k_anonymity import Classes, require_k
from shoal.schema.columns import Schema
from shoal.schema.requirements import Of, Requirements
from shoal.tables import Table, read_table
from shoal.tables.files import format_of
from shoal.tables.written import WrittenFile, read_back, written_numbers

if TYPE_CHECKING:
    from shoal.flow.units import UnitIndex
    from shoal.privacy.value_encoding import ValueEncoding


def recount_file(
    path: Path,
    target: Path,
    table: Table,
    schema: Schema,
    requirements: Requirements,
    units: Integers | None = None,
    *,
    persons: UnitIndex | None = None,
    expected: Integers | None = None,
    whole: Sequence[ValueEncoding] | None = (),
) -> WrittenFile:
    """Count k and every further requirement on the bytes of a file; raises where one is violated.

    Parameters
    ----------
    path
        The temporary file.
    target
        The file that it will become.
    table
        The table that was written; only its shape and dialect are used.
    schema, requirements
        What is counted and what must hold.
    units
        The person or household of each released row, where k counts these.
    persons
        Person, household and position of each released row, where the schema has these.
    expected
        The group of each released row; what the file holds is compared with it, see :func:`read_back`.
    whole
        The distributions of confidential attributes in the whole table, where a part of it is released; None where
        they are not known any more.

    Returns
    -------
    written
        Size, digest and equivalence classes of the file.
    """
    of = requirements.counting(schema)
    unknown = persons is None and (bool(schema.constant) or of == Of.HISTORIES)
    if (units is None) != (of == Of.ROWS) or unknown:
        raise ParameterError(
            f"k counts {of.noun}, and a release that was loaded or copied does not know whose rows its rows are; write "
            "the release where it was made"
        )
    if whole is None:
        raise ParameterError(
            "a part of a table is compared with the whole one, whose distribution a release that was loaded or copied "
            "does not know; write the release where it was made"
        )
    position = None
    if persons is not None:
        position = persons.order if of == Of.HISTORIES else None
        if schema.code is not None:
            codes = written_numbers(path, target, table, [schema.code])
            from shoal.flow.units import require_same_persons

            require_same_persons(codes, persons.unit)
            if of in {Of.UNITS, Of.HISTORIES}:  # the rows of a person are in order
                units, position = codes, None if position is None else np.arange(codes.size)
        for names, owners in persons.constants(schema, of) if schema.constant else ():
            values = written_numbers(path, target, table, names)
            from shoal.privacy.kept_constants import require_one_each

            require_one_each(values, owners, f"{target}: as written, columns are")
    written = read_back(path, target, table, schema.counted, units, position, expected=expected)
    require_k(Classes(written.class_sizes, written.class_units, of), requirements.k, f"{target}: as written, ")
    if requirements.beyond_k or requirements.max_share is not None:
        recount_table(_reread(path, target, table), schema, requirements, units, persons, whole=whole)
    return written


def _reread(path: Path, target: Path, table: Table) -> Table:
    """Read the file as any other, with every column of a text file as it is written there."""
    if format_of(target).family != "text":
        return read_table(path)
    from shoal.tables.csv_writer import dialect_for

    dialect = dialect_for(table, target)
    return read_table(
        path, delimiter=dialect.delimiter, encoding=dialect.encoding, decimal=dialect.decimal,
        na_values=dialect.declared_na_values, text=table.names,
    )  # fmt: skip
