"""The recount of a file: from its bytes before it becomes visible, and by SQL for readers who do not have Shoal.

The table in memory was counted when it was made. What counts for an intruder is the file: a format may store two values
differently that are equal in memory, or cut texts short. Only a file that passes this count is renamed into place.

The manifest has a SQL statement that recounts k and distinct l, see :func:`recount_entry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ParameterError
from shoal.flow.prepare import Integers
from shoal.privacy.k_anonymity import Classes, require_k
from shoal.schema.columns import Schema
from shoal.schema.plan import JsonDict
from shoal.schema.requirements import Of, Requirements
from shoal.tables import Table, read_table
from shoal.tables.files import format_of
from shoal.tables.written import WrittenFile, read_back, written_numbers

if TYPE_CHECKING:
    from shoal.flow.units import UnitIndex
    from shoal.privacy.value_encoding import ValueEncoding

TABLE = "released"
_K_TEXT = "the size of the smallest equivalence class"


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
        from shoal.flow.released import recount_table

        recount_table(_reread(path, target, table), schema, requirements, units, persons, whole=whole)
    return written


def _reread(path: Path, target: Path, table: Table) -> Table:
    """Read the file as any other, with every column of a text file as it is written there."""
    if format_of(target).family != "text":
        return read_table(path)
    from shoal.tables.csv_files import dialect_for

    dialect = dialect_for(table, target)
    return read_table(
        path, delimiter=dialect.delimiter, encoding=dialect.encoding, decimal=dialect.decimal,
        na_values=dialect.declared_na_values, text=table.names,
    )  # fmt: skip


def recount_entry(
    quasi: Sequence[str],
    confidential: Sequence[str],
    columns: Sequence[str] = (),
    of: Of = Of.ROWS,
    code: str | None = None,
) -> JsonDict:
    """Return a SQL statement that recounts k and distinct l with instructions, or the reason why there is none.

    The statement is plain SQL that DuckDB, PostgreSQL and SQLite run on a table or view called ``released``. A missing
    value is a value of its own, as in the recount of Shoal: ``GROUP BY`` treats missing values as equal, and
    ``COUNT(DISTINCT)``, which ignores them, is completed. The table should hold what the file holds: ``-0`` and ``0``
    are one number but two texts, so read a text file as text to recount what a reader of the text sees, or with types
    to recount numbers.

    Parameters
    ----------
    quasi
        Quasi-identifiers and strata.
    confidential
        Confidential attributes, whose distinct l is counted.
    columns
        All columns of the released table.
    of
        What k counts; a table without a code for persons or households shows its rows only, which is stated.
    code
        The column that holds a code for each person, if there is one.

    Examples
    --------
    >>> print(recount_entry(["age"], ["diagnosis"])["sql"])
    SELECT COUNT(*) AS classes, MIN(records) AS k, MIN(l1) AS l1
    FROM (
      SELECT COUNT(*) AS records, COUNT(DISTINCT "diagnosis") + MAX(CASE WHEN "diagnosis" IS NULL THEN 1 ELSE 0 END) AS l1
      FROM released
      GROUP BY "age"
    ) AS counted
    """  # noqa: E501 - the doctest shows a line of the statement
    names = {*quasi, *confidential, *columns}
    if any(not name or "\0" in name for name in [*quasi, *confidential]):
        return {"sql": None, "reason": "a column has no name that SQL can quote"}
    if len({name.casefold() for name in names}) < len(names):
        return {
            "sql": None,
            "reason": "the names of two columns differ only in case, which DuckDB does not distinguish",
        }
    counts = ["COUNT(*) AS records", *(
        f"COUNT(DISTINCT {quoted(name)}) + MAX(CASE WHEN {quoted(name)} IS NULL THEN 1 ELSE 0 END) AS l{number}"
        for number, name in enumerate(confidential, start=1)
    )]  # fmt: skip
    smallest = ["COUNT(*) AS classes", "MIN(records) AS k"]
    smallest += [f"MIN(l{number}) AS l{number}" for number, _ in enumerate(confidential, start=1)]
    lines = [
        f"SELECT {', '.join(smallest)}",
        "FROM (",
        f"  SELECT {', '.join(counts)}",
        f"  FROM {TABLE}",
        f"  GROUP BY {', '.join(quoted(name) for name in quasi)}",
        ") AS counted",
    ]
    return {
        "sql": "\n".join(lines),
        "table": f"a table or view called {TABLE} with the columns of the file",
        "result": {
            "k": _k_text(of, code),
            **{f"l{number}": name for number, name in enumerate(confidential, start=1)},
        },
    }


def _k_text(of: Of, code: str | None) -> str:
    """Return what the statement counts, where that is not what k counts."""
    if of == Of.ROWS:
        return _K_TEXT
    if code is not None and of != Of.HOUSEHOLDS:
        counted = f"{code} and the order of the rows show" if of == Of.HISTORIES else f"{code} shows"
        return f"{_K_TEXT} in rows; {counted} the {of.noun} that k counts"
    return f"{_K_TEXT} in rows; the {of.noun} that k counts are not in the table"


def quoted(name: str) -> str:
    """Return a column name as a delimited identifier of SQL.

    Examples
    --------
    >>> quoted('the "net" income')
    '"the ""net"" income"'
    """
    return '"' + name.replace('"', '""') + '"'
