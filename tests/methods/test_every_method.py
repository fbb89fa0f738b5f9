"""Properties that hold for every registered method."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.grouping import Grouping, canonical_labels
from shoal.errors import DataError, ParameterError
from shoal.methods import running
from shoal.methods.registry import all_methods, get_method

from strategies import points_and_k

FEW = {"brute-force", "matching"}  # refuse most of these tables; tests/methods/optimal asks the same of them
PARTS = {"own-eee", "own-hec", "own-hhg", "rand-g"}  # the other recipes are made of the same parts
RECIPES = {name for name in all_methods() if name.startswith(("own-", "rand-"))}
NAMES = [name for name in all_methods() if name not in FEW | (RECIPES - PARTS)]
MANY_RUNS = {"runs": 2}


def shaped(name, points):
    """The points as the method reads them: all of them, their first column, or small whole numbers."""
    kind = get_method(name).data
    if kind == "values":
        return points[:, :1]
    if kind == "codes":
        return np.unique(points.round(1), return_inverse=True)[1].reshape(points.shape).astype(np.int32)
    return points


def outcome_of(name, points, k, **options):
    method = get_method(name)
    options.update({option: value for option, value in MANY_RUNS.items() if option in method.options})
    if name == "set-partition":
        options.setdefault("steps_per_record", 5.0)
    if method.represents and "time_limit" in method.injected:
        options.setdefault("time_limit", 20.0)
    return running.run(name, shaped(name, points), k, **options)


def run(name, points, k, **options):
    return outcome_of(name, points, k, **options).labels


@pytest.mark.parametrize("name", NAMES)
@given(case=points_and_k(max_n=40))
@settings(max_examples=8)
def test_no_group_is_below_k_and_none_above_what_is_promised(name, case):
    points, k = case
    kept = points.copy()
    limit = get_method(name).max_size
    Grouping(run(name, points, k), k, max_size=limit(k) if limit and len(points) >= k else None)
    np.testing.assert_array_equal(points, kept, err_msg="the input was changed")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("n", "d", "k"), [(2000, 2, 7), (500, 50, 3), (120, 10, 50), (99, 4, 50), (50, 3, 50), (300, 1, 2), (301, 24, 20)]
)
def test_sizes_hold_on_larger_tables(name, n, d, k, rng):
    points = rng.normal(size=(n, d))
    points[rng.integers(n, size=n // 3)] = points[0]  # duplicates
    points[:, 0] = points[:, 0].round(1)
    if d > 2:
        points[:, 1] = 7.0
    soon = {"time_limit": 0.3} if "time_limit" in get_method(name).injected else {}
    grouping = Grouping(run(name, points, k, **soon), k)
    assert grouping.n == n


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (9, 5), (12, 5), (60, 4)])
def test_equal_records_are_grouped_without_trouble(name, n, k):
    Grouping(run(name, np.full((n, 3), 0.1), k), k)


@pytest.mark.parametrize("name", NAMES)
@given(case=points_and_k(max_n=30, max_d=3), seed=st.integers(0, 5))
@settings(max_examples=4)
def test_two_runs_agree(name, case, seed):
    points, k = case
    options = {"seed": seed} if get_method(name).seeded else {}
    np.testing.assert_array_equal(run(name, points, k, **options), run(name, points, k, **options))


@pytest.mark.parametrize("name", [name for name in NAMES if get_method(name).data != "codes"])
@pytest.mark.parametrize("scale", [2.0**-30, 2.0**20])
def test_a_power_of_two_as_scale_changes_nothing(name, scale, rng):
    points = rng.normal(size=(70, 3))
    np.testing.assert_array_equal(
        canonical_labels(run(name, points, 3)), canonical_labels(run(name, points * scale, 3))
    )


@pytest.mark.parametrize("name", NAMES)
def test_diagnostics_can_be_written_as_json(name, rng):
    outcome = outcome_of(name, rng.normal(size=(40, 2)), 3)
    diagnostics = dict(outcome.diagnostics)
    assert json.loads(json.dumps(diagnostics)) == diagnostics
    assert all(word == word.lower() and " " not in word for word in diagnostics), "names are in snake_case"
    assert "seconds" not in diagnostics, "times belong into the timings"
    assert "gap" not in diagnostics, "the gap is a property of the objective"


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_grouped_is_refused_with_a_sentence(name):
    with pytest.raises(ParameterError, match="k=5 needs at least 5 records, the table has 4"):
        run(name, np.zeros((4, 2)), 5)
    with pytest.raises(ParameterError, match="k must be at least 2, got 1"):
        run(name, np.zeros((4, 2)), 1)
    if get_method(name).data != "codes":
        with pytest.raises(DataError, match="missing or infinite"):
            run(name, np.array([[0.0, 1.0], [np.nan, 2.0], [1.0, 1.0]]).repeat(2, axis=1)[:, ::-1] * np.nan, 2)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_method_states_in_the_registry_holds(name, rng):
    method = get_method(name)
    outcome = outcome_of(name, rng.normal(size=(40, 2)), 3)
    assert (outcome.representatives is not None) == method.represents
    if outcome.objective is not None and outcome.objective.bound is not None:
        assert method.proves == outcome.objective.name
        assert outcome.objective.gap is None or outcome.objective.gap >= 0
    assert "Examples" in method.function.__doc__
