"""The argument ``labels`` of ``protect``: the name of a column, or an array that becomes a column of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.core.grouping import canonical_labels
from shoal.errors import ParameterError
from shoal.methods.own_groups import PREFIX

NAME_OF_ARRAY = "labels"
"""The column that holds groups which are given as an array."""


def with_groups(
    data: Any,
    labels: Any,
    method: Any,
    identifiers: Sequence[str] | None,
    named: Sequence[str],
    *,
    schema_given: bool,
) -> tuple[Any, str, Sequence[str] | None]:
    """Return the table with its groups in a column, the name in place of a method, and the direct identifiers.

    Parameters
    ----------
    data
        A DataFrame, or the path of a file.
    labels
        The name of a column, or one label per record.
    method
        The method, which must be left to Shoal.
    identifiers
        The direct identifiers; the column joins them, so that it is not released, unless it is named elsewhere.
    named
        Columns with another role.
    schema_given
        Whether a schema states the roles.
    """
    if method != "auto":
        raise ParameterError(
            "labels= (command line: --labels) states the groups, so no method runs; leave out method= (command line: "
            "--method)"
        )
    if isinstance(labels, str):
        column = labels
    else:
        data, column = _with_column(data, labels, [*(identifiers or ()), *named]), NAME_OF_ARRAY
    if column not in named and column not in (identifiers or ()) and not (schema_given and isinstance(labels, str)):
        identifiers = [*([identifiers] if isinstance(identifiers, str) else identifiers or ()), column]
    return data, PREFIX + column, identifiers


def _with_column(data: Any, labels: Any, named: Sequence[str]) -> Any:
    """Return a DataFrame with the groups of its records as a further column."""
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        raise ParameterError("labels= for a file is the name of a column that holds the group of each record")
    import narwhals as nw

    from shoal.tables import Table

    table = Table.from_native(data, named)
    if NAME_OF_ARRAY in table.names:
        raise ParameterError(
            f'labels= is an array, but the table has a column "{NAME_OF_ARRAY}"; give labels="{NAME_OF_ARRAY}" to use '
            "that column, or rename it"
        )
    try:
        array = np.asarray(labels)
    except ValueError:  # its text may quote values
        array = np.empty(0)
    if array.shape != (table.n_rows,) or array.dtype.kind not in "iubU":
        raise ParameterError(
            f"labels= must be the name of a column, or one integer or text for each of the {table.n_rows} records"
        )
    numbers = canonical_labels(np.unique(array, return_inverse=True)[1].reshape(-1))
    frame = table.frame
    column = nw.new_series(NAME_OF_ARRAY, numbers.tolist(), backend=frame.implementation)
    if frame.implementation.is_pandas():
        column = nw.from_native(column.to_native().set_axis(frame.to_native().index), series_only=True)
    return frame.with_columns(column).to_native()
