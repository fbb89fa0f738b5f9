from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.grouping import Grouping
from shoal.errors import DataError, ParameterError
from shoal.methods import auto
from shoal.methods import effort as planning
from shoal.methods.effort import (
    LADDER,
    PATIENCE,
    Calibration,
    calibrate,
    check_memory,
    memory_for,
    plan,
    seconds_for,
    seconds_of,
)
from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition import schedule
from shoal.methods.registry import all_methods, get_method

SIZES = st.integers(10, 100_000_000)


@given(SIZES, st.integers(1, 50), st.sampled_from([2, 5, 10, 100]))
def test_every_rung_costs_more_than_the_one_below(n, d, k):
    prices = [seconds_for(rung, n, d, k, Calibration(threads=1)) for rung in LADDER]
    assert prices == sorted(prices)
    assert prices[0] >= 0


@given(SIZES, st.floats(0.01, 1e5))
def test_a_plan_keeps_its_budget_or_takes_the_fastest(n, budget):
    found = plan(n, 10, 5, budget=budget)
    assert found.seconds <= budget or found.method == "mondrian-v"
    assert ("nothing fits" in found.why) == (found.seconds > budget)


@given(SIZES)
def test_more_effort_never_takes_a_lower_rung(n):
    seconds = [plan(n, 10, 5, effort=effort).seconds for effort in ("fast", "balanced", "best")]
    assert seconds == sorted(seconds)


@given(SIZES, st.floats(1.0, 1e4))
def test_more_time_never_gives_a_worse_plan(n, budget):
    assert plan(n, 10, 5, budget=budget).seconds <= plan(n, 10, 5, budget=2 * budget).seconds


def test_growth_is_nearly_linear():
    for rung in LADDER:
        prices = [seconds_for(rung, n, 10, 5, Calibration(threads=2)) for n in (1_000_000, 10_000_000)]
        assert prices[1] <= 12 * prices[0]


def test_a_faster_machine_gets_a_better_plan():
    slow, fast = Calibration(), Calibration(cut=4e-10, leaf=5e-8, refine=5e-8, swaps=1e-8, threads=8)
    options = [plan(5_000_000, 10, 5, budget="30s", calibration=c).options.get("block", 0) for c in (slow, fast)]
    assert options[0] < options[1]


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
@pytest.mark.parametrize("n", [10, 300])
def test_plans_can_be_run(effort, n, rng):
    points = rng.normal(size=(n, 3))
    found = plan(n, 3, 4, effort=effort)
    Grouping(get_method(found.method).run(points, 4, **found.options), 4)
    extreme = plan(n, 3, 4, budget=1e-9)
    Grouping(get_method(extreme.method).run(points, 4, **extreme.options), 4)


def test_the_reason_names_blocks_and_passes():
    text = plan(1_000_000, 10, 5, effort="balanced").why
    assert "blocks of 20,000 records (n^0.72)" in text
    assert "4 passes" in text
    assert "the whole table at once" in plan(1_000, 10, 5).why


def test_calibration_measures_the_table_itself(rng):
    found = calibrate(rng.normal(size=(3000, 4)), 7)
    assert (found.d, found.k) == (4, 7)
    assert min(found.cut, found.leaf, found.refine, found.swaps) > 0
    assert calibrate().d == 10


def test_calibration_reads_tables_of_any_size(rng):
    for n in (7, 20, 100):
        assert calibrate(rng.normal(size=(n, 2)), 7).leaf > 0


