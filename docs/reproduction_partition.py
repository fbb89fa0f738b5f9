"""Measure and write the tables and figures of docs/speed-or-quality.md and docs/methods/partition.md.

    python docs/reproduction_partition.py [curve [credit_card] [covertype]] [small] [--docs]

``curve``: loss over seconds for MONA with rho = 0.2 ... 1 and for MONA⁺ on Credit Card and Covertype; ``small``: MONA⁺
beside ONA* on the small tables. Results are stored in docs/methods/partition-results.json; ``--docs`` writes the pages
from them. Times are those of all cores together.
"""

import sys
import time
from pathlib import Path

import numpy as np
from charts import chart
from kept import keep, kept, write_tables

from shoal.datasets import load
from shoal.methods.contract import labels_of
from shoal.methods.effort import EFFORT_LEVELS
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.registry import get_method

HERE = Path(__file__).parent
RESULTS = HERE / "methods" / "partition-results.json"
K = 5
WARM_UP_RECORDS = 50_000  # of a first run, so that no loop is compiled while the time is measured
TITLES = {"credit_card": "Credit Card", "covertype": "Covertype"}
RHOS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SMALL_TABLES = {"census": "Census", "tarragona": "Tarragona", "eia": "EIA", "cloud1": "Cloud1", "cloud2": "Cloud2"}
SMALL_TABLES |= {"credit_card": "Credit Card"}


def table(name):
    """A reference table, standardised; set SHOAL_DATA to the directory that holds it."""
    raw = load(name).to_numpy().astype(float)
    return np.ascontiguousarray((raw - raw.mean(axis=0)) / raw.std(axis=0))


def measured(points, k, method, **options):
    """Loss in percent and seconds of all cores; the loops are compiled before the time is measured."""
    function = get_method(method).function
    small = dict(options)
    if "macro" in small:
        small.update(macro=10 * k, distal=1)
    function(points[:WARM_UP_RECORDS].copy(), k, **small)
    started = time.process_time()
    labels = labels_of(function(points, k, **options))
    seconds = time.process_time() - started
    return {"loss": 100 * total_cost(points, labels) / points.size, "seconds": seconds, "n": len(points)}


def settings():
    """The settings of the curves: method, options, and their description in the table."""
    for rho in RHOS:
        yield "mona", {"rho": rho}, f"rho = {rho}"
    for level in EFFORT_LEVELS[1:-1]:
        options = {"block": level.block, "passes": level.passes, "rounds": level.rounds, "leaf": level.leaf}
        passes = "1 pass" if level.passes == 1 else f"{level.passes} passes"
        yield "mona-plus", options, f"{level.block:,} records, {passes}"


def measure_curve(name):
    points = table(name)
    for method, options, description in settings():
        found = measured(points, K, method, **options)
        keep(RESULTS, f"curve {name} {method} {description}", found)
        print(name, method, description, found, flush=True)


def measure_small():
    for name in SMALL_TABLES:
        points = table(name)
        for method in ("ona-star", "mona-plus"):
            found = measured(points, K, method)
            keep(RESULTS, f"small {name} {method}", found)
            print(name, method, found, flush=True)


def write_curves(results):
    """Write the two tables of the curves and their figures."""
    tables = {}
    for name, title in TITLES.items():
        lines = ["| method | blocks | loss % | seconds |", "|---|---|---:|---:|"]
        curves = {"mona": [], "mona-plus": []}
        for method, _, description in settings():
            found = results[f"curve {name} {method} {description}"]
            lines.append(f"| `{method}` | {description} | {found['loss']:.3f} | {found['seconds']:.2f} |")
            curves[method].append((found["seconds"], found["loss"]))
        tables[f"curve {name}"] = lines
        figure = HERE / f"speed-or-quality-{name}.svg"
        chart(figure, f"{title}, k = {K}", "seconds of all cores", "loss in per cent", curves, y_from_zero=True)
    write_tables(HERE / "speed-or-quality.md", tables)


def write_small(results):
    """Write the table of MONA⁺ beside ONA*."""
    lines = [f"| loss %, k = {K} | `ona-star` | `mona-plus` | change |", "|---|---:|---:|---:|"]
    for name, title in SMALL_TABLES.items():
        old, new = (results[f"small {name} {method}"]["loss"] for method in ("ona-star", "mona-plus"))
        lines.append(f"| {title} | {old:.3f} | {new:.3f} | {100 * (new / old - 1):+.1f} % |")
    write_tables(HERE / "methods" / "partition.md", {"small": lines})


def main():
    if "curve" in sys.argv:
        for table_name in [name for name in TITLES if name in sys.argv] or TITLES:
            measure_curve(table_name)
    if "small" in sys.argv:
        measure_small()
    if "--docs" in sys.argv:
        write_curves(kept(RESULTS))
        write_small(kept(RESULTS))


if __name__ == "__main__":
    main()
