"""Is the memory that a protection is said to need the memory that it takes?

Twelve shapes of tables are protected and written, each in a process of its own. The peak is the memory above what
the interpreter needs with all libraries loaded, compiled kernels included; the estimate is what ``protect`` compares
with the free memory before it begins to work.

    python benchmarks/memory.py [--shapes "numbers;mixed"] [--scale 1.0] [--trace]
"""

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

K = 5
BAND = 1.3
WARM_ROWS = 20_000
FAST = {"effort": "fast"}


@dataclass(frozen=True)
class Shape:
    """A table and what is done to it: columns of numbers, and columns with so many categories."""

    rows: int
    numbers: int
    categories: tuple[int, ...] = ()
    suffix: str = ".csv"
    arguments: dict = field(default_factory=lambda: FAST)
    confidential: bool = False
    unchanged: int = 0

    def table(self, seed=0):
        """Return the table, of numbers with three decimals and of categories that are words."""
        random = np.random.default_rng(seed)
        columns = {f"n{j}": random.normal(size=self.rows).round(3) for j in range(self.numbers)}
        for j, m in enumerate(self.categories):
            words = pl.Series([f"category {i}" for i in range(m)])
            columns[f"c{j}"] = words.gather(random.integers(0, m, self.rows))
        if self.confidential:
            columns["illness"] = pl.Series([f"illness {i}" for i in range(20)]).gather(
                random.integers(0, 20, self.rows)
            )
        for j in range(self.unchanged):
            columns[f"other{j}"] = random.integers(0, 10**6, self.rows)
        return pl.DataFrame(columns)

    def call(self):
        """Return the arguments of ``protect``."""
        quasi = [f"n{j}" for j in range(self.numbers)] + [f"c{j}" for j in range(len(self.categories))]
        roles = {"quasi": quasi, "confidential": ["illness"] if self.confidential else []}
        return {"k": K, **roles, "unnamed": "other", **self.arguments}


SHAPES = {
    "numbers": Shape(400_000, 10),
    "numbers, Parquet": Shape(800_000, 5, suffix=".parquet"),
    "many columns": Shape(150_000, 50),
    "mixed": Shape(300_000, 4, (2, 10, 30)),
    "300 categories": Shape(100_000, 3, (300,)),
    "5,000 categories": Shape(400_000, 3, (5_000, 20)),
    "categories only": Shape(200_000, 0, (5, 20, 8, 40)),
    "mdav, medoids": Shape(200_000, 5, (8,), arguments={"method": "mdav", "recode": "medoid"}),
    "l and t, Parquet": Shape(200_000, 6, suffix=".parquet", confidential=True, arguments={"l": 3, "t": 0.5, **FAST}),
    "sets": Shape(300_000, 0, (5, 20, 8), arguments={"method": "mondrian", "recode": "set"}),
    "hierarchies": Shape(
        300_000, 2, (20, 30), arguments={"hierarchies": {"n0": "intervals", "c0": "flat", "c1": "prefixes"}, **FAST}
    ),
    "columns released unchanged": Shape(300_000, 3, unchanged=10),
}


def resident(field="VmRSS"):
    """Return the bytes that this process has in memory, or the most since the last reset (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def reset_peak():
    """Give unused memory back to the system and begin to note the most resident memory anew."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def one_run(name, folder, *, trace):
    """Protect one shape and print the estimate and the peak as JSON."""
    import shoal
    from shoal.core.progress import Progress
    from shoal.flow import needed_memory

    shape = SHAPES[name]
    source, target = (Path(folder) / f"{part}{shape.suffix}" for part in ("table", "release"))
    small = Path(folder) / f"small{shape.suffix}"
    write(replace(shape, rows=WARM_ROWS).table(), small)
    shoal.protect(small, **shape.call()).write(target, overwrite=True)  # loads libraries and kernels
    reset_peak()
    baseline = resident()
    peaks, last = [], ["the start"]

    class Stages(Progress):
        def stage(self, name, total=None):  # noqa: ARG002 - the protocol has it
            if trace:
                peaks.append(resident("VmHWM") - baseline)
                now = resident() - baseline
                print(f"{peaks[-1] / 1e6:7.0f} MB at most in {last[0]}, then {now / 1e6:.0f} MB", file=sys.stderr)
                Path("/proc/self/clear_refs").write_text("5")
                last[0] = name

    said = []

    def noted(prepared, plan):
        said.append(needed_memory.needed_memory(prepared, plan))

    needed_memory.check_needed_memory = noted
    release = shoal.protect(source, **shape.call(), progress=Stages())
    Stages().stage("writing")
    release.write(target, overwrite=True)
    Stages().stage("the end")
    peak = max([resident("VmHWM") - baseline, *peaks])
    if trace:
        print(said, file=sys.stderr)
    print(json.dumps({"estimate": said[-1].peak, "peak": peak}))


def write(table, path):
    """Write a table as the suffix of the path states."""
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)


def measure(name, scale=1.0, *, trace=False):
    """Return estimate and peak of one shape, measured in a process of its own."""
    shape = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        write(replace(shape, rows=int(shape.rows * scale)).table(), Path(folder) / f"table{shape.suffix}")
        call = [sys.executable, __file__, "--run", name, folder, *(["--trace"] if trace else [])]
        done = subprocess.run(call, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--shapes", help="names, separated by semicolons; all by default")
    arguments.add_argument("--scale", type=float, default=1.0, help="the rows of each shape are multiplied by this")
    arguments.add_argument("--trace", action="store_true", help="print the peak before each stage")
    arguments.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.run:
        one_run(*chosen.run, trace=chosen.trace)
        return
    print("| shape | rows | estimate MB | peak MB | estimate / peak |\n|---|--:|--:|--:|--:|")
    for name in chosen.shapes.split(";") if chosen.shapes else SHAPES:
        found = measure(name, chosen.scale, trace=chosen.trace)
        rows = int(SHAPES[name].rows * chosen.scale)
        ratio = found["estimate"] / found["peak"]
        print(
            f"| {name} | {rows:,} | {found['estimate'] / 1e6:.0f} | {found['peak'] / 1e6:.0f} | {ratio:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
