"""Cell suppression: the specification's examples and targets, the optimum by brute force, and its use by auto."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.datasets import reference_path
from shoal.errors import ShoalError
from shoal.methods.contract import ColumnCost
from shoal.methods.nominal.cell_suppression import suppression_cost
from shoal.methods.running import run

from naive import cell_suppression as naive

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
TINY = np.array([[int(x) for x in row] for row in ["111", "111", "111", "112", "122", "222", "221"]], np.int32)


@pytest.fixture(scope="module")
def testdata():
    table = pl.read_csv(reference_path("testdata"))
    return np.column_stack([table[key].rank("dense").to_numpy().astype(np.int32) - 1 for key in KEYS])


@pytest.mark.parametrize(
    ("k", "cells", "groups"), [(2, 4, [[0, 1, 2], [3, 4], [5, 6]]), (3, 10, [[0, 1, 2, 3], [4, 5, 6]])]
)
def test_the_tiny_example(k, cells, groups):
    outcome = run("cell-suppression", TINY, k)
    assert outcome.objective.value == cells == naive.best(TINY.tolist(), k, [1, 1, 1])
    assert [np.flatnonzero(outcome.labels == g).tolist() for g in range(outcome.labels.max() + 1)] == groups
    assert outcome.objective.bound == cells


@pytest.mark.parametrize(("k", "most", "alone"), [(3, 394, 406), (5, 714, 781)])
def test_the_greedy_choice_on_testdata(testdata, k, most, alone):
    """The specification's greedy choice suppresses 394 and 714 cells; a single order of equal prices does worse."""
    outcome = run("cell-suppression", testdata, k, program=0)
    assert np.bincount(outcome.labels).min() >= k
    assert outcome.objective.value == suppression_cost(testdata, outcome.labels, np.ones(7)) <= most
    assert run("cell-suppression", testdata, k, program=0, starts=1).objective.value == alone
    again = run("cell-suppression", testdata, k, program=0)
    assert (again.labels == outcome.labels).all()


@pytest.mark.parametrize(("k", "lower", "value"), [(3, 357, 357), pytest.param(5, 641, 644, marks=pytest.mark.slow)])
def test_the_program_reaches_the_targets_on_testdata(testdata, k, lower, value):
    """k=3: the published lower bound itself; k=5: lower bound 641, published solution 644 without one constraint."""
    outcome = run("cell-suppression", testdata, k)
    assert np.bincount(outcome.labels).min() >= k
    assert lower <= outcome.objective.value <= value
    assert outcome.objective.value == suppression_cost(testdata, outcome.labels, np.ones(7))
    assert outcome.objective.bound <= outcome.objective.value


@st.composite
def tables(draw):
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    rows = [[draw(st.integers(0, 2)) for _ in range(d)] for _ in range(n)]
    k = draw(st.integers(2, min(3, n)))
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=d, max_size=d))
    return rows, k, weights


@given(tables())
def test_small_tables_reach_the_optimum_of_all_groupings(table):
    rows, k, weights = table
    codes, importance = np.array(rows, np.int32), np.array(weights)
    outcome = run("cell-suppression", codes, k, most_columns=3, column_weights=importance)
    groups = [np.flatnonzero(outcome.labels == g).tolist() for g in range(outcome.labels.max() + 1)]
    assert min(map(len, groups)) >= k
    assert outcome.objective.value == pytest.approx(naive.cost(rows, groups, weights))
    assert outcome.objective.value == pytest.approx(naive.best(rows, k, weights))


@given(tables())
def test_the_greedy_choice_is_a_grouping_and_never_below_the_optimum(table):
    rows, k, weights = table
    outcome = run("cell-suppression", np.array(rows, np.int32), k, program=0, column_weights=np.array(weights))
    assert np.bincount(outcome.labels).min() >= k
    assert outcome.objective.value >= naive.best(rows, k, weights) - 1e-9


