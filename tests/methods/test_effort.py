from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core import deadline
from shoal.core.grouping import Grouping
from shoal.errors import ParameterError
from shoal.methods import auto
from shoal.methods.calibration import Calibration
from shoal.methods.distance import annealing
from shoal.methods.effort import (
    EFFORT_LEVELS,
    LARGE_TABLE_RECORDS,
    MOST_PASSES,
    choose_preset,
    seconds_for,
    window_steps,
)
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.registry import all_methods, get_method
from shoal.methods.running import run

SIZES = st.integers(10, 100_000_000)


@given(SIZES, st.integers(1, 50), st.sampled_from([2, 5, 10, 100]))
def test_every_level_takes_longer_than_the_one_below(n, d, k):
    seconds = [seconds_for(level, n, d, k, Calibration(threads=1)) for level in EFFORT_LEVELS]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


@given(SIZES, st.floats(0.01, 1e5))
def test_a_choice_keeps_the_time_limit_or_is_the_fastest_method(n, time_limit):
    found = choose_preset(n, 10, 5, time_limit=time_limit)
    assert found.seconds <= time_limit or found.method == "mondrian-v"
    assert ("nothing fits" in found.reason) == (found.seconds > time_limit)


@given(SIZES)
def test_more_effort_never_selects_a_lower_level(n):
    seconds = [choose_preset(n, 10, 5, effort=effort).seconds for effort in ("fast", "balanced", "best")]
    assert seconds == sorted(seconds)


@given(SIZES, st.floats(1.0, 1e4))
def test_more_time_never_selects_a_lower_level(n, time_limit):
    short, long = (choose_preset(n, 10, 5, time_limit=seconds) for seconds in (time_limit, 2 * time_limit))
    assert short.seconds <= long.seconds


def test_growth_is_nearly_linear():
    for level in EFFORT_LEVELS:
        seconds = [seconds_for(level, n, 10, 5, Calibration(threads=2)) for n in (1_000_000, 10_000_000)]
        assert seconds[1] <= 12 * seconds[0]


def test_a_faster_machine_gets_larger_blocks():
    slow, fast = Calibration(), Calibration(cut=4e-10, leaf=5e-8, refine=5e-8, swaps=1e-8, threads=8)
    choices = [choose_preset(5_000_000, 10, 5, time_limit="30s", calibration=speed) for speed in (slow, fast)]
    options = [choice.options.get("block", 0) for choice in choices]
    assert options[0] < options[1]


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
@pytest.mark.parametrize("n", [10, 300])
def test_choices_can_be_run(effort, n, rng):
    points = rng.normal(size=(n, 3))
    found = choose_preset(n, 3, 4, effort=effort)
    Grouping(run(found.method, points, 4, **found.options).labels, 4)
    extreme = choose_preset(n, 3, 4, time_limit=1e-9)
    Grouping(run(extreme.method, points, 4, **extreme.options).labels, 4)


def test_the_reason_names_blocks_and_passes():
    text = choose_preset(1_000_000, 10, 5, effort="balanced").reason
    assert "blocks of 20,000 records (n^0.72)" in text
    assert "4 passes" in text
    assert "the whole table at once" in choose_preset(1_000, 10, 5).reason


def test_unknown_efforts_raise_an_error(rng):
    with pytest.raises(ParameterError, match="choose one of fast, balanced, best"):
        run("auto", rng.normal(size=(100, 2)), 3, effort="lazy")


def test_balanced_selects_smaller_blocks_for_millions_of_records():
    blocks = [choose_preset(n, 10, 5).options["block"] for n in (LARGE_TABLE_RECORDS, LARGE_TABLE_RECORDS + 1)]
    assert blocks == [20_000, 10_000]


def test_a_time_limit_is_passed_on_and_more_passes_are_allowed():
    found = choose_preset(1_000_000, 10, 5, time_limit="30s")
    assert found.time_limit == 30.0
    assert found.options["passes"] == MOST_PASSES
    assert "more passes while there is time" in found.reason
    assert choose_preset(1_000_000, 10, 5).time_limit is None


def test_the_time_limit_of_auto_counts_from_its_beginning(rng, monkeypatch):
    times = iter([0.0, *[4.0] * 1_000_000])  # measuring takes four seconds
    monkeypatch.setattr(deadline, "now", lambda: next(times))
    monkeypatch.setattr(annealing, "MOST_REHEATS", 1)  # the clock stands still from there on
    outcome = run("auto", rng.normal(size=(2000, 3)), 5, time_limit=8)
    Grouping(outcome.labels, 5)
    assert "fits into 4 s" in outcome.reason


def test_a_time_limit_far_above_the_need_is_used_for_better_groups(rng, monkeypatch):
    monkeypatch.setattr(auto, "LEAST_SECONDS", 0.5)
    outcome = run("auto", rng.normal(size=(300, 3)), 3, time_limit=3.0)
    Grouping(outcome.labels, 3)
    assert outcome.method == "set-partition"
    assert outcome.objective.gap >= 0.0


