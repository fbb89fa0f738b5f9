"""A release as a table of a database: staged, read back, recounted, then made visible with its manifest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.core.grouping import canonical_labels
from shoal.errors import FileProblem, ParameterError
from shoal.flow.released import Released, recount_table
from shoal.privacy.k_anonymity import Classes, class_labels, require_k
from shoal.schema.requirements import Of
from shoal.tables import Table, write_files
from shoal.tables.databases import Database, class_counts, write_database


@dataclass(frozen=True)
class WrittenTable:
    """A table that was written into a database, for the manifest."""

    database: Database
    records: int
    columns: int

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the manifest; it names no host, file or user."""
        return {
            "database": self.database.kind,
            "table": self.database.name,
            "records": self.records,
            "columns": self.columns,
        }


def check_origin(uri: str, original: Table | None) -> Database:
    """Return the database of an output; raises if the output is the table that was read."""
    database = Database.of(uri)
    if original is not None and original.origin == database.digest:
        raise FileProblem(f"{database.shown}: the output is the input table; choose another name, it is never changed")
    return database


def write_release_table(
    released: Released,
    table: Table,
    uri: str,
    writers: dict[Path, Callable[[Path], None]],
    *,
    private: list[Path],
    overwrite: bool,
) -> None:
    """Write a release into a database, and its other files; all of them or nothing.

    The table is committed when all files are written and before they are renamed into place.
    """
    plan, requirements = released.plan, released.plan.requirements
    of = requirements.counting(plan.schema)
    if of == Of.HISTORIES:
        raise ParameterError(
            "k counts histories, whose rows have an order that a table of a database lacks; write a file"
        )
    if of != Of.ROWS and released.units is None:
        raise ParameterError(
            "a release that was loaded or copied does not know whose rows its rows are; write it first"
        )
    target = Database.of(uri)

    def check(found: Any) -> None:
        if (found.num_rows, found.column_names) != (table.n_rows, table.names):
            raise FileProblem(f"{target.shown}: what was stored does not read back as the table; nothing was written")
        if of != Of.ROWS:
            _recount_persons(Table.from_native(found), table, released, target)
            return
        sizes = class_counts(found, plan.schema.counted)
        require_k(Classes(sizes, None, Of.ROWS), requirements.k, f"{target.shown}: as written, ")
        if requirements.beyond_k or requirements.max_share is not None or plan.schema.constant:
            stored, whole = Table.from_native(found), released.whole or ()
            recount_table(stored, plan.schema, requirements, None, released.persons, whole=whole)

    def finish(commit: Callable[[], None]) -> None:
        *others, last = writers.items()

        def write_and_commit(temporary: Path) -> None:
            last[1](temporary)
            commit()

        write_files({**dict(others), last[0]: write_and_commit}, private=private)

    write_database(table, uri, overwrite=overwrite, check=check, finish=finish)


def _recount_persons(stored: Table, table: Table, released: Released, target: Database) -> None:
    """Recount what was stored by persons or households; raises where its rows are not in the order of the release."""
    names = released.schema.counted
    found, expected = (canonical_labels(class_labels(each, names)) for each in (stored, table))
    if not np.array_equal(found, expected):
        raise FileProblem(
            f"{target.shown}: the rows do not read back in the order of the release, so that persons cannot be "
            "counted; nothing was written, write a file"
        )
    requirements = released.plan.requirements
    recount_table(stored, released.schema, requirements, released.units, released.persons, whole=released.whole or ())
