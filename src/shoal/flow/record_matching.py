"""Records of an earlier release found again in a new table, by the keyed hashes of the holder's record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.flow.holder_record import HolderRecord, Words, record_hashes
from shoal.flow.prepare import Integers
from shoal.tables import Table


@dataclass(frozen=True, eq=False)
class Matched:
    """Which record of an earlier release each record of a table is.

    Parameters
    ----------
    earlier
        The row of the record in the original of the earlier release, -1 for a new record.
    changed
        Whether a record was found again with other quasi-identifiers, strata or sampling weight.
    deleted
        How many records of the earlier release are not in the table.
    """

    earlier: Integers
    changed: NDArray[np.bool_]
    deleted: int


def match_records(record: HolderRecord, table: Table) -> Matched:
    """Find the records of an earlier release in a table.

    Equal records are matched one to one: first those that are equal in all columns, then those with the same identity
    and values, then those with the same identity. O(n log n).

    Parameters
    ----------
    record
        The holder's record of the earlier release.
    table
        The new table.
    """
    hashed = {name: list(map(str, names)) for name, names in record.header["hashed"].items()}
    known = set(table.names)
    for name, columns in hashed.items():
        lacking = [column for column in columns if column not in known]
        if lacking and name != "content":
            raise SchemaError(
                f'column "{lacking[0]}" is not in the table, but the records of the earlier release are found again by '
                "it; add it, or protect the table without previous="
            )
    usable = {name: columns for name, columns in hashed.items() if known.issuperset(columns)}
    now = {name: record_hashes(table, columns, record.key) for name, columns in usable.items()}
    before = {name: record.rows[name].to_numpy() for name in usable}
    levels = [("identity", "values", "content"), ("identity", "content"), ("identity", "values"), ("identity",)]
    if "values" not in usable:
        levels = levels[1::2]
    earlier = np.full(table.n_rows, -1, np.int64)
    free = np.ones(record.rows.height, bool)
    for level in levels:
        names = [name for name in level if name in usable]
        if len(names) == len(level):
            new, old = _paired(now, before, names, np.flatnonzero(earlier < 0), np.flatnonzero(free))
            earlier[new], free[old] = old, False
    changed = np.zeros(table.n_rows, bool)
    if "values" in usable:
        found = earlier >= 0
        changed[found] = now["values"][found] != before["values"][earlier[found]]
    return Matched(earlier, changed, int(free.sum()))


def _paired(
    now: Mapping[str, Words], before: Mapping[str, Words], names: Sequence[str], new: Integers, old: Integers
) -> tuple[Integers, Integers]:
    """Return pairs of rows with equal hashes; of several equal ones the first with the first, and so on."""
    frames = [
        pl.DataFrame({"row": rows, **{name: hashes[name][rows] for name in names}}).with_columns(
            pl.int_range(pl.len()).over(names).alias("occurrence")
        )
        for hashes, rows in ((now, new), (before, old))
    ]
    found = frames[0].join(frames[1], on=[*names, "occurrence"], how="inner", suffix="_before")
    return found["row"].to_numpy(), found["row_before"].to_numpy()
