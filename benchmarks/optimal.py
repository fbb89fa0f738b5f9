"""How good is set-partition beside the best printed losses, and how far from the optimum can it be?

    python benchmarks/optimal.py [--seconds 10,60,300] [--data census,eia] [--k 3,5] [--threads 1] [--docs]

For every table, k and number of seconds: the printed losses of ONA* and ONA*γ, ours, the proven bound and the gap; for
credit_card and covertype, what the quick methods give in place of what is printed. A cell whose optimum is proven is
not run for longer. Loops are compiled before the clock starts. Results are kept in docs/methods/optimal-results.json,
so that a run of some cells renews those only; ``--docs`` writes the tables of docs/methods/optimal.md from them.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

from published import thaeter
from shoal.core.threads import set_threads
from shoal.methods.optimal.set_partition import QUADRATIC, set_partition
from shoal.methods.optimal.sse_annealing import group_costs
from shoal.methods.registry import get_method

import reference

METHODS = Path(__file__).parent.parent / "docs" / "methods"
RESULTS = METHODS / "optimal-results.json"
PAGE = METHODS / "optimal.md"
TIMES = (10, 60, 300)


def points_of(name):
    return reference.points(name) if name == "covertype" else thaeter.points(name)


def printed(method, name, k):
    """The loss that is printed for a method, in per cent; None if there is none."""
    if k not in thaeter.KS or name not in thaeter.LOSS[method]:
        return None
    return float(thaeter.LOSS[method][name].split()[thaeter.KS.index(k)])


def best_printed(name, k):
    found = [printed(method, name, k) for method in ("ona-star", "ona-star-gamma")]
    return min((loss for loss in found if loss is not None), default=None)


def measure(name, k, seconds):
    points = points_of(name)
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    facts = {}
    start = time.perf_counter()
    set_partition(points, k, seconds=seconds, facts=facts)
    took = time.perf_counter() - start
    found = {"loss": 100 * facts["sse"] / total, "took": took, "stopped": facts["stopped"]}
    if "bound" in facts:
        found |= {"bound": 100 * facts["bound"] / total, "gap": 100 * facts["gap"]}
    return found


def measure_quick(name, k):
    """The loss and the seconds of the quick method that set-partition begins with."""
    points = points_of(name)
    method = "ona-star" if len(points) <= QUADRATIC or name == "credit_card" else "mona-plus"
    start = time.perf_counter()
    labels = get_method(method).run(points, k)
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
    ours = []
    for cell in cells:
        if cell is None:
            ours.append("=" if first else "")
        else:
            ours.append(f"{cell['loss']:.4g}")
    best = best_printed(name, k)
    gap = max(loss / last["bound"] - 1.0, 0.0)
    return (
        f"| {name} | {k} | {printed('ona-star', name, k):g} | {printed('ona-star-gamma', name, k):g} | "
        + " | ".join(ours)
        + f" | {100 * (1 - loss / best):.1f} % | {last['bound']:.5g} | "
        + ("optimal | " + f"{first['took']:.0f} s" if first else f"{100 * gap:.2g} % | ")
        + " |"
    )


def table(results):
    lines = [
        "Loss in per cent. *less by*: than the better of the two printed ones. *optimal*: the gap is closed, after so",
        "many seconds; such a cell was not run for longer (=). Each run had one core.",
        "",
        "| table | k | ONA* | ONA*γ | 10 s | 60 s | 300 s | less by | proven bound | gap | closed after |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in thaeter.SMALL:
        lines += [line(name, k, results) for k in thaeter.KS if any(f"{name} {k} {t}" in results for t in TIMES)]
    known = [
        (best_printed(name, k), min(results[key]["loss"] for key in keys))
        for name in thaeter.SMALL
        for k in thaeter.KS
        if (keys := [key for key in (f"{name} {k} 10", f"{name} {k} 60") if key in results])
    ]
    better = sum(ours < best for best, ours in known)
    mean = 100 * np.mean([1 - ours / best for best, ours in known])
    lines += [
        "",
        f"Within 60 s: below the better printed in {better} of {len(known)} cells, {mean:.1f} % on average.",
    ]
    return lines


def large_table(results):
    lines = [
        "| table | k | quick method | its loss | its time | ours | time | less by | proven bound | gap |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for key in sorted(results):
        name, k, seconds = key.split()
        if name in thaeter.SMALL or seconds == "quick":
            continue
        ours, quick = results[key], results[f"{name} {k} quick"]
        bound = f"{ours['bound']:.4g} | {ours['gap']:.2g} %" if "bound" in ours else " | "
        lines.append(
            f"| {name} | {k} | `{quick['method']}` | {quick['loss']:.4g} | {quick['took']:.1f} s | {ours['loss']:.4g} "
            f"| {ours['took']:.0f} s | {100 * (1 - ours['loss'] / quick['loss']):.1f} % | {bound} |"
        )
    return lines


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", default="60")
    options.add_argument("--data", default=",".join(thaeter.SMALL))
    options.add_argument("--k", default=",".join(map(str, thaeter.KS)))
    options.add_argument("--threads", type=int, default=None, help="cores to use (default: all)")
    options.add_argument("--docs", action="store_true", help="also renew the tables in docs/methods/optimal.md")
    chosen = options.parse_args()
    set_threads(chosen.threads)
    set_partition(np.random.default_rng(0).normal(size=(1200, 3)), 2, effort=1.0)  # compiles
    for name in filter(None, chosen.data.split(",")):
        for k in map(int, chosen.k.split(",")):
            if name not in thaeter.SMALL:
                quick = measure_quick(name, k)
                keep(RESULTS, f"{name} {k} quick", quick)
                print(name, k, quick, flush=True)
            for seconds in map(float, chosen.seconds.split(",")):
                found = measure(name, k, seconds)
                keep(RESULTS, f"{name} {k} {seconds:g}", found)
                print(name, k, f"{seconds:g} s", found, flush=True)
                if proven(found):
                    break
    if chosen.docs:
        results = kept(RESULTS)
        write_tables(PAGE, {"set-partition": table(results), "larger tables": large_table(results)})


if __name__ == "__main__":
    main()
