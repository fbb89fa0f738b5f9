"""The clean copy of a pandas DataFrame: new arrays with the visible values and the default index."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PLAIN = {str, bytes, int, float, bool, complex, type(None)}


def clean_pandas(frame: Any) -> Any:
    """Return a DataFrame of the same values that shares no memory with the given one.

    The index becomes the default one, and attributes, flags and the class of the frame are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [34, 51]}, index=["Ann", "Bob"])
    >>> clean_pandas(people).index
    RangeIndex(start=0, stop=2, step=1)
    """
    import pandas as pd

    columns = {name: _clean(frame[name].array) for name in frame.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)), copy=False)


def _clean(array: Any) -> Any:
    """Return an array of pandas with new memory; the values under missing cells become zero."""
    import pandas as pd

    dtype = array.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _clean_categories(array)
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "python":
        return type(array)(_clean_numpy(np.asarray(array, object)), dtype=dtype)
    if isinstance(dtype, pd.ArrowDtype | pd.StringDtype):
        from shoal.tables.clean_copy import clean_chunks

        return dtype.__from_arrow__(clean_chunks(array.__arrow_array__()))
    if isinstance(array, pd.arrays.NumpyExtensionArray):
        return pd.Series(_clean_numpy(array.to_numpy()), dtype=array.to_numpy().dtype, copy=False)
    if isinstance(array, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        missing = np.array(array.isna())
        zero = dtype.numpy_dtype.type(0)
        return type(array)(array.to_numpy(dtype.numpy_dtype, copy=True, na_value=zero), missing)
    if isinstance(array, pd.arrays.DatetimeArray | pd.arrays.TimedeltaArray | pd.arrays.PeriodArray):
        return array.copy()
    return pd.array(list(array), dtype=dtype)


def _clean_categories(array: Any) -> Any:
    import pandas as pd

    occurs = np.bincount(array.codes.astype(np.int64) + 1, minlength=len(array.categories) + 1)[1:] > 0
    used = np.flatnonzero(occurs)
    codes = np.append(np.cumsum(occurs) - 1, -1)[array.codes]  # the code of a missing value is -1, the last one
    known = _clean(pd.Series(array.categories).array.take(used))
    return pd.Categorical.from_codes(codes, dtype=pd.CategoricalDtype(pd.Index(known), ordered=array.ordered))


def _clean_numpy(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype != object:
        return values.copy()
    if set(map(type, values)) <= _PLAIN:
        return values.copy()
    clean = np.empty(values.size, object)
    for row, value in enumerate(values):
        clean[row] = value if type(value) in _PLAIN else copy.deepcopy(value)
    return clean
