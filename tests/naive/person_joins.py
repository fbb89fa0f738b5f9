"""Groups joined until requirements that are counted by persons hold, the obvious way: all figures from lists."""

import math

import numpy as np

from naive import persons

ROUNDING = 1e-9
NEIGHBOURS = 8
COLUMNS = 8


def excess(rows, units, columns, requested):
    """How far a group is from what is requested, by the figures of its rows; 0 where it satisfies all."""
    total = 0.0
    for codes, ordered in columns:
        whole = persons.frequencies(range(len(units)), units, codes)
        here = persons.frequencies(rows, units, codes)
        shares = [here[v] for v in range(max(codes) + 1)]
        gaps = [here[v] - whole[v] for v in range(max(codes) + 1)]
        most = max(shares)
        for name, limit in requested.items():
            if name in {"l", "p"}:
                figure = persons.matching([(units[row], codes[row]) for row in rows])
                total += max(0.0, limit - figure - ROUNDING) / limit
            elif name == "entropy":
                entropy = -sum(x * math.log(x) for x in shares if x)
                total += max(0.0, math.log(limit) - entropy) if math.exp(entropy) < limit - ROUNDING else 0.0
            elif name == "recursive":
                tail = sum(sorted((x for x in shares if x), reverse=True)[limit[1] - 1 :])
                figure = most / tail if tail else math.inf
                total += 1.001 - 1 / (1 + figure - limit[0]) if figure >= limit[0] else 0.0
            elif name == "alpha":
                total += most - limit if most > limit + ROUNDING else 0.0
            elif name == "beta":
                figure = max(0.0, *(here[v] / whole[v] - 1 for v in here))
                total += (figure - limit) / (1 + figure) if figure > limit + ROUNDING else 0.0
            elif name == "t":
                moved = sum(map(abs, np.cumsum(gaps))) / (len(gaps) - 1) if ordered else sum(map(abs, gaps)) / 2
                total += moved - limit if moved > limit + ROUNDING else 0.0
    if "max_share" in requested:
        inside = [units[row] for row in rows]
        share = max(inside.count(unit) for unit in inside) / len(rows)
        total += share - requested["max_share"] if share > requested["max_share"] + ROUNDING else 0.0
    return total


def join(points, labels, measure, settled=()):
    """Groups, and the number of joins; ``measure`` is the excess of some rows, ``settled`` are groups that may stay."""
    groups = {name: np.flatnonzero(labels == name).tolist() for name in dict.fromkeys(labels.tolist())}
    rows, fine = list(groups.values()), [name in settled for name in groups]
    joins = 0
    while True:
        over = [0.0 if calm else measure(own) for own, calm in zip(rows, fine, strict=True)]
        queue = [g for g, amount in enumerate(over) if amount > 0]
        if not queue or len(rows) == 1:
            break
        centres = np.array([points[own].mean(axis=0) for own in rows])
        searched = np.argsort(-centres.var(axis=0), kind="stable")[:COLUMNS]
        pairs = []
        for g in queue:
            apart = ((centres - centres[g])[:, searched] ** 2).sum(axis=1)
            for h in np.argsort(apart, kind="stable")[: NEIGHBOURS + 1].tolist():
                if h != g:
                    gain = over[g] + over[h] - measure(rows[g] + rows[h])
                    cost = ((centres[g] - centres[h]) ** 2).sum() * len(rows[g]) * len(rows[h])
                    pairs.append((cost / (len(rows[g]) + len(rows[h])), gain, g, h))
        useful = sorted((pair for pair in pairs if pair[1] > ROUNDING), key=lambda pair: pair[0] / pair[1])
        used = {}
        for _, _, g, h in useful:
            if g not in used and h not in used:
                used[g], used[h] = h, g
        if not used:
            _, _, g, h = min(pairs, key=lambda pair: pair[0])
            used = {g: h, h: g}
        kept = [g for g in range(len(rows)) if used.get(g, g) >= g]
        fine = [fine[g] and g not in used for g in kept]
        rows = [rows[g] + (rows[used[g]] if g in used else []) for g in kept]
        joins += len(used) // 2
    found = np.empty(len(points), np.int64)
    for group, own in enumerate(rows):
        found[own] = group
    return found, joins
