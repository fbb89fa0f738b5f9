"""Interval disclosure: the share of records whose true value lies in a small interval around the released one.

Interval disclosure by deviation (Mateo-Sanz et al. 2004; ``dRisk`` of sdcMicro): the true value lies within a share of
the standard deviation around the released one. Rank intervals (Domingo-Ferrer and Torra 2001): within a share of the
records when both values are ranked among the original values. The baseline is the shuffled release: the share of
records whose true value is as near to the value released for another record.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.evaluate.attacks import Attack, by_persons
from shoal.evaluate.estimates import share_of_persons
from shoal.evaluate.paired_columns import PairedColumn

Integers = NDArray[np.int64]
WIDTH = 0.05


def interval_disclosure(
    columns: Sequence[PairedColumn], *, units: Integers | None = None, width: float = WIDTH, seed: int = 0
) -> list[Attack]:
    """Return, for each numeric column, the share of true values within ``width`` standard deviations of the release.

    Parameters
    ----------
    columns
        Columns of both tables, the same records in the same order.
    units
        The person of each record, where persons have several: success is then the share of the records of a person,
        averaged over persons.
    width
        Half of the width of the interval, in standard deviations of the original.
    seed
        Seed of the shuffled baseline.

    Returns
    -------
    attacks
        One per numeric column; missing values are never disclosed. Cost O(n).

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 2.0, 9.0, 10.0]), np.array([1.1, 2.9, 8.1, 9.9]))
    >>> interval_disclosure([ages])[0].success.value
    0.5
    """
    _check_width(width)
    found = []
    for column in columns:
        if column.numeric:
            reach = width * column.deviation * (1 + 1e-12)
            other = _shuffled(column.released, seed)
            found.append(
                Attack(
                    "interval-disclosure",
                    column.name,
                    share_of_persons(_near(column.original, column.released, reach), units),
                    share_of_persons(_near(column.original, other, reach), units),
                    column.original.size,
                    *by_persons(
                        f"the true value is within {width:g} standard deviations of the released one; the baseline "
                        "uses the value released for another record",
                        units,
                    ),
                )
            )
    return found


def rank_interval_disclosure(
    columns: Sequence[PairedColumn], *, units: Integers | None = None, width: float = WIDTH, seed: int = 0
) -> list[Attack]:
    """Return, for each numeric column, the share of true values within ``width`` of the records in rank.

    Both values are ranked among the sorted original values; ties share their middle rank. Cost O(n log n).

    Examples
    --------
    >>> ages = PairedColumn("age", np.array([1.0, 2.0, 3.0, 900.0]), np.array([1.0, 2.0, 900.0, 3.0]))
    >>> rank_interval_disclosure([ages])[0].success.value
    0.5
    """
    _check_width(width)
    found = []
    for column in columns:
        if column.numeric:
            ordered = np.sort(column.original[~np.isnan(column.original)])
            truth, shown = _ranks(column.original, ordered), _ranks(column.released, ordered)
            reach = width * ordered.size * (1 + 1e-12)
            found.append(
                Attack(
                    "rank-interval-disclosure",
                    column.name,
                    share_of_persons(_near(truth, shown, reach), units),
                    share_of_persons(_near(truth, _shuffled(shown, seed), reach), units),
                    column.original.size,
                    *by_persons(
                        f"the true value is within {100 * width:g} % of the records in rank; the baseline uses the "
                        "value released for another record",
                        units,
                    ),
                )
            )
    return found


def _check_width(width: float) -> None:
    if not 0 < width < 1:
        raise ParameterError(f"width={width} must be between 0 and 1")


def _near(truth: NDArray[np.float64], shown: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    return (np.abs(truth - shown) <= reach).astype(np.float64)  # NaN is never near


def _ranks(values: NDArray[np.float64], ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    middle = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    return np.where(np.isnan(values), np.nan, middle)


def _shuffled(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).permutation(values)
