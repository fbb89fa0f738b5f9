"""Promises and accounts: what composes, what adds up, what is refused."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import dp
from shoal.dp.opendp_library import _whole_laplace, library
from shoal.errors import ParameterError

epsilons = st.floats(1e-6, 100.0)


def test_spends_on_the_same_records_add_up_and_disjoint_parts_count_once():
    account = dp.Accountant(1.0, 1e-5)
    account.spend("a count", 0.25)
    account.spend("cells of a histogram", 0.25, parts=1000)
    account.spend("two questions", 0.125, 1e-6, times=2)
    assert account.spent_epsilon == 0.75
    assert account.spent_delta == 2e-6
    assert [line["cost_epsilon"] for line in account.as_dict()["spends"]] == [0.25, 0.25, 0.25]
    assert account.guarantee().epsilon == 1.0


def test_the_sum_is_that_of_opendp():
    opendp = library()
    both = opendp.c.make_composition([_whole_laplace(4.0), _whole_laplace(8.0)])
    account = dp.Accountant(1.0)
    account.spend("one", _whole_laplace(4.0).map(1))
    account.spend("two", _whole_laplace(8.0).map(1))
    assert account.spent_epsilon == both.map(1) == 0.375


@given(epsilons, st.integers(1, 1000))
def test_shares_of_a_budget_never_exceed_it(epsilon, parts):
    account = dp.Accountant(epsilon)
    account.spend("all", account.share(1, parts), times=parts)
    assert account.spent_epsilon <= epsilon
    assert account.share(1, parts) * parts > epsilon * (1 - 1e-12)
    assert Fraction(account.share(1, parts)) * parts <= Fraction(epsilon)


def test_overspending_is_refused_and_not_written_down():
    account = dp.Accountant(0.5, 1e-6)
    account.spend("first", 0.4)
    with pytest.raises(ParameterError, match=r'"second" would cost epsilon=0\.2, but of the budget of 0\.5'):
        account.spend("second", 0.2)
    with pytest.raises(ParameterError, match="would cost delta=1e-05"):
        account.spend("third", 0.01, 1e-5)
    assert [line.what for line in account.spends] == ["first"]


@given(epsilons, st.floats(0, 1e-60))
def test_replacing_a_record_is_two_steps(epsilon, delta):
    promise = dp.Guarantee(epsilon, delta)
    replaced = promise.for_replacement()
    assert replaced.epsilon == 2 * epsilon
    assert replaced.delta == pytest.approx((1 + math.exp(epsilon)) * delta)
    assert replaced.for_replacement() == replaced


def test_a_promise_is_said_in_words():
    promise = dp.Guarantee(0.5, 1e-6, dp.Neighbours.REPLACE, ("the number of records",))
    assert promise.sentence == (
        "(0.5, 1e-06)-differential privacy; neighbours: one record with other values; public: the number of records"
    )
    assert promise.as_dict()["neighbours"] == "replace"


@pytest.mark.parametrize("delta", [-0.1, 1.0, 1.5, math.nan, True])
def test_a_bad_delta_is_refused(delta):
    with pytest.raises(ParameterError, match="delta"):
        dp.Guarantee(1.0, delta)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e-12, 1e9])
def test_a_bad_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        dp.Accountant(epsilon)


def test_a_promise_that_means_nothing_for_replacement_is_refused():
    with pytest.raises(ParameterError, match="promise nothing"):
        dp.Guarantee(10.0, 0.1).for_replacement()
