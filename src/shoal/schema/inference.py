"""A proposal for the schema of a table, with the reason for each choice.

A column about which nothing is known gets the role ``other?``: a person who knows the data decides it, and no table is
protected before. A protection uses no guess of a role at all, unless every record has the same value and the name of
the column says nothing: :func:`decide_roles` raises an error that lists the columns whose role was not stated, with the
guess for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate

from shoal.errors import SchemaError, short_name
from shoal.schema.columns import Column, Schema, shown_role
from shoal.schema.person_numbers import repeated_numbers
from shoal.schema.role_proposal import (
    ONE_VALUE,
    WEIGHT_REASON,
    about_health,
    is_telling,
    one_of_each,
    propose_column,
    with_constants,
    with_question,
    with_relatives,
    with_time,
)
from shoal.tables import Table

_LONGEST_LIST = 600  # characters of an error for the columns, so that what a user can do is not cut off


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
    health = about_health(table)
    columns = [propose_column(table, name, health=health) for name in table.names]
    unclear = [column.name for column in columns if not column.reason.startswith("its name")]
    questions = {found.column: found for found in repeated_numbers(table, table.names, unclear)}
    columns = [with_question(column, questions.get(column.name)) for column in columns]
    columns = with_constants(table, columns, next(iter(questions), None))
    columns = with_time(table, one_of_each(with_relatives(table, columns), table))
    weight = next((column.name for column in columns if column.reason.startswith(WEIGHT_REASON)), None)
    return Schema(tuple(columns), sampling_weight=weight)


def decide_roles(table: Table, schema: Schema, *, head: bool = False) -> Schema:
    """Return a schema in which every column of a table has a role; ``head`` says that these are its first records.

    Columns whose role was not stated get the role ``schema.unnamed``. If that is None, a column that is guessed to be
    *other* stays unchanged, and any other column raises :class:`shoal.errors.SchemaError`.

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"age": [34, 41], "postcode": [10115, 80331]}))
    >>> from shoal.schema.column_words import bare_schema
    >>> decide_roles(people, bare_schema(people).updated(quasi=["age"], unnamed="other")).undecided
    []
    """
    undecided = schema.undecided
    if not undecided:
        return schema
    found = {}
    for name in undecided:
        if schema.unnamed:
            found[name] = replace(schema[name], role=schema.unnamed, reason="unnamed", role_stated=True)
        else:
            guess = propose_column(table, name)
            found[name] = replace(schema[name], role=guess.role, reason=guess.reason, role_stated=guess.role_stated)
    if schema.unnamed is None:
        same = [name for name, column in found.items() if column.reason.startswith(ONE_VALUE) and not is_telling(name)]
        guessed = {name: column for name, column in found.items() if name not in same}
        if guessed:
            raise SchemaError(undecided_text(guessed, table.n_rows if head else None))
    return replace(schema, columns=tuple(found.get(column.name, column) for column in schema.columns))


def check_roles(table: Table, schema: Schema) -> None:
    """Raise an error for columns of a table without a stated role, also for those that the schema does not have."""
    undecided = {*schema.undecided} | {*table.names} - {column.name for column in schema.columns}
    if undecided:
        found = {name: propose_column(table, name) for name in table.names if name in undecided}
        raise SchemaError(undecided_text(found))


def undecided_text(guessed: Mapping[str, Column], head: int | None = None) -> str:
    """Return the sentence for columns whose role was not stated: the guess for each, and what a user can do.

    ``head`` is the number of records that the guesses were made from, where these are not all.
    """
    listed = [
        f'"{short_name(name)}" (guess: {shown_role(one)}, {one.reason.partition(";")[0]})'
        for name, one in guessed.items()
    ]
    lengths = accumulate(len(text) + 2 for text in listed)
    shown = [text for text, length in zip(listed, lengths, strict=True) if length <= _LONGEST_LIST]
    more = f" and {len(guessed) - len(shown)} more" if len(shown) < len(guessed) else ""
    made_from = f", guessed from the first {head:,} records" if head else ""
    columns, which = ("1 column has", "it") if len(guessed) == 1 else (f"{len(guessed)} columns have", "each")
    return (
        f"{columns} no role{made_from}: {', '.join(shown)}{more}; name {which} with --quasi (Python: quasi=), "
        "--confidential (Python: confidential=), --identifiers (Python: identifiers=) or --other (Python: other=), "
        "which is released unchanged, or in a schema file, or give all unnamed columns one role with --unnamed "
        'other (Python: unnamed="other")'
    )
