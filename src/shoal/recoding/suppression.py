"""Suppression: a group keeps the values on which all of its records agree and loses the others. Cost O(n log n).

The statistic ε of Thaeter 2021, Def. 3.1: nothing false is said, and nothing at all where records differ.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.recoding.range_texts import group_ranges


def group_agreement(values: NDArray[np.float64], grouping: Grouping) -> NDArray[np.bool_]:
    """Return whether all records of a group have the same value; missing ones agree with each other.

    Examples
    --------
    >>> group_agreement(np.array([1.0, 1.0, 2.0, 3.0]), Grouping([0, 0, 1, 1], k=2))
    array([ True, False])
    """
    lowest, highest = (values[ends] for ends in group_ranges(values, grouping))
    return (lowest == highest) | np.isnan(lowest)


def with_holes(series: nw.Series[Any], holes: NDArray[np.bool_]) -> nw.Series[Any]:
    """Return a column with some values missing, in a type that can say so.

    Examples
    --------
    >>> import polars as pl
    >>> with_holes(nw.from_native(pl.Series("sex", ["f", "m"]), series_only=True), np.array([True, False])).to_list()
    [None, 'm']
    """
    native: Any = series.to_native()
    if series.implementation.is_pandas():
        native = native.convert_dtypes() if native.dtype.kind in "iub" else native
        return nw.from_native(native.mask(holes), series_only=True)
    if series.implementation.is_pyarrow():
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.if_else(pa.array(holes), pa.scalar(None, native.type), native)
        return nw.from_native(found, series_only=True).alias(series.name)
    import polars as pl

    frame = native.to_frame().select(pl.when(pl.Series(~holes)).then(pl.first()))
    return nw.from_native(frame.to_series(), series_only=True)
