"""The figures of Shoal for the cells of printed tables, one run of a method at a time."""

import gzip
from functools import cache
from statistics import fmean, stdev

import numpy as np

from shoal import datasets
from shoal.methods.contract import Outcome
from shoal.methods.distance.ona_star import ona_star
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.kernels.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.partition.leaf_grouping import group_blocks
from shoal.methods.partition.mona import block_size
from shoal.methods.partition.mondrian import PAIR_SCALE, largest_whole
from shoal.methods.running import run

import reference

DATABASES = 25
SIMULATED = ("simu", "simc")


@cache
def points(name):
    """The table of that name, standardised; Adult: age, education-num and hours-per-week."""
    if name != "adult":
        return reference.points(name)
    with gzip.open(reference.path("adult.csv.gz"), "rt") as lines:
        raw = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=(0, 4, 12))
    centred = raw - raw.mean(axis=0)
    return centred / np.sqrt((centred**2).mean(axis=0))


@cache
def database(kind, seed):
    """A simulated database, standardised."""
    table = getattr(datasets, kind)(seed)
    table = table - table.mean(axis=0)
    return table / table.std(axis=0)


def loss(points, labels):
    """Information loss in per cent."""
    return 100 * total_cost(points, labels) / total_cost(points, np.zeros(len(points), np.int64))


def parsed(key):
    """Data, method, options and k of a key such as ``census/ona-star closest=cost/k=5``."""
    data, call, k = key.split("/")
    method, *given = call.split(" ")
    options = dict(option.split("=") for option in given)
    return data, method, {name: value_of(text) for name, text in options.items()}, int(k[2:])


def value_of(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def figures(key):
    """All figures of a run; of simulated data: the means over the databases and their standard deviations."""
    data, method, options, k = parsed(key)
    if data not in SIMULATED:
        return figures_of(points(data), method, options, k)
    each = [figures_of(database(data, seed), method, options, k) for seed in range(DATABASES)]
    found = {"databases": DATABASES}
    for name in each[0]:
        found[name] = fmean(one[name] for one in each)
        found[f"sd of {name}"] = stdev(one[name] for one in each)
    return found


def mona_of_the_thesis(table, method, k, rho, first=None, **leaf):
    """MONA whose blocks are grouped by ONA* with the given options: those of Thaeter 2021, not those of the paper."""
    kind = ("variance", first) if method == "mona" else ("pairs", first, PAIR_SCALE)
    cutting = Cutting(*kind, inherit=True)
    uncut = largest_whole(k, "2k")
    blocks = cut_into_blocks(table, max(block_size(len(table), rho), uncut), cutting)
    return Outcome(
        group_blocks(table, blocks, k, lambda points, k: ona_star(points, k, **leaf).labels, uncut, "blocks")
    )


def figures_of(table, method, options, k):
    of_thesis = method.startswith("mona") and "closest" in options
    outcome = mona_of_the_thesis(table, method, k, **options) if of_thesis else run(method, table, k, **options)
    found = {"loss": loss(table, outcome.labels), "size": len(table) / (int(outcome.labels.max()) + 1)}
    diagnostics = outcome.diagnostics
    found |= {name: float(diagnostics[name]) for name in ("gamma", "rounds") if name in diagnostics}
    if "information_loss_of_the_runs" in diagnostics:
        for name, value in diagnostics["information_loss_of_the_runs"].items():
            found[name] = value * (1e4 if name == "variance" else 100)
        found |= {f"rounds {name}": value for name, value in diagnostics["rounds_of_the_runs"].items()}
    return found
