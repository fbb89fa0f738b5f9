"""Requirements counted by persons, and groups joined until all hold.

Where persons have several rows, l and p are matchings of persons to values, and alpha, beta, t, entropy and recursive l
read frequencies with equal weight per person (:mod:`shoal.privacy.person_values`). Two groups that satisfy such a
requirement on frequencies may violate it together, so every join is measured before it is made and all groups are
measured again after it; one group of all rows is no proof that a requirement is out of reach. Matchings, k persons
and the largest share of a person only improve when groups are joined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels
from shoal.core.progress import SILENT, Progress
from shoal.privacy.alpha_k import alpha_of
from shoal.privacy.beta_likeness import basic_beta
from shoal.privacy.confidential import Values
from shoal.privacy.counts import Floats, Integers
from shoal.privacy.equivalence_classes import EquivalenceClasses
from shoal.privacy.l_diversity import entropy_l, recursive_c
from shoal.privacy.person_risk import share_of_persons
from shoal.privacy.person_values import count_person_values, person_totals
from shoal.privacy.t_closeness import closeness
from shoal.schema.requirements import TOLERANCE, Diversity, Requirements

_NEIGHBOURS = 8
_SEARCH_COLUMNS = 8  # columns of largest variance in which neighbours are searched
_ROWS_AT_ONCE = 2_000_000
_GROWING = ("l", "p", "max_share")
"""Requirements that two groups satisfy together if each of them does, by persons too."""


@dataclass(frozen=True, eq=False)
class PersonRequirements:
    """What every group must satisfy, counted by persons.

    Parameters
    ----------
    requirements
        The requested values.
    units
        The person of each row of the table, 0, 1, ...
    columns
        The values of the confidential columns.
    """

    requirements: Requirements
    units: Integers
    columns: tuple[Values, ...]

    @cached_property
    def _totals(self) -> tuple[Floats, ...]:
        return tuple(person_totals(self.units, column.codes, column.n_values) for column in self.columns)

    def figures(self, labels: Integers, rows: Integers | None = None) -> dict[tuple[str, str], Floats]:
        """Return the figure of each group for each requirement and column that are requested.

        Parameters
        ----------
        labels
            The group of each row, 0, 1, ..., without gaps.
        rows
            Which rows of the table the labels are about; all if not given. A row may occur several times.
        """
        wanted, found = self.requirements, {}
        units = self.units if rows is None else self.units[rows]
        for column, totals in zip(self.columns, self._totals, strict=True):
            codes = column.codes if rows is None else column.codes[rows]
            values = count_person_values(EquivalenceClasses(labels), units, codes, column.n_values, totals=totals)
            counts = values.averaged
            if wanted.l is not None and wanted.l_kind == Diversity.DISTINCT:
                found["l", column.name] = values.matching.astype(np.float64)
            elif wanted.l is not None and wanted.l_kind == Diversity.ENTROPY:
                found["entropy_l", column.name] = entropy_l(counts)
            elif wanted.recursive_l is not None:
                found["c", column.name] = recursive_c(counts, wanted.recursive_l)
            if wanted.p is not None:
                found["p", column.name] = values.matching.astype(np.float64)
            if wanted.alpha is not None:
                found["alpha", column.name] = alpha_of(counts)
            if wanted.beta is not None:
                found["beta", column.name] = basic_beta(counts)
            if wanted.t is not None:
                found["t", column.name] = closeness(counts, column.distance)
        if wanted.max_share is not None:
            found["max_share", ""] = share_of_persons(labels, units)
        return found

    def violation(self, labels: Integers, rows: Integers | None = None) -> Floats:
        """Return how far each group is from satisfying the requirements; 0 where it satisfies all.

        Examples
        --------
        >>> from shoal.privacy.ground_distances import ORDERED
        >>> units, codes = np.array([0, 0, 0, 1, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0, 1, 1, 1])
        >>> rule = PersonRequirements(Requirements(alpha=0.5), units, (Values("x", codes, 2, ORDERED),))
        >>> rule.violation(np.array([0, 0, 0, 0, 1, 1, 1, 1])).tolist(), rule.violation(np.zeros(8, int)).tolist()
        ([0.0, 0.0], [0.25])
        """
        total = np.zeros(int(labels.max()) + 1)
        for (name, _), figure in self.figures(labels, rows).items():
            total += _excess(name, self._limit(name), figure)
        return total

    def _limit(self, name: str) -> float:
        return float(getattr(self.requirements, "l" if name == "entropy_l" else name))

    def violated(self, labels: Integers, *, growing: bool = False) -> tuple[str, str, float, float] | None:
        """Return name, column, requested value and worst figure of a requirement that groups violate, if any.

        With ``growing`` only requirements that joining never violates are compared.
        """
        for (name, column), figure in self.figures(labels).items():
            if growing and name not in _GROWING:
                continue
            limit = self._limit(name)
            if _excess(name, limit, figure).any():
                worst = figure.min() if name in {"l", "entropy_l", "p"} else figure.max()
                return name.removeprefix("entropy_"), column, limit, float(worst)
        return None

    @property
    def joining_is_safe(self) -> bool:
        """Whether groups that satisfy the requirements always satisfy them together."""
        wanted = {name for name in self.requirements.requested() if name != "l_kind"}
        return wanted <= {"l", "p"} and self.requirements.l_kind == Diversity.DISTINCT


def _excess(name: str, limit: float, figure: Floats) -> Floats:
    """Return by how much each figure violates a limit, 0 where it does not, in numbers of similar size."""
    if name in {"l", "p"}:
        return np.maximum(0.0, limit - figure - TOLERANCE) / limit
    if name == "entropy_l":
        return np.where(figure >= limit - TOLERANCE, 0.0, math.log(limit) - np.log(figure))
    if name == "c":
        return np.where(figure < limit, 0.0, 1.001 - 1.0 / (1.0 + np.maximum(figure - limit, 0.0)))
    over = np.where(figure <= limit + TOLERANCE, 0.0, figure - limit)
    return over / (1.0 + figure) if name == "beta" else over


def join_groups(
    points: Floats,
    labels: Integers,
    rule: PersonRequirements,
    rows: Integers,
    *,
    settled: NDArray[np.bool_] | None = None,
    progress: Progress = SILENT,
) -> tuple[Integers, int]:
    """Join groups with near ones until every group satisfies the requirements, or one group is left.

    Parameters
    ----------
    points
        The coordinates of the rows.
    labels
        Their groups.
    rule
        The requirements.
    rows
        Which rows of the table they are.
    settled
        Which groups need no join whatever they violate, because groups nested in them satisfy the requirements.
    progress
        Progress callback.

    Returns
    -------
    labels, joins
        The groups and the number of joins. The last groups may still violate a requirement.
    """
    before, joins = labels, 0
    labels = canonical_labels(labels)
    fine = np.zeros(int(labels.max()) + 1, bool)
    if settled is not None:
        fine[labels] = settled[before]
    violation = np.where(fine, 0.0, rule.violation(labels, rows))
    progress.stage("satisfying requirements by persons", int((violation > 0).sum()))
    while (queue := np.flatnonzero(violation > 0)).size and violation.size > 1:
        sizes = np.bincount(labels).astype(np.float64)
        centroids = np.column_stack([np.bincount(labels, column) for column in points.T]) / sizes[:, None]
        group, other = _near_pairs(queue, centroids)
        of_both = _violation_of_pairs(group, other, labels, rows, rule)
        cost = ((centroids[group] - centroids[other]) ** 2).sum(axis=1)
        cost *= sizes[group] * sizes[other] / (sizes[group] + sizes[other])
        joined = _chosen_joins(group, other, violation[group] + violation[other] - of_both, cost, sizes.size)
        joins += int((joined != np.arange(sizes.size)).sum())
        alone = np.bincount(joined, minlength=sizes.size)[joined] == 1
        together, labels = labels, canonical_labels(joined[labels])
        fine_alone = np.zeros(int(labels.max()) + 1, bool)
        fine_alone[labels] = (fine & alone)[together]
        fine = fine_alone
        # joining may have broken what each of two groups satisfied
        violation = np.where(fine, 0.0, rule.violation(labels, rows))
        progress.advance()
    return labels, joins


def _near_pairs(queue: Integers, centroids: Floats) -> tuple[Integers, Integers]:
    """Return each group of the queue beside each of its nearest groups."""
    from scipy.spatial import cKDTree

    columns = np.sort(np.argsort(-centroids.var(axis=0), kind="stable")[:_SEARCH_COLUMNS])
    kept = np.ascontiguousarray(centroids[:, columns])
    count = min(_NEIGHBOURS + 1, len(kept))
    _, near = cKDTree(kept).query(kept[queue], k=count)
    group, other = np.repeat(queue, count), np.asarray(near, np.int64).reshape(-1)
    return group[group != other], other[group != other]


def _violation_of_pairs(
    group: Integers, other: Integers, labels: Integers, rows: Integers, rule: PersonRequirements
) -> Floats:
    """Return the violation of each two groups together, measured on their rows."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    starts = np.cumsum(sizes) - sizes
    lengths = np.column_stack([sizes[group], sizes[other]])
    found = np.empty(group.size)
    ends = np.cumsum(lengths.sum(axis=1))
    cuts = np.unique(np.append(np.searchsorted(ends, np.arange(0, ends[-1], _ROWS_AT_ONCE)), group.size))
    for first, last in pairwise(cuts.tolist()):
        part = slice(first, last)
        length = lengths[part].reshape(-1)
        begins = np.column_stack([starts[group[part]], starts[other[part]]]).reshape(-1)
        offsets = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        members = order[np.repeat(begins, length) + offsets]
        pair = np.repeat(np.repeat(np.arange(last - first), 2), length)
        found[part] = rule.violation(pair, rows[members])
    return found


def _chosen_joins(group: Integers, other: Integers, gain: Floats, cost: Floats, n_groups: int) -> Integers:
    """Return what each group becomes: joins with the least cost per violation removed first, each group once.

    A group for which no join removes any violation is joined with its nearest one, if no other join can be made.
    """
    number, free = np.arange(n_groups), np.ones(n_groups, bool)
    useful = gain > TOLERANCE
    ratio = np.where(useful, cost / np.where(useful, gain, 1.0), np.inf)
    for pair in np.argsort(ratio, kind="stable")[: int(useful.sum())].tolist():
        g, h = int(group[pair]), int(other[pair])
        if free[g] and free[h]:
            free[g] = free[h] = False
            number[g] = h
    if free.all():
        cheapest = int(np.argmin(cost))
        number[group[cheapest]] = other[cheapest]
    return number
