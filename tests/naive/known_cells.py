"""Missing cells that are grouped by what is known, from their description: group by group, cell by cell."""

import math


def missing(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def released_column(values, labels, policy, representative):
    """The released cells: in each group the representative of the known cells, or nothing."""
    released = [None] * len(values)
    for group in set(labels):
        members = [i for i, label in enumerate(labels) if label == group]
        known = [values[i] for i in members if not missing(values[i])]
        if known and (policy == "fill" or len(known) == len(members)):
            for i in members:
                released[i] = representative(known)
    return released


def changed_cells(values, labels, policy):
    """How many missing cells were filled, and how many known ones emptied."""
    filled = emptied = 0
    for group in set(labels):
        members = [i for i, label in enumerate(labels) if label == group]
        known = sum(not missing(values[i]) for i in members)
        if 0 < known < len(members):
            filled += (len(members) - known) if policy == "fill" else 0
            emptied += known if policy == "suppress" else 0
    return filled, emptied


def squared_loss(before, after):
    """Squared error over known cells as a share of that of the mean; an emptied cell counts as the mean."""
    known = [(x, y) for x, y in zip(before, after, strict=True) if not missing(x)]
    mean = sum(x for x, _ in known) / len(known)
    total = sum((x - mean) ** 2 for x, _ in known)
    return sum((x - (mean if missing(y) else y)) ** 2 for x, y in known) / total if total else 0.0


def mismatch_loss(before, after):
    """Wrong known cells as a share of those of the most frequent category; an emptied cell is wrong."""
    known = [(x, y) for x, y in zip(before, after, strict=True) if not missing(x)]
    most = max(sum(x == z for x, _ in known) for z, _ in known)
    return sum(x != y for x, y in known) / (len(known) - most) if len(known) > most else 0.0
