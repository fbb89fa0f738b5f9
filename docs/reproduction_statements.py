"""Statements of the documents about figures without printed numbers, and whether they hold for Shoal.

    python docs/reproduction_statements.py

computes Figure 6 of Stamm & Schaub 2024 (some minutes) and stores it in docs/methods/univariate-results.json, as
benchmarks/univariate_figures.py does with Figure 5; the other statements are read from the stored experiments on Cost
2023. docs/reproduction.md shows all of them.
"""

import sys
from pathlib import Path
from statistics import fmean

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kept import keep, kept  # noqa: E402 - one block with those below
from reproduction_nominal_studies import DIMENSIONS, GAMMAS, INSTANCES, KS, LAMBDAS, SAMPLES, SIZES, median_gaps  # noqa: E402
from reproduction_nominal_tables import TITLES, compared  # noqa: E402

from published import cost  # noqa: E402 - found through the path above
from shoal.methods.running import run  # noqa: E402
from shoal.methods.univariate.projection import grouped_sse  # noqa: E402

import reference  # noqa: E402

METHODS = ROOT / "docs" / "methods"
UNIVARIATE = METHODS / "univariate-results.json"
SEEDS = 10
TABLES = {"eia": tuple(range(1, 11)), "tarragona": None}
CALLS = {
    "projection": ("projection", {}),
    "random": ("projection", {"axis": "random", "directions": 100}),
    "k-means": ("k-means-merged", {}),
    "neighbours": ("nearest-neighbour-forest", {}),
}


def distinct(name):
    """A table of the paper without repeated records, standardised."""
    raw = np.loadtxt(reference.path(f"{name}.csv"), delimiter=",", skiprows=1, usecols=TABLES[name])
    raw = np.unique(raw, axis=0)
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


def measure_figure_6():
    for name in TABLES:
        points = distinct(name)
        for k in (2, 3, 5, 10, 20, 30, 50):
            found = {}
            for title, (method, options) in CALLS.items():
                seeds = range(1 if title == "projection" else SEEDS)
                given = [options | ({} if title == "projection" else {"seed": seed}) for seed in seeds]
                found[title] = fmean(grouped_sse(points, run(method, points, k, **one).labels) for one in given)
            keep(UNIVARIATE, f"figure 6 {name} {k}", found)
            print(name, k, found, flush=True)


def figure_6():
    """(figure, statement, whether it holds, figures) of Stamm & Schaub 2024."""
    results = kept(UNIVARIATE)
    at = {(name, k): results[f"figure 6 {name} {k}"] for name in TABLES for k in (2, 3, 5, 10, 20, 30, 50)}

    def ratios(name, first, second, ks):
        return [at[name, k][first] / at[name, k][second] for k in ks]

    cases = [
        ("EIA: k-means far better than projections for almost all k", "eia", "k-means", "projection",
         (2, 3, 5, 10, 20, 30), lambda found: max(found) < 0.75),
        ("EIA: k-means and projections similar near k = 50", "eia", "k-means", "projection", (50,),
         lambda found: 0.7 < found[0] < 1.3),
        ("EIA: nearest neighbours on par with k-means for k below 10", "eia", "neighbours", "k-means", (2, 3, 5),
         lambda found: min(found) > 0.8 and max(found) < 1.25),
        ("EIA: nearest neighbours worse than the principal axis from k = 30", "eia", "neighbours", "projection",
         (30, 50),
         lambda found: min(found) > 1),
        ("EIA: nearest neighbours worse than 100 random axes from k = 30", "eia", "neighbours", "random", (30, 50),
         lambda found: min(found) > 1),
        ("Tarragona: k-means slightly better for k up to 5", "tarragona", "k-means", "projection", (2, 3, 5),
         lambda found: max(found) < 1),
        ("Tarragona: projections better for larger k", "tarragona", "k-means", "projection", (10, 20, 30, 50),
         lambda found: min(found) > 1),
        ("Tarragona: random axes slightly better than the principal axis", "tarragona", "random", "projection",
         (2, 3, 5, 10, 20, 30, 50), lambda found: fmean(found) < 1),
        ("Tarragona: nearest neighbours on par for k below 5, then increasingly worse", "tarragona", "neighbours",
         "projection", (2, 3, 5, 10, 20), lambda found: max(found[:2]) < 1.1 and found == sorted(found)),
    ]  # fmt: skip
    for text, name, first, second, ks, holds in cases:
        found = ratios(name, first, second, ks)
        shown = ", ".join(f"k = {k}: {ratio:.2f}" for k, ratio in zip(ks, found, strict=True))
        yield "Stamm & Schaub 2024, Figure 6", text, holds(found), f"ratio of the losses: {shown}"


