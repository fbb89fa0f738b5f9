"""How much memory a protection takes at its peak, estimated from the prepared table before anything large is made.

Two moments compete for the peak. While records are grouped, the table, the array that the method reads and the work
arrays of the method are held. When the release is finished, the table, the recoded columns, their clean copy and what
counts and writes it are held. Each is a sum of bytes for each byte of the table, for each coordinate and for each
record; ``benchmarks/memory.py`` compares the estimate with the measured peak.
"""

from __future__ import annotations

from dataclasses import dataclass

import narwhals as nw
import numpy as np

from shoal.core.memory import check_fits
from shoal.flow.encoding import CategoryEncoding, ColumnEncoding
from shoal.flow.group import method_for
from shoal.flow.prepare import Prepared
from shoal.methods.effort import MIDDLE_RECORDS
from shoal.methods.mixed_effort import mixed_work
from shoal.methods.registry import MethodInfo
from shoal.schema.columns import Recode
from shoal.schema.plan import Plan
from shoal.tables import Table

LIBRARY_BYTES = 20_000_000
"""Buffers of the libraries that read and write tables."""
READ_TABLE = 1.3
"""Bytes held for each byte of a table that was read: some of its text, and what the reader keeps."""
SEARCHED_PART = 0.2
"""Bytes for each byte of coordinates: the records of the costliest groups, which are searched once more."""
BLOCK_RECORDS = 50_000
"""Records that methods in blocks hold work arrays for at the same time, and"""
BLOCK_ARRAYS = 3.0
"""the bytes of these arrays for each byte of coordinates of such a block."""
INDEX_ARRAYS = 4.9
"""Bytes of the work arrays of methods that arrange all coordinates in an index, for each byte of coordinates."""
INDEXED = frozenset({"mdav", "mdav-plus", "mdav-star", "ona", "ona-star", "ona-star-plus", "v-mdav"})
GROUPING_RECORD = 100
"""Bytes for each record while records are grouped: labels, order, and values of the column that is encoded."""
RELEASED_TABLE = 3.45
"""Bytes held for each byte of the table at the end: the table, recoded columns, their clean copy, and the writer's."""
RELEASED_RECORD = 80
"""Bytes for each record at the end: groups, classes of the recount, and values of the column that is recoded."""
TEXT_VIEW = 16
"""Bytes of each text of a polars column beside its characters, which alone polars counts."""
REQUIREMENTS_RECORD = 250
"""Further bytes for each record where requirements beyond k are satisfied and assessed."""
MIXED_BLOCKS, MIXED_CELL = 40_000_000, 24
"""Coordinates of the blocks that ``mixed-blocks`` groups at the same time: so many bytes, or so many for each cell."""
CATEGORY_BLOCKS = 8.0
"""Bytes of the work arrays where all columns are nominal, for each byte of the coordinates of a block."""


@dataclass(frozen=True)
class NeededMemory:
    """The bytes that a protection holds.

    Parameters
    ----------
    table
        The table that was read.
    grouping
        At the peak of grouping, the table included.
    release
        At the end, when the release is counted and written, the table included.
    """

    table: int
    grouping: int
    release: int

    @property
    def peak(self) -> int:
        """The most bytes that are held at the same time."""
        return max(self.grouping, self.release)


def needed_memory(prepared: Prepared, plan: Plan) -> NeededMemory:
    """Estimate the memory of a protection.

    Parameters
    ----------
    prepared
        The table.
    plan
        What is done to it.

    Examples
    --------
    >>> import polars as pl
    >>> import shoal
    >>> people = pl.DataFrame({"age": range(100_000), "income": range(100_000)})
    >>> table, schema = shoal.load_table(people, quasi=["age", "income"])
    >>> plan = shoal.Plan(schema, shoal.Requirements(k=5), shoal.MethodCall("auto"))
    >>> prepared = shoal.prepare(table, shoal.fit_encoding(table, schema))
    >>> needed_memory(prepared, plan).peak < 10 * 100_000 * 2 * 8 + 30_000_000
    True
    """
    n, table = prepared.n, table_bytes(prepared.table)
    info = method_for(prepared, plan.method)
    array, work = _method_bytes(prepared, plan, info)
    beyond = REQUIREMENTS_RECORD * n if plan.requirements.beyond_k else 0
    grouping = LIBRARY_BYTES + READ_TABLE * table + array + work + GROUPING_RECORD * n + beyond
    cells = sum(_released_bytes(entry, n, plan.requirements.k) for entry in prepared.encoding.quasi)
    release = LIBRARY_BYTES + RELEASED_TABLE * table + RELEASED_RECORD * n + cells + beyond
    if info.data == "mixed" and prepared.many_categories:
        release += _mixed_blocks(prepared)
    if any(entry.column.default_recode == Recode.MEDOID for entry in prepared.encoding.quasi):
        release += array
    return NeededMemory(table, int(grouping), int(release))


