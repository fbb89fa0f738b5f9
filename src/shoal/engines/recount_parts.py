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

from shoal.engines.partitioned_run import OWNER, Rows
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
        self.buckets = max(1, -(-records // bucket_rows))
        confidential = plan.schema.named(Role.CONFIDENTIAL) if plan.requirements.beyond_k else []
        self.names = list(dict.fromkeys([*plan.schema.known_columns, *confidential]))

    def add(self, table: Any, owners: Any = None) -> None:
        """Take released rows (a pyarrow Table) with the persons or households that k counts."""
        found = table.select(self.names)
        if owners is not None and self.plan.of != Of.ROWS:
            found = found.append_column(OWNER, owners)
        self.rows.add(found, bucket_numbers(Table.from_native(table), self.plan.schema.protected, self.buckets))

    def count(self, whole: Sequence[ValueEncoding]) -> PartsRecount:
        """Count all buckets; raises where a requirement is violated.

        Parameters
        ----------
        whole
            The distributions of confidential attributes in the whole table.
        """
        import pyarrow as pa

        self.rows.finish()
        schema, requirements = self.plan.schema, self.plan.requirements
        parts: list[Recount] = []
        achieved: dict[str, dict[str, float]] = {}
        compared: dict[str, str] = {}
        compared_with = whole if self.buckets > 1 or whole else ()
        for key in self.rows.keys():  # noqa: SIM118 - not a mapping
            table = pa.Table.from_batches(list(self.rows.batches(key)))
            owners = None
            if OWNER in table.column_names:
                values = comparable_values(Table.from_native(table.select([OWNER])).column(OWNER))
                owners = values.rank("dense").to_numpy().astype(np.int64) - 1
                table = table.drop_columns([OWNER])
            found = recount_table(Table.from_native(table), schema, requirements, owners, whole=compared_with)
            parts.append(found)
            if found.assessment is not None:
                compared |= found.compared
                _note_worst(achieved, found.assessment.achieved(requirements))
        self.rows.remove()
        return PartsRecount(_joint(parts), achieved, compared)


def bucket_numbers(table: Table, names: Sequence[str], buckets: int) -> NDArray[np.int64]:
    """Return a bucket for each row, the same for rows that are equal in the named columns."""
    if buckets == 1:
        return np.zeros(table.n_rows, np.int64)
    columns = []
    for number, name in enumerate(names):
        values = comparable_values(table.column(name)).rename(str(number))
        columns.append(values + 0.0 if values.dtype.is_float() else values)
    hashes = pl.DataFrame(columns).hash_rows(seed=_SEED).to_numpy()
    return (hashes % np.uint64(buckets)).astype(np.int64)


def _note_worst(worst: dict[str, dict[str, float]], found: dict[str, tuple[float, float, bool]]) -> None:
    """Keep the worst of what classes achieve: the fewest values for l and p, the largest figure for all others."""
    for name, (requested, reached, _) in found.items():
        before = worst.get(name, {}).get("achieved", reached)
        worse = min if name in {"l", "p"} else max
        worst[name] = {"requested": requested, "achieved": worse(before, reached)}


def _joint(parts: Sequence[Recount]) -> Recount:
    return Recount(
        _joint_classes([part.classes for part in parts]),
        with_weight=_joint_further([part.with_weight for part in parts]),
        with_known=_joint_further([part.with_known for part in parts]),
    )


def _joint_further(parts: Sequence[Classes | None]) -> Classes | None:
    known = [part for part in parts if part is not None]
    return _joint_classes(known) if known else None


def _joint_classes(parts: Sequence[Classes]) -> Classes:
    units = [part.units for part in parts if part.units is not None]
    return Classes(
        np.concatenate([part.sizes for part in parts]), np.concatenate(units) if units else None, parts[0].of
    )  # fmt: skip
