import builtins
import datetime as dt
import sys

import narwhals as nw
import pandas as pd
import polars as pl
import pyreadstat
import pytest

from shoal.errors import DataError, FileProblem, MissingExtra, SchemaError
from shoal.tables import Table, read_head, read_table, stats_files, write_table

FRAME = pl.DataFrame(
    {
        "age": pl.Series([34, -9, 51, 40], dtype=pl.Int32),
        "sex": [1.0, 2.0, None, 1.0],
        "score": [0.1, 1e-9, -2.5, None],
        "name": ["Ann", "Zoë", None, "a long text" * 30],
        "born": [dt.date(1990, 1, 2), None, dt.date(1899, 12, 31), dt.date(2024, 2, 29)],
        "seen": [
            dt.datetime.fromisoformat("2020-01-02 03:04:05"),
            None,
            dt.datetime.fromisoformat("1999-12-31 00:00:00"),
            dt.datetime.fromisoformat("1960-01-01 00:00:00"),
        ],
        "hour": [dt.time(1, 2, 3), None, dt.time(23, 59, 59), dt.time(0)],
    }
)
LABELS = {"age": "Age in years", "sex": "Geschlecht", "born": "Date of birth"}
MEANINGS = {"sex": {1: "männlich", 2: "weiblich"}, "age": {-9: "refused"}}


@pytest.fixture(params=["sav", "zsav", "dta", "xpt"])
def source(request, tmp_path):
    path = tmp_path / f"people.{request.param}"
    labels = {"column_labels": LABELS, "file_label": "A survey"}
    if request.param == "dta":
        pyreadstat.write_dta(FRAME, path, variable_value_labels=MEANINGS, variable_format={"score": "%12.4f"}, **labels)
    elif request.param == "xpt":
        pyreadstat.write_xport(FRAME, path, table_name="PEOPLE", variable_format={"score": "BEST12"}, **labels)
    else:
        pyreadstat.write_sav(
            FRAME,
            path,
            variable_value_labels=MEANINGS,
            missing_ranges={"age": [-9, {"lo": 900, "hi": 999}]},
            variable_measure={"age": "scale", "sex": "nominal"},
            variable_display_width={"sex": 12},
            variable_format={"age": "F3.0", "score": "F12.4", "born": "EDATE10"},
            note=["first note"],
            compress=request.param == "zsav",
            **labels,
        )
    return path


def metadata(path):
    """What the file says beyond its values, read by the library itself."""
    reader = {".dta": "read_dta", ".xpt": "read_xport"}.get(path.suffix, "read_sav")
    options = {} if path.suffix == ".xpt" else {"user_missing": True}
    frame, found = getattr(pyreadstat, reader)(path, output_format="polars", **options)
    names = (
        "column_names_to_labels variable_value_labels original_variable_types variable_measure missing_ranges "
        "variable_display_width readstat_variable_types file_label notes table_name"
    )
    return frame, {name: getattr(found, name) for name in names.split()}


def test_labels_formats_and_values_survive_the_round_trip(source):
    table = read_table(source)
    target = source.with_stem("out")
    write_table(table, target)
    (before, said), (after, says) = metadata(source), metadata(target)
    assert after.equals(before)
    about_the_file = {name: (said.pop(name), says.pop(name)) for name in ("file_label", "notes", "table_name")}
    assert says == said
    assert about_the_file["file_label"][0] == "A survey"
    assert not about_the_file["file_label"][1]
    assert not about_the_file["notes"][1]
    assert about_the_file["table_name"][1] in {None, "DATASET"}


def test_the_same_table_gives_the_same_bytes_at_any_time(source, monkeypatch):
    table, target = read_table(source), source.with_stem("out")
    write_table(table, target)
    first = target.read_bytes()
    assert b"1970" in first or b"Jan 70" in first or b"JAN70" in first
    after = stats_files._fix_time_stamps
    monkeypatch.setattr(stats_files, "_fix_time_stamps", lambda *_: None)
    write_table(table, target)
    assert target.read_bytes() != first  # the time of writing
    today = target.read_bytes()
    after(target, source.suffix)
    assert target.read_bytes() == first
    changed = [place for place in range(len(first)) if first[place] != today[place]]
    assert len(changed) <= 64


