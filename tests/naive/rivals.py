"""Reference implementations of perturbations: one value after the other."""


def swapped_ranks(n, window, draw):
    """Pairs of ranks: each free rank with one of the free ranks among the next ``window``, drawn by ``draw``.

    ``draw(candidates)`` returns one of the candidates.
    """
    partner = list(range(n))
    for rank in range(n):
        if partner[rank] != rank:
            continue
        free = [other for other in range(rank + 1, min(rank + window, n - 1) + 1) if partner[other] == other]
        if free:
            other = draw(free)
            partner[rank], partner[other] = other, rank
    return partner


def largest_move(values, swapped):
    """The largest number of ranks that a value moved by; equal values share the ranks that they occupy."""
    order = sorted(values)
    moved = 0
    for before, after in zip(values, swapped, strict=True):
        low, high = order.index(before), len(order) - 1 - order[::-1].index(before)
        first, last = order.index(after), len(order) - 1 - order[::-1].index(after)
        moved = max(moved, first - high, low - last)
    return moved


def hellinger(before, after):
    """The Hellinger distance of two lists of categories."""
    categories = set(before) | set(after)
    shared = sum((before.count(each) / len(before) * after.count(each) / len(after)) ** 0.5 for each in categories)
    return max(0.0, 1 - shared) ** 0.5
