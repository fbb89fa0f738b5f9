"""Reference implementation of special uniques: every record, every set of columns, counted from the definition."""

from collections import Counter
from itertools import combinations
from math import factorial


def unique_rows(rows, columns):
    """Return the numbers of the rows that no other row equals in these columns."""
    seen = Counter(tuple(row[c] for c in columns) for row in rows)
    return {i for i, row in enumerate(rows) if seen[tuple(row[c] for c in columns)] == 1}


def minimal_uniques(rows, size, persons=None):
    """Return pairs of record and set of columns: unique there and in no proper subset."""
    d = len(rows[0])
    owners = range(len(rows)) if persons is None else persons
    sets = [columns for s in range(1, size + 1) for columns in combinations(range(d), s)]
    unique = {columns: unique_persons(rows, owners, columns) for columns in sets}
    return [
        (record, columns)
        for columns, records in unique.items()
        for record in sorted(records)
        if not any(record in unique[part] for s in range(1, len(columns)) for part in combinations(columns, s))
    ]


def uniques_with_supersets(rows, size):
    """A wrong neighbour: every set of columns in which a record is unique, also those that contain a smaller one."""
    d = len(rows[0])
    return [
        (record, columns)
        for s in range(1, size + 1)
        for columns in combinations(range(d), s)
        for record in sorted(unique_rows(rows, columns))
    ]


def scores(rows, found):
    d = len(rows[0])
    total = [0.0] * len(rows)
    for record, columns in found:
        total[record] += factorial(d - len(columns))
    return total


def contributions(rows, found):
    d = len(rows[0])
    all_scores = sum(scores(rows, found)) or 1.0
    return [sum(factorial(d - len(columns)) for _, columns in found if c in columns) / all_scores for c in range(d)]


def dis_suda(rows, found, q):
    """DIS and DIS-SUDA by the formulas, U counted instead of cancelled."""
    d = len(rows[0])
    seen = Counter(map(tuple, rows))
    uniques = sum(1 for count in seen.values() if count == 1)
    pairs = sum(2 for count in seen.values() if count == 2)
    each = scores(rows, found)
    if not uniques:
        return 0.0, [0.0] * len(rows)
    dis = uniques * q / (uniques * q + pairs * (1 - q))
    power = 1 + (8 - d) / 20
    inverse = sum(score**-power for score in each if score)
    return dis, [1 / (1 + (uniques / dis - uniques) / (s**power * inverse)) if s else 0.0 for s in each]


def classes(rows, columns):
    return Counter(tuple(row[c] for c in columns) for row in rows)


def unique_persons(rows, persons, columns):
    """Return the numbers of the rows whose values in these columns only rows of the same person have."""
    owners = {}
    for row, person in zip(rows, persons, strict=True):
        owners.setdefault(tuple(row[c] for c in columns), set()).add(person)
    return {i for i, row in enumerate(rows) if len(owners[tuple(row[c] for c in columns)]) == 1}
