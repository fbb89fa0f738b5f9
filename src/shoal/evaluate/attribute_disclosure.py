"""Attribute disclosure: confidential values inferred from the equivalence class of a record.

No record has to be re-identified: if nine of ten records with identical quasi-identifiers share a diagnosis, it is
known with 90 %. A category is guessed as the most frequent one of the class, a number as the median of the class, which
counts as disclosed within a small interval. The values of small classes agree at random; so the baseline is the same
classes with confidential values shuffled over the table, or, where there is one, a control table of individuals who are
not in the release: inference about them is statistics, not disclosure (the argument of Giomi et al. 2023, anonymeter).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.group_statistics import group_medians
from shoal.core.grouping import Groups
from shoal.evaluate.attacks import MAX_SEARCHED, Attack, by_persons, sample_description, sampled_rows
from shoal.evaluate.estimates import repeated, share_of_persons
from shoal.evaluate.linkage_search import Matcher, Matches
from shoal.evaluate.paired_columns import PairedColumn

WIDTH = 0.05
_SHUFFLES = 5


def attribute_disclosure(
    labels: NDArray[np.int64],
    confidential: Sequence[PairedColumn],
    *,
    units: NDArray[np.int64] | None = None,
    width: float = WIDTH,
    repeats: int = _SHUFFLES,
    seed: int = 0,
) -> list[Attack]:
    """Return, for each confidential column, the share of records for which the guess from their class is right.

    Parameters
    ----------
    labels
        The class of each released record.
    confidential
        Confidential columns: the true values, and the released ones from which the guess is made.
    units
        The person of each record, where persons have several: success is then the share of the records of a person,
        averaged over persons.
    width
        The largest error of a guessed number that counts as disclosure, in standard deviations.
    repeats, seed
        The number of shuffles of the baseline, and their seed.

    Returns
    -------
    attacks
        One per column; a missing value is a category of its own. Cost O(n log n) per shuffle.

    Examples
    --------
    >>> codes = np.array([0.0, 0.0, 0.0, 1.0])
    >>> diagnosis = PairedColumn("diagnosis", codes, codes, ("A", "B"))
    >>> attribute_disclosure(np.array([0, 0, 1, 1]), [diagnosis])[0].success.value
    0.75
    """
    rng = np.random.default_rng(seed)
    found = []
    for column in confidential:
        reach = width * column.deviation * (1 + 1e-12) if column.numeric else 0.0
        truth, shown = _codes(column)
        right = _right(labels, truth, shown, reach, numeric=column.numeric)
        runs = []
        for _ in range(repeats):
            order = rng.permutation(truth.size)
            shuffled = _right(labels, truth[order], shown[order], reach, numeric=column.numeric)
            runs.append(share_of_persons(shuffled, units).value)
        guess = f"the median of the class is within {width:g} standard deviations" if column.numeric else (
            "the most frequent value of the class is right"
        )  # fmt: skip
        description = f"{guess}; the baseline shuffles the column over the same classes {repeats} times"
        success = share_of_persons(right, units)
        found.append(
            Attack(
                "attribute-disclosure", column.name, success, repeated(np.array(runs), success.trials), truth.size,
                *by_persons(description, units),
            )
        )  # fmt: skip
    return found


def attribute_inference(
    matcher: Matcher,
    confidential: Sequence[PairedColumn],
    control: Sequence[PairedColumn],
    control_confidential: Sequence[PairedColumn],
    *,
    units: NDArray[np.int64] | None = None,
    control_units: NDArray[np.int64] | None = None,
    width: float = WIDTH,
    sample: int | None = MAX_SEARCHED,
    seed: int = 0,
) -> list[Attack]:
    """Guess confidential values from the nearest class, for individuals in the release and for a control group.

    Parameters
    ----------
    matcher
        The classes of the release.
    confidential
        Confidential columns of original and release.
    control, control_confidential
        The quasi-identifiers and the confidential columns of the control table (as ``original``), on the same scale.
    units, control_units
        The person of each record of the release and of the control table, where persons have several.
    width, sample, seed
        As in :func:`attribute_disclosure`; at most ``sample`` records of each table are tried.
    """
    n = matcher.labels.size
    rows = sampled_rows(n, sample, seed)
    others = sampled_rows(control[0].original.size, sample, seed)
    inside = matcher.nearest([column.original[rows] for column in matcher.columns])
    outside = matcher.nearest([column.original[others] for column in control])
    found = []
    for column, controlled in zip(confidential, control_confidential, strict=True):
        shown = _codes(column)[1]
        guesses = _guesses(matcher.labels, shown, numeric=column.numeric)
        reach = width * column.deviation * (1 + 1e-12) if column.numeric else 0.0
        success = [
            _guessed(guesses, truth, matches, reach)
            for truth, matches in ((_codes(column)[0][rows], inside), (_codes(controlled)[0][others], outside))
        ]
        description = (
            f"{sample_description(rows.size, n)} guessed from the nearest class; the baseline is {others.size:,} "
            "individuals of the control table"
        )
        shares = [
            share_of_persons(part, None if whose is None else whose[tried])
            for part, whose, tried in zip(success, (units, control_units), (rows, others), strict=True)
        ]
        found.append(
            Attack("attribute-disclosure", column.name, shares[0], shares[1], n, *by_persons(description, units))
        )
    return found


def _codes(column: PairedColumn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return true and released values; a missing category is a category of its own."""
    if column.numeric:
        return column.original, column.released
    return np.nan_to_num(column.original, nan=-1.0) + 1, np.nan_to_num(column.released, nan=-1.0) + 1


def _right(
    labels: NDArray[np.int64], truth: NDArray[np.float64], shown: NDArray[np.float64], reach: float, *, numeric: bool
) -> NDArray[np.float64]:
    """Return 1 for each record whose guess from its class is right, otherwise 0."""
    guesses = _guesses(labels, shown, numeric=numeric)
    return (np.abs(truth - guesses[labels]) <= reach).astype(np.float64)


def _guesses(labels: NDArray[np.int64], shown: NDArray[np.float64], *, numeric: bool) -> NDArray[np.float64]:
    """Return the guess for each class: the median of the numbers, or the most frequent category (the lowest code)."""
    classes = int(labels.max()) + 1
    if not numeric:
        codes = shown.astype(np.int64)
        keys, counts = np.unique(labels * (int(codes.max()) + 1) + codes, return_counts=True)
        group, code = np.divmod(keys, int(codes.max()) + 1)
        order = np.lexsort((code, -counts, group))
        first = np.searchsorted(group[order], np.arange(classes))
        return code[order][first].astype(np.float64)
    known = ~np.isnan(shown)
    guesses = np.full(classes, np.nan)
    if known.any():
        grouping = Groups(labels[known])
        guesses[labels[known]] = group_medians(shown[known], grouping)[grouping.labels]
    return guesses


def _guessed(
    guesses: NDArray[np.float64], truth: NDArray[np.float64], matches: Matches, reach: float
) -> NDArray[np.float64]:
    """Return the share of the nearest classes of each individual whose guess is right."""
    right = (np.abs(truth[matches.rows] - guesses[matches.classes]) <= reach).astype(np.float64)
    total = np.bincount(matches.rows, minlength=truth.size)
    return np.bincount(matches.rows, right, minlength=truth.size) / np.maximum(total, 1)
