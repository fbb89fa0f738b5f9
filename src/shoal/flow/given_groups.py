"""Groups that a user brings, in a column of the table or as an array: checked, then treated like those of a method.

The groups are taken as they are, if every one has at least k records and none crosses a stratum or a missingness
pattern. Requirements beyond k, and k persons where there is a unit, are satisfied by the stages after grouping, which
may join groups or move records, and report that they did. Cost O(n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.core.grouping import canonical_labels
from shoal.errors import DataError, GroupTooLarge, GroupTooSmall, ParameterError, SchemaError
from shoal.methods.contract import Outcome
from shoal.methods.own_groups import column_of

if TYPE_CHECKING:
    from shoal.flow.group import Blocks
    from shoal.flow.prepare import Integers, Prepared
    from shoal.schema.plan import Plan
    from shoal.schema.requirements import Requirements


def read_groups(prepared: Prepared, name: str, requirements: Requirements, blocks: Blocks) -> list[Outcome]:
    """Return the groups of a column for each block, or raise if they cannot be released.

    Parameters
    ----------
    prepared
        The table.
    name
        The name in place of a method, ``labels:COLUMN``.
    requirements
        k, and the largest group allowed.
    blocks
        The blocks that no group may cross.
    """
    column = str(column_of(name))
    if column in (quasi.name for quasi in prepared.schema.quasi):
        raise SchemaError(f'"{column}" cannot hold the groups and be a quasi-identifier at once; choose one')
    if column in prepared.table.unread:
        raise ParameterError(f'the groups in "{column}" were not read; call protect with read_identifiers=True')
    labels = _numbered(prepared.table.column(column).to_polars(), column)
    sizes, k, largest = np.bincount(labels), requirements.k, requirements.max_size
    small = int((sizes < k).sum())
    if small:
        raise GroupTooSmall(
            f'{small} of {sizes.size} groups in "{column}" {"has" if small == 1 else "have"} fewer than k={k} records '
            f"(the smallest has {int(sizes.min())}); join groups, choose a smaller k, or let a method form the groups"
        )
    if largest is not None and sizes.max() > largest:
        raise GroupTooLarge(
            f'{int((sizes > largest).sum())} of {sizes.size} groups in "{column}" have more than {largest} records; '
            "split them, or remove max_size= (command line: --max-size)"
        )
    inside = np.empty(labels.size, np.int64)
    for number, records in enumerate(blocks.members):
        inside[records] = number
    crossing = sum(np.unique(inside[labels == label]).size > 1 for label in range(sizes.size)) if len(blocks) > 1 else 0
    if crossing:
        why = "strata" if prepared.schema.strata else "patterns of missing values"
        raise DataError(
            f'{crossing} of {sizes.size} groups in "{column}" {"crosses" if crossing == 1 else "cross"} {why}, which '
            "no group may; split these groups" + ("" if prepared.schema.strata else ", or choose missing=fill")
        )
    return [Outcome(canonical_labels(labels[records]), method=name) for records in blocks.members]


def _numbered(values: pl.Series, column: str) -> Integers:
    """Return the group of each record, numbered by first appearance."""
    missing = int(values.is_null().sum())
    if values.dtype.is_float():
        missing += int(values.is_nan().sum() or 0)
    if missing:
        raise DataError(
            f'{missing} of {len(values)} records have no group in "{column}"; give every record a group, or leave '
            "these records out"
        )
    return canonical_labels(np.asarray(values.rank("dense").to_numpy(), np.int64))


def check_combination(plan: Plan, *, second: bool) -> None:
    """Raise ParameterError for options that form groups of their own."""
    if second:
        raise ParameterError(
            "previous= (command line: --previous) keeps the groups of the earlier release, and labels= (command line: "
            "--labels) states other groups; leave out one of them"
        )
    if plan.by_persons:
        raise ParameterError(
            "labels= (command line: --labels) states groups of rows, but histories and columns that stay constant "
            "within persons need groups of whole persons; leave out one of them"
        )
