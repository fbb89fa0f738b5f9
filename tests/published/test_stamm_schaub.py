"""Values that go with "Faster Optimal Univariate Microaggregation" (Stamm & Schaub, TMLR 10/2024).

The paper prints no tables; these are the optima of its costs on small and reference data, computed in exact arithmetic
and by independent programs, and the losses of its projections (section 5.2, Figure 6).
"""

from fractions import Fraction

import numpy as np
import pytest

from shoal.methods.contract import labels_of
from shoal.methods.univariate.k_means_merged import k_means_merged
from shoal.methods.univariate.leaf_cut_forest import leaf_cut_forest
from shoal.methods.univariate.nearest_neighbour_forest import nearest_neighbour_forest
from shoal.methods.univariate.optimal_1d import optimal_1d
from shoal.methods.univariate.projection import grouped_sse, projection

import reference
from naive import univariate as naive

COSTS = ["sse", "sae", "max-distance", "round-up", "round-down"]
TWELVE = [1, 2, 4, 7, 11, 12, 13, 20, 21, 30, 30, 31]


@pytest.mark.parametrize(
    ("k", "optima"),
    [
        (2, [Fraction(49, 6), 8, 4, 10, 9]),
        (3, [Fraction(172, 3), 17, Fraction(17, 2), 22, 29]),
        (4, [137, 28, Fraction(23, 2), 50, 50]),
        (5, [Fraction(9242, 35), 49, Fraction(23, 2), 64, 75]),
    ],
)
def test_twelve_values(k, optima):
    for cost, optimum in zip(COSTS, optima, strict=True):
        labels = optimal_1d(TWELVE, k, cost)
        assert Fraction(naive.cost_of_labels(TWELVE, labels, naive.COSTS[cost]), naive.COMMON_MULTIPLE) == optimum


@pytest.mark.parametrize(
    ("k", "cost", "sizes"),
    [
        (2, "sse", [2, 2, 3, 2, 3]),
        (3, "sse", [3, 3, 3, 3]),
        (4, "sae", [4, 4, 4]),
        (4, "max-distance", [7, 5]),
        (5, "round-up", [7, 5]),
    ],
)
def test_sizes_for_twelve_values(k, cost, sizes):
    assert np.bincount(optimal_1d(TWELVE, k, cost)).tolist() == sizes


def exact_cost(values, labels, cost):
    """The cost in integers, as a Fraction, for groups of any size."""
    total = Fraction(0)
    for g in range(labels.max() + 1):
        group = sorted(values[labels == g].tolist())
        if cost == "sse":
            total += sum(x * x for x in group) - Fraction(sum(group) ** 2, len(group))
        else:
            total += Fraction(naive.COSTS[cost](group), naive.COMMON_MULTIPLE)
    return total


COLUMNS = [
    ("census", "AGI", 2, [1895648, 31476, 15738, 34505, 34674]),
    ("census", "AGI", 3, [5442165.3, 50742, 22645.5, 73617, 73191]),
    ("census", "AGI", 5, [17492778.1758, 98022, 29425, 154794, 158628]),
    ("census", "AGI", 10, [73331576.6511, 217542, 36330.5, 374153, 371720]),
    ("census", "AGI", 50, [1894097087.3014, 1180581, 43707, 2232213, 2256077]),
    ("census", "AFNLWGT", 3, [14464579257, 434772, 203635.5, 709700, 564504]),
    ("census", "AFNLWGT", 10, [30128636172.0384, 1407462, 286042, 3533093, 2343823]),
    ("tarragona", "SALES", 3, [21359950567662.70, 11428486, 5372839.5, 15967487, 17641297]),
    ("tarragona", "SALES", 10, [93255305948119.95, 34805751, 6909375.5, 93684817, 46346629]),
]


@pytest.mark.parametrize(("name", "column", "k", "optima"), COLUMNS)
def test_columns_of_reference_data(name, column, k, optima):
    values = np.array([int(row[column]) for row in reference.rows(f"{name}.csv")])
    for cost, optimum in zip(COSTS, optima, strict=True):
        for search in ("auto", "staggered", "wilber") if cost == "sse" else ("auto",):
            found = float(exact_cost(values, optimal_1d(values, k, cost, search=search), cost))
            assert found == pytest.approx(optimum, rel=1e-9 if cost == "sse" else 1e-15)


def distinct(name, columns=None):
    """A reference table without repeated records, standardised, as in the paper's experiments."""
    raw = np.unique(np.loadtxt(reference.path(f"{name}.csv"), delimiter=",", skiprows=1, usecols=columns), axis=0)
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


def loss_of(method, points, k, **options):
    """The SSE of the groups of a method."""
    return grouped_sse(points, labels_of(method(points, k, **options)))