@pytest.mark.parametrize(("text", "seconds"), [("60s", 60), ("1.5m", 90), ("2h", 7200), ("10", 10), (3, 3)])
def test_budgets_are_read(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("bad", ["", "5 days", "-3s", 0, -1.0, float("nan")])
def test_budgets_that_are_none_are_refused(bad):
    with pytest.raises(ParameterError, match="budget"):
        seconds_of(bad)


def test_unknown_efforts_are_refused():
    with pytest.raises(ParameterError, match="choose fast, balanced or best"):
        plan(100, 2, 3, effort="lazy")


def test_a_table_larger_than_memory_is_refused_with_what_would_fit():
    with pytest.raises(DataError, match="about 9,500,000 records would fit"):
        check_memory(10**8, 10, 5, available=1_600_000_000)
    check_memory(9_500_000, 10, 5, available=1_600_000_000)
    check_memory(10**8, 10, 5, available=memory_for(10**8, 10, 5))


def test_memory_stays_below_three_tables():
    for d in (6, 10, 50):
        assert memory_for(10**7, d, 5) <= 3 * 8 * 10**7 * d


def test_float32_needs_less():
    assert memory_for(10**7, 10, 5, bytes_per_number=4) < memory_for(10**7, 10, 5)


def test_balanced_is_content_with_smaller_blocks_beyond_millions_of_records():
    blocks = [plan(n, 10, 5).options["block"] for n in (planning.MANY, planning.MANY + 1)]
    assert blocks == [20_000, 10_000]


def test_a_budget_is_handed_on_and_more_passes_are_allowed():
    found = plan(1_000_000, 10, 5, budget="30s")
    assert found.options["seconds"] == 30.0
    assert found.options["passes"] == PATIENCE
    assert "more passes while there is time" in found.why
    assert "seconds" not in plan(1_000_000, 10, 5).options


def test_the_budget_of_auto_counts_from_its_beginning(rng, monkeypatch):
    moments = iter([0.0, *[4.0] * 1_000_000])  # measuring takes four seconds
    monkeypatch.setattr(schedule, "now", lambda: next(moments))
    facts = {}
    Grouping(get_method("auto").run(rng.normal(size=(2000, 3)), 5, budget=8, facts=facts), 5)
    assert "fits into 4 s" in facts["why"]


def test_a_budget_far_above_the_need_is_spent_on_better_groups(rng, monkeypatch):
    monkeypatch.setattr(auto, "LEAST", 0.5)
    facts = {}
    points = rng.normal(size=(300, 3))
    Grouping(get_method("auto").run(points, 3, budget=3.0, facts=facts), 3)
    assert facts["chosen"] == "set-partition"
    assert facts["gap"] >= 0.0


def test_a_table_that_is_present_needs_less_free_memory():
    with pytest.raises(DataError, match="storage=float32"):
        check_memory(10**7, 10, 5, available=10**9)
    check_memory(10**7, 10, 5, available=10**9, present=True)
    with pytest.raises(DataError, match="attributes, or a larger machine"):
        check_memory(10**8, 10, 5, available=10**9, bytes_per_number=4)


def test_protect_and_group_refuse_what_does_not_fit(monkeypatch):
    people = pl.DataFrame({"a": range(1000), "b": range(1000)})
    monkeypatch.setattr(planning, "free_memory", lambda: 20_000)
    for run in (
        lambda: shoal.protect(people, 5, quasi=["a", "b"], method="mona-plus"),
        lambda: shoal.group(people.to_numpy(), 5),
    ):
        with pytest.raises(DataError, match=r"need about .* GB of memory, .* records would fit"):
            run()


@pytest.mark.parametrize("method", [name for name, found in all_methods().items() if found.float32])
def test_float32_tables_are_grouped_as_they_are(method, rng):
    points = rng.normal(size=(1500, 3)).astype(np.float32)
    seen = []
    found = get_method(method)

    def spy(points, k, *, progress):
        seen.append(points.dtype)
        return found.function(points, k, progress=progress)

    spied = replace(found, function=spy)
    Grouping(spied.run(points, 5, storage="float32"), 5)
    Grouping(spied.run(points, 5), 5)
    assert seen == [np.float32, np.float64]
    with pytest.raises(ParameterError, match='storage="float16" is not possible'):
        found.run(points, 5, storage="float16")


def test_float32_loses_what_float64_loses(rng):
    points = rng.normal(size=(4000, 4)) * [1, 10, 100, 1000] + 50
    standard = (points - points.mean(axis=0)) / points.std(axis=0)
    costs = [total_cost(standard, shoal.group(points, 5, storage=kind)) for kind in ("float64", "float32")]
    assert costs[0] == pytest.approx(costs[1], rel=0.01)
    people = pl.DataFrame({name: points[:, j] for j, name in enumerate("abcd")})
    release = shoal.protect(people, 5, quasi=list("abcd"), method="mona-plus", options={"storage": "float32"})
    assert release.loss.information == pytest.approx(costs[1] / standard.size, rel=0.01)
    medoid = shoal.protect(
        people, 5, quasi=list("abcd"), method="mona", options={"storage": "float32"}, recode="medoid"
    )
    assert medoid.k >= 5


def test_other_methods_have_no_such_option(rng):
    with pytest.raises(ParameterError, match='method "mdav" has no option "storage"'):
        shoal.group(rng.normal(size=(20, 2)), 3, method="mdav", storage="float32")


def test_strata_share_the_budget(rng, monkeypatch):
    given = []

    def spy(*sizes, budget=None, **rest):
        given.extend([] if budget is None else [budget])
        return plan(*sizes, budget=budget, **rest)

    monkeypatch.setattr(auto, "plan", spy)
    monkeypatch.setattr(schedule, "now", lambda: 0.0)
    people = pl.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "s": [1] * 100 + [2] * 300})
    shoal.protect(people, 5, quasi=["a", "b"], within=["s"], options={"budget": "4s"})
    assert given == [1.0, 3.0]
