"""How much does the default lose, and how long does it take, beside the methods that it competes with?

Groups of ``auto`` at each effort, of ``mdav`` and of ``set-partition`` against those of ``ona-star``, on reference
tables and on tables that scikit-learn ships, as change of the loss and seconds of processor time (one thread).
``--set-partition S`` gives that method S seconds. Results are stored in docs/curve-results.json and written into
docs/speed-or-quality.md.

    python benchmarks/curve.py [--k 3,5,10] [--most 50000] [--set-partition 20] [--docs]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

from shoal import datasets
from shoal.core.threads import set_threads
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.running import run

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "speed-or-quality.md", DOCS / "curve-results.json"
FROM_SKLEARN = ("iris", "wine", "diabetes", "breast_cancer", "digits")
REFERENCE = ("tarragona", "cloud1", "cloud2", "census", "eia", "adult", "credit_card", "covertype")
EFFORTS = ("fast", "balanced", "best")


def tables(most):
    """Standardised numeric columns of each table, without constant ones; of large tables the first records."""
    from sklearn import datasets as shipped

    for name in FROM_SKLEARN:
        yield name, standardised(getattr(shipped, f"load_{name}")().data)
    for name in REFERENCE:
        frame = datasets.load(name).head(most)
        yield name, standardised(frame.select([c for c in frame.columns if frame[c].dtype.is_numeric()]).to_numpy())


def standardised(table):
    table = np.asarray(table, float)
    spread = table.std(axis=0)
    return ((table - table.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, spread > 0]


def measured(points, k, method, **options):
    started = time.process_time()
    labels = run(method, points, k, **options).labels
    return total_cost(points, labels), time.process_time() - started


def measure(points, k, seconds):
    """Loss and seconds of each competitor on one table."""
    found = {"ona-star": measured(points, k, "ona-star"), "mdav": measured(points, k, "mdav")}
    for effort in EFFORTS:
        found[effort] = measured(points, k, "auto", effort=effort)
    if seconds:
        found["set-partition"] = measured(points, k, "set-partition", time_limit=seconds, bound="none")
    return {
        f"{name} {part}": value for name, pair in found.items() for part, value in zip(("sse", "s"), pair, strict=True)
    }


def page_table(results):
    """The lines of the page: change of the loss against ona-star and seconds, means and the worst cell last."""
    names = [
        "mdav",
        *EFFORTS,
        *(["set-partition"] if any("set-partition s" in cell for cell in results.values()) else []),
    ]
    lines = [
        f"| table | k | ona-star s | {' | '.join(f'{name} % | s' for name in names)} |",
        f"|---|---:|---:|{'---:|---:|' * len(names)}",
    ]
    changes = {name: [] for name in names}
    order = sorted(results, key=lambda key: (key.rpartition(" ")[0], int(key.rpartition(" ")[2])))
    for key in order:
        cell = results[key]
        table, _, k = key.rpartition(" ")
        shown = []
        for name in names:
            if f"{name} sse" not in cell:
                shown += ["", ""]
                continue
            change = 100 * (cell[f"{name} sse"] / cell["ona-star sse"] - 1)
            changes[name].append(change)
            shown += [f"{change:+.1f}", f"{cell[f'{name} s']:.2f}"]
        lines.append(f"| {table} | {k} | {cell['ona-star s']:.3f} | {' | '.join(shown)} |")
    for title, figure in (("mean", np.mean), ("worst", np.max)):
        lines.append(f"| {title} | | | {' | '.join(f'{figure(changes[name]):+.1f} | ' for name in names)} |")
    return lines


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--k", default="3,5,10")
    arguments.add_argument("--most", type=int, default=50_000)
    arguments.add_argument("--set-partition", type=float, default=0.0)
    arguments.add_argument("--docs", action="store_true", help="only write the page from stored results")
    chosen = arguments.parse_args()
    if not chosen.docs:
        set_threads(1)
        for name, points in tables(chosen.most):
            for k in map(int, chosen.k.split(",")):
                measure(points[: 40 * k], k, 0.0)  # compiles
                found = measure(points, k, chosen.set_partition)
                keep(RESULTS, f"{name} {len(points):,} x {points.shape[1]} {k}", found)
                print(page_table({f"{name} {k}": found})[2], flush=True)
    write_tables(PAGE, {"efforts": page_table(kept(RESULTS))})


if __name__ == "__main__":
    main()
