"""Recoding a whole table: quasi-identifiers replaced by their representatives, identifiers dropped, losses measured."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.core.hierarchy import Hierarchy, hierarchy_of, text_of
from shoal.core.progress import Progress
from shoal.flow.encoding import NumericCodec
from shoal.flow.prepare import Prepared
from shoal.flow.recode_columns import recode_column
from shoal.flow.representatives import standing_records, table_errors
from shoal.recoding import group_medoids
from shoal.recoding.loss import Loss, size_measures
from shoal.schema.columns import Recode, Role
from shoal.tables import Table


def hierarchies_of(prepared: Prepared) -> dict[str, Hierarchy]:
    """Return the trees of the columns that are generalised by one, each with a leaf for every value."""
    trees = {}
    for codec in prepared.codecs:
        column = codec.column
        if column.representative == Recode.HIERARCHY:
            tree = hierarchy_of(column, prepared.table)
            if not isinstance(codec, NumericCodec):
                tree.codes([text_of(value) for value in codec.categories if value is not None], column.name)
            trees[column.name] = tree
    return trees


def recode_table(
    prepared: Prepared,
    grouping: Grouping,
    points: NDArray[np.float64] | None,
    trees: Mapping[str, Hierarchy],
    *,
    keep_integers: bool,
    progress: Progress,
) -> tuple[Table, Loss]:
    """Return the table to be released, and what each column lost; medoids are looked for where points are given."""
    medoids = None if points is None else group_medoids(points, grouping, prepared.weights)
    standing = standing_records(prepared, grouping, progress)
    table = prepared.table
    columns, losses = {}, {}
    for codec in prepared.codecs:
        name = codec.column.name
        series = table.column(name)
        values = prepared.values(codec)
        original = codec.values(series) if name in prepared.changed else values
        columns[name], losses[name] = recode_column(
            codec, series, values, grouping, original=original, weights=prepared.weights,
            medoids=standing if codec.column.representative == Recode.TABLES else medoids,
            keep_integers=keep_integers, hierarchy=trees.get(name),
        )  # fmt: skip
        progress.advance()
    released = table.with_columns(columns).without(prepared.schema.named(Role.IDENTIFIER))
    return released, Loss(losses, *size_measures(grouping), tables=table_errors(prepared, columns))
