"""Types of the columns of a text table, inferred from all values while the file is read block by block.

A column starts with the narrowest type that its first values allow (integer, number, date, date with time, otherwise
text). When a value contradicts the type, integers become numbers and every other type becomes text, so the type depends
on the whole column and not on its first rows. Dates in another common form than 2024-07-03 are read if one format gives
every text back; where day and month may be exchanged (03/07/2024), the column stays text. Codes with leading zeros and
integers that are too long to be stored exactly stay text. Numbers are stored in one growing array per column, without a
second copy at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["empty", "integer", "number", "date", "datetime", "text"]

_LARGEST_EXACT = 2**53  # a float64 represents all integers up to this one
_DATE_FORMS = (
    (r"\d{4}-\d\d-\d\d", ("%Y-%m-%d",)),
    (r"\d{4}/\d\d/\d\d", ("%Y/%m/%d",)),
    (r"\d\d?\.\d\d?\.\d{4}", ("%d.%m.%Y", "%-d.%-m.%Y")),
    (r"\d\d?/\d\d?/\d{4}", ("%d/%m/%Y", "%m/%d/%Y", "%-d/%-m/%Y", "%-m/%-d/%Y")),
    (r"\d\d?-\d\d?-\d{4}", ("%d-%m-%Y", "%m-%d-%Y")),
    (r"\d\d? [A-Z][a-z]{2} \d{4}", ("%d %b %Y", "%-d %b %Y")),
    (r"\d\d?-[A-Z][a-z]{2}-\d{4}", ("%d-%b-%Y", "%-d-%b-%Y")),
)
"""Common forms of dates, with the formats that each may mean; a year of two digits has no certain century."""
_TIME = re.compile(r"(.+?)([T ])\d\d:\d\d(:\d\d)?(\.\d{3}|\.\d{6})?(Z?)")
_NEXT: dict[Kind, tuple[Kind, ...]] = {
    "empty": ("integer", "number", "date", "datetime"),
    "integer": ("integer", "number"),
    "number": ("number",),
    "date": ("date",),
    "datetime": ("datetime",),
}


class TextColumn:
    """A column that is read block by block.

    Parameters
    ----------
    name
        Name in the header.
    verbatim
        Read every field as text without conversion.
    decimal
        Decimal separator.
    na_values
        Texts that mean a missing value.
    """

    def __init__(self, name: str, *, verbatim: bool, decimal: str, na_values: tuple[str, ...]) -> None:
        self.name = name
        self.kind: Kind = "text" if verbatim else "empty"
        self.lost = False  # texts were discarded before the column turned out to be text
        self.na_value: str | None = None
        self.datetime_format: str | None = None
        self._verbatim, self._decimal, self._na_values = verbatim, decimal, na_values
        self._rows = 0
        self._values: NDArray[Any] = np.empty(0, np.int64)
        self._missing: NDArray[np.bool_] | None = None
        self._texts: list[Any] = []

    def add(self, texts: Any, expected_rows: int) -> None:
        """Append a block of fields; ``expected_rows`` is an estimate of the length of the column."""
        if self.lost:
            return
        if not self._verbatim:
            texts = self._without_na_values(texts)
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
        """Return the column as a polars Series, which takes over its memory."""
        import polars as pl
        import pyarrow as pa

        if self.kind in {"text", "empty"}:
            texts = pa.chunked_array(self._texts or [pa.nulls(self._rows, pa.string())], type=pa.string())
            self._texts = []
            return pl.Series(self.name, pl.from_arrow(texts), dtype=pl.String)
        kind = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32(), "datetime": pa.timestamp("us")}
        missing = self._missing
        bitmap = None if missing is None else pa.py_buffer(np.packbits(~missing[: self._rows], bitorder="little"))
        buffers = [bitmap, pa.py_buffer(self._values)]
        series = pl.Series(self.name, pl.from_arrow(pa.Array.from_buffers(kind[self.kind], self._rows, buffers)))
        self._values, self._missing = np.empty(0), None
        if self.datetime_format is not None and self.datetime_format.endswith("Z"):
            series = series.dt.replace_time_zone("UTC")
        return series

    def _parsers(self) -> dict[Kind, Callable[[Any], Any]]:
        return {"integer": _integer, "number": self._number, "date": self._date, "datetime": self._datetime}

    def _without_na_values(self, texts: Any) -> Any:
        """Return the block with empty fields, also quoted ones, and ``na_values`` as missing values."""
        import polars as pl

        if not self._na_values and int((np.diff(_offsets(texts)) == 0).sum()) == texts.null_count:
            return texts
        series = pl.Series(pl.from_arrow(texts))
        missing = series.str.len_bytes() == 0
        if self._na_values:
            marked = series.str.strip_chars().is_in(self._na_values)
            if self.na_value is None and marked.any():
                self.na_value = series.filter(marked)[0]
            missing |= marked
        return _as_arrow(series.zip_with(~missing, pl.Series([None], dtype=pl.String))) if missing.any() else texts

    def _become(self, kind: Kind) -> bool:
        """Change the type; False if the values read before do not allow it."""
        if self.kind == kind:
            return True
        if self.kind == "empty":
            self._values = np.zeros(
                self._rows, np.int32 if kind == "date" else np.int64 if kind != "number" else np.float64
            )
            self._missing = np.ones(self._rows, np.bool_) if self._rows else None
        else:  # integer -> number
            past = self._values[: self._rows]
            if past.size and max(int(past.max()), -int(past.min())) > _LARGEST_EXACT:
                return False
            self._values = past.astype(np.float64)
        self.kind = kind
        return True

    def _become_text(self) -> None:
        import pyarrow as pa

        self.lost = self.kind != "empty"
        if not self.lost and self._rows:
            self._texts = [pa.nulls(self._rows, pa.string())]
        self.kind, self._values, self._missing = "text", np.empty(0), None

    def _append(self, block: Any, expected_rows: int) -> None:
        start, stop = self._rows, self._rows + len(block)
        if stop > self._values.size:
            self._values = _longer(self._values, max(expected_rows, stop + stop // 2), start)
        if block.null_count or self._missing is not None:
            if self._missing is None or stop > self._missing.size:
                self._missing = _longer(self._missing, max(self._values.size, stop), start)
            self._missing[start:stop] = as_numpy(block.is_null())
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
        huge = np.abs(values) >= _LARGEST_EXACT
        if (
            huge.any()
            and pc.any(pc.match_substring_regex(texts.filter(pl.Series(huge).to_arrow()), r"^[+-]?[0-9]+$")).as_py()
        ):
            return None
        if np.isnan(values).any():
            self.na_value = self.na_value or texts.filter(pc.is_nan(numbers))[0].as_py()
            numbers = pl.Series(pl.from_arrow(numbers)).fill_nan(None).to_arrow()
        return numbers

    def _date(self, texts: Any) -> Any:
        found = self._in_time(texts, date_formats, "date")
        return None if found is None else found.dt.date().to_arrow().cast("int32")

    def _datetime(self, texts: Any) -> Any:
        found = self._in_time(texts, datetime_formats, "datetime")
        return None if found is None else found.to_arrow().cast("int64")

    def _in_time(self, texts: Any, formats_of: Callable[[str], tuple[str, ...]], kind: Kind) -> Any:
        """Return dates and times in the one format that gives every text back; None if none or several do."""
        import polars as pl

        series = pl.Series(pl.from_arrow(texts))
        formats = (self.datetime_format,) if self.kind == kind else formats_of(texts.drop_null()[0].as_py())
        found = {}
        for form in formats:
            parsed = series.str.to_datetime(form, time_unit="us", strict=False)
            if parsed.dt.to_string(form).equals(series, check_names=False):
                found[form] = parsed
        meanings = list(found.items())
        if not meanings or any(not parsed.equals(meanings[0][1]) for _, parsed in meanings[1:]):
            return None
        self.datetime_format = meanings[0][0]
        return meanings[0][1]


def typed_series(series: Any, *, decimal: str, na_values: tuple[str, ...]) -> Any:
    """Return a polars Series of texts in the type that all of its values allow: numbers, dates, or text.

    Examples
    --------
    >>> import polars as pl
    >>> typed_series(pl.Series(["1,5", "NA", "2"]), decimal=",", na_values=("NA",)).to_list()
    [1.5, None, 2.0]
    """
    column = TextColumn(series.name, verbatim=False, decimal=decimal, na_values=na_values)
    column.add(_as_arrow(series), len(series))
    return series if column.lost else column.finish()


def date_formats(text: str) -> tuple[str, ...]:
    """Return the formats that a date may be written in; none for other texts.

    Examples
    --------
    >>> date_formats("03.07.2024"), date_formats("3 July")
    (('%d.%m.%Y', '%-d.%-m.%Y'), ())
    """
    return next((formats for pattern, formats in _DATE_FORMS if re.fullmatch(pattern, text)), ())


def datetime_formats(text: str) -> tuple[str, ...]:
    """Return the formats that a date with time may be written in; none for other texts.

    Examples
    --------
    >>> datetime_formats("2024-02-29 12:30:00")
    ('%Y-%m-%d %H:%M:%S',)
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return ()
    seconds, fraction = match[3], match[4]
    if fraction and not seconds:
        return ()
    parts = [match[2], "%H:%M", ":%S" if seconds else "", f"%.{len(fraction) - 1}f" if fraction else ""]
    return tuple(date + "".join(parts) + match[5] for date in date_formats(match[1]))


