"""How good and how fast are the methods for large tables, and how much memory do they need?

Covertype (581,012 x 10) against the figures of the peers and of the papers, and generated tables of 1 and 10 million
records (``--only 100m``: 100 million, in 17 GB). Each run is a separate process, and the loops are compiled before the
time is measured; "cpu" is the time of all cores together, which is comparable on a machine that other programs use too.
Memory is the peak of the process without the interpreter and its libraries, as a multiple of the float64 matrix.

The last part gives ``auto`` a time limit and prints the share of it that was used, including the calibration.

    python benchmarks/large.py [--only covertype|1m|10m|100m|limit] [--efforts fast,balanced,best] [--storage float32]

Results in float64 are stored in docs/large-results.json; ``--docs`` (with ``--only none``: without new measurements)
writes the tables of docs/speed-or-quality.md from them.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import keep, kept, write_tables

PRINTED = [
    ("scclust + split", 5, 0.990, 36.0),
    ("scclust + split", 10, 1.790, 69.0),
    ("full MDAV (PCA paper)", 10, 1.58, 2853.0),
]
DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "speed-or-quality.md", DOCS / "large-results.json"
TIME_LIMITS = [("covertype", 5), ("covertype", 10), ("covertype", 20), ("1000000", 10), ("1000000", 30)]
TARGETS = {5: (0.85, 20.0), 10: (1.50, 20.0)}


def covertype():
    folders = [Path(os.environ["SHOAL_DATA"])] if "SHOAL_DATA" in os.environ else []
    for folder in [*folders, Path(__file__).parents[2] / "shared" / "data"]:
        file = folder / "covertype_quant.csv.gz"
        if file.exists():
            with gzip.open(file, "rt") as lines:
                return standardised(np.loadtxt(lines, delimiter=",", skiprows=1))
    sys.exit("covertype_quant.csv.gz is neither in $SHOAL_DATA nor in ../shared/data; set SHOAL_DATA")


def generated(n, d=10, seed=0):
    """Fifty clusters on four factors, with noise in every attribute; made in pieces to keep the memory low."""
    rng = np.random.default_rng(seed)
    mix, centres = rng.normal(size=(4, d)), 2 * rng.normal(size=(50, 4))
    points = np.empty((n, d))
    for start in range(0, n, 1 << 18):
        m = min(n - start, 1 << 18)
        hidden = centres[rng.integers(0, 50, m)] + rng.normal(size=(m, 4))
        points[start : start + m] = hidden @ mix + 0.5 * rng.normal(size=(m, d))
    return standardised(points)


def standardised(points):
    for j in range(points.shape[1]):
        points[:, j] -= points[:, j].mean()
        points[:, j] /= points[:, j].std()
    return points


def loss(points, labels):
    sizes = np.bincount(labels)
    sse = 0.0
    for column in points.T:
        sse += float(((column - (np.bincount(labels, column) / sizes)[labels]) ** 2).sum())
    return 100 * sse / points.size


def memory(what):
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    return 0


def one_run(data, k, effort, storage):
    """Group one table by a preset of the effort; print the results."""
    from shoal.methods.calibration import calibrate
    from shoal.methods.contract import labels_of
    from shoal.methods.effort import EFFORT_LEVELS, choose_preset, seconds_for
    from shoal.methods.registry import get_method

    points = covertype() if data == "covertype" else generated(int(data))
    matrix = points.nbytes
    if effort.endswith("s"):
        limited_run(points, k, effort)
        return
    points = points.astype(storage, copy=False)
    calibration = calibrate(points, k)
    chosen = choose_preset(len(points), points.shape[1], k, effort=effort)  # the same on every machine
    level = next(level for level in EFFORT_LEVELS if level.block == chosen.options.get("block", 0))
    planned = seconds_for(level, len(points), points.shape[1], k, calibration)
    function = get_method(chosen.method).function
    function(points[:5000].copy(), k, **chosen.options)  # compiles
    before = memory("VmRSS") - points.nbytes
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
    wall, cpu = time.perf_counter(), time.process_time()
    labels = labels_of(function(points, k, **chosen.options))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = (memory("VmHWM") - before) / matrix
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak, "loss": loss(points, labels), "planned": planned}))


def limited_run(points, k, time_limit):
    """Group one table within a time limit."""
    from shoal.core.deadline import seconds_of
    from shoal.methods.auto import auto

    auto(points[:5000].copy(), k, time_limit=1)  # compiles
    auto(points[:1000].copy(), k, effort="best")
    seconds = seconds_of(time_limit)
    started = time.perf_counter()
    outcome = auto(points, k, time_limit=seconds)
    wall = time.perf_counter() - started
    found = {"wall": wall, "used": wall / seconds, "loss": loss(points, outcome.labels), "reason": outcome.reason}
    print(json.dumps(found))


def limited_runs(k=5):
    print(f"\n{'table':12}{'limit s':>9}{'wall s':>8}{'used %':>8}{'loss %':>8}  selected")
    for data, seconds in TIME_LIMITS:
        command = [sys.executable, __file__, "--run", data, str(k), f"{seconds}s"]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        keep(RESULTS, f"{data} {seconds}s", found)
        print(
            f"{data:12}{seconds:9}{found['wall']:8.1f}{100 * found['used']:8.0f}{found['loss']:8.3f}"
            f"  {found['reason']}",
            flush=True,
        )


def write_page():
    """Write the tables of the page from the stored results."""
    results = kept(RESULTS)
    others = ["| | k | loss % | seconds | processor s |", "|---|---:|---:|---:|---:|"]
    for k in TARGETS:
        others += [f"| {name} | {k} | {lost:.3g} | {seconds:.0f} | |" for name, at, lost, seconds in PRINTED if at == k]
        for effort in ("fast", "balanced"):
            found = results[f"covertype {k} {effort}"]
            others.append(f"| `{effort}` | {k} | {found['loss']:.3f} | {found['wall']:.1f} | {found['cpu']:.1f} |")
    growth = [
        "| generated, 10 attributes | loss % | seconds | processor s | memory, times the float64 table |",
        "|---|---:|---:|---:|---:|",
    ]
    for effort in ("fast", "balanced"):
        smallest = results[f"1000000 5 {effort}"]["wall"]
        for n in (1_000_000, 10_000_000, 100_000_000):
            found = results.get(f"{n} 5 {effort}")
            if not found:
                continue
            title = f"{n:,}"
            times = f" ({found['wall'] / smallest:.1f}-fold)" if n > 1_000_000 else ""
            growth.append(
                f"| {title}, `{effort}` | {found['loss']:.3f} | {found['wall']:.1f}{times} | {found['cpu']:.1f} "
                f"| {found['peak']:.2f} |"
            )
    write_tables(PAGE, {"others": others, "growth": growth})


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", choices=["covertype", "1m", "10m", "100m", "limit", "none"])
    arguments.add_argument("--docs", action="store_true", help="write the tables of docs/speed-or-quality.md")
    arguments.add_argument("--efforts", default="fast,balanced,best")
    arguments.add_argument("--storage", default="float64", choices=["float64", "float32"])
    arguments.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.run:
        one_run(chosen.run[0], int(chosen.run[1]), chosen.run[2], chosen.storage)
        return
    measure(chosen)
    if chosen.docs:
        write_page()


def measure(chosen):
    """Run the selected measurements."""
    if chosen.only == "none":
        return
    if chosen.only == "limit":
        limited_runs()
        return
    efforts = chosen.efforts.split(",")
    print(f"{'table':12}{'k':>4} {'method':24}{'loss %':>8}{'wall s':>8}{'cpu s':>8}{'planned':>9}{'x matrix':>10}")
    for name, k, lost, seconds in PRINTED:
        if chosen.only in {None, "covertype"}:
            print(f"{'covertype':12}{k:4} {name:24}{lost:8.3f}{seconds:8.0f}")
    runs = [("covertype", k, effort) for k in (5, 10) for effort in efforts]
    runs += [("1000000", 5, effort) for effort in efforts if effort != "best"]
    runs += [("10000000", 5, effort) for effort in efforts if effort != "best"]
    cpu = {}
    wanted = {None: "", "covertype": "covertype", "1m": "1000000", "10m": "10000000", "100m": "100000000"}[chosen.only]
    if chosen.only == "100m":  # 17 GB
        runs.append(("100000000", 5, "fast"))
    for data, k, effort in runs:
        if wanted and data != wanted:
            continue
        command = [sys.executable, __file__, "--storage", chosen.storage, "--run", data, str(k), effort]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        cpu[data, effort] = found["cpu"]
        if chosen.storage == "float64":
            keep(RESULTS, f"{data} {k} {effort}", found)
        line = (
            f"{data:12}{k:4} {'shoal, ' + effort:24}{found['loss']:8.3f}{found['wall']:8.1f}{found['cpu']:8.1f}"
            f"{found['planned']:9.1f}{found['peak']:10.2f}"
        )
        if data == "covertype" and effort == "balanced":
            most, longest = TARGETS[k]
            line += f"   target {most:.2f} % in {longest:.0f} s: loss {found['loss'] / most:.2f} of it, "
            line += f"time {found['wall'] / longest:.2f} of it"
        if data == "10000000" and ("1000000", effort) in cpu:
            line += f"   cpu {found['cpu'] / cpu['1000000', effort]:.1f} times that of a tenth"
        print(line, flush=True)
    if chosen.only is None:
        limited_runs()


if __name__ == "__main__":
    main()
