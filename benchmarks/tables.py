"""How long and how much memory it takes to read and write a table of 1,000,000 x 10 numbers.

Each step runs in a fresh process. Memory is the peak (VmHWM) above what the process held before the step, with all
libraries imported, as a multiple of the table's float64 matrix. Linux only.

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
    with tempfile.TemporaryDirectory() as folder:
        run("prepare", folder, rows)
        matrix = rows * COLUMNS * 8 / 1e6
        print(f"{rows:,} x {COLUMNS} numbers, {matrix:.0f} MB as float64, best of 3\n")
        print(f"{'step':<15}{'seconds':>9}{'peak MB':>9}{'x matrix':>10}")
        for step in STEPS:
            found = [run(step, folder, rows) for _ in range(3)]
            seconds, peak = min(one["seconds"] for one in found), min(one["peak"] for one in found)
            print(f"{step:<15}{seconds:>9.2f}{peak:>9.0f}{peak / matrix:>10.2f}")


def run(step, folder, rows):
    command = [sys.executable, __file__, "--step", step, folder, str(rows)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(step, folder, rows):
    """Do one step and print what it took."""
    import numpy as np
    import polars as pl
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401 - imported before the clock starts

    from shoal.tables import Table, read_table, write_table

    folder = Path(folder)

    def made():
        rng = np.random.default_rng(7)
        columns = {f"c{number}": 100 * rng.normal(size=rows) for number in range(COLUMNS)}
        return Table.from_native(pl.DataFrame(columns))

    if step == "prepare":
        write_table(made(), folder / "in.csv")
        write_table(made(), folder / "in.parquet")
        print("{}")
        return
    verb, _, kind = step.partition(" ")
    table = None if verb == "read" else made()
    jobs = {
        "read": lambda: read_table(folder / f"in.{kind}"),
        "write": lambda: write_table(table, folder / f"out.{kind}"),
        "fingerprint": table.fingerprint if table else None,
    }
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, start = peak(), time.perf_counter()
    jobs[verb]()
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": peak() - before}))


def peak():
    """Return the largest memory so far, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
