"""Matching of records and candidate sets of two releases, the obvious way."""

from collections import Counter, defaultdict


def matched(before, now):
    """Return for each new record an old one with the same key, equal ones in their order, or None."""
    waiting = defaultdict(list)
    for row, key in enumerate(before):
        waiting[key].append(row)
    return [waiting[key].pop(0) if waiting[key] else None for key in now]


def candidate_counts(first, second):
    """Return for each person how many persons share both its groups; the groups are those of the same persons."""
    counts = Counter(zip(first, second, strict=True))
    return [counts[pair] for pair in zip(first, second, strict=True)]


def linked_candidates(first, second, unchanged_first, unchanged_second, classes):
    """Return for each person the records of its first class that have a partner in its second class.

    ``first`` and ``second`` are the classes of the records of two releases, ``unchanged_*`` what both releases state
    unchanged of each record, and ``classes`` the classes of each person in both.
    """
    found = []
    for one, two in classes:
        left = Counter(u for c, u in zip(first, unchanged_first, strict=True) if c == one)
        right = Counter(u for c, u in zip(second, unchanged_second, strict=True) if c == two)
        found.append(sum((left & right).values()))
    return found
