"""Categorical microdata: the samples of Adult and generated tables of Cost 2023, and hard instances by construction.

Cost 2023, section 6.2.1 (Adult, tables with a prescribed share of confidentiality problems) and section 3.1 (the
reduction from three-dimensional matching). A confidentiality *problem* is a record that violates k-anonymity: fewer
than k records have its combination of values. :mod:`shoal.datasets` exports all functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import check_seed, check_size
from shoal.errors import ParameterError

ADULT_ATTRIBUTES = (
    "sex",
    "race",
    "relationship",
    "marital-status",
    "workclass",
    "occupation",
    "education",
    "native-country",
)
"""The categorical attributes of Adult in ascending order of their number of values (Cost 2023, Table 6.1)."""
ADULT_NUMBERS = ("age", "education-num", "hours-per-week")
"""The numeric attributes of Adult in the experiments of Thaeter 2021."""
ADULT_TRAINING = 32_561
SYNTHETIC_DOMAINS = (2, 5, 6, 7, 7)
"""Values per attribute of the generated tables (Cost 2023, Table 6.4)."""


def adult_numbers() -> Any:
    """Return the three numeric attributes of Adult that Thaeter 2021 groups, as a polars DataFrame of 48,842 records.

    Age, years of education and hours per week (Thaeter 2021, section 5.2; Thaeter & Reischuk 2021, section 5). The
    records of both files of Adult, also those that miss a categorical value.

    Returns
    -------
    table
        Three columns.
    """
    from shoal.datasets.reference import load

    return load("adult").select(ADULT_NUMBERS)


def adult_categories(n: int | None = None, attributes: int = 5, *, seed: int = 0) -> Any:
    """Return the categorical attributes of Adult as a polars DataFrame, or a random sample of its records.

    The training file without the records that miss a categorical value, 30,162 records (Cost 2023, section 6.2.1).

    Parameters
    ----------
    n
        The size of a sample without replacement; by default all records.
    attributes
        The number of attributes, in the order of ``ADULT_ATTRIBUTES``.
    seed
        Seed of the random sample.

    Returns
    -------
    table
        One column per attribute.
    """
    import polars as pl

    from shoal.datasets.reference import load

    check_size(attributes, "attributes")
    if n is not None:
        check_size(n, "n")
    check_seed(seed)
    if not 1 <= attributes <= len(ADULT_ATTRIBUTES):
        raise ParameterError(f"attributes={attributes} is not possible; choose 1 to {len(ADULT_ATTRIBUTES)}")
    table = load("adult").head(ADULT_TRAINING).select(ADULT_ATTRIBUTES)
    table = table.filter(pl.all_horizontal(pl.all() != "?")).select(ADULT_ATTRIBUTES[:attributes])
    if n is None:
        return table
    if not 1 <= n <= len(table):
        raise ParameterError(f"n={n} is not possible; choose 1 to {len(table)} records")
    return table[np.sort(np.random.default_rng(seed).choice(len(table), n, replace=False))]


def category_codes(table: Any) -> NDArray[np.int32]:
    """Return the columns of a polars DataFrame as codes: the position of each value in the sorted list of its column.

    Parameters
    ----------
    table
        A polars DataFrame of categories without missing values.

    Returns
    -------
    codes
        Numbers from 0, records x columns.

    Examples
    --------
    >>> import polars as pl
    >>> category_codes(pl.DataFrame({"sex": ["m", "f", "m"], "status": ["x", "x", "y"]})).tolist()
    [[1, 0], [0, 0], [1, 1]]
    """
    if not hasattr(table, "get_columns"):
        raise ParameterError(f"the table must be a polars DataFrame, not {type(table).__name__}")
    columns = [np.unique(column.to_numpy(), return_inverse=True)[1].reshape(-1) for column in table.get_columns()]
    return np.ascontiguousarray(np.column_stack(columns), dtype=np.int32)


def nominal_problems(
    n: int = 200,
    share: float = 0.2,
    k: int = 3,
    *,
    domains: Sequence[int] = SYNTHETIC_DOMAINS,
    seed: int = 0,
) -> NDArray[np.int32]:
    """Return a table of codes in which ceil(share n) records are confidentiality problems (Cost 2023, section 6.2.1).

    First combinations with k to 0.15 n + 1 copies are drawn, then combinations with 1 to k - 1 copies; values are
    uniform, no combination is drawn twice, and the records are shuffled. The last combination of each part has as many
    copies as are missing; if these are fewer than k in the first part, the combination before it has more.

    Parameters
    ----------
    n
        The number of records.
    share
        The share of records that are problems.
    k
        Combinations with fewer than k records are problems.
    domains
        The number of values of each attribute.
    seed
        Seed of the random numbers.

    Returns
    -------
    codes
        Records x attributes, categories from 0.

    Examples
    --------
    >>> from shoal.core.row_classes import unsafe_rows
    >>> int(unsafe_rows(nominal_problems(200, 0.2, 3), 3).sum())
    40
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"share={share} is not possible; choose 0 to 1")
    rng = np.random.default_rng(seed)
    problems = ceil(share * n - 1e-9)
    safe = n - problems
    if 0 < safe < k:
        raise ParameterError(f"share={share} leaves {safe} of {n} records, too few for one combination of k={k}")
    sizes = []
    while safe:
        copies = min(int(rng.integers(k - 1, max(k - 1, int(0.15 * n)), endpoint=True)) + 1, safe)
        copies = safe if safe - copies < k else copies
        sizes.append(copies)
        safe -= copies
    while problems:
        copies = min(int(rng.integers(1, k - 1, endpoint=True)), problems)
        sizes.append(copies)
        problems -= copies
    if len(sizes) > prod(domains):
        raise ParameterError(
            f"{len(sizes)} different combinations are needed, but the {len(domains)} attributes have {prod(domains)}; "
            "enlarge domains, or lower n or share"
        )
    combinations = np.array(_distinct(rng, domains, len(sizes)), np.int32).reshape(len(sizes), len(domains))
    return rng.permutation(np.repeat(combinations, sizes, axis=0))


