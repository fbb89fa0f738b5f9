"""The partition of a table: which leaf each row belongs to, and which leaves are protected together.

Strata and missingness patterns are counted over the whole table. A stratum with fewer than k rows is an error. Small
strata share a leaf, which the leaf's own stages divide again; patterns that are too rare for a leaf of their own are
kept together with the others of their stratum. All other rows go through a tree of cuts
(:mod:`shoal.engines.cut_tree`). After all rows have been counted, leaves that are too large, because many rows have
equal coordinates, are divided by a hash of the row number, and siblings are joined where l or t need more values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.cut_tree import CutTree, Floats, Integers, TreeBuilder
from shoal.engines.profile import COUNT, OWNER, Profile, owner_column, prefix_frame
from shoal.engines.row_hashes import row_hashes
from shoal.errors import DataError, ParameterError
from shoal.flow.encoding import Encoding
from shoal.schema.columns import Kind
from shoal.schema.plan import Plan
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

LEAF_RECORDS = 200_000
"""The wanted number of rows of a leaf."""
LARGEST_LEAF = 2.0
"""A leaf with more than so many times the wanted number of rows is divided once more."""
SAMPLE_RECORDS = 200_000
"""The fewest rows of a sample of a larger table,"""
SAMPLE_PER_LEAF = 400
"""and the fewest for each leaf;"""
SAMPLE_PER_K, LARGEST_SAMPLE = 8, 2_000_000
"""for a large k so many times k for each leaf, since a cut needs k sampled rows on each side, but no more in all."""
ROOT = "root"
PIECE_STREAM = 2
PIECE_FACTOR = 128
"""A piece of a leaf has at least so many times k rows on average; that one has fewer than k is then impossible in
practice, and it would be an error before anything is released."""


def sample_share(records: int, leaf_records: int = LEAF_RECORDS, k: int = 2) -> float:
    """Return the share of the rows that are sampled; 1 for a table that is one leaf.

    Examples
    --------
    >>> sample_share(150_000), sample_share(100_000_000), sample_share(100_000_000, k=1_000)
    (1.0, 0.002, 0.02)
    """
    if records <= leaf_records:
        return 1.0
    leaves = records / leaf_records
    of_k = min(SAMPLE_PER_K * k * leaves, LARGEST_SAMPLE)
    wanted = max(min(SAMPLE_RECORDS, leaf_records), SAMPLE_PER_LEAF * leaves, of_k)
    return min(1.0, wanted / records)


class Cutting(NamedTuple):
    """How a tree is cut: along sums and differences of columns or not, and which part of the leaves is on the left."""

    rotated: bool = False
    fraction: float = 0.5


class Job(NamedTuple):
    """Rows that are protected together: some leaves, or a piece of one leaf."""

    leaves: tuple[int, ...]
    piece: int
    pieces: int
    records: int


@dataclass(frozen=True, eq=False)
class Partition:
    """Where each row of a table goes; it can be sent and applied to any part of the table.

    Parameters
    ----------
    plan
        What is requested.
    encoding
        The encoding of the whole table.
    prefixes
        For each combination of strata and missingness pattern the cut at which its rows begin, or their leaf.
    tree
        The cuts.
    """

    plan: Plan
    encoding: Encoding
    prefixes: pl.DataFrame
    tree: CutTree

    def leaves(self, part: Table) -> Integers:
        """Return the leaf of each row of a part of the table."""
        if self.tree.leaves == 1:
            return np.zeros(part.n_rows, np.int64)
        return self.tree.route(cut_values(self.encoding, part), self.roots(part))

    def roots(self, part: Table) -> Integers:
        """Return the cut at which each row begins, or its leaf (``~leaf``)."""
        frame = prefix_frame(part, self.plan.schema)
        joined = frame.join(self.prefixes, on=frame.columns, how="left", nulls_equal=True, maintain_order="left")
        if joined[ROOT].null_count():
            raise DataError("the table changed while it was read; protect it again")
        return joined[ROOT].to_numpy().astype(np.int64)


@dataclass(frozen=True, eq=False)
class Jobs:
    """The partition after all rows were counted: which job each row belongs to.

    Parameters
    ----------
    partition
        The leaves.
    jobs
        The jobs, in the order of their leaves.
    """

    partition: Partition
    jobs: tuple[Job, ...]

    def of(self, leaves: Integers, rows: Integers) -> Integers:
        """Return the job of each row from its leaf and its number."""
        first = np.zeros(self.partition.tree.leaves, np.int64)
        pieces = np.ones(self.partition.tree.leaves, np.int64)
        for number, job in enumerate(self.jobs):
            if job.piece == 0:
                first[list(job.leaves)] = number
                pieces[list(job.leaves)] = job.pieces
        found = first[leaves]
        divided = pieces[leaves] > 1
        if divided.any():
            found[divided] += piece_of(rows[divided], pieces[leaves[divided]])
        return found


def piece_of(rows: Integers, pieces: Integers) -> Integers:
    """Return the piece of a divided leaf that each row belongs to.

    Examples
    --------
    >>> bool((piece_of(np.arange(50), np.full(50, 3)) < 3).all())
    True
    """
    return (row_hashes(rows, PIECE_STREAM) % pieces.astype(np.uint64)).astype(np.int64)


def cut_values(encoding: Encoding, part: Table) -> Floats:
    """Return what cuts compare: a standardised number for each numeric or ordinal column, a code for each nominal one.

    A missing number lies at the mean, a missing category has the code -1.
    """
    columns = []
    for entry in encoding.quasi:
        values = entry.values(part.column(entry.column.name))
        if entry.column.kind == Kind.NOMINAL:
            columns.append(np.nan_to_num(values, nan=-1.0))
        else:
            columns.append(entry.coordinates(values)[:, 0])
    return np.column_stack(columns)


def make_partition(
    plan: Plan, encoding: Encoding, profile: Profile, sample: Table, *, leaf_records: int = LEAF_RECORDS,
    cutting: Cutting | None = None,
) -> Partition:  # fmt: skip
    """Return the partition of a table.

    Parameters
    ----------
    plan
        What is requested.
    encoding
        The encoding of the whole table.
    profile
        What was counted over the whole table.
    sample
        Rows of the table, a sample by :func:`shoal.engines.row_hashes.in_sample`.
    leaf_records
        The wanted number of rows of a leaf.
    cutting
        How the tree of a repair is cut, whose leaves whole groups travel to; not given for the first tree.
    """
    k, schema = plan.requirements.k, plan.schema
    nominal = np.array([entry.column.kind == Kind.NOMINAL for entry in encoding.quasi])
    counted = owner_column(plan)
    owners = None
    if counted is not None:
        values = comparable_values(sample.column(counted))
        owners = values.rank("dense").to_numpy().astype(np.int64)
    builder = TreeBuilder(cut_values(encoding, sample), nominal, k, owners, *(cutting or Cutting()))
    more = 0 if cutting is None else 1  # leaves of another size, so that cuts are at other places
    strata = _strata(profile, plan)
    whole = profile.records <= leaf_records
    frame = prefix_frame(sample, schema).with_row_index("row")
    rooted: list[pl.DataFrame] = []
    shared: list[_Stratum] = []
    for stratum in strata:
        if whole or stratum.records <= leaf_records // 2:
            shared.append(stratum)
            continue
        for part in stratum.divided(leaf_records, k):
            parts = max(1, round(part.records / leaf_records))
            rooted.append(_rooted(part, frame, builder, parts + more if parts > 1 else 1))
    rooted += _shared_leaves(shared, builder, profile.records if whole else leaf_records)
    return Partition(plan, encoding, pl.concat(rooted), builder.tree())


class _Stratum(NamedTuple):
    """The combinations of one stratum with its missingness patterns, their rows, and their persons up to k."""

    prefixes: pl.DataFrame
    records: int

    def divided(self, leaf_records: int, k: int) -> list[_Stratum]:
        """Return the frequent patterns, each by itself, and all others together; these join one if they are few."""
        heavy = self.prefixes.filter((pl.col(COUNT) >= leaf_records) & (pl.col(OWNER) >= k))
        rare = self.prefixes.filter((pl.col(COUNT) < leaf_records) | (pl.col(OWNER) < k))
        parts = [_stratum(heavy[number]) for number in range(len(heavy))]
        if len(rare):
            rest = _stratum(rare)
            if parts and (rest.records < k or int(rare[OWNER].max()) < k):  # type: ignore[arg-type]
                smallest = min(range(len(parts)), key=lambda number: parts[number].records)
                parts[smallest] = _stratum(pl.concat([parts[smallest].prefixes, rare]))
            else:
                parts.append(rest)
        return parts


def _stratum(prefixes: pl.DataFrame) -> _Stratum:
    return _Stratum(prefixes, int(prefixes[COUNT].sum()))


def _strata(profile: Profile, plan: Plan) -> list[_Stratum]:
    """Return the strata in the order of their values; raises where one has fewer than k rows or persons."""
    schema, k, of = plan.schema, plan.requirements.k, plan.of
    names = [f"s{number}" for number in range(len(schema.strata))]
    keys = [*names, "pattern"]
    frame = profile.prefixes
    if profile.owners is None:
        frame = frame.with_columns(pl.col(COUNT).alias(OWNER))
        persons = frame.group_by(names).agg(pl.col(COUNT).sum().alias("n")) if names else None
    else:
        each = profile.owners.group_by(keys).agg(pl.col(OWNER).n_unique().cast(pl.Int64))
        frame = frame.join(each, on=keys, how="left", nulls_equal=True)
        persons = profile.owners.group_by(names).agg(pl.col(OWNER).n_unique().alias("n")) if names else None
    frame = frame.sort(keys)
    present = profile.records if profile.owners is None else profile.owners[OWNER].n_unique()
    if present < k:
        raise ParameterError(f"k={k} needs at least {k} {of.noun}, the table has {of.amount(present)}")
    if persons is None:
        return [_stratum(frame)]
    small = persons.filter(pl.col("n") < k)
    if len(small):
        shown = " x ".join(f'"{name}"' for name in schema.strata)
        smallest = min(small["n"].to_list())
        raise DataError(
            f"groups must not cross {shown}, but {len(small)} of its {len(persons)} strata have fewer than k={k} "
            f"{of.noun} (the smallest has {smallest}); merge small strata or choose a smaller k"
        )
    return [_stratum(part) for part in frame.partition_by(names, maintain_order=True)]


def _rooted(part: _Stratum, frame: pl.DataFrame, builder: TreeBuilder, parts: int) -> pl.DataFrame:
    """Return the combinations with the cut at which their rows begin; makes the tree of these rows."""
    keys = [name for name in frame.columns if name != "row"]
    rows = frame.join(part.prefixes.select(keys), on=keys, how="semi", nulls_equal=True, maintain_order="left")["row"]
    root = builder.root(rows.to_numpy().astype(np.int64), parts)
    return part.prefixes.select(keys).with_columns(pl.lit(root, pl.Int64).alias(ROOT))


def _shared_leaves(strata: Sequence[_Stratum], builder: TreeBuilder, leaf_records: int) -> list[pl.DataFrame]:
    """Return leaves of several small strata, each of them complete."""
    found: list[pl.DataFrame] = []
    inside, leaf = 0, 0
    for stratum in strata:
        if not inside or inside + stratum.records > leaf_records:
            leaf, inside = builder.leaf(), 0
        inside += stratum.records
        keys = [name for name in stratum.prefixes.columns if name not in {COUNT, OWNER}]
        found.append(stratum.prefixes.select(keys).with_columns(pl.lit(leaf, pl.Int64).alias(ROOT)))
    return found


def make_jobs(
    partition: Partition, counts: Integers, *, leaf_records: int = LEAF_RECORDS,
    joined: Sequence[Sequence[int]] = (),
) -> Jobs:  # fmt: skip
    """Return the jobs of a partition from the number of rows in each leaf.

    Parameters
    ----------
    partition
        The leaves.
    counts
        How many rows each leaf has, counted over the whole table.
    leaf_records
        The wanted number of rows of a leaf.
    joined
        Sets of leaves that are protected together; all others are jobs of their own.
    """
    together: Mapping[int, tuple[int, ...]] = {
        leaf: tuple(sorted(leaves)) for leaves in joined for leaf in leaves
    }  # fmt: skip
    jobs: list[Job] = []
    for leaf in range(partition.tree.leaves):
        leaves = together.get(leaf, (leaf,))
        records = int(counts[list(leaves)].sum())
        if leaf != leaves[0] or not records:
            continue
        pieces = 1
        if len(leaves) == 1 and records > LARGEST_LEAF * leaf_records and owner_column(partition.plan) is None:
            least = max(leaf_records, PIECE_FACTOR * partition.plan.requirements.k)
            pieces = max(1, records // least)
        jobs += [Job(leaves, piece, pieces, records // pieces) for piece in range(pieces)]
    return Jobs(partition, tuple(jobs))


def bins_of(jobs: Sequence[Job], count: int) -> NDArray[np.int64]:
    """Return a bin for each job, such that bins have about equal work: the largest job goes to the emptiest bin.

    Examples
    --------
    >>> bins_of([Job((0,), 0, 1, 5), Job((1,), 0, 1, 9), Job((2,), 0, 1, 4)], 2).tolist()
    [1, 0, 1]
    """
    bins, load = np.zeros(len(jobs), np.int64), np.zeros(max(count, 1), np.int64)
    for number in sorted(range(len(jobs)), key=lambda number: (-jobs[number].records, number)):
        bins[number] = int(load.argmin())
        load[bins[number]] += jobs[number].records
    return bins