def figure_5():
    """What Figure 5 and section 4 say about the ways to sum costs, from benchmarks/univariate_figures.py."""
    results = kept(UNIVARIATE)
    seconds = {k: results[f"figure 5 seconds {k}"] for k in (3, 10, 30, 100, 300, 1000)}
    lost = {name: found for name, found in results.items() if name.startswith("figure 5 ratios")}
    ratios = [found["cells"] / found["prefix"] for found in seconds.values()]
    shown = f"processor time, cells / prefix: {min(ratios):.1f} to {max(ratios):.1f}"
    slower = 3 < fmean(ratios) < 6
    yield "Stamm & Schaub 2024, Figure 5", "sums that begin anew take about four times as long", slower, shown
    ratios = [found["prefix"] / found["cheaper"] for found in seconds.values()]
    shown = f"processor time, prefix / cheaper: {min(ratios):.2f} to {max(ratios):.2f}"
    text = "the cheaper cost is the fastest, sums from the start of the column are close behind"
    yield "Stamm & Schaub 2024, Figure 5", text, min(ratios) > 1 and fmean(ratios) < 1.5, shown
    worst = {name: max(found[name] for found in lost.values()) for name in ("cheaper", "prefix", "cells")}
    shown = "largest cost over the optimum: " + ", ".join(f"{name} {value:.3f}" for name, value in worst.items())
    text = "sums that begin anew, with totals that are rebased, are stable; of the others the cheaper cost is the least"
    yield "Stamm & Schaub 2024, section 4", text, worst["cheaper"] > worst["prefix"] > worst["cells"] == 1, shown


def orders():
    """The orders of methods by chi-square error in Cost 2023, each with both vectors of SAFE."""
    results = kept(METHODS / "nominal-results.json")
    for scenario, figure, first, second in cost.ORDER:
        runs = [found["methods"] for key, found in results.items() if key.startswith(f"{scenario}/")]
        for vector in ("safe", cost.LAST_VECTOR) if "safe" in f"{first} {second}".split() else ("",):
            names = [
                [{"safe-ex": cost.WITHOUT_START, "safe": vector}.get(name, name) for name in part.split()]
                for part in (first, second)
            ]
            answer, count = compared(runs, *names)
            text = " below ".join(", ".join(name.replace(", ", " with ") for name in part) for part in names)
            yield (
                f"Cost 2023, Figure {figure}",
                f"{TITLES[scenario]}: {text}",
                answer.startswith("yes"),
                (f"{answer.partition(': ')[2]}; in {count}"),
            )


