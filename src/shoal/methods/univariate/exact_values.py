"""One column of numbers or dates, checked and in a form that the searches can use without losing a digit.

Integers and dates become whole numbers, everything else floats. Values far from 0 are moved towards it, and values of
extreme size are scaled by a power of two, but only where that is exact, so that the search sees the true differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError, ParameterError

EXACT = 2**53  # whole numbers below this are floats without rounding
EXTREME = 300  # binary exponents beyond this may overflow when squared and summed


def numbers(values: ArrayLike, name: str = "values") -> NDArray[Any]:
    """Return a column as contiguous float64 or int64; refuse holes, infinities and what is not a number or a date.

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
        _refuse_holes(missing, column.size, name)
        return np.ascontiguousarray(column).view(np.int64)
    if kind not in "biuf":
        raise DataError(f"{name} must be numbers or dates, not {column.dtype}")
    if kind == "u" and column.size and int(column.max()) >= 2**63:  # only differences matter
        moved = column - column.min()
        column = moved if int(moved.max()) < 2**63 else column.astype(np.float64)
        kind = column.dtype.kind
    if kind != "f":
        return np.ascontiguousarray(column, np.int64)
    column = np.ascontiguousarray(column, np.float64)
    if column.size and not (np.isfinite(column.min()) and np.isfinite(column.max())):
        _refuse_holes(int((~np.isfinite(column)).sum()), column.size, name)
    return column


def _from_objects(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Turn Python numbers, dates and missing marks into an array of numbers."""
    missing = sum(value is None or value != value or str(value) in {"<NA>", "NaT"} for value in column)  # noqa: PLR0124 - NaN
    _refuse_holes(missing, column.size, name)
    try:
        if column.size and isinstance(column[0], date | timedelta):
            return column.astype("M8[us]" if isinstance(column[0], date) else "m8[us]")
        exact = all(isinstance(value, int | np.integer) for value in column)
        return column.astype(np.int64 if exact else np.float64)
    except (TypeError, ValueError, OverflowError):
        kinds = sorted({type(value).__name__ for value in column})
        raise DataError(f"{name} must be numbers or dates, not {', '.join(kinds[:3])}") from None


def _refuse_holes(missing: int, n: int, name: str) -> None:
    if missing:
        raise DataError(
            f"{missing} of {n} {name} {'is' if missing == 1 else 'are'} missing or infinite; "
            "remove or fill in these records"
        )


@dataclass(frozen=True)
class Prepared:
    """Sorted values as the searches want them, and the power of two that they were multiplied with."""

    values: NDArray[Any]
    exponent: int = 0

    @property
    def floats(self) -> NDArray[np.float64]:
        """The values as floats; whole numbers that are too large are rounded."""
        return self.values.astype(np.float64, copy=False)


def prepare(ordered: NDArray[Any], *, whole: bool) -> Prepared:
    """Move and scale sorted values where that is exact.

    ``whole``: the cost rounds to whole numbers, so the values must be whole and are never scaled.
    """
    if ordered.dtype == np.int64:
        span = int(ordered[-1]) - int(ordered[0])
        if span < EXACT:
            return Prepared((ordered - ordered[ordered.size // 2]).astype(np.float64))
        if whole:
            raise ParameterError('cost="rounded-mean" needs whole numbers that differ by less than 2**53')
        return Prepared(ordered - ordered[ordered.size // 2] if span < 2**62 else ordered.astype(np.float64))
    low, high = float(ordered[0]), float(ordered[-1])
    if whole and (abs(low) >= EXACT or abs(high) >= EXACT or (ordered != np.floor(ordered)).any()):
        raise ParameterError('cost="rounded-mean" needs whole numbers below 2**53')
    exponent = int(np.frexp(max(abs(low), abs(high)))[1])
    if high - low > 0 and not -EXTREME < np.frexp(high / 2 - low / 2)[1] < EXTREME and not whole:
        shift = -exponent if exponent > EXTREME else min(-int(np.frexp(high - low)[1]), 900)
        return Prepared(_centred(np.ldexp(ordered, shift)), shift)
    return Prepared(_centred(ordered))


def _centred(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract the middle where all values are so near to it that no difference is rounded (Sterbenz' lemma)."""
    low, high = ordered[0], ordered[-1]
    if (low > 0 and high <= 2 * low) or (high < 0 and low >= 2 * high):
        return np.asarray(ordered - ordered[ordered.size // 2])
    return ordered
