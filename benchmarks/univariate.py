"""How fast and how good is optimal-1d beside microagg1d and a plain argsort?

    python benchmarks/univariate.py [--n 1000000] [--repeat 5] [--docs] [--huge]

microagg1d runs in a separate environment, whose Python interpreter $SHOAL_MICROAGG1D names; without it only the times
of Shoal are printed. To add it: python -m venv DIR && DIR/bin/pip install microagg1d==0.4.0 && export
SHOAL_MICROAGG1D=DIR/bin/python. Its first import compiles for about two minutes.

Columns of microagg1d: "default" is method="auto" (not optimal for k <= 21), "best" the fastest of its methods with its
default stable=1, "any" the fastest of all methods and all settings of stable, correct or not. Best of several runs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from univariate_figures import PAGE, write_tables

from shoal.methods.univariate.optimal_1d import optimal_1d
from shoal.methods.univariate.sorting import sort_values

KS = (2, 3, 10, 100, 1000, 10000)
PEER = """
import json, sys, time
import numpy as np
start = time.perf_counter()
from microagg1d import univariate_microaggregation as group
print(json.dumps(time.perf_counter() - start), flush=True)
for line in sys.stdin:
    file, k, method, stable = json.loads(line)
    x = np.load(file)
    group(x[: max(4 * k, 1000)], k, method=method, stable=stable)
    start = time.perf_counter()
    labels = group(x, k, method=method, stable=stable)
    took = time.perf_counter() - start
    sizes = np.bincount(labels)
    sse = ((x - (np.bincount(labels, weights=x) / sizes)[labels]) ** 2).sum()
    print(json.dumps([took, float(sse), int(sizes.min())]), flush=True)
"""


def data(n, seed=1):
    rng = np.random.default_rng(seed)
    shapes = {
        "uniform": rng.random(n),
        "normal": rng.normal(size=n),
        "lognormal": rng.lognormal(size=n),
        "ties": rng.integers(0, 1000, n).astype(float),
    }
    return shapes | {f"{name}, sorted": np.sort(values) for name, values in shapes.items()}


def sse(x, labels):
    return float(((x - (np.bincount(labels, weights=x) / np.bincount(labels))[labels]) ** 2).sum())


def cold_start():
    """Import, and first call with machine code on disk, in a fresh process."""
    code = (
        "import time; a = time.perf_counter(); from shoal.methods.univariate.optimal_1d import optimal_1d;"
        "b = time.perf_counter(); optimal_1d([3.0, 0.0, 2.0, 1.0], 2); c = time.perf_counter(); print(b - a, c - b)"
    )
    return map(
        float, subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    )


def first_compile(k):
    """The first call of all, with an empty directory for machine code."""
    code = (
        "import time, numpy as np; from shoal.methods.univariate.optimal_1d import optimal_1d;"
        f"a = time.perf_counter(); optimal_1d(np.random.default_rng(0).random(500), {k});"
        "print(time.perf_counter() - a)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return float(run.stdout)


class Peer:
    """microagg1d in a separate process; runs of both packages alternate, so that both use the same machine."""

    def __init__(self):
        python = os.environ.get("SHOAL_MICROAGG1D")
        self.process = None
        if not python:
            print("microagg1d is not measured: set SHOAL_MICROAGG1D to a python that has it (see the head of the file)")
            return
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([python, "-c", PEER], stdin=pipe, stdout=pipe, text=True)
        self.loading = json.loads(self.process.stdout.readline())

    def settings(self, k):
        if self.process is None:
            return []
        others = ("simple", "staggered") if k <= 20 else ("staggered", "galil_park")
        return [("auto", 1), *((method, stable) for method in others for stable in (0, 1, 2))]

    def run(self, file, k, method, stable):
        self.process.stdin.write(json.dumps([str(file), k, method, stable]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def once(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def measure(x, file, k, peer, repeat):
    """Shoal, its sort, argsort and every setting of microagg1d in turns; the best time of each."""
    optimal_1d(x[: max(4 * k, 300_000)], k)
    times, runs = {}, {}
    for _ in range(repeat):
        for name, call in (
            ("ours", lambda: optimal_1d(x, k)),
            ("sort", lambda: sort_values(x)),
            ("argsort", lambda: np.argsort(x)),
        ):
            took, result = once(call)
            times[name] = min(took, times.get(name, took))
            if name == "ours":
                labels = result
        for setting in peer.settings(k):
            took, loss, smallest = peer.run(file, k, *setting)
            runs[setting] = (min(took, runs[setting][0]) if setting in runs else took, loss, smallest)
    return times, labels, runs


def row_of(name, k, x, times, labels, runs):
    ours = times["ours"]
    cells = [f"{1e3 * ours:.0f}", f"{times['sort'] / ours:.0%}", f"{1e3 * times['argsort']:.0f}"]
    cells.append(f"{ours / times['argsort']:.2f}")
    for kept in (
        [run for (method, _), run in runs.items() if method == "auto"],
        [run for (_, stable), run in runs.items() if stable == 1],
        list(runs.values()),
    ):
        fastest = min((run[0] for run in kept), default=None)
        cells += [f"{1e3 * fastest:.0f}", f"{ours / fastest:.2f}"] if fastest else ["-", "-"]
    own = sse(x, labels)
    cells.append(f"{runs['auto', 1][1] / own:.4f}" if runs and own > 0 else "-")
    if any(smallest >= k and loss < own * (1 - 1e-9) for _, loss, smallest in runs.values()):
        cells[-1] += " (another setting is BETTER than ours)"
    return f"| {name} | {k} | " + " | ".join(cells) + " |"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--n", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--docs", action="store_true", help="also update the table in docs/validation/univariate.md")
    options.add_argument("--huge", action="store_true", help="one run with n = 100,000,000 instead")
    chosen = options.parse_args()
    if chosen.huge:
        huge()
        return
    cold_start()  # stores the machine code on disk
    loading, warm = cold_start()
    lines = [f"Import {loading:.2f} s, first call in a process {warm:.2f} s; the first call ever, which compiles:"]
    lines.append(f"{first_compile(2):.1f} s (k=2), {first_compile(100):.1f} s (k=100).")
    peer = Peer()
    if peer.process:
        lines.append(f"microagg1d: import {peer.loading:.1f} s once its machine code is on disk.")
    lines += ["", "Best times in ms of runs in turns.", ""]
    lines.append(
        "| data | k | ours | sort share | argsort | ours/argsort "
        "| default | ours/default | best | ours/best | any | ours/any | SSE |"
    )
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, x in data(chosen.n).items():
            file = Path(folder) / f"{name}.npy"
            np.save(file, x)
            for k in KS:
                lines.append(row_of(name, k, x, *measure(x, file, k, peer, chosen.repeat)))
                print(lines[-1], flush=True)
            if chosen.docs:
                write_tables(PAGE, {"benchmark": lines})
    if peer.process:
        peer.process.stdin.close()
        peer.process.wait()


def huge():
    """n = 10⁸ once: time and memory."""
    import resource

    optimal_1d(np.random.default_rng(0).random(300_000), 10)
    x = np.random.default_rng(0).random(100_000_000)
    start = time.perf_counter()
    labels = optimal_1d(x, 10)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"n = 100,000,000, k = 10: {took:.1f} s, {labels.max() + 1} groups, peak memory {peak:.1f} GB")


if __name__ == "__main__":
    main()
