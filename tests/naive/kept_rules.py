"""Orders kept by representatives, the obvious version: one group and one column at a time, whole numbers only."""


def keep_orders(groups, released, fixed, rules):
    """Return released columns in which orders hold; None where one value per group cannot do it.

    ``groups`` lists the rows of each group; ``released`` and ``fixed`` are columns by name, lists of whole numbers;
    ``rules`` are pairs (low, high). Bounds are lowered until nothing changes, then values are raised likewise.
    """
    result = {name: list(values) for name, values in released.items()}
    for rows in groups:
        upper = dict.fromkeys(released, float("inf"))
        lower = dict.fromkeys(released, float("-inf"))
        for low, high in rules:
            if low in released and high in fixed:
                upper[low] = min(upper[low], *(fixed[high][row] for row in rows))
            if high in released and low in fixed:
                lower[high] = max(lower[high], *(fixed[low][row] for row in rows))
        both = [(low, high) for low, high in rules if low in released and high in released]
        for _ in both:
            for low, high in both:
                upper[low] = min(upper[low], upper[high])
        values = {name: max(min(result[name][rows[0]], upper[name]), lower[name]) for name in released}
        for _ in both:
            for low, high in both:
                values[high] = max(values[high], values[low])
        if any(values[name] > upper[name] for name in released):
            return None
        for name, value in values.items():
            for row in rows:
                result[name][row] = value
    return result
