import codecs
import csv
import datetime as dt
import gzip
import io
import subprocess
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, FileProblem, ParameterError, SchemaError, UnknownColumn
from shoal.tables import Dialect, Table, csv_files, dialect, read_head, read_table, write_table
from shoal.tables.text_columns import TextColumn


@pytest.fixture
def read(tmp_path):
    def read(content, name="people.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCKS", (256, 2**25))


def values(table, name="a"):
    return table.column(name).to_list()


def again(table, path):
    """Write the table and return the bytes."""
    write_table(table, path)
    return path.read_bytes()


class TestTypes:
    @pytest.mark.parametrize(
        ("fields", "dtype", "expected"),
        [
            (["1", "-2", "0"], nw.Int64, [1, -2, 0]),
            (["1", "", "3"], nw.Int64, [1, None, 3]),
            (["-999", "5"], nw.Int64, [-999, 5]),
            (["1", "2.5", "-1e3"], nw.Float64, [1.0, 2.5, -1000.0]),
            ([" 1", "2 ", " "], nw.Int64, [1, 2, None]),
            (["1.5", "nan", "inf"], nw.Float64, [1.5, None, float("inf")]),
            (["007", "8"], nw.String, ["007", "8"]),
            (["-01", "8"], nw.String, ["-01", "8"]),
            (["0x1F", "8"], nw.String, ["0x1F", "8"]),
            (["0", "0.5", "-0.25"], nw.Float64, [0.0, 0.5, -0.25]),
            (["00.5", "1.5"], nw.String, ["00.5", "1.5"]),
            (["9223372036854775807", "1"], nw.Int64, [9223372036854775807, 1]),
            (["9223372036854775808", "1"], nw.String, ["9223372036854775808", "1"]),
            (["12345678901234567890", "1.5"], nw.String, ["12345678901234567890", "1.5"]),
            (["9007199254740993", "1.5"], nw.String, ["9007199254740993", "1.5"]),
            (["1e300", "1"], nw.Float64, [1e300, 1.0]),
            (["1_000", "2"], nw.String, ["1_000", "2"]),
            (["true", "false"], nw.String, ["true", "false"]),
            (["2024-02-29", ""], nw.Date, [dt.date(2024, 2, 29), None]),
            (["2024-2-29", "2024-03-01"], nw.String, ["2024-2-29", "2024-03-01"]),
            (["2023-02-29", "2024-03-01"], nw.String, ["2023-02-29", "2024-03-01"]),
            (["2024-02-29", "2024-02-29 10:00"], nw.String, ["2024-02-29", "2024-02-29 10:00"]),
            (["", ""], nw.String, [None, None]),
            (["x", ""], nw.String, ["x", None]),
        ],
    )
    def test_a_column_gets_the_type_that_all_its_values_allow(self, read, fields, dtype, expected):
        table = read("a,b\n" + "".join(f"{field},x\n" for field in fields))
        assert table.column("a").dtype == dtype
        assert values(table) == expected

    @pytest.mark.parametrize(
        "texts",
        [
            ["2024-02-29 10:00", "1999-12-31 23:59"],
            ["2024-02-29T10:00:01", "1999-12-31T23:59:00"],
            ["2024-02-29 10:00:01.250", "1999-12-31 23:59:00.000"],
            ["2024-02-29T10:00:01.000001Z", "1969-12-31T23:59:00.000000Z"],
        ],
    )
    def test_dates_with_time_are_written_in_the_format_of_the_source(self, read, tmp_path, texts):
        content = "a,b\n" + "".join(f"{text},x\n" for text in texts)
        table = read(content)
        assert table.column("a").dtype == (nw.Datetime("us", "UTC") if "Z" in texts[0] else nw.Datetime("us"))
        assert again(table, tmp_path / "out.csv").decode() == content

    @pytest.mark.parametrize(
        ("texts", "first"),
        [
            (["03.07.2024", "29.02.2024"], dt.date(2024, 7, 3)),
            (["3.7.2024", "", "29.12.1999"], dt.date(2024, 7, 3)),
            (["2024/07/03", "1999/12/31"], dt.date(2024, 7, 3)),
            (["03/07/2024", "31/12/1999"], dt.date(2024, 7, 3)),
            (["03/07/2024", "12/31/1999"], dt.date(2024, 3, 7)),
            (["3 Jul 2024", "31 Dec 1999"], dt.date(2024, 7, 3)),
            (["03.07.2024 12:30", "31.12.1999 00:00"], dt.datetime(2024, 7, 3, 12, 30)),
            (["05/05/2024", "06/06/1999"], dt.date(2024, 5, 5)),
        ],
    )
    def test_dates_of_other_forms_are_read_and_written_in_the_form_of_the_source(self, read, tmp_path, texts, first):
        content = "a,b\n" + "".join(f"{text},x\n" for text in texts)
        table = read(content)
        assert table.column("a")[0] == first
        assert again(table, tmp_path / "out.csv").decode() == content

    @pytest.mark.parametrize(
        "texts",
        [
            ["03/07/2024", "04/08/2024"],  # the third of July, or the seventh of March
            ["03.07.2024", "3.7.2023"],  # two forms
            ["03.07.2024", "31.02.2024"],  # no such day
            ["03.07.24", "04.08.31"],  # no certain century
            ["31/12/2024", "12/31/2024"],
            ["2024-07", "2024-07-03"],  # two precisions
        ],
    )
    def test_dates_that_are_not_certain_stay_text(self, read, texts):
        content = "a,b\n" + "".join(f"{text},x\n" for text in texts)
        assert values(read(content)) == texts

    @pytest.mark.parametrize("text", ["2024-02-29T10:00:01+02:00", "2024-02-30T10:00", "2024-02-29 10:00.250"])
    def test_other_forms_of_date_and_time_stay_text(self, read, text):
        assert values(read(f"a,b\n{text},1\n")) == [text]

    @pytest.mark.parametrize(
        ("first", "late", "dtype"),
        [
            ("1", "2.5", nw.Float64),
            ("1", "x", nw.String),
            ("1", "007", nw.String),
            ("1.5", "x", nw.String),
            ("1.5", "12345678901234567890", nw.String),
            ("9007199254740993", "0.5", nw.String),
            ("2024-02-29", "soon", nw.String),
            ("2024-02-29 10:00", "soon", nw.String),
            ("", "7", nw.Int64),
            ("", "7.5", nw.Float64),
            ("", "2024-02-29", nw.Date),
            ("", "x", nw.String),
        ],
    )
    @pytest.mark.usefixtures("small_blocks")
    def test_the_last_row_counts_as_much_as_the_first(self, read, first, late, dtype):
        table = read("a,b,c\n" + f"{first},1,x\n" * 500 + f"{late},2,y\n" + ",3,z\n" * 500)
        found = table.column("a")
        assert found.dtype == dtype
        assert table.column("b").to_list() == [1] * 500 + [2] + [3] * 500
        expected = pl.Series([first or None] * 500 + [late] + [None] * 500)
        if dtype in {nw.Int64, nw.Float64}:
            expected = expected.cast(pl.Float64)
            found = found.cast(nw.Float64)
        elif dtype == nw.Date:
            expected = expected.str.to_date()
        assert found.to_list() == expected.to_list()

    @given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1), st.integers(1, 9))
    def test_numbers_survive_any_block_size(self, numbers, size):
        column = TextColumn("a", verbatim=False, decimal=".", na_values=())
        texts = [None if number is None else repr(number) for number in numbers]
        for start in range(0, len(texts), size):
            column.add(pa.array(texts[start : start + size], pa.string()), 0)
        assert column.finish().cast(pl.Float64).to_list() == numbers

    @given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1), st.integers(1, 9))
    def test_integers_survive_any_block_size(self, numbers, size):
        column = TextColumn("a", verbatim=False, decimal=".", na_values=())
        texts = [None if number is None else str(number) for number in numbers]
        for start in range(0, len(texts), size):
            column.add(pa.array(texts[start : start + size], pa.string()), 0)
        assert column.finish().cast(pl.Int64).to_list() == numbers


