"""One partitioned plan, run in one process: rows by leaf, leaf after leaf protected, rows back in their order.

Where rows are kept between these steps is left to the engine: in memory (the reference), or in files
(:mod:`shoal.engines.spill`). The released rows are the same for both, for any division of the input into batches.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.engines.chunks import CHUNK_ROWS, ORDER, Chunk, order_draws, ordered_chunk, released_rows
from shoal.engines.leaf_figures import LeafFigures, joined_runs, total_figures
from shoal.engines.leaf_job import ROW, LeafRelease, protect_part
from shoal.engines.partition import LEAF_RECORDS, Job, Jobs, Partition, piece_of
from shoal.engines.planning import LeafCounter, Planned, numbered, part_plan, plan_rows, read_names
from shoal.engines.repair import (
    GROUP,
    group_part,
    pieces_of_groups,
    recode_part,
    refine_part,
    repair_passes,
    repair_trees,
    travelling,
)
from shoal.errors import DataError
from shoal.flow.group import MethodRun
from shoal.schema.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow_types import selected_rows

HEAD_ROWS = 1_000


class RowSource(Protocol):
    """A table that is read in batches, each row with a number that does not depend on the batches."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    def batches(self, names: Sequence[str], rows: int = ...) -> Iterator[tuple[int, Any]]:
        """Return the number of the first row of each batch, and the batch as a pyarrow Table."""


class Rows(Protocol):
    """Rows that arrive in any order and are read back by key."""

    def add(self, table: Any, keys: NDArray[np.int64]) -> None:
        """Take some rows with their keys."""

    def finish(self) -> None:
        """End taking rows."""

    def keys(self) -> list[int]:
        """Return the keys in ascending order."""

    def count(self, key: int) -> int:
        """Return the number of rows of a key."""

    def batches(self, key: int) -> Iterator[Any]:
        """Return the rows of a key in batches."""

    def remove(self) -> None:
        """Forget all rows."""


@dataclass(eq=False)
class RowsInMemory:
    """Rows that are kept in memory: the reference for engines.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = RowsInMemory()
    >>> rows.add(pa.table({"a": [1, 2, 3]}), np.array([5, 0, 5]))
    >>> rows.keys(), [batch["a"].to_pylist() for batch in rows.batches(5)]
    ([0, 5], [[1, 3]])
    """

    kept: dict[int, list[Any]] = field(default_factory=dict)

    def add(self, table: Any, keys: NDArray[np.int64]) -> None:
        """Take some rows with their keys."""
        for key in np.unique(keys).tolist():
            found = selected_rows(table, np.flatnonzero(keys == key)).combine_chunks()
            self.kept.setdefault(key, []).extend(found.to_batches())

    def finish(self) -> None:
        """End taking rows."""

    def keys(self) -> list[int]:
        """Return the keys in ascending order."""
        return sorted(self.kept)

    def count(self, key: int) -> int:
        """Return the number of rows of a key."""
        return sum(batch.num_rows for batch in self.kept.get(key, []))

    def batches(self, key: int) -> Iterator[Any]:
        """Return the rows of a key in batches."""
        return iter(self.kept[key])

    def remove(self) -> None:
        """Forget all rows."""
        self.kept = {}


