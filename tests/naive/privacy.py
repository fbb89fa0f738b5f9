"""Reference implementations of privacy models: loops over classes and a transport problem for every distance."""

import math
from collections import Counter
from itertools import product

import numpy as np
from scipy.optimize import linprog


def classes(rows):
    """The row numbers of equal rows."""
    found = {}
    for number, row in enumerate(rows):
        found.setdefault(row, []).append(number)
    return list(found.values())


def earth_mover(p, q, ground):
    """The least cost of moving p to q, by linear programming."""
    m = len(p)
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)] + [np.kron(np.ones(m), np.eye(m)[j]) for j in range(m)]
    solved = linprog(np.asarray(ground).reshape(-1), A_eq=np.array(rows), b_eq=np.append(p, q))
    return solved.fun


def ordered_ground(m):
    return [[abs(i - j) / max(m - 1, 1) for j in range(m)] for i in range(m)]


def equal_ground(m):
    return [[float(i != j) for j in range(m)] for i in range(m)]


def figures(groups, codes, ground):
    """Every figure of one confidential column, from lists of positions and codes 0..m-1."""
    n, m = len(codes), max(codes) + 1
    total = Counter(codes)
    p = [total[v] / n for v in range(m)]
    found = []
    for group in groups:
        counts = Counter(codes[i] for i in group)
        q = [counts[v] / len(group) for v in range(m)]
        present = [v for v in range(m) if counts[v]]
        gains = [(q[v] - p[v]) / p[v] for v in present]
        found.append({
            "alpha": max(q),
            "l": len(present),
            "entropy_l": math.exp(-sum(q[v] * math.log(q[v]) for v in present)),
            "t": earth_mover(q, p, ground),
            "beta": max(0.0, *gains),
            "enhanced_beta": math.inf if any(gains[i] > -math.log(p[v]) + 1e-12 for i, v in enumerate(present)) else
            max(0.0, *gains),
            "delta": max(abs(math.log(q[v] / p[v])) for v in present),
            "counts": sorted(counts.values(), reverse=True),
        })  # fmt: skip
    worst = {
        name: (min if name in {"l", "entropy_l"} else max)(one[name] for one in found)
        for name in ("alpha", "l", "entropy_l", "t", "beta", "enhanced_beta", "delta")
    }
    worst["c"] = max(one["counts"][0] / sum(one["counts"][worst["l"] - 1 :]) for one in found)
    return worst


def figures_with_unknown_class(groups, codes, ground):
    """The figures of a table with one more class of unknown values, which all may be any one value of the table."""
    n, m = len(codes), max(codes) + 1
    p = [codes.count(v) / n for v in range(m)]
    known = figures(groups, codes, ground)
    worst = {
        "alpha": 1.0,
        "l": 1,
        "entropy_l": 1.0,
        "t": max(earth_mover([float(v == w) for w in range(m)], p, ground) for v in range(m)),
        "beta": max(1 / share - 1 for share in p),
        "enhanced_beta": math.inf if m > 1 else 0.0,
        "delta": max(-math.log(share) for share in p),
    }
    return {name: (min if name in {"l", "entropy_l"} else max)(known[name], worst[name]) for name in worst}


def m_t_closeness(groups, codes, ground, m):
    """The least t by trying every larger set of every size."""
    total = Counter(codes)
    n_values = max(codes) + 1
    worst = 0.0
    for group in groups:
        inside = Counter(codes[i] for i in group)
        best = math.inf
        for counts in product(*(range(inside[v], total[v] + 1) for v in range(n_values))):
            size = sum(counts)
            if size >= max(m, len(group)):
                best = min(
                    best,
                    earth_mover([inside[v] / len(group) for v in range(n_values)], [c / size for c in counts], ground),
                )
        worst = max(worst, best)
    return worst


def wildcard_matches(rows):
    """For each record the records that agree with it wherever both are known."""
    return [
        [
            j
            for j, other in enumerate(rows)
            if all(a is None or b is None or a == b for a, b in zip(row, other, strict=True))
        ]
        for row in rows
    ]


def satisfies(values, sizes_of_all, requested, ground):
    """Whether one group satisfies the requirements: values of the group, counts of the table, requested values."""
    n = sum(sizes_of_all)
    m = len(sizes_of_all)
    counts = [list(values).count(v) for v in range(m)]
    q = [c / len(values) for c in counts]
    p = [c / n for c in sizes_of_all]
    ordered = sorted(counts, reverse=True)
    checks = {
        "l": lambda x: sum(c > 0 for c in counts) >= x,
        "entropy": lambda x: math.exp(-sum(v * math.log(v) for v in q if v)) >= x - 1e-9,
        "recursive": lambda x: ordered[0] < x[0] * sum(ordered[x[1] - 1 :]),
        "alpha": lambda x: max(q) <= x + 1e-9,
        "beta": lambda x: all(a <= (1 + x) * b + 1e-9 for a, b in zip(q, p, strict=True)),
        "t": lambda x: earth_mover(q, p, ground) <= x + 1e-7,
    }
    return all(checks[name](limit) for name, limit in requested.items())