def test_labels_can_be_read_from_the_table(source):
    table = read_table(source)
    assert table.variable_label("age") == "Age in years"
    assert table.variable_label("score") is None
    assert table.value_labels("score") is None
    if source.suffix == ".xpt":  # the format has none
        assert table.value_labels("sex") is None
    else:
        assert table.value_labels("sex") == MEANINGS["sex"]
    kept = table.without(["age"])
    with pytest.raises(SchemaError):
        kept.variable_label("age")
    assert kept.variable_label("sex") == "Geschlecht"


def test_dates_numbers_and_missing_values_have_their_types(source):
    table = read_table(source)
    assert table.column("born").to_list() == FRAME["born"].to_list()
    assert table.column("seen").to_list() == FRAME["seen"].to_list()
    assert table.column("hour").to_list() == FRAME["hour"].to_list()
    assert table.column("name").to_list()[:3] == ["Ann", "Zoë", None]
    declared = source.suffix in {".sav", ".zsav"}
    assert table.column("age").to_list() == [34, None if declared else -9, 51, 40]
    assert table.column("age").dtype == (nw.Float64 if source.suffix == ".xpt" else nw.Int64)


def test_codes_of_missing_values_are_written_back_unless_the_column_was_replaced(tmp_path):
    pyreadstat.write_sav(FRAME, tmp_path / "a.sav", missing_ranges={"age": [-9], "name": ["Ann"]})
    table = read_table(tmp_path / "a.sav")
    assert table.column("name").to_list()[0] is None
    write_table(table, tmp_path / "b.sav")
    frame = metadata(tmp_path / "b.sav")[0]
    assert frame["age"].to_list() == [34, -9, 51, 40]
    assert frame["name"][0] == "Ann"
    write_table(table.with_columns({"age": table.column("age")}), tmp_path / "c.sav")
    assert metadata(tmp_path / "c.sav")[0]["age"].to_list() == [34, None, 51, 40]


def test_missing_letters_of_stata_are_missing_values_and_are_written_back(tmp_path):
    frame = pd.DataFrame({"age": [34, "a", 51, "b"], "x": [1, 2, 3, 4]})
    meanings = {"age": {34: "old", "a": "refused"}}
    pyreadstat.write_dta(
        frame, tmp_path / "a.dta", missing_user_values={"age": ["a", "b"]}, variable_value_labels=meanings
    )
    table = read_table(tmp_path / "a.dta")
    assert table.column("age").to_list() == [34, None, 51, None]
    write_table(table, tmp_path / "b.dta")
    back, found = pyreadstat.read_dta(tmp_path / "b.dta", user_missing=True)
    assert back["age"].tolist() == [34, "a", 51, "b"]
    assert found.variable_value_labels == meanings
    write_table(table.with_columns({"age": table.column("age")}), tmp_path / "c.dta")
    assert read_table(tmp_path / "c.dta").labels.missing_codes == {}
    assert read_table(tmp_path / "c.dta").column("age").to_list() == [34, None, 51, None]


def test_a_column_that_became_text_loses_the_labels_of_its_numbers(source):
    table = read_table(source)
    ranges = nw.new_series("age", ["34-40", "34-40", "41-51", "34-40"], backend="polars")
    target = source.with_stem("out")
    write_table(table.with_columns({"age": ranges}), target)
    back = read_table(target)
    assert back.column("age").to_list() == ["34-40", "34-40", "41-51", "34-40"]
    assert back.value_labels("age") is None
    assert back.variable_label("age") == "Age in years"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.feather", "out.sav", "out.dta", "out.xpt"])
