"""Lists for the annealing of numbers and categories: the nearest groups of each group, and those of each record.

Groups are compared by their means and most frequent categories, a record with a group by what it would cost to join.
Among equally near groups the order in which they are given decides, so that a caller who shuffles them gets other lists
each time. Cost O(g² columns) for g groups, O(n columns) for the records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled
from shoal.methods.kernels.mixed_costs import cost_change


@compiled
def most_frequent(lists: Any, alive: Any, modes: Any) -> None:
    """Write the most frequent category of each column of each group; among equals the one that was counted first."""
    for s in range(alive.size):
        g = alive[s]
        for j in range(modes.shape[0]):
            best = 1
            for e in range(3, 2 * np.int64(lists[g, j, 0]), 2):
                if lists[g, j, e + 1] > lists[g, j, best + 1]:
                    best = e
            modes[j, s] = np.int32(lists[g, j, best])


@compiled
def renew_mixed_group_lists(
    columns: Any, modes: Any, prices: Any, alive: Any, near_groups: Any, distances: Any
) -> None:
    """Find the nearest groups of each group.

    Parameters
    ----------
    columns
        The centroids of the groups, d x g, in single precision, which is enough for a list.
    modes
        Their most frequent categories, m x g.
    prices
        What a different category counts, for each of the m columns.
    alive
        The numbers of the groups.
    near_groups
        By group number, the nearest groups; a group that has fewer is named in place of the missing ones.
    distances
        Work array.
    """
    count = alive.size
    wanted = min(near_groups.shape[1], count - 1)
    chosen = np.empty(max(wanted, 1), np.int64)
    lengths = np.empty(max(wanted, 1), np.float32)
    nothing = np.float32(0.0)
    for s in range(count):
        for t in range(count):
            distances[t] = nothing
        for j in range(columns.shape[0]):
            middle = columns[j, s]
            row = columns[j]
            for t in range(count):
                difference = row[t] - middle
                distances[t] += difference * difference
        for j in range(modes.shape[0]):
            mode = modes[j, s]
            names = modes[j]
            price = prices[j]
            for t in range(count):
                distances[t] += price if names[t] != mode else nothing
        found = 0
        for t in range(count):
            distance = distances[t]
            if t == s or (found == wanted and distance >= lengths[wanted - 1]):
                continue
            p = found if found < wanted else wanted - 1
            while p > 0 and lengths[p - 1] > distance:
                lengths[p] = lengths[p - 1]
                chosen[p] = chosen[p - 1]
                p -= 1
            lengths[p] = distance
            chosen[p] = t
            if found < wanted:
                found += 1
        g = alive[s]
        for p in range(near_groups.shape[1]):
            near_groups[g, p] = alive[chosen[p]] if p < wanted else g


@compiled(error_model="numpy")
def renew_mixed_record_lists(
    rows: Any, prices: Any, shape: Any, special: Any, summary: Any, lists: Any, group: Any, sizes: Any, costs: Any,
    near_groups: Any, near: Any, unit: Any, unit_groups: int,
) -> None:  # fmt: skip
    """Find the groups that a record joins most cheaply among those near its own, and the scale of its temperature."""
    wanted = near.shape[1]
    lengths = np.empty(wanted)
    for i in range(group.size):
        a = group[i]
        total = costs[a] / sizes[a]
        for p in range(unit_groups):
            g = near_groups[a, p]
            total += costs[g] / sizes[g]
        unit[i] = total / (unit_groups + 1)
        found = 0
        for p in range(near_groups.shape[1]):
            g = near_groups[a, p]
            distance = np.inf  # its own group is last
            if g != a:
                distance = cost_change(
                    rows, prices, shape, special, summary, lists, g, np.int64(-1), i
                )  # fmt: skip
            if found == wanted and distance >= lengths[wanted - 1]:
                continue
            q = found if found < wanted else wanted - 1
            while q > 0 and lengths[q - 1] > distance:
                lengths[q] = lengths[q - 1]
                near[i, q] = near[i, q - 1]
                q -= 1
            lengths[q] = distance
            near[i, q] = g
            if found < wanted:
                found += 1
