"""Special uniques: the combinations of columns that make records unique, and k for intruders who know few columns.

A set of columns is a *minimal sample unique* of a record if the record is alone with its values in these columns and is
not alone in any proper subset of them (Elliot, Manning and Ford 2002). The fewer columns it takes, the likelier an
intruder knows them, and the likelier the record is unique in the population as well. The score of a record adds
(d - s)! for each of its minimal uniques of s of the d columns. DIS-SUDA is an estimate of the probability that a match
with the record is correct: the data intrusion simulation D = U q / (U q + P (1 - q)) of Skinner and Elliot (2002), with
U unique records, P records in pairs and the sampling fraction q, distributed over the records by their scores.

The same pass counts the classes of every subset of the columns, which is k for an intruder who knows only these.

Where the records of a person are known, "alone" is a person: a record is unique if all records with its values are
those of one person, and k counts persons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import distinct_per_class
from shoal.core.text import percent
from shoal.errors import DataError, ParameterError, SchemaError
from shoal.evaluate.population_risk import check_sampling_fraction
from shoal.evaluate.subset_classes import MAX_BITS, SubsetCounts, count_subsets
from shoal.privacy.k_anonymity import class_labels
from shoal.tables import Table

DEFAULT_SIZE = 6
"""The largest number of columns that are combined, unless another is requested or the table is too large for it."""
MAX_CELLS = 20_000_000_000
"""The most records times subsets that are counted; a minute or two."""
PERSONS_NOTE = (
    "Persons were counted: a record is unique if all records with its values are those of one person, and classes are "
    "as large as the number of their persons."
)
_MOST_SHOWN = 10
_MANY_VALUES = 10  # a column with more than n / 10 values


@dataclass(frozen=True)
class ColumnSet:
    """The classes that one set of columns forms.

    Parameters
    ----------
    columns
        The columns.
    k
        The size of the smallest class, in persons where they are known: k for an intruder who knows only these columns.
    classes
        The number of classes: different combinations of values.
    small_classes, small_records
        The number of classes of fewer than k records (or persons), and of the records in them.
    separation
        The share of pairs of records that the columns separate.
    minimal_uniques
        The number of records that are unique in these columns and in no proper subset of them.
    share
        The share of the total score that these minimal uniques have.
    """

    columns: tuple[str, ...]
    k: int
    classes: int
    small_classes: int
    small_records: int
    separation: float
    minimal_uniques: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {**vars(self), "columns": list(self.columns)}


@dataclass(frozen=True)
class KnownColumns:
    """The worst that an intruder meets who knows any s of the columns.

    Parameters
    ----------
    known
        The number of columns s.
    sets
        The number of sets of s columns.
    k
        The size of the smallest class in any of them.
    worst
        The set with most records in small classes; the first of several.
    small_classes
        Classes of fewer than k records (or persons), over all these sets.
    minimal_uniques
        Minimal sample uniques of this size.
    """

    known: int
    sets: int
    k: int
    worst: tuple[str, ...]
    small_classes: int
    minimal_uniques: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {**vars(self), "worst": list(self.worst)}


@dataclass(frozen=True, eq=False, repr=False)
class SpecialUniques:
    """Sources of risk: which columns, combinations of columns and values make records unique.

    Parameters
    ----------
    columns
        The quasi-identifiers.
    records
        The number of records.
    size
        The largest number of columns that were combined.
    k
        Classes of fewer records are small, and values of fewer records are never named.
    scores
        The score of each record, in the order of the table; confidential.
    dis_suda
        The estimate for each record that a match is correct, if the sampling fraction is known; confidential.
    dis
        The same for any unique record.
    sampling_fraction
        The sampling fraction.
    contributions
        For each column the share of the total score of the minimal uniques that contain it; they add up to more than 1.
    values
        For each column the values with the largest contributions, among values of at least k records.
    sets
        Every set of columns.
    notes
        What a reader has to know about the figures.
    by_persons
        Whether persons were counted instead of records.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m", "m"], "age": [30, 30, 30, 41, 41], "town": [1, 2, 1, 1, 2]})
    >>> found = shoal.assess(people, quasi=["sex", "age", "town"], special_uniques=True).special_uniques
    >>> found.unique_records, found.scores.tolist()
    (5, [1.0, 2.0, 1.0, 1.0, 2.0])
    >>> found.band_first
    'town'
    """

    columns: tuple[str, ...]
    records: int
    size: int
    k: int
    scores: NDArray[np.float64]
    dis_suda: NDArray[np.float64] | None
    dis: float | None
    sampling_fraction: float | None
    contributions: Mapping[str, float]
    values: Mapping[str, tuple[tuple[str, int, float], ...]]
    sets: tuple[ColumnSet, ...]
    notes: tuple[str, ...] = field(default=())
    by_persons: bool = False

    @property
    def unique_records(self) -> int:
        """The number of records with at least one minimal sample unique."""
        return int(np.count_nonzero(self.scores))

    @property
    def total_score(self) -> float:
        """The sum of all scores."""
        return float(self.scores.sum())

    @property
    def band_first(self) -> str | None:
        """The column with the largest contribution; None if no record is unique."""
        if not self.total_score:
            return None
        return max(self.contributions, key=lambda name: self.contributions[name])

    def combinations(self, most: int = _MOST_SHOWN) -> list[ColumnSet]:
        """Return the sets of columns with the largest share of the score, first the largest."""
        found = sorted((one for one in self.sets if one.minimal_uniques), key=lambda one: (-one.share, one.columns))
        return found[:most]

    def known_columns(self) -> list[KnownColumns]:
        """Return for each number of columns the worst that an intruder meets who knows so many."""
        found = []
        for known in range(1, self.size + 1):
            sets = [one for one in self.sets if len(one.columns) == known]
            worst = max(sets, key=lambda one: (one.small_records, -one.k))
            found.append(
                KnownColumns(
                    known, len(sets), min(one.k for one in sets), worst.columns, sum(one.small_classes for one in sets),
                    sum(one.minimal_uniques for one in sets),
                )
            )  # fmt: skip
        return found

    def sentence(self) -> str:
        """Return the main finding as one sentence for a data steward."""
        if not self.unique_records:
            return f"No record is unique in any {_columns_text(self.size)} of the quasi-identifiers."
        one = self.unique_records == 1
        text = (
            f"{self.unique_records:,} of {self.records:,} records {'is' if one else 'are'} unique in "
            f"{_columns_text(self.size)}"
        )
        if len(self.columns) > 1:
            share = self.contributions[str(self.band_first)]
            text += f'; {percent(share)} of their score comes from combinations with "{self.band_first}"'
        return text + f', so coarsen or remove "{self.band_first}" first.'

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON, without scores of single records and without values of fewer than k records."""
        shown = {} if self.dis_suda is None else {"above_0.1": int((self.dis_suda > 0.1).sum())}
        return {
            "size": self.size,
            "k": self.k,
            "of": "units" if self.by_persons else "rows",
            "unique_records": self.unique_records,
            "total_score": self.total_score,
            "contributions": dict(self.contributions),
            "values": {
                name: [{"value": value, "records": count, "share": share} for value, count, share in found]
                for name, found in self.values.items()
            },
            "combinations": [one.to_dict() for one in self.combinations()],
            "known_columns": [one.to_dict() for one in self.known_columns()],
            **({} if self.dis is None else {"sampling_fraction": self.sampling_fraction, "dis": self.dis, **shown}),
            "notes": list(self.notes),
        }

    def column_rows(self, at_least: int = 0) -> list[tuple[str, str, str]]:
        """Return column, contribution and the values with the largest contributions as rows of text.

        Values of fewer than k records are never among them; ``at_least`` asks for more records.
        """
        order = sorted(self.columns, key=lambda name: -self.contributions[name])
        shown = {
            name: ", ".join(f"{value} ({percent(share)})" for value, count, share in found if count >= at_least)
            for name, found in self.values.items()
        }
        return [(name, percent(self.contributions[name]), shown[name]) for name in order]

    def combination_rows(self) -> list[tuple[str, str, str]]:
        """Return columns, minimal uniques and share of the score of the main combinations as rows of text."""
        return [
            (", ".join(one.columns), f"{one.minimal_uniques:,}", percent(one.share)) for one in self.combinations(5)
        ]

    def known_rows(self) -> list[tuple[str, str, str, str, str]]:
        """Return what intruders who know 1, 2, ... columns meet as rows of text."""
        return [
            (
                f"{one.known} of {len(self.columns)}", str(one.k), f"{one.small_classes:,}",
                f"{one.minimal_uniques:,}", ", ".join(one.worst),
            )
            for one in self.known_columns()
        ]  # fmt: skip

    def __repr__(self) -> str:
        return f"<SpecialUniques: {self.sentence()}>"


