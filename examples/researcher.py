"""For the researcher: compare methods on arrays, measure the gap to the optimum, and add a method of one's own.

Run the cells one by one, or everything with ``python examples/researcher.py``.
"""

# %% Clustered data, as in Thaeter 2021
import numpy as np

import shoal
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.registry import method

points = shoal.datasets.simc(seed=1)[:400]
points = np.ascontiguousarray((points - points.mean(axis=0)) / points.std(axis=0))


def loss(labels: np.ndarray) -> float:
    """Return the information loss in per cent."""
    return 100 * total_cost(points, labels) / points.size


# %% Several methods, one line each
for name in ["mdav", "v-mdav", "mdav-star", "ona-star", "mondrian-v", "projection"]:
    print(f"{name:12} {loss(shoal.group(points, k=5, method=name)):7.3f} %")

# %% Any grouping can be refined; the loss never rises
rough = shoal.group(points, k=5, method="mondrian-v")
better = shoal.refine(points, rough, k=5)
print(f"refined      {loss(better):7.3f} %")
assert loss(better) <= loss(rough)

# %% One column has an optimum, found in the time of a sort
labels = shoal.optimal_1d(points[:, 0], k=5)
print("groups of one column:", labels.max() + 1)


# %% A method of one's own: a function with its facts; the command line, ``compare`` and the tests then find it by name
@method(
    "sorted-sum",
    title="Groups of k along the sum of all columns",
    cost="n log n",
    guarantee="k records a group, the last one up to 2k-1",
    reference="this example",
    when="never; it shows how a method is added",
    max_size=lambda k: 2 * k - 1,
)
def sorted_sum(points: np.ndarray, k: int, *, progress: object = None) -> np.ndarray:
    """Group records that follow each other in the order of their sums."""
    order = np.argsort(points.sum(axis=1), kind="stable")
    labels = np.empty(len(points), np.int64)
    labels[order] = np.minimum(np.arange(len(points)) // k, len(points) // k - 1)
    return labels


print(f"sorted-sum   {loss(shoal.group(points, k=5, method='sorted-sum')):7.3f} %")
