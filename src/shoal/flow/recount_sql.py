"""A SQL statement that recounts k and distinct l of a released table, for readers who do not have Shoal.

The statement is plain SQL that DuckDB, PostgreSQL and SQLite run on a table or view called ``released``. A missing
value is a value of its own, as in the recount of Shoal: ``GROUP BY`` treats missing values as equal, and
``COUNT(DISTINCT)``, which ignores them, is completed. The table should hold what the file holds: ``-0`` and ``0`` are
one number but two texts, so read a text file as text to recount what a reader of the text sees, or with types to
recount numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.schema.plan import JsonDict
from shoal.schema.requirements import Of

TABLE = "released"
_K_TEXT = "the size of the smallest equivalence class"


def recount_entry(
    quasi: Sequence[str],
    confidential: Sequence[str],
    columns: Sequence[str] = (),
    of: Of = Of.ROWS,
    code: str | None = None,
) -> JsonDict:
    """Return the statement with instructions, or the reason why there is none.

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