def special_uniques(
    table: Table,
    names: Sequence[str],
    *,
    size: int | None = None,
    k: int = 3,
    sampling_fraction: float | None = None,
    units: NDArray[np.int64] | None = None,
    cells: int = MAX_CELLS,
    progress: Progress = SILENT,
) -> SpecialUniques:
    """Find the minimal sample uniques of a table and what each column contributes to them.

    Parameters
    ----------
    table
        Any table; a missing value counts as a value of its own.
    names
        The quasi-identifiers.
    size
        The largest number of columns that are combined; 6 if not given, or fewer where the table is large.
    k
        Classes of fewer than k records are counted, and values of fewer than k records are never named.
    sampling_fraction
        The share of the population that the table is, for DIS; without it DIS is not estimated.
    units
        The person of each record: a record is then unique if all records with its values are of one person, classes
        are counted in persons, and values of fewer than k persons are not named.
    cells
        The most records times subsets that are counted; more lowers the size, with a note.
    progress
        Progress callback.

    Returns
    -------
    found
        Scores, contributions and classes of all sets of columns. Cost O(n) for each set.

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": [30, 30, 30, 41]}))
    >>> found = special_uniques(people, ["sex", "age"])
    >>> found.contributions
    {'sex': 0.5, 'age': 1.0}
    """
    names, n = list(names), table.n_rows
    if not names:
        raise SchemaError("no quasi-identifier is named, so no combination can be counted; name at least one column")
    if not n:
        raise DataError("the table has no records, so no combination can be counted")
    if len(names) > MAX_BITS:
        raise SchemaError(f"special uniques are counted for up to {MAX_BITS} quasi-identifiers; name fewer columns")
    check_sampling_fraction(sampling_fraction)
    used, notes = _size(len(names), n, size, cells)
    progress.stage("special uniques")
    codes = np.column_stack([class_labels(table, [name]) for name in names])
    weights = np.array([0.0, *(float(factorial(len(names) - s)) for s in range(1, used + 1))])
    counted = count_subsets(codes, used, k, weights, units)
    labels = class_labels(table, names)
    sizes = np.bincount(labels) if units is None else distinct_per_class(labels, units)
    dis, dis_suda = _disclosure(counted.scores, sizes, len(names), sampling_fraction)
    if units is not None:
        notes.append(PERSONS_NOTE)
    different = codes.max(axis=0) + 1
    for name, count in zip(names, different, strict=True):
        if count * _MANY_VALUES > n >= _MANY_VALUES * _MANY_VALUES:
            notes.append(
                f'Column "{name}" has {count:,} different values in {n:,} records; its combinations say little before '
                "its values are put into bands."
            )
    return SpecialUniques(
        columns=tuple(names), records=n, size=used, k=k, scores=counted.scores, dis_suda=dis_suda, dis=dis,
        sampling_fraction=sampling_fraction, contributions=_contributions(counted, names, weights),
        values=_values(table, names, codes, counted, k, units), sets=_sets(counted, names, weights, n),
        notes=tuple(notes), by_persons=units is not None,
    )  # fmt: skip


