"""pyarrow arrays as NumPy arrays; pyarrow's own conversion would import pandas wherever it is installed."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def as_numpy(values: Any) -> NDArray[Any]:
    """Return numbers or truth values as an array, with holes set to zero.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_numpy(pa.array([1, None, 3])).tolist()
    [1, 0, 3]
    """
    import polars as pl

    column = pl.Series(pl.from_arrow(values))
    if column.null_count():
        column = column.fill_null(False if column.dtype == pl.Boolean else 0)
    return column.to_numpy()
