"""Record linkage: how many released records are traced to their person by somebody who knows the true values.

Distance-based linkage (Domingo-Ferrer and Torra 2001): each person is linked to the nearest released record; among
equally near ones the attacker guesses. Global one-to-one linkage (Herranz et al. 2015; the attack of sdcMicro since
2026) uses that two persons cannot be the same record: the assignment of least total distance. Both are worst cases: the
attacker knows every quasi-identifier of everybody exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.evaluate.attacks import SAMPLE, Attack, sampled_rows, sampling_words
from shoal.evaluate.estimates import exactly, share
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn

BLOCK = 1_000
"""The most records of one assignment; its time grows with the cube."""
_BLOCKS = 5


def distance_linkage(
    columns: Sequence[PairedColumn],
    *,
    matcher: Matcher | None = None,
    sample: int | None = SAMPLE,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Attack:
    """Link persons to the nearest released records.

    Parameters
    ----------
    columns
        The quasi-identifiers of both tables, the same records in the same order.
    matcher
        The classes of the release, if they were found before.
    sample
        How many persons to try; None for all.
    seed
        Draws the sample.
    progress
        Hears how many are searched.

    Returns
    -------
    attack
        Success is the share of persons linked to their own record; a guess among t equally near records succeeds with
        chance 1/t. The baseline is a guess among all records.

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 3.0, 8.0, 10.0]), np.array([2.0, 2.0, 9.0, 9.0]))
    >>> distance_linkage([ages]).success.value
    0.5
    """
    matcher = matcher or Matcher(columns)
    n = matcher.labels.size
    rows = sampled_rows(n, sample, seed)
    matches = matcher.nearest([column.original[rows] for column in columns], progress)
    success = matcher.success(rows, matches)
    how = f"{sampling_words(rows.size, n)} linked to the nearest released record; the baseline guesses"
    return Attack("linkage", "", share(success), exactly(1 / n, n), n, how)


def linkage_without(
    columns: Sequence[PairedColumn], *, matcher: Matcher | None = None, sample: int | None = 1_000, seed: int = 0
) -> dict[str, float]:
    """Return how much fewer persons are linked by an attacker who does not know a column, for each column.

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
    if len(columns) == 1:  # without it there is only the guess
        return {columns[0].name: everything - 1 / matcher.labels.size}
    found = {}
    for place, column in enumerate(columns):
        other = matcher.without(place)
        matches = other.nearest(known[:place] + known[place + 1 :])
        found[column.name] = everything - float(other.success(rows, matches).mean())
    return found


def one_to_one_linkage(
    columns: Sequence[PairedColumn], *, matcher: Matcher | None = None, seed: int = 0, progress: Progress = SILENT
) -> Attack:
    """Link all persons to released records at once, each to a record of its own.

    Up to 1,000 records the assignment is solved as it is. Larger tables are cut along the first principal component of
    the original into blocks of 1,000, of which five are drawn at random; the attacker is told the block, which makes
    the attack stronger. Records that look alike are interchangeable, so the expected number of right links is counted.

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 2.0, 8.0]), np.array([1.5, 2.5, 8.0]))
    >>> one_to_one_linkage([ages]).success.value
    1.0
    """
    matcher = matcher or Matcher(columns)
    n = matcher.labels.size
    blocks = _blocks(matcher, columns, seed)
    progress.stage("linking one to one", len(blocks))
    success = []
    for rows in blocks:
        success.append(_assigned(matcher, columns, rows))
        progress.advance()
    tried = sum(rows.size for rows in blocks)
    how = (
        f"all {n:,} records assigned at once; the baseline guesses"
        if len(blocks) == 1
        else f"{tried:,} of {n:,} records in {len(blocks)} blocks of neighbours, the block being known; the baseline "
        "guesses in the block"
    )
    chance = len(blocks) / tried
    return Attack("one-to-one", "", share(np.concatenate(success)), exactly(chance, tried), n, how)


def _blocks(matcher: Matcher, columns: Sequence[PairedColumn], seed: int) -> list[NDArray[np.int64]]:
    n = matcher.labels.size
    if n <= BLOCK:
        return [np.arange(n)]
    numbers, codes = matcher.encode([column.original for column in columns])
    if numbers.shape[1]:
        centred = numbers - numbers.mean(axis=0)
        direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        order = np.argsort(centred @ direction, kind="stable")
    else:
        order = np.lexsort(codes.T[::-1])
    count = -(-n // BLOCK)
    chosen = np.sort(np.random.default_rng(seed).choice(count, min(_BLOCKS, count), replace=False))
    edges = np.linspace(0, n, count + 1).astype(np.int64)
    return [np.sort(order[edges[block] : edges[block + 1]]) for block in chosen]


def _assigned(matcher: Matcher, columns: Sequence[PairedColumn], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the chance that each of these records is linked to itself."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    known, known_codes = matcher.encode([column.original[rows] for column in columns])
    shown, shown_codes = matcher.encode([column.released[rows] for column in columns])
    cost = cdist(known, shown, "sqeuclidean") if known.shape[1] else np.zeros((rows.size, rows.size))
    for column in range(known_codes.shape[1]):
        cost += known_codes[:, column, None] != shown_codes[None, :, column]
    assigned = linear_sum_assignment(cost)[1]
    classes = matcher.labels[rows]
    inside = np.bincount(classes)  # how many records of the block look alike
    return np.where(classes[assigned] == classes, 1 / inside[classes], 0.0)
