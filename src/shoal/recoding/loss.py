"""What was lost: squared error as a share of the total, per column and overall, and the group-size measures.

Thaeter 2021, Def. 2.13 and 2.23 (SSE, SST, information loss), section 3.2 (C_DM, C_AVG). Columns are compared on the
standardised scale. SST is the squared error of replacing the whole column by one representative: its mean or, for
nominal columns, its most frequent category; so a loss of 1 means that a column tells no more than that one value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.core.frequency_errors import FrequencyErrors
from shoal.core.grouping import Grouping


@dataclass(frozen=True)
class ColumnLoss:
    """The loss of one column.

    Parameters
    ----------
    sse
        Sum of squared differences between original and released values, in standard deviations; for nominal columns the
        number of changed cells.
    sst
        The same if the whole column were replaced by one value.
    ncp, height
        For generalised columns the mean over cells of the penalties NCP and Total-IL (Thaeter 2021, section 3.2): the
        share of the domain, or of the height of the tree, that a value was widened to.
    """

    sse: float
    sst: float
    ncp: float | None = None
    height: float | None = None

    @property
    def information(self) -> float:
        """SSE / SST; 0 for a column without variation."""
        return self.sse / self.sst if self.sst > 0 else 0.0


@dataclass(frozen=True)
class Loss:
    """The loss of a release.

    Parameters
    ----------
    columns
        The loss of each quasi-identifier.
    discernibility
        C_DM: the sum of squared group sizes; the best is n k.
    average_size
        C_AVG: the average group size divided by k; the best is 1.
    tables
        For tables of categories: the errors in frequency tables.
    bound, gap
        Where the method proved it: no grouping costs less than ``bound``, and this one costs at most the share ``gap``
        more. The cost is what the method minimises: the squared error to the means of the groups (standardised,
        weighted columns), or for categories the cells that differ within the groups.
    """

    columns: Mapping[str, ColumnLoss]
    discernibility: int
    average_size: float
    tables: FrequencyErrors | None = None
    bound: float | None = None
    gap: float | None = None

    @property
    def sse(self) -> float:
        """The squared error over all quasi-identifiers."""
        return sum(column.sse for column in self.columns.values())

    @property
    def sst(self) -> float:
        """The total squared error over all quasi-identifiers."""
        return sum(column.sst for column in self.columns.values())

    @property
    def information(self) -> float:
        """SSE / SST, a fraction; 0 where nothing varies."""
        return self.sse / self.sst if self.sst > 0 else 0.0


def squared_loss(
    original: NDArray[np.float64], released: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> ColumnLoss:
    """Return the loss of a numeric or ordinal column, both versions standardised alike.

    A value that was missing counts nothing; a value that was suppressed (missing in the release only) counts as if
    replaced by the mean.

    Examples
    --------
    >>> squared_loss(np.array([-1.0, 1.0]), np.array([0.0, 0.0])).information
    1.0
    """
    known = ~np.isnan(original)
    if not known.all():
        original, released = original[known], released[known]
        weights = None if weights is None else weights[known]
    mean = float(np.average(original, weights=weights)) if original.size else 0.0
    if np.isnan(released).any():
        released = np.nan_to_num(released, nan=mean)
    return ColumnLoss(_sum_of_squares(original - released, weights), _sum_of_squares(original - mean, weights))


def _sum_of_squares(differences: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Return the weighted sum of squares; overwrites the differences, and adds in an order that no thread changes."""
    np.multiply(differences, differences, out=differences)
    if weights is not None:
        differences *= weights
    return float(differences.sum())


def mismatch_loss(
    original: NDArray[np.float64], released: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> ColumnLoss:
    """Return the loss of a nominal column: changed cells, against giving everybody the most frequent category.

    Examples
    --------
    >>> mismatch_loss(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 0.0])).information
    1.0
    """
    known = ~np.isnan(original)
    original = original[known]
    weights = np.ones(original.size) if weights is None else weights[known]
    frequency = np.bincount(original.astype(np.int64), weights) if original.size else np.zeros(1)
    changed = weights[original != released[known]]
    return ColumnLoss(float(changed.sum()), float(frequency.sum() - frequency.max()))


def size_measures(grouping: Grouping) -> tuple[int, float]:
    """Return discernibility C_DM and normalised average group size C_AVG.

    Examples
    --------
    >>> size_measures(Grouping([0, 0, 0, 1, 1, 1], k=3))
    (18, 1.0)
    """
    return int((grouping.sizes**2).sum()), grouping.n / len(grouping) / grouping.k
