"""The obvious version of cuts on a sample: one row at a time, recursion, no arrays shared between nodes."""

from fractions import Fraction


def exact_moments(values):
    """Return mean and population variance as fractions."""
    numbers = [Fraction(float(value)) for value in values]
    mean = sum(numbers) / len(numbers)
    return mean, sum(number * number for number in numbers) / len(numbers) - mean**2


def route(tree, row, root):
    """Return the leaf of one row, following the cuts from the root."""
    if root < 0:
        return ~root
    one, other = float(row[tree.first[root]]), float(row[tree.second[root]])
    kind, threshold = int(tree.kind[root]), float(tree.threshold[root])
    right = one == threshold if kind == 1 else {0: one, 2: one + other, 3: one - other}[kind] > threshold
    return route(tree, row, int(tree.right[root] if right else tree.left[root]))


def axis_cut(values, share, least):
    """Return the threshold nearest to the wanted share with enough rows on both sides, and what the cut removes."""
    ordered = sorted(float(value) for value in values)
    n, best = len(ordered), None
    for count in range(1, n):
        if ordered[count - 1] < ordered[count] and count >= least and n - count >= least:
            distance = abs(count - share * n)
            if best is None or distance < best[0]:
                best = (distance, count)
    if best is None:
        return 0.0, 0.0
    left, right = ordered[: best[1]], ordered[best[1] :]
    means = [sum(part) / len(part) for part in (left, right)]
    return left[-1], len(left) * len(right) / n * (means[1] - means[0]) ** 2


def category_cut(codes, least):
    """Return the category whose separation removes most of the squared error of indicators times sqrt(1/2)."""
    n, best = len(codes), (0.0, 0.0)
    for code in sorted(set(codes) - {-1}):
        inside = [other for other in codes if other == code]
        outside = [other for other in codes if other != code]
        if min(len(inside), len(outside)) < max(least, 1):
            continue
        shares = [Fraction(outside.count(other), len(outside)) for other in set(outside)]
        distance = Fraction(1, 2) * (1 + sum(share * share for share in shares))
        gain = float(distance * len(inside) * len(outside) / n)
        if gain > best[1]:
            best = (float(code), gain)
    return best
