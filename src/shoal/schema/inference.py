"""A proposal for the schema of a table, with the reason for each choice.

The proposal errs on the safe side: a column that is neither an identifier nor clearly confidential becomes a
quasi-identifier, because an intruder may know it. A person who knows the data reviews the draft and corrects it.
"""

from __future__ import annotations

import re
from typing import Any

import narwhals as nw

from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.tables import Table

_WORDS = {
    Role.IDENTIFIER: (
        "id ids uid uuid guid identifier name names surname firstname lastname forename ssn nino passport email mail "
        "phone telephone mobile iban account address street url ip username login key number no nr license"
    ),
    Role.CONFIDENTIAL: (
        "diagnosis disease illness icd condition symptom treatment therapy medication drug hiv blood glucose "
        "cholesterol outcome salary wage debt credit religion belief party vote conviction crime offence sexual test "
        "result score"
    ),
    Role.QUASI: (
        "age sex gender birth born birthday birthdate dob date year zip zipcode postcode plz region city town state "
        "county country district province race ethnicity nationality occupation job profession education school "
        "marital married status household children size height weight income admission admitted"
    ),
}
_ROLE_OF_WORD = {word: role for role, words in _WORDS.items() for word in words.split()}


def infer_schema(table: Table) -> Schema:
    """Propose role and kind of each column, with the reason.

    Parameters
    ----------
    table
        The table, or its first rows.

    Returns
    -------
    schema
        One entry per column, with its ``reason``.

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"name": ["Ann", "Bob"], "age": [34, 41], "diagnosis": ["A", "B"]}))
    >>> [(column.name, str(column.role), str(column.kind)) for column in infer_schema(people).columns]
    [('name', 'identifier', 'nominal'), ('age', 'quasi', 'numeric'), ('diagnosis', 'confidential', 'nominal')]
    """
    return Schema(tuple(_infer_column(table, name) for name in table.names))


def bare_schema(table: Table) -> Schema:
    """Return a schema in which every column is *other*, with the kind that its type suggests."""
    columns = []
    for name in table.names:
        kind, order, reason = infer_kind(table.typed(name), table.value_labels(name))
        columns.append(Column(name, Role.OTHER, kind, order=order, reason=reason))
    return Schema(tuple(columns))


def infer_kind(
    series: nw.Series[Any], value_labels: dict[Any, str] | None = None
) -> tuple[Kind, tuple[str, ...] | None, str]:
    """Return kind, order and reason for the values of a column."""
    dtype = series.dtype
    if isinstance(dtype, nw.Enum):
        return Kind.ORDINAL, tuple(map(str, dtype.categories)), "its categories have an order"
    if value_labels:
        return Kind.NOMINAL, None, "its values have labels"
    if dtype.is_temporal():
        return Kind.NUMERIC, None, "dates and times compare like numbers"
    if dtype.is_numeric():
        return Kind.NUMERIC, None, "numbers"
    if dtype == nw.Boolean:
        return Kind.NOMINAL, None, "true or false"
    return Kind.NOMINAL, None, "text"


def looks_like_identifier(series: nw.Series[Any]) -> str | None:
    """Return the reason why a column may identify single persons, or None."""
    words = set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", series.name).lower()))
    by_name = sorted(word for word in words if _ROLE_OF_WORD.get(word) == Role.IDENTIFIER)
    if by_name:
        return f'its name says "{by_name[0]}"'
    if series.dtype.is_float() or series.dtype.is_temporal() or len(series) < 20:
        return None
    return "every value differs" if series.n_unique() == len(series) else None


def _infer_column(table: Table, name: str) -> Column:
    series = table.typed(name)
    kind, order, kind_reason = infer_kind(series, table.value_labels(name))
    role, role_reason = _infer_role(series)
    return Column(name, role, kind, order=order, reason=f"{role_reason}; {kind_reason}")


def _infer_role(series: nw.Series[Any]) -> tuple[Role, str]:
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", series.name).lower())
    for role in (Role.CONFIDENTIAL, Role.QUASI):  # "date of test result" is a result
        for word in words:
            if _ROLE_OF_WORD.get(word) == role:
                return role, f'its name says "{word}"'
    identifier = looks_like_identifier(series)
    if identifier:
        return Role.IDENTIFIER, identifier
    return Role.QUASI, "an intruder may know it"
