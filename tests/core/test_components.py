"""Connected components of two groupings, against a graph library."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shoal.core.components import joint_components
from shoal.core.grouping import ordered_labels


def reference(first, second):
    """The components that scipy finds."""
    groups = first.max() + 1, second.max() + 1
    links = coo_array((np.ones(first.size), (first, groups[0] + second)), shape=(sum(groups),) * 2)
    return connected_components(links, directed=False)[1]


def same_parts(one, other):
    return np.array_equal(ordered_labels(one), ordered_labels(other))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60))
def test_components_are_those_of_a_graph_library(pairs):
    first, second = (ordered_labels(np.array(labels)) for labels in zip(*pairs, strict=True))
    assert same_parts(np.concatenate(joint_components(first, second)), reference(first, second))


def test_a_long_chain_in_any_order_is_one_component():
    n = 20_001
    order = np.random.default_rng(0).permutation(n // 2 + 1)
    first, second = order[np.arange(n) // 2], order[(np.arange(n) + 1) // 2]
    assert set(np.concatenate(joint_components(first, second))) == {0}
    apart = np.arange(7)
    assert joint_components(apart, apart)[0].tolist() == apart.tolist()
