"""The candidates attack: which released rows are compatible with what an intruder knows about a person.

For tables with suppressed cells, ranges, sets or nodes of a hierarchy this is the right attack: a released row is a
candidate for a person if each of its cells covers the person's value. Record linkage by distance treats a suppressed
cell as a value of its own, and counting with wildcards treats it as equal to all others; both understate what an
intruder with the true values can do. A person with N candidates, the own row among them, is found with probability 1/N.

Columns that were replaced by means or modes rule nothing out; among the covering rows the nearest ones are the
candidates then. Where persons have several rows, different persons are counted, and a person is as exposed as its most
exposed row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.core.row_classes import equal_rows
from shoal.evaluate.attacks import MAX_SEARCHED, Attack, sample_description, sampled_rows
from shoal.evaluate.candidate_counts import (
    Cover,
    Known,
    assign_by_cover,
    count_by_cover,
    count_by_patterns,
    count_persons_by_cover,
)
from shoal.evaluate.covering import CoveredColumn
from shoal.evaluate.estimates import exactly, share
from shoal.evaluate.paired_columns import PairedColumn

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CandidatesAttack(Attack):
    """The result of the candidates attack.

    Parameters
    ----------
    single
        The number of persons with exactly one candidate, which is their own row.
    below
        The number of persons with fewer than k candidates, the own row among them.
    k
        The k that these are counted for.
    expected
        The sum of 1/N over the persons that were tried: expected re-identifications among them.
    """

    single: int = 0
    below: int = 0
    k: int = 0
    expected: float = 0.0

    def to_dict(self) -> dict[str, object]:
        """Return the figures for JSON."""
        further = {"single": self.single, "below": self.below, "k": self.k, "expected": self.expected}
        return {**super().to_dict(), **further}

    def sentence(self) -> str:
        """Return what was found as one sentence for a data steward."""
        tried = self.success.trials
        whose = "released rows" if self.counted == "records" else "persons with released rows"
        if not self.below:
            return f"Each of {tried:,} persons has at least {self.k} {whose} that cover the true values."
        return (
            f"{self.below:,} of {tried:,} persons have fewer than {self.k} {whose} that cover their true values, "
            f"{self.single:,} of them exactly one; an intruder who knows these values finds their rows."
        )


def candidate_counts(
    covered: Sequence[CoveredColumn], paired: Sequence[PairedColumn], persons: Integers, units: Integers | None = None
) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the number of candidates of each person, and whether the own row is among them.

    Parameters
    ----------
    covered
        What the released cells of each quasi-identifier cover.
    paired
        The same columns as numbers or codes, for those that are not truthful.
    persons
        The records whose persons are tried.
    units
        The person of each record, where persons have several: different persons are counted then.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.evaluate.covering import covered_columns
    >>> from shoal.evaluate.paired_columns import pair_columns
    >>> from shoal.tables import Table
    >>> before = Table.from_native(pl.DataFrame({"a": [9, 1, 1, 1], "b": [1, 1, 1, 1]}))
    >>> after = Table.from_native(pl.DataFrame({"a": [None, 1, 1, 1], "b": [1, 1, 1, 1]}))
    >>> names = ["a", "b"]
    >>> candidate_counts(covered_columns(before, after, names), pair_columns(before, after, names), np.arange(4))[0]
    array([1, 4, 4, 4])
    """
    truthful = [column for column in covered if column.truthful]
    plain = [pair for column, pair in zip(covered, paired, strict=True) if not column.truthful]
    shown = [column.cells for column in truthful] + [pair.released for pair in plain]
    rows_of = equal_rows(shown)
    first = np.unique(rows_of, return_index=True)[1]
    sizes = np.bincount(rows_of)
    known = equal_rows([*(column.values[persons] for column in truthful), *(pair.original[persons] for pair in plain)])
    one = persons[np.unique(known, return_index=True)[1]]  # equal persons are searched once
    values = _columns([column.values[one] for column in truthful], one.size)
    own = np.ones(persons.size, bool)
    for column in truthful:
        own &= column.covers(column.cells[persons], column.values[persons])
    if units is None and not plain and all(column.joined for column in truthful):
        codes = np.column_stack([column.low[column.cells[first]] for column in truthful])
        suppressed = np.column_stack([
            column.high[column.cells[first]] != column.low[column.cells[first]] for column in truthful
        ])  # fmt: skip
        counts = count_by_patterns(values, codes, suppressed, sizes)
        return counts[known], own
    cells = _columns([column.cells[first] for column in truthful], first.size)
    tables = (
        values, _known(plain, [pair.original[one] for pair in plain], one.size), cells,
        _known(plain, [pair.released[first] for pair in plain], first.size),
    )  # fmt: skip
    if units is None:
        counts, nearest = count_by_cover(*tables, sizes, _cover(truthful))
    else:
        counts, nearest = count_persons_by_cover(*tables, _members(rows_of, units), _cover(truthful))
    if plain:
        true = _known(plain, [pair.original[persons] for pair in plain], persons.size)
        released = _known(plain, [pair.released[persons] for pair in plain], persons.size)
        distance = ((true.numbers - released.numbers) ** 2).sum(axis=1) + (true.codes != released.codes).sum(axis=1)
        own &= distance <= nearest[known] * (1 + 2e-9) + 1e-300
    return counts[known], own


