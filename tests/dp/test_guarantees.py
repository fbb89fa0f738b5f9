"""Guarantees and privacy accounting: composition, totals, and errors for wrong values."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import dp
from shoal.dp.opendp_library import _integer_laplace, library
from shoal.errors import ParameterError

epsilons = st.floats(1e-6, 100.0)


def test_losses_on_the_same_records_add_up_and_disjoint_parts_count_once():
    accountant = dp.Accountant(1.0, 1e-5)
    accountant.spend("a count", 0.25)
    accountant.spend("cells of a histogram", 0.25, parts=1000)
    accountant.spend("two queries", 0.125, 1e-6, times=2)
    assert accountant.spent_epsilon == 0.75
    assert accountant.spent_delta == 2e-6
    assert [line["total_epsilon"] for line in accountant.as_dict()["spends"]] == [0.25, 0.25, 0.25]
    assert accountant.guarantee().epsilon == 1.0


def test_the_total_equals_that_of_opendp():
    opendp = library()
    both = opendp.c.make_composition([_integer_laplace(4.0), _integer_laplace(8.0)])
    accountant = dp.Accountant(1.0)
    accountant.spend("one", _integer_laplace(4.0).map(1))
    accountant.spend("two", _integer_laplace(8.0).map(1))
    assert accountant.spent_epsilon == both.map(1) == 0.375


@given(epsilons, st.integers(1, 1000))
def test_shares_of_a_budget_never_exceed_it(epsilon, parts):
    accountant = dp.Accountant(epsilon)
    accountant.spend("all", accountant.share(1, parts), times=parts)
    assert accountant.spent_epsilon <= epsilon
    assert accountant.share(1, parts) * parts > epsilon * (1 - 1e-12)
    assert Fraction(accountant.share(1, parts)) * parts <= Fraction(epsilon)


def test_a_query_beyond_the_budget_raises_an_error_and_is_not_recorded():
    accountant = dp.Accountant(0.5, 1e-6)
    accountant.spend("first", 0.4)
    with pytest.raises(ParameterError, match=r'"second" needs epsilon=0\.2, but only 0\.1 of the budget of 0\.5'):
        accountant.spend("second", 0.2)
    with pytest.raises(ParameterError, match="needs delta=1e-05"):
        accountant.spend("third", 0.01, 1e-5)
    assert [line.query for line in accountant.spends] == ["first"]


@given(epsilons, st.floats(0, 1e-60))
def test_replacing_a_record_is_two_steps(epsilon, delta):
    guarantee = dp.Guarantee(epsilon, delta)
    replaced = guarantee.for_replacement()
    assert replaced.epsilon == 2 * epsilon
    assert replaced.delta == pytest.approx((1 + math.exp(epsilon)) * delta)
    assert replaced.for_replacement() == replaced


def test_a_guarantee_is_stated_in_words():
    guarantee = dp.Guarantee(0.5, 1e-6, dp.Neighbours.REPLACE, ("the number of records",))
    assert guarantee.sentence == (
        "(0.5, 1e-06)-differential privacy; neighbours: one record with other values; public: the number of records"
    )
    assert guarantee.as_dict()["neighbours"] == "replace"


@pytest.mark.parametrize("delta", [-0.1, 1.0, 1.5, math.nan, True])
def test_a_wrong_delta_raises_an_error(delta):
    with pytest.raises(ParameterError, match="delta"):
        dp.Guarantee(1.0, delta)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e-12, 1e9])
def test_a_wrong_epsilon_raises_an_error(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        dp.Accountant(epsilon)


def test_no_guarantee_for_replacement_raises_an_error():
    with pytest.raises(ParameterError, match="give no guarantee"):
        dp.Guarantee(10.0, 0.1).for_replacement()
