"""Rows of figures as a DataFrame of the library that a user works with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import ParameterError


def data_frame(header: Sequence[str], rows: Sequence[Sequence[Any]], backend: str = "polars") -> Any:
    """Return rows as a DataFrame.

    Parameters
    ----------
    header
        The names of the columns.
    rows
        One sequence of values per row.
    backend
        ``polars``, ``pandas`` or ``pyarrow``.

    Returns
    -------
    frame
        A DataFrame of that library.

    Examples
    --------
    >>> data_frame(("column", "loss"), [("age", 0.5)]).rows()
    [('age', 0.5)]
    """
    import narwhals as nw

    if backend not in {"polars", "pandas", "pyarrow"}:
        raise ParameterError(f"backend={backend!r} is not possible; choose polars, pandas or pyarrow")
    columns = {name: [row[position] for row in rows] for position, name in enumerate(header)}
    return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]


def backend_of(native: Any) -> str:
    """Return the name of the library of a DataFrame, for :func:`data_frame`.

    Examples
    --------
    >>> import polars as pl
    >>> backend_of(pl.DataFrame({"age": [34]}))
    'polars'
    """
    import narwhals as nw

    return str(nw.from_native(native).implementation.value)