def test_any_format_can_be_written_as_any_other(source, name):
    table = read_table(source)
    target = source.with_name(name)
    write_table(table, target)
    back = read_table(target)
    for column in ("age", "sex", "score", "born", "seen"):
        assert back.column(column).to_list() == table.column(column).to_list()
    if target.suffix in {".sav", ".dta", ".xpt"}:
        assert back.variable_label("age") == "Age in years"
    if {source.suffix, target.suffix} <= {".sav", ".dta"}:
        assert back.value_labels("sex") == MEANINGS["sex"]


def test_text_with_categories_decimals_and_zones_becomes_a_statistics_file(tmp_path):
    frame = pl.DataFrame(
        {
            "c": pl.Series(["x", "y"], dtype=pl.Categorical),
            "d": pl.Series(["1.5", "2.5"]).cast(pl.Decimal(5, 1)),
            "b": [True, None],
            "z": pl.Series([dt.datetime.fromisoformat("2020-01-01 00:00:00")] * 2).dt.replace_time_zone(
                "Europe/Berlin"
            ),
            "u": [dt.timedelta(seconds=90), None],
        }
    )
    for name in ("a.sav", "a.dta", "a.xpt"):
        write_table(Table.from_native(frame), tmp_path / name)
        back = read_table(tmp_path / name)
        assert back.column("c").to_list() == ["x", "y"]
        assert back.column("d").to_list() == [1.5, 2.5]
        assert back.column("b").to_list() == [1, None]
        assert back.column("z").to_list() == [dt.datetime.fromisoformat("2019-12-31 23:00:00")] * 2
        assert back.column("u").to_list() == [90, None]


def test_the_head_has_the_first_rows(source):
    assert read_head(source, rows=2).n_rows == 2


def test_sas_files_are_read(tmp_path, monkeypatch):
    pyreadstat.write_xport(FRAME, tmp_path / "a.xpt", column_labels=LABELS)

    def read_sas7bdat(path, **options):
        options.pop("user_missing")
        return pyreadstat.read_xport(str(tmp_path / "a.xpt"), **options)

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", read_sas7bdat)
    (tmp_path / "a.sas7bdat").write_bytes(b"x")
    table = read_table(tmp_path / "a.sas7bdat")
    assert table.variable_label("age") == "Age in years"
    with pytest.raises(FileProblem, match=r"can only be read; write .xpt"):
        write_table(table, tmp_path / "b.sas7bdat")
    write_table(table, tmp_path / "b.xpt")
    assert read_table(tmp_path / "b.xpt").variable_label("age") == "Age in years"


@pytest.mark.parametrize("name", ["a.sav", "a.zsav", "a.dta", "a.xpt", "a.sas7bdat"])
def test_corrupt_files_raise_an_error(tmp_path, name):
    (tmp_path / name).write_bytes(b"this is not such a file" * 100)
    with pytest.raises(
        FileProblem, match=r"cannot be read as .*: it is corrupt, truncated, encrypted or in another encoding"
    ):
        read_table(tmp_path / name)


