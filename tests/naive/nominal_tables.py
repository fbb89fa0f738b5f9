"""Reference implementations of frequency tables, representatives and SAFE: dictionaries, all choices, fractions."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product


def tables(m, dimension):
    return [table for d in range(1, dimension + 1) for table in combinations(range(m), d)]


def cell_counts(rows, chosen):
    """The entry of every occurring cell, by table and values."""
    counts = Counter()
    for row in rows:
        for table in chosen:
            counts[table, tuple(int(row[j]) for j in table)] += 1
    return counts


def chi_square(before, after, chosen):
    """The exact chi-square error over cells that had records."""
    old, new = cell_counts(before, chosen), cell_counts(after, chosen)
    return sum((Fraction((new[cell] - count) ** 2, count) for cell, count in old.items()), Fraction(0))


def largest_error(before, after, chosen, tolerance):
    """The largest excess of an error over tolerance(entry), cells that had records."""
    old, new = cell_counts(before, chosen), cell_counts(after, chosen)
    return max(abs(new[cell] - count) - tolerance(count) for cell, count in old.items())


def choices(rows, labels):
    """Every choice of one of its own rows for each group, as (representatives, released rows)."""
    clusters = sorted(set(labels))
    own = [
        sorted({tuple(map(int, row)) for row, label in zip(rows, labels, strict=True) if label == c}) for c in clusters
    ]
    for chosen in product(*own):
        representative = dict(zip(clusters, chosen, strict=True))
        yield chosen, [representative[label] for label in labels]


def best_choice(rows, labels, chosen):
    """The least chi-square error of any choice of representatives (P7)."""
    return min(chi_square(rows, released, chosen) for _, released in choices(rows, labels))


def greedy_choice(rows, labels, chosen):
    """Algorithm 8, squared, with what is constant in a cluster counted beforehand and once; ties to the lowest row."""
    clusters = sorted(set(labels))
    members = {
        c: [tuple(map(int, row)) for row, label in zip(rows, labels, strict=True) if label == c] for c in clusters
    }
    target = cell_counts(rows, chosen)
    value = Counter()
    fixed = {
        c: [table for table in chosen if len({tuple(row[j] for j in table) for row in members[c]}) == 1]
        for c in clusters
    }
    for c in clusters:
        for table in fixed[c]:
            value[table, tuple(members[c][0][j] for j in table)] += len(members[c])
    result = []
    for c in clusters:
        size, open_tables = len(members[c]), [table for table in chosen if table not in fixed[c]]

        def cells(row, open_tables=open_tables):
            return [(table, tuple(row[j] for j in table)) for table in open_tables]

        def cost(row, size=size, cells=cells):
            gain = set(cells(row))
            return sum(
                Fraction((value[cell] + size * (cell in gain) - count) ** 2, count) for cell, count in target.items()
            )

        best = min(sorted(set(members[c])), key=cost)
        for cell in cells(best):
            value[cell] += size
        result.append(best)
    return result


def vectors(counts, k, total, most=None):
    """Every vector over the same combinations with entries 0 or at least k and the given sum."""
    most = total if most is None else most

    def extend(position, left):
        if position == len(counts):
            if left == 0:
                yield []
            return
        for value in [0, *range(k, min(left, most) + 1)]:
            for rest in extend(position + 1, left - value):
                yield [value, *rest]

    return extend(0, total)


def expand(rows, counts):
    return [tuple(map(int, row)) for row, count in zip(rows, counts, strict=True) for _ in range(count)]


def perfect_matching(q, triples):
    """Whether q triples cover every element once."""
    return any(
        all(len({triple[j] for triple in chosen}) == q for j in range(3)) for chosen in combinations(sorted(triples), q)
    )


def best_change(cells, y0, y, limit, window, k, deviation, *, improving):
    """The change of the entries of a window that Algorithm 2 (or 4) takes, by trying all; cells: entry -> its cells."""

    def error(vector):
        found = Counter()
        for i, row in enumerate(cells):
            for cell in row:
                found[cell] += vector[i] - y0[i]
        return found

    best_key, best = None, list(y)
    for change in product(range(-3, 4), repeat=len(window)):
        c = list(y)
        for position, step in zip(window, change, strict=True):
            c[position] += step
        if any(c[i] < 0 or abs(c[i] - y0[i]) > deviation or (improving and 0 < c[i] < k) for i in window):
            continue
        f = {cell: abs(size) for cell, size in error(c).items()}
        penalties = [500, 9, 4, 1] if improving else [9, 4, 1]
        short = {cell: limit[cell] - f.get(cell, 0) for cell in range(len(limit))}
        if improving:
            first = sum(left < 0 for left in short.values())
        elif any(left < 0 for left in short.values()):
            continue
        else:
            first = sum(0 < value < k for value in c)
        penalty = sum(penalties[left] for left in short.values() if 0 <= left < len(penalties))
        key = (first, penalty, sum(f.values()))
        if best_key is None or key < best_key:
            best_key, best = key, c
    return best


def safe_windows(y, kind, end, k):
    """The windows of Algorithm 1 in their order, read from the vector while it changes."""
    if kind == 3:
        for i in range(max(min(end, len(y)) - 2, 1)):
            yield [i, i + 1, i + 2]
        return
    problems = [i for i in range(min(end, len(y))) if 0 < y[i] < k]
    if kind == 0:
        yield from (problems[l : l + 3] for l in range(len(problems) - 2))
        return
    for i in problems:
        if 0 < y[i] < k:
            low = max([l for l in range(i) if y[l] > 0], default=-1) if kind == 1 else i - 1
            high = min([l for l in range(i + 1, len(y)) if y[l] > 0], default=len(y)) if kind == 1 else i + 1
            if low < 0:
                yield [i, high, high + 1]
            elif high >= len(y):
                yield [low - 1, low, i]
            else:
                yield [low, i, high]


def safe_pass(cells, y0, y, limit, kind, end, k, deviation, *, improving=False):
    """One pass over the windows of a kind; returns the new vector."""
    y = list(y)
    for window in safe_windows(y, kind, end, k):
        window = [i for i in window if 0 <= i < len(y)]
        y[:] = best_change(cells, y0, y, limit, window, k, deviation, improving=improving)
    return y
