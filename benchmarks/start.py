"""How long does a user wait before anything happens, and for the first small table?

    python benchmarks/start.py [--cold]

Whole commands in processes of their own, the best of five. ``--cold`` also empties the cache of compiled loops of this
checkout and times the very first protection on a machine.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shoal import datasets

PACKAGE = Path(datasets.__file__).parent


def seconds(*command, runs=5):
    """The best time of several runs of a command."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cold", action="store_true")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder, "people.csv")
        datasets.patients(1000).write_csv(people)
        quasi = ("--quasi", "age,income,height,sex", "-o", str(Path(folder, "safe.csv")), "--quiet", "--force")
        protect = ("-m", "shoal", "protect", str(people), "-k", "5", *quasi)
        if chosen.cold:
            for method in ("mdav", "auto"):
                for cached in [*PACKAGE.rglob("*.nbi"), *PACKAGE.rglob("*.nbc")]:
                    cached.unlink()
                first = seconds(*protect, "--method", method, runs=1)
                print(f"{'first protect of 1,000 rows, ' + method:40}{first:7.2f} s")
        else:
            seconds(*protect, runs=1)
        print(f"{'python alone':40}{seconds('-c', ''):7.2f} s")
        print(f"{'import shoal':40}{seconds('-c', 'import shoal'):7.2f} s")
        print(f"{'shoal --help':40}{seconds('-m', 'shoal', '--help'):7.2f} s")
        print(f"{'import numba (inside any protection)':40}{seconds('-c', 'import numba'):7.2f} s")
        for method in ("mdav", "auto"):
            print(f"{'protect of 1,000 rows, ' + method:40}{seconds(*protect, '--method', method):7.2f} s")


if __name__ == "__main__":
    main()