def number_of_sets(columns: int, size: int) -> int:
    """Return the number of sets of at most this many columns.

    Examples
    --------
    >>> number_of_sets(10, 3)
    175
    """
    return sum(comb(columns, s) for s in range(1, size + 1))


def _size(columns: int, n: int, size: int | None, cells: int) -> tuple[int, list[str]]:
    """Return the largest number of columns that are combined, and notes about it."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1):
        raise ParameterError(f"subset_size={size!r} is not possible; choose an integer of at least 1")
    wanted = min(columns, DEFAULT_SIZE if size is None else int(size))
    used = wanted
    while used > 1 and number_of_sets(columns, used) * n > cells:
        used -= 1
    notes = []
    if used < wanted:
        notes.append(
            f"Combinations of up to {used} columns were counted instead of {wanted}, because all larger ones would "
            "take too long for a table of this size."
        )
    elif used < columns and size is None:
        notes.append(f"Combinations of up to {used} of {columns} columns were counted.")
    return used, notes


def _disclosure(
    scores: NDArray[np.float64], sizes: NDArray[np.int64], columns: int, q: float | None
) -> tuple[float | None, NDArray[np.float64] | None]:
    """Return DIS and DIS-SUDA of each record (Elliot 2000; Skinner and Elliot 2002); None without a fraction."""
    if q is None:
        return None, None
    uniques, paired = int((sizes == 1).sum()), 2 * int((sizes == 2).sum())
    found = np.zeros(scores.size)
    scored = scores > 0
    if not uniques:
        return 0.0, found
    dis = uniques * q / (uniques * q + paired * (1 - q))
    power = 1 + (8 - columns) / 20
    total = float((scores[scored] ** -power).sum())
    found[scored] = 1 / (1 + paired * (1 - q) / q / (scores[scored] ** power * total))
    return dis, found


def _shares(counted: SubsetCounts, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the score of each set of columns, and the total; a total of 0 becomes 1."""
    sizes = np.array([int(subset).bit_count() for subset in counted.subsets])
    found = counted.minimal * weights[sizes]
    return found, float(found.sum()) or 1.0


