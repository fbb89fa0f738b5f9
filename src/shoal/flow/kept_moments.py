"""Means and covariances kept: the representatives of all numeric columns moved by one linear map.

The map (:mod:`shoal.recoding.moment_map`) gives the released columns the covariance matrix of the original. Groups stay
as they are: equal representatives stay equal, so k and all requirements are untouched. Moved representatives stay
between the smallest and the largest plain representative of their column, or between bounds that the user names, never
at the observed extremes, which may be values of single records; and none becomes a value that fewer than k records
have, unless the plain release has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.group_statistics import GroupSummary
from shoal.flow.exact_numbers import FloatMeans, FloatNumbers, Representatives, WholeMeans
from shoal.recoding.moment_map import covariance, restore_moments
from shoal.recoding.rounded_means import round_floats, round_whole, whole_bases
from shoal.schema.plan import JsonDict

if TYPE_CHECKING:
    from shoal.flow.column_recode import MeanColumn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Array = TypeVar("Array", NDArray[np.int64], NDArray[np.float64])
_TRIED_STEPS = 10


@dataclass(frozen=True)
class KeptMoments:
    """What a map of the representatives restored.

    Parameters
    ----------
    columns
        The columns that were moved.
    restored
        The share of the variances that can be restored: less than 1 where there are fewer groups than columns.
    limited
        The share of the cells that had to be brought back into the range of the plain representatives.
    variances, plain_variances
        For each column, variance of the release over that of the original, less one; with the map, and for plain means.
    correlations, plain_correlations
        The mean difference of the correlations of any two columns; with the map, and for plain means. None for one
        column.
    """

    columns: tuple[str, ...]
    restored: float
    limited: float
    variances: Mapping[str, float]
    plain_variances: Mapping[str, float]
    correlations: float | None
    plain_correlations: float | None

    def to_dict(self) -> JsonDict:
        """Return the figures for JSON."""
        return asdict(self)


def keep_moments(
    columns: Mapping[str, MeanColumn], k: int, bounds: Mapping[str, tuple[float, float]] | None = None
) -> tuple[dict[str, Representatives], KeptMoments]:
    """Return representatives whose means and covariances are those of the original.

    Parameters
    ----------
    columns
        The columns that are replaced by means, with their groups and plain representatives.
    k
        A value that fewer records have is not released, unless the plain release has it.
    bounds
        The smallest and the largest value of a column, instead of those of the plain representatives.

    Returns
    -------
    representatives, kept
        The moved representatives of the columns that vary, and what was restored.
    """
    varying = {name: column for name, column in columns.items() if column.deviation > 0}
    names = list(varying)
    task = next(iter(columns.values())).task
    grouping = task.grouping
    weights = np.ones(grouping.n) if task.weights is None else task.weights
    group_weights = np.bincount(grouping.labels, weights, minlength=len(grouping)).astype(np.float64)
    if not names:
        return {}, KeptMoments((), 1.0, 0.0, {}, {}, None, None)
    scales = [_Scale.of(column, weights) for column in varying.values()]
    records = np.column_stack(
        [scale.standardised(column.task.values) for scale, column in zip(scales, varying.values(), strict=True)]
    )
    centroids = np.column_stack(
        [scale.standardised(column.means.offsets) for scale, column in zip(scales, varying.values(), strict=True)]
    )
    before, plain = covariance(records, weights), covariance(centroids, group_weights)
    shown = np.column_stack(
        [scale.standardised(column.plain.offsets) for scale, column in zip(scales, varying.values(), strict=True)]
    )
    limits = shown.min(axis=0), shown.max(axis=0)
    bounds = bounds or {}
    for place, (name, column) in enumerate(varying.items()):
        if name in bounds:
            ends = np.array(bounds[name]) - float(column.entry.origin)
            limits[0][place], limits[1][place] = scales[place].standardised(ends)
    moved = restore_moments(before, centroids, group_weights, limits)
    cells = moved.outside * grouping.sizes[:, None]
    representatives, after = {}, np.empty_like(centroids)
    for place, (name, column) in enumerate(varying.items()):
        representatives[name] = _released(column, scales[place].offsets(moved.values[:, place]), k, bounds.get(name))
        after[:, place] = scales[place].standardised(representatives[name].offsets)
    centre = (after * group_weights[:, None]).sum(axis=0) / group_weights.sum()
    kept = covariance(after - centre, group_weights)
    figures = KeptMoments(
        tuple(names),
        moved.restored,
        float(cells.sum()) / (grouping.n * len(names)),
        dict(zip(names, (np.diag(kept) / np.diag(before) - 1).tolist(), strict=True)),
        dict(zip(names, (np.diag(plain) / np.diag(before) - 1).tolist(), strict=True)),
        _correlations(before, kept),
        _correlations(before, plain),
    )
    return representatives, figures


@dataclass(frozen=True)
class _Scale:
    """Weighted mean and deviation of a column, and the way from its encoding to standard deviations and back."""

    column: MeanColumn
    mean: float
    deviation: float

    @classmethod
    def of(cls, column: MeanColumn, weights: Floats) -> _Scale:
        values = column.entry.standardised(column.task.values)
        known = ~np.isnan(values)
        share = weights[known] / weights[known].sum()
        mean = float((values[known] * share).sum())
        deviation = float(np.sqrt(((values[known] - mean) ** 2 * share).sum()))
        return cls(column, mean, deviation if deviation > 0 else 1.0)

    def standardised(self, offsets: Floats) -> Floats:
        """Return offsets in standard deviations from the mean; a missing value is at the mean."""
        values = (self.column.entry.standardised(offsets) - self.mean) / self.deviation
        return np.nan_to_num(values, nan=0.0)

    def offsets(self, standard: Floats) -> Floats:
        """Return standardised values as the encoding of the column has them."""
        entry = self.column.entry
        return ((standard * self.deviation + self.mean) * entry.deviation + entry.mean) * entry.scale


def _correlations(before: Floats, after: Floats) -> float | None:
    """Return the mean difference of the correlations; a column without variance has none."""
    d = len(before)
    if d < 2:
        return None
    found = []
    for matrix in (before, after):
        scale = np.sqrt(np.diag(matrix))
        products = scale[:, None] * scale[None, :]
        found.append(np.divide(matrix, products, out=np.zeros_like(matrix), where=products > 0))
    pairs = np.triu_indices(d, 1)
    return float(np.abs(found[0] - found[1])[pairs].mean())


def _released(column: MeanColumn, offsets: Floats, k: int, bounds: tuple[float, float] | None) -> Representatives:
    """Return moved representatives in the type of the column: rounded, in range, and no value of fewer than k records.

    Parameters
    ----------
    column
        The column.
    offsets
        The moved representatives as the encoding sees them.
    k, bounds
        As in :func:`keep_moments`.
    """
    missing = np.isnan(column.plain.offsets)
    if isinstance(column.means, WholeMeans):
        return _whole(column, column.means, offsets, missing, k, bounds)
    return _floats(column, column.means, offsets, missing, k, bounds)


def _whole(
    column: MeanColumn, means: WholeMeans, offsets: Floats, missing: NDArray[np.bool_], k: int,
    bounds: tuple[float, float] | None,
) -> Representatives:  # fmt: skip
    numbers = means.numbers
    plain = _whole_offsets(means, column.plain.offsets)
    values = _whole_offsets(means, column.task.values)
    wanted = offsets if numbers.entry.integer else (offsets + float(numbers.entry.origin)) * 10.0**numbers.decimals
    wanted = wanted if numbers.entry.integer else wanted - numbers.origin
    wanted = np.where(missing, 0.0, wanted)
    low, high = int(plain[~missing].min()), int(plain[~missing].max())
    if bounds is not None:  # inside them, on the unit of the column
        offset = np.array(bounds) - float(column.entry.origin)
        inside = offset if numbers.entry.integer else np.array(bounds) * 10.0**numbers.decimals - numbers.origin
        low, high = math.ceil(inside[0] - 1e-9), math.floor(inside[1] + 1e-9)
        low, high = min(low, high), max(low, high)
    ends = np.full(wanted.size, low), np.full(wanted.size, high)
    if column.draws is None:
        bases, moved = np.ones(wanted.size, np.int64), np.rint(wanted).astype(np.int64)
    else:
        bases = whole_bases(means.highest - means.lowest, column.task.grouping.sizes, numbers.ladder())
        below = np.floor(wanted)
        moved = round_whole((below.astype(np.int64), wanted - below), ends, bases, column.draws, numbers.zero)
    moved = np.clip(moved, *ends)
    known = values[~np.isnan(column.task.values)]
    moved = _not_rare(moved, bases, plain[~missing], known, k, ends=(low, high))
    return numbers.released(np.where(missing, 0, moved), missing)


def _whole_offsets(means: WholeMeans, offsets: Floats) -> Integers:
    """Return offsets of the encoding as whole numbers of the unit of the column; 0 where missing."""
    numbers = means.numbers
    if not numbers.entry.integer:
        offsets = (offsets + float(numbers.entry.origin)) * 10.0**numbers.decimals - numbers.origin
    return np.rint(np.nan_to_num(offsets, nan=0.0)).astype(np.int64)


def _floats(
    column: MeanColumn, means: FloatMeans, offsets: Floats, missing: NDArray[np.bool_], k: int,
    bounds: tuple[float, float] | None,
) -> Representatives:  # fmt: skip
    numbers, origin = means.numbers, float(column.entry.origin)
    plain = column.plain.column.cast(pl.Float64).fill_null(np.nan).to_numpy()  # as released, not by way of an offset
    wanted = np.where(missing, np.nan, offsets + origin)
    low, high = (plain[~missing].min(), plain[~missing].max()) if bounds is None else bounds
    if column.draws is None:
        moved = numbers.shortened(wanted)
    else:
        extent = means.summary.highest / 2 - means.summary.lowest / 2
        unit = 0.0 if numbers.decimals is None else 10.0**-numbers.decimals
        around = GroupSummary(wanted, wanted - extent, wanted + extent)
        moved = round_floats(around, column.task.grouping.sizes, column.draws, unit=unit, grain=numbers.grain)
    moved = np.clip(moved, low, high)
    assert isinstance(column.numbers, FloatNumbers)
    original = column.numbers.values
    step = np.zeros(moved.size) if numbers.decimals is None else np.full(moved.size, 10.0**-numbers.decimals)
    known = original[~np.isnan(original)]
    moved = _not_rare(moved, step, plain[~missing], known, k, ends=(low, high), shortened=numbers.shortened)
    return numbers.released(np.where(missing, np.nan, moved))


def _not_rare(
    moved: Array, steps: Array, plain: Array, original: Array, k: int, *, ends: tuple[float, float],
    shortened: Callable[[Array], Array] | None = None,
) -> Array:  # fmt: skip
    """Return representatives of which none is a value that fewer than k records have, unless it is a plain one.

    The next multiple of the step that is allowed is taken, or else the nearest plain representative.
    """
    different, counts = np.unique(original, return_counts=True)
    allowed = np.unique(plain)
    rare = np.setdiff1d(different[counts < k], allowed)
    found = moved.copy()
    open_ = np.isin(moved, rare)
    for distance in range(1, _TRIED_STEPS + 1):
        for sign in (1, -1):
            tried = moved + sign * distance * steps
            tried = tried if shortened is None else shortened(tried)
            fits = open_ & (steps > 0) & ~np.isin(tried, rare) & (tried >= ends[0]) & (tried <= ends[1])
            found[fits] = tried[fits]
            open_ &= ~fits
    if open_.any():
        above = np.clip(np.searchsorted(allowed, moved), 1, max(allowed.size - 1, 1))
        lower, upper = allowed[above - 1], allowed[np.minimum(above, allowed.size - 1)]
        nearest = np.where(moved - lower <= upper - moved, lower, upper)
        found[open_] = nearest[open_]
    return found
