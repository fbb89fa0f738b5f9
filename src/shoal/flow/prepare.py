"""From a table and its schema to what a method needs: codecs, filled holes, and blocks that no group may cross.

A block is a set of records with the same strata and, where holes form groups of their own, the same pattern of holes.
Nothing is ever dropped: a record with holes is refused, imputed, given a category "missing", or grouped with records
that have the same holes, according to the policy that the user chose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.errors import DataError, MissingValues, SchemaError
from shoal.flow.encoding import Codec, encode, fit_codec, missing_mask
from shoal.methods.registry import check_k
from shoal.recoding import group_medians, group_modes
from shoal.schema.columns import Kind, Missing, Schema
from shoal.tables import Table


@dataclass
class Prepared:
    """A table ready to be grouped.

    Parameters
    ----------
    table, schema
        What was prepared.
    codecs
        One per quasi-identifier, in the order of the table.
    blocks
        The records of each block, in ascending order.
    weights
        Sampling weights, if there are any.
    changed
        Values of the columns whose holes were imputed, or in which values were suppressed.
    imputed, suppressed
        How many cells of which column.
    standing
        For each record the record that stands for it, where the method chose representatives too.
    """

    table: Table
    schema: Schema
    codecs: list[Codec]
    blocks: list[NDArray[np.int64]] = field(default_factory=list)
    weights: NDArray[np.float64] | None = None
    changed: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    imputed: dict[str, int] = field(default_factory=dict)
    suppressed: dict[str, int] = field(default_factory=dict)
    standing: NDArray[np.int64] | None = None

    def values(self, codec: Codec) -> NDArray[np.float64]:
        """Return the values of a column as the codec sees them, holes filled as the policy says."""
        name = codec.column.name
        return self.changed[name] if name in self.changed else codec.values(self.table.column(name))

    def points(self, dtype: type[np.generic] = np.float64) -> NDArray[Any]:
        """Return the matrix of points."""
        return encode(self.codecs, self.table, self.changed, dtype)

    def codes(self) -> NDArray[np.int32]:
        """Return the categories of all quasi-identifiers as codes, for methods that work on categories.

        A hole that stays one (records with the same holes are grouped) counts as a category of its own.
        """
        values = [self.values(codec) for codec in self.codecs]
        known = [np.where(np.isnan(column), np.nanmax(column, initial=-1.0) + 1.0, column) for column in values]
        return np.column_stack([column.astype(np.int32) for column in known])


def prepare(table: Table, schema: Schema, k: int) -> Prepared:
    """Check a table against its schema and prepare it for grouping; raises before any expensive work."""
    if not schema.quasi:
        raise SchemaError(
            "no quasi-identifier is left to protect; name the columns that an outsider may know, "
            "for example quasi=age,region"
        )
    check_k(k, table.n_rows)
    holes = {column.name: missing_mask(table.column(column.name)) for column in schema.quasi}
    holes = {name: mask for name, mask in holes.items() if mask.any()}
    policies = {name: schema[name].missing or schema.missing for name in holes}
    _refuse_holes(holes, policies, schema)
    codecs = [
        fit_codec(
            table.column(column.name),
            column,
            missing_is_value=policies.get(column.name) == Missing.AS_VALUE,
        )
        for column in schema.quasi
    ]
    prepared = Prepared(table, schema, codecs, weights=_sampling_weights(table, schema))
    for codec in codecs:
        if policies.get(codec.column.name) == Missing.IMPUTE:
            _impute(prepared, codec, holes[codec.column.name])
    own = {name: mask for name, mask in holes.items() if policies[name] == Missing.OWN_GROUP}
    prepared.blocks = _blocks(prepared, own, k)
    return prepared


def _refuse_holes(holes: dict[str, NDArray[np.bool_]], policies: dict[str, Missing], schema: Schema) -> None:
    refused = {name: int(holes[name].sum()) for name, policy in policies.items() if policy == Missing.REFUSE}
    if refused:
        counts = ", ".join(f'"{name}" ({count})' for name, count in refused.items())
        raise MissingValues(
            f"missing values in {counts}; choose what happens to them with missing= (command line: --missing): "
            "own-group (records with the same holes are grouped together), impute (median or most frequent value), "
            "or as-value (nominal columns only)"
        )
    as_value = [
        name for name, policy in policies.items() if policy == Missing.AS_VALUE and schema[name].kind != Kind.NOMINAL
    ]
    if as_value:
        counts = ", ".join(f'"{name}" ({int(holes[name].sum())}, {schema[name].kind})' for name in as_value)
        raise MissingValues(
            f"missing=as-value works for nominal columns only, but there are missing values in {counts}; choose "
            "missing=own-group or missing=impute for these"
        )


def _sampling_weights(table: Table, schema: Schema) -> NDArray[np.float64] | None:
    name = schema.sampling_weight
    if name is None:
        return None
    series = table.column(name)
    if not series.dtype.is_numeric():
        raise DataError(f'column "{name}" holds sampling weights and must be numeric, not {series.dtype}')
    weights = series.cast(nw.Float64).to_numpy()
    bad = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if bad:
        raise DataError(
            f'column "{name}" holds sampling weights, but {bad} of its {weights.size} values are missing, infinite or '
            "not positive"
        )
    return np.asarray(weights, np.float64)


def _impute(prepared: Prepared, codec: Codec, holes: NDArray[np.bool_]) -> None:
    """Fill holes with the median, or with the most frequent category."""
    name = codec.column.name
    values = codec.values(prepared.table.column(name)).copy()
    known = values[~holes]
    if not known.size:
        raise DataError(f'column "{name}" has no value at all, so nothing can be imputed; drop it or call it other')
    everything = Grouping(np.zeros(known.size, np.int64), k=1)
    weights = None if prepared.weights is None else prepared.weights[~holes]
    if codec.column.kind == Kind.NOMINAL:
        values[holes] = group_modes(known.astype(np.int64), everything, weights)[0]
    else:
        values[holes] = group_medians(known, everything, weights, lower=codec.column.kind == Kind.ORDINAL)[0]
    prepared.changed[name] = values
    prepared.imputed[name] = int(holes.sum())


def _blocks(prepared: Prepared, own: dict[str, NDArray[np.bool_]], k: int) -> list[NDArray[np.int64]]:
    """Return the records of each block; suppresses values where a pattern of holes is too rare."""
    n = prepared.table.n_rows
    strata = _strata(prepared.table, prepared.schema.within, k)
    blocks: list[NDArray[np.int64]] = []
    suppress = {name: np.zeros(n, bool) for name in own}
    for records in strata:
        if not own:
            blocks.append(records)
            continue
        patterns = np.column_stack([mask[records] for mask in own.values()])
        for members, pattern in _merge_rare_patterns(patterns, k):
            chosen = records[members]
            blocks.append(chosen)
            for place, name in enumerate(own):
                if pattern[place]:
                    suppress[name][chosen] = True
    for codec in prepared.codecs:
        name = codec.column.name
        extra = int((suppress[name] & ~own[name]).sum()) if name in own else 0
        if extra:
            values = codec.values(prepared.table.column(name)).copy()
            values[suppress[name]] = np.nan
            prepared.changed[name] = values
            prepared.suppressed[name] = extra
    return sorted(blocks, key=lambda block: int(block[0]))


def _strata(table: Table, within: tuple[str, ...], k: int) -> list[NDArray[np.int64]]:
    if not within:
        return [np.arange(table.n_rows)]
    frame = pl.DataFrame({str(i): table.column(name).to_polars() for i, name in enumerate(within)})
    groups = frame.with_row_index("row").group_by(frame.columns, maintain_order=True).agg("row")["row"]
    strata = [np.asarray(rows.to_numpy(), np.int64) for rows in groups]
    small = [rows.size for rows in strata if rows.size < k]
    if small:
        names = " x ".join(f'"{name}"' for name in within)
        raise DataError(
            f"groups must not cross {names}, but {len(small)} of its {len(strata)} strata have fewer than k={k} "
            f"records (the smallest has {min(small)}); merge small strata or choose a smaller k"
        )
    return strata


def _merge_rare_patterns(patterns: NDArray[np.bool_], k: int) -> list[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Return the records of each pattern of holes; a pattern with fewer than k records joins another.

    Two patterns join by taking the holes of both, which suppresses values; the pair that suppresses fewest joins.
    """
    distinct, which, counts = np.unique(patterns, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    members = np.split(order, np.cumsum(counts)[:-1])
    while counts.size > 1 and counts.min() < k:
        rare = int(counts.argmin())
        newly_rare = (distinct & ~distinct[rare]).sum(axis=1) * counts[rare]
        newly_other = (distinct[rare] & ~distinct).sum(axis=1) * counts
        price = newly_rare + newly_other
        price[rare] = np.iinfo(price.dtype).max
        other = int(price.argmin())
        distinct[other] |= distinct[rare]
        counts[other] += counts[rare]
        members[other] = np.sort(np.concatenate([members[other], members[rare]]))
        del members[rare]
        distinct, counts = np.delete(distinct, rare, axis=0), np.delete(counts, rare)
    return list(zip(members, distinct, strict=True))