def _contributions(counted: SubsetCounts, names: list[str], weights: NDArray[np.float64]) -> dict[str, float]:
    scores, total = _shares(counted, weights)
    return {
        name: float(scores[(counted.subsets >> number) & 1 == 1].sum()) / total for number, name in enumerate(names)
    }


def _sets(counted: SubsetCounts, names: list[str], weights: NDArray[np.float64], n: int) -> tuple[ColumnSet, ...]:
    scores, total = _shares(counted, weights)
    pairs = float(n) * (n - 1) or 1.0
    return tuple(
        ColumnSet(
            columns=tuple(name for number, name in enumerate(names) if (subset >> number) & 1),
            k=int(counted.smallest[row]),
            classes=int(counted.classes[row]),
            small_classes=int(counted.small_classes[row]),
            small_records=int(counted.small_records[row]),
            separation=1 - float(counted.same_pairs[row]) / pairs,
            minimal_uniques=int(counted.minimal[row]),
            share=float(scores[row]) / total,
        )
        for row, subset in enumerate(counted.subsets.tolist())
    )


def _values(
    table: Table, names: list[str], codes: NDArray[np.int64], counted: SubsetCounts, k: int,
    units: NDArray[np.int64] | None,
) -> dict[str, tuple[tuple[str, int, float], ...]]:  # fmt: skip
    """Return value, records and share of the values that contribute most, among values of at least k records."""
    total = float(counted.scores.sum()) or 1.0
    found: dict[str, tuple[tuple[str, int, float], ...]] = {}
    for number, name in enumerate(names):
        sizes = np.bincount(codes[:, number])
        owners = sizes if units is None else distinct_per_class(codes[:, number], units)
        scores = np.where(owners >= k, counted.value_scores[number], 0.0)
        best = np.argsort(-scores, kind="stable")[:3]
        first = np.unique(codes[:, number], return_index=True)[1]
        values = table.column(name).to_polars()
        found[name] = tuple(
            ("missing" if values[int(first[code])] is None else str(values[int(first[code])]), int(sizes[code]),
             float(scores[code]) / total)
            for code in best if scores[code] > 0
        )  # fmt: skip
    return found


def _columns_text(size: int) -> str:
    return "a single column" if size == 1 else f"a combination of at most {size} columns"
