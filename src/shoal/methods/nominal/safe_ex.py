"""SAFE-ex, mSAFE-ex and Chi-ex: the exact programs over frequency vectors as methods, and Chi by local search.

Cost 2023, sections 2.1 (P1), 3.2 (P3) and 5.6 (P9). Records are assigned to the released combinations at least Hamming
distance. When the clock runs out, the best vector found so far is taken and the bound that was proven is told.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.methods.nominal.chi_square_program import VectorSolution, chi_square_vector
from shoal.methods.nominal.frequency_vectors import Vector, frequency_vector, search_vector, settle, standing_records
from shoal.methods.nominal.largest_error_program import largest_error_vector
from shoal.methods.nominal.safe import extra_error, safe_vector
from shoal.methods.registry import method

TIME_LIMIT = 300.0
MOST_COMBINATIONS = 2_000
_COST = "exponential at worst; seconds to minutes for some hundred combinations"
_GUARANTEE = "at least k; only combinations that occur; n kept; the bound is told"


@method(
    "safe-ex",
    title="Categories: the frequency vector with the least largest table error, by integer programming",
    cost=_COST,
    guarantee=_GUARANTEE,
    reference="Cost 2023, section 2.1 (P1)",
    when="to know how small the largest error of any table cell can be; msafe-ex is better otherwise",
    data="codes",
    represents=True,
)
def safe_ex(
    codes: NDArray[np.int32],
    k: int,
    *,
    tables: int | str | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records so that the largest error of a table cell, beyond its tolerance, is least (P1).

    Parameters
    ----------
    codes
        n x m.
    k
        The smallest group allowed.
    tables
        The control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    time_limit
        Seconds; then the best found so far is returned.
    progress
        Hears how far the work is.
    facts
        Receives the ``objective``, its ``bound``, whether it is ``optimal``, and the chi-square error.

    Returns
    -------
    labels
        For each record the number of the record that stands for its group.

    Examples
    --------
    >>> safe_ex(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3).tolist()
    [0, 0, 0, 4, 4, 4, 4, 4]
    """
    return _largest(codes, k, 0.0, tables, time_limit, progress, facts)


