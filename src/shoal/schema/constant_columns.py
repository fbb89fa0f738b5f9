"""Columns that are constant within the rows of a person, such as sex: found, reported, and declared on request.

Whether a column that happens to be constant has to stay so in the release is decided by the user. A column that is
constant but for few persons often has typing errors, and is reported as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from shoal.errors import short_name
from shoal.schema.columns import Schema
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

FEW = 0.02
"""The share of the persons with several rows in which a column that is reported may vary,"""
FEWEST_PERSONS = 20
"""and from how many persons on it may vary in one."""


@dataclass(frozen=True)
class ConstantColumn:
    """A column that has one value in all rows of a person, but for some persons.

    Parameters
    ----------
    name
        The column.
    exceptions
        The number of persons with several values.
    persons
        The number of persons with several rows.
    """

    name: str
    exceptions: int
    persons: int

    @property
    def text(self) -> str:
        """What was found, for a person to read.

        Examples
        --------
        >>> ConstantColumn("sex", 2, 300).text
        '"sex" (but for 2 of 300 persons)'
        """
        shown = f'"{short_name(self.name)}"'
        return f"{shown} (but for {self.exceptions:,} of {self.persons:,} persons)" if self.exceptions else shown


def constant_columns(table: Table, owner: str, names: Iterable[str]) -> list[ConstantColumn]:
    """Return the columns that are constant within owners (persons or households), or all but few of them.

    Parameters
    ----------
    table
        The original table.
    owner
        The column that says which rows belong to one person or household.
    names
        The columns that are tested; those with one value only are left out.

    Examples
    --------
    >>> stays = pl.DataFrame({"patient": [1, 1, 2, 2], "sex": ["f", "f", "m", "m"], "day": [1, 2, 1, 2]})
    >>> [found.name for found in constant_columns(Table.from_native(stays), "patient", ["sex", "day"])]
    ['sex']
    """
    owners = comparable_values(table.column(owner)).alias("owner")
    if owners.dtype.is_nested():
        return []
    found = []
    several = owners.drop_nulls().value_counts().filter(pl.col("count") > 1).height
    for name in names:
        values = comparable_values(table.typed(name)).alias("value")
        if name == owner or not several or values.dtype.is_nested() or values.n_unique() < 2:
            continue
        pairs = pl.DataFrame([owners, values]).drop_nulls("owner").unique()
        exceptions = pairs["owner"].value_counts().filter(pl.col("count") > 1).height
        if exceptions <= max(FEW * several, several >= FEWEST_PERSONS):
            found.append(ConstantColumn(name, exceptions, several))
    return found


def with_constant_columns(table: Table, schema: Schema) -> Schema:
    """Return a schema in which the quasi-identifiers that are constant within all persons are declared as constant."""
    owner = schema.unit or schema.household
    if owner is None:
        return schema
    tested = constant_columns(table, owner, [column.name for column in schema.quasi])
    names = {found.name for found in tested if not found.exceptions}
    columns = (replace(column, constant=True) if column.name in names else column for column in schema.columns)
    return replace(schema, columns=tuple(columns))
