"""Reference implementations of attacks: one individual after the other."""

import numpy as np


def squared_distance(columns, i, j):
    """The squared distance between the true values of record i and the released ones of record j."""
    total = 0.0
    for column in columns:
        true, shown = column.original[i], column.released[j]
        if np.isnan(true) or np.isnan(shown):
            total += 0.0 if np.isnan(true) and np.isnan(shown) else (1.0 + _at_mean(column, true, shown))
        elif column.numeric:
            total += (column.standardised(np.array([true]))[0] - column.standardised(np.array([shown]))[0]) ** 2
        else:
            total += true != shown
    return total


def _at_mean(column, true, shown):
    """A number against a missing value, which lies at the mean; one is added for being missing."""
    if not column.numeric:
        return 0.0
    known = shown if np.isnan(true) else true
    return column.standardised(np.array([known]))[0] ** 2


def linkage(columns):
    """The share of records whose nearest released record is their own, ties guessed."""
    n = columns[0].original.size
    total = 0.0
    for i in range(n):
        distances = np.array([squared_distance(columns, i, j) for j in range(n)])
        nearest = np.flatnonzero(distances <= distances.min() * (1 + 1e-9) + 1e-15)
        total += (i in nearest) / nearest.size
    return total / n


def average_risk(table_rows):
    """The mean over records of 1 / the size of the equivalence class."""
    return sum(1 / table_rows.count(row) for row in table_rows) / len(table_rows)


def interval(original, released, reach):
    return sum(abs(a - b) <= reach for a, b in zip(original, released, strict=True)) / len(original)


def rank(value, ordered):
    below = sum(other < value for other in ordered)
    return below + sum(other == value for other in ordered) / 2


def most_frequent_share(labels, values):
    """The share of records whose value is the most frequent of their class, the lowest of equally frequent ones."""
    right = 0
    for label in set(labels):
        inside = [value for value, other in zip(values, labels, strict=True) if other == label]
        guess = min(set(inside), key=lambda value: (-inside.count(value), value))
        right += inside.count(guess)
    return right / len(values)
