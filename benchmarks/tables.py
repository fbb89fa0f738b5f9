"""Time and peak memory of reading, writing and fingerprinting a table of 1,000,000 x 10 numbers.

Each step runs in a new process. Memory is the peak (VmHWM) above the memory of the process before the step, with all
libraries imported, in MB and as a multiple of the table's float64 matrix. Linux only.

    python benchmarks/tables.py [rows]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLUMNS = 10
STEPS = ["read csv", "write csv", "read parquet", "write parquet", "fingerprint"]


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        run("prepare", directory, rows)
        matrix = rows * COLUMNS * 8 / 1e6
        print(f"{rows:,} x {COLUMNS} numbers, {matrix:.0f} MB as float64, best of 3\n")
        print(f"{'step':<15}{'seconds':>9}{'peak MB':>9}{'x matrix':>10}")
        for step in STEPS:
            runs = [run(step, directory, rows) for _ in range(3)]
            seconds, peak = min(one["seconds"] for one in runs), min(one["peak"] for one in runs)
            print(f"{step:<15}{seconds:>9.2f}{peak:>9.0f}{peak / matrix:>10.2f}")


def run(step, directory, rows):
    command = [sys.executable, __file__, "--step", step, directory, str(rows)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(step, directory, rows):
    """Run one step and print its time and peak memory as JSON."""
    import numpy as np
    import polars as pl
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401 - imported before the measurement starts

    from shoal.tables import Table, read_table, write_table

    directory = Path(directory)

    def generated():
        rng = np.random.default_rng(7)
        columns = {f"c{number}": 100 * rng.normal(size=rows) for number in range(COLUMNS)}
        return Table.from_native(pl.DataFrame(columns))

    if step == "prepare":
        write_table(generated(), directory / "in.csv")
        write_table(generated(), directory / "in.parquet")
        print("{}")
        return
    verb, _, kind = step.partition(" ")
    table = None if verb == "read" else generated()
    jobs = {
        "read": lambda: read_table(directory / f"in.{kind}"),
        "write": lambda: write_table(table, directory / f"out.{kind}"),
        "fingerprint": table.fingerprint if table else None,
    }
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before, start = peak(), time.perf_counter()
    jobs[verb]()
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": peak() - before}))


def peak():
    """Return the peak memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
