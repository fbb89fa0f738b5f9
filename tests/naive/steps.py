"""Steps before grouping, the obvious versions: one value at a time in plain Python."""


def top_bound(values, share, least, owners=None):
    """The smallest value that at least the share of records do not exceed, lowered until enough are at or above it."""
    known = [(value, i if owners is None else owners[i]) for i, value in enumerate(values) if value is not None]
    n = len(known)
    for bound in sorted({value for value, _ in known}):
        if sum(value <= bound for value, _ in known) >= share * n - 1e-6:
            break
    candidates = sorted({value for value, _ in known if value <= bound}, reverse=True)
    for candidate in candidates:
        if len({owner for value, owner in known if value >= candidate}) >= least:
            return candidate
    return candidates[-1]


def rare_values(values, fewest, *, owners=None, replacement=None):
    """Values held by too few, and the next rare ones until those concerned are enough."""
    holders = {}
    for i, value in enumerate(values):
        if value is not None:
            holders.setdefault(value, set()).add(i if owners is None else owners[i])
    ranked = sorted(holders, key=lambda value: (len(holders[value]), value))
    rare = [value for value in ranked if len(holders[value]) < fewest]
    if not rare:
        return set()
    same = {
        i if owners is None else owners[i]
        for i, value in enumerate(values)
        if (value is None if replacement is None else value == replacement)
    }
    while len(rare) < len(ranked):
        if len(same.union(*(holders[value] for value in rare))) >= fewest:
            break
        rare.append(ranked[len(rare)])
    return set(rare)


def band(value, width=None, edges=None):
    """The band of a whole number as text."""
    if value is None:
        return None
    if edges is not None:
        if value < edges[0]:
            return f"under {edges[0]}"
        last = max(position for position, edge in enumerate(edges) if edge <= value)
        if last + 1 == len(edges):
            return f"{edges[last]}+"
        low, high = edges[last], edges[last + 1] - 1
    else:
        low = value // width * width
        high = low + width - 1
    if low == high:
        return str(low)
    return f"{low} to {high}" if low < 0 else f"{low}-{high}"
