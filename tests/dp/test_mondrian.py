"""The private Mondrian and insensitive microaggregation with noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import dp
from shoal.dp.insensitive_mechanism import group_sums
from shoal.dp.mondrian_release import position_sums
from shoal.dp.private_mondrian import MondrianBoxes, mondrian_boxes
from shoal.errors import DataError, ParameterError

SHAPE = (64, 1024)


def points(n, seed=0):
    return np.random.default_rng(seed).integers(0, SHAPE, (n, 2))


@pytest.mark.parametrize("split_criterion", ["side", "deviation", "mad"])
@pytest.mark.parametrize("means", [True, False])
def test_the_losses_add_up_to_at_most_the_budget(split_criterion, means):
    made = dp.mondrian(points(800), SHAPE, k=50, epsilon=1.7, split_criterion=split_criterion, means=means)
    assert made.guarantee == dp.Guarantee(1.7)
    assert made.accountant.spent_epsilon <= 1.7
    lines = made.accountant.spends
    assert lines[0].query == "number of records, for the depth"
    assert sum(line.query.startswith("level") for line in lines) % (2 if split_criterion == "side" else 3) in {0, 1}
    assert lines[-1].query == ("mean of each part" if means else "count of each part")


def test_a_complete_tree_spends_the_entire_budget():
    accountant = dp.Accountant(1.0)
    boxes = mondrian_boxes(points(4000), SHAPE, k=10, accountant=accountant, epsilon=1.0)
    levels = {line.query.partition(":")[0] for line in accountant.spends if line.query.startswith("level")}
    assert len(levels) == boxes.depth
    assert accountant.spent_epsilon == pytest.approx(1.0)


@pytest.mark.parametrize("split_criterion", ["side", "deviation", "mad"])
def test_parts_are_disjoint_cover_the_space_and_contain_their_records(split_criterion):
    codes = points(500)
    accountant = dp.Accountant(3.0)
    boxes = mondrian_boxes(codes, SHAPE, k=20, accountant=accountant, epsilon=3.0, split_criterion=split_criterion)
    volume = (boxes.high - boxes.low + 1).prod(axis=1).sum()
    assert volume == np.prod(SHAPE)
    assert ((codes >= boxes.low[boxes.labels]) & (codes <= boxes.high[boxes.labels])).all()


def test_the_released_tree_contains_no_records():
    made = dp.mondrian(points(500), SHAPE, k=20, epsilon=3.0)
    parts = [made.root]
    while parts:
        part = parts.pop()
        assert part.records.size == 0
        parts.extend(part.halves or ())
    assert not hasattr(made, "labels")


def test_with_little_noise_parts_have_about_k_to_2k_records():
    accountant = dp.Accountant(1e5)
    boxes = mondrian_boxes(points(4096), SHAPE, k=64, accountant=accountant, epsilon=1e5)
    sizes = np.bincount(boxes.labels)
    assert sizes.min() >= 40
    assert sizes.max() < 160
    made = dp.mondrian(points(4096), SHAPE, k=64, epsilon=1e5)
    assert made.counts.sum() == 4096


def test_noisy_means_lie_in_their_parts_and_near_the_truth():
    codes = points(5000)
    made = dp.mondrian(codes, SHAPE, k=200, epsilon=20.0)
    assert ((made.means >= made.low) & (made.means <= made.high)).all()
    for low, high, mean in zip(made.low, made.high, made.means, strict=True):
        inside = codes[((codes >= low) & (codes <= high)).all(axis=1)]
        if len(inside) > 100:
            # scale of the noise: 2 / (0.3 * 20) = 1/3 half sides over at least 100 records; 30 times that
            assert (np.abs(mean - inside.mean(axis=0)) <= 0.1 * (high - low) + 1).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 60), st.integers(1, 30), st.floats(0.1, 20), st.integers(0, 2**32))
def test_every_representative_is_released_at_least_k_times(n, k, epsilon, seed):
    made = dp.mondrian(points(n, seed), SHAPE, k=k, epsilon=epsilon)
    centres, counts = made.microaggregated(k)
    assert (counts >= k).all()
    total = int(np.maximum(made.counts, 0).sum())
    assert counts.sum() == (total if total >= k else 0)
    assert centres.shape == (len(counts), 2)
    assert ((centres >= 0) & (centres < SHAPE)).all()


def test_synthetic_records_lie_in_the_space():
    made = dp.mondrian(points(300), SHAPE, k=20, epsilon=2.0, means=False)
    drawn = made.synthetic()
    assert len(drawn) == np.maximum(made.counts, 0).sum()
    assert ((drawn >= 0) & (drawn < SHAPE)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.integers(0, 2**32))
def test_one_record_changes_the_sums_of_positions_by_at_most_their_sensitivity(n, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, SHAPE, (n + 1, 2))
    cut = int(rng.integers(0, 63))
    low, high = np.array([[0, 0], [cut + 1, 0]]), np.array([[cut, 1023], [63, 1023]])
    labels = (codes[:, 0] > cut).astype(np.int64)
    sums, sensitivity = position_sums(codes, MondrianBoxes(low, high, labels, None, 1))
    fewer, _ = position_sums(codes[1:], MondrianBoxes(low, high, labels[1:], None, 1))
    assert np.abs(sums - fewer).sum() <= sensitivity


def test_records_beyond_the_grid_count_in_its_last_cells():
    outside = np.array([[-9, 5000], [70, -1]] * 40)
    clipped = np.clip(outside, 0, np.array(SHAPE) - 1)
    assert all(
        (one == other).all()
        for one, other in zip(group_sums(outside, SHAPE, 5)[:2], group_sums(clipped, SHAPE, 5)[:2], strict=True)
    )
    made = dp.mondrian(outside, SHAPE, k=5, epsilon=1e5)
    inside = ((clipped[:, None] >= made.low) & (clipped[:, None] <= made.high)).all(axis=2)
    assert made.counts.tolist() == inside.sum(axis=0).tolist()
    assert ((made.means >= made.low) & (made.means <= made.high)).all()


def test_constant_columns_and_single_cells_stop_the_splits():
    made = dp.mondrian(np.zeros((100, 1), np.int64), (1,), k=5, epsilon=5.0)
    assert len(made.low) == 1
    made = dp.mondrian(np.full((200, 2), 7), (16, 16), k=5, epsilon=5.0)
    assert (made.high - made.low + 1).prod(axis=1).sum() == 256


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"k": 0}, ParameterError, "k=0"),
        ({"k": 2.5}, ParameterError, "integer"),
        ({"epsilon": 0}, ParameterError, "epsilon=0"),
        ({"split_criterion": "widest"}, ParameterError, "choose deviation, mad or side"),
        ({"shape": (64,)}, DataError, "d numbers of cells"),
        ({"shape": (64, 2**41)}, ParameterError, "at most"),
    ],
)
def test_wrong_input_raises_an_error(change, error, text):
    given_ = {"codes": points(50), "shape": SHAPE, "k": 5, "epsilon": 1.0} | change
    codes, shape = given_.pop("codes"), given_.pop("shape")
    with pytest.raises(error, match=text):
        dp.mondrian(codes, shape, **given_)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(1, 3),
    st.sampled_from(["z-curve", "sum", "lexicographic"]),
    st.integers(0, 2**32),
)
def test_replacing_one_record_changes_group_sums_by_at_most_their_sensitivity(n, k, d, order, seed):
    k = min(n, k)
    rng = np.random.default_rng(seed)
    shape = tuple(int(cells) for cells in rng.integers(2, 40, d))
    codes = rng.integers(0, shape, (n, d))
    replaced = codes.copy()
    replaced[rng.integers(n)] = rng.integers(0, shape)
    one, sizes, sensitivity = group_sums(codes, shape, k, order)
    other, _, _ = group_sums(rng.permutation(replaced), shape, k, order)
    assert np.abs(one - other).sum() <= sensitivity
    assert (np.abs(one - other) <= 2**16).all()  # at most one record of each group
    assert sizes.sum() == n
    assert sizes.min() >= k


def test_the_noise_on_means_follows_from_k():
    codes = np.arange(1000)[:, None]
    made = dp.insensitive_noise(codes, (1000,), k=50, epsilon=2.0)
    assert made.scale == pytest.approx(1 / 50 / 2)
    assert made.guarantee == dp.Guarantee(2.0, 0.0, dp.Neighbours.REPLACE, ("the number of records",))
    both = dp.insensitive_noise(np.hstack([codes, codes]), (1000, 1000), k=50, epsilon=2.0)
    assert both.scale == pytest.approx(20 * 2 / 50 / 2)
    assert ((both.means >= 0) & (both.means <= 999)).all()


def test_means_of_one_column_are_near_the_truth():
    made = dp.insensitive_noise(np.arange(1000)[:, None], (1000,), k=100, epsilon=5.0)
    truth = np.arange(10) * 100 + 49.5
    # the scale is 2 of 1000 cells; beyond 20 scales lies a share of exp(-20) of the draws, ten times: 2e-8
    assert np.abs(made.means[:, 0] - truth).max() < 40


def test_groups_along_the_z_curve_are_closer_together_than_along_the_sum():
    codes = np.random.default_rng(2).integers(0, 256, (4096, 2))
    variances = {}
    for order in ("z-curve", "sum"):
        sums, sizes, _ = group_sums(codes, (256, 256), 64, order)
        variances[order] = ((sums / sizes[:, None]).var(axis=0)).sum()
    assert variances["z-curve"] > 1.5 * variances["sum"]  # what the means keep of the variance


def test_wrong_input_of_insensitive_noise_raises_an_error():
    codes = np.zeros((5, 1), np.int64)
    with pytest.raises(DataError, match="k=6 needs at least 6 records, the table has 5"):
        dp.insensitive_noise(codes, (4,), k=6, epsilon=1.0)
    with pytest.raises(ParameterError, match="k=0"):
        dp.insensitive_noise(codes, (4,), k=0, epsilon=1.0)
    with pytest.raises(ParameterError, match="choose z-curve, sum or lexicographic"):
        dp.insensitive_noise(codes, (4,), k=2, epsilon=1.0, order="random")
    with pytest.raises(ParameterError, match="epsilon"):
        dp.insensitive_noise(codes, (4,), k=2, epsilon=-1)
