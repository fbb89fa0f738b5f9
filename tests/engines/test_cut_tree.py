import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engines.cut_tree import TreeBuilder, axis_cut, category_cut
from shoal.engines.row_hashes import in_sample

from naive import cut_tree as naive


@st.composite
def tables(draw):
    """Numbers with ties, duplicates and constant columns, codes of categories with missing ones, and a sample."""
    n = draw(st.integers(4, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = []
    for _ in range(draw(st.integers(1, 4))):
        shape = draw(st.sampled_from(["normal", "ties", "constant", "mostly one", "codes"]))
        column = {
            "normal": rng.normal(size=n),
            "ties": rng.integers(0, 3, n).astype(float),
            "constant": np.full(n, 7.0),
            "mostly one": np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n)),
            "codes": rng.integers(-1, 4, n).astype(float),
        }[shape]
        columns.append((column, shape == "codes"))
    values = np.column_stack([column for column, _ in columns])
    return values, np.array([nominal for _, nominal in columns]), rng


def leaves(values, nominal, sample, k, parts, owners=None, rotated=False):
    builder = TreeBuilder(values[sample], nominal, k, None if owners is None else owners[sample], rotated=rotated)
    root = builder.root(np.arange(sample.size), parts)
    tree = builder.tree()
    return tree, root, tree.route(values, np.full(len(values), root))


@given(tables(), st.integers(1, 5), st.integers(1, 30), st.booleans())
def test_no_leaf_has_fewer_than_k_rows(table, k, parts, rotated):
    values, nominal, rng = table
    sample = np.flatnonzero(rng.random(len(values)) < 0.5)
    if sample.size < k:
        return
    tree, root, found = leaves(values, nominal, sample, k, parts, rotated=rotated)
    assert np.bincount(found, minlength=tree.leaves).min() >= k
    assert found.tolist() == [naive.route(tree, row, root) for row in values]


@given(tables(), st.integers(1, 4), st.integers(1, 20))
def test_no_leaf_has_fewer_than_k_persons(table, k, parts):
    values, nominal, rng = table
    owners = rng.integers(0, max(2, len(values) // 3), len(values))
    sample = np.flatnonzero(rng.random(len(values)) < 0.7)
    if np.unique(owners[sample]).size < k:
        return
    _, _, found = leaves(values, nominal, sample, k, parts, owners)
    assert min(np.unique(owners[found == leaf]).size for leaf in np.unique(found)) >= k


def test_rows_counted_for_persons_are_too_few():
    """The wrong version: k rows on each side, where k persons are asked for."""
    values = np.array([[0.0]] * 6 + [[1.0], [2.0], [3.0], [4.0]])
    owners = np.array([0] * 6 + [1, 2, 3, 4])
    everything = np.arange(10)
    _, _, by_rows = leaves(values, np.array([False]), everything, 3, 2)
    assert min(np.unique(owners[by_rows == leaf]).size for leaf in (0, 1)) < 3
    _, _, by_persons = leaves(values, np.array([False]), everything, 3, 2, owners)
    assert np.unique(by_persons).size == 1


@pytest.mark.parametrize("wrong", ["quantiles of a sketch", "a sample of other rows"])
def test_other_thresholds_give_no_guarantee(wrong):
    """Thresholds that are no values of rows of this table, or of a sample that is not part of it, leave too few."""
    rng = np.random.default_rng(5)
    values = np.where(rng.random(2_000) < 0.999, 0.0, 1.0)[:, None]
    k, sizes = 5, []
    if wrong == "a sample of other rows":
        other = np.concatenate([np.zeros(20), np.ones(20)])[:, None]
        builder = TreeBuilder(other, np.array([False]), k)
        root = builder.root(np.arange(40), 2)
        sizes = np.bincount(builder.tree().route(values, np.full(len(values), root)), minlength=2)
    else:
        threshold = 0.5  # a sketch that interpolates between the two values
        sizes = np.array([(values <= threshold).sum(), (values > threshold).sum()])
    assert 0 < sizes.min() < k
    rows = np.flatnonzero(in_sample(np.arange(2_000), 0.5))
    _, _, found = leaves(values, np.array([False]), rows, k, 2)
    assert np.bincount(found).min() >= k


@given(st.lists(st.integers(0, 6).map(float), min_size=2, max_size=40), st.integers(1, 5), st.sampled_from([0.5, 0.3]))
def test_cuts_of_numbers_are_those_of_the_obvious_version(values, least, share):
    threshold, gain = axis_cut(np.array(values), share, least)
    expected = naive.axis_cut(values, share, least)
    assert threshold == expected[0]
    assert gain == pytest.approx(expected[1])


@given(st.lists(st.integers(-1, 4), min_size=2, max_size=40), st.integers(1, 5))
def test_cuts_of_categories_are_those_of_the_obvious_version(codes, least):
    category, gain = category_cut(np.array(codes), least)
    expected = naive.category_cut(codes, least)
    assert gain == pytest.approx(expected[1])
    assert category == expected[0]
