"""Special uniques, contributions of columns and k over subsets: the specification's figures and a reference."""

import json
from itertools import combinations
from math import factorial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.api.banding import column_to_band
from shoal.cli.application import app
from shoal.datasets import reference_path
from shoal.errors import DataError, ParameterError, SchemaError
from shoal.evaluate.special_uniques import special_uniques
from shoal.evaluate.subset_classes import count_subsets
from shoal.tables import Table

from naive import special_uniques as naive

ROWS = ["0000", "0001", "0010", "0100", "1100", "1100", "0000", "1011"]
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def table_of(rows):
    return Table.from_native(pl.DataFrame({f"x{c}": [row[c] for row in rows] for c in range(len(rows[0]))}))


def found_in(rows, **options):
    return special_uniques(table_of(rows), [f"x{c}" for c in range(len(rows[0]))], **options)


@pytest.fixture(scope="module")
def testdata():
    table = Table.from_native(pl.read_csv(reference_path("testdata")))
    return special_uniques(table, KEYS, size=7, sampling_fraction=0.01)


def test_the_worked_example():
    found = found_in(ROWS, sampling_fraction=0.1)
    assert found.scores.tolist() == [0, 4, 4, 2, 0, 0, 0, 8]
    assert np.round(found.dis_suda[found.scores > 0], 6).tolist() == [0.116189, 0.116189, 0.054125, 0.231964]
    assert [round(100 * share, 2) for share in found.contributions.values()] == [66.67, 22.22, 55.56, 55.56]


def test_counting_supersets_would_give_other_scores():
    """The wrong neighbour that a package on PyPI computes: 8 8 5 13 instead of 4 4 2 8."""
    wrong = naive.scores(ROWS, naive.uniques_with_supersets(ROWS, 4))
    assert [score for score in wrong if score] == [8, 8, 5, 13]
    assert found_in(ROWS).scores.tolist() == naive.scores(ROWS, naive.minimal_uniques(ROWS, 4)) != wrong


def test_testdata_as_in_the_specification(testdata):
    assert testdata.unique_records == 157
    assert testdata.total_score == 4890
    assert (testdata.scores.max(), int(testdata.scores.argmax()) + 1) == (720, 3825)
    assert [one.minimal_uniques for one in testdata.known_columns()] == [1, 11, 94, 86, 35, 7, 1]
    shares = [12.045, 33.865, 18.098, 53.415, 22.515, 92.597, 24.949]
    assert [round(100 * share, 3) for share in testdata.contributions.values()] == shares
    assert round(testdata.dis, 7) == 0.0126277
    assert round(float(testdata.dis_suda.max()), 6) == 0.678143
    assert int((testdata.dis_suda > 0.1).sum()) == 35


@pytest.mark.parametrize(("k", "cells"), [(4, 346), (3, 269)])
def test_small_cells_of_tables_of_up_to_three_keys(k, cells):
    table = Table.from_native(pl.read_csv(reference_path("testdata")))
    found = special_uniques(table, KEYS, size=3, k=k)
    assert sum(one.small_classes for one in found.sets) == cells


@st.composite
def small_tables(draw):
    """Rows of few values, so that ties, constant columns and equal rows are frequent."""
    d = draw(st.integers(1, 5))
    values = st.lists(st.integers(0, draw(st.integers(0, 3))), min_size=d, max_size=d)
    rows = draw(st.lists(values, min_size=1, max_size=70))
    return [tuple(row) for row in rows]


@given(small_tables(), st.integers(1, 5), st.integers(1, 4))
def test_scores_and_classes_equal_the_reference_implementation(rows, size, k):
    d = len(rows[0])
    size = min(size, d)
    found = found_in(rows, size=size, k=k, sampling_fraction=0.25)
    minimal = naive.minimal_uniques(rows, size)
    assert found.scores.tolist() == naive.scores(rows, minimal)
    assert list(found.contributions.values()) == pytest.approx(naive.contributions(rows, minimal))
    dis, each = naive.dis_suda(rows, minimal, 0.25)
    assert found.dis == pytest.approx(dis)
    assert found.dis_suda.tolist() == pytest.approx(each)
    by_columns = {one.columns: one for one in found.sets}
    assert len(by_columns) == sum(1 for s in range(1, size + 1) for _ in combinations(range(d), s))
    for columns, one in by_columns.items():
        sizes = naive.classes(rows, [int(name[1:]) for name in columns]).values()
        assert (one.k, one.classes) == (min(sizes), len(sizes))
        assert one.small_classes == sum(count < k for count in sizes)
        assert one.small_records == sum(count for count in sizes if count < k)
        same = sum(count * (count - 1) for count in sizes)
        assert one.separation == pytest.approx(1 - same / max(1, len(rows) * (len(rows) - 1)))


