"""How many cells cell-suppression suppresses: the greedy choice, the integer program, and the bound that it proves.

On the table ``testdata`` of sdcMicro with seven columns. The table is written into docs/cell-suppression.md.

    python benchmarks/cell_suppression.py
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from shoal.datasets import reference_path
from shoal.methods.running import run

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from kept import write_tables  # noqa: E402

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
PROGRAM = 6_000
"""Patterns up to which the program is solved, as with ``--effort best``."""


def lines():
    """The table, one line for each k."""
    table = pl.read_csv(reference_path("testdata"))
    codes = np.column_stack([table[key].rank("dense").to_numpy().astype(np.int32) - 1 for key in KEYS])
    yield "| k | greedy | program | proven bound | patterns | seconds |"
    yield "|---|--:|--:|--:|--:|--:|"
    for k in (3, 5):
        greedy = run("cell-suppression", codes, k, program=0).objective.value
        started = process_time()
        found = run("cell-suppression", codes, k, program=PROGRAM)
        seconds = process_time() - started
        objective, patterns = found.objective, found.diagnostics["patterns"]
        bound = f"{np.ceil(objective.bound - 1e-6):.0f}"
        yield f"| {k} | {greedy:.0f} | {objective.value:.0f} | {bound} | {patterns:,} | {seconds:.0f} |"


if __name__ == "__main__":
    found = list(lines())
    print("\n".join(found))
    write_tables(DOCS / "cell-suppression.md", {"suppressed": found})
