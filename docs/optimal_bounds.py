"""Print the tables of docs/methods/optimal.md. Run from the root: python docs/optimal_bounds.py."""

import numpy as np

from shoal.datasets import load
from shoal.methods.optimal import instant_bound
from shoal.methods.running import run

TABLES = ("census", "tarragona", "eia", "cloud1", "cloud2")
PAIRS = ("census", "tarragona", "cloud1", "cloud2")  # eia takes many minutes
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


def main():
    print("| table | " + " | ".join(f"k={k}" for k in SIZES) + " |")
    print("|---|" + "---:|" * len(SIZES))
    for name in TABLES:
        points = standardised(name)
        total = ((points - points.mean(axis=0)) ** 2).sum()
        cells = []
        for k in SIZES:
            bound, found = instant_bound(points, k) / total, loss(points, run("ona-star", points, k).labels)
            cells.append(f"{100 * bound:.2f} / {100 * found:.2f} ({100 * bound / found:.0f} %)")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("\n| table | `matching` | bound on pairs | `ona-star` | `mu-approx` |\n|---|---:|---:|---:|---:|")
    for name in PAIRS:
        points = standardised(name)
        total = ((points - points.mean(axis=0)) ** 2).sum()
        pairs = run("matching", points, 2)
        others = [loss(points, run(method, points, 2).labels) for method in ("ona-star", "mu-approx")]
        figures = (loss(points, pairs.labels), pairs.objective.bound / total, *others)
        print(f"| {name} | " + " | ".join(f"{100 * figure:.3f}" for figure in figures) + " |", flush=True)


if __name__ == "__main__":
    main()