@method(
    "msafe-ex",
    title="Categories: as safe-ex, and among equals the vector nearest to the original",
    cost=_COST,
    guarantee=_GUARANTEE,
    reference="Cost 2023, section 3.2 (P3)",
    when="some hundred combinations, and the largest error of any table cell matters",
    data="codes",
    represents=True,
)
def msafe_ex(
    codes: NDArray[np.int32],
    k: int,
    *,
    weight: float | None = None,
    tables: int | str | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records so that largest table error plus weighted distance from the original vector is least (P3).

    Parameters
    ----------
    codes
        n x m.
    k
        The smallest group allowed.
    weight
        What one record of distance costs; 1/n as in the thesis, below 1/(2n) only ties are broken.
    tables
        The control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    time_limit
        Seconds; then the best found so far is returned.
    progress
        Hears how far the work is.
    facts
        Receives the ``objective``, its ``bound``, whether it is ``optimal``, and the chi-square error.

    Returns
    -------
    labels
        For each record the number of the record that stands for its group.

    Examples
    --------
    >>> msafe_ex(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3).tolist()
    [0, 0, 0, 4, 4, 4, 4, 4]
    """
    weight = 1.0 / len(codes) if weight is None else weight
    return _largest(codes, k, weight, tables, time_limit, progress, facts)


@method(
    "chi-ex",
    title="Categories: the frequency vector with the least chi-square error of tables, by integer programming",
    cost=_COST,
    guarantee=_GUARANTEE,
    reference="Cost 2023, section 5.6 (P9)",
    when="some hundred combinations, and all tables together matter",
    data="codes",
    represents=True,
)
def chi_ex(
    codes: NDArray[np.int32],
    k: int,
    *,
    weight: float | None = None,
    tables: int | str | None = None,
    time_limit: float = TIME_LIMIT,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records so that the chi-square error of the control tables is least (P9).

    Parameters
    ----------
    codes
        n x m.
    k
        The smallest group allowed.
    weight
        What one record of distance from the original vector costs; 1/n if not given.
    tables
        The control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    time_limit
        Seconds; then the best found so far is returned.
    seed
        For the local search that finds the vector to start from.
    progress
        Hears how far the work is.
    facts
        Receives the ``objective``, its ``bound``, whether it is ``optimal``, and the chi-square error.

    Returns
    -------
    labels
        For each record the number of the record that stands for its group.

    Examples
    --------
    >>> chi_ex(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3).tolist()
    [0, 0, 0, 4, 4, 4, 4, 4]
    """
    weight = 1.0 / len(codes) if weight is None else weight
    vector = frequency_vector(codes, tables)
    start = searched_vector(vector, k, weight=weight, seed=seed, progress=progress)
    progress.stage("chi-ex: integer program")
    value = vector.chi_square(start) + weight * vector.distance(start)
    found = VectorSolution(start, value, 0.0, optimal=value == 0)
    if vector.counts.size <= MOST_COMBINATIONS and value > 0:
        found = chi_square_vector(vector, k, weight=weight, start=start, time_limit=time_limit)
    return _released(vector, found, facts)


@method(
    "chi-search",
    title="Categories: a frequency vector with a small chi-square error of tables, by local search",
    cost="O(n_a s) per pass for n_a combinations and s tables",
    guarantee="at least k; only combinations that occur; n kept",
    reference="after Cost 2023, section 5.6 (P9)",
    when="tables of categories of any size whose frequency tables matter more than single records",
    data="codes",
    represents=True,
)
def chi_search(
    codes: NDArray[np.int32],
    k: int,
    *,
    weight: float | None = None,
    tables: int | str | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
    facts: dict[str, Any] | None = None,
) -> NDArray[np.int64]:
    """Group records so that the chi-square error of the control tables is small, at any size.

    Parameters
    ----------
    codes
        n x m.
    k
        The smallest group allowed.
    weight
        What one record of distance from the original vector costs; 1/n if not given.
    tables
        The control tables: all up to this dimension, or a list such as ``0,1,0+1``; by default up to dimension 3.
    seed
        For the search.
    progress
        Hears how far the work is.
    facts
        Receives the ``objective`` and the chi-square error.

    Returns
    -------
    labels
        For each record the number of the record that stands for its group.

    Examples
    --------
    >>> chi_search(np.repeat(np.array([[0], [1], [2]], np.int32), [3, 1, 4], axis=0), 3).tolist()
    [0, 0, 0, 4, 4, 4, 4, 4]
    """
    weight = 1.0 / len(codes) if weight is None else weight
    vector = frequency_vector(codes, tables)
    y = searched_vector(vector, k, weight=weight, seed=seed, progress=progress)
    value = vector.chi_square(y) + weight * vector.distance(y)
    return _released(vector, VectorSolution(y, value, 0.0, optimal=value == 0), facts)


def searched_vector(
    vector: Vector, k: int, *, weight: float, seed: int = 0, progress: Progress = SILENT
) -> NDArray[np.int64]:
    """Return a k-anonymous vector with all records and a small chi-square error, by local search."""
    progress.stage("searching frequencies")
    start = settle(vector, vector.counts, k, int(vector.counts.sum()))
    return search_vector(vector, start, k, weight=weight, seed=seed)


def _largest(
    codes: NDArray[np.int32],
    k: int,
    weight: float,
    tables: int | str | None,
    time_limit: float,
    progress: Progress,
    facts: dict[str, Any] | None,
) -> NDArray[np.int64]:
    vector = frequency_vector(codes, tables)
    tolerance = extra_error(vector.target)
    start = settle(vector, safe_vector(vector, k, progress=progress).y, k, len(codes))
    progress.stage("integer program")
    value = vector.largest(start, tolerance) + weight * vector.distance(start)
    found = VectorSolution(start, value, -np.inf, optimal=False)
    if vector.counts.size <= MOST_COMBINATIONS:
        found = largest_error_vector(vector, k, tolerance=tolerance, weight=weight, start=start, time_limit=time_limit)
    return _released(vector, found, facts)


def _released(vector: Vector, found: VectorSolution, facts: dict[str, Any] | None) -> NDArray[np.int64]:
    assert found.y is not None
    if facts is not None:
        facts["control_tables"] = len(vector.tables.tables)
        facts["chi_square"] = vector.chi_square(found.y)
        facts["objective"] = found.value
        facts["bound"] = found.bound if np.isfinite(found.bound) else None
        facts["optimal"] = found.optimal
    return standing_records(vector, found.y)
