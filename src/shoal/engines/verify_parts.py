"""The count of k on Parquet files that memory does not hold: bucket after bucket, like the recount of a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from shoal.core.progress import SILENT, Progress
from shoal.engines.recount_parts import BUCKET_ROWS, CountedClasses, bucket_numbers
from shoal.engines.spill import Spill
from shoal.errors import UnknownColumn
from shoal.privacy.k_anonymity import count_classes, require_k
from shoal.tables import Table
from shoal.tables.parquet_parts import ParquetParts


def verify_parts(
    source: ParquetParts, names: Sequence[str], k: int, *, bucket_rows: int = BUCKET_ROWS, progress: Progress = SILENT
) -> CountedClasses:
    """Count the equivalence classes of Parquet files; raises GroupTooSmall where one has fewer than k rows.

    Memory does not depend on the number of rows. Rows wait in a private folder for temporary files (``TMPDIR``), which
    is removed on every exit.

    Parameters
    ----------
    source
        The files.
    names
        The quasi-identifiers.
    k
        The smallest number of rows that is allowed.
    bucket_rows
        The wanted number of rows that are counted at a time.
    progress
        Progress callback.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal.tables.parquet_parts import open_parts
    >>> from pyarrow import parquet
    >>> with TemporaryDirectory() as folder:
    ...     parquet.write_table(pa.table({"age": [31, 31, 61, 61, 61]}), Path(folder, "people.parquet"))
    ...     verify_parts(open_parts(Path(folder)), ["age"], 2, bucket_rows=2).size_histogram()
    {2: 1, 3: 1}
    """
    for name in names:
        if name not in source.names:
            raise UnknownColumn(name, source.names)
    progress.stage("verifying", source.n_rows)
    buckets = max(1, -(-source.n_rows // bucket_rows))
    with TemporaryDirectory(prefix="shoal-verify-") as folder:
        rows = Spill(Path(folder), "buckets")
        for _, batch in source.batches(names):
            rows.add(batch, bucket_numbers(Table.from_native(batch), names, buckets))
            progress.advance(batch.num_rows)
        rows.finish()
        found = [count_classes(Table.from_native(rows.read(bucket)), names) for bucket in rows.keys()]  # noqa: SIM118
    classes = CountedClasses.of_sizes(*found)
    require_k(classes, k)
    return classes
