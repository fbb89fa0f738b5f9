"""Singling out, linkability and membership, each against people who are not in the release.

The three attacks follow the criteria of Opinion 05/2014 of the Article 29 Working Party (singling out, linkability,
inference) and Giomi et al. 2023; Cohen and Nissim 2020 define singling out by predicates. An attack that succeeds
equally often for a control group, people of the same population who are not in the release, has learnt about the
population and not about the people in the table. A part of the original is no control: its records shaped the release.
Tables are compared at equal size, since what holds for exactly one record depends on the number of records. Where
persons have several records, persons are counted: a predicate that five rows of one person satisfy singles that person
out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.evaluate.attacks import Attack, by_persons, sampled_rows
from shoal.evaluate.estimates import Estimate, exactly, share, share_of_persons
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Units = tuple[Integers | None, Integers | None]
"""The person of each record of the original and of the control table; None where each record is one person."""
NO_UNITS: Units = (None, None)
PREDICATES = 2_000
"""The number of predicates that are drawn for singling out."""
TRIES = 200
"""How many draws each of them may take."""
_MOST_COMPARISONS = 400_000_000
_BLOCK_CELLS = 4_000_000
PERSONS = 2_000
"""The most people of each table that linkability and membership try."""
NEAR_ROWS = 10
"""The nearest classes of a person are those that hold so many rows."""
_Z = 1.959963984540054


def control_attacks(
    matcher: Matcher, control: Sequence[PairedColumn], contributions: Mapping[str, float], *, units: Units = NO_UNITS,
    seed: int = 0,
) -> list[Attack]:  # fmt: skip
    """Return singling out with 3 and 5 columns, linkability and membership.

    Parameters
    ----------
    matcher
        The classes of the release, with the quasi-identifiers of the original.
    control
        The quasi-identifiers of the control table (as ``original``), on the same scale.
    contributions
        The contribution of each column to the risk; linkability takes the columns in turn in this order.
    units
        The persons of the records of both tables, where persons have several.
    seed
        Seed of the random numbers.
    """
    columns = matcher.columns
    sizes = sorted({min(3, len(columns)), min(5, len(columns))})
    found = [singling_out(matcher, control, known=known, units=units, seed=seed) for known in sizes]
    order = sorted(columns, key=lambda column: -contributions.get(column.name, 0.0))
    sets = [column.name for column in order[::2]], [column.name for column in order[1::2]]
    if len(columns) > 1:
        found.append(linkability(matcher, control, sets, units=units, seed=seed))
    return [*found, membership(matcher, control, units=units, seed=seed)]


def singling_out(
    matcher: Matcher, control: Sequence[PairedColumn], *, known: int = 3, predicates: int = PREDICATES,
    units: Units = NO_UNITS, seed: int = 0,
) -> Attack:  # fmt: skip
    """Guess predicates that hold for exactly one person, from the released classes.

    A predicate is drawn from a class: on each of ``known`` columns its number as a lower bound (above the median of the
    classes) or an upper bound, or its category. Those that hold for one class only are tried.

    Parameters
    ----------
    matcher, control
        As in :func:`control_attacks`.
    known
        The number of columns of a predicate.
    predicates
        How many are tried at most.
    units
        As in :func:`control_attacks`.
    seed
        Seed of the random numbers.
    """
    columns = matcher.columns
    classes = np.column_stack([column.released[matcher.first] for column in columns])
    numeric = np.array([column.numeric for column in columns])
    rng = np.random.default_rng([seed, known])
    chosen = _predicates(classes, numeric, known, predicates, rng)
    tables, persons = _equal_size(columns, control, units, rng)
    counts = [count_matches(table, *chosen, whose) for table, whose in zip(tables, persons, strict=True)]
    noun, size = ("records", len(tables[0])) if units[0] is None else ("persons", np.unique(persons[0]).size)
    description = (
        f"{chosen[0].shape[0]:,} predicates on {known} columns that hold for one released class; success: exactly one "
        f"of {size:,} {noun} satisfies it; the baseline is as many people of the control table"
    )
    success, baseline = (share((count == 1).astype(np.float64)) for count in counts)
    return Attack("singling-out", f"{known} columns", success, baseline, matcher.labels.size, description, noun)


def _predicates(
    classes: Floats, numeric: NDArray[np.bool_], known: int, wanted: int, rng: np.random.Generator
) -> tuple[Integers, Integers, Floats]:
    """Return columns, signs (1: at least, -1: at most, 0: equal) and values of different predicates of one class."""
    medians = np.array([np.nanmedian(values) if is_number and not np.isnan(values).all() else 0.0
                        for values, is_number in zip(classes.T, numeric, strict=True)])  # fmt: skip
    tries = min(TRIES * wanted, max(wanted, _MOST_COMPARISONS // max(len(classes), 1)))
    found: dict[tuple[Any, ...], None] = {}
    each = np.arange(len(classes))
    parts: list[tuple[Integers, Integers, Floats]] = []
    for _ in range(-(-tries // 10_000)):
        draws = min(10_000, tries)
        picked = np.argsort(rng.random((draws, numeric.size)), axis=1)[:, :known]
        picked.sort(axis=1)
        rows = rng.integers(0, len(classes), draws)
        values = classes[rows[:, None], picked]
        signs = np.where(numeric[picked], np.where(values > medians[picked], 1, -1), 0)
        alone = count_matches(classes, picked, signs, values, each) == 1
        for place in np.flatnonzero(alone & ~np.isnan(values).any(axis=1)):
            key = (*picked[place].tolist(), *values[place].tolist())
            if key not in found and len(found) < wanted:
                found[key] = None
                parts.append((picked[place], signs[place], values[place]))
        if len(found) >= wanted:
            break
    if not parts:
        return np.empty((0, known), np.int64), np.empty((0, known), np.int64), np.empty((0, known))
    chosen, signs, values = (np.array(part) for part in zip(*parts, strict=True))
    return chosen.astype(np.int64), signs.astype(np.int64), values.astype(np.float64)


def _equal_size(
    columns: Sequence[PairedColumn], control: Sequence[PairedColumn], units: Units, rng: np.random.Generator
) -> tuple[list[Floats], list[Integers]]:
    """Return original and control as matrices of equally many persons, and their persons; of the larger one a part."""
    tables = [np.column_stack([column.original for column in part]) for part in (columns, control)]
    persons = [
        np.arange(len(table)) if whose is None else np.unique(whose, return_inverse=True)[1].reshape(-1)
        for table, whose in zip(tables, units, strict=True)
    ]
    size = min(int(whose.max()) + 1 for whose in persons)
    for place, (table, whose) in enumerate(zip(tables, persons, strict=True)):
        number = int(whose.max()) + 1
        if number > size:
            kept = np.zeros(number, bool)
            kept[rng.choice(number, size, replace=False)] = True
            tables[place], persons[place] = table[kept[whose]], whose[kept[whose]]
    return tables, persons


@compiled
def count_matches(table: Any, columns: Any, signs: Any, values: Any, persons: Any) -> Any:
    """Return for each predicate how many persons of a table satisfy it; 2 stands for two or more."""
    counts = np.zeros(columns.shape[0], np.int64)
    for number in range(columns.shape[0]):
        first = -1
        for row in range(table.shape[0]):
            fits = True
            for place in range(columns.shape[1]):
                value = table[row, columns[number, place]]
                limit = values[number, place]
                sign = signs[number, place]
                fits = value >= limit if sign > 0 else (value <= limit if sign < 0 else value == limit)
                if not fits:
                    break
            if fits and persons[row] != first:
                counts[number] += 1
                first = persons[row]
                if counts[number] == 2:
                    break
    return counts


def linkability(
    matcher: Matcher, control: Sequence[PairedColumn], sets: tuple[Sequence[str], Sequence[str]], *,
    persons: int = PERSONS, units: Units = NO_UNITS, seed: int = 0,
) -> Attack:  # fmt: skip
    """Link two sets of columns of one person through the release.

    An intruder knows some columns of a person from one source and others from another. The classes nearest to the
    first, until they hold 10 rows, are compared with those nearest to the second; they link the two if they share one.

    Parameters
    ----------
    matcher, control
        As in :func:`control_attacks`.
    sets
        The columns of the two sources.
    persons
        The most people of each table that are tried.
    units
        As in :func:`control_attacks`.
    seed
        Seed of the sample.
    """
    size = min(matcher.labels.size, control[0].original.size, persons)
    tried = []
    for part, whose in zip((matcher.columns, control), units, strict=True):
        rows = sampled_rows(part[0].original.size, size, seed)
        step = max(1, _BLOCK_CELLS // matcher.sizes.size)
        linked = []
        for start in range(0, rows.size, step):
            near = [_near(matcher, part, rows[start : start + step], names) for names in sets]
            linked.append((near[0] & near[1]).any(axis=1))
        found = np.concatenate(linked).astype(np.float64)
        tried.append(share_of_persons(found, None if whose is None else whose[rows]))
    people = "people" if units[0] is None else "records"
    description = (
        f"{size:,} {people}, {', '.join(sets[0])} from one source and {', '.join(sets[1])} from another, linked if the "
        f"nearest {NEAR_ROWS} rows share a class; the baseline is as many {people} of the control table"
    )
    return Attack("linkability", "", tried[0], tried[1], matcher.labels.size, *by_persons(description, units[0]))


def _near(matcher: Matcher, part: Sequence[PairedColumn], rows: Integers, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each person which classes are nearest by some columns, until they hold enough rows."""
    distances = np.zeros((rows.size, matcher.sizes.size))
    for column, known in zip(matcher.columns, part, strict=True):
        if column.name not in names:
            continue
        shown, values = column.released[matcher.first], known.original[rows]
        if column.numeric:
            here, there = column.standardised(values), column.standardised(shown)
            gaps = (here[:, None] - there[None, :]) ** 2
            unlike = np.isnan(values)[:, None] != np.isnan(shown)[None, :]
            distances += np.where(unlike, 1.0, np.nan_to_num(gaps, nan=0.0))
        else:
            distances += np.nan_to_num(values, nan=-1.0)[:, None] != np.nan_to_num(shown, nan=-1.0)[None, :]
    order = np.argsort(distances, axis=1, kind="stable")
    before = np.cumsum(matcher.sizes[order], axis=1) - matcher.sizes[order]
    near = np.zeros(distances.shape, bool)
    np.put_along_axis(near, order, before < NEAR_ROWS, axis=1)
    return near


