"""How often each value of a confidential column occurs in each equivalence class: the input of every privacy model.

Only pairs of class and value that occur are stored, sorted by class and then by value, so that every model is a few
array operations over at most n entries; there is no loop over classes. Cost O(n log n) once per column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counts:
    """The occurrences of values in equivalence classes.

    Parameters
    ----------
    group, value, count
        One entry per class and value that occurs in it, sorted by both.
    sizes
        The number of records of each class.
    totals
        How often each value occurs in the whole table.
    missing
        The number of records of each class whose value is unknown. Zero for all classes unless missing values are
        wildcards.

    Where persons have several rows and count equally (see :mod:`shoal.privacy.person_values`), sizes are numbers of
    persons, and counts, totals and missing are sums of the parts of their rows, which are fractions.

    Examples
    --------
    >>> counts = count_values(np.array([0, 0, 0, 1, 1]), np.array([2, 0, 2, 1, 1]))
    >>> counts.group, counts.value, counts.count
    (array([0, 0, 1]), array([0, 2, 1]), array([1, 2, 2]))
    >>> counts.shares
    array([0.33333333, 0.66666667, 1.        ])
    """

    group: Integers
    value: Integers
    count: NDArray[Any]
    sizes: Integers
    totals: NDArray[Any]
    missing: NDArray[Any]

    @cached_property
    def known(self) -> NDArray[Any]:
        """The number of records of each class whose value is known."""
        return self.sizes - self.missing

    @cached_property
    def shares(self) -> Floats:
        """The share of each entry among the known values of its class."""
        shares: Floats = self.count / self.known[self.group]
        return shares

    @cached_property
    def frequencies(self) -> Floats:
        """The share of each value in the whole table."""
        total = self.totals.sum()
        return self.totals / total if total else np.zeros(self.totals.size)

    def over_classes(self, operation: np.ufunc, entries: NDArray[Any], empty: float) -> NDArray[Any]:
        """Return the sum, maximum, ... of entries over each class; ``empty`` for a class without known values."""
        found = np.full(self.sizes.size, empty, entries.dtype)
        if self.starts.size:
            found[self.group[self.starts]] = operation.reduceat(entries, self.starts)
        return found

    def worst_where_unknown(self, figures: Floats, measure: Callable[[Counts], Floats], nothing_known: float) -> Floats:
        """Return the figures with those of classes without a known value replaced by the worst that is possible.

        All values of such a class may be the same one, so its figure is the largest of any class with a single value.

        Parameters
        ----------
        figures
            One figure per class; larger is worse.
        measure
            Returns the figure of each class.
        nothing_known
            The figure where no value of the whole table is known.
        """
        unknown = (self.known == 0) & (self.sizes > 0)
        if not unknown.any():
            return figures
        single = self._single_values()
        worst = float(measure(single).max()) if single.sizes.size else nothing_known
        return np.where(unknown, worst, figures)

    def _single_values(self) -> Counts:
        """Return the counts of one class for each value of the table, with one record of that value."""
        value = np.flatnonzero(self.totals)
        ones, zeros = np.ones(value.size, np.int64), np.zeros(value.size, np.int64)
        return Counts(np.arange(value.size), value, ones, ones, self.totals, zeros)

    @cached_property
    def starts(self) -> Integers:
        """The first entry of each class that has any."""
        return np.flatnonzero(np.append(True, self.group[1:] != self.group[:-1])) if self.group.size else self.group

    def coarsened(self, node: Integers) -> Counts:
        """Return the counts of coarser values: ``node[v]`` replaces value v."""
        totals = np.bincount(node, self.totals, minlength=int(node.max(initial=-1)) + 1).astype(self.totals.dtype)
        group, value, count = summed(self.group * totals.size + node[self.value], self.count, totals.size)
        return Counts(group, value, count, self.sizes, totals, self.missing)


def count_values(labels: Integers, codes: Integers, *, n_values: int | None = None) -> Counts:
    """Count values by class.

    Parameters
    ----------
    labels
        The class of each record, 0, 1, ...
    codes
        The value of each record, 0, 1, ...; -1 for a missing value that may be any value.
    n_values
        The number of different values, if some may be absent.

    Returns
    -------
    counts
        The counts. Cost O(n log n).
    """
    n_values = int(codes.max(initial=-1)) + 1 if n_values is None else n_values
    sizes = np.bincount(labels).astype(np.int64)
    known = codes >= 0
    if known.all():
        missing, keys = np.zeros_like(sizes), labels * max(n_values, 1) + codes
    else:
        missing = np.bincount(labels[~known], minlength=sizes.size).astype(np.int64)
        keys = labels[known] * max(n_values, 1) + codes[known]
    totals = np.bincount(codes[known], minlength=n_values).astype(np.int64)
    group, value, count = summed(keys, None, max(n_values, 1))
    return Counts(group, value, count, sizes, totals, missing)


@dataclass(frozen=True, eq=False)
class Link:
    """Classes that match: class ``targets[i]`` includes every class ``sources[j]`` with the same key."""

    targets: Integers
    target_keys: Integers
    sources: Integers
    source_keys: Integers


def linked(parts: Counts, links: list[Link]) -> Counts:
    """Return the counts of overlapping classes, where a record belongs to every class that it matches."""
    from scipy import sparse

    n_classes, n_values = parts.sizes.size, max(parts.totals.size, 1)
    # the last two columns hold sizes and numbers of missing values
    entries = np.concatenate([parts.count, parts.sizes, parts.missing])
    rows = np.concatenate([parts.group, np.arange(n_classes), np.arange(n_classes)])
    columns = np.concatenate([parts.value, np.full(n_classes, n_values), np.full(n_classes, n_values + 1)])
    table = sparse.csr_matrix((entries, (rows, columns)), (n_classes, n_values + 2))
    joined = sparse.csr_matrix((n_classes, n_values + 2), dtype=np.int64)
    for link in links:
        n_keys = int(max(link.target_keys.max(), link.source_keys.max())) + 1
        by_key = _incidence(link.source_keys, link.sources, (n_keys, n_classes))
        by_class = _incidence(link.targets, link.target_keys, (n_classes, n_keys))
        joined = joined + by_class @ (by_key @ table)
    sizes, missing = (np.asarray(joined[:, n_values + i].todense(), np.int64).reshape(-1) for i in (0, 1))
    inside = joined[:, :n_values].tocsr()
    inside.sort_indices()
    group = np.repeat(np.arange(n_classes), np.diff(inside.indptr))
    return Counts(
        group, inside.indices.astype(np.int64), inside.data.astype(np.int64), sizes, parts.totals, missing
    )  # fmt: skip


def _incidence(rows: Integers, columns: Integers, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    return sparse.csr_matrix((np.ones(rows.size, np.int64), (rows, columns)), shape)


def summed(keys: Integers, amounts: NDArray[Any] | None, n_values: int) -> tuple[Integers, Integers, NDArray[Any]]:
    """Return class, value and count of each key ``class * n_values + value``; amounts of equal keys are added.

    Examples
    --------
    >>> summed(np.array([5, 0, 5]), None, 3)
    (array([0, 1]), array([0, 2]), array([1, 2]))
    """
    if amounts is None:
        ordered = np.sort(keys)
    else:
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if ordered.size else np.empty(0, np.int64)
    if amounts is None:
        count = np.diff(np.append(first, ordered.size)).astype(np.int64)
    else:
        count = np.add.reduceat(amounts[order], first) if first.size else np.empty(0, amounts.dtype)
    group, value = np.divmod(ordered[first], n_values)
    return group, value, count
