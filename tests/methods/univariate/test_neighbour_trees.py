"""Trees of near neighbours and their decomposition: structure, for random and degenerate tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.methods.univariate.nearest_neighbour_forest import decompose_at_pivots
from shoal.methods.univariate.neighbour_trees import neighbour_trees, split_far_records

from strategies import points_and_k


def random_tree(size, rng):
    """Every record is joined with a random earlier one."""
    tree = {0: []}
    for record in range(1, size):
        other = int(rng.integers(record))
        tree[record] = [other]
        tree[other].append(record)
    return tree


@given(case=points_and_k(max_n=60), seed=st.integers(0, 100), nearest=st.booleans())
@settings(max_examples=40)
def test_components_are_trees_of_k_records_with_near_edges(case, seed, nearest):
    points, k = case
    trees = neighbour_trees(points, k, np.random.default_rng(seed), nearest=nearest)
    assert sorted(record for tree in trees for record in tree) == list(range(len(points)))
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    for tree in trees:
        assert len(tree) >= k
        assert sum(map(len, tree.values())) == 2 * (len(tree) - 1)
        for record, others in tree.items():
            for other in others:
                limits = [np.sort(np.delete(squares[end], end))[min(k, len(points) - 1) - 1] for end in (record, other)]
                assert squares[record, other] <= max(limits) * (1 + 1e-9)


@given(size=st.integers(2, 120), k=st.integers(2, 6), seed=st.integers(0, 1000))
def test_every_part_of_a_tree_has_k_records(size, k, seed):
    rng = np.random.default_rng(seed)
    size = max(size, k)
    parts = decompose_at_pivots(random_tree(size, rng), k, rng)
    assert sorted(record for part in parts for record in part) == list(range(size))
    assert min(map(len, parts)) >= k


@pytest.mark.parametrize("k", [2, 3, 7])
def test_a_path_is_cut_into_small_parts(k):
    path = {i: [j for j in (i - 1, i + 1) if 0 <= j < 100] for i in range(100)}
    parts = decompose_at_pivots(path, k, np.random.default_rng(0))
    assert max(map(len, parts)) <= max(2 * k - 1, 3 * k - 5)


def test_large_groups_are_split_at_far_records(rng):
    parts = split_far_records(rng.normal(size=(50, 2)), np.arange(50), 4)
    assert sorted(np.concatenate(parts).tolist()) == list(range(50))
    assert all(4 <= part.size <= 7 for part in parts)
