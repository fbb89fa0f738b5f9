"""Which released records are nearest to a known person: the search behind every linkage attack.

Released records that look alike are one class, so that a microaggregated table has n/k places to search. Distances are
squared Euclidean on columns standardised by the original; a different category, or a hole against a value, counts one.
Few numbers and few combinations of categories: a k-d tree per combination. Otherwise all classes are compared, in
blocks: the inner product gives a short list, which is then measured exactly, so that ties are ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.evaluate.paired_columns import PairedColumn, equal_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_TREE_WIDTH = 12
_TREES = 64
_BLOCK = 4_000_000
_NEAR = 1e-9


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
    """The classes of a released table, ready to be searched.

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
    _first: Integers = field(init=False, repr=False)
    _numbers: Floats = field(init=False, repr=False)
    _codes: NDArray[np.int32] = field(init=False, repr=False)
    _holes: list[bool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = self.known_labels
        self.labels = equal_rows([column.released for column in self.columns]) if known is None else known
        self.sizes = np.bincount(self.labels)
        first = np.full(self.sizes.size, -1, np.int64)
        first[self.labels[::-1]] = np.arange(self.labels.size - 1, -1, -1)
        self._first = first
        self._holes = [
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
            for column, part, holes in zip(self.columns, values, self._holes, strict=True)
            if holes or not column.numeric
        ]
        n = values[0].size
        return (
            np.column_stack(numbers) if numbers else np.empty((n, 0)),
            np.column_stack(codes) if codes else np.empty((n, 0), np.int32),
        )

    def without(self, place: int) -> Matcher:
        """Return the classes as somebody sees them who does not know one of the columns."""
        columns = [column for other, column in enumerate(self.columns) if other != place]
        joined = equal_rows([column.released[self._first] for column in columns])
        return Matcher(columns, joined[self.labels])

    def nearest(self, values: Sequence[Floats], progress: Progress = SILENT) -> Matches:
        """Return the nearest classes, all of them where several are equally near.

        Parameters
        ----------
        values
            What is known of the searched persons, one array per column, on the scale of the columns.
        progress
            Hears how many are searched.

        Returns
        -------
        matches
            Pairs of searched record and class.
        """
        numbers, codes = self.encode(values)
        shown, shown_codes = self._numbers, self._codes
        few = len(np.unique(shown_codes, axis=0)) <= _TREES if codes.shape[1] else True
        if few and 0 < numbers.shape[1] <= _TREE_WIDTH:
            return _by_trees(numbers, codes, shown, shown_codes, progress)
        return _by_blocks(numbers, codes, shown, shown_codes, progress)

    def success(self, rows: Integers, matches: Matches) -> Floats:
        """Return the chance that each searched person is linked to its own record; ``rows`` says which they are."""
        among = np.bincount(matches.rows, self.sizes[matches.classes], minlength=rows.size)
        own = np.zeros(rows.size, bool)
        own[matches.rows[matches.classes == self.labels[rows][matches.rows]]] = True
        return np.where(own, 1 / among, 0.0)


def _by_trees(
    numbers: Floats, codes: NDArray[np.int32], shown: Floats, shown_codes: NDArray[np.int32], progress: Progress
) -> Matches:
    """Search one tree per combination of codes: first those with fewest differences, while they can still be nearer."""
    from scipy.spatial import cKDTree

    combinations, which = np.unique(shown_codes, axis=0, return_inverse=True)
    members = [np.flatnonzero(which.reshape(-1) == place) for place in range(len(combinations))]
    trees = [cKDTree(shown[inside]) for inside in members]
    found_rows, found_classes = [], []
    progress.stage("linking records", len(numbers))
    for start in range(0, len(numbers), 1000):
        part = numbers[start : start + 1000]
        differences = (codes[start : start + 1000, None, :] != combinations[None, :, :]).sum(axis=2)
        best = np.full(len(part), np.inf)
        for count in range(codes.shape[1] + 1):
            for place, tree in enumerate(trees):
                rows = np.flatnonzero((differences[:, place] == count) & (best > count))
                if rows.size:
                    best[rows] = np.minimum(best[rows], tree.query(part[rows])[0] ** 2 + count)
        for place, tree in enumerate(trees):
            left = best * (1 + 4 * _NEAR) + 1e-300 - differences[:, place]
            rows = np.flatnonzero(left >= 0)
            if not rows.size:
                continue
            near = tree.query_ball_point(part[rows], np.sqrt(left[rows]) * (1 + _NEAR))
            row = np.repeat(rows, [len(classes) for classes in near])
            classes = members[place][np.concatenate([np.sort(inside) for inside in near]).astype(np.int64)]
            exact = ((part[row] - shown[classes]) ** 2).sum(axis=1) + differences[row, place]
            keep = exact <= best[row] * (1 + 2 * _NEAR) + 1e-300
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
    step = max(1, _BLOCK // max(len(shown), 1))
    found_rows, found_classes = [], []
    progress.stage("linking records", len(numbers))
    for start in range(0, len(numbers), step):
        part, part_codes = numbers[start : start + step], codes[start : start + step]
        own = (part**2).sum(axis=1)
        distance = own[:, None] + squares[None, :] - 2 * (part @ shown.T)
        for column in range(codes.shape[1]):
            distance += part_codes[:, column, None] != shown_codes[None, :, column]
        slack = _NEAR * (1 + own + squares.max(initial=0.0))
        rows, classes = np.nonzero(distance <= distance.min(axis=1)[:, None] + slack[:, None])
        exact = ((part[rows] - shown[classes]) ** 2).sum(axis=1)
        exact += (part_codes[rows] != shown_codes[classes]).sum(axis=1)
        best = np.full(len(part), np.inf)
        np.minimum.at(best, rows, exact)
        keep = exact <= best[rows] * (1 + 2 * _NEAR)
        found_rows.append(rows[keep] + start)
        found_classes.append(classes[keep])
        progress.advance(len(part))
    return Matches(np.concatenate(found_rows), np.concatenate(found_classes))
