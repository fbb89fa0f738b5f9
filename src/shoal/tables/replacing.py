"""Replacement of columns of a DataFrame, by position of the record.

narwhals aligns pandas columns by index and rebuilds the fields of pyarrow tables; here a shuffled or repeated index and
the metadata of a field are preserved. New columns are stored in the type of the old ones where this loses nothing. A
category that no longer occurs is removed from the list of categories, because the list would reveal that it occurred.
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
    import pandas as pd

    native = native.copy(deep=False)
    for name, column in columns.items():
        new, old = column.to_native(), native[name].dtype
        if new.dtype != old and _fits_in_pandas(new, old):
            new = new.astype(old)
        if isinstance(new.dtype, pd.CategoricalDtype):
            lost = set(native[name].dropna()) - set(new.dropna())
            new = new.cat.set_categories([known for known in new.cat.categories if known not in lost])
        native[name] = pd.Series(new.array, index=native.index, name=name)
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

    for name, column in columns.items():
        position = native.schema.get_field_index(name)
        field = native.schema.field(position)
        new = _without_lost_values(native.column(position), _in_type_of(native.column(position), column.to_native()))
        nullable = field.nullable or new.null_count > 0
        native = native.set_column(position, pa.field(name, new.type, nullable, field.metadata), new)
    return native


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


def _without_lost_values(old: Any, new: Any) -> Any:
    """Return a dictionary column without the values that occurred in the old column and no longer occur."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(new.type):
        return new
    plain = new.cast(new.type.value_type)
    used = set(plain.unique().to_pylist())
    lost = set(old.cast(old.type.value_type).unique().to_pylist() if pa.types.is_dictionary(old.type) else []) - used
    unified = new.unify_dictionaries()
    if not lost or not unified.num_chunks:
        return new
    kept = [value for value in unified.chunk(0).dictionary.to_pylist() if value not in lost]
    dictionary = pa.array(kept, new.type.value_type)
    indices = pc.index_in(plain, value_set=dictionary).cast(new.type.index_type)
    arrays = [pa.DictionaryArray.from_arrays(part, dictionary, ordered=new.type.ordered) for part in indices.chunks]
    return pa.chunked_array(arrays, type=new.type)


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

        found = pc.if_else(pa.array(cells), pa.scalar(None, native.type), native)
        return nw.from_native(found, series_only=True).alias(series.name)
    import polars as pl

    frame = native.to_frame().select(pl.when(pl.Series(~cells)).then(pl.first()))
    return nw.from_native(frame.to_series(), series_only=True)
