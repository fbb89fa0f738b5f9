"""One column of numbers or dates, checked and converted without rounding.

Integers and dates become int64, all other numbers float64. Values far from 0 are shifted towards it, and values of
extreme size are scaled by a power of two, but only where that is exact, so that the searches read the exact
differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError

EXACT_INTEGERS = 2**53  # integers below this are floats without rounding
EXTREME_EXPONENT = 300  # larger binary exponents may overflow when squared and summed


def numbers(values: ArrayLike, name: str = "values") -> NDArray[Any]:
    """Return a column as contiguous float64 or int64; raise DataError for missing, infinite and other values.

    Examples
    --------
    >>> numbers(["2020-01-01", "2020-01-03"])
    Traceback (most recent call last):
        ...
    shoal.errors.DataError: values must be numbers or dates, not <U10
    >>> numbers(np.array(["2020-01-01", "2020-01-03"], "datetime64[D]"))
    array([18262, 18264])
    """
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise DataError(f"{name} must be one column, not an array of {column.ndim} dimensions")
    if column.dtype == object:
        column = _from_objects(column, name)
    kind = column.dtype.kind
    if kind in "mM":
        missing = int(np.isnat(column).sum())
        _check_missing(missing, column.size, name)
        return np.ascontiguousarray(column).view(np.int64)
    if kind not in "biuf":
        raise DataError(f"{name} must be numbers or dates, not {column.dtype}")
    if kind == "u" and column.size and int(column.max()) >= 2**63:  # the groups depend on differences only
        moved = column - column.min()
        column = moved if int(moved.max()) < 2**63 else column.astype(np.float64)
        kind = column.dtype.kind
    if kind != "f":
        return np.ascontiguousarray(column, np.int64)
    column = np.ascontiguousarray(column, np.float64)
    if column.size and not (np.isfinite(column.min()) and np.isfinite(column.max())):
        _check_missing(int((~np.isfinite(column)).sum()), column.size, name)
    return column


def _from_objects(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return Python numbers or dates as an array of numbers; raise DataError for missing values."""
    missing = sum(value is None or value != value or str(value) in {"<NA>", "NaT"} for value in column)  # noqa: PLR0124 - NaN
    _check_missing(missing, column.size, name)
    try:
        if column.size and isinstance(column[0], date | timedelta):
            return column.astype("M8[us]" if isinstance(column[0], date) else "m8[us]")
        exact = all(isinstance(value, int | np.integer) for value in column)
        return column.astype(np.int64 if exact else np.float64)
    except (TypeError, ValueError, OverflowError):
        kinds = sorted({type(value).__name__ for value in column})
        raise DataError(f"{name} must be numbers or dates, not {', '.join(kinds[:3])}") from None


def _check_missing(missing: int, n: int, name: str) -> None:
    if missing:
        raise DataError(
            f"{missing} of {n} {name} {'is' if missing == 1 else 'are'} missing or infinite; "
            "remove or fill in these records"
        )


@dataclass(frozen=True)
class PreparedColumn:
    """Sorted values as the searches read them, and the power of two by which they were multiplied."""

    values: NDArray[Any]
    exponent: int = 0

    @property
    def floats(self) -> NDArray[np.float64]:
        """The values as floats; integers that are too large are rounded."""
        return self.values.astype(np.float64, copy=False)


def prepare(ordered: NDArray[Any], *, integer: bool) -> PreparedColumn:
    """Shift and scale sorted values where that is exact.

    ``integer``: the cost rounds to integers, so the values must be integers and are never scaled.
    """
    if ordered.dtype == np.int64:
        span = int(ordered[-1]) - int(ordered[0])
        if span < EXACT_INTEGERS:
            return PreparedColumn((ordered - ordered[ordered.size // 2]).astype(np.float64))
        if integer:
            raise ParameterError('cost="rounded-mean" needs integers that differ by less than 2**53')
        return PreparedColumn(ordered - ordered[ordered.size // 2] if span < 2**62 else ordered.astype(np.float64))
    low, high = float(ordered[0]), float(ordered[-1])
    if integer and (max(abs(low), abs(high)) >= EXACT_INTEGERS or (ordered != np.floor(ordered)).any()):
        raise ParameterError('cost="rounded-mean" needs integers below 2**53; choose cost="sse" for other numbers')
    exponent = int(np.frexp(max(abs(low), abs(high)))[1])
    if high - low > 0 and not -EXTREME_EXPONENT < np.frexp(high / 2 - low / 2)[1] < EXTREME_EXPONENT and not integer:
        shift = -exponent if exponent > EXTREME_EXPONENT else min(-int(np.frexp(high - low)[1]), 900)
        return PreparedColumn(_centred(np.ldexp(ordered, shift)), shift)
    return PreparedColumn(_centred(ordered))


def _centred(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract the middle value if all values are so close to it that no difference is rounded (Sterbenz' lemma)."""
    low, high = ordered[0], ordered[-1]
    if (low > 0 and high <= 2 * low) or (high < 0 and low >= 2 * high):
        return np.asarray(ordered - ordered[ordered.size // 2])
    return ordered
