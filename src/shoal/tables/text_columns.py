"""Columns of a text table that find their type while they are read, block by block.

A column starts as whatever its first values allow (whole number, number, date, date with time, else text) and gives up
a type as soon as a value contradicts it: whole numbers become numbers, everything else becomes text. The decision
rests on the whole column, not on its first rows. Codes with leading zeros and whole numbers too long to be held exactly
stay text. Numbers are stored in one growing array per column: no second copy at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.tables.arrays import as_numpy

Kind = Literal["empty", "whole", "number", "date", "moment", "text"]

_EXACT = 2**53  # the largest whole number up to which a float64 holds them all
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d(:\d\d)?(\.\d{3}|\.\d{6})?(Z?)")
_NEXT: dict[Kind, tuple[Kind, ...]] = {
    "empty": ("whole", "number", "date", "moment"),
    "whole": ("whole", "number"),
    "number": ("number",),
    "date": ("date",),
    "moment": ("moment",),
}


class TextColumn:
    """A column that is read block by block.

    Parameters
    ----------
    name
        Its name in the header.
    verbatim
        Keep every field as it stands, as text.
    decimal
        The decimal sign.
    marks
        Texts that stand for a missing value.
    """

    def __init__(self, name: str, *, verbatim: bool, decimal: str, marks: tuple[str, ...]) -> None:
        self.name = name
        self.kind: Kind = "text" if verbatim else "empty"
        self.lost = False  # text was thrown away before it turned out to be needed
        self.mark: str | None = None
        self.moment: str | None = None
        self._verbatim, self._decimal, self._marks = verbatim, decimal, marks
        self._rows = 0
        self._values: NDArray[Any] = np.empty(0, np.int64)
        self._holes: NDArray[np.bool_] | None = None
        self._texts: list[Any] = []

    def add(self, texts: Any, expected_rows: int) -> None:
        """Take in a block of fields; ``expected_rows`` is a guess of how many the column will have."""
        if self.lost:
            return
        if not self._verbatim:
            texts = self._without_marks(texts)
        if self.kind != "text" and texts.null_count < len(texts):
            for kind in _NEXT[self.kind]:
                parsed = self._parsers()[kind](texts)
                if parsed is not None and self._become(kind):
                    self._append(parsed, expected_rows)
                    return
            self._become_text()
        if self.kind == "text":
            self._texts.append(texts)
        elif self.kind != "empty":
            self._append(texts, expected_rows)
        self._rows += len(texts) if self.kind in {"text", "empty"} else 0

    def finish(self) -> Any:
        """Return the column as a polars Series and give its memory away."""
        import polars as pl
        import pyarrow as pa

        if self.kind in {"text", "empty"}:
            texts = pa.chunked_array(self._texts or [pa.nulls(self._rows, pa.string())], type=pa.string())
            self._texts = []
            return pl.Series(self.name, pl.from_arrow(texts), dtype=pl.String)
        kind = {"whole": pa.int64(), "number": pa.float64(), "date": pa.date32(), "moment": pa.timestamp("us")}
        holes = self._holes
        bitmap = None if holes is None else pa.py_buffer(np.packbits(~holes[: self._rows], bitorder="little"))
        buffers = [bitmap, pa.py_buffer(self._values)]
        series = pl.Series(self.name, pl.from_arrow(pa.Array.from_buffers(kind[self.kind], self._rows, buffers)))
        self._values, self._holes = np.empty(0), None
        if self.moment is not None and self.moment.endswith("Z"):
            series = series.dt.replace_time_zone("UTC")
        return series

    def _parsers(self) -> dict[Kind, Callable[[Any], Any]]:
        return {"whole": _whole, "number": self._number, "date": _date, "moment": self._moment}

    def _without_marks(self, texts: Any) -> Any:
        """Return the block with empty fields, also quoted ones, and marks as missing."""
        import polars as pl

        if not self._marks and int((np.diff(_offsets(texts)) == 0).sum()) == texts.null_count:
            return texts
        series = pl.Series(pl.from_arrow(texts))
        missing = series.str.len_bytes() == 0
        if self._marks:
            marked = series.str.strip_chars().is_in(self._marks)
            if self.mark is None and marked.any():
                self.mark = series.filter(marked)[0]
            missing |= marked
        return _as_arrow(series.zip_with(~missing, pl.Series([None], dtype=pl.String))) if missing.any() else texts

    def _become(self, kind: Kind) -> bool:
        """Change the type; False if what was read before does not allow it."""
        if self.kind == kind:
            return True
        if self.kind == "empty":
            self._values = np.zeros(
                self._rows, np.int32 if kind == "date" else np.int64 if kind != "number" else np.float64
            )
            self._holes = np.ones(self._rows, np.bool_) if self._rows else None
        else:  # whole -> number
            past = self._values[: self._rows]
            if past.size and max(int(past.max()), -int(past.min())) > _EXACT:
                return False
            self._values = past.astype(np.float64)
        self.kind = kind
        return True

    def _become_text(self) -> None:
        import pyarrow as pa

        self.lost = self.kind != "empty"
        if not self.lost and self._rows:
            self._texts = [pa.nulls(self._rows, pa.string())]
        self.kind, self._values, self._holes = "text", np.empty(0), None

    def _append(self, block: Any, expected_rows: int) -> None:
        start, stop = self._rows, self._rows + len(block)
        if stop > self._values.size:
            self._values = _longer(self._values, max(expected_rows, stop + stop // 2), start)
        if block.null_count or self._holes is not None:
            if self._holes is None or stop > self._holes.size:
                self._holes = _longer(self._holes, max(self._values.size, stop), start)
            self._holes[start:stop] = as_numpy(block.is_null())
        if block.null_count == len(block):
            self._values[start:stop] = 0
        else:
            self._values[start:stop] = as_numpy(block)
        self._rows = stop

    def _number(self, texts: Any) -> Any:
        import polars as pl
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._decimal == ",":
            if pc.any(pc.match_substring(texts, ".")).as_py():
                return None
            texts = pc.replace_substring(texts, ",", ".")
        found = _cast(texts, pa.float64())
        if found is None:
            return None
        texts, numbers = found
        if _leading_zero(texts):
            return None
        values = as_numpy(numbers)
        huge = np.abs(values) >= _EXACT
        if (
            huge.any()
            and pc.any(pc.match_substring_regex(texts.filter(pl.Series(huge).to_arrow()), r"^[+-]?[0-9]+$")).as_py()
        ):
            return None
        if np.isnan(values).any():
            self.mark = self.mark or texts.filter(pc.is_nan(numbers))[0].as_py()
            numbers = pl.Series(pl.from_arrow(numbers)).fill_nan(None).to_arrow()
        return numbers

    def _moment(self, texts: Any) -> Any:
        import polars as pl

        if self.moment is None:
            self.moment = moment_format(texts.drop_null()[0].as_py())
        if self.moment is None:
            return None
        series = pl.Series(pl.from_arrow(texts))
        moments = series.str.to_datetime(self.moment, time_unit="us", strict=False)
        if not moments.dt.to_string(self.moment).equals(series, check_names=False):
            self.moment = self.moment if self.kind == "moment" else None
            return None
        return moments.to_arrow().cast("int64")


def moment_format(text: str) -> str | None:
    """Return the format of an ISO date with time.

    Examples
    --------
    >>> moment_format("2024-02-29 12:30:00")
    '%Y-%m-%d %H:%M:%S'
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    seconds, fraction = match[2], match[3]
    if fraction and not seconds:
        return None
    parts = ["%Y-%m-%d", match[1], "%H:%M", ":%S" if seconds else "", f"%.{len(fraction) - 1}f" if fraction else ""]
    return "".join(parts) + match[4]


