"""How long does the candidates attack take on suppressed tables, and how does the time grow?

    python benchmarks/candidates.py [--rows 1000000] [--columns 8] [--docs]

Tables of generated categories with suppressed cells (one cell in twenty); processor time, best of three. All persons
are tried. The second part has ranges instead, for which 10,000 persons are drawn.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from shoal.evaluate.candidates import candidates
from shoal.evaluate.covering import covered_columns
from shoal.evaluate.paired_columns import pair_columns
from shoal.tables import Table

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from kept import write_tables  # noqa: E402


def suppressed(n, columns):
    rng = np.random.default_rng(0)
    before = pl.DataFrame({f"x{c}": rng.zipf(1.4, n) % (4 + 3 * c) for c in range(columns)})
    hidden = [pl.Series(rng.random(n) < 0.05) for _ in range(columns)]
    after = before.with_columns([
        pl.when(mask).then(None).otherwise(before[name]).alias(name)
        for name, mask in zip(before.columns, hidden, strict=True)
    ])  # fmt: skip
    return before, after


def ranges(n, columns):
    rng = np.random.default_rng(0)
    before = pl.DataFrame({f"x{c}": rng.integers(0, 1000, n) for c in range(columns)})
    after = before.select([
        pl.format("{} to {}", pl.col(name) // 100 * 100, pl.col(name) // 100 * 100 + 99).alias(name)
        for name in before.columns
    ])  # fmt: skip
    return before, after


def measured(before, after, repeat=3):
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        one, other = Table.from_native(before), Table.from_native(after)
        found = candidates(covered_columns(one, other, before.columns), pair_columns(one, other, before.columns), k=5)
        best = min(best, time.process_time() - start)
    return best, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/cell-suppression.md")
    chosen = parser.parse_args()
    measured(*suppressed(100, 3), repeat=1)  # compiles
    measured(*ranges(100, 3), repeat=1)
    lines = ["| cells | records | persons tried | seconds | persons below 5 candidates |", "|---|--:|--:|--:|--:|"]
    print("\n".join(lines))
    for name, table, rows in (
        *(("suppressed", suppressed, chosen.rows // part) for part in (4, 2, 1)),
        *(("ranges", ranges, chosen.rows // part) for part in (40, 20, 10)),
    ):
        seconds, found = measured(*table(rows, chosen.columns if table is suppressed else 4))
        lines.append(f"| {name} | {rows:,} | {found.success.trials:,} | {seconds:.1f} | {found.below:,} |")
        print(lines[-1], flush=True)
    if chosen.docs:
        write_tables(DOCS / "cell-suppression.md", {"candidates": lines})


if __name__ == "__main__":
    main()
