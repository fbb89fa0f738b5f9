"""How good is set-partition beside the best printed losses, and how far from the optimum can it be?

    python benchmarks/optimal.py [--seconds 10,60,300] [--data census,eia] [--k 3,5] [--docs]

For every table, k and number of seconds: the printed loss of ONA* and ONA*γ, ours, the proven bound and the gap. Loops
are compiled before the clock starts. Results are kept in docs/methods/optimal-results.json, so that a run of some cells
renews those only; ``--docs`` writes the table of docs/methods/optimal.md from them.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from published import thaeter
from shoal.methods.optimal.set_partition import set_partition

import reference

METHODS = Path(__file__).parent.parent / "docs" / "methods"
RESULTS = METHODS / "optimal-results.json"
PAGE = METHODS / "optimal.md"
BEGIN, END = "<!-- generated: set-partition -->", "<!-- end -->"


def points_of(name):
    return reference.points(name) if name == "covertype" else thaeter.points(name)


def printed(name, k):
    """The best loss that is printed for ONA* or ONA*γ, in per cent; None if there is none."""
    if k not in thaeter.KS:
        return None
    place = thaeter.KS.index(k)
    found = [
        float(thaeter.LOSS[method][name].split()[place])
        for method in ("ona-star", "ona-star-gamma")
        if name in thaeter.LOSS[method]
    ]
    return min(found, default=None)


def measure(name, k, seconds):
    points = points_of(name)
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    facts = {}
    start = time.perf_counter()
    set_partition(points, k, seconds=seconds, facts=facts)
    took = time.perf_counter() - start
    return {
        "loss": 100 * facts["sse"] / total, "bound": 100 * facts["bound"] / total, "gap": 100 * facts["gap"],
        "took": took, "stopped": facts["stopped"],
    }  # fmt: skip


def line(name, k, seconds, found):
    best = printed(name, k)
    gain = "" if best is None else f"{100 * (1 - found['loss'] / best):.1f} %"
    return (
        f"| {name} | {k} | {'-' if best is None else f'{best:g}'} | {seconds:g} s | {found['loss']:.4g} | {gain} "
        f"| {found['bound']:.4g} | {found['gap']:.2g} % |"
    )


def table(results):
    lines = [
        "Loss in per cent; *printed*: the better of ONA* and ONA*γ in Thaeter 2021.",
        "",
        "| table | k | printed | time | ours | less by | proven bound | gap |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    keys = sorted(results, key=lambda key: (key.split()[0], *map(float, key.split()[1:])))
    for key in keys:
        name, k, seconds = key.split()
        lines.append(line(name, int(k), float(seconds), results[key]))
    return lines


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", default="60")
    options.add_argument("--data", default=",".join(thaeter.SMALL))
    options.add_argument("--k", default=",".join(map(str, thaeter.KS)))
    options.add_argument("--docs", action="store_true", help="also renew the table in docs/methods/optimal.md")
    chosen = options.parse_args()
    set_partition(np.random.default_rng(0).normal(size=(1200, 3)), 2, effort=1.0)  # compiles
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in chosen.data.split(","):
        for k in map(int, chosen.k.split(",")):
            for seconds in map(float, chosen.seconds.split(",")):
                found = measure(name, k, seconds)
                results[f"{name} {k} {seconds:g}"] = found
                print(line(name, k, seconds, found), f"{found['took']:.1f} s, {found['stopped']}", flush=True)
                RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    if chosen.docs:
        before, rest = PAGE.read_text().split(BEGIN, 1)
        PAGE.write_text("\n".join([before + BEGIN, "", *table(results), "", END]) + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()
