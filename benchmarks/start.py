"""How long does a user wait before anything happens, for the first table on a machine, and for a small table?

    python benchmarks/start.py [--cold] [--records 1000,5000,20000,120000] [--runs 3]

Whole commands in processes of their own: seconds by the clock and of processor time (all processes of the command), the
best of several runs. ``--cold`` also times the first protection with an empty cache of compiled loops, in a folder of
its own, with one thread and with all; with one thread no second process compiles. The line "more than warm" is the
difference.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shoal import datasets


def seconds(*command, runs=1, cache=None):
    """Seconds by the clock and of processor time of a command, the best of several runs."""
    environment = os.environ | ({} if cache is None else {"SHOAL_CACHE": cache, "NUMBA_CACHE_DIR": cache})
    found = []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True, env=environment)
        clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((clock, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime))
    return tuple(min(each) for each in zip(*found, strict=True))


def show(text, times):
    """Print one line, and return its times."""
    print(f"{text:52}{times[0]:8.2f} s {times[1]:8.2f} s", flush=True)
    return times


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cold", action="store_true")
    arguments.add_argument("--records", default="1000,20000")
    arguments.add_argument("--methods", default="auto")
    arguments.add_argument("--runs", type=int, default=3)
    chosen = arguments.parse_args()
    runs = chosen.runs
    print(f"{'':52}{'clock':>10} {'processor':>10}")
    show("python alone", seconds("-c", "", runs=runs))
    show("import shoal", seconds("-c", "import shoal", runs=runs))
    show("shoal --help", seconds("-m", "shoal", "--help", runs=runs))
    show("import numba (inside any protection)", seconds("-c", "import numba", runs=runs))
    for n in map(int, chosen.records.split(",")):
        for method in chosen.methods.split(","):
            with tempfile.TemporaryDirectory() as folder:
                measure(folder, n, method, runs, cold=chosen.cold)


def measure(folder, n, method, runs, *, cold):
    """Time the first protections, if they are wanted, and later ones."""
    people = Path(folder, "people.csv")
    datasets.patients(n).write_csv(people)
    protect = (
        "-m", "shoal", "protect", str(people), "-k", "5", "--quasi", "age,income,height", "--unnamed", "other",
        "-o", str(Path(folder, "safe.csv")), "--quiet", "--force", "--method", method,
    )  # fmt: skip
    first = {}
    if cold:
        for threads in ((), ("--threads", "1")):
            text = f"first protect of {n:,} rows, {method}" + (", one thread" if threads else "")
            cache = str(Path(folder, f"cache{len(threads)}"))
            first[threads] = show(text, seconds(*protect, *threads, cache=cache))
    else:
        cache = str(Path(folder, "cache"))
        seconds(*protect, cache=cache)
    warm = show(f"protect of {n:,} rows, {method}", seconds(*protect, runs=runs, cache=cache))
    if cold:
        show("  more than warm", tuple(a - b for a, b in zip(first[()], warm, strict=True)))


if __name__ == "__main__":
    main()