def table_bytes(table: Table) -> int:
    """Return the bytes of a table in memory.

    Examples
    --------
    >>> import polars as pl
    >>> table_bytes(Table.from_native(pl.DataFrame({"age": [30, 40], "city": ["Rome", "Oslo"]})))
    56
    """
    counted = int(table.frame.estimated_size())
    if not table.frame.implementation.is_polars():
        return counted
    return counted + TEXT_VIEW * table.n_rows * sum(dtype == nw.String for dtype in table.frame.schema.values())


def check_needed_memory(prepared: Prepared, plan: Plan) -> None:
    """Raise DataError, before any coordinates are made, where a protection takes more memory than is free."""
    needed = needed_memory(prepared, plan)
    check_fits(needed.peak, prepared.n, len(prepared.encoding.quasi), present=needed.table)


def _method_bytes(prepared: Prepared, plan: Plan, info: MethodInfo) -> tuple[float, float]:
    """Return the bytes of the array that the method reads, and of what it makes beside it."""
    n, columns = prepared.n, len(prepared.encoding.quasi)
    share = 1.0 if prepared.strata is None else float(np.bincount(prepared.strata).max()) / n
    if info.data == "codes":
        searched = min(n, BLOCK_RECORDS) * prepared.encoding.width if info.name == "auto" else 0
        return 4.0 * n * columns, 4.0 * n * columns + CATEGORY_BLOCKS * 8.0 * searched
    if info.data == "mixed":
        width = prepared.encoding.width
        effort = plan.method.options.get("effort", "balanced")
        if prepared.many_categories or mixed_work(n, width, effort)["start"] == "mixed-blocks":
            return 8.0 * n * columns, 16.0 * n * columns + _mixed_blocks(prepared)
        return 8.0 * n * columns, 16.0 * n * columns + INDEX_ARRAYS * 8.0 * n * width
    size = 4 if plan.method.options.get("storage") == "float32" else 8
    points = float(size * n * max(prepared.encoding.width, 1))
    copied = 0.0 if prepared.strata is None else share
    block = min(share, BLOCK_RECORDS / n)
    work = INDEX_ARRAYS * share if _indexed(n, plan, info) else SEARCHED_PART * share + BLOCK_ARRAYS * block
    return points, points * (copied + work)


def _mixed_blocks(prepared: Prepared) -> float:
    """Return the bytes of the blocks that are grouped at the same time."""
    return float(min(MIXED_BLOCKS, MIXED_CELL * prepared.n * len(prepared.encoding.quasi)))


def _indexed(n: int, plan: Plan, info: MethodInfo) -> bool:
    """Return whether a method arranges all coordinates in an index; searches do if their start is ``ona-star``."""
    if info.name == "auto":
        return n <= MIDDLE_RECORDS and plan.method.options.get("effort", "balanced") != "fast"
    if info.name == "annealing":
        return plan.method.options.get("start", "ona-star") == "ona-star"
    return info.name in INDEXED


def _released_bytes(entry: ColumnEncoding, n: int, k: int) -> float:
    """Return the bytes by which released sets of categories are longer than the categories."""
    if not isinstance(entry, CategoryEncoding) or entry.column.default_recode != Recode.SET:
        return 0.0
    length = sum(map(len, entry.labels)) / max(len(entry.labels), 1)
    listed = 1 + 0.6 * min(k, len(entry.labels))
    return n * (RELEASED_TABLE - 1) * (length + 2) * listed