@pytest.mark.parametrize("method", [name for name, found in all_methods().items() if found.float32])
def test_float32_tables_are_grouped_as_they_are(method, rng):
    points = rng.normal(size=(1500, 3)).astype(np.float32)
    seen = []
    found = get_method(method)

    def spy(points, k, **inputs):
        seen.append(points.dtype)
        return found.function(points, k, **inputs)

    spied = replace(found, function=spy)
    Grouping(run(spied, points, 5, storage="float32").labels, 5)
    Grouping(run(spied, points, 5).labels, 5)
    assert seen == [np.float32, np.float64]
    with pytest.raises(ParameterError, match='option storage="float16" is not possible'):
        run(found, points, 5, storage="float16")


def test_float32_loses_what_float64_loses(rng):
    points = rng.normal(size=(4000, 4)) * [1, 10, 100, 1000] + 50
    standard = (points - points.mean(axis=0)) / points.std(axis=0)
    costs = [
        total_cost(standard, shoal.group(points, 5, method="mona-plus", storage=kind))
        for kind in ("float64", "float32")
    ]
    assert costs[0] == pytest.approx(costs[1], rel=0.01)
    people = pl.DataFrame({name: points[:, j] for j, name in enumerate("abcd")})
    release = shoal.protect(
        people, 5, quasi=list("abcd"), method="mona-plus", options={"storage": "float32"}, sums="exact"
    )
    assert release.loss.information_loss == pytest.approx(costs[1] / standard.size, rel=0.01)
    medoid = shoal.protect(
        people, 5, quasi=list("abcd"), method="mona", options={"storage": "float32"}, recode="medoid"
    )
    assert medoid.k >= 5


def test_other_methods_have_no_such_option(rng):
    with pytest.raises(ParameterError, match='method "mdav" has no option "storage"'):
        shoal.group(rng.normal(size=(20, 2)), 3, method="mdav", storage="float32")


def test_strata_share_the_time_limit(rng, monkeypatch):
    given = []

    def spy(*sizes, time_limit=None, **rest):
        given.extend([] if time_limit is None else [time_limit])
        return choose_preset(*sizes, time_limit=time_limit, **rest)

    monkeypatch.setattr(auto, "choose_preset", spy)
    monkeypatch.setattr(deadline, "now", lambda: 0.0)
    monkeypatch.setattr(annealing, "MOST_REHEATS", 1)  # the clock stands still
    people = pl.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "s": [1] * 100 + [2] * 300})
    shoal.protect(people, 5, quasi=["a", "b"], strata=["s"], time_limit="4s")
    assert given[::2] == [1.0, 3.0]  # beside them the shares for the start of the search


@pytest.mark.parametrize(("n", "k", "bound"), [(30, 3, "auto"), (80, 3, "auto"), (70, 5, "none"), (30, 15, "none")])
def test_small_tables_are_solved_with_a_bound_where_that_is_quick(n, k, bound):
    choice = auto.choose(n, 4, k)
    assert (choice.method, choice.options["bound"]) == ("set-partition", bound)


@pytest.mark.parametrize(("n", "k", "effort"), [(81, 3, "balanced"), (30, 3, "fast"), (9, 5, "balanced")])
def test_other_tables_are_searched(n, k, effort):
    assert auto.choose(n, 4, k, effort=effort).method == "annealing"


def test_auto_finds_the_optimum_that_a_path_through_mdav_finds_and_chains_miss(rng):
    points = rng.normal(size=(24, 3)) * rng.exponential(size=(24, 1))
    outcome = run("auto", points, 3)
    assert outcome.objective.gap == pytest.approx(0.0, abs=1e-5)
    assert total_cost(points, outcome.labels) <= total_cost(points, run("mdav", points, 3).labels)


@given(st.integers(81, 1_000), st.integers(2, 90), st.integers(2, 40))
def test_the_work_in_windows_is_planned_to_stay_below_a_second(n, d, k):
    steps = window_steps(n, d, k, "balanced")
    assert 1.0 <= steps <= 100.0
    assert steps == 1.0 or n * steps * 0.75e-6 * k * k * (d + 10) / 23 <= 0.45


@pytest.mark.parametrize("n", [60, 400, 4_000])
@pytest.mark.parametrize("k", [3, 10])
def test_the_fast_effort_is_never_above_the_groups_that_it_begins_with(n, k):
    points = np.random.default_rng(n).normal(size=(n, 4)) ** 3
    start = choose_preset(n, 4, k, effort="fast")
    begun = run(start.method, points, k, **start.options).labels
    found = run("auto", points, k, effort="fast").labels
    assert total_cost(points, found) <= total_cost(points, begun) * (1 + 1e-12)
