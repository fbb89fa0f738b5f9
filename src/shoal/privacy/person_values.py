"""Confidential values where persons have several rows: matching of persons to values, equal weight per person.

Rows of one person must not count as evidence of diversity. In an equivalence class E with the persons U(E), of whom u
has n_u(E) rows and n_us(E) of them with the value s:

- *Distinct l* (and p) is the size of the largest matching of persons to values: l persons of whom each has another
  value. One person with l diagnoses beside persons who all have the same gives a matching of 2.
- *Frequencies* are P_s(E) = (1 / |U(E)|) sum over u of n_us(E) / n_u(E): every person counts once, whatever the number
  of rows. Entropy, recursive l, alpha, beta, t and delta read them, and compare them with the same average over all
  persons of the table.
- *Any row* is the share of persons with the value s in any of their rows in E, a stricter alpha; these shares do not
  add up to 1.

If two classes satisfy a requirement on frequencies, both together may violate it: with nine rows of HIV and one of flu
divided between two persons one way in one class and the other way in the other, P_HIV is 1/2 in each and 0.9 in both
together. Matchings only grow when classes are joined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.privacy.counts import Counts, Floats, Integers, count_values, summed
from shoal.privacy.equivalence_classes import EquivalenceClasses


@dataclass(frozen=True, eq=False)
class PersonValues:
    """The values of a confidential column in each equivalence class, counted by persons.

    Parameters
    ----------
    averaged
        The values with equal weight per person: sizes are numbers of persons, counts are sums of fractions.
    any_row
        The largest share of persons in each class who have one value in any of their rows there.
    matching
        The size of the largest matching of persons to values in each class, at least 1.
    """

    averaged: Counts
    any_row: Floats
    matching: Integers


def count_person_values(
    classes: EquivalenceClasses, units: Integers, codes: Integers, n_values: int, *, totals: Floats | None = None
) -> PersonValues:
    """Count the values of a confidential column by persons.

    Parameters
    ----------
    classes
        The equivalence classes.
    units
        The person of each row, 0, 1, ..., without gaps.
    codes
        The value of each row, 0, 1, ...; -1 for a missing value that may be any value.
    n_values
        The number of different values.
    totals
        The values of the whole table with equal weight per person (:func:`person_totals`), where the rows are only a
        part of it.

    Returns
    -------
    values
        Cost O(n log n), and that of a matching over all pairs of person and value.

    Examples
    --------
    >>> classes = EquivalenceClasses(np.zeros(4, np.int64))
    >>> found = count_person_values(classes, np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]), 3)
    >>> found.matching.tolist(), found.averaged.shares.round(3).tolist(), found.any_row.tolist()
    ([2], [0.667, 0.167, 0.167], [1.0])
    """
    keys, pair = np.unique(units * (n_values + 1) + codes + 1, return_inverse=True)
    entries = classes.counts(pair.reshape(-1).astype(np.int64), keys.size)
    unit, value = np.divmod(keys[entries.value], n_values + 1)
    value -= 1
    # entries are sorted by class, then by person: one run per person in a class
    new = np.append(True, (np.diff(entries.group) != 0) | (np.diff(unit) != 0)) if unit.size else np.zeros(0, bool)
    run = np.cumsum(new) - 1
    rows = np.bincount(run, entries.count)
    part = entries.count / rows[run]
    persons = np.bincount(entries.group[new], minlength=entries.sizes.size).astype(np.int64)

    known, width = value >= 0, max(n_values, 1)
    cell = entries.group[known] * width + value[known]
    averaged = Counts(
        *summed(cell, part[known], width),
        sizes=persons,
        totals=person_totals(units, codes, n_values) if totals is None else totals,
        missing=np.bincount(entries.group[~known], part[~known], minlength=persons.size),
    )
    # a person with an unknown value may have any value
    open_run = np.bincount(run, ~known) > 0
    certain = ~open_run[run[known]]
    having = count_values(entries.group[known][certain], value[known][certain], n_values=n_values)
    most = np.bincount(entries.group[new], open_run, minlength=persons.size)
    most[: having.sizes.size] += having.over_classes(np.maximum, having.count, 0)
    return PersonValues(averaged, most / persons, _matching(run[known], cell, averaged, width))


def person_totals(units: Integers, codes: Integers, n_values: int) -> Floats:
    """Return the values of a table with equal weight per person: sums over persons of the shares of their rows.

    Examples
    --------
    >>> person_totals(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [0.5, 1.5]
    """
    whole = count_values(units, codes, n_values=n_values)
    totals = np.bincount(whole.value, whole.count / whole.sizes[whole.group], minlength=n_values)
    return totals.astype(np.float64)


def _matching(person: Integers, cell: Integers, averaged: Counts, width: int) -> Integers:
    """Return the size of the largest matching of persons to values in each class, at least 1.

    ``person[i]`` and ``cell[i]`` are a person in a class and a value in it that the person has. The graph of all
    classes falls into one part per class, so that one matching of the whole is the largest in each.
    """
    found = np.ones(averaged.sizes.size, np.int64)
    if not cell.size:
        return found
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    cells = averaged.group * width + averaged.value
    shape = (int(person.max()) + 1, cells.size)
    graph = csr_matrix((np.ones(cell.size, np.int8), (person, np.searchsorted(cells, cell))), shape)
    matched = maximum_bipartite_matching(graph, perm_type="row")  # the person of each cell, -1 if none
    return np.maximum(found, np.bincount(averaged.group[matched >= 0], minlength=found.size))
