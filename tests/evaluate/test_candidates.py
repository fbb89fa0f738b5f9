"""The candidates attack: examples, reference implementations, and the wrong neighbours that understate the risk."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app
from shoal.datasets import reference_path
from shoal.evaluate.candidates import candidate_counts, candidates
from shoal.evaluate.covering import any_general, covered_columns
from shoal.evaluate.paired_columns import pair_columns
from shoal.tables import Table

from naive import candidates as naive
from naive.local_suppression import locally_suppressed

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
TRUE = pl.DataFrame({"a": [9, 1, 1, 1], "b": [1, 1, 1, 1]})
HIDDEN = pl.DataFrame({"a": [None, 1, 1, 1], "b": [1, 1, 1, 1]})


def attacked(before, after, names, k=3, schema=None):
    one, other = Table.from_native(before), Table.from_native(after)
    covered = covered_columns(one, other, names, schema)
    return covered, pair_columns(one, other, names, schema), k


def counted(before, after, names, schema=None):
    covered, paired, _ = attacked(before, after, names, schema=schema)
    counts, own = candidate_counts(covered, paired, np.arange(before.height))
    return counts.tolist(), own.tolist()


def test_the_example_of_the_specification():
    assert counted(TRUE, HIDDEN, ["a", "b"])[0] == [1, 4, 4, 4]
    found = shoal.risk(TRUE.cast(pl.String), HIDDEN.cast(pl.String), quasi=["a", "b"], k=4)
    attack = found.candidates
    assert attack.success.value == 0.4375
    assert (attack.single, attack.below, attack.baseline.value) == (1, 1, 0.25)
    assert found.attack("record-linkage").success.value == pytest.approx(0.3125)


def test_wildcards_pass_the_example_and_verify_says_what_that_means(tmp_path):
    assert min(naive.wildcard_counts(HIDDEN.rows())) == 4
    found = shoal.verify(HIDDEN, 4, quasi=["a", "b"], missing_semantics="wildcard")
    assert found.k == 4
    assert "may still find the row" in found.notes[0]
    HIDDEN.write_csv(tmp_path / "hidden.csv")
    words = ["verify", str(tmp_path / "hidden.csv"), "-k", "4", "--quasi", "a,b", "--missing-semantics", "wildcard"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0
    assert "may still find the row" in shown.output
    assert "evaluate" in json.loads(CliRunner().invoke(app, [*words, "--json"]).output)["notes"][0]
    assert "may still find" not in CliRunner().invoke(app, [*words[:-2], "--missing-semantics", "distinct"]).output
    assert not shoal.verify(TRUE[1:], 3, quasi=["a", "b"], missing_semantics="wildcard").notes


@pytest.mark.parametrize(
    ("k", "cells", "below", "single", "expected"), [(3, 293, 113, 53, 282.9817), (5, 500, 192, 35, 238.5168)]
)
def test_local_suppression_of_testdata_as_in_the_specification(k, cells, below, single, expected):
    """The numbers of cells, and of persons below k, are those of the table that sdcMicro 5.8.1 releases."""
    table = pl.read_csv(reference_path("testdata")).select(KEYS)
    hidden = locally_suppressed(table.to_numpy(), k)
    assert hidden.sum() == cells
    columns = zip(KEYS, hidden.T, strict=True)
    released = table.with_columns(pl.when(~pl.Series(some)).then(pl.col(name)).alias(name) for name, some in columns)
    assert shoal.verify(released, k, quasi=KEYS, missing_semantics="wildcard").k >= k
    found = candidates(*attacked(table, released, KEYS)[:2], k=k)
    assert (found.below, found.single) == (below, single)
    assert found.success.value * table.height == pytest.approx(expected, abs=1e-4)
    assert f"fewer than {k} released rows" in found.sentence()
    texts = table.cast(pl.String), released.cast(pl.String)
    distance = shoal.risk(*texts, quasi=KEYS, k=k).attack("record-linkage").success.value
    assert distance < found.success.value
    if k == 3:
        assert distance == pytest.approx(0.0443, abs=0.00005)


@pytest.mark.parametrize("k", [3, 5])
def test_suppression_by_groups_leaves_every_person_with_k_candidates(k):
    table = pl.read_csv(reference_path("testdata")).select(KEYS)
    release = shoal.protect(
        table, k, quasi=KEYS, kinds=dict.fromkeys(KEYS, "nominal"), recode="suppress", method="nominal-mdav",
        accept_loss=True,
    )  # fmt: skip
    found = release.risk.candidates
    assert (found.single, found.below, found.k) == (0, 0, k)
    assert "Each of 4,580 persons" in found.sentence()


@st.composite
def suppressed_tables(draw):
    d = draw(st.integers(1, 4))
    n = draw(st.integers(1, 25))
    rows = draw(st.lists(st.lists(st.integers(0, 2), min_size=d, max_size=d), min_size=n, max_size=n))
    hidden = draw(st.lists(st.lists(st.booleans(), min_size=d, max_size=d), min_size=n, max_size=n))
    released = [[None if h else v for v, h in zip(*pair, strict=True)] for pair in zip(rows, hidden, strict=True)]
    return rows, released


def frame(rows, kind=None):
    columns = {f"x{c}": [row[c] for row in rows] for c in range(len(rows[0]))}
    return pl.DataFrame(columns, schema=None if kind is None else dict.fromkeys(columns, kind))


@given(suppressed_tables(), st.booleans())
def test_suppressed_cells_equal_the_reference_implementation(tables, texts):
    rows, released = tables
    before, after = frame(rows, pl.Int64), frame(released, pl.Int64)
    if texts:
        before, after = before.cast(pl.String), after.cast(pl.String)
    wanted = naive.candidates(rows, released)
    assert counted(before, after, before.columns) == (list(wanted[0]), list(wanted[1]))


@given(suppressed_tables(), st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=8))
def test_a_control_table_is_counted_by_hand(tables, people):
    """The wrong version gives people who are not in the release the baseline of a guess among its rows."""
    rows, released = tables
    d = len(rows[0])
    before, after = frame(rows, pl.Int64), frame(released, pl.Int64)
    others = frame([person[:d] for person in people], pl.Int64)
    if len(rows) < 2 or not any(cell is None for row in released for cell in row):
        return
    counts = [
        sum(all(cell in {None, value} for cell, value in zip(row, person, strict=False)) for row in released)
        for person in people
    ]
    found = shoal.risk(before, after, quasi=before.columns, control=others, k=2).candidates
    assert found.baseline.value == pytest.approx(np.mean([1 / count if count else 0.0 for count in counts]))
    assert f"{sum(count == 1 for count in counts)} of whom" in found.description


@st.composite
def generalised_tables(draw):
    """Rows and cells that cover them: values, ranges, sets or nothing shown."""
    d, n = draw(st.integers(1, 3)), draw(st.integers(1, 20))
    rows = [[draw(st.integers(0, 6)) for _ in range(d)] for _ in range(n)]
    cells, texts = [], []
    kinds = [draw(st.sampled_from(["range", "set", "value"])) for _ in range(d)]
    for row in rows:
        cell, text = [], []
        for value, kind in zip(row, kinds, strict=True):
            if draw(st.integers(0, 4)) == 0:
                one, shown = None, None
            elif kind == "range":
                low, high = value - draw(st.integers(0, 2)), value + draw(st.integers(0, 2))
                one, shown = (low, high), f"{low} to {high}" if low != high else str(low)
            elif kind == "set":
                one = frozenset([value, *draw(st.lists(st.sampled_from([r for rs in rows for r in rs]), max_size=2))])
                shown = "{" + ", ".join(map(str, sorted(one))) + "}" if len(one) > 1 else str(value)
            else:
                one, shown = value, str(value)
            cell.append(one)
            text.append(shown)
        cells.append(cell)
        texts.append(text)
    return rows, cells, texts


@given(generalised_tables())
def test_ranges_and_sets_equal_the_reference_implementation(tables):
    rows, cells, texts = tables
    before, after = frame(rows, pl.Int64), frame(texts, pl.String)
    present = [set(column) for column in zip(*rows, strict=True)]
    cells = [
        [
            frozenset(v for v in cell if v in present[c]) if isinstance(cell, frozenset) else cell
            for c, cell in enumerate(row)
        ]
        for row in cells
    ]
    known = all(v in present[c] for row in tables[1] for c, cell in enumerate(row)
                if isinstance(cell, frozenset) for v in cell)  # fmt: skip
    if not known:
        return  # a set that names a value which no person of the column has
    assert counted(before, after, before.columns) == tuple(map(list, naive.candidates(rows, cells)))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=15))
def test_means_among_covering_rows_are_compared_by_distance(rows):
    """One column is suppressed everywhere, the others are means: the nearest rows are the candidates."""
    before = pl.DataFrame({"x": [r[0] for r in rows], "y": [r[1] for r in rows], "z": [1] * len(rows)})
    middle = [(r[0] + 0.25, r[1] + 0.25) for r in rows]
    after = pl.DataFrame({"x": [r[0] for r in middle], "y": [r[1] for r in middle], "z": [None] * len(rows)},
                         schema={"x": pl.Float64, "y": pl.Float64, "z": pl.Int64})  # fmt: skip
    covered, paired, _ = attacked(before, after, ["x", "y", "z"])
    assert [column.truthful for column in covered] == [False, False, True]
    scales = [pair.deviation or 1.0 for pair in paired[:2]]
    found = candidate_counts(covered, paired, np.arange(len(rows)))
    wanted = naive.nearest_candidates(rows, middle, scales)
    assert (found[0].tolist(), found[1].tolist()) == tuple(map(list, wanted))


def test_nodes_of_a_hierarchy_cover_their_leaves():
    tree = {"craft": ["baker", "painter"], "medicine": ["dentist", "surgeon"]}
    before = pl.DataFrame({"job": ["baker", "painter", "dentist", "surgeon"]})
    after = pl.DataFrame({"job": ["craft", "craft", "dentist", "*"]})
    schema = shoal.Schema((shoal.Column("job", "quasi", "nominal", hierarchy=tree),))
    assert counted(before, after, ["job"], schema) == ([3, 3, 2, 1], [True] * 4)


@pytest.mark.parametrize("text", ["30-34", "30 to 34", "[30, 35)", "[30, 34]", "(29, 34]", "(29; 35)"])
def test_ranges_are_read(text):
    before = pl.DataFrame({"x": [30, 34, 35, 29]})
    after = pl.DataFrame({"x": [text, text, "35", "29"]})
    assert counted(before, after, ["x"])[0] == [2, 2, 1, 1]


def test_dates_and_ordered_categories_are_read():
    dates = pl.Series(["2020-01-01", "2020-02-01", "2021-01-01"]).str.to_date()
    assert counted(
        pl.DataFrame({"d": dates}), pl.DataFrame({"d": ["2020-01-01 to 2020-02-01"] * 2 + ["2021-01-01"]}), ["d"]
    )[0] == [2, 2, 1]
    schema = shoal.Schema((shoal.Column("s", "quasi", "ordinal", order=("low", "mid-high", "high")),))
    before = pl.DataFrame({"s": ["low", "mid-high", "high"]})
    after = pl.DataFrame({"s": ["low-mid-high", "low-mid-high", "high"]})
    assert counted(before, after, ["s"], schema)[0] == [2, 2, 1]


@pytest.mark.parametrize("recode", ["range", "set", "suppress", "hierarchy"])
def test_every_generalising_recode_keeps_the_own_row_and_k_candidates(recode):
    people = shoal.datasets.patients(150)
    release = shoal.protect(
        people, 4, quasi=["age", "income"] if recode == "range" else ["age", "sex", "region"], recode=recode,
        method="mdav", unnamed="other", accept_loss=True,
    )  # fmt: skip
    found = release.risk.candidates
    assert found is not None
    assert (found.below, found.single) == (0, 0)
    assert found.success.value <= 1 / 4


def test_means_have_no_candidates_attack():
    people = shoal.datasets.patients(60)
    release = shoal.protect(people, 3, quasi=["age", "income"], method="mdav", unnamed="other")
    assert release.risk.candidates is None
    covered = covered_columns(Table.from_native(people), release.table, ["age", "income"])
    assert not any_general(covered)


def test_a_cell_that_does_not_cover_its_own_value_is_not_used_to_rule_out():
    before = pl.DataFrame({"x": ["a", "b", "c"]})
    covered = covered_columns(
        Table.from_native(before), Table.from_native(pl.DataFrame({"x": ["a", "a", None]})), ["x"]
    )
    assert not covered[0].truthful


def test_a_population_is_counted_by_containment_first():
    """By the middle of the range 20-60 an age of 22 would be nearer to the class of 18."""
    released = pl.DataFrame({"age": ["20-60", "20-60", "18", "18"]})
    population = pl.DataFrame({"age": [18, 18, 22, 25, 59, 60, 61]})
    found = shoal.assess(released, quasi=["age"], population=population).risk.population
    assert sorted([found.k_map, found.population - found.k_map]) == [2, 5]


def test_terminal_report_and_comparison_show_the_attack(tmp_path):
    TRUE.write_csv(tmp_path / "true.csv")
    HIDDEN.write_csv(tmp_path / "hidden.csv")
    words = ["evaluate", str(tmp_path / "true.csv"), str(tmp_path / "hidden.csv"), "--quasi", "a,b", "-k", "4"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "1 of 4 persons have fewer than 4 released rows" in " ".join(shown.output.split())
    attacks = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)["risk"]["attacks"]
    assert attacks[0]["name"] == "candidates"
    assert attacks[0]["single"] == 1
    people = shoal.datasets.patients(120)
    release = shoal.protect(
        people, 4, quasi=["sex", "region"], recode="suppress", method="nominal-mdav", unnamed="other", accept_loss=True
    )  # fmt: skip
    release.report(tmp_path / "full.html")
    text = (tmp_path / "full.html").read_text(encoding="utf-8")
    assert "Candidates" in text
    assert "released rows that cover the true values" in text
    compared = shoal.compare(people, [4], methods=["nominal-mdav"], quasi=["sex", "region"], recode="suppress",
                             unnamed="other")  # fmt: skip
    assert 0 < compared.combinations[0].candidates <= 1 / 4
