"""Single functions of the mechanisms, at values where a small change of the code shows."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal import dp
from shoal.core.progress import SILENT
from shoal.dp import audits, interval_mechanism, mechanisms, private_mondrian, small_db_accuracy
from shoal.dp.accountant import Accountant, rounded_down
from shoal.dp.declaration import Declaration
from shoal.dp.declared_values import declared_numbers
from shoal.dp.domain import CategoryColumn, Domain, NumericColumn
from shoal.dp.guarantee import Guarantee, Neighbours
from shoal.dp.insensitive_mechanism import group_sums
from shoal.dp.mondrian_release import _joined, position_sums
from shoal.dp.opendp_library import bernoulli_draws
from shoal.dp.person_rows import PersonLimit, delta_factor, person_limit
from shoal.dp.private_mondrian import MondrianBoxes
from shoal.dp.schema_domain import SchemaDomain
from shoal.errors import DataError, ParameterError, SchemaError, UnknownColumn
from shoal.schema.columns import Role
from shoal.tables import Table


def declared(bounds, decimals=None, default=None):
    given = Declaration(
        None, {"a": bounds}, {}, {} if decimals is None else {"a": decimals}, {} if default is None else {"a": default}
    )
    given.check()
    column = given.column("a")
    return column.kind, column.low, column.high, column.default, column.decimals


DAY = date(2024, 1, 31).toordinal() - date(1970, 1, 1).toordinal()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (((0, 121),), ("integer", 0.0, 121.0, 60.0, None)),
        (((0, 4), None, 2.5), ("integer", 0.0, 4.0, 3.0, None)),
        (((0.2, 3.7), 0), ("integer", 1.0, 3.0, 2.0, None)),
        (((0.0, 3.0),), ("number", 0.0, 3.0, 1.5, 4)),
        (((0.0, 1.0),), ("number", 0.0, 1.0, 0.5, 5)),
        (((0, 1.5),), ("number", 0.0, 1.5, 0.75, 4)),
        (((0.0, 1e-10),), ("number", 0.0, 1e-10, 5e-11, 15)),
        (((0.0, 1e-11),), ("number", 0.0, 1e-11, 5e-12, None)),
        (((0.0, 1e6),), ("number", 0.0, 1e6, 5e5, 0)),
        (((0, 3), 15, 1), ("number", 0.0, 3.0, 1.0, 15)),
        (((0.0, 3.0), 2, 1.25), ("number", 0.0, 3.0, 1.25, 2)),
        ((("0", " 5 "),), ("integer", 0.0, 5.0, 2.0, None)),
        ((("0.5", "1.5"),), ("number", 0.5, 1.5, 1.0, 5)),
        (((np.int64(0), np.float64(2.0)),), ("number", 0.0, 2.0, 1.0, 4)),
        (((Decimal("0.5"), 1),), ("number", 0.5, 1.0, 0.75, 5)),
        (((date(2024, 1, 31), "2024-02-03"),), ("date", DAY, DAY + 3, DAY + 1, None)),
        (((date(2024, 1, 31), "2024-02-01 00:00:01"),), ("datetime", DAY * 86400, DAY * 86400 + 86401, None, None)),
        (((datetime(2024, 1, 31, tzinfo=UTC), date(2024, 2, 1)),), ("datetime", DAY * 86400, None, None, None)),
    ],
    ids=str,
)
def test_bounds_become_a_domain(given, expected):
    found = declared(*given)
    assert [value for value, wanted in zip(found, expected, strict=True) if wanted is not None or value is None] == [
        wanted for value, wanted in zip(found, expected, strict=True) if wanted is not None or value is None
    ]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (((1, 1),), "must be below"), (((2, 1),), "must be below"), ((("0", "x"),), "two finite bounds"),
        (((0, 1, 2),), "two finite bounds"), (("01",), "two finite bounds"), (((False, 1),), "two finite bounds"),
        (((0.0, math.inf),), "two finite bounds"), (((0, 2**53),), "below 2"), (((0, 10**400),), "two finite bounds"),
        (((0, "2024-01-31"),), "two finite bounds"), (((None, 1),), "two finite bounds"),
        (((0, 1), 16), "from 0 to 15"), (((0, 1), True), "from 0 to 15"), (((0, 1), -1), "from 0 to 15"),
        (((0, 1), None, 2), "within the bounds"), (((0, 1), None, "2024-01-31"), "within the bounds"),
        ((("2024-01-31", "2024-02-01"), 2), "decimals are for numbers"),
    ],
    ids=str,
)  # fmt: skip
def test_bounds_that_are_none_are_refused(given, text):
    with pytest.raises(ParameterError, match=text):
        declared(*given)


def test_categories_keep_their_type_where_all_have_one():
    def column(values, default=None):
        return Declaration(None, {}, {"a": values}, {}, {} if default is None else {"a": default}).column("a")

    assert column([3, 1]) == CategoryColumn("a", (3, 1), 1)
    assert column([True, False], "True") == CategoryColumn("a", (True, False), 0)
    assert column([1, "x"]) == CategoryColumn("a", ("1", "x"), 1)
    assert column([1.5, 2]) == CategoryColumn("a", ("1.5", "2"), 1)
    for wrong in ([], ["1", "01"]):
        with pytest.raises(SchemaError, match="different categories"):
            column(wrong)
    with pytest.raises(ParameterError, match="one of the categories"):
        column([1, 2], 3)


def test_a_declaration_names_columns_of_the_table():
    table = Table.from_native(pl.DataFrame({"b": [1], "a": [1], "c": [1]}))
    both = Declaration(None, {"a": (0, 1)}, {"b": [1]}, {}, {})
    assert [column.name for column in both.domain(table).columns] == ["b", "a"]
    one = Declaration(["a"], {"a": (0, 1)}, {"b": [1]}, {}, {})
    assert [column.name for column in one.domain(table).columns] == ["a"]
    with pytest.raises(UnknownColumn):
        Declaration(None, {"z": (0, 1)}, {}, {}, {}).domain(table)
    wrong = [
        (Declaration(None, {"a": (0, 1)}, {"a": [1]}, {}, {}), "bounds and categories"),
        (Declaration(None, {}, {"a": [1]}, {"a": 2}, {}), "decimals is given"),
        (Declaration(None, {"b": (0, 1)}, {}, {}, {"a": 2}), "default is given"),
    ]
    for each, text in wrong:
        with pytest.raises(SchemaError, match=text):
            each.check()
    Declaration(None, {}, {"a": [1, 2]}, {}, {"a": 2}).check()
    with pytest.raises(SchemaError, match="needs a domain"):
        Declaration(["a"], {}, {}, {}, {}).column("a")


def test_cells_of_integers_and_numbers():
    whole, real = NumericColumn("a", "integer", 3.0, 12.0, 5.0), NumericColumn("a", "number", -1.0, 1.0, 0.5, 2)
    table = Table.from_native(pl.DataFrame({"a": [None, -9.0, 3.4, 3.5, 12.0, 99.0]}))
    assert whole.codes(table.column("a"), table, 4).tolist() == [0, 0, 0, 0, 3, 3]
    assert whole.codes(table.column("a"), table, 100).tolist() == [2, 0, 0, 1, 9, 9]
    assert [(whole.width(n), whole.cells(n)) for n in (4, 5, 10, 100)] == [(3, 4), (2, 5), (1, 10), (1, 10)]
    table = Table.from_native(pl.DataFrame({"a": [None, -2.0, -0.5, 0.0, 1.0]}))
    assert real.codes(table.column("a"), table, 4).tolist() == [3, 0, 1, 2, 3]
    assert (real.width(4), real.cells(4)) == (0.5, 4)
    assert whole.restore(np.array([0.0, 3.0, 1.5]), 4, random_within=False).to_list() == [4, 12, 8]
    assert real.restore(np.array([0.0, 3.0]), 4, random_within=False).to_list() == [-0.75, 0.75]
    drawn = whole.restore(np.repeat([0, 3], 200), 4, random_within=True).to_numpy()
    assert (set(drawn[:200]), set(drawn[200:])) == ({3, 4, 5}, {12})
    assert whole.as_dict() == {"name": "a", "type": "integer", "low": 3, "high": 12, "default": 5}
    assert real.as_dict() == {"name": "a", "type": "number", "low": -1.0, "high": 1.0, "default": 0.5, "decimals": 2}
    assert NumericColumn("a", "date", 0.0, 1.0, 0.0).as_dict()["high"] == "1970-01-02"
    for cells in (0, True, 2.0):
        with pytest.raises(ParameterError, match="at least 1"):
            Domain(table, (real,)).grid(cells)


def test_the_budget_of_mondrian_is_divided_as_the_page_says():
    codes = np.column_stack([np.arange(400) % 64, np.arange(400) // 7])
    for criterion, parts in (("deviation", (0.1, 0.1, 0.25)), ("side", (0.1, None, 0.35))):
        made = dp.mondrian(codes, (64, 64), k=40, epsilon=100.0, split_criterion=criterion)
        shares = {}
        for spend in made.accountant.spends:
            name = spend.query.partition(": ")[2] or spend.query
            shares[name] = shares.get(name, 0.0) + spend.epsilon / 100
        named = ("which parts are split", "which column is split", "where it is split")
        expected = {name: part for name, part in zip(named, parts, strict=True) if part}
        expected |= {"number of records, for the depth": 0.05, "count of each part": 0.2, "mean of each part": 0.3}
        assert shares == pytest.approx(expected)
        levels = {spend.query.partition(": ")[0] for spend in made.accountant.spends if "level" in spend.query}
        assert levels == {f"level {n} of 3" for n in (1, 2, 3)}  # ceil(log2(400 / 80))
    counts = dp.mondrian(codes, (64, 64), k=40, epsilon=100.0, means=False)
    assert (counts.means, counts.accountant.spends[-1].epsilon) == (None, 50.0)
    assert counts.counts.sum() == pytest.approx(400, abs=5)


def test_the_counts_of_private_mondrian_have_the_noise_for_one_record(monkeypatch):
    drawn = []
    monkeypatch.setattr(private_mondrian, "integer_noise", lambda *drawing: drawn.append(drawing) or drawing[0])
    dp.mondrian(np.arange(400)[:, None] % 64, (64,), k=100, epsilon=100.0)
    assert [(values.tolist(), sensitivity) for values, sensitivity, _ in drawn] == [([400], 1)] * 2
    assert [epsilon for *_, epsilon in drawn] == pytest.approx([5.0, 10.0])  # one level, hence no share of others


def test_a_small_part_joins_the_nearest_group_at_their_mean():
    groups = [(np.array([0.0, 0.0]), 6), (np.array([9.0, 0.0]), 5)]
    (near, total), (other, kept) = _joined((np.array([4.0, 0.0]), 2), groups)
    assert (near.tolist(), total, other.tolist(), kept) == ([1.0, 0.0], 8, [9.0, 0.0], 5)
    assert _joined((np.array([2.0]), 0), [(np.array([4.0]), 0)])[0][0].tolist() == [3.0]


def test_the_bounds_of_an_audit_are_those_of_clopper_and_pearson():
    bound = audits._clopper_pearson
    assert bound(0, 10, 0.05, upper=True) == pytest.approx(1 - 0.05**0.1)
    assert bound(10, 10, 0.05, upper=False) == pytest.approx(0.05**0.1)
    assert (bound(10, 10, 0.05, upper=True), bound(0, 10, 0.05, upper=False)) == (1.0, 0.0)
    low, high = bound(3, 10, 0.05, upper=False), bound(3, 10, 0.05, upper=True)
    tail = sum(math.comb(10, i) * low**i * (1 - low) ** (10 - i) for i in range(3, 11))
    head = sum(math.comb(10, i) * high**i * (1 - high) ** (10 - i) for i in range(4))
    assert (tail, head) == pytest.approx((0.05, 0.05))
    found = dp.audit(lambda side, runs: np.full(runs, side), 0, 1, epsilon=1.0, runs=1000, false_alarm=0.04)
    assert found.epsilon_lower == pytest.approx(math.log(0.01 ** (1 / 500) / (1 - 0.01 ** (1 / 500))))
    draws = np.array([1, 2, 2, 3])
    assert [audits._occurrences((name, 2.0), draws) for name in ("at least", "at most", "equal to")] == [3, 3, 2]
    for wrong in ({"runs": 9}, {"false_alarm": 0}, {"false_alarm": 1}, {"epsilon": 0}, {"delta": 1}):
        with pytest.raises(ParameterError):
            dp.audit(lambda side, runs: np.full(runs, side), 0, 1, **{"epsilon": 1.0, "runs": 10} | wrong)


def test_the_accuracy_of_small_db():
    given = {"universe": 10, "queries": 55, "epsilon": 2.0, "alpha": 0.1, "beta": 0.01}
    product, tail = math.log(10) * math.log(55), math.log(100)
    found = small_db_accuracy.small_db_error(**given, size=1000)
    assert found == pytest.approx(0.1 + 2 * (product / 0.01 + tail) / 2000)
    needed = small_db_accuracy.small_db_records_needed(**given)
    assert needed == math.ceil((16 * product + 4 * tail) / (2 * 0.001))
    given.pop("queries")
    logarithm = small_db_accuracy.small_db_log_queries(**given, size=10**6)
    assert logarithm == pytest.approx(2000 / (16 * math.log(10)) - tail / (4 * math.log(10)))
    dimension = small_db_accuracy.small_db_vc_dimension(**given, size=10**6)
    assert dimension == pytest.approx((2000 - tail) / math.log(10))
    assert small_db_accuracy.small_db_vc_dimension(**given, size=1) == 0.0


def test_the_limits_of_sampling_are_the_tightest():
    for k, epsilon, delta in ((20, 0.5, 1e-6), (5, 1.0, 1e-3), (3, 1.0, 0.09)):
        beta = dp.safe_beta(k=k, epsilon=epsilon, delta=delta)
        assert dp.safe_delta(k=k, beta=beta, epsilon=epsilon) <= delta
        above = beta + 1e-6
        assert above > -math.expm1(-epsilon) or dp.safe_delta(k=k, beta=above, epsilon=epsilon) > delta
        fewest = dp.safe_k(beta=beta, epsilon=epsilon, delta=delta)
        assert dp.safe_delta(k=fewest, beta=beta, epsilon=epsilon) <= delta
        assert fewest == 1 or dp.safe_delta(k=fewest - 1, beta=beta, epsilon=epsilon) > delta


def test_a_probability_above_one_half_is_drawn_by_its_complement():
    draws = bernoulli_draws(20_001, 0.9)
    assert draws.size == 20_001
    assert abs(draws.mean() - 0.9) < 0.02
    assert abs(bernoulli_draws(20_000, 0.5).mean() - 0.5) < 0.03


def test_limits_per_person():
    limit = PersonLimit("patient", 3)
    assert limit.epsilon_per_row(1.0) == rounded_down(Fraction(1, 3)) <= 1 / 3
    assert limit.delta_per_row(1e-6, 0.5) == pytest.approx(1e-6 / (math.expm1(1.5) / math.expm1(0.5)))
    assert (delta_factor(1, 700.0), delta_factor(2, 350.5), delta_factor(1, 701.0)) == (1.0, math.inf, math.inf)
    assert math.isfinite(delta_factor(2, 350.0))
    assert person_limit(None, None) is None
    assert person_limit("a", 1) == PersonLimit("a", 1)
    for unit, rows in (("a", None), (None, 2), ("a", 0), ("a", True), ("a", 1.0)):
        with pytest.raises(ParameterError):
            person_limit(unit, rows)


def test_options_of_mechanisms_are_checked():
    assert mechanisms.check_mechanism("mondrian", {"k": 5}) is mechanisms.MECHANISMS["mondrian"]
    assert mechanisms.check_mechanism("histogram", {"neighbours": "add-remove", "output": "microaggregated"})
    for name, options, text in (
        ("mondrian", {}, "needs k"), ("mondrian", {"k": None}, "needs k"), ("mondrian", {"k": 5, "x": 1}, "no option"),
        ("nothing", {}, "there is no mechanism"), ("histogram", {"output": "x"}, "output="),
        ("histogram", {"neighbours": "x"}, "neighbours="),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=text):
            mechanisms.check_mechanism(name, options)
    table = Table.from_native(pl.DataFrame({"a": ["x"]}))
    domain = Domain(table, (CategoryColumn("a", ("x", "y"), 0),))
    for name in ("intervals", "mondrian", "epsilon-safe", "insensitive"):
        with pytest.raises(SchemaError, match=f'"{name}" needs numbers or dates'):
            domain.require_numeric(name)


def test_the_accountant_rounds_down_and_refuses_what_exceeds_the_budget():
    accountant = Accountant(1.0, 1e-6)
    assert accountant.share(1, 3) <= 1 / 3
    accountant.spend("first", accountant.share(1, 3), times=2)
    accountant.spend("parts", accountant.share(1, 3), 1e-6, parts=7)
    assert accountant.spent_epsilon == pytest.approx(1.0)
    assert accountant.spent_epsilon <= 1.0
    for epsilon, delta in ((1e-3, 0.0), (0.0, 1e-9)):
        with pytest.raises(ParameterError, match="is left"):
            accountant.spend("more", epsilon, delta)
    assert [(spend.query, spend.times, spend.parts) for spend in accountant.spends] == [
        ("first", 2, 1), ("parts", 1, 7),
    ]  # fmt: skip
    assert rounded_down(Fraction(1, 3)) == 1 / 3  # the float below
    assert rounded_down(Fraction(1, 10)) == math.nextafter(0.1, 0.0)  # the nearest float is above
    assert rounded_down(Fraction(1, 2)) == 0.5


def test_a_guarantee_per_person_needs_records_that_may_be_absent_and_a_delta_below_one():
    with pytest.raises(ParameterError, match="add-remove"):
        Guarantee(1.0, 0.0, Neighbours.REPLACE).for_persons(2)
    with pytest.raises(ParameterError, match="no guarantee for 2 rows"):
        Guarantee(1.0, 0.3).for_persons(2)  # 0.3 (e + 1) = 1.1
    assert Guarantee(1.0, 0.2).for_persons(2).delta == pytest.approx(0.2 * (math.e + 1))


def test_dates_and_moments_become_days_and_seconds():
    moment = datetime(2024, 1, 31, 12, 0, 1)
    zoned = datetime.fromisoformat("2024-01-31T14:00:01+02:00")
    seconds = DAY * 86_400 + 12 * 3600 + 1
    texts = pl.Series(["2024-01-31 12:00:01", "2024-01-31", "x", None])
    objects = pd.Series([moment, zoned, date(2024, 1, 31), "2024-01-31 12:00:01", 5, None], dtype=object)
    for values, expected in (
        (pl.Series([moment]), [seconds]),
        (texts, [seconds, DAY * 86_400, math.nan, math.nan]),
        (objects, [seconds, seconds, DAY * 86_400, seconds, math.nan, math.nan]),
    ):
        series = nw.from_native(values, series_only=True)
        np.testing.assert_array_equal(declared_numbers(series, "datetime", None), expected)
        np.testing.assert_array_equal(declared_numbers(series, "date", None), np.floor(np.array(expected) / 86_400))


def test_sums_have_the_resolution_that_their_noise_is_for():
    boxes = MondrianBoxes(np.array([[0, 0]]), np.array([[2, 2]]), np.zeros(4, np.int64), None, 0)
    sums, sensitivity = position_sums(np.array([[0, 1], [2, 1], [2, 2], [1, 1]]), boxes)
    assert (sums.tolist(), sensitivity) == ([[2**16, 2**16]], 2 * 2**16)
    sums, *_ = group_sums(np.array([[0], [1], [2], [3]]), (4,), 4, "lexicographic")
    assert sums.tolist() == [[sum(2**16 * cell // 3 for cell in range(4))]]


def test_without_noise_an_interval_ends_where_its_content_is_reached(monkeypatch):
    monkeypatch.setattr(interval_mechanism, "integer_noise", lambda values, *_: values)
    ordered = np.repeat([0, 1, 2, 3], [985, 1000, 2000, 2015])
    found = interval_mechanism._cut(ordered, 2, 1.0, 0.99)  # 990 of 6000 records
    assert [(first, last) for first, last, _ in found] == [(0, 1), (2, 2), (3, 3)]
    assert interval_mechanism._cut(np.repeat([0, 1], [990, 5010]), 2, 1.0, 0.99)[0][:2] == (0, 0)
    assert interval_mechanism.max_intervals(0.09999999) == 80  # read as 1/10
    with pytest.raises(ParameterError, match="at least 1"):
        dp.intervals_records_needed(sigma=0, epsilon=0.1, alpha=0.1, beta=0.01)


def test_unsigned_integers_get_noise_too():
    found = dp.laplace_mechanism(np.array([3], np.uint64), sensitivity=1, epsilon=1e4, integers=True)
    assert list(found.values) == [3]
    for wrong in ([[1.0]], ["a"]):
        with pytest.raises(DataError, match="a list of numbers"):
            dp.laplace_mechanism(wrong, sensitivity=1, epsilon=1.0)


def test_digits_and_records_of_intervals():
    table = Table.from_native(pl.DataFrame({"a": [0, 1, 2, 2]}))
    run = mechanisms.MECHANISMS["intervals"]
    for high, digits in ((1, 1), (2, 2)):
        made = run(Domain(table, (NumericColumn("a", "integer", 0.0, high, 0.0),)), 1.0, SILENT, alpha=0.9, records=1)
        assert made.accountant.spends[0].times == 9 * digits
    with pytest.raises(ParameterError, match="at least 1"):
        run(Domain(table, (NumericColumn("a", "integer", 0.0, 2.0, 0.0),)), 1.0, SILENT, records=0)
    categories = Domain(Table.from_native(pl.DataFrame({"a": ["x"]})), (CategoryColumn("a", ("x", "y"), 0),))
    for name, options in (("epsilon-safe", {"k": 2, "delta": 0.1}), ("mondrian", {"k": 2}), ("insensitive", {"k": 2})):
        with pytest.raises(SchemaError, match="needs numbers or dates"):
            mechanisms.MECHANISMS[name](categories, 1.0, SILENT, **options)


def test_parts_of_one_record_are_released_for_k_1():
    made = dp.mondrian(np.zeros((1, 1), np.int64), (3,), k=2, epsilon=100.0)
    assert made.microaggregated(1)[1].tolist() == [1]
    assert made.microaggregated(2)[1].tolist() == []


def test_half_of_epsilon_safe_goes_to_the_boxes():
    made = dp.epsilon_safe(np.arange(400)[:, None] % 8, (8,), k=20, epsilon=1.0, delta=0.05)
    *boxes, sampling = made.accountant.spends
    assert sampling.epsilon == pytest.approx(0.5)
    assert 0 < sum(spend.epsilon * spend.times for spend in boxes) <= 0.5 + 1e-12


def test_a_tail_begins_above_its_fraction():
    # with beta = 1/2 and epsilon = ln 2 three of four records are exactly the fraction that is excluded
    assert dp.safe_delta(k=3, beta=0.5, epsilon=math.log(2)) == pytest.approx(5 / 16)
    # with beta = 1/10 and epsilon = ln 1.8 one of two is; the tails of fewer than k / fraction - 1 records do not count
    for k in (1, 2, 3):
        fewer = sum(math.comb(2 * k, j) * 0.1**j * 0.9 ** (2 * k - j) for j in range(k))
        assert dp.safe_delta(k=k, beta=0.1, epsilon=math.log(1.8)) == pytest.approx(1 - fewer)
    assert dp.safe_delta(k=3, beta=0.5, epsilon=50.0) == 0.0


def test_the_number_of_intervals_reads_alpha_as_a_fraction_of_at_most_a_million():
    assert [dp.max_intervals(alpha) for alpha in (1 / 3, 1 / 3 - 5e-8, 1 / 3 - 5e-7)] == [24, 24, 25]


def test_sensitivities_of_queries_that_count_or_average():
    query = dp.linear_query([0.0, 1.0], normalised=False)
    assert (query.sensitivity(), dp.linear_query([0.0, 1.0]).sensitivity(4)) == (1.0, 0.25)
    with pytest.raises(ParameterError, match="number of records"):
        dp.linear_query([0.0, 1.0]).sensitivity()
    for wrong in ([1.1], [-0.1], [float("nan")]):
        with pytest.raises(ParameterError, match="between 0 and 1"):
            dp.linear_query(wrong)


def test_a_schema_gives_categories_only_where_no_other_domain_is_stated():
    stated = SchemaDomain(None, {"d": Role.IDENTIFIER}, {name: (name, "x") for name in "abcd"})
    assert stated.with_categories({"a": ["q"]}, ["b"], None) == {"a": ["q"], "c": ("c", "x")}
    assert stated.with_categories({}, [], ["a", "d"]) == {"a": ("a", "x")}