def _cast(texts: Any, kind: Any) -> tuple[Any, Any] | None:
    """Return the texts, without blanks around them if need be, and their values."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return texts, pc.cast(texts, kind)
    except pa.ArrowInvalid:
        if not pc.any(pc.match_substring_regex(texts, r"^\s|\s$")).as_py():
            return None
    trimmed = _as_arrow(pl.Series(pl.from_arrow(texts)).str.strip_chars().replace("", None))
    try:
        return trimmed, pc.cast(trimmed, kind)
    except pa.ArrowInvalid:
        return None


def _whole(texts: Any) -> Any:
    import pyarrow as pa

    found = _cast(texts, pa.int64())
    return None if found is None or _leading_zero(found[0]) else found[1]


def _date(texts: Any) -> Any:
    import polars as pl

    series = pl.Series(pl.from_arrow(texts))
    dates = series.str.to_date("%Y-%m-%d", strict=False)
    same = dates.dt.to_string("%Y-%m-%d").equals(series, check_names=False)
    return dates.to_arrow().cast("int32") if same else None


def _leading_zero(texts: Any) -> bool:
    """Return whether any text starts like 007, -01 or 0x1f."""
    offsets = _offsets(texts)
    data = np.frombuffer(texts.buffers()[2], np.uint8)
    start, stop = offsets[:-1], offsets[1:]
    last = data.size - 1
    first = data[np.minimum(start, last)]
    start = start + ((first == ord("-")) | (first == ord("+")))
    long = stop - start >= 2
    zero = long & (data[np.minimum(start, last)] == ord("0"))
    if not zero.any():
        return False
    second = data[start[zero] + 1]
    return bool((((second >= ord("0")) & (second <= ord("9"))) | ((second | 32) == ord("x"))).any())


def _as_arrow(series: Any) -> Any:
    """Return texts of polars as those of pyarrow; pyarrow's own constructors would import pandas."""
    return series.to_arrow().cast("string")


def _offsets(texts: Any) -> NDArray[np.int32]:
    """Return where each text starts in the buffer of all, and where the last one ends."""
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _longer(array: NDArray[Any] | None, size: int, used: int) -> NDArray[Any]:
    """Return a longer array with the same beginning; holes that were never written are no holes."""
    if array is None:
        return np.zeros(size, np.bool_)
    longer = np.zeros(size, np.bool_) if array.dtype == np.bool_ else np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer
