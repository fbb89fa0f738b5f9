"""μ-Approx: its invariants on any tree, and its factor against the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.methods.optimal.brute_force import brute_force
from shoal.methods.optimal.mu_approx import (
    components,
    decompose,
    forest,
    guaranteed_factor,
    largest_component,
    mu_approx,
)

from naive import optimal as naive
from strategies import points_and_k


def random_tree(rng, size):
    """Trees of all shapes: stars, paths, brooms, and what lies between."""
    kind = rng.integers(4)
    parents = [0] * size
    for v in range(1, size):
        if kind == 0:
            parents[v] = int(rng.integers(v))
        elif kind == 1:
            parents[v] = int(max(0, v - 1 - rng.integers(3)))
        elif kind == 2:
            parents[v] = int(rng.integers(min(v, 3)))
        else:
            parents[v] = v - 1 if v % max(2, size // 5) else 0
    names = rng.permutation(size)
    return np.array([-1 if v == 0 else names[parents[v]] for v in np.argsort(names)])


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_decompose_cuts_any_tree_into_parts_of_the_guaranteed_sizes(k):
    for seed in range(400):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(k, 8 * k + 1))
        (tree,) = components(random_tree(rng, size))
        parts = decompose(tree, k)
        assert sorted(v for part in parts for v in part) == list(range(size)), f"seed {seed}"
        assert all(k <= len(part) <= largest_component(k) for part in parts), f"seed {seed}"
        assert edges_can_be_shared_out(tree, parts), f"seed {seed}"


@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize("branches", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("shorter", [0, 1])
def test_decompose_cuts_brooms_of_branches_just_below_k(k, branches, shorter):
    """Branches of k-1 (the last one k-2) around one vertex: greedy cuts leave three of them that cannot be cut."""
    edges, v = [-1], 1
    for branch in range(branches):
        length = k - 1 - (shorter if branch == branches - 1 else 0)
        for step in range(length):
            edges.append(0 if step == 0 else v - 1)
            v += 1
    (tree,) = components(np.array(edges))
    parts = decompose(tree, k)
    assert sorted(v for part in parts for v in part) == list(range(v))
    assert all(k <= len(part) <= largest_component(k) for part in parts)
    assert edges_can_be_shared_out(tree, parts)


def edges_can_be_shared_out(tree, parts):
    """Whether each part is connected by edges of its own and at most one vertex of another part."""
    owner = {v: number for number, part in enumerate(parts) for v in part}
    taken = set()
    for number, part in enumerate(parts):
        for steiner in [None, *(u for u in tree if owner[u] != number)]:
            allowed = {*part} | ({steiner} if steiner is not None else set())
            edges = {frozenset((u, v)) for u in allowed for v in tree[u] if v in allowed}
            if len(edges) == len(allowed) - 1:  # a subset of a tree is connected exactly then
                break
        else:
            return False
        if taken & edges:
            return False
        taken |= edges
    return True


@given(case=points_and_k(max_n=80))
@settings(max_examples=60)
def test_forest_has_components_of_k_and_edges_to_near_neighbours_only(case):
    points, k = case
    edges = forest(points, k)
    trees = components(edges)
    assert sorted(v for tree in trees for v in tree) == list(range(len(points)))
    for tree in trees:
        assert len(tree) >= k
        assert sum(map(len, tree.values())) == 2 * (len(tree) - 1)
        assert sum(edges[v] < 0 for v in tree) == 1
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    for u, v in enumerate(edges):
        if v >= 0:
            others = np.sort(np.delete(squares[u], u))
            assert squares[u, v] <= others[k - 2] * (1 + 1e-9)


@pytest.mark.parametrize("block", range(4))
def test_cost_stays_within_the_factor_of_the_optimum(block):
    for seed in range(250 * block, 250 * (block + 1)):
        points, k = naive.small_instance(seed)
        best = naive.grouping_cost(points, brute_force(points, k).labels)
        assert naive.grouping_cost(points, mu_approx(points, k).labels) <= guaranteed_factor(k) * best, f"seed {seed}"


@given(seed=st.integers(0, 10_000), k=st.integers(2, 5))
@settings(max_examples=40)
def test_factor_holds_where_the_optimum_has_several_groups(seed, k):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(2 * k, 15)), 2)) + 20 * rng.integers(0, 3, size=(1, 2))
    labels = mu_approx(points, k).labels
    best = naive.grouping_cost(points, brute_force(points, k).labels)
    assert best <= naive.grouping_cost(points, labels) * (1 + 10**-9)
    assert naive.grouping_cost(points, labels) <= guaranteed_factor(k) * best


def test_the_loss_is_far_below_the_factor_and_that_of_random_groups_is_not():
    """The factor is so large that hardly any grouping exceeds it; this band is one that random groups leave."""
    ours, random = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 5))
        n = int(rng.integers(2 * k, 13))
        points = rng.normal(size=(n, 2)) + 20 * rng.integers(0, 3, size=(n, 1))
        best = naive.grouping_cost(points, brute_force(points, k).labels)
        ours.append(float(naive.grouping_cost(points, mu_approx(points, k).labels) / best))
        random.append(float(naive.grouping_cost(points, rng.permutation(np.arange(n) % (n // k))) / best))
    assert max(ours) < 5
    assert np.mean(ours) < 1.2
    assert np.mean(random) > 20


def test_the_factor_is_reported_and_is_the_published_one():
    assert mu_approx(np.arange(12.0)[:, None], 3).diagnostics == {"factor": 250}
    assert guaranteed_factor(5) == 1800
