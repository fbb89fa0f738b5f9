"""Numbers beside many categories: blocks by key columns, and coordinates of the categories that occur in a block."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.grouping import Grouping
from shoal.flow import prepare as prepare_module
from shoal.methods.partition.category_keys import arrange_by_keys, choose_keys
from shoal.methods.partition.mixed_blocks import block_coordinates
from shoal.methods.running import run


def mixed_table(n, counts, seed=0, d=2):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, count, n) for count in counts]
    return np.column_stack([rng.normal(size=(n, d)), *codes]), np.array([False] * d + [True] * len(counts))


def exact_sse(table, nominal, labels):
    """The obvious version: half of the mean squared distances of all pairs, one squared unit for other categories."""
    total = 0.0
    for group in range(labels.max() + 1):
        rows = table[labels == group]
        differences = rows[:, None, :] - rows[None, :, :]
        squared = (differences[:, :, ~nominal] ** 2).sum() + (differences[:, :, nominal] != 0).sum()
        total += squared / (2 * len(rows))
    return total


@given(
    n=st.integers(4, 150), counts=st.lists(st.integers(1, 60), max_size=3), d=st.integers(0, 2), k=st.integers(2, 5),
    block=st.sampled_from([1, 20, 1_500]), seed=st.integers(0, 999), weight=st.sampled_from([0.0, 0.1, 1.0, 100.0]),
)  # fmt: skip
@settings(max_examples=25)
def test_groups_have_k_to_2k_minus_1_records(n, counts, d, k, block, seed, weight):
    n = max(n, k)
    table, nominal = mixed_table(n, counts, seed, d)
    weights = np.full(nominal.size, weight)
    outcome = run("mixed-blocks", table, k, nominal=nominal, column_weights=weights, block=block)
    Grouping(outcome.labels, k, max_size=2 * k - 1)
    again = run("mixed-blocks", table, k, nominal=nominal, column_weights=weights, block=block)
    np.testing.assert_array_equal(outcome.labels, again.labels)


@given(n=st.integers(5, 200), counts=st.lists(st.integers(1, 80), min_size=1, max_size=3), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_blocks_hold_every_record_once_and_at_least_k(n, counts, seed):
    table, nominal = mixed_table(n, counts, seed)
    codes = table[:, nominal].astype(np.int32)
    arranged = arrange_by_keys(table[:, ~nominal], codes, np.ones(len(counts)), 5, size=20)
    assert sorted(np.concatenate(arranged.blocks).tolist()) == list(range(n))
    assert min(block.size for block in arranged.blocks) >= 5


def test_distances_inside_a_block_are_exact_for_categories_that_occur_often():
    codes = np.array([[0, 3], [0, 4], [1, 3], [1, 4], [2, 3]], np.int32)
    points = block_coordinates(np.zeros((5, 0)), codes, np.array([1.0, 4.0]), 2)
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    exact = ((codes[:, None] != codes[None]) * np.array([1.0, 4.0])).sum(axis=2)
    np.testing.assert_allclose(squared[:4, :4], exact[:4, :4])
    # the only record of category 2 is as far from all others, by half a unit less
    np.testing.assert_allclose(exact[4, :4] - squared[4, :4], 0.5)


def test_a_key_is_chosen_where_enough_records_have_each_category():
    table, nominal = mixed_table(20_000, (1_900, 50), d=3)
    codes, numbers = table[:, nominal].astype(np.int32), table[:, ~nominal]
    assert choose_keys(numbers, codes, np.ones(2), 5)[0] == [1]
    assert choose_keys(numbers, codes, np.array([9.0, 1.0]), 5)[0] == [0]
    assert choose_keys(numbers, codes, np.array([1e-6, 1e-6]), 5)[0] == []
    rare, _ = mixed_table(1_000, (900,), d=3)
    assert choose_keys(rare[:, :3], rare[:, 3:].astype(np.int32), np.ones(1), 5)[0] == []


@pytest.mark.parametrize(("counts", "ratio"), [((40, 10), 1.06), ((30,), 1.12)])
def test_the_loss_is_close_to_that_of_one_coordinate_per_category(counts, ratio):
    table, nominal = mixed_table(3_000, counts, d=3)
    indicators = [np.eye(count)[table[:, 3 + j].astype(int)] / np.sqrt(2) for j, count in enumerate(counts)]
    dense = run("mona-plus", np.hstack([table[:, :3], *indicators]), 5).labels  # without a search, like the blocks
    blocks = run("mixed-blocks", table, 5, nominal=nominal, block=1_000).labels
    cut_by_numbers = run("auto", table[:, :3], 5).labels
    reference = exact_sse(table, nominal, dense)
    assert exact_sse(table, nominal, blocks) <= ratio * reference
    assert exact_sse(table, nominal, cut_by_numbers) > ratio * reference


def people(n, categories, seed=0):
    rng = np.random.default_rng(seed)
    places = [f"place {code}" for code in rng.integers(0, categories, n)]
    return pl.DataFrame({"age": rng.normal(size=n), "place": places, "sex": rng.choice(["f", "m"], n)})


def test_more_than_a_thousand_categories_are_protected():
    table = people(12_000, 2_000)
    release = shoal.protect(table, 5, quasi=["age", "place", "sex"])
    assert release.data.group_by("age", "place", "sex").len()["len"].min() >= 5
    resolved = release.manifest["method"]["resolved"][0]
    assert (resolved["name"], resolved["options"]["start"]) == ("mixed-annealing", "mixed-blocks")


@pytest.mark.parametrize("further", [{"l": 2}, {"recode": {"place": "medoid"}}, {"strata": ["sex"]}])
def test_many_categories_work_with_requirements_recodes_and_strata(further, monkeypatch):
    monkeypatch.setattr(prepare_module, "MAX_CATEGORIES", 100)
    table = people(1_500, 150).with_columns(illness=pl.Series(["a", "b", "c"] * 500))
    quasi = ["age", "place"] if "strata" in further else ["age", "place", "sex"]
    release = shoal.protect(table, 5, quasi=quasi, confidential=["illness"], **further)
    assert release.data.group_by(*quasi).len()["len"].min() >= 5


def test_shared_coordinates_keep_distances_on_average(monkeypatch):
    monkeypatch.setattr(prepare_module, "MAX_CATEGORIES", 100)
    from shoal.flow.encoding import fit_encoding
    from shoal.flow.prepare import MethodData, prepare
    from shoal.schema.columns import Column, Kind, Role, Schema
    from shoal.tables import Table

    table = Table.from_native(people(400, 300).select("age", "place"))
    schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("place", Role.QUASI, Kind.NOMINAL)))
    data = MethodData(prepare(table, fit_encoding(table, schema)))
    shared, codes = data.points()[:, 1:], data.mixed()[:, 1]
    assert shared.shape[1] < 100
    squared = ((shared[:, None] - shared[None]) ** 2).sum(axis=2)
    other = codes[:, None] != codes[None]
    assert squared[~other].max() < 1e-12
    assert abs(squared[other].mean() - 1) < 0.03
    assert squared[other].std() < 0.25
