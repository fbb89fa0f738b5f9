"""For the researcher: compare methods on arrays, measure the gap to the optimum, and add a method.

Run the cells one by one, or everything with ``python examples/researcher.py``.
"""

# %% Clustered data, as in Thaeter 2021
import numpy as np

import shoal

points = shoal.datasets.simc(seed=1)[:400]
points = np.ascontiguousarray((points - points.mean(axis=0)) / points.std(axis=0))


def loss(labels: np.ndarray) -> float:
    """Return the information loss in per cent."""
    sums = np.zeros((labels.max() + 1, points.shape[1]))
    np.add.at(sums, labels, points)
    means = sums / np.bincount(labels)[:, None]
    return 100 * float(((points - means[labels]) ** 2).sum()) / points.size


# %% Several methods, one line each
for name in ["mdav", "v-mdav", "mdav-star", "ona-star", "mondrian-v", "projection"]:
    print(f"{name:12} {loss(shoal.group(points, k=5, method=name)):7.3f} %")

# %% Any grouping can be refined; the loss never rises
rough = shoal.group(points, k=5, method="mondrian-v")
better = shoal.refine(points, rough, k=5).labels
print(f"refined      {loss(better):7.3f} %")
assert loss(better) <= loss(rough)

# %% One column has an optimum, which is found in the time of a sort
labels = shoal.optimal_1d(points[:, 0], k=5)
print("groups of one column:", labels.max() + 1)

# %% What a method reports beside the labels: objective, proven bound, diagnostics
outcome = shoal.run_method("set-partition", points[:60], 3, seed=1)
objective = outcome.objective
assert objective is not None
assert objective.gap is not None
print(f"{objective.name} {objective.value:.3f}, proven to be at most {100 * objective.gap:.4f} % above the optimum")


# %% A method of your own: a function; ``protect``, ``compare`` and ``group`` then find it by its name
@shoal.method(
    "sorted-sum",
    title="Groups of k along the sum of all columns",
    complexity="n log n",
    reference="this example",
    when="as an example of a method",
    max_size=lambda k: 2 * k - 1,
)
def sorted_sum(points: np.ndarray, k: int, *, descending: bool = False) -> np.ndarray:
    """Group records that follow each other in the order of their sums."""
    sums = points.sum(axis=1)
    order = np.argsort(-sums if descending else sums, kind="stable")
    labels = np.empty(len(points), np.int64)
    labels[order] = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    return labels


print(f"sorted-sum   {loss(shoal.group(points, k=5, method='sorted-sum', descending=True)):7.3f} %")
