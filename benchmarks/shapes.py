"""How does the time of ``auto`` grow on tables of many attributes, and on shapes that are hard for a search?

    python benchmarks/shapes.py [--records 12500] [--efforts fast,balanced] [--only sphere,zeros] [--page]

Each table is grouped with n, 2n and 4n records, k = 5, in one thread with the loops compiled; seconds of processor
time, the growth for a doubling (2 is linear), and the loss of the largest table. ``--page`` writes the table into
docs/speed-or-quality.md. The last line is a table of 5,822 x 86 small whole numbers with the best effort.
"""

import argparse
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

from kept import write_tables

import shoal
from shoal.core.threads import set_threads
from shoal.methods.kernels.centroids import total_cost

PAGE = Path(__file__).parent.parent / "docs" / "speed-or-quality.md"
K = 5


def sphere(rng, n, d):
    """Directions: all records are equally far from the centre."""
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1)[:, None]


def gaussian(rng, n, d):
    """Independent attributes."""
    return rng.normal(size=(n, d))


def images(rng, n, d):
    """Ten kinds of pictures with ten hidden attributes, noise, and values cut to 0 to 16, as scanned digits are."""
    hidden = 1.5 * rng.normal(size=(10, 10))[rng.integers(0, 10, n)] + 0.7 * rng.normal(size=(n, 10))
    return np.clip(np.round(4 * (hidden @ rng.normal(size=(10, d)) / 3 + 0.4 * rng.normal(size=(n, d)))), 0, 16)


def outliers(rng, n, d):
    """One record in a thousand lies a million times as far away as the others."""
    return rng.normal(size=(n, d)) * np.where(rng.random(n) < 0.001, 1e6, 1.0)[:, None]


def zeros(rng, n, d):
    """Nine of ten values are zero."""
    return rng.lognormal(size=(n, d)) * (rng.random((n, d)) < 0.1)


def ties(rng, n, d):
    """Whole numbers from 0 to 3: most records have the same distance to many others."""
    return rng.integers(0, 4, size=(n, d)).astype(np.float64)


def constant(rng, n, d):
    """Half of the columns have one value."""
    points = rng.normal(size=(n, d))
    points[:, d // 2 :] = 7.0
    return points


def survey(rng, n, d):
    """Answers from 0 to 9 that depend on six hidden attributes."""
    answers = rng.normal(size=(n, 6)) @ rng.normal(size=(6, d)) + rng.normal(size=(n, d))
    return np.clip(np.round(1.5 * answers + rng.uniform(-4, 4, d)), 0, 9)


SHAPES = [
    *((sphere, d) for d in (10, 20, 50, 200)),
    (gaussian, 50),
    *((images, d) for d in (50, 200)),
    *((shape, 20) for shape in (outliers, zeros, ties, constant)),
]


def standardised(points):
    """Return the points with mean 0 and variance 1."""
    points = points - points.mean(axis=0)
    spread = np.sqrt((points**2).mean(axis=0))
    return np.ascontiguousarray(points / np.where(spread > 0, spread, 1.0))


def measured(points, effort):
    """Return the seconds of processor time and the loss in per cent."""
    start = time.process_time()
    labels = shoal.run_method("auto", points, K, effort=effort).labels
    seconds = time.process_time() - start
    return seconds, 100 * total_cost(points, labels) / ((points - points.mean(axis=0)) ** 2).sum()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--records", type=int, default=12_500)
    arguments.add_argument("--efforts", default="fast,balanced")
    arguments.add_argument("--only", help="names of shapes")
    arguments.add_argument("--page", action="store_true")
    chosen = arguments.parse_args()
    set_threads(1)
    sizes = [chosen.records, 2 * chosen.records, 4 * chosen.records]
    for n, d in ((2_000, 3), (2_000, 13), (4_000, 3), (4_000, 13), (20_000, 3), (20_000, 13)):  # compile
        for effort in chosen.efforts.split(","):
            shoal.run_method("auto", np.random.default_rng(0).normal(size=(n, d)), K, effort=effort)
    lines = [
        "| shape | d | effort | " + " | ".join(f"{n:,} s" for n in sizes) + " | growth for a doubling | loss % |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    for shape, d in SHAPES:
        if chosen.only and shape.__name__ not in chosen.only.split(","):
            continue
        tables = [standardised(shape(np.random.default_rng(n), n, d)) for n in sizes]
        for effort in chosen.efforts.split(","):
            results = [measured(points, effort) for points in tables]
            seconds = [result[0] for result in results]
            growth = [after / before for before, after in pairwise(seconds)]
            cells = [*(f"{value:.2f}" for value in seconds), ", ".join(f"{value:.1f}" for value in growth)]
            lines.append(f"| {shape.__name__} | {d} | {effort} | {' | '.join(cells)} | {results[-1][1]:.2f} |")
            print(lines[-1], flush=True)
    seconds, loss = measured(standardised(survey(np.random.default_rng(0), 5_822, 86)), "best")
    lines.append(f"| survey, 5,822 records | 86 | best | {seconds:.2f} | | | | {loss:.2f} |")
    print(lines[-1], flush=True)
    if chosen.page:
        write_tables(PAGE, {"shapes": lines})


if __name__ == "__main__":
    main()
