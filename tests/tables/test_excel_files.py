"""Excel workbooks: types, texts that look like formulas, sheets, limits, and equal bytes for equal tables."""

import datetime as dt
import sys
import zipfile

import openpyxl
import polars as pl
import pytest

import shoal
from shoal.errors import DataError, FileProblem, MissingExtra, ParameterError, SchemaError
from shoal.tables import Table, read_head, read_table, write_table
from shoal.tables.written_excel import sheet_columns

PEOPLE = pl.DataFrame(
    {
        "age": [34, None, 51],
        "income": [0.1 + 0.2, -0.0, 1e-300],
        "born": [dt.date(1900, 1, 1), dt.date(1900, 2, 28), dt.date(2024, 2, 29)],
        "seen": [dt.datetime(1900, 3, 1, 0, 0, 1), None, dt.datetime(2024, 2, 29, 23, 59, 59, 999000)],
        "hour": [dt.time(0, 0), dt.time(23, 59, 59), None],
        "stay": [dt.timedelta(days=2, hours=3), dt.timedelta(), None],
        "member": [True, False, None],
        "note": ["=1+1", " a\r\nb ", "_x0041_ <&> \u00e4"],
    }
)


def written(frame, path):
    write_table(Table.from_native(frame), path)
    return path


def test_types_and_values_survive(tmp_path):
    found = read_table(written(PEOPLE, tmp_path / "people.xlsx")).native
    assert found.schema == PEOPLE.with_columns(
        pl.col("seen").cast(pl.Datetime("ms")), pl.col("stay").cast(pl.Duration("ms"))
    ).schema  # fmt: skip
    assert found.rows() == PEOPLE.rows()
    assert str(found["income"][1]) == "-0.0"


def test_another_library_reads_the_same(tmp_path):
    header, *rows = openpyxl.load_workbook(written(PEOPLE, tmp_path / "people.xlsx")).active.iter_rows(values_only=True)
    assert list(header) == PEOPLE.columns
    assert [row[0] for row in rows] == [34, None, 51]
    assert [row[1] for row in rows] == PEOPLE["income"].to_list()
    assert [row[2].date() for row in rows][2] == dt.date(2024, 2, 29)
    assert rows[0][7] == "=1+1"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum", "=cmd|'/c calc'!A1", "http://a.b", "1", "TRUE"])
def test_a_text_never_becomes_a_formula_a_number_or_a_link(tmp_path, text):
    path = written(pl.DataFrame({"note": [text, "b"]}), tmp_path / "a.xlsx")
    cell = openpyxl.load_workbook(path).active["A2"]
    assert (cell.data_type, cell.hyperlink) == ("s", None)
    with zipfile.ZipFile(path) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        assert not any("hyperlink" in name or "rels" in name for name in book.namelist() if "sheet1" in name)
    assert "<f>" not in sheet
    assert read_table(path).native["note"].to_list() == [text, "b"]


def test_equal_tables_give_equal_bytes_without_author_or_time(tmp_path):
    one, two = (written(PEOPLE, tmp_path / name).read_bytes() for name in ("a.xlsx", "b.xlsx"))
    assert one == two
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        properties = book.read("docProps/core.xml").decode()
        assert {entry.date_time[0] for entry in book.infolist()} == {1980}
    assert "1980-01-01T00:00:00Z" in properties
    assert "<dc:creator></dc:creator>" in properties


def test_nothing_but_the_workbook_is_left_in_the_directory(tmp_path):
    written(PEOPLE, tmp_path / "a.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["a.xlsx"]


@pytest.fixture
def workbook(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "about"
    book.active["A1"] = "not a table"
    sheet = book.create_sheet("people")
    for row in [["age", "zip"], [30, "01067"], [31, "80331"], [40, "=A2"], [41, None]]:
        sheet.append(row)
    for name, header in (("twice", ["age", "age"]), ("unnamed", ["age", None]), ("header", ["age", "sex"])):
        book.create_sheet(name).append(header)
        if name != "header":
            book[name].append([1, 2])
    book.create_sheet("empty")
    book.save(tmp_path / "book.xlsx")
    return tmp_path / "book.xlsx"


def test_a_sheet_is_chosen_by_name(workbook, tmp_path):
    table = read_table(workbook, sheet="people")
    assert table.native["age"].to_list() == [30, 31, 40, 41]
    assert table.native["zip"].to_list()[:2] == ["01067", "80331"]
    assert read_head(workbook, sheet="people", rows=2).n_rows == 2
    release = shoal.protect(workbook, 2, quasi=["age"], other=["zip"], read_options={"sheet": "people"})
    release.write(tmp_path / "safe.xlsx")
    assert openpyxl.load_workbook(tmp_path / "safe.xlsx").sheetnames == ["people"]


@pytest.mark.parametrize(
    ("sheet", "error", "text"),
    [
        (None, FileProblem, r'has 6 sheets: "about", "people", .*; name one with read_options'),
        ("peopel", FileProblem, r'has no sheet "peopel"; did you mean "people"\?'),
        ("twice", SchemaError, 'two columns|2 columns|named "age"'),
        ("unnamed", SchemaError, "name"),
        ("header", DataError, "has a header but no records"),
        ("empty", DataError, 'sheet "empty" is empty'),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(workbook, sheet, error, text):
    with pytest.raises(error, match=text):
        read_table(workbook, sheet=sheet)


def test_the_option_is_for_excel_only(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="the option sheet is for Excel files, this is CSV"):
        read_table(tmp_path / "a.csv", sheet="people")
    with pytest.raises(ParameterError, match="the option delimiter is for text files, this is Excel"):
        read_table(written(PEOPLE, tmp_path / "a.xlsx"), delimiter=";")
    with pytest.raises(FileProblem, match=r"a workbook declares no types.*save the sheet as .csv"):
        shoal.dp.release(tmp_path / "a.xlsx", epsilon=1, k=2, bounds={"age": (0, 120)})


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ([2**60, 1], "integers of more than 15 digits"),
        ([float("inf"), 1.0], "infinite numbers"),
        ([None, dt.date(1899, 12, 31)], "dates before 1900"),
        (["x" * 32_768, "a"], "texts of more than 32,767 characters"),
        ([[1], [2]], "Excel cannot store"),
        ([1, None], "the last record has no value"),
    ],
)
def test_what_excel_cannot_store_is_refused_by_name(tmp_path, column, text):
    with pytest.raises(DataError, match=text):
        written(pl.DataFrame({"strange": column}), tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = written(PEOPLE, tmp_path / "a.xlsx")
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(MissingExtra, match=r'pip install "shoal\[excel\]"'):
        read_table(path)


def test_the_recount_reads_the_cells_and_not_the_table(tmp_path):
    path = written(pl.DataFrame({"a": [0.0, -0.0], "b": ["1", "x"], "c": [1, 2]}), tmp_path / "a.xlsx")
    header, columns = sheet_columns(path, ["a", "b"], 2)
    assert header == ["a", "b", "c"]
    assert [column.to_list() for column in columns] == [["n//0.0", "n//-0.0"], ["s//1", "s//x"]]
    with pytest.raises(ValueError, match="another number of records"):
        sheet_columns(path, ["a"], 3)
