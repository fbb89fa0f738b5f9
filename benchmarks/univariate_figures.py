"""Draw the figures of docs/validation/univariate.md from runs on this machine, and update its tables.

    python benchmarks/univariate_figures.py [--n 1000000] [--repeat 3] [--parts losses runtimes sums]

Figure 4 of Stamm & Schaub 2024 (runtime over k for every search), Figure 5 (ways to sum the costs of groups) and
Figure 6 (SSE over k for many columns; needs the reference data in $SHOAL_DATA or ../shared/data); all of them by
default.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from charts import chart
from kept import keep, write_tables

from shoal.methods.contract import labels_of
from shoal.methods.univariate.k_means_merged import k_means_merged
from shoal.methods.univariate.leaf_cut_forest import leaf_cut_forest
from shoal.methods.univariate.nearest_neighbour_forest import nearest_neighbour_forest
from shoal.methods.univariate.optimal_1d import optimal_1d
from shoal.methods.univariate.projection import grouped_sse, projection
from shoal.methods.univariate.sorting import sort_values
from shoal.methods.univariate.sum_modes import SUMS, cuts_by_sums

DOCS = Path(__file__).parent.parent / "docs" / "methods"
PAGE = DOCS.parent / "validation" / "univariate.md"
SEARCHES = {
    "auto": 10**6,
    "direct": 5,
    "simple": 100,
    "simple+": 3000,
    "divide": 10**6,
    "staggered": 10**6,
    "wilber": 10**6,
    "galil-park": 10**6,
}
RESULTS = DOCS / "univariate-results.json"
PARTS = ("losses", "runtimes", "sums")
SUM_KS = (3, 10, 30, 100, 300, 1000)
INTEGERS = ((100_000, 3), (1_000_001, 3), (1_000_001, 7), (2_000_003, 3), (2_000_003, 7))
KS = (2, 3, 5, 10, 30, 100, 300, 1000, 3000, 10000)


def table(first, columns, rows):
    """A Markdown table; rows: first cell -> list of texts."""
    lines = [f"| {first} | " + " | ".join(map(str, columns)) + " |", "|---|" + "---:|" * len(columns)]
    return lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]


def fastest(call, repeat):
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def runtimes(n, repeat):
    """Figure 4: run times on sorted input, which excludes the sort; the sort is a separate line."""
    x = np.random.default_rng(0).random(n)
    ordered = np.sort(x)
    times = {}
    for name, limit in SEARCHES.items():
        ks = [k for k in KS if k <= limit and 4 * k <= n]
        times[name] = [(k, fastest(lambda k=k, s=name: optimal_1d(ordered, k, search=s), repeat)) for k in ks]
    sort = fastest(lambda: sort_values(x), repeat)
    times["sort of Shoal"] = [(k, sort) for k in KS if 4 * k <= n]
    argsort = fastest(lambda: np.argsort(x), repeat)
    times["numpy argsort"] = [(k, argsort) for k in KS if 4 * k <= n]
    chart(
        DOCS / "univariate-runtime.svg",
        f"{n:,} uniform values, SSE",
        "k",
        "milliseconds",
        {name: [(k, 1e3 * t) for k, t in line] for name, line in times.items()},
    )
    rows = {name: [f"{1e3 * dict(line)[k]:.0f}" if k in dict(line) else "" for k in KS] for name, line in times.items()}
    write_tables(PAGE, {"runtime": table("ms", KS, rows)})


def sums(n, repeat):
    """Figure 5: processor time of the search simple+ with costs that are summed in three ways, and what they lose."""
    ordered = np.sort(np.random.default_rng(0).random(n))
    times = {}
    for k in SUM_KS:
        found = {name: [] for name in SUMS}
        for turn in range(repeat + 1):  # in turns; the first one compiles or loads
            for name in SUMS:
                start = time.process_time()
                cuts_by_sums(ordered, k, "sse", name)
                if turn:
                    found[name].append(time.process_time() - start)
        times[k] = {name: float(np.median(taken)) for name, taken in found.items()}
        keep(RESULTS, f"figure 5 seconds {k}", times[k])
    rows = {name: [f"{1e3 * times[k][name]:.0f}" for k in SUM_KS] for name in SUMS}
    rows["`cells` / `prefix`"] = [f"{times[k]['cells'] / times[k]['prefix']:.1f}" for k in SUM_KS]
    ratios = {}
    for size, k in INTEGERS:
        integers = np.arange(float(size))
        cuts = {name: cuts_by_sums(integers, k, "sse", name) for name in SUMS}
        cuts["inside"] = np.append(0, np.cumsum(np.bincount(optimal_1d(integers, k))))
        ratios[size, k] = {name: cost_of_integers(found) / least_cost(size, k) for name, found in cuts.items()}
        keep(RESULTS, f"figure 5 ratios {size} {k}", ratios[size, k])
    lost = {name: [f"{found[name]:.4f}" for found in ratios.values()] for name in (*SUMS, "inside")}
    write_tables(
        PAGE,
        {
            "sums": table("ms", SUM_KS, rows),
            "sums of integers": table("cost / optimum", [f"n = {n:,}, k = {k}" for n, k in ratios], lost),
        },
    )


def cost_of_integers(cuts):
    """Twelve times the SSE of groups of consecutive integers."""
    sizes = np.diff(cuts).astype(object)
    return int((sizes**3 - sizes).sum())


def least_cost(n, k):
    """Twelve times the smallest SSE of n consecutive integers: as many groups as possible, of nearly equal sizes."""
    small, more = divmod(n, n // k)
    return (n // k - more) * (small**3 - small) + more * ((small + 1) ** 3 - small - 1)


def losses():
    """Figure 6: SSE over k on distinct, standardised records."""
    folder = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    ks = (2, 3, 5, 10, 20, 30, 50)
    for name, columns in (("eia", range(1, 11)), ("tarragona", None)):
        if not (folder / f"{name}.csv").exists():
            print(f"{name}.csv is not in {folder}; its figure is not updated")
            continue
        raw = np.unique(np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1, usecols=columns), axis=0)
        points = (raw - raw.mean(axis=0)) / raw.std(axis=0)
        methods = {
            "principal axis": [lambda k, p=points: projection(p, k)],
            "best of 50 random": [
                lambda k, p=points, s=s: projection(p, k, axis="random", directions=50, seed=s) for s in range(3)
            ],
            "k-means 0.5": [lambda k, p=points, s=s: k_means_merged(p, k, factor=0.5, seed=s) for s in range(3)],
            "k-means 1": [lambda k, p=points, s=s: k_means_merged(p, k, seed=s) for s in range(3)],
            "k-means 2": [lambda k, p=points, s=s: k_means_merged(p, k, factor=2.0, seed=s) for s in range(3)],
            "nearest neighbours": [lambda k, p=points, s=s: nearest_neighbour_forest(p, k, seed=s) for s in range(10)],
            "leaf-cut forest": [lambda k, p=points, s=s: leaf_cut_forest(p, k, seed=s) for s in range(3)],
        }
        found = {
            label: [(k, float(np.mean([grouped_sse(points, labels_of(run(k))) for run in runs]))) for k in ks]
            for label, runs in methods.items()
        }
        chart(DOCS / f"univariate-{name}.svg", f"{name.title()}, {len(points):,} distinct records", "k", "SSE", found)
        rows = {label: [f"{loss:.0f}" for _, loss in line] for label, line in found.items()}
        write_tables(PAGE, {name: table("SSE", ks, rows)})


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--n", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    chosen = options.parse_args()
    if "losses" in chosen.parts:
        losses()
    if "runtimes" in chosen.parts:
        runtimes(chosen.n, chosen.repeat)
    if "sums" in chosen.parts:
        sums(chosen.n, chosen.repeat)
