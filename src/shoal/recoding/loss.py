"""Information loss: squared error as a share of the total, per column and overall, and the group-size measures.

Thaeter 2021, Def. 2.13 and 2.23 (SSE, SST, information loss), section 3.2 (C_DM, C_AVG). Columns are compared on the
standardised scale. SST is the squared error of replacing the whole column by one representative: its mean or, for
nominal columns, its most frequent category; a loss of 1 is equivalent to replacing the column by that constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import Grouping

if TYPE_CHECKING:
    from shoal.core.frequency_errors import FrequencyErrors


class StatedObjective(Protocol):
    """An objective with a bound, as methods state it."""

    @property
    def name(self) -> str:
        """What is minimised."""
        ...

    @property
    def value(self) -> float:
        """The value that was found."""
        ...

    @property
    def bound(self) -> float | None:
        """A proven lower bound."""
        ...

    @property
    def gap(self) -> float | None:
        """The share by which the value may exceed the best possible one."""
        ...


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
    ncp, total_il
        For generalised columns the mean over cells of the penalties NCP and Total-IL (Thaeter 2021, section 3.2): the
        share of the domain, or of the height of the tree, that a value was widened to.
    total_error
        For numbers that are replaced by means: the error of the released total as a share of the true total. Together
        with the release it discloses the true total, so it is for the data holder only.
    """

    sse: float
    sst: float
    ncp: float | None = None
    total_il: float | None = None
    total_error: float | None = None

    @property
    def information_loss(self) -> float:
        """SSE / SST; 0 for a column without variation."""
        return self.sse / self.sst if self.sst > 0 else 0.0


@dataclass(frozen=True, repr=False)
class Loss:
    """The loss of a release.

    Parameters
    ----------
    columns
        The loss of each quasi-identifier.
    discernibility
        C_DM: the sum of squared group sizes; the best is n k.
    c_avg
        C_AVG: the average group size divided by k; the best is 1.
    frequency_tables
        For categorical microdata: the errors in frequency tables.
    objective
        What the method minimised, with the bound that it proved; None where the reported loss is weighted by sampling
        weights and so another quantity. The objective is the squared error to the means of the groups (standardised,
        weighted columns), for categories the cells that differ within the groups.

    Examples
    --------
    >>> Loss({"age": ColumnLoss(1.0, 4.0)}, 18, 1.0)
    <Loss: information loss 25.00 % over 1 quasi-identifier>
    """

    columns: Mapping[str, ColumnLoss]
    discernibility: int
    c_avg: float
    frequency_tables: FrequencyErrors | None = None
    objective: StatedObjective | None = None

    def __repr__(self) -> str:
        plural = "" if len(self.columns) == 1 else "s"
        text = f"information loss {100 * self.information_loss:.2f} % over {len(self.columns)} quasi-identifier{plural}"
        return f"<Loss: {text}>"

    def __str__(self) -> str:
        from shoal.core.text import text_table

        rows = [(name, f"{100 * column.information_loss:.2f} %") for name, column in self.columns.items()]
        return text_table(("quasi-identifier", "loss"), [*rows, ("all", f"{100 * self.information_loss:.2f} %")])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{100 * column.information_loss:.2f}&nbsp;%</td></tr>"
            for name, column in self.columns.items()
        )
        total = f"<tr><th>all</th><th>{100 * self.information_loss:.2f}&nbsp;%</th></tr>"
        return f"<table><tr><th>quasi-identifier</th><th>information loss</th></tr>{rows}{total}</table>"

    def rows(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return the header and the rows of the table of losses, one row per quasi-identifier."""
        header = ("column", "information_loss", "sse", "sst", "ncp", "total_il")
        return header, [
            (name, column.information_loss, column.sse, column.sst, column.ncp, column.total_il)
            for name, column in self.columns.items()
        ]

    @property
    def bound(self) -> float | None:
        """A proven lower bound of the objective; None if nothing was proven."""
        return None if self.objective is None else self.objective.bound

    @property
    def gap(self) -> float | None:
        """By which share the objective may exceed the best possible value; None if that is unknown."""
        return None if self.objective is None else self.objective.gap

    def over(self, names: Iterable[str]) -> float:
        """Return the information loss of some quasi-identifiers together.

        Examples
        --------
        >>> Loss({"age": ColumnLoss(1.0, 4.0), "sex": ColumnLoss(0.0, 4.0)}, 18, 1.0).over(["sex"])
        0.0
        """
        chosen = [self.columns[name] for name in names]
        total = sum(column.sst for column in chosen)
        return sum(column.sse for column in chosen) / total if total > 0 else 0.0

    @property
    def sse(self) -> float:
        """The squared error over all quasi-identifiers."""
        return sum(column.sse for column in self.columns.values())

    @property
    def sst(self) -> float:
        """The total squared error over all quasi-identifiers."""
        return sum(column.sst for column in self.columns.values())

    @property
    def information_loss(self) -> float:
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
    >>> squared_loss(np.array([-1.0, 1.0]), np.array([0.0, 0.0])).information_loss
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
    """Return the loss of a nominal column: changed cells, against replacing all cells by the most frequent category.

    Examples
    --------
    >>> mismatch_loss(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 0.0])).information_loss
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
