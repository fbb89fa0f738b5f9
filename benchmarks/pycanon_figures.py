"""Write tests/privacy/pycanon_figures.json: what pycanon says about complete tables, for our tests to compare with.

    SHOAL_PYCANON=DIR/bin/python python benchmarks/pycanon_figures.py

pycanon needs an environment of its own: python -m venv DIR && DIR/bin/pip install pycanon==1.3.6. Small tables are
drawn at random and stored with their figures; of Adult only the names of the columns are stored (the data are read from
$SHOAL_DATA).
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "tests" / "privacy" / "pycanon_figures.json"
ADULT = [
    (["marital-status", "race", "sex"], ["occupation", "salary-class", "hours-per-week"], True),
    (["race", "sex"], ["marital-status", "salary-class"], False),
]
READINGS = [(["disease"], True), (["cost"], True), (["disease", "cost", "ward"], True), (["disease", "ward"], False)]
PEER = """
import json, sys
import pandas as pd
from pycanon import anonymity
for line in sys.stdin:
    file, quasi, confidential, gen = json.loads(line)
    data = pd.read_csv(file, keep_default_na=False)
    alpha, k = anonymity.alpha_k_anonymity(data, quasi, confidential, gen)
    try:
        c, l = anonymity.recursive_c_l_diversity(data, quasi, confidential, gen=gen)
    except OverflowError:  # with gen=False it takes l from the other reading, which a class need not have
        c, l = float("nan"), float("nan")
    figures = {
        "k": anonymity.k_anonymity(data, quasi), "alpha": alpha,
        "l": anonymity.l_diversity(data, quasi, confidential, gen),
        "entropy_l": anonymity.entropy_l_diversity(data, quasi, confidential, gen), "c": c, "recursive_l": l,
        "beta": anonymity.basic_beta_likeness(data, quasi, confidential, gen),
        "enhanced_beta": anonymity.enhanced_beta_likeness(data, quasi, confidential, gen),
        "t": anonymity.t_closeness(data, quasi, confidential, gen),
        "delta": anonymity.delta_disclosure(data, quasi, confidential, gen),
    }
    print(json.dumps({name: None if value != value else float(value) for name, value in figures.items()}), flush=True)
"""


def small_tables():
    """Random tables: two quasi-identifiers, one numeric and two nominal confidential columns."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 120))
        yield {
            "a": rng.integers(0, 3, n).tolist(),
            "b": rng.integers(0, 2, n).tolist(),
            "disease": [f"d{value}" for value in rng.integers(0, 3 + seed % 3, n)],
            "cost": rng.integers(0, 8, n).tolist(),
            "ward": [f"w{value}" for value in (rng.random(n) ** 2 * 3).astype(int)],
        }


def adult_file():
    directory = os.environ.get("SHOAL_DATA")
    if not directory:
        sys.exit("set SHOAL_DATA to the directory that contains adult.csv.gz")
    return Path(directory, "adult.csv.gz")


def main():
    python = os.environ.get("SHOAL_PYCANON")
    if not python:
        sys.exit("set SHOAL_PYCANON to a python that has pycanon (see the head of the file)")
    peer = subprocess.Popen([python, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(file, quasi, confidential, gen):
        peer.stdin.write(json.dumps([str(file), quasi, confidential, gen]) + "\n")
        peer.stdin.flush()
        return json.loads(peer.stdout.readline())

    small, adult = [], []
    with tempfile.TemporaryDirectory() as folder:
        for table in small_tables():
            file = Path(folder) / "table.csv"
            lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
            file.write_text("\n".join(lines) + "\n")
            for confidential, gen in READINGS:
                figures = ask(file, ["a", "b"], confidential, gen)
                small.append({"table": table, "confidential": confidential, "gen": gen, "pycanon": figures})
    for quasi, confidential, gen in ADULT:
        write(small, adult)
        figures = ask(adult_file(), quasi, confidential, gen)
        adult.append({"quasi": quasi, "confidential": confidential, "gen": gen, "pycanon": figures})
    write(small, adult)
    peer.stdin.close()
    peer.wait()


def write(small, adult):
    TARGET.write_text(json.dumps({"version": "pycanon 1.3.6", "small": small, "adult": adult}) + "\n")


if __name__ == "__main__":
    main()
