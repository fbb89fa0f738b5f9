"""A release of a text file in every format, read by other libraries: numbers, dates and times keep their types."""

import datetime as dt

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyreadstat
import pytest

import shoal
from shoal.tables import read_table

ROWS = [
    (30, "01067", "0.50", "2024-01-01", "2024-01-01 10:00:00.125", "10", "NA"),
    (31, "80331", "1.5", "2024-01-02", "2024-01-02 10:00:01.250", "20", "1.25"),
    (40, "10115", "2.25", "2024-01-03", "2024-01-03 23:59:59.999", "30", ""),
    (42, "01067", "1e3", "1999-12-31", "1999-12-31 00:00:00.000", "-5", "2"),
]
NAMES = ["age", "zip", "pay", "day", "seen", "visits", "score"]
TYPED = {
    "zip": ["01067", "80331", "10115", "01067"],
    "pay": [0.5, 1.5, 2.25, 1000.0],
    "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 1, 3), dt.date(1999, 12, 31)],
    "seen": [dt.datetime(2024, 1, 1, 10, 0, 0, 125000), dt.datetime(2024, 1, 2, 10, 0, 1, 250000),
             dt.datetime(2024, 1, 3, 23, 59, 59, 999000), dt.datetime(1999, 12, 31)],
    "visits": [10, 20, 30, -5],
    "score": [None, 1.25, None, 2.0],
}  # fmt: skip


@pytest.fixture
def release(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in ROWS)]) + "\n")
    return shoal.protect(path, 2, quasi=["age"], unnamed="other", read_options={"na_values": ["NA"]})


def read_excel(path):
    header, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    frame = {name: [row[number] for row in rows] for number, name in enumerate(header)}
    return frame | {"day": [day.date() for day in frame["day"]]}


READERS = {
    "safe.parquet": lambda path: pl.read_parquet(path).to_dict(as_series=False),
    "safe.arrow": lambda path: pa.ipc.open_file(path).read_all().to_pydict(),
    "safe.feather": lambda path: pa.ipc.open_file(path).read_all().to_pydict(),
    "safe.xlsx": read_excel,
    "safe.sav": lambda path: pyreadstat.read_sav(path, output_format="dict")[0],
    "safe.dta": lambda path: pyreadstat.read_dta(path, output_format="dict")[0],
}


def plain(value):
    if isinstance(value, dt.datetime):  # SPSS stores seconds since 1582 as floats, which are 2 microseconds apart
        return value.replace(microsecond=round(value.microsecond, -2))
    return None if value is None or value != value or value == "" else value  # noqa: PLR0124 - NaN


@pytest.mark.parametrize("name", READERS)
def test_untouched_columns_of_a_text_file_have_their_types(release, tmp_path, name):
    release.write(tmp_path / name)
    found = READERS[name](tmp_path / name)
    assert [plain(value) for value in found["age"]] == [30, 30, 41, 41]
    for column, values in TYPED.items():
        assert [plain(value) for value in found[column]] == values, column
    assert shoal.verify_release(tmp_path / name, tmp_path / "safe.manifest.json").satisfied


def test_a_text_file_keeps_its_fields_as_they_are_written(release, tmp_path):
    release.write(tmp_path / "safe.csv")
    lines = (tmp_path / "safe.csv").read_text().splitlines()
    assert [line.split(",")[1:] for line in lines[1:]] == [list(row[1:]) for row in ROWS]


def test_a_replaced_column_of_texts_stays_text(tmp_path):
    """The wrong version infers types of all columns: what is left of a column of codes may look like numbers."""
    path = tmp_path / "people.csv"
    pl.DataFrame({"code": ["1", "1", "1", "A", "2", "2", "2", "B"], "x": range(8)}).write_csv(path)
    release = shoal.protect(path, 4, quasi=["code"], other=["x"], method="mdav", accept_loss=True)
    release.write(tmp_path / "safe.parquet")
    assert set(release.data["code"].to_list()) <= {"1", "2"}
    assert pl.read_parquet(tmp_path / "safe.parquet").schema["code"] == pl.String
    wrong = release.table.with_types(release.table.names)
    assert wrong.native.schema["code"] == pl.Int64