def membership(
    matcher: Matcher, control: Sequence[PairedColumn], *, persons: int = 5 * PERSONS, units: Units = NO_UNITS,
    seed: int = 0,
) -> Attack:  # fmt: skip
    """Guess who is in the table by the distance to the nearest class.

    Success is the area under the curve: the probability that a member is nearer to the release than a person of the
    control table, 0.5 if distances say nothing, with the interval of Hanley and McNeil 1982. The distance of a person
    with several records is their mean distance: the smallest one would be smaller for persons with more records.

    Parameters
    ----------
    matcher, control
        As in :func:`control_attacks`.
    persons
        The most people of each table that are tried.
    units
        As in :func:`control_attacks`.
    seed
        Seed of the sample.
    """
    size = min(matcher.labels.size, control[0].original.size, persons)
    distances = []
    for part, whose in zip((matcher.columns, control), units, strict=True):
        rows = sampled_rows(part[0].original.size, size, seed)
        found = matcher.distances([column.original[rows] for column in part])
        if whose is not None:
            inside = np.unique(whose[rows], return_inverse=True)[1].reshape(-1)
            found = np.bincount(inside, found) / np.bincount(inside)
        distances.append(found)
    area = area_under_curve(distances[0], distances[1])
    description = (
        f"{distances[0].size:,} members and {distances[1].size:,} people of the control table, compared by the "
        "distance to the nearest class; area under the curve, 50 % says nothing"
    )
    return Attack("membership", "", area, exactly(0.5, size), matcher.labels.size, *by_persons(description, units[0]))


def area_under_curve(members: Floats, others: Floats) -> Estimate:
    """Return the probability that a member has the smaller distance, ties counted half (Hanley and McNeil 1982).

    Examples
    --------
    >>> area_under_curve(np.array([1.0, 2.0]), np.array([2.0, 3.0])).value
    0.875
    """
    ordered = np.sort(members)
    below, upto = (np.searchsorted(ordered, others, side) for side in ("left", "right"))
    m, n = members.size, others.size
    area = float((below + (upto - below) / 2).sum()) / (m * n)
    first, second = area / (2 - area), 2 * area * area / (1 + area)
    variance = (area * (1 - area) + (m - 1) * (first - area**2) + (n - 1) * (second - area**2)) / (m * n)
    half = _Z * sqrt(max(variance, 0.0))
    return Estimate(area, max(0.0, area - half), min(1.0, area + half), m + n)
