"""How long do risk and utility of a release of a million records take?

Ten columns (eight numbers, two categories) and a confidential one; groups of k are cut along the first column, so that
the release is like a microaggregated one without the time of a method. Prints seconds of each part.

    python benchmarks/risk.py [--rows 1000000]
"""

import argparse
import time

import numpy as np
import polars as pl

import shoal
from shoal.core.progress import Progress

K = 5
NUMBERS = [f"x{j}" for j in range(8)]


class Clock(Progress):
    """Adds up the seconds of each stage."""

    def __init__(self):
        self.started, self.name, self.seconds = time.perf_counter(), "start", {}

    def stage(self, name, total=None):  # noqa: ARG002 - the protocol has it
        now = time.perf_counter()
        self.seconds[self.name] = self.seconds.get(self.name, 0.0) + now - self.started
        self.started, self.name = now, name


def tables(rows):
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(rows, 8)) @ rng.normal(size=(8, 8))
    frame = pl.DataFrame({name: mixed[:, j] for j, name in enumerate(NUMBERS)}).with_columns(
        sex=pl.Series(rng.integers(0, 2, rows)).cast(pl.String),
        region=pl.Series(rng.integers(0, 16, rows)).cast(pl.String),
        diagnosis=pl.Series(rng.integers(0, 30, rows)).cast(pl.String),
    )
    order = frame["x0"].arg_sort()
    group = np.empty(rows, np.int64)
    group[order.to_numpy()] = np.minimum(np.arange(rows) // K, rows // K - 1)
    grouped = frame.with_columns(g=pl.Series(group))
    released = grouped.with_columns(
        *(pl.col(name).mean().over("g") for name in NUMBERS),
        *(pl.col(name).first().over("g") for name in ("sex", "region")),
    ).drop("g")
    return frame, released


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    rows = arguments.parse_args().rows
    original, released = tables(rows)
    quasi = [*NUMBERS, "sex", "region"]
    shoal.risk(original.head(100), released.head(100), quasi=quasi)  # loads what has to be loaded
    print(f"{rows:,} records, {len(quasi)} quasi-identifiers, 1 confidential column, groups of {K}")
    for title, run in (
        ("risk", lambda clock: shoal.risk(original, released, quasi=quasi, confidential=["diagnosis"], progress=clock)),
        ("utility", lambda clock: shoal.utility(original, released, progress=clock)),
    ):
        clock = Clock()
        begin = time.perf_counter()
        run(clock)
        total = time.perf_counter() - begin
        clock.stage("end")
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in clock.seconds.items() if seconds >= 0.05)
        print(f"{title:9}{total:7.1f} s   ({parts})")


if __name__ == "__main__":
    main()