def _distinct(rng: np.random.Generator, domains: Sequence[int], wanted: int) -> list[tuple[int, ...]]:
    """Return combinations drawn uniformly, none twice."""
    found: dict[tuple[int, ...], None] = {}
    while len(found) < wanted:
        found[tuple(int(rng.integers(size)) for size in domains)] = None
    return list(found)


@dataclass(frozen=True)
class MatchingInstance:
    """A frequency vector that can be made 3-anonymous within its tolerances if and only if a matching exists.

    Parameters
    ----------
    rows
        All q³ combinations of three attributes with q values, in lexicographic order.
    counts
        1 for the combinations that are triples of the matching problem.
    tables
        The control tables: each attribute alone, and all three together.
    tolerance
        The error allowed in each cell, table after table.
    total
        The number of records of the 3-anonymous vector, 3 q.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]
    tables: tuple[tuple[int, ...], ...]
    tolerance: NDArray[np.float64]
    total: int


def matching_instance(q: int, triples: Sequence[tuple[int, int, int]]) -> MatchingInstance:
    """Return the 3-ANONYM instance of a three-dimensional matching problem (Cost 2023, Theorem 3.1.1).

    Parameters
    ----------
    q
        The size of each of the three sets, numbered 0 to q - 1.
    triples
        The triples allowed; every element may occur in at most three of them.

    Returns
    -------
    instance
        The table as counts of combinations, and what a solution of the matching problem makes of it.

    Examples
    --------
    >>> instance = matching_instance(2, [(0, 0, 0), (1, 1, 1)])
    >>> instance.counts.tolist(), instance.total
    ([1, 0, 0, 0, 0, 0, 0, 1], 6)
    """
    check_size(q, "q")
    rows = np.array(list(product(range(q), repeat=3)), np.int32)
    chosen = {tuple(triple) for triple in triples}
    if any(not 0 <= element < q for triple in chosen for element in triple):
        raise ParameterError(f"the elements of triples are numbered 0 to {q - 1}")
    counts = np.array([tuple(row) in chosen for row in rows.tolist()], np.int64)
    margins = np.concatenate([np.bincount(rows[:, j], counts, q) for j in range(3)])
    if (margins > 3).any():
        raise ParameterError("an element occurs in more than three triples; at most three are allowed")
    tolerance = np.concatenate([np.select([margins == 1, margins == 2], [2.0, 1.0], 0.0), 2.0 * counts])
    return MatchingInstance(rows, counts, ((0,), (1,), (2,), (0, 1, 2)), tolerance, 3 * q)
