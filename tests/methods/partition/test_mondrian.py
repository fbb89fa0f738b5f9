import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.grouping import Grouping, canonical_labels
from shoal.core.threads import set_threads
from shoal.errors import ParameterError
from shoal.methods.kernels import cut_blocks as module
from shoal.methods.kernels.cut_blocks import Cutting, cut_into_blocks
from shoal.methods.partition.mondrian import mondrian, mondrian_v, mondrian_v2d
from shoal.methods.running import run

from naive import partition as naive
from strategies import points_and_k

RULES = {"range": mondrian, "variance": mondrian_v, "pairs": mondrian_v2d}


@given(points_and_k(), st.sampled_from(sorted(RULES)), st.sampled_from(["2k", "2k-1"]))
def test_labels_equal_those_of_full_stable_sorts(case, rule, whole):
    points, k = case
    expected = naive.labels_of(naive.parts(points, 2 * k if whole == "2k" else 2 * k - 1, rule), len(points))
    np.testing.assert_array_equal(RULES[rule](points, k, whole=whole), expected)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_large_parts_are_cut_like_small_ones(rule, rng, monkeypatch):
    points = rng.integers(0, 6, size=(3000, 4)).astype(float)  # ties everywhere
    expected = naive.labels_of(naive.parts(points, 10, rule), len(points))
    for copied in (50, 700, 1 << 15):
        monkeypatch.setattr(module, "COPIED_RECORDS", copied)
        np.testing.assert_array_equal(cut_into_blocks(points, 10, Cutting(rule)).labels, expected)


@given(points_and_k(), st.sampled_from(sorted(RULES)))
def test_blocks_can_inherit_the_order_of_stable_sorts(case, rule):
    points, k = case
    found = [block.tolist() for block in cut_into_blocks(points, 2 * k, Cutting(rule, inherit=True))]
    assert found == naive.parts(points, 2 * k, rule)


def test_the_number_of_threads_changes_nothing(rng, monkeypatch):
    monkeypatch.setattr(module, "COPIED_RECORDS", 100)
    points = rng.integers(0, 9, size=(2000, 5)).astype(float)
    found = []
    for threads in (1, 2, 5):
        set_threads(threads)
        found.append(mondrian_v2d(points, 3))
    set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@given(points_and_k(), st.sampled_from(sorted(RULES)))
def test_sizes_lie_between_k_and_2k(case, rule):
    points, k = case
    Grouping(RULES[rule](points, k), k, max_size=2 * k)
    if len(points) >= 2 * k:
        Grouping(RULES[rule](points, k, whole="2k-1"), k, max_size=2 * k - 1)


@given(points_and_k(max_d=1))
def test_with_one_attribute_all_directions_are_the_same(case):
    points, k = case
    np.testing.assert_array_equal(mondrian(points, k), mondrian_v(points, k))
    np.testing.assert_array_equal(mondrian(points, k), mondrian_v2d(points, k))


@given(points_and_k(max_d=4))
def test_a_cut_separates_low_from_high(case):
    points, _ = case
    if len(points) < 2:
        return
    half = (len(points) + 1) // 2
    low, high = cut_into_blocks(points, half, Cutting("variance", first=0))
    assert low.size == len(points) // 2
    assert points[low, 0].max() <= points[high, 0].min()


def test_pairs_cut_across_the_direction_of_largest_variance(rng):
    """Sums and differences of two attributes are compared with single attributes by the variance of unit vectors."""
    for _ in range(20):
        points = rng.normal(size=(40, 5)) @ rng.normal(size=(5, 5))
        units = [vector * scale for vector, scale in naive.directions(points, "pairs")]
        widest = max(units, key=lambda unit: np.var(points @ unit))
        low, high = (points[block] @ widest for block in cut_into_blocks(points, 20, Cutting("pairs")))
        assert low.max() <= high.min() or high.max() <= low.min()


def test_a_shuffled_table_has_the_same_groups(rng):
    points = rng.normal(size=(500, 4))
    shuffled = rng.permutation(500)
    for method in RULES.values():
        np.testing.assert_array_equal(
            canonical_labels(method(points, 4)[shuffled]), canonical_labels(method(points[shuffled], 4))
        )


def test_the_first_cut_can_be_chosen(rng):
    points = rng.normal(size=(40, 3))
    low = set(np.argsort(points[:, 2])[:20])
    assert set(next(iter(cut_into_blocks(points, 20, Cutting("variance", first=2))))) == low


def test_a_tie_at_the_root_goes_to_the_first_attribute(rng):
    points = rng.normal(size=(40, 3))
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    assert set(next(iter(cut_into_blocks(points, 20)))) == set(np.argsort(points[:, 0])[:20])


def test_float32_is_cut_as_it_is(rng):
    points = rng.normal(size=(400, 3)).astype(np.float32)
    np.testing.assert_array_equal(
        cut_into_blocks(points, 9).labels, cut_into_blocks(points.astype(np.float64), 9).labels
    )


def test_input_is_not_changed(rng):
    points = rng.normal(size=(100, 3))
    before = points.copy()
    mondrian_v2d(points, 3)
    np.testing.assert_array_equal(points, before)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"first": 3}, "first=3 is not an attribute"),
        ({"first": -1}, "first=-1 is not possible"),
        ({"whole": "3k"}, 'whole="3k" is not possible'),
        ({"pair_scale": 0.0}, "pair_scale=0.0 is not possible"),
    ],
)
def test_impossible_options_raise_an_error_that_names_them(options, text, rng):
    with pytest.raises(ParameterError, match=text):
        run("mondrian-v2d", rng.normal(size=(20, 3)), 2, **options)


@pytest.mark.parametrize("ties", [False, True])
def test_a_release_of_ranges_is_made_of_boxes_that_do_not_overlap(ties, rng):
    points = rng.integers(-9, 9, size=(300, 3)).astype(float) if ties else rng.normal(size=(300, 3))
    people = pl.DataFrame({name: points[:, j] for j, name in enumerate("abc")})
    release = shoal.protect(people, 5, quasi=["a", "b", "c"], method="mondrian", recode="range")
    assert release.k >= 5
    texts = [[text if " to " in text else f"{text} to {text}" for text in row] for row in release.data.rows()]
    ranges = np.array([[[float(end) for end in text.split(" to ")] for text in row] for row in texts])
    labels = release.grouping.labels
    boxes = []
    for g in range(labels.max() + 1):
        inside = points[labels == g]
        boxes.append(np.column_stack([inside.min(axis=0), inside.max(axis=0)]))
        expected = np.broadcast_to(boxes[g], (len(inside), 3, 2))
        np.testing.assert_allclose(ranges[labels == g], expected, rtol=1e-12)
    for number, box in enumerate(boxes):
        for other in boxes[:number]:
            gaps = np.maximum(box[:, 0] - other[:, 1], other[:, 0] - box[:, 1])
            assert gaps.max() >= 0 if ties else gaps.max() > 0  # equal values may lie on both sides of a cut


def test_mixed_columns_can_be_cut_and_released_as_ranges(rng):
    people = pl.DataFrame({"age": rng.integers(18, 90, 200), "sex": rng.choice(["f", "m"], 200)})
    recode = {"age": "range", "sex": "mode"}
    release = shoal.protect(people, 5, quasi=["age", "sex"], method="mondrian", recode=recode)
    assert release.k >= 5
