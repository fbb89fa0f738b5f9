"""Metadata of the columns of SPSS, Stata and SAS files.

Variable labels, value labels, formats, measurement levels and declared missing values are stored from reading to
writing. A declared missing value ("-9 refused" in SPSS, ".a" in Stata) is a missing value in the table. Its code is
stored here and written back, unless the column was replaced in between: different codes would then distinguish the
records of a group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
    file_label: str = ""
    notes: list[str] = field(default_factory=list)
    table_name: str | None = None
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

    def without_missing_codes(self, names: Iterable[str]) -> Labels:
        """Return the metadata without the codes of declared missing values of some columns."""
        replaced = set(names)
        codes = {name: value for name, value in self.missing_codes.items() if name not in replaced}
        return replace(self, missing_codes=codes)
