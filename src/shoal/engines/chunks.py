"""Released rows on their way from parts back to their order: chunks of a fixed number of rows.

A chunk is the smallest unit that is written. Which chunk a row belongs to depends on its number, or, where rows are
released in a random order, on a random number that follows from the row number and a key of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import shake_256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engines.leaf_job import ROW
from shoal.engines.profile import followed_column
from shoal.schema.plan import Plan
from shoal.tables import Table

CHUNK_ROWS = 131_072
"""The rows of a chunk of the release, a row group of its files."""
ORDER, OWNER = "__shoal_order", "__shoal_owner"
_DRAWN_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Chunk:
    """Released rows in their final order, and the persons or households that they belong to, if any."""

    table: Any
    owners: Any


def order_draws(key: bytes, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a random number for each of some rows, by whose order they are released; nothing but the key gives it.

    Examples
    --------
    >>> whole = order_draws(bytes(32), np.arange(200_000))
    >>> bool((order_draws(bytes(32), np.array([70_003, 5])) == whole[[70_003, 5]]).all())
    True
    """
    blocks, block = np.unique(rows // _DRAWN_ROWS, return_inverse=True)
    texts = [
        shake_256(key + b"order of rows" + number.to_bytes(8, "big")).digest(8 * _DRAWN_ROWS)
        for number in blocks.tolist()
    ]
    draws = np.frombuffer(b"".join(texts), "<u8")
    return draws[block * _DRAWN_ROWS + rows % _DRAWN_ROWS].astype(np.uint64)


def released_rows(part: Any, table: Any, plan: Plan, records: int) -> tuple[Any, NDArray[np.int64]]:
    """Return the released rows of a part with what their order and the recount need, and the chunk of each row.

    Parameters
    ----------
    part
        The rows of the part as a pyarrow Table, with their numbers.
    table
        What is released of them.
    plan
        What is requested.
    records
        The number of rows of the whole table.
    """
    table = table.append_column(ROW, part.column(ROW))
    followed = followed_column(plan)
    if followed is not None:
        table = table.append_column(OWNER, part.column(followed))
    if not plan.schema.random_order:
        return table, part.column(ROW).to_numpy() // CHUNK_ROWS
    draws, chunks = part.column(ORDER).to_numpy(), -(-records // CHUNK_ROWS)
    keys = np.minimum((draws >> np.uint64(11)) * (2.0**-53) * chunks, chunks - 1).astype(np.int64)
    return table.append_column(ORDER, part.column(ORDER)), keys


def ordered_chunk(table: Any) -> Chunk:
    """Return the rows of a chunk in their final order, without what only the order needed."""
    from shoal.tables.clean_copy import clean_copy

    by = [(ORDER, "ascending"), (ROW, "ascending")] if ORDER in table.column_names else [(ROW, "ascending")]
    table = table.sort_by(by)
    owners = table.column(OWNER) if OWNER in table.column_names else None
    shown = table.select([name for name in table.column_names if name not in {ROW, ORDER, OWNER}])
    return Chunk(clean_copy(Table.from_native(shown)).native, owners)
