"""How long do special uniques take, and how does the time grow with records and with the size of combinations?

    python benchmarks/special_uniques.py [--rows 100000] [--columns 10] [--repeat 3] [--docs]

Prints processor time for tables of generated categories (2 to 100 values a column, skewed), best of several.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from shoal.evaluate.special_uniques import number_of_sets, special_uniques
from shoal.tables import Table

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from kept import write_tables  # noqa: E402

VALUES = (2, 5, 10, 20, 50, 80, 5, 7, 100, 30)


def generated(n, columns):
    rng = np.random.default_rng(0)
    cards = [VALUES[c % len(VALUES)] for c in range(columns)]
    return Table.from_native(pl.DataFrame({f"x{c}": rng.zipf(1.5, n) % card for c, card in enumerate(cards)}))


def measured(table, size, repeat):
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        found = special_uniques(table, table.names, size=size)
        best = min(best, time.process_time() - start)
    return best, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/sources-of-risk.md")
    chosen = parser.parse_args()
    special_uniques(generated(100, 3), ["x0", "x1", "x2"])  # compiles
    lines = ["| records | combined columns | sets of columns | seconds | unique records |", "|--:|--:|--:|--:|--:|"]
    print("\n".join(lines))
    for n in (chosen.rows // 4, chosen.rows // 2, chosen.rows, 2 * chosen.rows):
        table = generated(n, chosen.columns)
        for size in (2, 3, 4, 6):
            seconds, found = measured(table, size, chosen.repeat)
            sets = number_of_sets(chosen.columns, size)
            lines.append(f"| {n:,} | {size} | {sets:,} | {seconds:.2f} | {found.unique_records:,} |")
            print(lines[-1], flush=True)
    if chosen.docs:
        write_tables(DOCS / "sources-of-risk.md", {"special uniques": lines})


if __name__ == "__main__":
    main()