def studies():
    """Statements about the smaller studies of Cost 2023."""
    results = kept(METHODS / "nominal-studies.json")
    for duals in ("optimal", "heuristic"):
        found = dict(zip(GAMMAS, median_gaps(results, duals, 0, GAMMAS), strict=True))
        shown = "median gaps: " + ", ".join(f"{gamma:g}: {gap:.3f}" for gamma, gap in found.items())
        yield "6.1", f"gamma = 1 is worst ({duals} duals)", max(found, key=found.get) == 1.0, shown
        yield (
            "6.1",
            f"gamma = 0 is worse than 0.25 and 0.5 ({duals} duals)",
            found[0.0] > max(found[0.25], found[0.5]),
            shown,
        )
        found = dict(zip(LAMBDAS, median_gaps(results, duals, 1, LAMBDAS), strict=True))
        shown = "median gaps: " + ", ".join(f"{value:g}: {gap:.3f}" for value, gap in found.items())
        yield "6.3", f"lambda = 4 is worse than all others ({duals} duals)", max(found, key=found.get) == 4.0, shown
    means = {
        t: {
            d: fmean(results[f"dimensions {t} {i}"][d] for i in range(INSTANCES))
            for d in ("1", "2", "3", "4", "5", "all")
        }
        for t in (2, 3)
    }
    for figure, names, better, text in (
        ("6.9", ("1", "2"), 2, "control tables up to dimension 2 are better in tables of dimension 1 and 2"),
        ("6.9", ("3", "4", "5"), 3, "those up to dimension 3 are better in tables of dimension 3, 4 and 5"),
        ("6.10", ("all",), 3, "those up to dimension 3 are better in all tables together"),
    ):
        shown = ", ".join(f"{name}: {means[2][name]:.1f} and {means[3][name]:.1f}" for name in names)
        yield figure, text, all(means[better][name] < means[5 - better][name] for name in names), f"dimension {shown}"
    mean = {
        method: fmean(results[f"regression 3 {method} {i}"]["mean"] for i in range(SAMPLES))
        for method in ("safe", "own-hhe", "chi-search")
    }
    shown = ", ".join(f"{method} {value:.3f}" for method, value in mean.items())
    yield "6.20", "attribute 3: the three methods are comparable, Chi-ex (here chi-search) slightly better", (
        mean["chi-search"] == min(mean.values()) and max(mean.values()) < 1.25 * min(mean.values())
    ), f"mean distances: {shown}"  # fmt: skip
    yield from growth(results)


def growth(results):
    def seconds(kind, values, part):
        return [results[f"growth {kind} {value}"][part] for value in values]

    partition, choosing = seconds("n", SIZES, "partition"), seconds("n", SIZES, "representatives")
    exponents = [np.polyfit(np.log(SIZES), np.log(part), 1)[0] for part in (partition, choosing)]
    shown = f"exponents of n: {exponents[0]:.1f} and {exponents[1]:.1f}"
    yield "6.21", "the partition takes at least quadratic time in n", exponents[0] >= 2, shown
    yield "6.22", "the partition dominates, the representatives take linear time", (
        all(a > b for a, b in zip(partition, choosing, strict=True)) and 0.5 < exponents[1] < 1.5
    ), shown  # fmt: skip
    partition, choosing = seconds("k", KS, "partition"), seconds("k", KS, "representatives")
    shown = f"k = {KS[0]} to {KS[-1]}: {partition[0]:.2f} to {partition[-1]:.2f} s, "
    shown += f"{choosing[0]:.3f} to {choosing[-1]:.3f} s"
    yield "6.23", "the time of the partition grows with k, that of the representatives falls", (
        partition[-1] > partition[0] and choosing[-1] < choosing[0]
    ), shown  # fmt: skip
    choosing = seconds("dimension", DIMENSIONS, "representatives")
    steps = np.diff(choosing)
    shown = "seconds by dimension: " + ", ".join(f"{value:.3f}" for value in choosing)
    yield "6.24", "the largest step is that to dimension 4; 7 and 8 are nearly equal", (
        int(steps.argmax()) == 2 and abs(choosing[7] / choosing[6] - 1) < 0.1
    ), shown  # fmt: skip


def statements():
    """All statements: (figure, statement, whether it holds, figures)."""
    yield from orders()
    for figure, text, holds, shown in studies():
        yield f"Cost 2023, Figure {figure}", text, bool(holds), shown
    yield from figure_5()
    yield from figure_6()


if __name__ == "__main__":
    measure_figure_6()
