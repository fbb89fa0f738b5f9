"""Compiled loops that repair groups: exchange records with neighbours until every group satisfies the requirements.

A group that violates a requirement examines the groups around it and takes the cheapest step per amount of violation
that it removes: exchange a record for another, take one in, give one away, or merge with the whole group. The cost of a
step is the change of the squared error, which follows from centroids alone (Thaeter 2021, theorems 2.15 and 2.19):
exchanging x of g for y of h changes it by -2 (y-x)(c_g-c_h) - |y-x|² (1/|g| + 1/|h|). Where nothing is violated the
same loop takes the steps that lower the squared error and violate nothing. Violations are those of
``shoal.core.requirement_violation``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner
from shoal.core.requirement_violation import (
    SATISFIED,
    read_group_values,
    replaced_values,
    sort_values,
    total_violation,
)

MAX_CANDIDATES = 24
"""The most records of a group that are considered for an exchange with one neighbour."""
LARGE_GROUP = 64
"""Groups with more records are only merged: one record changes little in them."""
MAX_STEPS = 16
"""The most steps of one group in one call."""
NO_STEP = -2
"""The merge target of a group for which no step helps."""


@inner
def _closest(projected: Any, size: int, sign: float, chosen: Any) -> int:
    """Choose up to MAX_CANDIDATES records with the smallest signed projection; all of them in a small group."""
    if size <= MAX_CANDIDATES:
        for i in range(size):
            chosen[i] = i
        return size
    count = 0
    for i in range(size):
        value = sign * projected[i]
        if count == MAX_CANDIDATES and value >= sign * projected[chosen[MAX_CANDIDATES - 1]]:
            continue
        j = min(count, MAX_CANDIDATES - 1)
        while j > 0 and sign * projected[chosen[j - 1]] > value:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = i
        count = min(count + 1, MAX_CANDIDATES)
    return count


@compiled(error_model="numpy")
def exchange(
    points: Any, codes: Any, table: Any, members: Any, starts: Any, capacity: Any, sizes: Any, centroids: Any,
    violation: Any, queue: Any, around: Any, k: int, refining: bool, merge_target: Any,
) -> int:  # fmt: skip
    """Repair (or refine) the groups of a queue, one after the other; returns the number of steps taken.

    ``around[i]`` are the groups near the i-th of the queue (-1: none). ``capacity[g]`` is the number of members that
    group g may have in ``members``. ``violation`` is the violation of each group. A group that is better merged with
    another one is left as it is, and the other one is written into ``merge_target``, or NO_STEP if no step helps.
    """
    n_columns, d = codes.shape[1], points.shape[1]
    most = capacity.max() + 1
    own = np.empty((n_columns, most), np.int64)
    other = np.empty((n_columns, most), np.int64)
    left = np.empty((n_columns, 2 * most), np.int64)
    right = np.empty((n_columns, 2 * most), np.int64)
    counts = np.empty(2 * most, np.int64)
    own_along, other_along = np.empty(most), np.empty(most)
    own_chosen, other_chosen = np.empty(most, np.int64), np.empty(most, np.int64)
    between = np.empty(d)
    steps = 0
    for q in range(queue.size):
        g = queue[q]
        for _ in range(MAX_STEPS):
            size = sizes[g]
            if size == 0 or (violation[g] <= SATISFIED) != refining or (refining and size > LARGE_GROUP):
                break
            start = starts[g]
            read_group_values(codes, members[start : start + size], size, own)
            best = -1e-9 if refining else np.inf
            partner, leaves, comes, merges = -1, -1, -1, False
            for position in range(around.shape[1]):
                h = around[q, position]
                if h < 0 or h == g or sizes[h] == 0 or (refining and violation[h] > SATISFIED):
                    continue
                their, begin = sizes[h], starts[h]
                read_group_values(codes, members[begin : begin + their], their, other)
                apart = 0.0
                for j in range(d):
                    between[j] = centroids[g, j] - centroids[h, j]
                    apart += between[j] * between[j]
                for i in range(size):
                    along = 0.0
                    for j in range(d):
                        along += points[members[start + i], j] * between[j]
                    own_along[i] = along
                for i in range(their):
                    along = 0.0
                    for j in range(d):
                        along += points[members[begin + i], j] * between[j]
                    other_along[i] = along
                n_own = _closest(own_along, size, 1.0, own_chosen) if max(size, their) <= LARGE_GROUP else 0
                n_other = _closest(other_along, their, -1.0, other_chosen)
                together = violation[g] + violation[h]
                allowed = max(violation[h], SATISFIED)
                may_give = size > k and their + 1 < capacity[h]  # one entry stays free for exchanges
                may_take = their > k and size + 1 < capacity[g] and n_own > 0
                for a in range(-1, n_own):
                    if a == -1 and not may_take:
                        continue
                    x = members[start + own_chosen[a]] if a >= 0 else -1
                    for b in range(-1, n_other):
                        if b == -1 and (a == -1 or not may_give):
                            continue
                        y = members[begin + other_chosen[b]] if b >= 0 else -1
                        if x >= 0 and y >= 0:
                            squared = 0.0
                            for j in range(d):
                                step = points[y, j] - points[x, j]
                                squared += step * step
                            cost = 2.0 * (own_along[own_chosen[a]] - other_along[other_chosen[b]])
                            cost -= squared * (1.0 / size + 1.0 / their)
                        else:
                            record = max(x, y)
                            near_own, near_other = 0.0, 0.0
                            for j in range(d):
                                step = points[record, j] - centroids[g, j]
                                near_own += step * step
                                step = points[record, j] - centroids[h, j]
                                near_other += step * step
                            if x >= 0:
                                cost = near_other * their / (their + 1.0) - near_own * size / (size - 1.0)
                            else:
                                cost = near_own * size / (size + 1.0) - near_other * their / (their - 1.0)
                        if refining:
                            if cost >= best:
                                continue
                        elif cost > 0.0 and cost >= best * together:
                            continue
                        if x >= 0 and y >= 0 and not refining:
                            differ = False
                            for column in range(n_columns):
                                differ |= codes[x, column] != codes[y, column]
                            if not differ:
                                continue
                        largest = SATISFIED if refining else together - 1e-9
                        new_size = replaced_values(own, size, codes, x, y, left)
                        new_own = total_violation(left, new_size, table, counts, largest)
                        if new_own > largest:
                            continue
                        new_size = replaced_values(other, their, codes, y, x, right)
                        new_other = total_violation(right, new_size, table, counts, allowed)
                        if new_other > allowed or (not refining and new_own + new_other > largest):
                            continue
                        gain = together - new_own - new_other
                        score = cost
                        if not refining:
                            score = cost / gain if cost > 0.0 else cost * gain
                        if score < best:
                            best, partner, leaves, comes, merges = score, h, x, y, False
                if refining:
                    continue
                cost = apart * size * their / (size + their)
                if cost < best * together:
                    for column in range(n_columns):
                        for i in range(size):
                            left[column, i] = own[column, i]
                        for i in range(their):
                            left[column, size + i] = other[column, i]
                        sort_values(left[column], size + their)
                    gain = together - total_violation(left, size + their, table, counts, together)
                    if gain > 1e-9 and cost / gain < best:
                        best, partner, merges = cost / gain, h, True
            if partner < 0 or merges:
                if not refining:
                    merge_target[g] = partner if merges else NO_STEP
                break
            steps += 1
            h = partner
            for turn in range(2):
                source, target, record = (g, h, leaves) if turn == 0 else (h, g, comes)
                if record < 0:
                    continue
                position = starts[source]
                while members[position] != record:
                    position += 1
                members[position] = members[starts[source] + sizes[source] - 1]
                for j in range(d):
                    total = centroids[source, j] * sizes[source] - points[record, j]
                    centroids[source, j] = total / (sizes[source] - 1.0)
                sizes[source] -= 1
                members[starts[target] + sizes[target]] = record
                for j in range(d):
                    total = centroids[target, j] * sizes[target] + points[record, j]
                    centroids[target, j] = total / (sizes[target] + 1.0)
                sizes[target] += 1
            for changed in (g, h):
                read_group_values(
                    codes, members[starts[changed] : starts[changed] + sizes[changed]], sizes[changed], left
                )
                violation[changed] = total_violation(left, sizes[changed], table, counts, np.inf)
    return steps
