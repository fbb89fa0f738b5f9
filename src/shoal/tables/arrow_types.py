"""Types of Arrow that polars cannot read: converted to the nearest type that it can, or refused with the column's name.

Decimals of 256 bits become decimals of 128 bits if their values fit, run-end encoded columns plain ones. Without this a
Parquet file with such a column ends in a panic of polars.
"""

from __future__ import annotations

from typing import Any

from shoal.errors import DataError

_DIGITS = 38  # of a decimal of 128 bits


def is_unusual(kind: Any) -> bool:
    """Return whether a type of pyarrow has to be converted or refused.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_unusual(pa.decimal256(50, 2)), is_unusual(pa.decimal128(20, 2))
    (True, False)
    """
    return str(kind).startswith(
        ("decimal256", "run_end_encoded", "list_view", "large_list_view", "month", "dense_union", "sparse_union")
    )


def with_usual_types(table: Any) -> Any:
    """Return a pyarrow Table whose columns polars can read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> with_usual_types(pa.table({"a": pa.array([1, None], pa.decimal256(50, 2))})).schema.field("a").type
    Decimal128Type(decimal128(38, 2))
    """
    for position, field in enumerate(table.schema):
        if is_unusual(field.type):
            column = usual_column(table.column(position), field.name)
            table = table.set_column(position, field.name, column)
    return table


def usual_column(column: Any, name: str) -> Any:
    """Return a pyarrow ChunkedArray in a type that polars can read; ``name`` is for the error text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_decimal256(kind) and kind.scale <= _DIGITS:
        try:
            return column.cast(pa.decimal128(_DIGITS, kind.scale))
        except pa.ArrowInvalid as error:
            raise DataError(
                f'column "{name}" is of type {kind} and has numbers of more than {_DIGITS} digits; round them, or '
                f"convert the column to floats or text"
            ) from error
    if pa.types.is_run_end_encoded(kind):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
    raise DataError(f'column "{name}" is of type {kind}, which Shoal cannot read; drop it, or turn it into text')


def selected_rows(table: Any, rows: Any) -> Any:
    """Return some rows of a pyarrow Table, in any order; pyarrow cannot select among views of text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> selected_rows(pa.table({"a": pa.array(["x", "y"], pa.string_view())}), [1, 0]).column("a").to_pylist()
    ['y', 'x']
    """
    import pyarrow as pa

    kinds = table.schema.types
    plain = [
        pa.large_string() if pa.types.is_string_view(kind)
        else pa.large_binary() if pa.types.is_binary_view(kind) else kind
        for kind in kinds
    ]  # fmt: skip
    fields = [field.with_type(kind) for field, kind in zip(table.schema, plain, strict=True)]
    found = table.cast(pa.schema(fields, table.schema.metadata)) if plain != kinds else table
    found = found.take(pa.array(rows))
    return found.cast(table.schema) if plain != kinds else found
