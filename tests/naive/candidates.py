"""Reference implementations of the candidates attack, and what it must not be confused with."""


def covers(cell, value):
    """Whether a released cell (None, a value, a range as a tuple, or a set) covers a value."""
    if cell is None:
        return True
    if isinstance(cell, tuple):
        return cell[0] <= value <= cell[1]
    if isinstance(cell, frozenset):
        return value in cell
    return cell == value


def candidates(original, released):
    """The number of rows that cover all values of each person, and whether the own row does."""
    counts, own = [], []
    for i, person in enumerate(original):
        fits = [all(covers(cell, value) for cell, value in zip(row, person, strict=True)) for row in released]
        counts.append(sum(fits))
        own.append(fits[i])
    return counts, own


def wildcard_counts(released):
    """The wrong neighbour: rows that match a released row, a missing cell on either side matching any value."""
    return [
        sum(all(a is None or b is None or a == b for a, b in zip(row, other, strict=True)) for other in released)
        for row in released
    ]


def nearest_candidates(original, released, scales):
    """All columns are numbers that cover everything: the nearest rows are the candidates."""
    counts, own = [], []
    for i, person in enumerate(original):
        distances = [sum(((a - b) / s) ** 2 for a, b, s in zip(person, row, scales, strict=True)) for row in released]
        best = min(distances)
        near = [d <= best * (1 + 1e-9) + 1e-15 for d in distances]
        counts.append(sum(near))
        own.append(near[i])
    return counts, own


def candidate_persons(original, released, units):
    """The number of different persons with a row that covers all values of each row, and whether the own row does."""
    counts, own = [], []
    for i, person in enumerate(original):
        fits = [all(covers(cell, value) for cell, value in zip(row, person, strict=True)) for row in released]
        counts.append(len({unit for unit, fit in zip(units, fits, strict=True) if fit}))
        own.append(fits[i])
    return counts, own
