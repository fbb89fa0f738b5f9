"""The engine ``disk``: a table larger than memory on one machine, Parquet in, Parquet out.

Rows wait in Arrow files of a private folder beside the output (mode 0700), which is removed on every exit. The release
is written there too, read back and counted; only then it gets its name, together with its manifest. Memory does not
depend on the number of rows: a part of the table (about 200,000 rows) and buffers are held at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from shoal.core.progress import SILENT, Progress
from shoal.engines.chunks import Chunk
from shoal.engines.partition import LEAF_RECORDS
from shoal.engines.partitioned_run import PartitionedRun, Rows
from shoal.engines.parts_evidence import Accepted, PartsRelease, ReleasedColumns, finished_release
from shoal.engines.recount_parts import BUCKET_ROWS, BucketedRows
from shoal.engines.spill import Spill
from shoal.errors import RequirementNotMet, json_text
from shoal.schema.plan import JsonDict, Plan
from shoal.tables.parquet_parts import ParquetParts
from shoal.tables.parquet_release import ParquetFiles, ParquetFolder

MANIFEST, SUCCESS = "_manifest.json", "_SUCCESS"
"""Names in an output folder; readers of Parquet leave out names that begin with an underscore."""


def protect_to_folder(
    source: ParquetParts, plan: Plan, folder: Path, *, single: str | None = None, accepted: Accepted | None = None,
    leaf_records: int = LEAF_RECORDS, bucket_rows: int = BUCKET_ROWS, progress: Progress = SILENT,
) -> PartsRelease:  # fmt: skip
    """Protect a table into a private folder, and count what was written there.

    Parameters
    ----------
    source
        The table.
    plan
        What is requested.
    folder
        A private folder; the release is in its folder ``new`` afterwards.
    single
        The name of the only file of the release; None for files ``part-00000.parquet`` and so on.
    accepted
        What is accepted; nothing if not given.
    leaf_records, bucket_rows
        The wanted number of rows of a part, and of a bucket of the recount.
    progress
        Progress callback.

    Returns
    -------
    release
        Raises where a requirement is violated in what was written, or something is not accepted.
    """
    rows_folder = folder / "rows"
    rows_folder.mkdir(0o700)

    def make_rows(name: str) -> Rows:
        return Spill(rows_folder, name)

    run = PartitionedRun(source, plan, make_rows, leaf_records=leaf_records, progress=progress)
    noted = ReleasedColumns(plan, source.n_rows)
    written = ParquetFolder(folder / "new", single)
    owners = Spill(rows_folder, "owners")
    for number, chunk in enumerate(_noted(run.chunks(), noted)):
        written.write(chunk.table)
        if chunk.owners is not None:
            _keep_owners(owners, chunk.owners, number)
    written.close()
    owners.finish()
    assert run.planned is not None
    progress.stage("verifying", source.n_rows)
    buckets = BucketedRows(plan, source.n_rows, Spill(rows_folder, "buckets"), bucket_rows=bucket_rows)
    records = 0
    for number, table in enumerate(written.read_back()):
        held = owners.read(number).column(0) if owners.count(number) else None
        buckets.add(table, held)
        records += table.num_rows
        progress.advance(table.num_rows)
    if records != source.n_rows:
        raise RequirementNotMet("the files that were written lack rows; nothing was released")
    counted = buckets.count(run.planned.partition.encoding.confidential)
    owners.remove()
    output = release_files(written, records, single)
    return finished_release(
        run, noted, counted, columns=len(source.names), output=output, names=written.names, accepted=accepted
    )


def release_files(written: ParquetFiles, records: int, single: str | None) -> JsonDict:
    """Return shape, fingerprint and files of a release, for the manifest."""
    return {
        "records": records, "columns": len(written.names), "fingerprint": f"sha256:{written.fingerprint()}",
        **file_entries(written.files, single),
    }  # fmt: skip


def finish_folder(folder: Path, manifest: JsonDict) -> None:
    """Write the manifest and the mark of success into a finished output folder, and open it to other readers."""
    (folder / MANIFEST).write_text(json_text(manifest) + "\n", encoding="utf-8")
    (folder / SUCCESS).touch()
    mask = os.umask(0)
    os.umask(mask)
    for path in folder.iterdir():
        path.chmod(0o666 & ~mask)
    folder.chmod(0o777 & ~mask)


def file_entries(files: Iterable[Path], single: str | None) -> JsonDict:
    """Return name, size and SHA-256 of the files of a release, for the manifest."""
    found = []
    for path in files:
        digest = sha256()
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
        found.append({"file": path.name, "bytes": path.stat().st_size, "sha256": digest.hexdigest()})
    return found[0] if single is not None else {"files": found}


def _noted(chunks: Iterable[Chunk], noted: ReleasedColumns) -> Iterator[Chunk]:
    for chunk in chunks:
        noted.add(chunk.table, chunk.owners)
        yield chunk


def _keep_owners(owners: Spill, values: Any, number: int) -> None:
    import numpy as np
    import pyarrow as pa

    owners.add(pa.table({"owner": values}), np.full(len(values), number, np.int64))
