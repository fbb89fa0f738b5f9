import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, ParameterError
from shoal.grouping import Grouping
from shoal.methods.planning import (
    LADDER,
    Calibration,
    calibrate,
    check_memory,
    memory_for,
    plan,
    seconds_for,
    seconds_of,
)
from shoal.methods.registry import get_method

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
    slow, fast = Calibration(), Calibration(cut=4e-10, leaf=5e-8, rounds=2e-8, swaps=1e-8, threads=8)
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
    assert "3 passes" in text
    assert "the whole table at once" in plan(1_000, 10, 5).why


def test_calibration_measures_the_table_itself(rng):
    found = calibrate(rng.normal(size=(3000, 4)), 7)
    assert (found.d, found.k) == (4, 7)
    assert min(found.cut, found.leaf, found.rounds, found.swaps) > 0
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