def covering_rows(
    covered: Sequence[CoveredColumn], pairs: Sequence[PairedColumn], others: Sequence[Floats], persons: Integers
) -> Integers:
    """Return for people of another table how many released rows cover their values.

    Parameters
    ----------
    covered
        What the released cells cover, with the other people as the original.
    pairs, others
        The columns of the release, and of the other people on the same scale, as numbers or codes.
    persons
        The other people that are tried.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.evaluate.covering import covered_columns
    >>> from shoal.tables import Table
    >>> after = Table.from_native(pl.DataFrame({"a": [None, 1, 1, 1], "b": [1, 1, 1, 1]}))
    >>> others = Table.from_native(pl.DataFrame({"a": [1, 7, 7], "b": [1, 1, 2]}))
    >>> columns = covered_columns(others, after, ["a", "b"], aligned=False)
    >>> covering_rows([replace(column, truthful=True) for column in columns], [], [], np.arange(3))
    array([4, 1, 0])
    """
    truthful = [column for column in covered if column.truthful]
    plain = [(pair, part) for column, pair, part in zip(covered, pairs, others, strict=False) if not column.truthful]
    columns = [pair for pair, _ in plain]
    rows_of = equal_rows([*(column.cells for column in truthful), *(pair.released for pair in columns)])
    first, sizes = np.unique(rows_of, return_index=True)[1], np.bincount(rows_of)
    known = equal_rows([*(column.values[persons] for column in truthful), *(part[persons] for _, part in plain)])
    one = persons[np.unique(known, return_index=True)[1]]
    values = _columns([column.values[one] for column in truthful], one.size)
    cells = _columns([column.cells[first] for column in truthful], first.size)
    counts, _ = count_by_cover(
        values, _known(columns, [part[one] for _, part in plain], one.size), cells,
        _known(columns, [pair.released[first] for pair in columns], first.size), sizes, _cover(truthful),
    )  # fmt: skip
    return counts[known]


def against_control(attack: CandidatesAttack, counts: Integers) -> CandidatesAttack:
    """Return the attack with people of a control table as its baseline: the mean of 1/N over them, 0 if none covers.

    They are not in the release, so an intruder who links them with probability 1/N is always wrong. What is as likely
    for them as for the people in the release is no disclosure.

    Parameters
    ----------
    attack
        The attack on the people in the release.
    counts
        For people of the control table the number of released rows that cover their values.
    """
    success = np.where(counts > 0, 1 / np.maximum(counts, 1), 0.0)
    start = attack.description.partition("; the baseline guesses")
    single = int((counts == 1).sum())
    description = (
        f"{start[0]}; the baseline is {counts.size:,} people of the control table, {single:,} of whom have exactly one "
        f"such row, which is not theirs{start[2]}"
    )
    return replace(attack, baseline=share(success), description=description)


def _members(rows_of: Integers, units: Integers) -> tuple[Integers, Integers]:
    """Return where the persons of each different row begin, and these persons, each once for a row."""
    persons = np.unique(units, return_inverse=True)[1].reshape(-1)
    pairs = np.unique(rows_of * (int(persons.max()) + 1) + persons)
    rows, members = np.divmod(pairs, int(persons.max()) + 1)
    return np.searchsorted(rows, np.arange(int(rows_of.max()) + 2)), members


