"""Persons with several rows, the obvious way: recounts, exact costs and exhaustive searches."""

from itertools import combinations, product

import numpy as np


def units_per_group(groups, units):
    """The number of different units of each group, by a set for each."""
    found = {}
    for group, unit in zip(groups.tolist(), units.tolist(), strict=True):
        found.setdefault(group, set()).add(unit)
    return {group: len(inside) for group, inside in found.items()}


def can_be_divided(rows, k, count):
    """Whether units with so many rows fill ``count`` groups of k different units: every assignment of rows is tried."""
    choices = [
        [chosen for size in range(min(n, count) + 1) for chosen in combinations(range(count), size)] for n in rows
    ]
    return any(
        all(sum(group in chosen for chosen in assignment) >= k for group in range(count))
        for assignment in product(*choices)
    )


def weighted_cost(points, weights, groups):
    """The weighted squared error of all groups."""
    total = 0.0
    for group in set(groups.tolist()):
        inside = groups == group
        if points.shape[1]:
            mean = np.average(points[inside], axis=0, weights=weights[inside])
            total += float((weights[inside][:, None] * (points[inside] - mean) ** 2).sum())
    return total


def best_cut(constant, weights, k):
    """The largest decrease of the squared error by a cut along one coordinate with k owners on both sides."""
    best = 0.0
    whole = weighted_cost(constant, weights, np.zeros(len(constant), int))
    for j in range(constant.shape[1]):
        for value in set(constant[:, j].tolist()):
            side = (constant[:, j] > value).astype(int)
            if min(side.sum(), len(side) - side.sum()) >= max(k, len(side) // 10):
                best = max(best, whole - weighted_cost(constant, weights, side))
    return best


def sequences(units, order, groups, slots):
    """What the intruder sees of each person: the classes of its kept rows in order of time."""
    seen = {unit: [] for unit in units.tolist()}
    for row in order.tolist():
        if slots[row] >= 0:
            seen[int(units[row])].append((int(groups[units[row]]), int(slots[row])))
    return {unit: tuple(found) for unit, found in seen.items()}


def history_cost(points, units, groups, slots, price):
    """Squared error of the kept rows around the mean of their class, and the price of the others."""
    total = 0.0
    classes = {}
    for row, slot in enumerate(slots.tolist()):
        if slot < 0:
            total += price * float((points[row] ** 2).sum())
        else:
            classes.setdefault((int(groups[units[row]]), slot), []).append(row)
    for rows in classes.values():
        total += float(((points[rows] - points[rows].mean(axis=0)) ** 2).sum())
    return total


def best_alignment(rows, profile, price):
    """The least cost of choosing rows in order for every slot of the profile: every choice is tried."""
    best = np.inf
    for chosen in combinations(range(len(rows)), len(profile)):
        cost = sum(float(((rows[i] - profile[slot]) ** 2).sum()) for slot, i in enumerate(chosen))
        cost += price * sum(float((rows[i] ** 2).sum()) for i in range(len(rows)) if i not in chosen)
        best = min(best, cost)
    return best


def members(labels):
    """The rows of each class."""
    found = {}
    for row, label in enumerate(labels):
        found.setdefault(label, []).append(row)
    return found


def person_risk(labels, units):
    """The largest 1 / persons and the largest share of rows over the classes of each person."""
    risk, share = {}, {}
    for rows in members(labels).values():
        inside = [units[row] for row in rows]
        for unit in set(inside):
            risk[unit] = max(risk.get(unit, 0.0), 1 / len(set(inside)))
            share[unit] = max(share.get(unit, 0.0), inside.count(unit) / len(rows))
    return risk, share


def alike(labels, units):
    """How many persons have at least as many rows as each person in all of its classes."""
    counts = {}
    for label, unit in zip(labels, units, strict=True):
        own = counts.setdefault(unit, {})
        own[label] = own.get(label, 0) + 1
    return {
        unit: sum(all(other.get(label, 0) >= count for label, count in own.items()) for other in counts.values())
        for unit, own in counts.items()
    }


def household_risk(risk, pairs):
    """The largest risk of a member of each household, and the probability that one of independent ones is found."""
    largest, missed = {}, {}
    for unit, household in pairs:
        largest[household] = max(largest.get(household, 0.0), risk[unit])
        missed[household] = missed.get(household, 1.0) * (1 - risk[unit])
    return largest, {household: 1 - value for household, value in missed.items()}


def frequencies(rows, units, codes):
    """The share of each value if every person counts once; values that do not occur are 0."""
    persons = {}
    for row in rows:
        persons.setdefault(int(units[row]), []).append(int(codes[row]))
    found = Frequencies()
    for values in persons.values():
        for value in values:
            found[value] = found[value] + 1 / len(values) / len(persons)
    return found


class Frequencies(dict):
    """Shares of values; asking for a value that does not occur adds none."""

    def __missing__(self, value):
        return 0.0


def any_row(rows, units, codes):
    """The share of persons who have each value in any of their rows."""
    persons = {int(units[row]) for row in rows}
    pairs = {(int(units[row]), int(codes[row])) for row in rows}
    return {value: sum(pair[1] == value for pair in pairs) / len(persons) for _, value in pairs}


def matching(pairs):
    """The size of the largest matching of persons to values, by augmenting paths."""
    values = {}
    for unit, value in pairs:
        values.setdefault(int(unit), set()).add(int(value))
    owner = {}

    def place(unit, seen):
        for value in sorted(values[unit] - seen):
            seen.add(value)
            if value not in owner or place(owner[value], seen):
                owner[value] = unit
                return True
        return False

    return sum(place(unit, set()) for unit in sorted(values))


def restored(columns, units, *, by_order):
    """How many histories rows with equal values in all columns make up exactly, and how many histories there are.

    By order, only rows that follow each other are put together.
    """
    keys = list(zip(*columns, strict=True)) if columns else [()] * len(units)
    found = {}
    part = 0
    for row, key in enumerate(keys):
        if by_order:
            part += row > 0 and key != keys[row - 1]
            found.setdefault(part, []).append(row)
        else:
            found.setdefault(key, []).append(row)
    own = {}
    for row, unit in enumerate(units):
        own.setdefault(unit, []).append(row)
    histories = [tuple(rows) for rows in own.values() if len(rows) > 1]
    parts = {tuple(rows) for rows in found.values()}
    return sum(history in parts for history in histories), len(histories)


def counted_by_persons(keys, units, values, ordered=False):
    """Every figure of a confidential column over all classes, person by person, from lists alone.

    ``keys`` are the released quasi-identifiers of each row. Categories are compared as equal or not, or by the order of
    the values.
    """
    names = sorted(set(values), key=repr if not ordered else None)
    codes = [names.index(value) for value in values]
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    units = [numbers[unit] for unit in units]
    table = frequencies(range(len(units)), units, codes)
    found = {
        "l": [],
        "entropy": [],
        "alpha": [],
        "beta": [],
        "t": [],
        "any_row": [],
        "share": [],
        "persons": [],
        "c2": [],
    }
    for rows in members(keys).values():
        q = frequencies(rows, units, codes)
        inside = [units[row] for row in rows]
        shares = [q[v] for v in range(len(names))]
        found["l"].append(matching([(units[row], codes[row]) for row in rows]))
        found["entropy"].append(float(np.exp(-sum(x * np.log(x) for x in shares if x))))
        tail = sum(sorted((x for x in shares if x), reverse=True)[1:])
        found["c2"].append(max(shares) / tail if tail else float("inf"))
        found["alpha"].append(max(shares))
        found["beta"].append(max(0.0, *(shares[v] / table[v] - 1 for v in q)))
        gaps = [shares[v] - table[v] for v in range(len(names))]
        moved = sum(map(abs, np.cumsum(gaps))) / max(len(names) - 1, 1) if ordered else sum(map(abs, gaps)) / 2
        found["t"].append(float(moved))
        found["any_row"].append(max(any_row(rows, units, codes).values()))
        found["share"].append(max(inside.count(unit) for unit in set(inside)) / len(rows))
        found["persons"].append(len(set(inside)))
    smallest = {"l", "entropy", "persons"}
    return {name: (min if name in smallest else max)(figures) for name, figures in found.items()}
