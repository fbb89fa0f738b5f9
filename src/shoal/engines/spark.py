"""The engine ``spark``: the same plan as engine ``disk``, on the executors of a cluster.

Only counts and the rows of the sample reach the driver. Rows travel once from where they are read to the part that they
belong to, once for each repair, and once back to their order. A task that is repeated, by a lost worker or executor or
as a second attempt, does the same again, so neither failures nor the division into tasks change the release.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.core.progress import SILENT, Progress
from shoal.engines.chunks import CHUNK_ROWS, OWNER
from shoal.engines.disk import release_files
from shoal.engines.leaf_figures import LeafFigures, joined_runs, total_figures
from shoal.engines.packets import partition_keys
from shoal.engines.partition import LEAF_RECORDS, Job, bins_of
from shoal.engines.parts_evidence import Accepted, PartsRelease, ReleasedColumns, finished_release
from shoal.engines.planning import LeafCounter, Planned, part_plan, plan_profile, read_names
from shoal.engines.profile import ProfileTask, followed_column, total
from shoal.engines.recount_parts import BUCKET_ROWS, Buckets, PartsRecount, total_recount
from shoal.engines.repair import pieces_of_groups, repair_passes, repair_trees
from shoal.engines.spark_session import (
    PACKETS_PER_BATCH,
    collected_evidence,
    collected_totals,
    exchanged,
    mapped,
    records_per_batch,
)
from shoal.engines.spark_sources import NATIVE_BATCH, FolderSource, FrameSource, SparkSource, class_columns
from shoal.engines.spark_tasks import (
    TASKS_PER_CORE,
    Bins,
    Bucketing,
    Counting,
    Grouping,
    PartContext,
    Profiling,
    Recounting,
    Refining,
    Releasing,
    Restoring,
    Routing,
    Splitting,
    Writing,
)
from shoal.engines.spark_worker import Work
from shoal.errors import DataError, GroupTooSmall, RequirementNotMet
from shoal.flow.group import MethodRun
from shoal.schema.columns import Role
from shoal.schema.plan import Plan
from shoal.schema.requirements import Of
from shoal.tables.parquet_parts import ParquetParts
from shoal.tables.parquet_release import FILE_CHUNKS, ParquetFiles


@dataclass(eq=False)
class SparkRun:
    """A plan that is run on a table in parts, by tasks of Spark.

    Parameters
    ----------
    source
        The table.
    plan
        What is requested, as it was completed for the whole table.
    leaf_records
        The wanted number of rows of a leaf.
    partitions
        The most partitions of a shuffle; four for each core if not given. The release does not depend on it.
    progress
        Progress callback.
    order_key
        256 random bits, from which the order of the rows follows where it is random; given in tests only.
    """

    source: SparkSource
    plan: Plan
    leaf_records: int = LEAF_RECORDS
    partitions: int | None = None
    progress: Progress = SILENT
    order_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    planned: Planned | None = None
    figures: LeafFigures | None = None
    kinds: Any = None

    def __post_init__(self) -> None:
        self.inner = part_plan(self.plan)
        self.names = read_names(self.plan.schema)
        self.session = self.source.session
        self.most = self.partitions or TASKS_PER_CORE * self.session.sparkContext.defaultParallelism
        self._frames: list[Any] = []

    @property
    def chunks(self) -> int:
        """The number of chunks of the release."""
        return -(-self.source.n_rows // CHUNK_ROWS)

    def open(self) -> None:
        """Open the table, after which the number of its rows is known."""
        self.progress.stage("reading", None)
        self.source.open(self.names, self.most)

    def released(self, chunk_bins: Bins) -> Any:
        """Protect the table and return packets of its released rows; figures, types and plan are then known.

        Parameters
        ----------
        chunk_bins
            The key of the shuffle for each chunk.
        """
        self.planned = self._plan()
        jobs, routed = self._routed(self.planned)
        context = PartContext(
            self.plan, self.inner, self.planned.partition.encoding, self.names, self.source.n_rows, chunk_bins
        )
        passes = repair_passes(self.inner, self.planned)
        self.progress.stage(f"protecting {jobs} parts", self.source.n_rows * (passes + 1))
        if passes:
            kept, found, runs = self._repaired(routed, context, passes)
        else:
            kept, found = self.kept(mapped(routed, Releasing(context)))
            runs = ()
        parts = [part for _, (part, _) in found]
        if runs:
            parts = [replace(parts[0], runs=runs), *(replace(part, runs=()) for part in parts[1:])]
        self.progress.advance(self.source.n_rows)
        self.figures, self.kinds = total_figures(parts), found[0][1][1]
        places = [place for place, _ in found]
        if self.figures.records != self.source.n_rows or len(set(places)) < len(places):
            raise DataError("the table changed while it was read; protect it again")
        return kept

    def kept(self, packets: Any, records: int = PACKETS_PER_BATCH) -> tuple[Any, list[tuple[int, Any]]]:
        """Return packets that are kept on the disks of the executors until the end, and their evidence."""
        from pyspark import StorageLevel

        packets = packets.persist(StorageLevel.DISK_ONLY)
        self._frames.append(packets)
        with records_per_batch(self.session, records):
            return packets, collected_evidence(packets)

    def close(self) -> None:
        """Free what was kept."""
        for frame in self._frames:
            frame.unpersist()
        self.source.close()

    def recount(self, bucketed: Any, buckets: int) -> PartsRecount:
        """Count released rows bucket by bucket; raises where a requirement is violated."""
        assert self.planned is not None
        task = Recounting(self.plan, self.planned.partition.encoding.confidential)
        with records_per_batch(self.session, PACKETS_PER_BATCH):
            found = collected_evidence(mapped(exchanged(bucketed, min(buckets, self.most)), task))
        return total_recount([part for _, part in found])

    def keys(self, places: int) -> Bins:
        """Return the key of the shuffle for each of some places, which have about equal work."""
        keys = partition_keys(max(1, min(places, self.most)))
        return keys[np.arange(places) % keys.size]

    def _plan(self) -> Planned:
        """Return the plan: exact counts of the whole table, and cuts on a sample."""
        from shoal.engines.partition import sample_share

        records = self.source.n_rows
        share = sample_share(records, self.leaf_records, self.plan.requirements.k)
        task = ProfileTask.of(self.inner, self.source.head())
        self.progress.stage("counting and sampling", records)
        with records_per_batch(self.session, PACKETS_PER_BATCH):
            found = collected_evidence(mapped(self.source.frame(), Profiling(self.source.reader, task, share)))
        profile = total([part for _, (part, _) in found])
        samples = [table for _, (_, tables) in found for table in tables]
        self.progress.advance(records)
        return plan_profile(self.inner, task, profile, samples, leaf_records=self.leaf_records)

    def _routed(self, planned: Planned) -> tuple[int, Any]:
        """Count leaves, and return the number of jobs and the rows by job."""
        self.progress.stage("sorting rows into parts", self.source.n_rows)
        counter = LeafCounter(planned.partition)
        with records_per_batch(self.session, PACKETS_PER_BATCH):
            counting = Counting(self.source.reader, planned.partition)
            for _, (counts, values) in collected_evidence(mapped(self.source.frame(), counting)):
                counter.counts += counts
                if counter.values is not None and values:
                    counter.values.join(values, planned.sample)
        if counter.counts.sum() != self.source.n_rows:
            raise DataError("the table changed while it was read; protect it again")
        jobs = counter.jobs(self.leaf_records)
        bins, count = self._job_keys(jobs.jobs)
        order_key = self.order_key if self.plan.schema.random_order else None
        routed = mapped(self.source.frame(), Routing(self.source.reader, jobs, bins, order_key))
        return len(jobs.jobs), exchanged(routed, count)

    def _job_keys(self, jobs: Sequence[Job]) -> tuple[Bins, int]:
        """Return the key of the shuffle for each job, and the number of partitions."""
        count = max(1, min(len(jobs), self.most))
        return partition_keys(count)[bins_of(jobs, count)], count

    def _repaired(
        self, routed: Any, context: PartContext, passes: int
    ) -> tuple[Any, list[tuple[int, Any]], tuple[MethodRun, ...]]:
        """Group all parts, let whole groups travel to the parts of other trees, and release them after the last."""
        assert self.planned is not None
        trees = repair_trees(self.planned, passes, self.leaf_records)
        waiting, found = self.kept(mapped(routed, Grouping(context, trees[0])))
        runs: tuple[MethodRun, ...] = ()
        for _, (ran, _) in found:
            runs = joined_runs((*runs, *ran))
        for number in range(passes):
            counts = sum(count for _, (_, count) in found)
            pieces = np.array([pieces_of_groups(int(count), self.leaf_records) for count in counts], np.int64)
            jobs = [
                Job((leaf,), piece, int(pieces[leaf]), int(counts[leaf] // pieces[leaf]))
                for leaf in range(pieces.size)
                for piece in range(pieces[leaf])
            ]
            bins, count = self._job_keys(jobs)
            tree = trees[number + 1] if number + 1 < passes else None
            divided = exchanged(mapped(waiting, Splitting(pieces, bins)), count)
            before = waiting
            waiting, found = self.kept(mapped(divided, Refining(context, number, tree, runs)))
            before.unpersist()
        return waiting, found, runs


def protect_to_folder(
    session: Any, source: ParquetParts, plan: Plan, folder: Path, *, single: str | None = None,
    accepted: Accepted | None = None, leaf_records: int = LEAF_RECORDS, bucket_rows: int = BUCKET_ROWS,
    partitions: int | None = None, order_key: bytes | None = None, progress: Progress = SILENT,
) -> PartsRelease:  # fmt: skip
    """Protect Parquet files into a private folder, and count what was written there.

    Parameters
    ----------
    session
        The session of Spark; all executors have to reach source and folder under the same paths.
    source, plan, folder, single, accepted, leaf_records, bucket_rows, progress
        As in :func:`shoal.engines.disk.protect_to_folder`, with the same release.
    partitions, order_key
        As in :class:`SparkRun`.
    """
    with _running(FolderSource(session, source), plan, leaf_records, partitions, order_key, progress) as run:
        files = 1 if single is not None else -(-run.chunks // FILE_CHUNKS)
        file_keys = run.keys(files)
        chunk_files = np.arange(run.chunks) // FILE_CHUNKS if single is None else np.zeros(run.chunks, np.int64)
        released = run.released(file_keys[chunk_files])
        progress.stage("restoring the order of rows", source.n_rows)
        new = folder / "new"
        new.mkdir(0o700)
        buckets = Buckets(plan, source.n_rows, bucket_rows)
        task = Writing(plan, new, single, run.kinds, source.n_rows, bucket_rows, run.keys(buckets.count))
        written, found = run.kept(mapped(exchanged(released, min(files, run.most)), task))
        noted = _joint_notes(found, run)
        progress.stage("verifying", source.n_rows)
        counted = run.recount(written, buckets.count)
        recount_by_group(_read_back(session, new, run.kinds, plan), plan)
        release = ParquetFiles(sorted(new.glob("*.parquet")))
        output = release_files(release, source.n_rows, single)
        return finished_release(
            run, noted, counted, columns=len(source.names), output=output, names=release.names, accepted=accepted
        )


def protect_frame(
    frame: Any, plan: Plan, *, accepted: Accepted | None = None, leaf_records: int = LEAF_RECORDS,
    bucket_rows: int = BUCKET_ROWS, partitions: int | None = None, order_key: bytes | None = None,
    progress: Progress = SILENT,
) -> tuple[PartsRelease, Any]:  # fmt: skip
    """Protect a DataFrame of Spark, and count the rows of the DataFrame that is returned.

    It is computed once and then kept: in the checkpoint directory of the session if it has one, else on the executors.
    So what was counted is what is read, even if the source changes; rows that an executor lost are an error, never
    computed again.

    Parameters
    ----------
    frame
        The DataFrame.
    plan, accepted, leaf_records, bucket_rows, partitions, order_key, progress
        As in :func:`protect_to_folder`.
    """
    source = FrameSource(frame)
    with _running(source, plan, leaf_records, partitions, order_key, progress) as run:
        count = min(run.chunks, run.most)
        released = run.released(partition_keys(count)[np.arange(run.chunks) * count // run.chunks])
        progress.stage("restoring the order of rows", source.n_rows)
        kinds, declared = _declared_types(frame, run)
        rows = exchanged(released, count).mapInArrow(Work.of(Restoring(run.kinds, declared)), kinds)
        with records_per_batch(run.session, PACKETS_PER_BATCH):
            reliable = run.session.sparkContext._jsc.sc().getCheckpointDir().isDefined()  # noqa: SLF001
            data = rows.checkpoint() if reliable else rows.localCheckpoint()
        progress.stage("verifying", source.n_rows)
        buckets = Buckets(plan, source.n_rows, bucket_rows)
        task = Bucketing(plan, source.n_rows, bucket_rows, run.keys(buckets.count))
        bucketed, found = run.kept(mapped(data, task), NATIVE_BATCH)
        noted = _joint_notes(found, run)
        counted = run.recount(bucketed, buckets.count)
        data = data.drop(OWNER)
        recount_by_group(data, plan)
        output = {"records": source.n_rows, "columns": len(data.columns)}
        release = finished_release(
            run, noted, counted, columns=len(frame.columns), output=output, names=data.columns, accepted=accepted
        )
        return release, data


@contextmanager
def _running(
    source: SparkSource, plan: Plan, leaf_records: int, partitions: int | None, order_key: bytes | None,
    progress: Progress,
) -> Iterator[SparkRun]:  # fmt: skip
    run = SparkRun(source, plan, leaf_records, partitions, progress)
    if order_key is not None:
        run.order_key = order_key
    try:
        run.open()
        yield run
    finally:
        run.close()


def _joint_notes(found: Sequence[tuple[int, Any]], run: SparkRun) -> ReleasedColumns:
    """Return what was noted about all released rows; raises where some are lacking."""
    noted = ReleasedColumns(run.plan, run.source.n_rows)
    for _, (_, _, part) in found:
        noted.join(part)
    if sum(rows for _, (rows, _, _) in found) != run.source.n_rows:
        raise RequirementNotMet("what was written lacks rows; nothing was released")
    return noted


def recount_by_group(frame: Any, plan: Plan) -> None:
    """Count equal rows of a release by Spark's own GROUP BY, as an intruder would; raises where fewer than k are equal.

    Persons are no column of a release, so they are counted by :meth:`SparkRun.recount` only.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the usual name

    names = [name for name in plan.schema.protected if name in frame.columns]
    if plan.of != Of.ROWS or not names:
        return
    least = collected_totals(frame.groupBy(*class_columns(frame, names)).count().agg(F.min("count")))[0][0]
    if least < plan.requirements.k:
        raise GroupTooSmall(
            f"a group-by of the release finds {least} equal records, fewer than k={plan.requirements.k}; nothing was "
            "released"
        )


