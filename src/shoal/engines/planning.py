"""The plan of a table that is protected in parts: profile and sample in one pass, then cuts, then counts.

The same steps on every engine. Nothing here depends on how the rows are divided into batches: exact counts and sums, a
sample by a hash of the row number, and cuts on that sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.core.progress import SILENT, Progress
from shoal.engines.cut_tree import Integers
from shoal.engines.leaf_job import ROW
from shoal.engines.partition import Jobs, Partition, make_jobs, make_partition, sample_share
from shoal.engines.profile import Profile, ProfileTask, fitted_encoding
from shoal.engines.row_hashes import in_sample
from shoal.engines.value_counts import LeafValues
from shoal.errors import ParameterError
from shoal.flow.encoding import fit_encoding
from shoal.flow.prepare import check_missing
from shoal.flow.units import check_dominant, read_units
from shoal.schema.columns import Role, Schema
from shoal.schema.inference import check_roles
from shoal.schema.number_marks import check_marks
from shoal.schema.plan import Plan
from shoal.tables import Table

CHECKED_RECORDS = 100_000
"""The most rows of the sample that are searched for columns that give protected ones back."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A partition with what it was made from; confidential.

    Parameters
    ----------
    partition
        Where each row goes.
    profile
        What was counted over the whole table.
    sample
        The rows of the sample, in the order of their numbers.
    """

    partition: Partition
    profile: Profile
    sample: Table


def part_plan(plan: Plan) -> Plan:
    """Return the plan for parts that are read without direct identifiers."""
    kept = tuple(column for column in plan.schema.columns if column.role != Role.IDENTIFIER)
    return replace(plan, schema=replace(plan.schema, columns=kept))


def read_names(schema: Schema) -> list[str]:
    """Return the columns that are read: all but direct identifiers."""
    names = [column.name for column in schema.columns if column.role != Role.IDENTIFIER]
    if ROW in names:
        raise ParameterError(f'a column is called "{ROW}", a name that is needed for row numbers; rename it')
    return names


def profile_batch(task: ProfileTask, rows: Integers, batch: Any, share: float) -> tuple[Profile, Any]:
    """Return the profile of a batch of rows with these numbers, and its rows that belong to the sample."""
    chosen = np.flatnonzero(in_sample(rows, share))
    return task.profile(Table.from_native(batch)), numbered(batch, rows).take(chosen)


def numbered(batch: Any, rows: Integers) -> Any:
    """Return a batch with its row numbers as the last column."""
    import pyarrow as pa

    return batch.append_column(ROW, pa.array(rows))


def plan_rows(
    plan: Plan, head: Table, records: int, batches: Iterable[tuple[int, Any]], *, leaf_records: int,
    progress: Progress = SILENT,
) -> Planned:  # fmt: skip
    """Return the plan of a table that is read once, in batches.

    Parameters
    ----------
    plan
        What is requested, without direct identifiers.
    head
        The first rows.
    records
        The number of rows.
    batches
        The number of the first row of each batch, and the batch as a pyarrow Table.
    leaf_records
        The wanted number of rows of a leaf.
    progress
        Progress callback.
    """
    task, share = ProfileTask.of(plan, head), sample_share(records, leaf_records, plan.requirements.k)
    progress.stage("counting and sampling", records)
    profile, samples = None, []
    for first, batch in batches:
        rows = np.arange(first, first + batch.num_rows, dtype=np.int64)
        found, sampled = profile_batch(task, rows, batch, share)
        profile = found if profile is None else profile + found
        samples.append(sampled)
        progress.advance(batch.num_rows)
    assert profile is not None
    return plan_profile(plan, task, profile, samples, leaf_records=leaf_records)


def plan_profile(
    plan: Plan, task: ProfileTask, profile: Profile, samples: Sequence[Any], *, leaf_records: int
) -> Planned:
    """Return the plan from the profile of the whole table and the sampled rows of its batches, in any order."""
    import pyarrow as pa

    joint = pa.concat_tables(samples).unify_dictionaries().combine_chunks()
    sample = Table.from_native(joint.sort_by(ROW).drop_columns([ROW]))
    schema = plan.schema
    check_roles(sample, schema)
    check_marks(sample, schema)
    check_dominant(read_units(sample, schema, ordered=False), schema)
    policies = {name: schema[name].missing or schema.missing for name in profile.missing}
    check_missing(profile.missing, policies, schema, profile.records, plan.requirements.k)
    if schema.keep:
        from shoal.flow.kept_rules import refuse_broken

        refuse_broken(profile.broken, profile.records)
    if profile.records <= leaf_records:  # one leaf: the arithmetic of a table in memory
        encoding = fit_encoding(sample, schema, distributions=False)
    else:
        encoding = fitted_encoding(plan, task, profile, sample)
    partition = make_partition(plan, encoding, profile, sample, leaf_records=leaf_records)
    return Planned(partition, profile, sample)


class LeafCounter:
    """Counts the rows of each leaf, and of each confidential value in it where requirements ask for that."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.counts = np.zeros(partition.tree.leaves, np.int64)
        self.values = LeafValues.of(partition)

    def add(self, part: Table) -> Integers:
        """Count the rows of a part and return their leaves."""
        leaves = self.partition.leaves(part)
        self.counts += np.bincount(leaves, minlength=self.counts.size)
        if self.values is not None:
            self.values.add(part, leaves)
        return leaves

    def jobs(self, leaf_records: int) -> Jobs:
        """Return the jobs after all rows were counted."""
        joined = [] if self.values is None else self.values.joined(self.counts)
        return make_jobs(self.partition, self.counts, leaf_records=leaf_records, joined=joined)