@dataclass(eq=False)
class PartitionedRun:
    """A plan that is run on a table in parts.

    Parameters
    ----------
    source
        The table.
    plan
        What is requested, as it was completed for the whole table.
    make_rows
        Makes a place for rows, given its name.
    leaf_records
        The wanted number of rows of a leaf.
    progress
        Progress callback.
    order_key
        256 random bits, from which the order of the rows follows where it is random; given in tests only.
    """

    source: RowSource
    plan: Plan
    make_rows: Callable[[str], Rows]
    leaf_records: int = LEAF_RECORDS
    progress: Progress = SILENT
    order_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    planned: Planned | None = None
    figures: LeafFigures | None = None

    def chunks(self) -> Iterator[Chunk]:
        """Protect the table and return its rows in their final order; figures and plan are then known."""
        self.inner = part_plan(self.plan)
        self.names = read_names(self.plan.schema)
        self.planned = plan_rows(
            self.inner, self._head(), self.source.n_rows, self.source.batches(self.names),
            leaf_records=self.leaf_records, progress=self.progress,
        )  # fmt: skip
        rows, jobs = self._rows_by_leaf(self.planned)
        released = self.make_rows("released")
        passes = repair_passes(self.inner, self.planned)
        self.progress.stage(f"protecting {len(jobs.jobs)} parts", self.source.n_rows * (passes + 1))
        if passes:
            found = self._repaired(rows, jobs, passes, released)
        else:
            found = [self._protect(part, released) for _, part in self._parts(rows, jobs)]
        rows.remove()
        released.finish()
        self.figures = total_figures(found)
        if self.figures.records != self.source.n_rows:
            raise DataError("the table changed while it was read; protect it again")
        self.progress.stage("restoring the order of rows", self.source.n_rows)
        for key in released.keys():  # noqa: SIM118 - not a mapping
            yield self._chunk(released, key)

    def _head(self) -> Table:
        """Return the first rows."""
        _, batch = next(iter(self.source.batches(self.names)))
        return Table.from_native(batch.slice(0, HEAD_ROWS))

    def _rows_by_leaf(self, planned: Planned) -> tuple[Rows, Jobs]:
        """Read the table once more and keep its rows by leaf; return them with the jobs."""
        rows, counter = self.make_rows("rows"), LeafCounter(planned.partition)
        self.progress.stage("sorting rows into parts", self.source.n_rows)
        for first, batch in self.source.batches(self.names):
            leaves = counter.add(Table.from_native(batch))
            count = batch.num_rows
            numbers = np.arange(first, first + count, dtype=np.int64)
            kept = numbered(batch, numbers)
            if self.plan.schema.random_order:
                import pyarrow as pa

                kept = kept.append_column(ORDER, pa.array(order_draws(self.order_key, numbers)))
            rows.add(kept, leaves)
            self.progress.advance(count)
        rows.finish()
        return rows, counter.jobs(self.leaf_records)

    def _parts(self, rows: Rows, jobs: Jobs) -> Iterator[tuple[Job, Any]]:
        """Return the rows of each job in the order of their numbers; one job is in memory at a time."""
        import pyarrow as pa

        for job in jobs.jobs:
            if job.pieces == 1:
                table = pa.Table.from_batches([batch for leaf in job.leaves for batch in rows.batches(leaf)])
                yield job, table.sort_by(ROW)
            elif job.piece == 0:
                yield from self._pieces(rows, job)

    def _pieces(self, rows: Rows, job: Job) -> Iterator[tuple[Job, Any]]:
        """Return the pieces of a leaf that is too large."""
        import pyarrow as pa

        pieces = self.make_rows(f"pieces-{job.leaves[0]}")
        for batch in rows.batches(job.leaves[0]):
            numbers = batch.column(ROW).to_numpy()
            pieces.add(pa.Table.from_batches([batch]), piece_of(numbers, np.full(numbers.size, job.pieces)))
        pieces.finish()
        for key in pieces.keys():  # noqa: SIM118 - not a mapping
            yield job, pa.Table.from_batches(list(pieces.batches(key))).sort_by(ROW)
        pieces.remove()

    def _repaired(self, rows: Rows, jobs: Jobs, passes: int, released: Rows) -> list[LeafFigures]:
        """Group all parts, let whole groups travel to the parts of other trees, and release them after the last."""
        assert self.planned is not None
        encoding, plan = self.planned.partition.encoding, self.inner
        trees = repair_trees(self.planned, passes, self.leaf_records)
        runs: tuple[MethodRun, ...] = ()
        waiting = self.make_rows("groups-0")
        for _, part in self._parts(rows, jobs):
            labels, ran = group_part(part.select(self.names), plan, encoding)
            runs = joined_runs((*runs, *ran))
            self._travel(part, labels, trees[0], waiting)
        rows.remove()
        found: list[LeafFigures] = []
        for number in range(passes):
            waiting.finish()
            after = self.make_rows(f"groups-{number + 1}")
            for part in self._places(waiting):
                inside = part.select(self.names)
                labels = refine_part(inside, canonical_labels(part.column(GROUP).to_numpy()), plan, encoding, number)
                if number + 1 < passes:
                    self._travel(part, labels, trees[number + 1], after)
                else:
                    found.append(self._release(part, recode_part(inside, labels, plan, encoding, runs), released))
            waiting.remove()
            waiting = after
        return [replace(found[0], runs=runs), *(replace(figures, runs=()) for figures in found[1:])]

    def _travel(self, part: Any, labels: NDArray[np.int64], tree: Partition, waiting: Rows) -> None:
        """Keep the rows of a part by the leaf of another tree that their groups belong to."""
        waiting.add(*travelling(part, self.names, labels, tree))
        self.progress.advance(part.num_rows)

    def _places(self, waiting: Rows) -> Iterator[Any]:
        """Return the rows of each leaf in the order of their numbers; a leaf that is too large in pieces of groups."""
        import pyarrow as pa

        for key in waiting.keys():  # noqa: SIM118 - not a mapping
            pieces = pieces_of_groups(waiting.count(key), self.leaf_records)
            if pieces == 1:
                yield pa.Table.from_batches(list(waiting.batches(key))).sort_by(ROW)
                continue
            divided = self.make_rows(f"pieces-of-groups-{key}")
            for batch in waiting.batches(key):
                groups = batch.column(GROUP).to_numpy()
                divided.add(pa.Table.from_batches([batch]), piece_of(groups, np.full(groups.size, pieces)))
            divided.finish()
            for piece in divided.keys():  # noqa: SIM118 - not a mapping
                yield pa.Table.from_batches(list(divided.batches(piece))).sort_by(ROW)
            divided.remove()

    def _protect(self, part: Any, released: Rows) -> LeafFigures:
        """Protect a part and keep its released rows by chunk."""
        assert self.planned is not None
        release = protect_part(part.select(self.names), self.inner, self.planned.partition.encoding)
        return self._release(part, release, released)

    def _release(self, part: Any, release: LeafRelease, released: Rows) -> LeafFigures:
        """Keep the released rows of a part by chunk."""
        import pyarrow as pa

        self.progress.advance(part.num_rows)
        table, keys = released_rows(part, release.table, self.plan, self.source.n_rows)
        if self._schema is None:
            self._schema = pa.schema([field.remove_metadata() for field in table.schema])
        released.add(table.cast(self._schema), keys)
        return release.figures

    def _chunk(self, released: Rows, key: int) -> Chunk:
        import pyarrow as pa

        table = pa.Table.from_batches(list(released.batches(key)))
        self.progress.advance(table.num_rows)
        return ordered_chunk(table)

    _schema: Any = None


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table in memory that is read in batches of given sizes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [(first, part.num_rows) for first, part in TableSource(pa.table({"a": [1, 2, 3]}), (2, 1)).batches(["a"])]
    [(0, 2), (2, 1)]
    """

    table: Any
    splits: tuple[int, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def batches(self, names: Sequence[str], rows: int = CHUNK_ROWS) -> Iterator[tuple[int, Any]]:
        """Return the number of the first row of each batch, and the batch as a pyarrow Table."""
        chosen = self.table.select(list(names)).replace_schema_metadata(None)
        sizes = self.splits or [min(rows, self.n_rows - start) for start in range(0, self.n_rows, rows)]
        first = 0
        for size in sizes:
            yield first, chosen.slice(first, size)
            first += size
