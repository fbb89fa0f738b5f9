"""The printed tables of chapter 10 of Thaeter 2021, in their corrected forms."""

import math

import pytest

from shoal import dp

SETTING = {"universe": 20**5, "epsilon": 0.1, "beta": 0.01}

TABLE_10_1_AND_10_2 = [  # alpha, size, most queries (as printed), VC dimension
    (0.01, 10**3, 0, 0),
    (0.01, 10**6, 0, 0),
    (0.01, 10**7, 0, 0),
    (0.01, 10**8, 0, 0),
    (0.01, 10**9, 1, 6),
    (0.1, 10**3, 0, 0),
    (0.1, 10**6, 1, 6),
    (0.1, 10**7, 60, 66),
    (0.1, 10**8, "10^18", 667),
    (0.1, 10**9, "10^181", 6675),
]


@pytest.mark.parametrize(("alpha", "size", "queries", "dimension"), TABLE_10_1_AND_10_2)
def test_tables_10_1_and_10_2(alpha, size, queries, dimension):
    logarithm = dp.small_db_log_queries(size=size, alpha=alpha, **SETTING)
    if isinstance(queries, str):
        assert f"10^{round(logarithm / math.log(10))}" == queries
    else:
        assert math.floor(math.exp(logarithm)) == queries
    assert math.floor(dp.small_db_vc_dimension(size=size, alpha=alpha, **SETTING)) == dimension


@pytest.mark.parametrize("size", [10**7, 10**8])
def test_equation_10_1_inverts_theorem_10_14(size):
    queries = math.exp(dp.small_db_log_queries(size=size, alpha=0.1, **SETTING))
    needed = dp.small_db_records_needed(queries=queries, alpha=0.1, **SETTING)
    assert needed == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize(
    ("alpha", "sigma", "printed", "formula"),
    [
        (0.01, 5, 11, 1.86e11),
        (0.01, 10, 11, 3.91e11),
        (0.01, 50, 12, 2.19e12),
        (0.01, 100, 12, 4.58e12),
        (0.1, 5, 8, 1.53e8),
        (0.1, 10, 8, 3.25e8),
        (0.1, 50, 9, 1.86e9),
        (0.1, 100, 9, 3.91e9),
    ],
)
def test_table_10_4(alpha, sigma, printed, formula):
    needed = dp.intervals_records_needed(sigma=sigma, epsilon=0.1, alpha=alpha, beta=0.01)
    assert needed == pytest.approx(formula, rel=0.005)
    assert math.floor(math.log10(needed)) == printed


TABLE_10_5 = {  # (beta, epsilon): printed delta, with the roles of rows and columns put right
    (0.05, 0.25): 7e-10,
    (0.1, 0.25): 4e-6,
    (0.2, 0.25): 2e-3,
    (0.05, 0.5): 3e-14,
    (0.1, 0.5): 2e-9,
    (0.2, 0.5): 8e-6,
    (0.05, 1.0): 2e-19,
    (0.1, 1.0): 4e-14,
    (0.2, 1.0): 6e-9,
}


@pytest.mark.parametrize(("setting", "printed"), TABLE_10_5.items())
def test_table_10_5_with_beta_and_epsilon_exchanged(setting, printed):
    beta, epsilon = setting
    delta = dp.safe_delta(k=20, beta=beta, epsilon=epsilon)
    exponent = math.floor(math.log10(delta))
    assert round(delta / 10**exponent) * 10.0**exponent == pytest.approx(printed)
