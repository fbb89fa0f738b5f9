"""A proposal for the schema of a table, with the reason for each choice.

The proposal errs on the safe side: a column that is neither an identifier nor clearly confidential becomes a
quasi-identifier, because an intruder may know it; only a column without any differences is *other*. A person who knows
the data reviews the draft and corrects it.

A protection uses no guess of a role but *other*: :func:`decide_roles` raises an error that lists the columns whose role
was not stated, with the guess for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

import narwhals as nw

from shoal.errors import SchemaError, short_name
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.schema.person_numbers import RepeatedNumber, repeated_numbers
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
_FEWEST_RECORDS = 20  # equal or different values of fewer records say nothing about a column
_LONGEST_LIST = 600  # characters of an error for the columns, so that what a user can do is not cut off
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
    columns = [_infer_column(table, name) for name in table.names]
    unclear = [column.name for column in columns if not column.reason.startswith("its name")]
    questions = {found.column: found for found in repeated_numbers(table, table.names, unclear)}
    return Schema(tuple(_with_question(column, questions.get(column.name)) for column in columns))


def bare_schema(table: Table) -> Schema:
    """Return a schema without stated roles, in which every column has the kind that its type suggests."""
    columns = []
    for name in table.names:
        kind, order, reason = infer_kind(table.typed(name), table.value_labels(name))
        columns.append(Column(name, Role.OTHER, kind, order=order, reason=reason, role_stated=False))
    return Schema(tuple(columns))


def decide_roles(table: Table, schema: Schema) -> Schema:
    """Return a schema in which every column of a table has a role.

    Columns whose role was not stated get the role ``schema.unnamed``. If that is None, a column that is guessed to be
    *other* stays unchanged, and any other column raises :class:`shoal.errors.SchemaError`.

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"age": [34, 41], "postcode": [10115, 80331]}))
    >>> decide_roles(people, bare_schema(people).updated(quasi=["age"], unnamed="other")).undecided
    []
    """
    undecided = schema.undecided
    if not undecided:
        return schema
    found = {}
    for name in undecided:
        role, reason = (schema.unnamed, "unnamed") if schema.unnamed else _infer_role(table.typed(name))
        found[name] = replace(schema[name], role=role, reason=reason, role_stated=True)
    guessed = {name: column for name, column in found.items() if not schema.unnamed and column.role != Role.OTHER}
    if guessed:
        raise SchemaError(undecided_text(guessed))
    return replace(schema, columns=tuple(found.get(column.name, column) for column in schema.columns))


def check_roles(table: Table, schema: Schema) -> None:
    """Raise an error for columns of a table without a stated role, also for those that the schema does not have."""
    undecided = {*schema.undecided} | {*table.names} - {column.name for column in schema.columns}
    if undecided:
        found = {name: _infer_column(table, name) for name in table.names if name in undecided}
        raise SchemaError(undecided_text(found))


def undecided_text(guessed: Mapping[str, Column]) -> str:
    """Return the sentence for columns whose role was not stated: the guess for each, and what a user can do."""
    listed = [
        f'"{short_name(name)}" (guess: {one.role}, {one.reason.partition(";")[0]})' for name, one in guessed.items()
    ]
    lengths = accumulate(len(text) + 2 for text in listed)
    shown = [text for text, length in zip(listed, lengths, strict=True) if length <= _LONGEST_LIST]
    more = f" and {len(guessed) - len(shown)} more" if len(shown) < len(guessed) else ""
    columns = "1 column has" if len(guessed) == 1 else f"{len(guessed)} columns have"
    return (
        f"{columns} no role: {', '.join(shown)}{more}; name each with --quasi, --confidential, --identifiers or "
        "--other (released unchanged) or in a schema file, or give all unnamed columns one role with --unnamed other "
        '(Python: other=[...], unnamed="other")'
    )


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
    if series.dtype.is_float() or series.dtype.is_temporal() or len(series) < _FEWEST_RECORDS:
        return None
    return "every value differs" if series.n_unique() == len(series) else None


def _infer_column(table: Table, name: str) -> Column:
    series = table.typed(name)
    kind, order, kind_reason = infer_kind(series, table.value_labels(name))
    role, role_reason = _infer_role(series)
    return Column(name, role, kind, order=order, reason=f"{role_reason}; {kind_reason}")


def _with_question(column: Column, found: RepeatedNumber | None) -> Column:
    """Return a column whose reason asks whether it is the number of a person with several rows."""
    if found is None:
        return column
    question = f"{found.counted} occur{'s' if found.repeated == 1 else ''} more than once: is one row one person?"
    return replace(column, reason=f'{column.reason}; {question} Otherwise role = "unit"')


def _infer_role(series: nw.Series[Any]) -> tuple[Role, str]:
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", series.name).lower())
    for role in (Role.CONFIDENTIAL, Role.QUASI):  # "date of test result" is a result
        for word in words:
            if _ROLE_OF_WORD.get(word) == role:
                return role, f'its name says "{word}"'
    identifier = looks_like_identifier(series)
    if identifier:
        return Role.IDENTIFIER, identifier
    if len(series) >= _FEWEST_RECORDS and series.n_unique() == 1:
        return Role.OTHER, "every record has the same value"
    return Role.QUASI, "an intruder may know it"
