"""Cuts and bounds of blocks, against enumeration."""

from itertools import combinations

import numpy as np
import pytest

from shoal.core.deadline import Deadline
from shoal.core.grouping import ordered_labels
from shoal.methods.kernels.centroids import group_costs
from shoal.methods.optimal import block_bound as blocks
from shoal.methods.optimal.block_bound import block_bound
from shoal.methods.optimal.neighbour_bound import instant_bound, neighbour_dual_values
from shoal.methods.optimal.set_partition import set_partition
from shoal.methods.optimal.sse_pricing import column_costs
from shoal.methods.programs.grouping_cuts import violated
from shoal.methods.programs.restricted_master import Master
from shoal.methods.refinement.split import split_large
from shoal.methods.refinement.sse_annealing import cells_of_groups
from shoal.methods.running import run

from naive.optimal import small_instance, small_optimum


def all_columns(n, k):
    groups = [group for m in range(k, min(2 * k, n + 1)) for group in combinations(range(n), m)]
    columns = np.full((len(groups), 2 * k - 1), -1, np.int32)
    for line, group in zip(columns, groups, strict=True):
        line[: len(group)] = group
    return columns


def holds(column, records):
    return np.isin(column[column >= 0], records).sum()


@pytest.mark.parametrize("seed", range(60))
def test_cuts_are_violated_by_the_fraction_and_by_no_grouping(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    n = int(rng.integers(2 * k, 11))
    points = rng.normal(size=(n, 2))
    columns = all_columns(n, k)
    master = Master(np.ones(n, np.int64))
    master.add(columns, column_costs(points, columns) * rng.uniform(0.5, 1.5, len(columns)))
    master.solve()
    shares = master.shares()
    for cut in violated(n, k, columns, shares):
        times = np.array([holds(column, cut.records) // cut.divisor for column in columns])
        allowed = len(cut.records) // cut.divisor
        assert shares @ times - allowed == pytest.approx(cut.violation, abs=1e-6)
        assert cut.violation > 0.0
        for _ in range(20):
            order = rng.permutation(n)
            sizes = [k] * (n // k)
            for _ in range(n % k):
                sizes[rng.integers(len(sizes))] += 1
            groups = np.split(order, np.cumsum(sizes)[:-1])
            assert sum(np.isin(group, cut.records).sum() // cut.divisor for group in groups) <= allowed


def test_each_kind_of_cut_is_found():
    five = np.array([list(group) for group in combinations(range(5), 3)], np.int32)
    kinds = violated(5, 3, five, np.full(10, 1 / 6))
    assert any(cut.divisor == 3 and len(cut.records) == 5 and cut.violation == pytest.approx(2 / 3) for cut in kinds)
    ring = np.array([[i, (i + 1) % 5, 5 + i] for i in range(5)], np.int32)
    kinds = violated(10, 3, ring, np.full(5, 0.5))
    assert any(cut.divisor == 2 and cut.records == (0, 1, 2, 3, 4) for cut in kinds)
    triple = np.array([[0, 1, 3], [1, 2, 4], [0, 2, 5]], np.int32)
    assert violated(6, 3, triple, np.full(3, 0.5))[0].records == (0, 1, 2)
    eight = np.array([[i, (i + 1) % 8, (i + 2) % 8] for i in range(8)], np.int32)
    assert any(len(cut.records) == 8 and cut.divisor == 3 for cut in violated(8, 3, eight, np.full(8, 1 / 3)))
    assert violated(6, 3, triple, np.array([1.0, 0.0, 0.0])) == []


@pytest.mark.parametrize("seed", range(40))
def test_no_group_costs_less_than_the_dual_values_of_its_records(seed):
    points, k = small_instance(seed)
    dual_values = neighbour_dual_values(points, k)
    columns = all_columns(len(points), k)
    scale = 1 + np.abs(points - points.mean(axis=0)).max() ** 2
    assert (column_costs(points, columns) - np.append(dual_values, 0.0)[columns].sum(axis=1) >= -1e-9 * scale).all()
    assert dual_values.sum() <= float(small_optimum(seed)) * (1 + 1e-9) + 1e-9 * scale
    assert (
        dual_values.sum() == pytest.approx(instant_bound(points, k), abs=1e-6 * scale)
        or instant_bound(points, k) == 0.0
    )


@pytest.mark.parametrize("seed", range(80))
def test_the_bound_of_blocks_is_below_the_optimum(seed, monkeypatch):
    monkeypatch.setattr(blocks, "CELL_RECORDS", 4)
    monkeypatch.setattr(blocks, "NEIGHBOURS", 1 + seed % 2)
    points, k = small_instance(seed)
    points = points - points.mean(axis=0)
    labels = split_large(points, ordered_labels(run("mdav", points, k).labels), k)
    bound = block_bound(points, labels, k)
    assert bound <= float(small_optimum(seed)) * (1 + 1e-9) + 1e-9 * (1 + np.abs(points).max() ** 2)
    assert bound >= neighbour_dual_values(points, k).sum() * (1 - 1e-6) - 1e-9


def test_the_bound_of_blocks_comes_near_the_grouping(rng, monkeypatch):
    monkeypatch.setattr(blocks, "CELL_RECORDS", 60)
    points = rng.normal(size=(400, 2))
    points -= points.mean(axis=0)
    labels = set_partition(points, 3, bound="none", steps_per_record=30.0).labels
    cost = group_costs(points, labels).sum()
    bound = block_bound(points, labels, 3)
    assert instant_bound(points, 3) < bound <= cost
    assert bound > 0.9 * cost
    short = block_bound(points, labels, 3, deadline=Deadline(1e-6))
    assert 0.9 * instant_bound(points, 3) < short <= cost


def test_a_larger_table_gets_the_bound_of_its_blocks(rng, monkeypatch):
    monkeypatch.setattr("shoal.methods.optimal.set_partition.PROGRAM_RECORDS", 200)
    points = rng.normal(size=(500, 2))
    columns = set_partition(points, 3, bound="columns", steps_per_record=5.0).objective
    assert 0.0 < columns.gap < 0.2
    instant = set_partition(points, 3, bound="instant", steps_per_record=5.0).objective
    assert columns.bound > instant.bound


def test_cells_hold_complete_groups_and_each_record_once(rng):
    points = rng.normal(size=(300, 3))
    labels = np.repeat(np.arange(100), 3)
    cells = cells_of_groups(points, labels, 0, 40)
    assert sorted(np.concatenate(cells).tolist()) == list(range(300))
    assert all(cell.size <= 40 and np.bincount(labels[cell])[np.unique(labels[cell])].min() == 3 for cell in cells)