@given(small_tables(), st.integers(1, 4), st.integers(1, 4), st.randoms())
def test_persons_equal_the_reference_implementation(rows, size, k, random):
    size = min(size, len(rows[0]))
    persons = [random.randrange(max(1, len(rows) // 2)) for _ in rows]
    found = found_in(rows, size=size, k=k, units=np.array(persons), sampling_fraction=0.5)
    minimal = naive.minimal_uniques(rows, size, persons)
    assert found.scores.tolist() == naive.scores(rows, minimal)
    assert list(found.contributions.values()) == pytest.approx(naive.contributions(rows, minimal))
    for one in found.sets:
        owners, sizes = {}, {}
        for row, person in zip(rows, persons, strict=True):
            values = tuple(row[int(name[1:])] for name in one.columns)
            owners.setdefault(values, set()).add(person)
            sizes[values] = sizes.get(values, 0) + 1
        below = [values for values, found_persons in owners.items() if len(found_persons) < k]
        assert (one.k, one.classes) == (min(map(len, owners.values())), len(owners))
        assert (one.small_classes, one.small_records) == (len(below), sum(sizes[values] for values in below))
    numbered = found_in(rows, size=size, k=k, units=np.arange(len(rows)), sampling_fraction=0.5)
    alone = found_in(rows, size=size, k=k, sampling_fraction=0.5)
    assert numbered.scores.tolist() == alone.scores.tolist()
    assert numbered.sets == alone.sets
    assert numbered.dis_suda.tolist() == alone.dis_suda.tolist()


def test_records_of_one_person_do_not_hide_each_other():
    """The wrong version counts records: a person whose two records are equal is then not unique."""
    rows = [(0, 0), (0, 0), (1, 0), (1, 1), (1, 1)]
    persons = np.array([0, 0, 1, 2, 3])
    assert found_in(rows).scores.tolist() == [0, 0, 1, 0, 0]
    found = found_in(rows, units=persons)
    assert found.scores.tolist() == [1, 1, 1, 0, 0]
    assert found.to_dict()["of"] == "units"
    assert any("Persons were counted" in note for note in found.notes)
    people = table_of(rows).native.with_columns(person=pl.Series(persons))
    assessed = shoal.assess(people, quasi=["x0", "x1"], unit="person", special_uniques=True, k=2).special_uniques
    assert assessed.scores.tolist() == [1, 1, 1, 0, 0]
    assert [one.k for one in assessed.known_columns()] == [1, 1]


@given(small_tables())
def test_values_are_named_only_if_k_records_share_them(rows):
    found = found_in(rows, k=3)
    for c, shown in enumerate(found.values.values()):
        counts = naive.classes(rows, [c])
        for value, records, share in shown:
            assert counts[(int(value),)] == records >= 3
            assert 0 < share <= 1


def test_values_of_fewer_than_k_persons_are_not_named():
    rows = [(0, i) for i in range(5)] + [(1, i) for i in range(5, 10)]
    both = found_in(rows, k=3)
    assert {value for value, _, _ in both.values["x0"]} == set()  # x1 alone is unique, so x0 contributes nothing
    rows = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1), (1, 1, 0)]
    assert {value for value, _, _ in found_in(rows, k=3).values["x0"]} == {"0", "1"}
    persons = np.array([0, 0, 1, 2, 3, 4])  # the three rows with 0 belong to two persons
    units = special_uniques(table_of(rows), ["x0", "x1", "x2"], k=3, units=persons)
    assert {value for value, _, _ in units.values["x0"]} == {"1"}


def test_more_than_one_word_of_bits():
    rng = np.random.default_rng(1)
    rows = [tuple(row) for row in rng.integers(0, 12, (300, 4)).tolist()]
    assert found_in(rows).scores.tolist() == naive.scores(rows, naive.minimal_uniques(rows, 4))


def test_without_uniques_everything_is_zero():
    found = found_in(["00", "00", "11", "11"], sampling_fraction=0.5)
    assert (found.dis, found.dis_suda.tolist(), found.band_first) == (0.0, [0.0] * 4, None)
    assert "No record is unique" in found.sentence()


def test_uniques_without_pairs_are_certain_matches():
    found = found_in(["00", "01", "10"], sampling_fraction=0.5)
    assert found.dis == 1
    assert found.dis_suda.tolist() == [1.0, 1.0, 1.0]


def test_a_missing_value_is_a_value_of_its_own():
    table = Table.from_native(pl.DataFrame({"a": [1, 1, None, None], "b": [None, 2, 2, 2]}))
    found = special_uniques(table, ["a", "b"])
    assert found.scores.tolist() == [1, 1, 0, 0]
    assert found.contributions == {"a": 0.5, "b": 1.0}


def test_a_table_that_is_too_large_lowers_the_size_and_says_so():
    found = found_in(ROWS, cells=40)
    assert found.size == 1
    assert "up to 1 columns were counted instead of 4" in found.notes[0]


def test_many_values_ask_for_bands():
    rows = [(i, i % 2) for i in range(200)]
    assert any("put into bands" in note for note in found_in(rows).notes)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, float("nan"), "a", True])