def test_importance_moves_suppression_to_less_important_columns():
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    kept = {}
    for weights in ([5.0, 1.0], [1.0, 5.0]):
        labels = run("cell-suppression", rows, 2, column_weights=np.array(weights)).labels
        kept[tuple(weights)] = [bool((rows[labels == labels[0]][:, c] == rows[0, c]).all()) for c in (0, 1)]
    assert kept == {(5.0, 1.0): [True, False], (1.0, 5.0): [False, True]}


@given(tables(), st.integers(0, 5))
def test_linked_columns_are_suppressed_together_and_the_optimum_is_reached(table, seed):
    """The wrong version searches without the links, and pays for them afterwards."""
    rows, k, weights = table
    links = np.random.default_rng(seed).integers(0, 2, len(weights)).tolist()
    costs = [ColumnCost("suppress", linked=link) for link in links]
    sets = [[c for c, link in enumerate(links) if link == number] for number in sorted(set(links))]
    joined = [[tuple(row[c] for c in columns) for columns in sets] for row in rows]
    price = [sum(weights[c] for c in columns) for columns in sets]
    outcome = run("cell-suppression", np.array(rows, np.int32), k, column_weights=np.array(weights), column_costs=costs)
    groups = [np.flatnonzero(outcome.labels == g).tolist() for g in range(outcome.labels.max() + 1)]
    assert min(map(len, groups)) >= k
    assert outcome.objective.value == pytest.approx(naive.cost(joined, groups, price))
    assert outcome.objective.value == pytest.approx(naive.best(joined, k, price))


def test_linked_columns_of_a_release_are_suppressed_in_the_same_cells():
    people = shoal.datasets.patients(300).select("sex", "region", "education")
    given_ = {"quasi": people.columns, "kinds": {"education": "nominal"}, "recode": "suppress", "accept_loss": True}
    linked = shoal.protect(people, 5, together=["region,education"], **given_)
    alone = shoal.protect(people, 5, **given_)
    assert (linked.data["region"].is_null() == linked.data["education"].is_null()).all()
    assert (alone.data["region"].is_null() != alone.data["education"].is_null()).any()
    assert linked.data["region"].is_null().any()
    assert not linked.data["region"].is_null().all()
    assert linked.data.group_by(people.columns).len()["len"].min() >= 5
    means = shoal.protect(people, 5, method="nominal-mdav", together=["region,education"], **given_)
    assert (means.data["region"].is_null() == means.data["education"].is_null()).all()
    lost = [sum(release.data[name].null_count() for name in people.columns) for release in (linked, means)]
    assert lost[0] <= lost[1]
    for options, message in (
        ({**given_, "recode": "mode", "together": ["region,education"]}, "recode"),
        ({**given_, "together": ["region"]}, "two or more"),
        ({**given_, "together": ["region,education", "sex,region"]}, "two sets"),
        ({**given_, "together": ["region,county"]}, "county"),
    ):
        with pytest.raises(ShoalError, match=message):
            shoal.protect(people, 5, **options)


def test_auto_selects_it_for_categories_that_are_suppressed():
    people = shoal.datasets.patients(300)
    given_ = {"quasi": ["sex", "region", "education"], "kinds": {"education": "nominal"}, "unnamed": "other"}
    release = shoal.protect(people, 5, recode="suppress", accept_loss=True, **given_)
    assert release.manifest["method"]["resolved"][0]["name"] == "cell-suppression"
    other = shoal.protect(people, 5, recode="suppress", method="nominal-mdav", accept_loss=True, **given_)
    hidden = [sum(r.data[c].null_count() for c in given_["quasi"]) for r in (release, other)]
    assert hidden[0] <= hidden[1]
    assert release.risk.candidates is None or release.risk.candidates.below == 0
    plain = shoal.protect(people, 5, accept_loss=True, **given_)
    assert plain.manifest["method"]["resolved"][0]["name"] != "cell-suppression"


def test_no_combination_is_unsafe_or_all_are():
    same = np.zeros((6, 2), np.int32)
    assert run("cell-suppression", same, 3).labels.tolist() == [0] * 6
    assert run("cell-suppression", same, 3).objective.value == 0
    different = np.arange(8, dtype=np.int32).reshape(4, 2)
    assert run("cell-suppression", different, 3).labels.tolist() == [0] * 4
