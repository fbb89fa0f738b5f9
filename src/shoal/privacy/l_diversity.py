"""l-diversity in its three forms (Machanavajjhala et al. 2007, section 4; Thaeter 2021, Def. 3.10 and 3.11).

*Distinct*: every class has at least l different values. *Entropy*: the entropy of the values of every class is at least
log l. *Recursive* (c, l): the most frequent value of every class occurs less than c times as often as the l-th most
frequent and all rarer ones together. A missing value that may be any value is assumed to be the
most frequent one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counts import Counts, Floats, Integers


def distinct_l(counts: Counts) -> Integers:
    """Return the number of different values of each class.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> distinct_l(count_values(np.array([0, 0, 0, 1, 1]), np.array([2, 0, 2, 1, 1])))
    array([2, 1])
    """
    different = np.bincount(counts.group, minlength=counts.sizes.size)
    return np.maximum(different, 1)


def entropy_l(counts: Counts) -> Floats:
    """Return exp(entropy) of each class: the l for which it is just entropy l-diverse.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> entropy_l(count_values(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 3, 3, 1, 1])))
    array([2., 1.])
    """
    count = _with_missing(counts)
    # the entropy is log n - (sum of c log c) / n; equal counts give an integer without rounding errors
    terms = counts.over_classes(np.add, count * np.log(count), 0.0)
    # where nothing is known, all values may be the same
    terms = np.where(counts.known > 0, terms, counts.sizes * np.log(counts.sizes))
    entropy = np.log(counts.sizes) - terms / counts.sizes
    found = np.exp(np.maximum(entropy, 0.0))
    nearest = np.rint(found)
    return np.where(np.abs(found - nearest) < 1e-12 * nearest, nearest, found)


def recursive_c(counts: Counts, l: int) -> Floats:
    """Return for each class the c above which it is recursive (c, l)-diverse; infinite with fewer than l values.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> recursive_c(count_values(np.zeros(6, np.int64), np.array([0, 0, 0, 1, 1, 2])), 2)
    array([1.])
    """
    count = _with_missing(counts)
    order = np.lexsort((-count, counts.group))
    ranked, group = count[order], counts.group[order]
    runs = np.diff(np.append(counts.starts, group.size))
    rank = np.arange(group.size) - np.repeat(counts.starts, runs)
    tail = np.bincount(group[rank >= l - 1], ranked[rank >= l - 1], minlength=counts.sizes.size)
    most = counts.over_classes(np.maximum, count, 0)
    with np.errstate(divide="ignore"):
        found = np.where(tail > 0, most / np.where(tail > 0, tail, 1), np.inf)
    return np.where((counts.known == 0) & (l <= 1), 1.0, found)  # one value that all records may share


def _with_missing(counts: Counts) -> NDArray[Any]:
    """Return the counts of the entries, with the missing values of a class added to its most frequent value."""
    if not counts.missing.any():
        return counts.count
    most = counts.over_classes(np.maximum, counts.count, 0)
    candidates = np.flatnonzero(counts.count == most[counts.group])
    first = candidates[np.unique(counts.group[candidates], return_index=True)[1]]
    filled = counts.count.copy()
    filled[first] += counts.missing[counts.group[first]]
    return filled
