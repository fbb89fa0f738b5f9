"""A sample of whole equivalence classes of a release in Parquet files, with the same rows of its original.

Measures that compare a release with its original (attacks, utility, distributions) take time and memory for every row.
For a large table they are measured on a sample of bounded size: all rows of the classes whose hash is below a
threshold. Classes in the sample are complete, so their sizes and the values in them are those of the release. Nothing
outside the sample takes part: an intruder then compares with fewer records, which makes linkage easier than it is, and
records of the original look rarer than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.engines.recount_parts import class_hashes
from shoal.errors import DataError
from shoal.tables import Table
from shoal.tables.parquet_parts import ParquetParts

SAMPLE_RECORDS = 100_000
"""The fewest records of a sample of a larger table; at most twice as many are held."""
ATTEMPTS = 4
"""How many hashes are tried where very large classes leave no sample of moderate size."""
SEED = 0x5A3B1E


@dataclass(frozen=True, eq=False)
class ClassSample:
    """All rows of some equivalence classes of a release.

    Parameters
    ----------
    table
        The rows, a pyarrow Table.
    rows
        The number of each row in the whole release.
    records
        The number of rows of the whole release.
    """

    table: Any
    rows: NDArray[np.int64]
    records: int

    @property
    def note(self) -> str:
        """What a reader has to know about figures of the sample."""
        return (
            f"Measured on a sample of {self.rows.size:,} of {self.records:,} records: all records of equivalence "
            "classes that a hash selects. An intruder is compared with the records of the sample only, so linkage and "
            "the risk before protection appear higher than they are."
        )


def sample_classes(
    source: ParquetParts, names: Sequence[str], *, records: int = SAMPLE_RECORDS, progress: Progress = SILENT
) -> ClassSample:
    """Return all rows of some equivalence classes; memory holds at most twice the given number of records.

    Parameters
    ----------
    source
        The release.
    names
        The columns whose values make the classes.
    records
        The fewest records, where the table has so many in classes of moderate size.
    progress
        Progress callback.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from shoal.tables.parquet_parts import open_parts
    >>> with TemporaryDirectory() as folder:
    ...     parquet.write_table(pa.table({"age": np.arange(90) // 3}), Path(folder, "people.parquet"))
    ...     found = sample_classes(open_parts(Path(folder)), ["age"], records=30)
    >>> set(np.bincount(found.table["age"]).tolist()), 0 < found.rows.size <= 60
    ({0, 3}, True)
    """
    best = None
    for attempt in range(ATTEMPTS):  # a class of very many rows with a low hash leaves room for few others
        progress.stage("drawing a sample of equivalence classes", source.n_rows)
        found = _drawn(source, names, records, SEED + attempt, progress)
        if best is None or found.rows.size > best.rows.size:
            best = found
        if best.rows.size >= min(records, source.n_rows):
            break
    assert best is not None
    check_sample(best.rows.size, records)
    return best


def check_sample(size: int, records: int) -> None:
    """Raise where no class is small enough for a sample."""
    if not size:
        raise DataError(
            f"equivalence classes have more than {2 * records:,} records each, so that no sample of them is small "
            "enough to be measured; choose more quasi-identifiers, or measure a stratum of the table"
        )


def _drawn(source: ParquetParts, names: Sequence[str], records: int, seed: int, progress: Progress) -> ClassSample:
    import pyarrow as pa

    limit = 1.0  # halved whenever too many rows are held
    tables: list[Any] = []
    rows: list[NDArray[np.int64]] = []
    hashes: list[NDArray[np.uint64]] = []
    held = 0
    for first, batch in source.batches(source.names):
        found = class_hashes(Table.from_native(batch), names, seed)
        chosen = np.flatnonzero(below(found, limit))
        tables.append(batch.take(pa.array(chosen)))
        rows.append(chosen + first)
        hashes.append(found[chosen])
        held += chosen.size
        while held > 2 * records:
            limit /= 2
            kept = [np.flatnonzero(below(part, limit)) for part in hashes]
            tables = [table.take(pa.array(part)) for table, part in zip(tables, kept, strict=True)]
            rows = [part[chosen] for part, chosen in zip(rows, kept, strict=True)]
            hashes = [part[chosen] for part, chosen in zip(hashes, kept, strict=True)]
            held = sum(part.size for part in rows)
        progress.advance(batch.num_rows)
    return ClassSample(pa.concat_tables(tables).combine_chunks(), np.concatenate(rows), source.n_rows)


def below(hashes: NDArray[np.uint64], limit: float) -> NDArray[np.bool_]:
    """Return which hashes are in this lower part of their range."""
    return hashes < np.uint64(int(limit * 2.0**64)) if limit < 1 else np.ones(hashes.size, bool)


def rows_of(
    source: ParquetParts, rows: NDArray[np.int64], names: Sequence[str], *, progress: Progress = SILENT
) -> Table:
    """Return the rows with these numbers (in ascending order) of Parquet files, which are read in parts."""
    import pyarrow as pa

    progress.stage("reading the same rows of the original", source.n_rows)
    found = []
    for first, batch in source.batches(names):
        start, stop = np.searchsorted(rows, [first, first + batch.num_rows])
        found.append(batch.take(pa.array(rows[start:stop] - first)))
        progress.advance(batch.num_rows)
    return Table.from_native(pa.concat_tables(found).combine_chunks())
