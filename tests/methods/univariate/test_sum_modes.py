"""Other ways to sum the costs of groups (Stamm & Schaub 2024, section 4 and Figure 5), and where they lose digits."""

from itertools import pairwise

import numpy as np
import pytest

from shoal.errors import ParameterError
from shoal.methods.univariate import sum_modes
from shoal.methods.univariate.optimal_1d import optimal_1d
from shoal.methods.univariate.own_cost import OwnCost
from shoal.methods.univariate.sum_modes import SQUARES, SUM, cuts_by_sums

from naive import univariate as naive

MODES = [
    (cost, sums)
    for cost in ("sse", "sae", "round-up", "round-down")
    for sums in ("prefix", "cheaper", "cells")
    if (cost, sums) != ("sae", "cheaper")
]


@pytest.mark.parametrize(("cost", "sums"), MODES)
def test_every_mode_finds_the_optimum_of_short_columns(cost, sums, repetitions):
    for seed in range(repetitions(200)):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 6))
        values = rng.integers(-9, 10, int(rng.integers(k, 16))).tolist()
        labels = optimal_1d(values, k, cost, sums=sums)
        assert np.bincount(labels).min() >= k
        found = naive.cost_of_labels(values, labels, naive.COSTS[cost])
        assert found == naive.cut_costs(sorted(values), naive.COSTS[cost], k)[0][0]


def ratio(n, k, sums):
    """The cost of the groups of 0, 1, ..., n-1 over that of the optimum, which has groups of two sizes."""
    sizes = np.bincount(optimal_1d(np.arange(float(n)), k, sums=sums)).astype(object)
    small, more = divmod(n, n // k)
    optimum = (n // k - more) * (small**3 - small) + more * ((small + 1) ** 3 - small - 1)
    assert min(sizes) >= k
    return (sizes**3 - sizes).sum() / optimum


@pytest.mark.parametrize(
    ("n", "k", "prefix", "cheaper"),
    [
        (100_000, 3, 1, 1),
        (1_000_001, 3, 1.5257, 1.5393),
        (1_000_001, 7, 1.0019, 1.0762),
        (2_000_003, 3, 1.7110, 1.9165),
    ],
)
def test_the_two_fast_modes_lose_digits_on_long_columns(n, k, prefix, cheaper):
    """The figures of an independent program; cells and the sums inside the groups reach the optimum."""
    assert ratio(n, k, "prefix") == pytest.approx(prefix, abs=5e-5)
    assert ratio(n, k, "cheaper") == pytest.approx(cheaper, abs=5e-5)
    assert ratio(n, k, "cells") == ratio(n, k, "inside") == 1


def test_the_first_wrong_triple_is_that_of_the_paper():
    values = np.arange(400_001.0)
    table = sum_modes._sums_of_cells(values, values.size + 1)
    wrong = [i for i in range(299_000, 399_998) if sum_modes.sse.function(values, table, 0, i, i + 3) != 2.0]
    assert (wrong[0], sum_modes.sse.function(values, table, 0, wrong[0], wrong[0] + 3)) == (300_079, 1.0)
    assert wrong == list(range(300_079, 399_998))


def excess(near, cuts):
    """The cost of groups of integers over that of the optimum, from the first cut on."""
    rest = near[cuts[0] :].tolist()
    found = sum(naive.sse(near[i:j].tolist()) for i, j in pairwise(cuts.tolist()))
    return float(found / naive.dynamic_program(rest, 2, lambda i, j: naive.sse(rest[i:j])))


def test_cells_need_totals_that_are_rebased():
    """Forty values near 0 after fifty far apart: without rebasing the totals absorb all costs of the forty."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        near = np.sort(rng.integers(0, 2**20, 40))
        values = np.concatenate([np.sort(-1e9 * (1 + rng.random(50))), near / 2**20])
        rebased, raw = (cuts_by_sums(values, 2, "sse", "cells", rebased=rebased) - 50 for rebased in (True, False))
        assert excess(near, rebased[rebased >= 6]) == 1  # some values after the last group of high cost
        assert excess(near, raw[raw >= 6]) > 1.5


@pytest.mark.parametrize("k", [2, 3, 7])
def test_groups_of_up_to_2k_less_1_values_lie_in_two_cells_at_most(k):
    """In cells of k values, as the paper has them, two cases are not enough."""
    values = np.arange(1.0, 10 * k + 1) ** 2
    wrong = {}
    for cell in (2 * k - 1, k):
        table = sum_modes._sums_of_cells(values, cell)
        for size in range(k, 2 * k):
            for i in range(values.size - size):
                for row, power in ((SUM, 1), (SQUARES, 2)):
                    found = sum_modes.stretch_over_cells.function(table, row, cell, i, i + size)
                    wrong[cell] = wrong.get(cell, 0) + (found != (values[i : i + size] ** power).sum())
    assert wrong[2 * k - 1] == 0
    assert k < 3 or wrong[k] > 0


def test_modes_are_refused_where_they_do_not_apply():
    with pytest.raises(ParameterError, match='cost="sae" has no cheaper form'):
        optimal_1d([1, 2, 3], 2, "sae", sums="cheaper")
    with pytest.raises(ParameterError, match='not for "max-distance"'):
        optimal_1d([1, 2, 3], 2, "max-distance", sums="prefix")
    with pytest.raises(ParameterError, match='sums="cell" is unknown; did you mean "cells"'):
        optimal_1d([1, 2, 3], 2, sums="cell")
    for given in (
        {"search": "simple"},
        {"max_size": 3},
        {"weights": [1, 1, 1]},
        {"max_groups": 1},
        {"group_cost": 1.0},
    ):
        with pytest.raises(ParameterError, match="can be combined with k and cost only"):
            optimal_1d([1, 2, 3], 2, sums="prefix", **given)
    with pytest.raises(ParameterError, match="a cost of your own"):
        optimal_1d([1.0, 2.0, 3.0], 2, OwnCost(np.ptp, name="range"), sums="prefix")
