"""Time and size of the reports of a large table. Run: python benchmarks/report.py [RECORDS]."""

import sys
import time

import numpy as np
import polars as pl

import shoal
from shoal.datasets import EDUCATION_ORDER, patients
from shoal.report.page import render_report
from shoal.tables import Table


def wide(n, d):
    """Return a table of d correlated numeric columns."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d))
    return pl.DataFrame({f"column {j + 1}": values for j, values in enumerate((shared + rng.normal(size=(n, d))).T)})


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    quasi = ["age", "sex", "region", "education", "income", "height", "admitted"]
    tables = [
        (patients(n), {"quasi": quasi, "confidential": ["diagnosis"], "identifiers": ["name"],
                       "other": ["stay_days"],
                       "orders": {"education": EDUCATION_ORDER}}),
        (wide(max(n // 100, 1000), 200), {"quasi": [f"column {j + 1}" for j in range(200)], "method": "mondrian-v"}),
    ]  # fmt: skip
    print(f"{'records':>9}  {'columns':>7}  {'protect s':>9}  {'report':<6}  {'s':>6}  {'CPU s':>6}  {'kB':>6}")
    for table, choices in tables:
        start = time.perf_counter()
        release = shoal.protect(table, 5, **choices)
        protecting = time.perf_counter() - start
        original = Table.from_native(table)
        for public in (False, True):
            start, cpu = time.perf_counter(), time.process_time()
            size = len(render_report(release.released, None if public else original, public=public).encode())
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            kind = "public" if public else "full"
            print(
                f"{table.height:>9,}  {len(choices['quasi']):>7}  {protecting:>9.1f}  {kind:<6}  {seconds:>6.2f}  "
                f"{cpu:>6.2f}  {size / 1e3:>6.0f}"
            )


if __name__ == "__main__":
    main()
