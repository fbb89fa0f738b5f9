"""The contribution of each quasi-identifier to the risk; only the released table is needed.

*Distinction* is the number of different values as a share of the records, *separation* the share of pairs of records
that the column alone separates (Motwani and Xu 2007; the terms of ARX). The *contribution* of a column is the decrease
of the average risk when the column is left out. In a microaggregated table, whose columns all follow the same groups,
it is often zero; the value of the column to an intruder then shows in the success of record linkage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from shoal.core.progress import SILENT, Progress
from shoal.privacy.k_anonymity import Classes, count_classes
from shoal.tables import Table


@dataclass(frozen=True)
class Contribution:
    """The contribution of one quasi-identifier to the risk.

    Parameters
    ----------
    distinction
        Different values as a share of the records.
    separation
        The share of pairs of records that differ in this column.
    average_without
        The average risk over records if the column were left out.
    contribution
        The average risk with all columns less that without this one.
    k_without
        The smallest class if the column were left out.
    record_linkage
        The decrease of the success of record linkage if the intruder does not know the column; None without an
        original table.
    """

    distinction: float
    separation: float
    average_without: float
    contribution: float
    k_without: int
    record_linkage: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Return the figures for JSON."""
        return asdict(self)


def contributions(
    table: Table, names: Sequence[str], *, classes: Classes | None = None, progress: Progress = SILENT
) -> dict[str, Contribution]:
    """Return the contribution of each quasi-identifier to the risk of a table. Cost O(d^2 n log n).

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 30, 30, 41]}))
    >>> found = contributions(people, ["sex", "age"])
    >>> found["age"].contribution, found["sex"].contribution, found["age"].distinction, found["age"].separation
    (0.25, 0.25, 0.5, 0.5)
    """
    n = table.n_rows
    average = (classes or count_classes(table, names)).sizes.size / n
    progress.stage("contribution of each column", len(names))
    found = {}
    for name in names:
        alone = count_classes(table, [name]).sizes
        others = [other for other in names if other != name]
        without = count_classes(table, others).sizes if others else np.array([n])
        same = float((alone.astype(np.float64) * (alone - 1)).sum())
        pairs = float(n) * (n - 1)
        found[name] = Contribution(
            distinction=alone.size / n,
            separation=1 - same / pairs if pairs else 0.0,
            average_without=without.size / n,
            contribution=average - without.size / n,
            k_without=int(without.min()),
        )
        progress.advance()
    return found
