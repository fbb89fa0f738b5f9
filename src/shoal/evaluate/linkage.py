"""Record linkage: the share of records that an intruder who knows the true values re-identifies.

Distance-based record linkage (Domingo-Ferrer and Torra 2001): each individual is linked to the nearest released record;
among equally near ones the intruder guesses. Assignment linkage (Herranz et al. 2015; the attack of sdcMicro since
2026) uses that two individuals cannot have the same record: the assignment of least total distance. Both are worst
cases: the intruder knows every quasi-identifier of every individual exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.evaluate.attacks import MAX_SEARCHED, Attack, sample_description, sampled_rows
from shoal.evaluate.estimates import exactly, share
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn

BLOCK_RECORDS = 1_000
"""The most records of one assignment; its time grows with the cube."""
_MAX_BLOCKS = 5


def record_linkage(
    columns: Sequence[PairedColumn],
    *,
    matcher: Matcher | None = None,
    sample: int | None = MAX_SEARCHED,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Attack:
    """Link individuals to the nearest released records.

    Parameters
    ----------
    columns
        The quasi-identifiers of both tables, the same records in the same order.
    matcher
        The classes of the release, if they were found before.
    sample
        The number of individuals to try; None for all.
    seed
        Seed of the sample.
    progress
        Progress callback: the number of individuals that were searched.

    Returns
    -------
    attack
        Success is the share of individuals linked to their own record; a guess among t equally near records succeeds
        with probability 1/t. The baseline is a guess among all records.

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 3.0, 8.0, 10.0]), np.array([2.0, 2.0, 9.0, 9.0]))
    >>> record_linkage([ages]).success.value
    0.5
    """
    matcher = matcher or Matcher(columns)
    n = matcher.labels.size
    rows = sampled_rows(n, sample, seed)
    matches = matcher.nearest([column.original[rows] for column in columns], progress)
    success = matcher.success(rows, matches)
    description = f"{sample_description(rows.size, n)} linked to the nearest released record; the baseline guesses"
    return Attack("record-linkage", "", share(success), exactly(1 / n, n), n, description)


def person_linkage(
    columns: Sequence[PairedColumn],
    units: NDArray[np.int64],
    *,
    matcher: Matcher | None = None,
    sample: int | None = MAX_SEARCHED,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Attack:
    """Link rows to the nearest released ones, counted by persons.

    A link to another row of the same person names the person as well, so that a count of records is too low where
    persons have several rows.

    Parameters
    ----------
    columns, matcher, sample, seed, progress
        As in :func:`record_linkage`.
    units
        The person of each record.

    Returns
    -------
    attack
        Success is the share of the rows of a person that are linked to any of its rows, averaged over persons, who
        count the same whatever the number of their rows. The baseline is a guess among all records.

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 3.0, 8.0, 10.0]), np.array([2.0, 2.0, 9.0, 9.0]))
    >>> person_linkage([ages], np.array([0, 0, 1, 2])).success.value.__round__(3)
    0.667
    """
    matcher = matcher or Matcher(columns)
    persons = np.unique(units, return_inverse=True)[1].reshape(-1).astype(np.int64)
    n = matcher.labels.size
    rows = sampled_rows(n, sample, seed)
    matches = matcher.nearest([column.original[rows] for column in columns], progress)
    success = matcher.person_success(rows, matches, persons)
    tried, inside = np.unique(persons[rows], return_inverse=True)
    averages = np.bincount(inside.reshape(-1), success) / np.bincount(inside.reshape(-1))
    guess = float(np.bincount(persons)[tried].mean()) / n
    description = (
        f"{sample_description(rows.size, n)} of {tried.size:,} persons linked to the nearest released record; a link "
        "to any row of the same person counts, and every person counts the same"
    )
    return Attack("person-linkage", "", share(averages), exactly(guess, tried.size), n, description, "persons")


def linkage_without(
    columns: Sequence[PairedColumn], *, matcher: Matcher | None = None, sample: int | None = 1_000, seed: int = 0
) -> dict[str, float]:
    """Return for each column the decrease of the success of record linkage if the intruder does not know it.

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 3.0, 8.0, 10.0]), np.array([2.0, 2.0, 9.0, 9.0]))
    >>> sizes = PairedColumn("size", np.zeros(4), np.zeros(4))
    >>> linkage_without([ages, sizes])
    {'age': 0.25, 'size': 0.0}
    """
    matcher = matcher or Matcher(columns)
    rows = sampled_rows(matcher.labels.size, sample, seed)
    known = [column.original[rows] for column in columns]
    everything = float(matcher.success(rows, matcher.nearest(known)).mean())
    if len(columns) == 1:  # without it the intruder can only guess
        return {columns[0].name: everything - 1 / matcher.labels.size}
    found = {}
    for position, column in enumerate(columns):
        other = matcher.without(position)
        matches = other.nearest(known[:position] + known[position + 1 :])
        found[column.name] = everything - float(other.success(rows, matches).mean())
    return found


def assignment_linkage(
    columns: Sequence[PairedColumn], *, matcher: Matcher | None = None, seed: int = 0, progress: Progress = SILENT
) -> Attack:
    """Link all individuals to released records at once, each to a record of its own.

    Up to 1,000 records the assignment is solved as it is. Larger tables are cut along the first principal component of
    the original into blocks of 1,000, of which five are drawn at random; the intruder knows the block, so the risk is
    overestimated. Records of one equivalence class are interchangeable, so the expected number of correct links is
    counted.

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 2.0, 8.0]), np.array([1.5, 2.5, 8.0]))
    >>> assignment_linkage([ages]).success.value
    1.0
    """
    matcher = matcher or Matcher(columns)
    n = matcher.labels.size
    blocks = _blocks(matcher, columns, seed)
    progress.stage("assignment linkage", len(blocks))
    success = []
    for rows in blocks:
        success.append(_assigned(matcher, columns, rows))
        progress.advance()
    tried = sum(rows.size for rows in blocks)
    description = (
        f"all {n:,} records assigned at once; the baseline guesses"
        if len(blocks) == 1
        else f"{tried:,} of {n:,} records in {len(blocks)} blocks of neighbours, the block being known; the baseline "
        "guesses in the block"
    )
    guess = exactly(len(blocks) / tried, tried)
    return Attack("assignment-linkage", "", share(np.concatenate(success)), guess, n, description)


def _blocks(matcher: Matcher, columns: Sequence[PairedColumn], seed: int) -> list[NDArray[np.int64]]:
    n = matcher.labels.size
    if n <= BLOCK_RECORDS:
        return [np.arange(n)]
    numbers, codes = matcher.encode([column.original for column in columns])
    if numbers.shape[1]:
        centred = numbers - numbers.mean(axis=0)
        direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        order = np.argsort(centred @ direction, kind="stable")
    else:
        order = np.lexsort(codes.T[::-1])
    count = -(-n // BLOCK_RECORDS)
    chosen = np.sort(np.random.default_rng(seed).choice(count, min(_MAX_BLOCKS, count), replace=False))
    edges = np.linspace(0, n, count + 1).astype(np.int64)
    return [np.sort(order[edges[block] : edges[block + 1]]) for block in chosen]


def _assigned(matcher: Matcher, columns: Sequence[PairedColumn], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability that each of these records is linked to itself."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    known, known_codes = matcher.encode([column.original[rows] for column in columns])
    shown, shown_codes = matcher.encode([column.released[rows] for column in columns])
    cost = cdist(known, shown, "sqeuclidean") if known.shape[1] else np.zeros((rows.size, rows.size))
    for column in range(known_codes.shape[1]):
        cost += known_codes[:, column, None] != shown_codes[None, :, column]
    assigned = linear_sum_assignment(cost)[1]
    classes = matcher.labels[rows]
    inside = np.bincount(classes)  # records of the block in each equivalence class
    return np.where(classes[assigned] == classes, 1 / inside[classes], 0.0)
