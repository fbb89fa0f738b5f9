"""The released records that are nearest to a known individual: the search of every linkage attack.

Released records of one equivalence class are searched as one point, so that a microaggregated table has at most n/k of
them. Distances are squared Euclidean on columns standardised by the original; a different category, or a missing value
against a known one, adds one. Few numbers and few combinations of categories: a k-d tree per combination. Otherwise all
classes are compared, in blocks: the inner product selects candidates, whose distances are then computed exactly, so
that ties are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import equal_rows
from shoal.evaluate.paired_columns import PairedColumn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_MAX_TREE_COLUMNS = 12
_MAX_TREES = 64
_BLOCK_CELLS = 4_000_000
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Matches:
    """The nearest classes of each searched record, as pairs sorted by record.

    Parameters
    ----------
    rows, classes
        Searched record (0, 1, ...) and one of its nearest classes.
    """

    rows: Integers
    classes: Integers


@dataclass
class Matcher:
    """The equivalence classes of a released table, prepared for the search.

    Parameters
    ----------
    columns
        The quasi-identifiers of both tables.
    known_labels
        The class of each released record, if it was found before.
    """

    columns: Sequence[PairedColumn]
    known_labels: Integers | None = field(default=None, repr=False)
    labels: Integers = field(init=False)
    sizes: Integers = field(init=False)
    first: Integers = field(init=False, repr=False)
    _numbers: Floats = field(init=False, repr=False)
    _codes: NDArray[np.int32] = field(init=False, repr=False)
    _has_missing: list[bool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = self.known_labels
        self.labels = equal_rows([column.released for column in self.columns]) if known is None else known
        self.sizes = np.bincount(self.labels)
        first = np.full(self.sizes.size, -1, np.int64)
        first[self.labels[::-1]] = np.arange(self.labels.size - 1, -1, -1)
        self.first = first
        self._has_missing = [
            column.numeric and bool(np.isnan(column.released).any() or np.isnan(column.original).any())
            for column in self.columns
        ]
        self._numbers, self._codes = self.encode([column.released[first] for column in self.columns])

    def encode(self, values: Sequence[Floats]) -> tuple[Floats, NDArray[np.int32]]:
        """Return values of all columns as a matrix of standardised numbers and a matrix of codes."""
        numbers = [
            np.nan_to_num(column.standardised(part), nan=0.0)
            for column, part in zip(self.columns, values, strict=True)
            if column.numeric
        ]
        codes = [
            np.isnan(part).astype(np.int32) if column.numeric else np.nan_to_num(part, nan=-1.0).astype(np.int32)
            for column, part, has_missing in zip(self.columns, values, self._has_missing, strict=True)
            if has_missing or not column.numeric
        ]
        n = values[0].size
        return (
            np.column_stack(numbers) if numbers else np.empty((n, 0)),
            np.column_stack(codes) if codes else np.empty((n, 0), np.int32),
        )

    def without(self, position: int) -> Matcher:
        """Return the classes without one of the columns, as for an intruder who does not know it."""
        columns = [column for other, column in enumerate(self.columns) if other != position]
        joined = equal_rows([column.released[self.first] for column in columns])
        return Matcher(columns, joined[self.labels])

    def nearest(self, values: Sequence[Floats], progress: Progress = SILENT) -> Matches:
        """Return the nearest classes, all of them where several are equally near.

        Parameters
        ----------
        values
            The known values of the searched individuals, one array per column, on the scale of the columns.
        progress
            Progress callback: the number of individuals that were searched.

        Returns
        -------
        matches
            Pairs of searched record and class.
        """
        numbers, codes = self.encode(values)
        shown, shown_codes = self._numbers, self._codes
        few = len(np.unique(shown_codes, axis=0)) <= _MAX_TREES if codes.shape[1] else True
        if few and 0 < numbers.shape[1] <= _MAX_TREE_COLUMNS:
            return _by_trees(numbers, codes, shown, shown_codes, progress)
        return _by_blocks(numbers, codes, shown, shown_codes, progress)

    def distances(self, values: Sequence[Floats], progress: Progress = SILENT) -> Floats:
        """Return the squared distance of each individual to its nearest class; ``values`` as in :meth:`nearest`."""
        numbers, codes = self.encode(values)
        matches = self.nearest(values, progress)
        first = np.searchsorted(matches.rows, np.arange(len(numbers)))
        classes = matches.classes[first]
        apart: Floats = ((numbers - self._numbers[classes]) ** 2).sum(axis=1)
        return apart + (codes != self._codes[classes]).sum(axis=1)

    def success(self, rows: Integers, matches: Matches) -> Floats:
        """Return the probability that each searched individual is linked to its own record, which is in ``rows``."""
        among = np.bincount(matches.rows, self.sizes[matches.classes], minlength=rows.size)
        own = np.zeros(rows.size, bool)
        own[matches.rows[matches.classes == self.labels[rows][matches.rows]]] = True
        return np.where(own, 1 / among, 0.0)

    def person_success(self, rows: Integers, matches: Matches, units: Integers) -> Floats:
        """Return the probability that each searched row is linked to any row of its own person.

        ``units`` is the person of each released record, 0, 1, ...
        """
        among = np.bincount(matches.rows, self.sizes[matches.classes], minlength=rows.size)
        width = int(self.labels.max()) + 1
        cells, counts = np.unique(units * width + self.labels, return_counts=True)
        wanted = units[rows][matches.rows] * width + matches.classes
        place = np.minimum(np.searchsorted(cells, wanted), cells.size - 1)
        own = np.where(cells[place] == wanted, counts[place], 0)
        found: Floats = np.bincount(matches.rows, own, minlength=rows.size) / among
        return found


def _by_trees(
    numbers: Floats, codes: NDArray[np.int32], shown: Floats, shown_codes: NDArray[np.int32], progress: Progress
) -> Matches:
    """Search one tree per combination of codes: first those with fewest differences, while they can still be nearer."""
    from scipy.spatial import cKDTree

    combinations, which = np.unique(shown_codes, axis=0, return_inverse=True)
    members = [np.flatnonzero(which.reshape(-1) == number) for number in range(len(combinations))]
    trees = [cKDTree(shown[inside]) for inside in members]
    found_rows, found_classes = [], []
    progress.stage("linking records", len(numbers))
    for start in range(0, len(numbers), 1000):
        part = numbers[start : start + 1000]
        differences = (codes[start : start + 1000, None, :] != combinations[None, :, :]).sum(axis=2)
        best = np.full(len(part), np.inf)
        for count in range(codes.shape[1] + 1):
            for number, tree in enumerate(trees):
                rows = np.flatnonzero((differences[:, number] == count) & (best > count))
                if rows.size:
                    best[rows] = np.minimum(best[rows], tree.query(part[rows])[0] ** 2 + count)
        for number, tree in enumerate(trees):
            remaining = best * (1 + 4 * _TOLERANCE) + 1e-300 - differences[:, number]
            rows = np.flatnonzero(remaining >= 0)
            if not rows.size:
                continue
            near = tree.query_ball_point(part[rows], np.sqrt(remaining[rows]) * (1 + _TOLERANCE))
            row = np.repeat(rows, [len(classes) for classes in near])
            classes = members[number][np.concatenate([np.sort(inside) for inside in near]).astype(np.int64)]
            exact = ((part[row] - shown[classes]) ** 2).sum(axis=1) + differences[row, number]
            keep = exact <= best[row] * (1 + 2 * _TOLERANCE) + 1e-300
            found_rows.append(row[keep] + start)
            found_classes.append(classes[keep])
        progress.advance(len(part))
    rows, classes = np.concatenate(found_rows), np.concatenate(found_classes)
    order = np.lexsort((classes, rows))
    return Matches(rows[order], classes[order])


def _by_blocks(
    numbers: Floats, codes: NDArray[np.int32], shown: Floats, shown_codes: NDArray[np.int32], progress: Progress
) -> Matches:
    squares = (shown**2).sum(axis=1)
    step = max(1, _BLOCK_CELLS // max(len(shown), 1))
    found_rows, found_classes = [], []
    progress.stage("linking records", len(numbers))
    for start in range(0, len(numbers), step):
        part, part_codes = numbers[start : start + step], codes[start : start + step]
        own = (part**2).sum(axis=1)
        distance = own[:, None] + squares[None, :] - 2 * (part @ shown.T)
        for column in range(codes.shape[1]):
            distance += part_codes[:, column, None] != shown_codes[None, :, column]
        margin = _TOLERANCE * (1 + own + squares.max(initial=0.0))
        rows, classes = np.nonzero(distance <= distance.min(axis=1)[:, None] + margin[:, None])
        exact = ((part[rows] - shown[classes]) ** 2).sum(axis=1)
        exact += (part_codes[rows] != shown_codes[classes]).sum(axis=1)
        best = np.full(len(part), np.inf)
        np.minimum.at(best, rows, exact)
        keep = exact <= best[rows] * (1 + 2 * _TOLERANCE)
        found_rows.append(rows[keep] + start)
        found_classes.append(classes[keep])
        progress.advance(len(part))
    return Matches(np.concatenate(found_rows), np.concatenate(found_classes))
