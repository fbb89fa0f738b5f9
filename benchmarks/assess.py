"""How long does a full report of privacy models take, beside pycanon, and for a million records?

    python benchmarks/assess.py [--rows 1000000] [--repeat 3] [--peer-limit 600]

The report holds k, alpha, l, entropy l, recursive (c, l), beta, enhanced beta, delta and t; Adult has 48,842 records.
The peer runs in an environment of its own, named by $SHOAL_PYCANON (its python); without it only ours is measured.
To add it: python -m venv DIR && DIR/bin/pip install pycanon==1.3.6. Both sides start from a DataFrame in memory.
"""

import argparse
import json
import os
import subprocess
import threading
import time

import numpy as np
import polars as pl

import shoal

QUASI = ["age", "education", "marital-status", "race", "sex", "native-country"]
CONFIDENTIAL = ["occupation"]
PEER = """
import json, sys, time
import pandas as pd
from pycanon import anonymity
data = pd.read_csv(sys.argv[1], keep_default_na=False)
quasi, confidential = json.loads(sys.argv[2]), json.loads(sys.argv[3])
names = ["l_diversity", "t_closeness", "alpha_k_anonymity", "entropy_l_diversity", "recursive_c_l_diversity",
         "basic_beta_likeness", "enhanced_beta_likeness", "delta_disclosure"]
start = time.perf_counter()
k = anonymity.k_anonymity(data, quasi)
print(json.dumps(["k_anonymity", time.perf_counter() - start, float(k)]), flush=True)
for name in names:
    start = time.perf_counter()
    figure = getattr(anonymity, name)(data, quasi, confidential)
    took = time.perf_counter() - start
    print(json.dumps([name, took, float(figure[0] if isinstance(figure, tuple) else figure)]), flush=True)
"""


def adult_file():
    return shoal.datasets.reference_path("adult")


def best_of(repeat, call):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return min(times), result


def peer(limit):
    """Yield name, seconds and figure of each measure that pycanon finishes within the limit."""
    python = os.environ.get("SHOAL_PYCANON")
    if not python:
        print("  pycanon is not measured: set SHOAL_PYCANON to a python that has it (see the head of the file)")
        return
    words = [python, "-W", "ignore", "-c", PEER, str(adult_file()), json.dumps(QUASI), json.dumps(CONFIDENTIAL)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    stop = threading.Timer(limit, process.kill)
    stop.start()
    for line in process.stdout:
        yield json.loads(line)
    stop.cancel()


def large_table(n):
    rng = np.random.default_rng(0)
    columns = {f"q{i}": rng.integers(0, 8, n) for i in range(6)}
    return pl.DataFrame(
        {**columns, "diagnosis": rng.choice(list("abcdefghij"), n), "cost": rng.lognormal(8, 1, n).round()}
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--peer-limit", type=float, default=600, help="seconds after which pycanon is stopped")
    chosen = parser.parse_args()
    adult = pl.read_csv(adult_file(), infer_schema_length=None)
    ours, found = best_of(
        chosen.repeat, lambda: shoal.assess(adult, quasi=QUASI, confidential=CONFIDENTIAL, unnamed="other")
    )
    print(
        f"Adult, six quasi-identifiers, {found.sizes.size:,} classes: shoal {ours:.3f} s (k={found.k}, t={found.t:.6f})"
    )
    total, measures = 0.0, 0
    for name, took, figure in peer(chosen.peer_limit):
        total, measures = total + took, measures + 1
        print(f"  pycanon {name:24} {took:6.2f} s  {figure:.6f}", flush=True)
    if measures:
        print(f"  pycanon {measures} of 9 measures {total:6.1f} s: {total / ours:.0f} times as long as all of ours")
    large = large_table(chosen.rows)
    quasi = [name for name in large.columns if name.startswith("q")]
    took, found = best_of(chosen.repeat, lambda: shoal.assess(large, quasi=quasi, confidential=["diagnosis", "cost"]))
    print(
        f"{chosen.rows:,} records, six quasi-identifiers, {found.sizes.size:,} classes, two confidential columns: "
        f"shoal {took:.2f} s"
    )


if __name__ == "__main__":
    main()