def test_tables_without_records_raise_an_error(tmp_path):
    pyreadstat.write_sav(FRAME.clear(), tmp_path / "a.sav")
    with pytest.raises(DataError, match="has columns but no records"):
        read_table(tmp_path / "a.sav")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("a.sav", "two words"),
        ("a.sav", "1st"),
        ("a.sav", "_x"),
        ("a.dta", "x" * 33),
        ("a.xpt", "größe"),
        ("a.dta", "a.b"),
    ],
)
def test_names_that_the_program_does_not_allow_raise_an_error(tmp_path, name, column):
    with pytest.raises(SchemaError, match=f'does not allow the column name "{column}".*; rename it or write another'):
        write_table(Table.from_native(pl.DataFrame({column: [1]})), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("column", ["a.b", "größe", "x" * 64, "a$#@"])
def test_names_spss_allows_are_written(tmp_path, column):
    write_table(Table.from_native(pl.DataFrame({column: [1]})), tmp_path / "a.sav")
    assert read_table(tmp_path / "a.sav").names == [column]


def test_without_pyreadstat_the_command_to_install_it_is_named(source, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "pyreadstat":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "pyreadstat")
    monkeypatch.setattr(builtins, "__import__", without)
    for use in (lambda: read_table(source), lambda: write_table(Table.from_native(FRAME), source.with_stem("out"))):
        with pytest.raises(MissingExtra, match=r'install it with: pip install "shoal\[stats-files\]"'):
            use()
    assert not source.with_stem("out").exists()


def test_labels_of_integers_in_spss_survive(tmp_path):
    """SPSS has floats only: labels come with the keys 1.0 and 2.0, and the column is one of integers here."""
    frame = pl.DataFrame({"sex": pl.Series([1, 2, 1], dtype=pl.Int32), "pay": [100.0, 200.0, 300.0]})
    pyreadstat.write_sav(
        frame, tmp_path / "a.sav", variable_value_labels={"sex": {1: "m", 2: "f"}, "pay": {100.0: "least"}},
        variable_format={"sex": "F1.0", "pay": "DOLLAR8"}, variable_measure={"sex": "nominal"},
    )  # fmt: skip
    table = read_table(tmp_path / "a.sav")
    assert table.column("sex").dtype == table.column("pay").dtype == nw.Int64
    write_table(table, tmp_path / "b.sav")
    (before, said), (after, says) = (metadata(tmp_path / name) for name in ("a.sav", "b.sav"))
    assert after.equals(before)
    assert says == said


def test_labels_that_stata_does_not_allow_are_cut(tmp_path):
    pyreadstat.write_sav(FRAME, tmp_path / "a.sav", column_labels={"age": "ä" * 100})
    write_table(read_table(tmp_path / "a.sav"), tmp_path / "a.dta")
    assert metadata(tmp_path / "a.dta")[1]["column_names_to_labels"]["age"] == "ä" * 80


@pytest.mark.parametrize(("name", "file"), [("_cons", "a.dta"), ("str5", "a.dta"), ("with", "a.sav"), ("_N_", "a.xpt")])
def test_reserved_words_are_named(tmp_path, name, file):
    with pytest.raises(SchemaError, match=f'the column name "{name}" is a reserved word of'):
        write_table(Table.from_native(pl.DataFrame({name: [1]})), tmp_path / file)


@pytest.mark.parametrize(("file", "kind"), [("a.dta", "%tm"), ("a.dta", "%tq"), ("a.sav", "MOYR8"), ("a.sav", "QYR8")])
def test_formats_of_months_and_quarters_survive(tmp_path, file, kind):
    frame = pl.DataFrame({"month": [541.0, 542.0]})
    write = pyreadstat.write_dta if file == "a.dta" else pyreadstat.write_sav
    write(frame, tmp_path / file, variable_format={"month": kind})
    (tmp_path / "out").mkdir()
    write_table(read_table(tmp_path / file), tmp_path / "out" / file)
    after, says = metadata(tmp_path / "out" / file)
    assert after["month"].to_list() == [541.0, 542.0]
    assert says["original_variable_types"]["month"] == kind


def test_short_floats_of_stata_keep_their_digits_and_empty_columns_their_type(tmp_path):
    frame = pd.DataFrame(
        {"x": pd.Series([0.1, 0.2], dtype="float32"), "none": pd.Series([None, None], dtype="float64")}
    )
    frame.to_stata(tmp_path / "a.dta", write_index=False)
    table = read_table(tmp_path / "a.dta")
    assert table.column("x").dtype == nw.Float32
    write_table(table, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "x,none\n0.1,\n0.2,\n"
    write_table(table, tmp_path / "b.dta")
    pd.testing.assert_frame_equal(
        pd.read_stata(tmp_path / "b.dta"), pd.read_stata(tmp_path / "a.dta").astype("float64"), check_exact=True
    )