@pytest.mark.parametrize("name", READERS)
def test_types_survive_from_every_format_to_every_format(release, tmp_path, name):
    release.write(tmp_path / name)
    for other in READERS:
        again = shoal.protect(tmp_path / name, 2, quasi=["age"], unnamed="other", accept_loss=True)
        again.write(tmp_path / f"again-{other}", overwrite=True)
        found = read_table(tmp_path / f"again-{other}").frame
        for column in ("zip", "pay", "day", "visits", "score"):
            assert [plain(value) for value in found.get_column(column).to_list()] == TYPED[column], (other, column)


def test_labels_widths_decimals_and_missing_marks_survive_a_protection(tmp_path):
    frame = pd.DataFrame({
        "age": [30.0, 31.0, 40.0, 42.0], "sex": [1.0, 2.0, 1.0, 9.0], "pay": [1.25, -1.0, 3.5, -2.0],
        "town": ["a", "b", "a", "b"],
    })  # fmt: skip
    meanings = {"sex": {1.0: "m", 2.0: "f", 3.0: "unused", 9.0: "refused"}, "age": {30.0: "thirty", 99.0: "unknown"}}
    pyreadstat.write_sav(
        frame, tmp_path / "people.sav", file_label="planted", note="planted", column_labels={"pay": "Pay in EUR"},
        variable_value_labels=meanings, missing_ranges={"sex": [9.0], "pay": [{"lo": -2, "hi": -1}]},
        variable_measure={"sex": "nominal", "pay": "scale", "age": "ordinal"},
        variable_display_width={"sex": 4, "pay": 12}, variable_format={"pay": "F10.3", "sex": "F1.0", "age": "F3.0"},
    )  # fmt: skip
    shoal.protect(tmp_path / "people.sav", 2, quasi=["age"], unnamed="other").write(tmp_path / "safe.sav")
    found, about = pyreadstat.read_sav(tmp_path / "safe.sav", user_missing=True, output_format="dict")
    assert found["sex"] == [1.0, 2.0, 1.0, 9.0]
    assert found["pay"] == [1.25, -1.0, 3.5, -2.0]
    assert about.column_names_to_labels["pay"] == "Pay in EUR"
    assert about.variable_value_labels["sex"] == {1.0: "m", 2.0: "f", 9.0: "refused"}
    assert about.missing_ranges == {"sex": [{"lo": 9.0, "hi": 9.0}], "pay": [{"lo": -2.0, "hi": -1.0}]}
    assert (about.original_variable_types["pay"], about.original_variable_types["sex"]) == ("F10.3", "F1.0")
    assert about.variable_measure["sex"] == "nominal"
    assert (about.variable_display_width["sex"], about.variable_display_width["pay"]) == (4, 12)
    assert b"planted" not in (tmp_path / "safe.sav").read_bytes()
    assert b"unused" not in (tmp_path / "safe.sav").read_bytes()


def test_letters_of_missing_values_survive_a_protection_to_stata(tmp_path):
    frame = pd.DataFrame({"age": [30, 31, 40, 42], "pay": [100, "a", 300, "z"]})
    pyreadstat.write_dta(
        frame, tmp_path / "people.dta", variable_value_labels={"pay": {100: "least", "a": "refused", "b": "unused"}},
        missing_user_values={"pay": ["a", "b", "z"]},
    )  # fmt: skip
    shoal.protect(tmp_path / "people.dta", 2, quasi=["age"], other=["pay"]).write(tmp_path / "safe.dta")
    found, about = pyreadstat.read_dta(tmp_path / "safe.dta", user_missing=True)
    assert found["pay"].to_list() == [100, "a", 300, "z"]
    assert about.variable_value_labels["pay"] == {100: "least", "a": "refused"}
