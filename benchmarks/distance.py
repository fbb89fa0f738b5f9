"""Time of the distance-based methods: Shoal, other implementations, and the ratio; then growth with n.

The time of Shoal is the best of three runs after a first one that compiles. The times of the papers are single-threaded
Java on a Ryzen 9 5900X (Thaeter 2021) or an older machine (Thaeter & Reischuk 2021), sdcMicro 5.8.1 was measured on two
slow cores. Run from the root of the repository: ``python benchmarks/distance.py [--covertype] [--docs]``. Results are
stored in docs/methods/distance-speed.json; ``--docs`` writes the tables of docs/methods/distance.md from them.
"""

import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

from published import computed
from shoal.methods.running import run

import reference

METHODS = Path(__file__).parent.parent / "docs" / "methods"
RESULTS, PAGE = METHODS / "distance-speed.json", METHODS / "distance.md"
SIZES = (5_000, 10_000, 20_000, 40_000)
GROWING = ("mdav-plus", "mdav", "mdav-star", "ona-star")
OTHERS = [
    # data, method, k, seconds of others, who, target
    ("credit_card", "mdav", 3, 17.333, "sdcMicro", 1.73),
    ("credit_card", "mdav", 3, 11.8, "Java, Thaeter 2021", None),
    ("credit_card", "mdav-plus", 3, 4.6, "Java, Thaeter 2021", None),
    ("credit_card", "mdav-star", 3, 17.2, "Java, Thaeter 2021", None),
    ("credit_card", "ona-star", 5, 36.5, "Java, Thaeter 2021", 4.0),
    ("credit_card", "ona-star", 5, 145.0, "Java, Thaeter & Reischuk 2021", 4.0),
    ("adult", "mdav", 3, 7.8, "Java, Thaeter 2021", None),
    ("adult", "mdav-star", 3, 141.0, "Java, Thaeter & Reischuk 2021", 2.0),
    ("adult", "ona-star", 3, 358.0, "Java, Thaeter & Reischuk 2021", 5.0),
    ("adult", "ona-star", 3, 148.6, "Java, Thaeter 2021", 5.0),
    ("eia", "mdav", 3, 0.141, "sdcMicro", None),
    ("eia", "max-distance", 3, 1.58, "Java, Thaeter 2021", None),
    ("eia", "ona-star", 3, 0.40, "Java, Thaeter 2021", None),
    ("census", "ona-star", 3, 0.06, "Java, Thaeter 2021", None),
]
COVERTYPE = ("covertype", "mdav", 10, 2853.0, "Matlab, 47:33", 600.0)


def seconds(method, points, k, runs=3):
    run(method, points[:2000], k)  # compiles
    best = np.inf
    for _ in range(runs):
        start = time.perf_counter()
        run(method, points, k)
        best = min(best, time.perf_counter() - start)
    return best


def against_others(rows):
    print(f"{'data':12} {'method':10} {'k':>3} {'Shoal (s)':>9} {'others (s)':>11} {'ratio':>7}  {'who':30} target (s)")
    known = {}
    for data, method, k, others, who, target in rows:
        points = reference.points(data) if data == "covertype" else computed.points(data)
        if (data, method, k) not in known:
            known[data, method, k] = seconds(method, points, k, 1 if data == "covertype" else 3)
            keep(RESULTS, f"{data} {method} {k}", {"seconds": known[data, method, k]})
        took = known[data, method, k]
        goal = "" if target is None else f"{target:g} {'met' if took <= target else 'missed'}"
        print(f"{data:12} {method:10} {k:3} {took:9.3f} {others:11.3f} {others / took:7.1f}  {who:30} {goal}")


def growth(d=3, k=5):
    print(f"\ngrowth, normal data, d={d}, k={k}: seconds (and factor) for n, 2n, 4n, 8n with n = 5,000")
    rng = np.random.default_rng(0)
    for method in GROWING:
        times = [seconds(method, rng.normal(size=(n, d)), k, 2) for n in SIZES]
        keep(RESULTS, f"growth {method} {d}", {str(n): found for n, found in zip(SIZES, times, strict=True)})
        print(f"{method:10} " + "  ".join(with_factors(times)))


def with_factors(times):
    """Each time, and how many times the one before it is."""
    return [f"{times[0]:.3f}", *(f"{after:.3f} (x{after / before:.1f})" for before, after in pairwise(times))]


def write_page():
    """Write the tables from what is kept."""
    results = kept(RESULTS)
    lines = ["| table | method | k | seconds | of others | who | times |", "|---|---|---:|---:|---:|---|---:|"]
    for data, method, k, others, who, _ in [*OTHERS, COVERTYPE]:
        took = results[f"{data} {method} {k}"]["seconds"]
        lines.append(f"| {data} | `{method}` | {k} | {took:.3g} | {others:g} | {who} | {others / took:.3g} |")
    grown = [
        "| method | columns | " + " | ".join(f"{n:,}" for n in SIZES) + " |",
        "|---|---:" + "|---:" * len(SIZES) + "|",
    ]
    for d in (3, 10):
        for method in GROWING:
            found = results[f"growth {method} {d}"]
            grown.append(f"| `{method}` | {d} | " + " | ".join(with_factors([found[str(n)] for n in SIZES])) + " |")
    write_tables(PAGE, {"speed": lines, "growth": grown})


if __name__ == "__main__":
    against_others([*OTHERS, COVERTYPE] if "--covertype" in sys.argv else OTHERS)
    growth()
    growth(d=10)
    if "--docs" in sys.argv:
        write_page()
