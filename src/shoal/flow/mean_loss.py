"""The loss of a column whose values become means, from sums over its groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Groups
from shoal.flow.encoding import Floats, NumericEncoding
from shoal.recoding.loss import ColumnLoss


@dataclass(frozen=True, eq=False)
class Spread:
    """What the loss of a column is computed from, whatever its means are rounded to; in standard deviations.

    Parameters
    ----------
    means
        The mean of each group; the mean of the column where the group has none.
    weights, deviations
        The sum over each group of weights, and of weighted deviations from its mean.
    inside, total
        The sums of squared deviations from the means of the groups, and from the mean of the column.
    mean
        The mean of the column.
    """

    means: Floats
    weights: Floats
    deviations: Floats
    inside: float
    total: float
    mean: float


def mean_loss(entry: NumericEncoding, spread: Spread, representatives: Floats, *, totals: bool) -> ColumnLoss:
    """Return the loss of a column whose means were rounded.

    Parameters
    ----------
    entry
        The encoding of the column.
    spread
        What :func:`measure_spread` returned.
    representatives
        What is released for each group, as the encoding sees it; NaN where nothing is.
    totals
        Whether a total of the column has a meaning.
    """
    shown = entry.standardised(representatives)
    moved = spread.means - np.where(np.isnan(shown), spread.mean, shown)
    sse = spread.inside + float((moved * (2 * spread.deviations + spread.weights * moved)).sum())
    unit = entry.scale * entry.deviation
    total = float(spread.weights.sum()) * (spread.mean * unit + entry.scale * entry.mean + float(entry.origin))
    difference = float((spread.deviations + spread.weights * moved).sum())
    error = abs(difference * unit / total) if totals and total else None
    return ColumnLoss(max(sse, 0.0), spread.total, total_error=error)


def measure_spread(
    entry: NumericEncoding,
    original: Floats,
    means: Floats,
    grouping: Groups,
    weights: Floats | None,
    *,
    complete: bool,
) -> Spread:
    """Return what the loss is computed from.

    Parameters
    ----------
    entry
        The encoding of the column.
    original
        The values as the encoding sees them; a missing one counts nothing.
    means
        The mean of each group, NaN where it has none.
    grouping
        The groups.
    weights
        Sampling weights, if there are any.
    complete
        Whether the means are those of the original values, and not also of imputed ones.
    """
    labels: NDArray[np.int64] = grouping.labels
    values = entry.standardised(original)
    whole = not (values.size and np.isnan(values.min()))
    if not whole:
        known = ~np.isnan(values)
        values, labels = values[known], labels[known]
        weights = None if weights is None else weights[known]
    mean = float(np.average(values, weights=weights)) if values.size else 0.0
    centres = entry.standardised(means)
    centres = np.where(np.isnan(centres), mean, centres)
    differences = centres[labels]
    np.subtract(values, differences, out=differences)
    if complete and whole and weights is None:
        sums, deviations = grouping.sizes.astype(np.float64), np.zeros(len(grouping))
    else:
        sums = np.bincount(labels, weights, minlength=len(grouping)).astype(np.float64)
        weighted = differences if weights is None else differences * weights
        deviations = np.bincount(labels, weighted, minlength=len(grouping)).astype(np.float64)
    values -= mean
    return Spread(centres, sums, deviations, _squares(differences, weights), _squares(values, weights), mean)


def _squares(differences: Floats, weights: Floats | None) -> float:
    """Return the weighted sum of squares; overwrites the differences, and adds in an order that no thread changes."""
    np.multiply(differences, differences, out=differences)
    if weights is not None:
        differences *= weights
    return float(differences.sum())
