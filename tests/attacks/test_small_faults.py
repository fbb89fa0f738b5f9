"""Small faults: wide tables, trees that contain themselves, weights that dominate, files that are lost."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from unittest import mock

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.cli.application import main
from shoal.errors import SchemaError
from shoal.flow import manifest, remarks


def run(*arguments):
    """Return exit code and messages of a command."""
    err = StringIO()
    with (
        mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]),
        redirect_stdout(StringIO()),
        redirect_stderr(err),
        pytest.raises(SystemExit) as stop,
    ):
        main()
    return stop.value.code or 0, err.getvalue()


def calls(columns):
    """Return how many functions are called to protect a table of so many columns."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({f"c{i}": rng.integers(0, 99, 12) for i in range(columns)})
    number = 0

    def count(_frame, event, _argument):
        nonlocal number
        number += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        shoal.protect(table, 3, quasi=table.columns, method="mdav", accept_loss=True)
    finally:
        sys.setprofile(before)
    return number


def growth(few, many):
    """Return how much more work many columns are than few, relative to their number; 1 if it grows linearly."""
    calls(10)  # everything is imported and compiled
    return calls(many) / calls(few) * few / many


def test_the_work_grows_linearly_with_the_columns():
    assert growth(250, 500) < 1.03


def test_work_that_grows_faster_is_noticed(monkeypatch):
    original = manifest._column_entry

    def slow(column, recodes, *further):
        for name in recodes:  # each column looks at all columns
            str(name).strip()
        return original(column, recodes, *further)

    monkeypatch.setattr(manifest, "_column_entry", slow)
    assert growth(250, 500) > 1.05


def test_a_tree_that_contains_itself_is_refused():
    tree = {"b": ["x", "y"]}
    tree["a"] = tree
    looped = ["x", "y"]
    looped.append(looped)
    table = pl.DataFrame({"sex": ["x", "y"] * 6, "age": range(12)})
    for found in (tree, {"all": [tree]}, {"all": looped}):
        with pytest.raises(SchemaError, match="contains itself"):
            shoal.protect(table, 3, quasi=["sex", "age"], hierarchies={"sex": found}, method="mdav")


def test_an_unchanged_weight_keeps_its_text(tmp_path):
    rows = "".join(f"{20 + i},{'1.50' if i % 2 else '2.00'},{i % 3}.10\n" for i in range(12))
    (tmp_path / "people.csv").write_text("age,w,v\n" + rows)
    words = ["--quasi", "age", "--other", "v", "--sampling-weight", "w", "--release-weight", "unchanged"]
    target = tmp_path / "out.csv"
    assert run("protect", tmp_path / "people.csv", "-k", 3, *words, "--method", "mdav", "-o", target)[0] == 0
    cells = [line.split(",")[1:] for line in target.read_text().splitlines()]
    assert cells == [line.split(",")[1:] for line in ("age,w,v\n" + rows).splitlines()]


def weighted(weights):
    table = pl.DataFrame({"age": range(12), "w": weights * 4})
    return shoal.protect(table, 3, quasi=["age"], sampling_weight="w", method="mdav", accept_loss=True)


def test_a_weight_that_dominates_its_group_is_a_finding(monkeypatch):
    found = [remark for remark in weighted([1_000.0, 1.0, 1.0]).remarks if remark.code == "dominant-weight"]
    assert [remark.column for remark in found] == ["w"]
    assert "in 4 groups of 4 one record has more than 80 %" in found[0].text
    assert not any(remark.code == "dominant-weight" for remark in weighted([7.0, 1.0, 1.0]).remarks)
    monkeypatch.setattr(remarks, "DOMINANT_SHARE", 1.0)  # the wrong version
    assert not any(remark.code == "dominant-weight" for remark in weighted([1_000.0, 1.0, 1.0]).remarks)


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_hundreds_of_categories_are_protected(effort):
    rng = np.random.default_rng(0)
    codes = [*range(607), *rng.integers(0, 607, 393).tolist()]
    table = pl.DataFrame({"job": [f"job {code}" for code in codes], "age": rng.integers(0, 99, 1_000)})
    release = shoal.protect(table, 3, quasi=["job", "age"], effort=effort, accept_loss=True)
    assert release.data.group_by("job", "age").len()["len"].min() >= 3


def test_a_schema_that_was_edited_is_not_replaced(tmp_path):
    pl.DataFrame({"age": range(12), "sex": ["x", "y"] * 6}).write_csv(tmp_path / "people.csv")
    target = tmp_path / "people.toml"
    assert run("schema", tmp_path / "people.csv", "-o", target)[0] == 0
    edited = target.read_text() + "# decided on Monday\n"
    target.write_text(edited)
    code, text = run("schema", tmp_path / "people.csv", "-o", target)
    assert (code, text.count("\n")) == (2, 1)
    assert target.read_text() == edited


@pytest.mark.parametrize("rows", [9, 13])
def test_tables_of_different_length_are_not_compared(tmp_path, rows):
    table = pl.DataFrame({"age": range(13), "income": range(13)})
    table.head(12).write_csv(tmp_path / "a.csv")
    table.head(rows).write_csv(tmp_path / "b.csv")
    code, text = run("evaluate", tmp_path / "a.csv", tmp_path / "b.csv", "--quasi", "age,income")
    assert (code, text.count("\n")) == (2, 1)
    assert "12" in text


@pytest.mark.parametrize("missing", ["by-pattern", "suppress", "category"])
def test_missing_categories_are_searched_with_a_hierarchy(missing):
    """A missing cell has a code that the tree has no leaf for; it is under the root only."""
    values = ["a1", "a2", "b1", "b2", None, None, None, "a1", "b2", "a2", "b1", "a1"]
    release = shoal.protect(
        pl.DataFrame({"q": values}), 3, quasi=["q"], recode="hierarchy", missing=missing, accept_loss=True,
        hierarchies={"q": {"a": ["a1", "a2"], "b": ["b1", "b2"]}},
    )  # fmt: skip
    assert min(release.data["q"].to_list().count(value) for value in release.data["q"].to_list()) >= 3
