"""The recount of a release that is larger than memory: a plain count of equal rows, bucket after bucket.

Rows are put into buckets by a hash of their quasi-identifiers, so that all rows of an equivalence class are in one
bucket. Each bucket is then counted like a table of its own (:func:`shoal.flow.released.recount_table`): classes are
compared value by value, the hash only decides where that is done. Nothing of how the groups were made is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.chunks import OWNER
from shoal.engines.partitioned_run import Rows
from shoal.flow.released import Recount, recount_table
from shoal.privacy.k_anonymity import Classes
from shoal.privacy.value_encoding import ValueEncoding
from shoal.schema.columns import Role
from shoal.schema.plan import Plan
from shoal.schema.requirements import Of
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

BUCKET_ROWS = 1_000_000
"""The wanted number of rows of a bucket."""
_SEED = 0x5EED


@dataclass(frozen=True)
class CountedClasses(Classes):
    """Equivalence classes of a large table: each different size once, and how many classes have it.

    Parameters
    ----------
    sizes, units, of, notes
        As in :class:`shoal.privacy.k_anonymity.Classes`, with an entry for each different pair of sizes.
    times
        How many classes have these sizes.

    Examples
    --------
    >>> counted = CountedClasses.of_sizes(Classes(np.array([5, 4, 5, 4, 4])))
    >>> counted.size_histogram(), counted.k, counted.records_below(5)
    ({4: 3, 5: 2}, 4, 12)
    """

    times: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of_sizes(cls, *parts: Classes) -> CountedClasses:
        """Return the classes of several parts of a table together."""
        rows: dict[tuple[int, int], int] = {}
        for part in parts:
            times = part.times if isinstance(part, CountedClasses) else np.ones(part.sizes.size, np.int64)
            units = np.zeros_like(part.sizes) if part.units is None else part.units
            pairs, place = np.unique(np.column_stack([part.sizes, units]), axis=0, return_inverse=True)
            totals = np.zeros(len(pairs), np.int64)
            np.add.at(totals, place.ravel(), times)
            for (size, unit), total in zip(pairs.tolist(), totals.tolist(), strict=True):
                rows[size, unit] = rows.get((size, unit), 0) + total
        keys = sorted(rows)
        sizes, units = np.array(keys, np.int64).T
        with_units = any(part.units is not None for part in parts)
        times = np.array([rows[key] for key in keys], np.int64)
        return cls(sizes, units if with_units else None, parts[0].of, (), times)

    @property
    def records(self) -> int:
        """The number of records of all classes."""
        return int((self.sizes * self.times).sum())

    def size_histogram(self) -> dict[int, int]:
        """Return how many classes there are of each size."""
        found: dict[int, int] = {}
        for size, times in zip(self.sizes.tolist(), self.times.tolist(), strict=True):
            found[size] = found.get(size, 0) + times
        return found

    def records_below(self, k: int) -> int:
        """Return how many records are in classes of fewer than k."""
        below = self.counted < k
        return int((self.sizes * self.times)[below].sum())


@dataclass(frozen=True, eq=False)
class PartsRecount:
    """What a count of a release found, bucket by bucket.

    Parameters
    ----------
    recount
        The equivalence classes of all buckets.
    achieved
        For each requirement beyond k the requested value and the worst of any class.
    compared
        How the values of each confidential attribute were compared.
    """

    recount: Recount
    achieved: dict[str, dict[str, float]] = field(default_factory=dict)
    compared: dict[str, str] = field(default_factory=dict)


class Buckets:
    """Which bucket each released row is counted in, and the columns that are counted.

    Parameters
    ----------
    plan
        What is requested.
    records
        The number of rows that are expected.
    bucket_rows
        The wanted number of rows of a bucket.
    """

    def __init__(self, plan: Plan, records: int, bucket_rows: int = BUCKET_ROWS) -> None:
        self.plan = plan
        self.count = max(1, -(-records // bucket_rows))
        confidential = plan.schema.named(Role.CONFIDENTIAL) if plan.requirements.beyond_k else []
        self.names = list(dict.fromkeys([*plan.schema.known_columns, *confidential]))

    def of(self, table: Any, owners: Any = None) -> tuple[Any, NDArray[np.int64]]:
        """Return what is counted of released rows (a pyarrow Table), with the persons that k counts, and buckets."""
        found = table.select(self.names)
        if owners is not None and self.plan.of != Of.ROWS:
            found = found.append_column(OWNER, owners)
        return found, bucket_numbers(Table.from_native(table), self.plan.schema.protected, self.count)


class BucketedRows:
    """Released rows in buckets, to be counted.

    Parameters
    ----------
    plan
        What is requested.
    records
        The number of rows that are expected.
    rows
        Where the rows are kept.
    bucket_rows
        The wanted number of rows of a bucket.
    """

    def __init__(self, plan: Plan, records: int, rows: Rows, *, bucket_rows: int = BUCKET_ROWS) -> None:
        self.plan, self.rows = plan, rows
        self.buckets = Buckets(plan, records, bucket_rows)

    def add(self, table: Any, owners: Any = None) -> None:
        """Take released rows (a pyarrow Table) with the persons or households that k counts."""
        self.rows.add(*self.buckets.of(table, owners))

    def count(self, whole: Sequence[ValueEncoding]) -> PartsRecount:
        """Count all buckets; raises where a requirement is violated.

        Parameters
        ----------
        whole
            The distributions of confidential attributes in the whole table.
        """
        import pyarrow as pa

        self.rows.finish()
        found = [
            recount_bucket(pa.Table.from_batches(list(self.rows.batches(key))), self.plan, whole)
            for key in self.rows.keys()  # noqa: SIM118 - not a mapping
        ]
        self.rows.remove()
        return total_recount(found)


def recount_bucket(table: Any, plan: Plan, whole: Sequence[ValueEncoding]) -> PartsRecount:
    """Count the rows of a bucket; raises where a requirement is violated.

    Parameters
    ----------
    table
        The rows as a pyarrow Table.
    plan
        What is requested.
    whole
        The distributions of confidential attributes in the whole table.
    """
    owners = None
    if OWNER in table.column_names:
        values = comparable_values(Table.from_native(table.select([OWNER])).column(OWNER))
        owners = values.rank("dense").to_numpy().astype(np.int64) - 1
        table = table.drop_columns([OWNER])
    found = recount_table(Table.from_native(table), plan.schema, plan.requirements, owners, whole=whole)
    achieved: dict[str, dict[str, float]] = {}
    if found.assessment is not None:
        _note_worst(achieved, found.assessment.achieved(plan.requirements))
    return PartsRecount(_joint([found]), achieved, dict(found.compared))


def total_recount(parts: Sequence[PartsRecount]) -> PartsRecount:
    """Return what was found in all buckets together."""
    achieved: dict[str, dict[str, float]] = {}
    compared: dict[str, str] = {}
    for part in parts:
        compared |= part.compared
        _note_worst(achieved, {name: (one["requested"], one["achieved"], True) for name, one in part.achieved.items()})
    return PartsRecount(_joint([part.recount for part in parts]), achieved, compared)


def bucket_numbers(table: Table, names: Sequence[str], buckets: int) -> NDArray[np.int64]:
    """Return a bucket for each row, the same for rows that are equal in the named columns."""
    if buckets == 1:
        return np.zeros(table.n_rows, np.int64)
    return (class_hashes(table, names) % np.uint64(buckets)).astype(np.int64)


def class_hashes(table: Table, names: Sequence[str], seed: int = _SEED) -> NDArray[np.uint64]:
    """Return a hash for each row, the same for rows that are equal in the named columns."""
    columns = []
    for number, name in enumerate(names):
        values = comparable_values(table.column(name)).rename(str(number))
        columns.append(values + 0.0 if values.dtype.is_float() else values)
    return pl.DataFrame(columns).hash_rows(seed=seed).to_numpy()


def _note_worst(worst: dict[str, dict[str, float]], found: dict[str, tuple[float, float, bool]]) -> None:
    """Keep the worst of what classes achieve: the fewest values for l and p, the largest figure for all others."""
    for name, (requested, reached, _) in found.items():
        before = worst.get(name, {}).get("achieved", reached)
        worse = min if name in {"l", "p"} else max
        worst[name] = {"requested": requested, "achieved": worse(before, reached)}


def _joint(parts: Sequence[Recount]) -> Recount:
    return Recount(
        CountedClasses.of_sizes(*(part.classes for part in parts)),
        with_weight=_joint_further([part.with_weight for part in parts]),
        with_known=_joint_further([part.with_known for part in parts]),
    )


def _joint_further(parts: Sequence[Classes | None]) -> Classes | None:
    known = [part for part in parts if part is not None]
    return CountedClasses.of_sizes(*known) if known else None
