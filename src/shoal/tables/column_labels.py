"""Metadata of the columns of SPSS, Stata and SAS files.

Variable labels, value labels, formats, measurement levels and declared missing values are stored from reading to
writing. A declared missing value ("-9 refused" in SPSS, ".a" in Stata) is a missing value in the table. Its code is
stored here and written back, unless the column was replaced in between: different codes would then distinguish the
records of a group. The label of the file, its notes and the name of its table are not read, because they are about
the original and would be written into the release unseen; ``left_out`` names what there was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True)
class Labels:
    """Labels, formats and other metadata of columns, by name of the column.

    Examples
    --------
    >>> Labels(variable={"sex": "Sex at birth"}).without(["sex"]).variable
    {}
    """

    variable: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[Any, str]] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    missing_ranges: dict[str, list[Any]] = field(default_factory=dict)
    missing_codes: dict[str, tuple[NDArray[np.int64], list[Any]]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    family: str = ""

    def without(self, names: Iterable[str]) -> Labels:
        """Return the metadata without some columns."""
        dropped = set(names)

        def others(metadata: dict[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in metadata.items() if name not in dropped}

        return replace(
            self,
            variable=others(self.variable),
            values=others(self.values),
            formats=others(self.formats),
            measures=others(self.measures),
            widths=others(self.widths),
            missing_ranges=others(self.missing_ranges),
            missing_codes=others(self.missing_codes),
        )

    def after_replacing(self, names: Iterable[str]) -> Labels:
        """Return the metadata of a table in which some columns were replaced.

        Codes of declared missing values go, and the widths of texts, which show how long the longest original one was.
        """
        replaced = set(names)

        def others(metadata: dict[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in metadata.items() if name not in replaced}

        formats = {
            name: kind for name, kind in self.formats.items() if name not in replaced or not is_text_format(kind)
        }
        return replace(self, missing_codes=others(self.missing_codes), widths=others(self.widths), formats=formats)

    def in_order(self, rows: NDArray[np.int64]) -> Labels:
        """Return the metadata of a table with its rows in another order, each at most once.

        Examples
        --------
        >>> Labels(missing_codes={"wage": (np.array([0, 2]), ["a", "b"])}).in_order(np.array([2, 1])).missing_codes
        {'wage': (array([0]), ['b'])}
        """
        if not self.missing_codes:
            return self
        place = {int(row): position for position, row in enumerate(np.asarray(rows).tolist())}
        moved: dict[str, tuple[NDArray[np.int64], list[Any]]] = {}
        for name, (old, codes) in self.missing_codes.items():
            pairs = sorted(
                ((place[int(row)], code) for row, code in zip(old, codes, strict=True) if int(row) in place),
                key=lambda pair: pair[0],
            )
            if pairs:
                moved[name] = np.array([position for position, _ in pairs]), [code for _, code in pairs]
        return replace(self, missing_codes=moved)

    def reduced(self, frame: nw.DataFrame[Any]) -> Labels:
        """Return the metadata with labels and declared missing values of those values only that occur in the frame.

        Examples
        --------
        >>> import narwhals as nw, polars as pl
        >>> frame = nw.from_native(pl.DataFrame({"sex": [1, 1]}), eager_only=True)
        >>> Labels(values={"sex": {1: "male", 2: "female"}}).reduced(frame).values
        {'sex': {1: 'male'}}
        """
        values, ranges = {}, {}
        for name, labels in self.values.items():
            present = set(frame.get_column(name).unique().to_list()) | set(self._codes(name))
            values[name] = {value: label for value, label in labels.items() if value in present}
        for name, declared in self.missing_ranges.items():
            inside = [[code for code in self._codes(name) if part["lo"] <= code <= part["hi"]] for part in declared]
            ranges[name] = [{"lo": min(codes), "hi": max(codes)} for codes in inside if codes]
        return replace(
            self,
            values={name: labels for name, labels in values.items() if labels},
            missing_ranges={name: parts for name, parts in ranges.items() if parts},
        )

    def _codes(self, name: str) -> list[Any]:
        """Return the codes of declared missing values that cells of a column have."""
        return self.missing_codes[name][1] if name in self.missing_codes else []


def is_text_format(kind: str) -> bool:
    """Return whether a format of SPSS, Stata or SAS is one of texts.

    Examples
    --------
    >>> [is_text_format(kind) for kind in ("A17", "%17s", "$17", "F8.2", "%9.0g")]
    [True, True, True, False, False]
    """
    return kind[0] in "A$" or kind.endswith("s")
