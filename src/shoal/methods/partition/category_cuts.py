"""Cuts between categories: a part of a table of codes is divided by a set of categories of one attribute.

After LeFevre, DeWitt & Ramakrishnan 2006 (section 2.2, partitions of unordered domains; section 5, relaxed partitions).
Categories have no order, so a cut is two sets of them. The sets are balanced: the categories of the part, most frequent
first, are added to the side that has fewer records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import compiled, inner

STACK_SIZE = 64


@inner
def _sort(keys: Any, items: Any, size: int, other_keys: Any, other_items: Any) -> None:
    """Sort the first items by their keys, stably; the other two arrays are work arrays."""
    width = 1
    while width < size:
        for start in range(0, size, 2 * width):
            middle = min(start + width, size)
            stop = min(start + 2 * width, size)
            i = start
            j = middle
            for target in range(start, stop):
                if j >= stop or (i < middle and keys[i] <= keys[j]):
                    other_keys[target] = keys[i]
                    other_items[target] = items[i]
                    i += 1
                else:
                    other_keys[target] = keys[j]
                    other_items[target] = items[j]
                    j += 1
        for i in range(size):
            keys[i] = other_keys[i]
            items[i] = other_items[i]
        width *= 2


@inner
def _balance(
    codes: Any, order: Any, start: int, stop: int, j: int, low: int, counts: Any, ranks: Any, work: Any
) -> int:
    """Put categories into two sets, most frequent first, each into the smaller set; return the size of the first set.

    ``ranks`` receives for each category twice its rank by frequency, plus its side.
    """
    present = np.int64(0)
    for i in range(start, stop):
        ranks[low + codes[order[i], j]] = -1
    for i in range(start, stop):
        category = low + codes[order[i], j]
        if ranks[category] < 0:
            ranks[category] = 0
            work[0, present] = category - counts[category] * counts.size
            work[1, present] = category
            present += 1
    _sort(work[0], work[1], present, work[2], work[3])
    left = 0
    right = 0
    for i in range(present):
        category = work[1, i]
        side = 1 if right < left else 0
        if side:
            right += counts[category]
        else:
            left += counts[category]
        ranks[category] = 2 * i + side
    return left


@inner
def _divide(codes: Any, order: Any, start: int, stop: int, j: int, low: int, ranks: Any, work: Any) -> int:
    """Move the records of the first set to the front, both sides in their previous order; return where the set ends."""
    front = start
    back = 0
    for i in range(start, stop):
        record = order[i]
        if ranks[low + codes[record, j]] & 1:
            work[0, back] = record
            back += 1
        else:
            order[front] = record
            front += 1
    for i in range(back):
        order[front + i] = work[0, i]
    return front


@inner
def _divide_sorted(
    codes: Any, order: Any, start: int, stop: int, first: Any, scores: Any, ranks: Any, k: int, work: Any
) -> int:
    """Sort by all attributes, the most varied first, and cut near the middle, between different records if possible."""
    size = stop - start
    m = codes.shape[1]
    for i in range(size):
        work[1, i] = order[start + i]
    for _ in range(m):  # the least varied first: the last sort decides first
        least = 0
        for j in range(m):
            if scores[j] < scores[least]:
                least = j
        scores[least] = np.inf
        for i in range(size):
            work[0, i] = ranks[first[least] + codes[work[1, i], least]] >> 1
        _sort(work[0], work[1], size, work[2], work[3])
    for i in range(size):
        order[start + i] = work[1, i]
    middle = start + size // 2
    for away in range(size // 2 - k + 1):
        for cut in (middle - away, middle + away):
            if start + k <= cut <= stop - k:
                for j in range(m):
                    if codes[order[cut - 1], j] != codes[order[cut], j]:
                        return cut
    return middle


@compiled
def cut_categories(codes: Any, order: Any, first: Any, k: int, strict: bool, begins: Any) -> None:
    """Cut a table of codes until no part can be cut; mark in ``begins`` where the parts begin in the order.

    Parts are cut across the attribute with the largest sum of variances of its categories (its Gini impurity) that
    leaves k records on both sides. ``first`` holds where the categories of each attribute begin among all categories.
    """
    n = order.size
    m = codes.shape[1]
    counts = np.zeros(first[m], np.int64)
    ranks = np.zeros(first[m], np.int64)
    work = np.empty((4, max(n, first[m])), np.int64)
    scores = np.empty(m)
    left_to_try = np.empty(m, np.int8)
    starts = np.empty(STACK_SIZE, np.int64)
    stops = np.empty(STACK_SIZE, np.int64)
    starts[0] = 0
    stops[0] = n
    height = 1
    while height:
        height -= 1
        start = starts[height]
        stop = stops[height]
        begins[start] = 1
        size = stop - start
        if size < 2 * k:
            continue
        scores[:] = 0.0
        for i in range(start, stop):
            for j in range(m):
                category = first[j] + codes[order[i], j]
                scores[j] += i - start - counts[category]  # pairs of different categories
                counts[category] += 1
        for j in range(m):
            left_to_try[j] = scores[j] > 0
        middle = start
        for _ in range(m):
            best: Any = np.int64(-1)
            for j in range(m):
                if left_to_try[j] and (best < 0 or scores[j] > scores[best]):
                    best = j
            if best < 0:
                break
            left_to_try[best] = 0
            left = _balance(codes, order, start, stop, best, first[best], counts, ranks, work)
            if k <= left <= size - k:
                middle = _divide(codes, order, start, stop, best, first[best], ranks, work)
                break
        if middle == start and not strict:
            for j in range(m):
                _balance(codes, order, start, stop, j, first[j], counts, ranks, work)
            middle = _divide_sorted(codes, order, start, stop, first, scores, ranks, k, work)
        for i in range(start, stop):
            for j in range(m):
                counts[first[j] + codes[order[i], j]] = 0
        if middle > start:
            larger = middle - start > stop - middle  # the smaller part first keeps the stack short
            starts[height] = start if larger else middle
            stops[height] = middle if larger else stop
            starts[height + 1] = middle if larger else start
            stops[height + 1] = stop if larger else middle
            height += 2
