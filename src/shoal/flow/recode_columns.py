"""One column after grouping: every value replaced by the representative of its group, and what that cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping
from shoal.core.hierarchy import Hierarchy
from shoal.evaluate.generalisation_penalties import extent_penalty
from shoal.flow.encoding import CategoryCodec, Codec, NumericCodec
from shoal.recoding.generalisation import Generalised, generalise_by_hierarchy, generalise_to_sets, text_series
from shoal.recoding.loss import ColumnLoss, mismatch_loss, squared_loss
from shoal.recoding.means import group_means
from shoal.recoding.medians import group_medians
from shoal.recoding.modes import group_modes
from shoal.recoding.range_texts import group_ranges, range_texts
from shoal.recoding.rounding import round_keeping_sum
from shoal.recoding.suppression import group_agreement, with_holes
from shoal.schema.columns import Kind, Recode


def recode_column(
    codec: Codec,
    series: nw.Series[Any],
    values: NDArray[np.float64],
    grouping: Grouping,
    *,
    original: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    medoids: NDArray[np.int64] | None,
    keep_integers: bool,
    hierarchy: Hierarchy | None = None,
) -> tuple[nw.Series[Any], ColumnLoss]:
    """Return the released column and its loss.

    Parameters
    ----------
    codec
        The codec of the column.
    series
        The column as it came, for its type.
    values
        Its values as the codec sees them, holes filled as the policy says.
    grouping
        The groups.
    original
        Its values without any filling, against which the loss is measured.
    weights
        Sampling weights.
    medoids
        The record that stands for each group, where one record does: the nearest to the centroid, or the one that
        keeps frequency tables right.
    keep_integers
        Whether integer columns stay integers.
    hierarchy
        The tree of the column, where a node of it is the representative.
    """
    recode = codec.column.representative
    if recode == Recode.RANGE:
        lowest, highest = group_ranges(values, grouping)
        representatives = values[lowest] / 2 + values[highest] / 2
        released = _range_series(codec, series, values, grouping)
        loss = _loss(codec, original, representatives[grouping.labels], weights)
        charged = extent_penalty(values, grouping)
        return released, _with_penalties(loss, charged, charged, grouping, weights)
    if recode in {Recode.SET, Recode.HIERARCHY}:
        if recode == Recode.SET:
            found = generalise_to_sets(codec, series, values, grouping)
        else:
            assert hierarchy is not None
            found = generalise_by_hierarchy(codec, series, values, grouping, hierarchy)
        loss = _generalised_loss(codec, original, found, grouping, weights)
        released = text_series(found.texts, grouping, series)
        return released, _with_penalties(loss, found.ncp, found.height, grouping, weights)
    if recode == Recode.SUPPRESS:
        holes = ~group_agreement(values, grouping)
        kept = np.where(holes[grouping.labels], np.nan, values)
        released = with_holes(codec.restore(values, series), holes[grouping.labels])
        charged = holes.astype(np.float64)
        return released, _with_penalties(_loss(codec, original, kept, weights), charged, charged, grouping, weights)
    if recode in {Recode.MEDOID, Recode.TABLES}:
        assert medoids is not None
        representatives = values[medoids]
    elif recode in {Recode.MIN, Recode.MAX, Recode.MIDRANGE}:
        lowest, highest = group_ranges(values, grouping)
        ends = {Recode.MIN: (lowest, lowest), Recode.MAX: (highest, highest), Recode.MIDRANGE: (lowest, highest)}[
            recode
        ]
        representatives = values[ends[0]] / 2 + values[ends[1]] / 2
    elif recode == Recode.MODE:
        representatives = _modes(values, grouping, weights)
    elif recode == Recode.MEDIAN:
        representatives = group_medians(values, grouping, weights, lower=codec.column.kind == Kind.ORDINAL)
    else:
        representatives = group_means(values, grouping, weights)
    if isinstance(codec, NumericCodec) and codec.whole and keep_integers:
        sizes = grouping.sizes if weights is None else np.bincount(grouping.labels, weights)
        representatives = (
            round_keeping_sum(representatives, sizes.astype(np.float64))
            if recode == Recode.MEAN
            else np.rint(representatives)
        )
    changed = representatives[grouping.labels]
    return codec.restore(changed, series, keep_integers=keep_integers), _loss(codec, original, changed, weights)


def _modes(values: NDArray[np.float64], grouping: Grouping, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the most frequent value of each group; a missing one counts as a value."""
    distinct, codes = np.unique(values, return_inverse=True)  # equal NaN are one value
    return distinct[group_modes(codes.reshape(-1), grouping, weights)]


def _range_series(
    codec: Codec, series: nw.Series[Any], values: NDArray[np.float64], grouping: Grouping
) -> nw.Series[Any]:
    lowest, highest = group_ranges(values, grouping)
    texts = range_texts(*(codec.restore(values[ends], series).to_list() for ends in (lowest, highest)))
    column = np.array(texts, dtype=object)[grouping.labels]
    return nw.new_series(series.name, column.tolist(), nw.String, backend=series.implementation)


def _generalised_loss(
    codec: Codec,
    original: NDArray[np.float64],
    found: Generalised,
    grouping: Grouping,
    weights: NDArray[np.float64] | None,
) -> ColumnLoss:
    """Return the loss of a reader who takes the mean of what a text stands for, or guesses among its categories."""
    if isinstance(codec, NumericCodec) or codec.column.kind == Kind.ORDINAL:
        return _loss(codec, original, found.values[grouping.labels], weights)
    whole = mismatch_loss(original, original, weights)
    wrong = np.where(np.isnan(original), 0.0, 1 - 1 / found.options[grouping.labels])
    return ColumnLoss(float(wrong.sum() if weights is None else wrong @ weights), whole.sst)


def _with_penalties(
    loss: ColumnLoss,
    ncp: NDArray[np.float64],
    height: NDArray[np.float64],
    grouping: Grouping,
    weights: NDArray[np.float64] | None,
) -> ColumnLoss:
    """Return the loss with the mean penalties of its cells."""
    sizes = grouping.sizes if weights is None else np.bincount(grouping.labels, weights)
    total = float(sizes.sum())
    return replace(loss, ncp=float(ncp @ sizes) / total, height=float(height @ sizes) / total)


def _loss(
    codec: Codec, original: NDArray[np.float64], changed: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> ColumnLoss:
    if isinstance(codec, CategoryCodec) and codec.column.kind == Kind.NOMINAL:
        return mismatch_loss(original, changed, weights)
    return squared_loss(codec.standardised(original), codec.standardised(changed), weights)
