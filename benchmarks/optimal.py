"""How good is set-partition beside the best published losses, and how far from the optimum can it be?

    python benchmarks/optimal.py [--time-limits 10,60,300] [--data census,eia] [--k 3,5] [--threads 1] [--docs]

For every table, k and time limit: the published losses of ONA* and ONA*γ, that of set-partition, the proven bound and
the gap; for credit_card and covertype, the losses of the quick methods instead of published ones. A cell whose optimum
is proven is not run with longer time limits. Loops are compiled before the time is measured. Results are kept in
docs/methods/optimal-results.json, so that a run of some cells renews those only; ``--docs`` writes the tables of
docs/methods/optimal.md from them.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

from published import computed, printed
from shoal.core.threads import set_threads
from shoal.methods.contract import Objective
from shoal.methods.kernels.centroids import group_costs
from shoal.methods.optimal.set_partition import ONA_STAR_RECORDS
from shoal.methods.running import run

import reference

METHODS = Path(__file__).parent.parent / "docs" / "methods"
RESULTS = METHODS / "optimal-results.json"
PAGE = METHODS / "optimal.md"
TIMES = (10, 60, 300)


def points_of(name):
    return reference.points(name) if name == "covertype" else computed.points(name)


def published_loss(method, name, k):
    """The published loss of a method in per cent; None if there is none."""
    text = printed.printed_loss(method, name, k)
    return None if text is None else float(text)


def best_published(name, k):
    found = [published_loss(method, name, k) for method in ("ona-star", "ona-star-gamma")]
    return min((loss for loss in found if loss is not None), default=None)


def measure(name, k, time_limit):
    points = points_of(name)
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    start = time.perf_counter()
    outcome = run("set-partition", points, k, time_limit=time_limit)
    took = time.perf_counter() - start
    objective = outcome.objective
    found = {"loss": 100 * objective.value / total, "took": took, "stopped": outcome.stopped}
    if objective.gap is not None:
        found |= {"bound": 100 * objective.bound / total, "gap": 100 * objective.gap}
    return found


def measure_quick(name, k):
    """The loss and the seconds of the quick method that set-partition begins with."""
    points = points_of(name)
    method = "ona-star" if len(points) <= ONA_STAR_RECORDS or name == "credit_card" else "mona-plus"
    start = time.perf_counter()
    labels = run(method, points, k).labels
    took = time.perf_counter() - start
    centred = points - points.mean(axis=0)
    return {"method": method, "loss": 100 * group_costs(centred, labels).sum() / (centred**2).sum(), "took": took}


def proven(found):
    return found.get("gap", np.inf) <= 1e-3


def line(name, k, results):
    """One line of the table for small tables: all the times of a cell."""
    cells = [results.get(f"{name} {k} {seconds}") for seconds in TIMES]
    known = [cell for cell in cells if cell]
    last = max(known, key=lambda cell: cell.get("bound", 0.0))
    loss = min(cell["loss"] for cell in known)
    first = next((cell for cell in known if proven(cell)), None)
    losses = []
    for cell in cells:
        if cell is None:
            losses.append("=" if first else "")
        else:
            losses.append(f"{cell['loss']:.4g}")
    best = best_published(name, k)
    gap = Objective("sse", loss, last["bound"]).gap
    return (
        f"| {name} | {k} | {published_loss('ona-star', name, k):g} | {published_loss('ona-star-gamma', name, k):g} | "
        + " | ".join(losses)
        + f" | {100 * (1 - loss / best):.1f} % | {last['bound']:.5g} | "
        + ("optimal | " + f"{first['took']:.0f} s" if first else f"{100 * gap:.2g} % | ")
        + " |"
    )


def table(results):
    lines = [
        "Loss in per cent. *less by*: than the better of the two published ones. *optimal*: the gap is closed, after",
        "so many seconds; such a cell was not run for longer (=). Each run had one core.",
        "",
        "| table | k | ONA* | ONA*γ | 10 s | 60 s | 300 s | less by | proven bound | gap | closed after |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in printed.SMALL:
        lines += [line(name, k, results) for k in printed.KS if any(f"{name} {k} {t}" in results for t in TIMES)]
    known = [
        (best_published(name, k), min(results[key]["loss"] for key in keys))
        for name in printed.SMALL
        for k in printed.KS
        if (keys := [key for key in (f"{name} {k} 10", f"{name} {k} 60") if key in results])
    ]
    better = sum(loss < best for best, loss in known)
    mean = 100 * np.mean([1 - loss / best for best, loss in known])
    lines += [
        "",
        f"Within 60 s: below the better published loss in {better} of {len(known)} cells, {mean:.1f} % on average.",
    ]
    return lines


def large_table(results):
    lines = [
        "| table | k | quick method | its loss | its time | set-partition | time | less by | proven bound | gap |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for key in sorted(results):
        name, k, seconds = key.split()
        if name in printed.SMALL or seconds == "quick":
            continue
        own, quick = results[key], results[f"{name} {k} quick"]
        bound = f"{own['bound']:.4g} | {own['gap']:.2g} %" if "bound" in own else " | "
        lines.append(
            f"| {name} | {k} | `{quick['method']}` | {quick['loss']:.4g} | {quick['took']:.1f} s | {own['loss']:.4g} "
            f"| {own['took']:.0f} s | {100 * (1 - own['loss'] / quick['loss']):.1f} % | {bound} |"
        )
    return lines


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--time-limits", default="60", help="in seconds, separated by commas")
    options.add_argument("--data", default=",".join(printed.SMALL))
    options.add_argument("--k", default=",".join(map(str, printed.KS)))
    options.add_argument("--threads", type=int, default=None, help="cores to use (default: all)")
    options.add_argument("--docs", action="store_true", help="also renew the tables in docs/methods/optimal.md")
    chosen = options.parse_args()
    set_threads(chosen.threads)
    run("set-partition", np.random.default_rng(0).normal(size=(1200, 3)), 2, steps_per_record=1.0)  # compiles
    for name in filter(None, chosen.data.split(",")):
        for k in map(int, chosen.k.split(",")):
            if name not in printed.SMALL:
                quick = measure_quick(name, k)
                keep(RESULTS, f"{name} {k} quick", quick)
                print(name, k, quick, flush=True)
            for seconds in map(float, chosen.time_limits.split(",")):
                found = measure(name, k, seconds)
                keep(RESULTS, f"{name} {k} {seconds:g}", found)
                print(name, k, f"{seconds:g} s", found, flush=True)
                if proven(found):
                    break
    if chosen.docs:
        write_page()


def write_page():
    results = kept(RESULTS)
    write_tables(PAGE, {"set-partition": table(results), "larger tables": large_table(results)})


if __name__ == "__main__":
    main()