EIA = ("eia", tuple(range(1, 11)))
TARRAGONA = ("tarragona", None)


@pytest.mark.parametrize(
    ("data", "losses"),
    [
        (EIA, {2: 5097, 3: 6141, 5: 7300, 10: 8123, 20: 8586, 30: 8780, 50: 9009}),
        (TARRAGONA, {2: 2004, 3: 2699, 5: 3447, 10: 4049, 20: 4863, 30: 5377, 50: 6260}),
    ],
    ids=["eia", "tarragona"],
)
def test_projection_on_the_principal_axis(data, losses):
    points = distinct(*data)
    for k, loss in losses.items():
        assert loss_of(projection, points, k) == pytest.approx(loss, abs=0.5)


@pytest.mark.parametrize(
    ("data", "k", "mean", "sd"),
    [(EIA, 3, 5424, 128), (EIA, 10, 7402, 178), (TARRAGONA, 3, 2658, 61), (TARRAGONA, 10, 4037, 17)],
)
def test_best_of_fifty_random_directions(data, k, mean, sd):
    points = distinct(*data)
    losses = [loss_of(projection, points, k, axis="random", directions=50, seed=s) for s in range(4)]
    assert np.mean(losses) == pytest.approx(mean, abs=3 * sd)


@pytest.mark.parametrize(
    ("data", "k", "factor", "loss"),
    [(EIA, 2, 1.0, 105), (EIA, 5, 1.0, 545), (TARRAGONA, 3, 1.0, 2000), (TARRAGONA, 5, 2.0, 3350)],
)
def test_k_means_with_merging(data, k, factor, loss):
    points = distinct(*data)
    losses = [loss_of(k_means_merged, points, k, factor=factor, seed=s) for s in range(3)]
    assert np.mean(losses) <= 1.15 * loss


FOREST = [  # means of runs with random trees by an independent program, with their standard deviations
    *[
        (EIA, *row)
        for row in [(2, 103, 3), (3, 223, 2), (5, 522, 38), (10, 1261, 85), (20, 5393, 346), (30, 8063, 1463)]
    ],
    (EIA, 50, 12367, 604),
    *[(TARRAGONA, *row) for row in [(2, 1284, 32), (3, 2150, 145), (5, 3889, 314), (10, 5878, 383), (20, 7622, 379)]],
    (TARRAGONA, 30, 8540, 744),
    (TARRAGONA, 50, 9683, 270),
]


def mean_loss(method, points, k, seeds=10):
    return np.mean([loss_of(method, points, k, seed=seed) for seed in range(seeds)])


@pytest.mark.parametrize(("data", "k", "loss", "sd"), FOREST, ids=[f"{data[0]}-{k}" for data, k, *_ in FOREST])
def test_forest_of_nearest_neighbours(data, k, loss, sd):
    """The band of 10 % is two to three standard errors of the means of five and of ten random runs."""
    assert mean_loss(nearest_neighbour_forest, distinct(*data), k) == pytest.approx(loss, rel=0.101)


@pytest.mark.parametrize(("data", "k", "loss"), [(EIA, 5, 522), (EIA, 50, 12367), (TARRAGONA, 10, 5878)])
def test_trees_cut_from_their_leaves_are_another_method(data, k, loss):
    """It loses at least a fifth less than the cited decomposition, so the band above tells the two apart."""
    assert mean_loss(leaf_cut_forest, distinct(*data), k, 3) < 0.8 * loss


def test_statements_of_the_paper_about_its_figure_6():
    """EIA: k-means far ahead of projections for small k; Tarragona: projections ahead from k = 20 on."""
    eia, tarragona = distinct(*EIA), distinct(*TARRAGONA)
    assert loss_of(k_means_merged, eia, 5) < 0.2 * loss_of(projection, eia, 5)
    for other in (k_means_merged, nearest_neighbour_forest):
        assert loss_of(projection, tarragona, 20) < loss_of(other, tarragona, 20)
    assert mean_loss(nearest_neighbour_forest, eia, 5, 5) < 1.1 * mean_loss(k_means_merged, eia, 5, 5), (
        "on par below 10"
    )
    assert mean_loss(nearest_neighbour_forest, eia, 50, 5) > 1.3 * loss_of(projection, eia, 50), "worse for large k"


def test_orders_of_the_paper_that_do_not_hold_here():
    """At k = 30 on EIA the forest is said to be worse than the projections: it is so for the best of 100 random axes,
    and within the noise of the runs for the principal axis (8,653 with a standard deviation of 960 against 8,780)."""
    eia = distinct(*EIA)
    forest = mean_loss(nearest_neighbour_forest, eia, 30)
    assert loss_of(projection, eia, 30, axis="random", directions=100) < forest < loss_of(projection, eia, 30)