def _cast(texts: Any, kind: Any) -> tuple[Any, Any] | None:
    """Return the texts, without surrounding blanks if necessary, and their values."""
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


def _integer(texts: Any) -> Any:
    import pyarrow as pa

    found = _cast(texts, pa.int64())
    return None if found is None or _leading_zero(found[0]) else found[1]


def _leading_zero(texts: Any) -> bool:
    """Return whether any text starts like 007, -01 or 0x1f."""
    offsets = _offsets(texts)
    data = np.frombuffer(texts.buffers()[2], np.uint8)
    if not data.size:  # only missing or empty texts
        return False
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
    """Return a polars column of texts as a pyarrow array; pyarrow's own constructors would import pandas."""
    return series.to_arrow().cast("string")


def _offsets(texts: Any) -> NDArray[np.int32]:
    """Return the start of each text in the common buffer, and the end of the last one."""
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _longer(array: NDArray[Any] | None, size: int, used: int) -> NDArray[Any]:
    """Return a longer array with the same beginning; new elements of a mask are False (not missing)."""
    if array is None:
        return np.zeros(size, np.bool_)
    longer = np.zeros(size, np.bool_) if array.dtype == np.bool_ else np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer


def as_numpy(values: Any) -> NDArray[Any]:
    """Return a pyarrow array of numbers or truth values as a NumPy array, with missing values set to zero.

    polars converts it, because pyarrow's own conversion would import pandas where it is installed.

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