class TestText:
    odd = (
        "007",
        "1.50",
        "12345678901234567890",
        "1e5",
        "",
        "NA",
        " x ",
        'say "hi"',
        "two\nlines",
        "a,b",
        "-0",
        "TRUE",
        "ä",
    )

    def test_columns_named_as_text_survive_byte_for_byte(self, read, tmp_path):
        buffer = io.StringIO(newline="")
        csv.writer(buffer, lineterminator="\n").writerows([["a", "n"], *([text, 1] for text in self.odd)])
        table = read(buffer.getvalue(), text=["a"], na_values=["NA"])
        assert values(table) == [text or None for text in self.odd]
        assert again(table, tmp_path / "out.csv").decode() == buffer.getvalue()

    def test_empty_text_and_missing_value_differ_in_text_columns_and_are_both_missing_elsewhere(self, read, tmp_path):
        content = 'a,b\n"",x\n,y\n'
        assert values(read(content, text=["a"])) == ["", None]
        assert again(read(content, text=["a"]), tmp_path / "out.csv").decode() == content
        assert values(read(content)) == [None, None]

    def test_an_unknown_text_column_is_named(self, read):
        with pytest.raises(UnknownColumn, match='column "cty" is not in the table; did you mean "city"'):
            read("city\nx\n", text=["cty"])

    @given(
        st.lists(st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\0")), st.integers()), min_size=1),
        st.sampled_from([",", ";", "\t", "|"]),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from([("utf-8", False), ("utf-8", True), ("utf-16-le", True), ("utf-16-be", True)]),
        st.booleans(),
    )
    def test_any_text_survives_writing_and_reading_in_any_dialect(
        self, tmp_path_factory, rows, sign, end, code, packed
    ):
        path = tmp_path_factory.mktemp("any") / ("a.txt.gz" if packed else "a.txt")
        frame = pl.DataFrame({"a": [row[0] for row in rows], "b": [str(row[1]) for row in rows]})
        dialect = Dialect(delimiter=sign, line_end=end, encoding=code[0], bom=code[1])
        source = path.with_name("source.txt")
        write_table(Table(nw.from_native(frame, eager_only=True), dialect, source), path)
        back = read_table(path, delimiter=sign, text=["a", "b"])
        assert back.native.rows() == frame.rows()
        assert (back.dialect.line_end, back.dialect.encoding, back.dialect.bom) == (end, *code)


class TestMissing:
    def test_na_values_are_missing_values_and_are_written_again(self, read, tmp_path):
        content = "a,b\n1,x\nNA,y\n3.5, ?\n"
        table = read(content, na_values=["NA", "?"])
        assert values(table) == [1.0, None, 3.5]
        assert values(table, "b") == ["x", "y", None]
        assert again(table, tmp_path / "out.csv").decode() == "a,b\n1.0,x\nNA,y\n3.5, ?\n"

    def test_texts_such_as_na_are_values_unless_declared(self, read):
        assert values(read("a,b\n1,x\nNA,y\n")) == ["1", "NA"]

    def test_na_values_are_written_beside_a_decimal_comma(self, read, tmp_path):
        content = "a;b\n1,5;x\nNA;y\n"
        assert again(read(content, na_values=["NA"]), tmp_path / "out.csv").decode() == content

    def test_an_empty_line_is_a_record_if_there_is_one_column(self, read, tmp_path):
        table = read("a\n1\n\n3\n")
        assert values(table) == [1, None, 3]
        assert again(table, tmp_path / "out.csv") == b"a\n1\n\n3\n"

    def test_empty_lines_are_no_records_if_there_are_several_columns(self, read):
        assert values(read("\na,b\n1,x\n\n2,y\n\n\n")) == [1, 2]


class TestDialect:
    @pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_delimiter_and_line_ends_are_found_and_written_again(self, read, tmp_path, sign, end):
        content = end.join(sign.join(row) for row in (["a", "b", "c"], ["1", "x", "2.5"], ["2", "y", "-0.5"])) + end
        table = read(content)
        assert (table.dialect.delimiter, table.dialect.line_end) == (sign, end)
        assert values(table, "c") == [2.5, -0.5]
        assert again(table, tmp_path / "out.csv") == content.encode()

    def test_delimiters_inside_quotes_are_not_counted(self, read):
        table = read('a;b\n"x,y,z";1\n"u,v,w";2\n')
        assert table.names == ["a", "b"]

    def test_a_given_delimiter_is_used(self, read):
        assert read("a;b,c\n1;2,3\n", delimiter=",").names == ["a;b", "c"]
        assert read("a\tb\n1\t2\n", delimiter="tab").names == ["a", "b"]
        for wrong in ("--", '"', ""):
            with pytest.raises(ParameterError, match="must be one character, for example comma, semicolon, tab, bar"):
                read("a,b\n1,2\n", delimiter=wrong)

    @pytest.mark.parametrize("sign", [";", "\t", "|"])
    def test_a_decimal_comma_is_found_and_written_again(self, read, tmp_path, sign):
        content = f"a{sign}b{sign}c\n1,5{sign}3{sign}x\n-0,25{sign}{sign}y,z\n"
        table = read(content)
        assert table.dialect.decimal == ","
        assert values(table) == [1.5, -0.25]
        assert again(table, tmp_path / "out.csv").decode() == content

    def test_a_thousands_separator_is_not_taken_for_a_decimal_comma(self, read):
        assert values(read("a\tb\n1,234\tx\n12,500\ty\n")) == ["1,234", "12,500"]
        assert values(read("a\tb\n1,234\tx\n12,500\ty\n", decimal=",")) == [1.234, 12.5]

    def test_a_point_is_not_a_decimal_separator_where_the_comma_is(self, read):
        table = read("a;b\n1.234;1,5\n5;2,5\n")
        assert table.dialect.decimal == "."
        assert values(read("a;b\n1.234;1,5\n5;2,5\n", decimal=",")) == ["1.234", "5"]

    def test_quoted_decimal_commas_in_a_comma_file_survive(self, read, tmp_path):
        content = 'a,b\n"1,5",x\n"2,0",y\n'
        table = read(content, decimal=",")
        assert values(table) == [1.5, 2.0]
        assert again(table, tmp_path / "out.csv").decode() == content

    def test_a_wrong_decimal_separator_raises_an_error(self, read):
        with pytest.raises(ParameterError, match=r'decimal="x" must be "\." or ","'):
            read("a\n1\n", decimal="x")

    @pytest.mark.parametrize(
        ("encoding", "mark"),
        [
            ("utf-8", b""),
            ("utf-8", codecs.BOM_UTF8),
            ("utf-16-le", codecs.BOM_UTF16_LE),
            ("utf-16-be", codecs.BOM_UTF16_BE),
            ("cp1252", b""),
        ],
    )
    def test_encodings_are_found_and_written_again(self, read, tmp_path, encoding, mark):
        content = mark + "größe,b\n1,Zoë €\n".encode(encoding)
        table = read(content)
        assert table.names == ["größe", "b"]
        assert values(table, "b") == ["Zoë €"]
        assert again(table, tmp_path / "out.csv") == content

    def test_bytes_that_are_undefined_in_cp1252_are_read_as_latin_1(self, read, tmp_path):
        content = b"a,b\n1,\x81\xe9\n"
        assert read(content).dialect.encoding == "latin-1"
        assert again(read(content), tmp_path / "out.csv") == content

    def test_the_first_non_ascii_byte_may_come_late(self, read):
        table = read(b"a,b\n" + b"1,x\n" * 300_000 + b"2,\xe9\n")
        assert table.column("b")[-1] == "é"
        assert table.dialect.encoding == "cp1252"

    def test_a_given_encoding_is_used(self, read):
        assert values(read("a,b\nж,1\n".encode("koi8-r"), encoding="koi8-r")) == ["ж"]
        assert values(read("a,b\nж,1\n".encode("utf-16"), encoding="utf-16")) == ["ж"]
        assert values(read("a,b\nж,1\n".encode("utf-16-le"), encoding="utf-16-le")) == ["ж"]
        assert values(read("a,b\nж,1\n".encode("utf-8-sig"), encoding="utf-8")) == ["ж"]

    @pytest.mark.parametrize("late", [0, 400_000])
    def test_a_given_encoding_that_does_not_fit_raises_an_error(self, read, late):
        with pytest.raises(
            FileProblem, match=r'people.csv is not valid utf-8 text; give its encoding, for example .*cp1252"'
        ):
            read(b"a,b\n" + b"1,2\n" * late + b"\xe9,1\n", encoding="utf-8")
        with pytest.raises(
            FileProblem, match='is not valid ascii text; give its encoding, for example encoding="utf-8"'
        ):
            read(b"a,b\n" + b"1,2\n" * late + b"\xe9,1\n", encoding="ascii")

    def test_an_unknown_encoding_raises_an_error(self, read):
        for name in ("utf8000", "base64", "idna\0"):
            with pytest.raises(ParameterError, match=r'encoding=".*" is unknown; try "utf-8"'):
                read("a\n1\n", encoding=name)

    def test_characters_outside_the_source_encoding_raise_an_error(self, read, tmp_path):
        table = read(b"a,b\n\xe9,1\n")
        table = table.with_columns({"a": nw.new_series("a", ["ж"], backend="polars")})
        with pytest.raises(
            FileProblem, match="has characters that cp1252, the encoding of the source, cannot represent"
        ):
            write_table(table, tmp_path / "out.csv")
        assert not (tmp_path / "out.csv").exists()

    def test_gzip_files_are_read_and_written_by_their_extension(self, read, tmp_path):
        content = b"a;b\n1,5;x\n"
        table = read(gzip.compress(content), "people.csv.gz")
        assert values(table) == [1.5]
        assert gzip.decompress(again(table, tmp_path / "out.csv.gz")) == content
        assert again(table, tmp_path / "out.csv") == content
        assert again(table, tmp_path / "one.csv.gz") == again(table, tmp_path / "two.csv.gz")
        assert values(read(gzip.compress(content), "misnamed.csv")) == [1.5]

    def test_another_extension_means_another_delimiter(self, read, tmp_path):
        table = read("a;b\n1,5;x\n")
        assert again(table, tmp_path / "out.tsv") == b"a\tb\n1,5\tx\n"
        assert again(table, tmp_path / "out.txt") == b"a;b\n1,5;x\n"
        tabs = read("a\tb\n1,5\tx\n", "people.tsv")
        assert again(tabs, tmp_path / "out.csv") == b"a;b\n1,5;x\n"
        assert again(read("a\tb\n1.5\tx\n", "people.tsv"), tmp_path / "out.csv") == b"a,b\n1.5,x\n"


class TestBadInput:
    @pytest.mark.parametrize("content", [b"", b"\n\n", b"  \n", codecs.BOM_UTF8])
    def test_an_empty_file_raises_an_error(self, read, content):
        with pytest.raises(FileProblem, match=r"people.csv is empty; a table needs"):
            read(content)

    @pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n", "a\n", "a,b\n\n\n"])
    def test_a_header_without_records_raises_an_error(self, read, content):
        with pytest.raises(DataError, match=r"people.csv has a header but no records"):
            read(content)

    def test_a_duplicate_name_raises_an_error(self, read):
        with pytest.raises(
            SchemaError, match=r'people.csv: 2 columns are named "a" in the header; give each its own name'
        ):
            read("a,b,a\n1,2,3\n")

    def test_an_empty_name_raises_an_error(self, read):
        with pytest.raises(SchemaError, match=r"column 2 of 3 has no name in the header; give it one$"):
            read("a,,c\n1,2,3\n")

    def test_row_names_and_a_title_above_the_header_are_named_as_causes(self, read):
        with pytest.raises(SchemaError, match=r"column 1 of 3 .*R and pandas write row names so"):
            read(",b,c\n1,2,3\n")
        with pytest.raises(SchemaError, match=r"column 2 of 3 .*remove the lines above the header"):
            read("People of 2024,,\nname,age,sex\n1,2,3\n")

    @pytest.mark.parametrize(("bad", "fields"), [("secret", "1 field"), ("1,secret,3", "3 fields")])
    @pytest.mark.parametrize("before", [0, 3, 400_000])
    def test_a_row_of_wrong_length_raises_an_error_with_its_number(self, read, bad, fields, before):
        text = rf"people.csv: row {before + 1} \(line {before + 2}\) has {fields}, the header has 2; repair it, or give"
        with pytest.raises(DataError, match=text) as caught:
            read("a,b\n" + "1,2\n" * before + bad + "\n3,4\n")
        assert "secret" not in str(caught.value).rpartition("people.csv")[2]

    def test_line_breaks_in_fields_do_not_change_the_row_number_in_errors(self, read):
        with pytest.raises(DataError, match=r"row 2 \(line 5\) has 1 field, the header has 2"):
            read('a,b\n"x\ny\nz",2\n3\n')
        with pytest.raises(DataError, match=r"row 1 \(lines 2-3; is a quote left open there\?\) has 1 field"):
            read('a,b\n"1,2\n3,4\n')

    def test_a_quote_that_is_never_closed_raises_an_error(self, read):
        with pytest.raises(DataError, match="a quote is opened and never closed"):
            read('a,b\n1,2\n3,"4\n5,6\n7,8\n')
        assert values(read('a,b\n1,"2\n3"\n'), "b") == ["2\n3"]

    def test_a_record_longer_than_a_block_is_read(self, read):
        long = "x" * 3_000_000
        assert values(read(f"a,b\n{long},1\n"), "a") == [long]

    @pytest.mark.parametrize("line", ["first", "second", "last", "quoted"])
    @pytest.mark.parametrize("packed", [False, True])
    def test_a_line_above_the_limit_is_one_sentence(self, tmp_path, monkeypatch, line, packed):
        monkeypatch.setattr(dialect, "_HEAD", 1_000)
        monkeypatch.setattr(dialect, "LONGEST_LINE", 8_000)
        monkeypatch.setattr(csv_files, "_BLOCKS", (1_000, 4_000, 8_000))
        long = "x" * 40_000
        content = {
            "first": f"a,{long}\n1,2\n",
            "second": f"a,b\n{long},1\n" + "2,3\n" * 3_000,
            "last": "a,b\n" + "2,3\n" * 3_000 + f"{long},1",
            "quoted": 'a,b\n1,"' + "2,3\n" * 10_000,
        }[line].encode()
        path = tmp_path / ("people.csv.gz" if packed else "people.csv")
        path.write_bytes(gzip.compress(content) if packed else content)
        with pytest.raises(FileProblem, match=r"has more than 8,000 bytes; check its line ends"):
            read_table(path)
        short = content.replace(long.encode(), b"x" * 7_000)
        if line != "quoted":  # the largest block is not too small for records within the limit
            path.write_bytes(gzip.compress(short) if packed else short)
            assert read_table(path).n_rows >= 1

    @pytest.mark.parametrize(
        "content",
        # gzip stores the time: with the bytes as name, the test would have a new name every second.
        [
            pytest.param(gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-20], id="cut off"),
            pytest.param(b"\x1f\x8b broken", id="no gzip behind the first two bytes"),
        ],
    )
    def test_a_corrupt_gzip_file_raises_an_error(self, read, content):
        with pytest.raises(FileProblem, match=r"people.csv.gz: the gzip file is corrupt or truncated"):
            read(content, "people.csv.gz")

    def test_a_truncated_gzip_file_raises_an_error(self, read):
        noise = np.random.default_rng(1).normal(size=100_000)
        packed = gzip.compress(pl.DataFrame({"a": noise, "b": noise}).write_csv().encode())
        with pytest.raises(FileProblem, match="the gzip file is corrupt or truncated"):
            read(packed[:-1000], "people.csv.gz")

    def test_a_file_named_gz_that_is_not_gzip_raises_an_error(self, read):
        with pytest.raises(FileProblem, match=r"is not a gzip file although its extension is .gz"):
            read("a,b\n1,2\n", "people.csv.gz")

    def test_zero_bytes_raise_an_error(self, read):
        with pytest.raises(FileProblem, match="is not a text table: it contains zero bytes"):
            read(b"PK\x03\x04\x00\x00\x00")

    def test_the_error_for_an_absent_file_suggests_a_similar_name(self, read, tmp_path):
        read("a\n1\n")
        with pytest.raises(FileProblem, match=r'poeple.csv does not exist; did you mean "people.csv"\?'):
            read_table(tmp_path / "poeple.csv")
        with pytest.raises(FileProblem, match=r"a.csv does not exist$"):
            read_table(tmp_path / "none" / "a.csv")

    def test_a_directory_and_an_unknown_extension_raise_an_error(self, tmp_path):
        (tmp_path / "a.csv").mkdir()
        with pytest.raises(FileProblem, match=r"a.csv is a directory; name a file in it"):
            read_table(tmp_path / "a.csv")
        with pytest.raises(FileProblem, match=r'the extension ".xls" is unknown; choose from: .csv'):
            read_table(tmp_path / "a.xls")

    @pytest.mark.parametrize(
        "native",
        [
            pl.DataFrame({"a": [[1]]}),
            pl.DataFrame({"a": [b"x"]}),
            pl.DataFrame({"a": [{"b": 1}]}),
            pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="M")}),
        ],
    )
    def test_columns_that_text_cannot_store_raise_an_error(self, tmp_path, native):
        with pytest.raises(DataError, match=r'column "a" is of type .*, which this format cannot store; drop it'):
            write_table(Table.from_native(native), tmp_path / "a.csv")
        assert list(tmp_path.iterdir()) == []

    def test_mixed_python_objects_raise_an_error(self, tmp_path):
        mixed = Table.from_native(pd.DataFrame({"a": pd.Series([1, "x"], dtype=object)}))
        with pytest.raises(DataError, match='column "a" mixes values of several types'):
            write_table(mixed, tmp_path / "a.csv")


