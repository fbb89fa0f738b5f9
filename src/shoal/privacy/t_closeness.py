"""t-closeness: the distribution in every equivalence class is close to that of the whole table (Li et al. 2007).

The distance of the two distributions is the earth mover's distance over a ground distance (see ``ground_distances``);
Thaeter 2021, Def. 3.13. Computed from the values that occur in a class alone: O(entries log values) for ordered values,
O(entries x depth) for the others, however many values there are.
"""

from __future__ import annotations

import numpy as np

from shoal.privacy.counts import Counts, Floats
from shoal.privacy.ground_distances import GroundDistance


def closeness(counts: Counts, distance: GroundDistance) -> Floats:
    """Return the earth mover's distance of each class to the whole table.

    A class without known values is as far from the table as the worst class with a single value.

    Examples
    --------
    >>> from shoal.privacy.counts import count_values
    >>> from shoal.privacy.ground_distances import ORDERED, equal_distance
    >>> counts = count_values(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]))
    >>> closeness(counts, ORDERED)
    array([0.33333333, 0.33333333])
    >>> closeness(counts, equal_distance(4))
    array([0.5, 0.5])
    """
    found = _ordered(counts) if distance.name == "ordered" else _nested(counts, distance)
    found = np.where(counts.known > 0, np.maximum(found, 0.0), 0.0)
    return counts.worst_where_unknown(found, lambda single: closeness(single, distance), 1.0)


def _ordered(counts: Counts) -> Floats:
    """Sum |F_class - F_table| over all values, run by run: F_class is constant between two values that occur."""
    n_values = counts.totals.size
    if n_values < 2:
        return np.zeros(counts.sizes.size)
    below = np.cumsum(counts.totals)
    total = float(below[-1])
    table = below / total
    area = np.append(0.0, np.cumsum(below) / total)  # the sum of F_table over all values below

    first, runs = counts.starts, np.diff(np.append(counts.starts, counts.group.size))
    reached = np.cumsum(counts.count)
    before = (reached - counts.count)[first]
    level = (reached - np.repeat(before, runs)) / counts.known[counts.group]
    start = counts.value
    end = np.append(start[1:], n_values)
    end[first + runs - 1] = n_values
    crossing = np.clip(np.searchsorted(table, level), start, end)
    parts = level * (2 * crossing - start - end) - 2 * area[crossing] + area[start] + area[end]
    parts[first] += area[start[first]]  # below the lowest value of the class
    sums: Floats = np.bincount(counts.group, parts, minlength=counts.sizes.size) / (n_values - 1)
    return sums


def _nested(counts: Counts, distance: GroundDistance) -> Floats:
    """Sum w |Q(S) - P(S)| over all sets; those that are absent from a class contribute w P(S)."""
    total = np.zeros(counts.sizes.size)
    for level in distance.levels:
        coarse = counts if level.node.size == counts.totals.size and _is_identity(level.node) else None
        coarse = counts.coarsened(level.node) if coarse is None else coarse
        weight = level.weight[: coarse.totals.size]
        p, w = coarse.frequencies[coarse.value], weight[coarse.value]
        parts = w * (np.abs(coarse.shares - p) - p)
        total += np.bincount(coarse.group, parts, minlength=total.size) + float(weight @ coarse.frequencies)
    return total


def _is_identity(node: np.ndarray) -> bool:
    return bool((node == np.arange(node.size)).all())
