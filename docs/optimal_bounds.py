"""Compute and write two tables of docs/methods/optimal.md: bounds from nearest neighbours, and the best pairs.

Run from the root of the repository, with the names of the tables to renew (both if there is none: bounds, pairs).
"""

import sys
from pathlib import Path

import numpy as np
from kept import write_tables

from shoal.datasets import load
from shoal.methods.optimal import instant_bound
from shoal.methods.running import run

PAGE = Path(__file__).parent / "methods" / "optimal.md"
TABLES = ("census", "tarragona", "eia", "cloud1", "cloud2")
PAIRS = ("census", "tarragona", "cloud1", "cloud2")  # eia needs 1.4 GB, and leaves a gap
SIZES = (2, 3, 4, 5, 7, 10)


def standardised(name):
    values = load(name).to_numpy().astype(float)
    return np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))


def loss(points, labels):
    """The SSE as a share of the total."""
    sums = np.zeros((labels.max() + 1, points.shape[1]))
    np.add.at(sums, labels, points)
    centres = sums / np.bincount(labels)[:, None]
    return ((points - centres[labels]) ** 2).sum() / ((points - points.mean(axis=0)) ** 2).sum()


def bounds():
    """For each table and k the bound, the loss of ONA*, and what share of it the bound is."""
    yield "| table | " + " | ".join(f"k={k}" for k in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    for name in TABLES:
        points = standardised(name)
        total = ((points - points.mean(axis=0)) ** 2).sum()
        cells = []
        for k in SIZES:
            bound, found = instant_bound(points, k) / total, loss(points, run("ona-star", points, k).labels)
            cells.append(f"{100 * bound:.2f} / {100 * found:.2f} ({100 * bound / found:.0f} %)")
        yield f"| {name} | " + " | ".join(cells) + " |"


def pairs():
    """The loss of the best pairs beside those of two methods with k = 2."""
    yield "| table | `matching` | bound on pairs | `ona-star` | `mu-approx` |"
    yield "|---|---:|---:|---:|---:|"
    for name in PAIRS:
        points = standardised(name)
        total = ((points - points.mean(axis=0)) ** 2).sum()
        best = run("matching", points, 2)
        others = [loss(points, run(method, points, 2).labels) for method in ("ona-star", "mu-approx")]
        figures = (loss(points, best.labels), best.objective.bound / total, *others)
        yield f"| {name} | " + " | ".join(f"{100 * figure:.3f}" for figure in figures) + " |"


def main():
    parts = {"bounds": bounds, "pairs": pairs}
    for name in [part for part in parts if part in sys.argv] or parts:
        write_tables(PAGE, {name: list(parts[name]())})


if __name__ == "__main__":
    main()