def test_wrong_fractions_are_refused(fraction):
    with pytest.raises(ParameterError, match="sampling_fraction"):
        found_in(ROWS, sampling_fraction=fraction)


def test_wrong_tables_are_refused():
    with pytest.raises(DataError, match="no records"):
        special_uniques(table_of(ROWS).in_order(np.array([], np.int64)), ["x0"])
    with pytest.raises(SchemaError, match="at least one column"):
        special_uniques(table_of(ROWS), [])
    with pytest.raises(ParameterError, match="subset_size"):
        found_in(ROWS, size=0)


def test_the_figures_do_not_depend_on_the_order_of_records():
    codes = np.random.default_rng(0).integers(0, 6, (500, 5))
    weights = np.array([0.0, *(float(factorial(5 - s)) for s in range(1, 6))])
    order = np.random.default_rng(1).permutation(500)
    one, other = count_subsets(codes, 5, 3, weights), count_subsets(codes[order], 5, 3, weights)
    assert (one.scores[order] == other.scores).all()
    assert all((getattr(one, name) == getattr(other, name)).all() for name in ("minimal", "smallest", "small_records"))


def test_python_command_line_and_json_agree(tmp_path):
    file = tmp_path / "people.csv"
    pl.read_csv(reference_path("testdata")).select(KEYS).write_csv(file)
    words = ["assess", str(file), "--quasi", ",".join(KEYS), "--special-uniques", "--subset-size", "3"]
    words += ["--sampling-fraction", "0.01", "-k", "4"]
    printed = CliRunner().invoke(app, [*words, "--json"])
    figures = json.loads(printed.output)["special_uniques"]
    python = shoal.assess(
        file, quasi=KEYS, special_uniques=True, subset_size=3, sampling_fraction=0.01, k=4
    ).special_uniques
    assert figures == json.loads(json.dumps(python.to_dict()))
    assert sum(one["small_classes"] for one in figures["known_columns"]) == 346
    assert "scores" not in figures
    shown = CliRunner().invoke(app, words).output
    assert "sources of risk" in shown
    assert 'coarsen or remove "relat" first' in shown


def test_the_schema_names_the_column_to_coarsen_first(tmp_path):
    file = tmp_path / "people.csv"
    pl.DataFrame({"sex": ["f", "m"] * 50, "age": [i % 51 for i in range(100)]}).write_csv(file)
    text = CliRunner().invoke(app, ["schema", str(file)]).output
    assert "coarsen it first" in text
    single = shoal.Schema((shoal.Column("age", "quasi", "numeric"),))
    assert column_to_band(Table.from_native(pl.read_csv(file)), single) is None


def test_the_full_report_has_the_sources_of_risk_and_the_public_one_has_not(tmp_path):
    people = shoal.datasets.patients(200)
    release = shoal.protect(people, 3, quasi=["age", "region", "sex"], unnamed="other", method="mdav")
    release.report(tmp_path / "full.html")
    release.report(tmp_path / "public.html", public=True)
    full, public = ((tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in ("full", "public"))
    assert '<h2 id="sources-of-risk">Sources of risk</h2>' in full
    assert "sources-of-risk" not in public
