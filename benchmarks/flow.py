"""How long and how much memory does everything but the grouping take?

A table of numbers goes through read, encode, recode, verify and write, with groups that cost nothing (records cut in
the order of the file). Each run is a process of its own; memory is its peak over what the interpreter with all
libraries needs before the first byte is read, in bytes and as a multiple of the float64 matrix.

    python benchmarks/flow.py [--rows 1000000] [--columns 10]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

K = 5


def one_run(source, target):
    """Protect a file with groups that cost nothing; prints seconds per stage and memory."""
    import pyarrow.parquet  # noqa: F401 - part of the baseline

    import shoal
    from shoal.core.progress import Progress

    def in_file_order(points, k):
        return np.minimum(np.arange(len(points)) // k, len(points) // k - 1)

    class Clock(Progress):
        def __init__(self):
            self.started, self.name, self.seconds = time.perf_counter(), "start", {}

        def stage(self, name, total=None):  # noqa: ARG002 - the protocol has it
            now = time.perf_counter()
            self.seconds[self.name] = self.seconds.get(self.name, 0.0) + now - self.started
            self.started, self.name = now, name

    from shoal.recoding.rounding import round_keeping_sum

    round_keeping_sum(np.arange(6_000) + 0.5, np.full(6_000, 2.0))  # loads the compiler, part of the baseline
    clock = Clock()
    before = peak()
    # the matrix of points is part of what is measured; only the method itself is free
    names = (
        pl.scan_csv(source).collect_schema().names()
        if source.endswith(".csv")
        else pl.scan_parquet(source).collect_schema().names()
    )
    release = shoal.protect(source, K, quasi=names, method=in_file_order, progress=clock)
    clock.stage("writing")
    release.write(target, overwrite=True)
    clock.stage("end")
    print(json.dumps({"seconds": clock.seconds, "memory": peak() - before, "k": release.k}))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--columns", type=int, default=10)
    arguments.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.run:
        one_run(*chosen.run)
        return
    matrix = 8 * chosen.rows * chosen.columns
    print(f"{chosen.rows:,} x {chosen.columns} numbers: a matrix of {matrix / 1e6:.0f} MB")
    print(
        f"{'format':9}{'numbers':10}{'read':>7}{'prepare':>9}{'recode':>8}{'verify':>8}{'write':>7}"
        f"{'total s':>9}{'MB':>7}{'x matrix':>10}"
    )
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        for numbers in ("fractions", "integers"):
            frame = pl.DataFrame(
                {
                    f"x{j}": rng.normal(size=chosen.rows)
                    if numbers == "fractions"
                    else rng.integers(0, 10**6, chosen.rows)
                    for j in range(chosen.columns)
                }
            )
            for ending in ("csv", "parquet"):
                source = Path(folder, f"in.{ending}")
                frame.write_csv(source) if ending == "csv" else frame.write_parquet(source)
                command = [sys.executable, __file__, "--run", str(source), str(Path(folder, f"out.{ending}"))]
                found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                s = found["seconds"]
                total = sum(s.values())
                print(
                    f"{ending:9}{numbers:10}{s['reading']:7.2f}{s['preparing']:9.2f}{s['recoding']:8.2f}{s['verifying']:8.2f}"
                    f"{s['writing']:7.2f}{total:9.2f}{found['memory'] / 1e6:7.0f}{found['memory'] / matrix:10.2f}"
                )


if __name__ == "__main__":
    main()