def _read_back(session: Any, folder: Path, kinds: Any, plan: Plan) -> Any:
    """Return the columns of a written release that Spark can read, as a DataFrame."""
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = []
    for name in plan.schema.protected:
        try:
            fields.append(StructField(name, from_arrow_type(kinds.field(name).type, prefer_timestamp_ntz=True)))
        except PySparkTypeError:  # a type that Spark lacks: equal rows are then counted without the column
            continue
    reader = session.read.option("recursiveFileLookup", "true").schema(StructType(fields))
    return reader.parquet(folder.resolve().as_uri())


def _declared_types(frame: Any, run: SparkRun) -> tuple[Any, Any]:
    """Return the types of the released DataFrame, for Spark and for Arrow: as they were, or as recoding made them."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = []
    for kind in run.kinds:
        recoded = run.plan.schema[kind.name].role == Role.QUASI
        given = frame.schema[kind.name].dataType
        fields.append(
            StructField(kind.name, from_arrow_type(kind.type, prefer_timestamp_ntz=True) if recoded else given)
        )
    followed = followed_column(run.plan)
    if followed is not None:
        fields.append(StructField(OWNER, frame.schema[followed].dataType))
    declared = StructType(fields)
    return declared, _arrow_types(declared, run.session)


def frame_schema_table(frame: Any) -> Any:
    """Return an empty pyarrow Table with the columns of a DataFrame, from whose types kinds follow."""
    return _arrow_types(frame.schema, frame.sparkSession).empty_table()


def _arrow_types(declared: Any, session: Any) -> Any:
    """Return the types of Arrow for those of Spark; newer versions need the time zone."""
    from inspect import signature

    from pyspark.sql.pandas.types import to_arrow_schema

    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(declared, timezone=session.conf.get("spark.sql.session.timeZone"))
    return to_arrow_schema(declared)
