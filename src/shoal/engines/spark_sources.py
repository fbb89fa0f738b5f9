"""Tables for engine ``spark``: rows in tasks, each with a number that depends on the table alone.

Files: the number is the number of rows in the files before, in the order of their names, plus the position in the file.
Every other DataFrame: rows are sorted by their content, and equal rows are interchangeable. Numbers that Spark gives by
the division into tasks would change when a task is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from shoal.engines.packets import PACKET_COLUMNS
from shoal.engines.partitioned_run import HEAD_ROWS
from shoal.engines.spark_session import collected_evidence, collected_totals, records_per_batch
from shoal.engines.spark_tasks import FileReader, Numbering, PacketReader, Reader
from shoal.engines.spark_worker import Work
from shoal.errors import DataError, ParameterError
from shoal.tables import Table
from shoal.tables.parquet_parts import ParquetParts

NATIVE_BATCH = 10_000
"""Rows of a batch that Spark passes to a task, where these are rows of a DataFrame."""
HASH_GROUPS = 2**16
"""Groups of rows with equal remainders of their hash, each of which is sorted by content."""
_GROUP, _PLACE = "__shoal_group_of_rows", "__shoal_place"


class SparkSource(Protocol):
    """A table whose rows are read by tasks of Spark."""

    session: Any
    n_rows: int
    reader: Reader

    def open(self, names: Sequence[str], partitions: int) -> None:
        """Prepare the named columns for reading, in at most so many tasks."""

    def head(self) -> Table:
        """Return the first rows."""

    def frame(self) -> Any:
        """Return the DataFrame that is the input of :attr:`reader`."""

    def close(self) -> None:
        """Free what was kept."""


class FolderSource:
    """Parquet files that every task can read under the same path.

    Parameters
    ----------
    session
        The session of Spark.
    source
        The files.
    """

    def __init__(self, session: Any, source: ParquetParts) -> None:
        self.session, self.source = session, source
        self.n_rows = source.n_rows
        self.reader: Reader

    def open(self, names: Sequence[str], partitions: int) -> None:
        """Read the named columns, in at most so many tasks."""
        groups = self.source.row_groups()
        self.names, self.partitions = list(names), min(partitions, len(groups))
        self.reader = FileReader(self.source, self.names, groups)

    def head(self) -> Table:
        """Return the first rows."""
        _, batch = next(iter(self.source.batches(self.names)))
        return Table.from_native(batch.slice(0, HEAD_ROWS))

    def frame(self) -> Any:
        """Return the positions of the row groups."""
        return self.session.range(0, len(self.source.row_groups()), 1, self.partitions)

    def close(self) -> None:
        """Nothing is kept."""


class FrameSource:
    """A DataFrame of Spark.

    Parameters
    ----------
    frame
        The DataFrame.
    """

    def __init__(self, frame: Any) -> None:
        check_frame(frame)
        self.given, self.session = frame, frame.sparkSession
        self.n_rows = 0
        self.reader: Reader = PacketReader()
        self._numbered: Any = None

    def open(self, names: Sequence[str], partitions: int) -> None:
        """Give rows their numbers, and keep the named columns on the disks of the executors until the end."""
        from pyspark import StorageLevel

        found = _by_files(self.given, names) or _by_content(self.given, names, partitions)
        if not found.records:
            raise DataError("the DataFrame has no records; nothing was released")
        self.n_rows = found.records
        packets = found.frame.mapInArrow(Work.of(found.task), PACKET_COLUMNS)
        self._numbered = packets.persist(StorageLevel.DISK_ONLY)
        with records_per_batch(self.session, NATIVE_BATCH):
            self._head = [table for _, table in collected_evidence(self._numbered)]

    def head(self) -> Table:
        """Return the first rows."""
        import pyarrow as pa

        from shoal.engines.leaf_job import ROW

        return Table.from_native(pa.concat_tables(self._head).sort_by(ROW).drop_columns([ROW]))

    def frame(self) -> Any:
        """Return the rows with their numbers, in packets."""
        return self._numbered

    def close(self) -> None:
        """Free the rows that were kept."""
        if self._numbered is not None:
            self._numbered.unpersist()


class Numbered(NamedTuple):
    """Rows of a DataFrame, the task that gives them numbers, and how many there are."""

    frame: Any
    task: Numbering
    records: int


def check_frame(frame: Any) -> None:
    """Raise for a DataFrame whose rows cannot be numbered, in one sentence that names the way out."""
    out = "; write it to Parquet and protect spark.read.parquet(...)"
    if not hasattr(frame, "_jdf"):
        raise ParameterError("a DataFrame of Spark Connect is not supported; use a session of the cluster itself")
    if frame.isStreaming:
        raise ParameterError(f"a stream has no end, so that nothing can be counted on it{out}")
    if not frame._jdf.queryExecution().analyzed().deterministic():  # noqa: SLF001 - no public way to ask
        raise ParameterError(
            f"the DataFrame draws random values or numbers of its own, so a repeated task would see other rows{out}"
        )
    for field in frame.schema.fields:
        if any(word in field.dataType.simpleString() for word in ("map<", "variant")):
            raise DataError(
                f'column "{field.name}" is of type {field.dataType.simpleString()}, which has no order; flatten it '
                "or drop it"
            )


def _by_files(frame: Any, names: Sequence[str]) -> Numbered | None:
    """Return rows that are numbered by their place in Parquet files; None for any other DataFrame."""
    from pyspark.sql import functions as F  # noqa: N812 - the usual name

    if not is_plain_scan(frame):
        return None
    path, place = F.col("_metadata.file_path"), F.col("_metadata.row_index")
    counts = frame.groupBy(path.alias("path")).agg(F.count("*"), F.max(place))
    found = sorted(collected_totals(counts), key=lambda row: file_parts(row[0]))
    if any(count != last + 1 for _, count, last in found):  # a file that is read twice
        return None
    numbers = frame.sparkSession.createDataFrame(
        [(path, number) for number, (path, _, _) in enumerate(found)], f"path string, {_GROUP} long"
    )
    offsets, first = {}, 0
    for number, (_, count, _) in enumerate(found):
        offsets[number] = first
        first += count
    shown = frame.select(path.alias("path"), place.alias(_PLACE), *(quoted(name) for name in names))
    joined = shown.join(F.broadcast(numbers), "path").select(_GROUP, _PLACE, *(quoted(name) for name in names))
    return Numbered(joined, Numbering(list(names), offsets, None, HEAD_ROWS), first)


def _by_content(frame: Any, names: Sequence[str], partitions: int) -> Numbered:
    """Return rows that are sorted by a hash of their values and by the values, in groups of hashes."""
    from pyspark.sql import functions as F  # noqa: N812 - the usual name

    columns = [F.col(quoted(name)) for name in names]
    hashed = F.xxhash64(*columns)
    group = F.pmod(hashed, F.lit(HASH_GROUPS)).cast("long")
    counts = dict(collected_totals(frame.groupBy(group.alias("group")).count()))
    offsets, first = {}, 0
    for number in sorted(counts):
        offsets[number] = first
        first += counts[number]
    shown = frame.select(group.alias(_GROUP), hashed.alias(_PLACE), *columns)
    kept = [F.col(quoted(name)) for name in names]
    rows = shown.repartition(partitions, _GROUP).sortWithinPartitions(_GROUP, _PLACE, *kept)
    return Numbered(rows, Numbering(list(names), offsets, counts, HEAD_ROWS), first)


def is_plain_scan(frame: Any) -> bool:
    """Return whether a DataFrame is Parquet files as they are, with columns left out or renamed at most."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - no public way to ask
    while plan.getClass().getSimpleName() in {"Project", "SubqueryAlias"}:
        plan = plan.child()
    if plan.getClass().getSimpleName() != "LogicalRelation":
        return False
    relation = plan.relation()
    return relation.getClass().getSimpleName() == "HadoopFsRelation" and (
        relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    )


def file_parts(address: str) -> tuple[str, ...]:
    """Return the parts of the path of a file, by which files are ordered.

    Examples
    --------
    >>> file_parts("file:/data/a%20b/1.parquet")
    ('/', 'data', 'a b', '1.parquet')
    """
    from pathlib import PurePosixPath
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(address)
    return (
        PurePosixPath(unquote(parts.path)).parts
        if not parts.netloc
        else (parts.netloc, *unquote(parts.path).split("/"))
    )


def class_columns(frame: Any, names: Sequence[str]) -> list[Any]:
    """Return columns by which a GROUP BY finds equivalence classes: NaN is a missing value, like null."""
    from pyspark.sql import functions as F  # noqa: N812 - the usual name

    columns: list[Any] = []
    for name in names:
        column = F.col(quoted(name))
        if frame.schema[name].dataType.typeName() in {"float", "double"}:
            column = F.when(~F.isnan(column), column)
        columns.append(column.alias(f"c{len(columns)}"))
    return columns


def quoted(name: str) -> str:
    """Return a name of a column as Spark reads it.

    Examples
    --------
    >>> quoted("net.income")
    '`net.income`'
    """
    return "`" + name.replace("`", "``") + "`"