class TestOtherTables:
    def test_a_text_file_is_read_and_written_without_pandas(self, tmp_path):
        (tmp_path / "a.csv").write_text("a,b,c,d\n 1,2.5,NA,2024-01-01\n,1e300,x,\n,nan,y,\n")
        code = (
            "import sys; from shoal.tables import *; t = read_table(sys.argv[1], na_values=['NA']); "
            "t.fingerprint(); write_table(t, sys.argv[2]); write_table(t, sys.argv[3]); print('pandas' in sys.modules)"
        )
        files = [str(tmp_path / name) for name in ("a.csv", "b.csv", "c.parquet")]
        found = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "False"

    def test_the_head_is_read_without_the_rest(self, read, tmp_path):
        read("a,b\n" + "1,x\n" * 50 + "y,x\n", name="a.csv")
        head = read_head(tmp_path / "a.csv", rows=20)
        assert head.n_rows == 20
        assert head.column("a").dtype == nw.Int64
        assert read_head(tmp_path / "a.csv", rows=100).column("a").dtype == nw.String
        with pytest.raises(ParameterError, match="rows=0 must be at least 1"):
            read_head(tmp_path / "a.csv", rows=0)

    def test_the_head_ignores_errors_further_down(self, read, tmp_path):
        with pytest.raises(DataError):
            read("a,b\n" + "1,x\n" * 900_000 + "y\n", name="a.csv")
        assert read_head(tmp_path / "a.csv").n_rows == 1000

    def test_a_pandas_index_is_not_written(self, tmp_path):
        table = Table.from_native(pd.DataFrame({"a": [1, 2]}, index=["Ann", "Bob"]))
        assert again(table, tmp_path / "a.csv") == b"a\n1\n2\n"

    def test_a_frame_without_records_is_written_as_its_header(self, tmp_path):
        frame = pl.DataFrame(schema={"a": pl.Int64, "b": pl.Null})
        assert again(Table.from_native(frame), tmp_path / "a.csv") == b"a,b\n"

    def test_a_frame_of_every_type_is_written(self, tmp_path):
        frame = pl.DataFrame(
            {
                "c": pl.Series(["x", None], dtype=pl.Categorical),
                "t": [dt.time(1, 2, 3), None],
                "u": [dt.timedelta(hours=1), None],
                "f": [1e20, float("nan")],
                "b": [True, None],
            }
        )
        expected = b"c,t,u,f,b\nx,01:02:03,PT1H,1e+20,true\n,,,NaN,\n"
        assert again(Table.from_native(frame), tmp_path / "a.csv") == expected

    def test_the_source_and_the_dialect_survive_changes(self, read, tmp_path):
        table = read("a;b\n1,5;x\n")
        changed = table.with_columns({"a": nw.new_series("a", [2.5], backend="polars")}).without(["b"])
        assert changed.source == tmp_path / "people.csv"
        assert again(changed, tmp_path / "out.csv") == b"a\n2,5\n"
