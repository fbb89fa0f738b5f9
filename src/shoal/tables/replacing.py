"""Replacement of columns of a DataFrame, by position of the record.

narwhals aligns pandas columns by index; here records are addressed by position. New columns are stored in the type of
the old ones where this loses nothing. Categories that no longer occur are removed from a release by
:mod:`shoal.tables.clean_copy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw


def replaced(frame: nw.DataFrame[Any], columns: Mapping[str, nw.Series[Any]]) -> nw.DataFrame[Any]:
    """Return the frame with columns replaced; names and lengths were checked by the caller.

    Examples
    --------
    >>> import narwhals as nw, polars as pl
    >>> frame = nw.from_native(pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}), eager_only=True)
    >>> replaced(frame, {"a": nw.new_series("x", [7, 7], backend="polars")}).to_dict(as_series=False)
    {'a': [7, 7], 'b': ['x', 'y']}
    """
    import narwhals as nw

    native = frame.to_native()
    if frame.implementation.is_pandas():
        return nw.from_native(_in_pandas(native, columns), eager_only=True)
    if frame.implementation.is_pyarrow():
        return nw.from_native(_in_pyarrow(native, columns), eager_only=True)
    return frame.with_columns(*(_in_storage(frame, name, new).alias(name) for name, new in columns.items()))


def _in_pandas(native: Any, columns: Mapping[str, nw.Series[Any]]) -> Any:
    native = native.copy(deep=False)
    for name, column in columns.items():
        new, old = column.to_native(), native[name].dtype
        native[name] = (new.astype(old) if new.dtype != old and _fits_in_pandas(new, old) else new).array
    return native


def _fits_in_pandas(new: Any, old: Any) -> bool:
    """Return whether the new values can be stored in the old type without loss."""
    import narwhals as nw
    import pandas as pd

    if isinstance(old, pd.CategoricalDtype):
        return bool(new.dropna().isin(old.categories).all())
    kinds = [nw.from_native(pd.Series([], dtype=dtype), series_only=True).dtype for dtype in (new.dtype, old)]
    return kinds[0] == kinds[1] and kinds[0] != nw.Object and (not new.isna().any() or _allows_missing(old))


def _allows_missing(dtype: Any) -> bool:
    import numpy as np

    return not (isinstance(dtype, np.dtype) and dtype.kind in "iub")


def _in_pyarrow(native: Any, columns: Mapping[str, nw.Series[Any]]) -> Any:
    import pyarrow as pa

    fields, arrays = [], []
    for field, old in zip(native.schema, native.itercolumns(), strict=True):
        new = _in_type_of(old, columns[field.name].to_native()) if field.name in columns else old
        fields.append(pa.field(field.name, new.type, field.nullable or new.null_count > 0))
        arrays.append(new)
    return pa.table(arrays, schema=pa.schema(fields))


def _in_type_of(old: Any, new: Any) -> Any:
    """Return the new values in the type of the old ones, if they are text or all in the old dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def is_text(kind: Any) -> bool:
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))

    if new.type == old.type:
        return new
    if not pa.types.is_dictionary(old.type):
        return new.cast(old.type) if is_text(new.type) and is_text(old.type) else new
    plain = new.cast(new.type.value_type) if pa.types.is_dictionary(new.type) else new
    known = old.unify_dictionaries()
    if plain.type != old.type.value_type and not (is_text(plain.type) and is_text(old.type.value_type)):
        return new
    if not known.num_chunks:
        return new
    dictionary = known.chunk(0).dictionary
    indices = pc.index_in(plain.cast(old.type.value_type), value_set=dictionary)
    if indices.null_count != plain.null_count:
        return new
    parts = [part.cast(old.type.index_type) for part in indices.chunks]
    arrays = [pa.DictionaryArray.from_arrays(part, dictionary, ordered=old.type.ordered) for part in parts]
    return pa.chunked_array(arrays, type=old.type)


def _in_storage(frame: nw.DataFrame[Any], name: str, new: nw.Series[Any]) -> nw.Series[Any]:
    """Return the new column in the type of the old one if it is text and all values are known categories."""
    import narwhals as nw

    old = frame.get_column(name).dtype
    if new.dtype == nw.String and old == nw.Categorical:
        return new.cast(nw.Categorical)
    if new.dtype == nw.String and isinstance(old, nw.Enum) and new.drop_nulls().is_in(list(old.categories)).all():
        return new.cast(old)
    return new


def with_missing(series: nw.Series[Any], cells: Any) -> nw.Series[Any]:
    """Return a column with some cells made missing, in a type that allows missing values.

    Examples
    --------
    >>> import narwhals as nw, numpy as np, polars as pl
    >>> with_missing(nw.from_native(pl.Series("sex", ["f", "m"]), series_only=True), np.array([True, False])).to_list()
    [None, 'm']
    """
    import narwhals as nw

    native: Any = series.to_native()
    if series.implementation.is_pandas():
        native = native.convert_dtypes() if native.dtype.kind in "iub" else native
        return nw.from_native(native.mask(cells), series_only=True)
    if series.implementation.is_pyarrow():
        import pyarrow as pa
        import pyarrow.compute as pc

        view = pa.types.is_string_view(native.type)  # pyarrow cannot select among views
        plain = native.cast(pa.large_string()) if view else native
        found = pc.if_else(pa.array(cells), pa.scalar(None, plain.type), plain).cast(native.type)
        return nw.from_native(found, series_only=True).alias(series.name)
    import polars as pl

    frame = native.to_frame().select(pl.when(pl.Series(~cells)).then(pl.first()))
    return nw.from_native(frame.to_series(), series_only=True)