def covering_individuals(
    covered: Sequence[CoveredColumn], pairs: Sequence[PairedColumn], others: Sequence[Floats], labels: Integers
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return how many individuals of a population belong to each class, by containment and then by distance.

    Parameters
    ----------
    covered
        What the released cells cover, with the individuals of the population as the original.
    pairs, others
        The columns of the release, and of the individuals on the same scale, as numbers or codes.
    labels
        The class of each released record.

    Returns
    -------
    people, found
        Individuals of each class; and for each individual whether any class covers it.
    """
    truthful = [column for column in covered if column.truthful]
    plain = [(pair, part) for column, pair, part in zip(covered, pairs, others, strict=True) if not column.truthful]
    columns = [pair for pair, _ in plain]
    first = np.unique(labels, return_index=True)[1]
    known = equal_rows([*(column.values for column in truthful), *(part for _, part in plain)])
    one = np.unique(known, return_index=True)[1]
    people, found = assign_by_cover(
        _columns([column.values[one] for column in truthful], one.size),
        _known(columns, [part[one] for _, part in plain], one.size),
        _columns([column.cells[first] for column in truthful], first.size),
        _known(columns, [pair.released[first] for pair in columns], first.size),
        np.bincount(known).astype(np.float64), _cover(truthful),
    )  # fmt: skip
    return people, found[known]


def _columns(parts: Sequence[Integers], n: int) -> Integers:
    return np.column_stack(parts).astype(np.int64) if parts else np.empty((n, 0), np.int64)


def _known(columns: Sequence[PairedColumn], values: Sequence[Floats], n: int) -> Known:
    """Return values as standardised numbers and codes; a missing one lies at the mean and differs in a code."""
    numbers = [
        np.nan_to_num(column.standardised(part), nan=0.0)
        for column, part in zip(columns, values, strict=True)
        if column.numeric
    ]
    codes = [
        np.isnan(part).astype(np.int64) if column.numeric else np.nan_to_num(part, nan=-1.0).astype(np.int64)
        for column, part in zip(columns, values, strict=True)
    ]
    return Known(
        np.ascontiguousarray(np.column_stack(numbers)) if numbers else np.empty((n, 0)),
        np.ascontiguousarray(np.column_stack(codes)) if codes else np.empty((n, 0), np.int64),
    )


def _cover(columns: Sequence[CoveredColumn]) -> Cover:
    starts = np.cumsum([0, *(column.low.size for column in columns)])[:-1]
    masks, mask_starts, widths, place = [], [], [], 0
    for column in columns:
        mask_starts.append(-1 if column.mask is None else place)
        widths.append(0 if column.mask is None else column.mask.shape[1])
        if column.mask is not None:
            masks.append(column.mask.astype(np.uint8).reshape(-1))
            place += masks[-1].size
    return Cover(
        np.concatenate([np.empty(0, np.int64), *(column.low for column in columns)]),
        np.concatenate([np.empty(0, np.int64), *(column.high for column in columns)]),
        starts.astype(np.int64),
        np.concatenate([np.empty(0, np.uint8), *masks]),
        np.array(mask_starts, np.int64),
        np.array(widths, np.int64),
    )


def candidates(
    covered: Sequence[CoveredColumn],
    paired: Sequence[PairedColumn],
    *,
    k: int,
    units: Integers | None = None,
    sample: int | None = MAX_SEARCHED,
    seed: int = 0,
    progress: Progress = SILENT,
) -> CandidatesAttack:
    """Find the rows that are compatible with the true values of each person.

    Parameters
    ----------
    covered, paired
        The quasi-identifiers of both tables, the same records in the same order.
    k
        Persons with fewer candidates are counted.
    units
        The person of each record, where persons have several.
    sample
        The number of persons to try; all where cells are values or suppressed only, which takes O(n) for each set of
        suppressed columns.
    seed
        Seed of the sample.
    progress
        Progress callback.

    Returns
    -------
    attack
        Success is 1/N for a person with N candidates if the own row is among them, otherwise 0; the largest of its
        records, where a person has several. The baseline is a guess among all rows, or persons.
    """
    n = covered[0].values.size
    fast = units is None and all(column.truthful and column.joined for column in covered)
    rows = np.arange(n) if fast else sampled_rows(n, sample, seed)
    if units is not None:
        rows = _rows_of_whole_persons(units, sample, seed)
    progress.stage("candidates")
    counts, own = candidate_counts(covered, paired, rows, units)
    tried, everyone, counted = sample_description(rows.size, n), n, "records"
    if units is not None:  # the record of each person that exposes it most
        order = np.lexsort((np.where(own, counts, np.iinfo(np.int64).max), units[rows]))
        most = order[np.unique(units[rows][order], return_index=True)[1]]
        counts, own, everyone, counted = counts[most], own[most], np.unique(units).size, "persons"
        tried = f"{tried} of {most.size:,} persons"
    success = np.where(own, 1 / np.maximum(counts, 1), 0.0)
    description = f"{tried} compared with the rows whose cells cover all true values; the baseline guesses"
    if units is not None:
        description += "; persons are counted, each by its most exposed row"
    return CandidatesAttack(
        "candidates", "", share(success), exactly(1 / everyone, everyone), n, description, counted,
        single=int((own & (counts == 1)).sum()), below=int((own & (counts < k)).sum()), k=k,
        expected=float(success.sum()),
    )  # fmt: skip


def _rows_of_whole_persons(units: Integers, sample: int | None, seed: int) -> Integers:
    """Return all records of some persons, about as many records as are to be tried."""
    persons = np.unique(units, return_inverse=True)[1].reshape(-1)
    count = int(persons.max()) + 1
    if sample is None or units.size <= sample:
        return np.arange(units.size)
    kept = np.zeros(count, bool)
    kept[sampled_rows(count, max(1, sample * count // units.size), seed)] = True
    return np.flatnonzero(kept[persons])
