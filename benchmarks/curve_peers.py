"""Peers of ``auto`` in ``curve.py``: groupings that a user could make instead, with the processor seconds they take.

Constrained k-means comes from the Python package index (k-means-constrained) in an environment of its own, made in the
folder of temporary files. MHM groups records along a path at its optimum (Hansen & Mukherjee 2003 on the paths
of Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz & Sebe 2006): a tour that always goes to the nearest record, or one
through the groups of MDAV.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np
from numba import njit

from shoal.methods.running import run

PACKAGE = "k-means-constrained"
SCRIPT = """
import sys, time
import numpy as np
from k_means_constrained import KMeansConstrained
points, k = np.load(sys.argv[1]), int(sys.argv[2])
def fit(points):
    return KMeansConstrained(len(points) // k, size_min=k, n_init=1, random_state=0, n_jobs=1).fit_predict(points)
fit(points[: 4 * k])
started = time.process_time()
labels = fit(points)
print(time.process_time() - started)
np.save(sys.argv[3], labels)
"""


def environment():
    """The interpreter of the environment with the package; made at first use."""
    folder = Path(tempfile.gettempdir()) / "shoal-curve-peers"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--quiet", PACKAGE], check=True)
        (folder / "complete").touch()
    return python


def constrained_k_means(points, k):
    """Labels and processor seconds of one run from a random start, with at least k records in each cluster."""
    with tempfile.TemporaryDirectory() as folder:
        table, labels = Path(folder) / "points.npy", Path(folder) / "labels.npy"
        np.save(table, points)
        done = subprocess.run(
            [environment(), "-c", SCRIPT, table, str(k), labels], check=True, capture_output=True, text=True
        )
        return np.unique(np.load(labels), return_inverse=True)[1].reshape(-1), float(done.stdout)


def mhm_tour(points, k):
    """Labels of the optimal groups along a tour to the nearest record not yet visited, from the farthest one."""
    return mhm(points, tour(points), k)


def mhm_mdav(points, k):
    """Labels of the optimal groups along a tour through the groups of MDAV, each from the side of the one before."""
    groups = run("mdav", points, k).labels
    sizes = np.bincount(groups)
    centroids = np.column_stack([np.bincount(groups, column) / sizes for column in points.T])
    order, last = [], points.mean(axis=0)
    for group in tour(centroids):
        members = np.flatnonzero(groups == group)
        members = members[np.argsort(((points[members] - last) ** 2).sum(axis=1), kind="stable")]
        order.append(members)
        last = points[members[-1]]
    return mhm(points, np.concatenate(order), k)


def mhm(points, order, k):
    """Labels of the cheapest groups of k to 2k-1 records that are neighbours along a path."""
    labels = np.empty(len(points), np.int64)
    labels[order] = cut_path(np.ascontiguousarray(points[order]), k)
    return labels


@njit(cache=True)
def tour(points):
    n, d = points.shape
    left = np.arange(n)
    order = np.empty(n, np.int64)
    at, count = 0, n
    middle = np.zeros(d)
    for j in range(d):
        middle[j] = points[:, j].mean()
    farthest = -1.0
    for i in range(n):
        distance = ((points[i] - middle) ** 2).sum()
        if distance > farthest:
            farthest, at = distance, i
    for step in range(n):
        order[step] = left[at]
        here = points[left[at]]
        count -= 1
        left[at] = left[count]
        nearest = np.inf
        for p in range(count):
            distance = 0.0
            for j in range(d):
                difference = points[left[p], j] - here[j]
                distance += difference * difference
            if distance < nearest:
                nearest, at = distance, p
    return order


@njit(cache=True)
def cut_path(path, k):
    """The number of the group of each record of a path: the shortest path of Hansen & Mukherjee."""
    n, d = path.shape
    best = np.full(n + 1, np.inf)
    begin = np.zeros(n + 1, np.int64)
    best[0] = 0.0
    mean = np.empty(d)
    for end in range(k, n + 1):
        mean[:] = 0.0
        cost = 0.0
        for first in range(end - 1, max(-1, end - 2 * k), -1):
            size = end - first
            for j in range(d):
                difference = path[first, j] - mean[j]
                mean[j] += difference / size
                cost += difference * (path[first, j] - mean[j])
            if size >= k and best[first] + cost < best[end]:
                best[end], begin[end] = best[first] + cost, first
    labels = np.zeros(n, np.int64)
    end, group = n, 0
    while end > 0:
        labels[begin[end] : end] = group
        end, group = begin[end], group + 1
    return labels


if __name__ == "__main__":
    sys.exit("a part of curve.py")
