"""How much does the default lose, and how long does it take, beside the methods that it competes with?

Groups of ``auto`` at each effort and with time limits, of ``mdav``, ``ona-star`` and ``set-partition``, of constrained
k-means, of MHM along two paths and of a projection, on reference tables and on tables that packages ship (see
``public_tables.py``). Loss as squared error of standardised columns, seconds of processor time of one thread with all
loops compiled. Every measured cell is kept in a file outside the repository (``$SHOAL_CURVE``, or ``shoal-curve.json``
in the folder of temporary files), so a run that was stopped goes on; ``--again CONTENDER`` measures one anew.

    python benchmarks/curve.py [--tables iris,wine] [--k 3,5,10] [--contenders auto] [--again balanced]
    python benchmarks/curve.py --limits       # does auto keep its time limits?
    python benchmarks/curve.py --releases     # who is exposed by a second release?
    python benchmarks/curve.py --docs         # only write the page and the picture from stored results
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))


import curve_page
import curve_peers
import second_releases
from kept import keep, kept
from public_tables import load

from shoal import datasets
from shoal.core import deadline
from shoal.core.threads import set_threads
from shoal.methods.effort import choose_preset
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.running import run

STORE = Path(os.environ.get("SHOAL_CURVE", Path(tempfile.gettempdir()) / "shoal-curve.json"))
PUBLIC = (
    "stackloss", "copper", "nuclear", "statecrime", "elnino", "uscereal", "ruspini", "cars93", "iris", "wine",
    "birthwt", "macrodata", "sonar", "star98", "midwest", "diabetes", "boston", "breast_cancer", "modechoice",
    "vehicle", "anes96", "colon", "digits", "bfi", "ames", "fair", "flchain", "ticdata", "randhie", "diamonds",
)  # fmt: skip
REFERENCE = ("tarragona", "cloud1", "cloud2", "census", "eia", "adult", "credit_card", "covertype")
RESULTS = Path(__file__).parents[1] / "docs" / "curve-results.json"
LIMITED, LIMITS = ("credit_card", "covertype-full"), (1, 2, 5, 10, 30)
RELEASED = ("census", "adult", "credit_card")
MOST = 100_000  # records; of larger tables the first ones
FULL = "covertype-full"
QUICK, REPEATED = 0.1, 3  # a run that takes less is made so often, and the fastest counts


@dataclass(frozen=True)
class Contender:
    """A way to group records: labels, and seconds where the run measures its own; for tables up to ``most`` records."""

    group: Callable
    most: float = np.inf
    least: float = 0


def method(name, **options):
    return lambda points, k: run(name, points, k, **options).labels


def earlier(effort):
    """What ``auto`` selected before it had a search."""

    def group(points, k):
        choice = choose_preset(*points.shape, k, effort=effort)
        return run(choice.method, points, k, **choice.options).labels

    return group


CONTENDERS = {
    "ona-star": Contender(method("ona-star"), MOST),
    "mdav": Contender(method("mdav"), MOST),
    "projection": Contender(method("projection")),
    "mhm-tour": Contender(curve_peers.mhm_tour, 20_000),
    "mhm-mdav": Contender(curve_peers.mhm_mdav, 20_000),
    "k-means": Contender(curve_peers.constrained_k_means, 600),
    "earlier fast": Contender(earlier("fast")),
    "earlier balanced": Contender(earlier("balanced"), least=MOST),
    "fast": Contender(method("auto", effort="fast")),
    "balanced": Contender(method("auto")),
    "best": Contender(method("auto", effort="best")),
    "auto 1 s": Contender(method("auto", time_limit=1), least=1_000),
    "auto 5 s": Contender(method("auto", time_limit=5), least=1_000, most=10_000),
    "set-partition": Contender(method("set-partition", time_limit=20, bound="none"), 4_000),
}


def numbers(frame):
    """The numeric columns without those that are mostly missing, complete records, standardised, none constant."""
    frame = frame.select([name for name in frame.columns if frame[name].dtype.is_numeric()])
    frame = frame.select([name for name in frame.columns if frame[name].null_count() <= 0.2 * frame.height])
    table = frame.drop_nulls().to_numpy().astype(np.float64)
    spread = table.std(axis=0)
    return ((table - table.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, spread > 0]


def table_of(name):
    if name == FULL:
        return numbers(datasets.load("covertype"))
    return numbers(datasets.load(name).head(MOST) if name in REFERENCE else load(name))


def measured(contender, points, k):
    """Squared error and processor seconds."""
    seconds, again = np.inf, 0
    while again == 0 or (again < REPEATED and seconds < QUICK):
        started = time.process_time()
        labels = contender.group(points, k)
        taken = time.process_time() - started
        if isinstance(labels, tuple):
            labels, taken = labels
        seconds, again = min(seconds, taken), again + 1
    assert np.bincount(labels).min() >= k
    return {"sse": total_cost(points, labels), "s": seconds}


def compile_for(title, contender, done=set()):  # noqa: B006, a record of what was compiled
    """Run a contender once on generated tables, so that no measured run compiles."""
    for n in () if title in done else (60, 300, 1_500, 20_000):
        if contender.least <= n <= contender.most and (n <= 300 or title not in {"best", "set-partition"}):
            contender.group(np.random.default_rng(n).normal(size=(n, 3)), 3)
    done.add(title)


def measure(names, ks, chosen, again):
    """Measure what is missing, the cheapest tables first."""
    for name in names:
        points = None
        for k in ks:
            for title in chosen:
                contender = CONTENDERS[title]
                if name == FULL and title not in {"earlier fast", "earlier balanced", "fast", "balanced", "best"}:
                    continue
                if f"{name} {k} {title}" in kept(STORE) and title not in again:
                    continue
                points = table_of(name) if points is None else points
                n, d = points.shape
                if not contender.least <= n <= contender.most or n < 2 * k:
                    continue
                compile_for(title, contender)
                found = measured(contender, points, k) | {"n": n, "d": d, "total": float((points**2).sum())}
                keep(STORE, f"{name} {k} {title}", found)
                print(f"{name} {k} {title}: {100 * found['sse'] / found['total']:.4f} % {found['s']:.3f} s", flush=True)


def measure_limits():
    """Processor seconds of ``auto`` with one thread for some time limits, k = 5."""
    for name in LIMITED:
        points = table_of(name)
        run("auto", points[:20_000], 5, time_limit=4)  # compiles
        for limit in LIMITS:
            if f"limit {name} {limit}" in kept(STORE):
                continue
            started = time.process_time()
            outcome = run("auto", points, 5, time_limit=limit)
            taken = time.process_time() - started
            loss = 100 * total_cost(points, outcome.labels) / float((points**2).sum())
            keep(STORE, f"limit {name} {limit}", {"s": taken, "loss": loss, "method": outcome.method})
            print(f"{name}: {limit} s, used {taken:.2f} s, loss {loss:.4f} %, {outcome.diagnostics}", flush=True)


def measure_releases():
    """The share of persons with fewer than k candidates after a second release without some records, k = 5."""
    for name in RELEASED:
        for removed, found in second_releases.exposures(datasets.load(name), 5):
            keep(STORE, f"release {name} 5 {removed}", found)
            print(name, removed, found, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join((*PUBLIC, *REFERENCE)))
    parser.add_argument("--k", default="3,5,10")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--again", default="")
    parser.add_argument("--join", default="", help="further files of stored cells, for runs side by side")
    for flag in ("limits", "releases", "docs"):
        parser.add_argument(f"--{flag}", action="store_true")
    given = parser.parse_args()
    set_threads(1)
    deadline.now = time.process_time  # time limits count processor seconds too: other programs use the machine
    if not (given.limits or given.releases or given.docs):
        measure(
            given.tables.split(","), [int(k) for k in given.k.split(",")], given.contenders.split(","),
            given.again.split(","),
        )  # fmt: skip
    if given.limits:
        measure_limits()
    if given.releases:
        measure_releases()
    for file in given.join.split(",") if given.join else ():
        for key, found in kept(Path(file)).items():
            keep(STORE, key, found)
    if given.docs:
        for key, found in kept(STORE).items():
            keep(RESULTS, key, found)
        for lines in list(curve_page.write(kept(RESULTS)).values()):
            print("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
