"""Rule books: one table per rule that violates only that rule, thresholds, and what is never said."""

import json

import polars as pl
import pytest

import shoal
from shoal.api.rule_check import check_rules
from shoal.errors import FileProblem, ParameterError
from shoal.privacy.rule_books import SHIPPED, parse_rule_book, read_rule_book

FINE = pl.DataFrame(
    {
        "age": [30, 30, 61, 61],
        "sex": ["f", "m", "f", "m"],
        "year": [2019, 2019, 2020, 2020],
        "zip": ["816", "816", "819", "000"],
    }
)
PEOPLE = pl.DataFrame({"zip": ["816", "819"], "people": [90_000, 45_000]})


def violated(table, book="hipaa-safe-harbor", **options):
    return {(line.rule, line.column) for line in check_rules(table, book, **options).lines if line.satisfied is False}


def test_a_table_without_violations():
    assert violated(FINE, populations=PEOPLE) == set()
    found = check_rules(FINE, "hipaa-safe-harbor", populations=PEOPLE)
    assert not found.violated
    assert any(line.satisfied is None for line in found.lines)  # photographs and the like are not shown by a table


@pytest.mark.parametrize(
    ("name", "values", "rule"),
    [
        ("name", ["A B", "C D", "E F", "G H"], "direct identifiers"),
        ("contact", ["a@b.org", "c@d.org", "e@f.org", "g@h.org"], "direct identifiers"),
        ("phone", ["1", "2", "3", "4"], "direct identifiers"),
        ("ssn", ["123-45-6789", "123-45-6780", "123-45-6781", "123-45-6782"], "direct identifiers"),
        ("mrn", [1, 2, 3, 4], "direct identifiers"),
        ("health_plan", [1, 2, 3, 4], "direct identifiers"),
        ("account", [1, 2, 3, 4], "direct identifiers"),
        ("licence", [1, 2, 3, 4], "direct identifiers"),
        ("vin", [1, 2, 3, 4], "direct identifiers"),
        ("device", [1, 2, 3, 4], "direct identifiers"),
        ("website", ["a", "b", "c", "d"], "direct identifiers"),
        ("source", ["1.2.3.4", "1.2.3.5", "1.2.3.6", "1.2.3.7"], "direct identifiers"),
        ("fingerprint", ["a", "b", "c", "d"], "direct identifiers"),
        ("photo", ["a", "b", "c", "d"], "direct identifiers"),
        ("patient_id", [1, 2, 3, 4], "direct identifiers"),
        ("city", ["a", "b", "a", "b"], "areas"),
        ("admitted", ["2020-01-03", "2020-01-03", "2020-02-03", "2020-02-03"], "dates"),
    ],
)
def test_each_kind_of_column_violates_its_own_rule_only(name, values, rule):
    assert violated(FINE.with_columns(pl.Series(name, values)), populations=PEOPLE) == {(rule, name)}


def test_dates_ages_and_postcodes():
    dates = FINE.with_columns(born=pl.date(1980, 1, 2))
    assert violated(dates, populations=PEOPLE) == {("dates", "born")}
    assert violated(FINE.with_columns(age=pl.Series([30, 30, 90, 90])), populations=PEOPLE) == {("ages", "age")}
    coded = FINE.with_columns(age=pl.Series(["30-39", "30-39", "90+", "90+"]))
    assert violated(coded, populations=PEOPLE) == set()
    long = FINE.with_columns(zip=pl.Series(["81675", "81675", "819", "819"]))
    assert ("postcodes", "zip") in violated(long)
    starred = FINE.with_columns(zip=pl.Series(["816**", "816**", "819**", "000"]))
    assert violated(starred, populations=PEOPLE) == set()


def test_small_areas_need_a_table_of_populations():
    def line(**options):
        found = check_rules(FINE, "hipaa-safe-harbor", **options).lines
        return next(each for each in found if each.rule == "small postcode areas").satisfied

    assert line() is None
    assert line(populations=PEOPLE) is True
    assert line(populations=PEOPLE.with_columns(people=pl.Series([20_000, 45_000]))) is False
    assert line(populations=PEOPLE.with_columns(people=pl.Series([20_001, 45_000]))) is True
    assert line(populations=PEOPLE[:1]) is None  # an area without a figure is not shown


@pytest.mark.parametrize(
    ("size", "ema", "cms", "rounded"), [(10, False, False, False), (11, False, True, True), (12, True, True, True)]
)
def test_thresholds(size, ema, cms, rounded):
    table = pl.DataFrame({"region": ["a"] * size + ["b"] * 20})
    own = parse_rule_book("thresholds = {largest_risk = 0.09, round_risk = 2}", "own")
    for book, expected in (("ema-0.09", ema), ("cms-11", cms), (own, rounded)):
        found = check_rules(table, book, quasi=["region"])
        assert [line.satisfied for line in found.lines] == [expected]
        assert found.violated == (not expected)
    assert "not rounded" in str(check_rules(table, "ema-0.09", quasi=["region"]))
    assert "rounded to 2 digits" in str(check_rules(table, own, quasi=["region"]))


def test_l_is_counted_for_each_confidential_attribute():
    table = pl.DataFrame({"region": ["a", "a", "b", "b"], "ill": ["x", "x", "x", "y"], "job": ["p", "q", "p", "q"]})
    book = parse_rule_book("thresholds = {l = 2}", "own")
    found = check_rules(table, book, quasi=["region"], confidential=["ill", "job"])
    assert {line.column: line.satisfied for line in found.lines} == {"ill": False, None: True}
    assert found.lines[0].text == 'the equivalence class with the fewest values of "ill" has 1 value, 2 are needed'
    assert [line.satisfied for line in check_rules(table, book, quasi=["region"], unnamed="other").lines] == [None]


def test_books_are_examples_and_nothing_is_called_compliant():
    for name in SHIPPED:
        text = str(check_rules(FINE, name, quasi=["sex"], unnamed="other")).lower()
        assert "confirmed by your lawyer" in text
        assert "compliant" not in text
        assert "compliance" not in text
    own = parse_rule_book('title = "Ours"\nthresholds = {k = 2}', "ours")
    assert "lawyer" not in str(check_rules(FINE, own, quasi=["sex"], unnamed="other"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = 5", 'unknown entry "k"'),
        ("[thresholds]\nkk = 5", 'unknown entry "kk"'),
        ("[thresholds]\nk = 'five'", "must be int"),
        ("[thresholds]\nk = 0", "above 0"),
        ("[columns]\ndates = 'month'", "any or year"),
        ("title = 'x'", "no rule"),
        ("[", "not valid TOML"),
    ],
)
def test_wrong_books_are_named(text, message, tmp_path):
    path = tmp_path / "book.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_rule_book(path)


def test_unknown_books_and_missing_roles():
    with pytest.raises(ParameterError, match="there is no rule book"):
        read_rule_book("hipaa")
    with pytest.raises(FileProblem, match="was not found"):
        read_rule_book("nowhere.toml")
    with pytest.raises(ParameterError, match="name the quasi-identifiers"):
        check_rules(FINE, "cms-11")


def test_values_of_records_are_in_no_line():
    table = FINE.with_columns(name=pl.Series(["Zaphod", "Trillian", "Marvin", "Ford"]))
    text = json.dumps(check_rules(table, "hipaa-safe-harbor").to_dict())
    assert not any(word in text for word in ("Zaphod", "816", "819"))
    assert shoal.__version__
