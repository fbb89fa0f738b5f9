"""Columns that are dropped are not read, and nested columns pass through or are dropped."""

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import shoal
from shoal.errors import ParameterError, UnknownColumn
from shoal.schema.loading import stated_identifiers
from shoal.tables import Table, read_table, write_table

PEOPLE = pl.DataFrame(
    {"name": [f"planted-{n}" for n in range(6)], "age": [30, 31, 40, 42, 50, 52], "sex": list("ffmmff")}
)
ENDINGS = ["csv", "csv.zst", "parquet", "arrow", "feather", "sav", "dta", "xpt", "xlsx"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_unread_column_is_empty_and_in_its_place(tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    write_table(Table.from_native(PEOPLE), path)
    table = read_table(path, unread=["name", "no such column"])
    assert (table.names, table.unread) == (["name", "age", "sex"], ("name",))
    assert table.column("name").to_list() == [None] * 6
    assert table.column("age").to_list() == PEOPLE["age"].to_list()
    release = shoal.protect(path, 2, quasi=["age", "sex"], identifiers=["name"], method="mdav", read_identifiers=False)
    same = shoal.protect(path, 2, quasi=["age", "sex"], identifiers=["name"], method="mdav")
    assert release.table.fingerprint() == same.table.fingerprint()
    assert release.manifest == same.manifest
    assert release._original.column("name").null_count() == 6
    assert len(release.write(tmp_path / "safe.csv")) == 2
    with pytest.raises(ParameterError, match="the direct identifiers were not read, so that no holder's record"):
        release.write(tmp_path / "safe.csv", holder_record=tmp_path / "h.parquet")


def damaged(path, word):
    content = path.read_bytes()
    assert content.count(word) >= 1
    path.write_bytes(content.replace(word, b"\xff" * len(word)))


def test_values_of_an_unread_column_are_not_decoded(tmp_path):
    """The column is damaged on the disk: reading it raises, and not reading it does not."""
    path = tmp_path / "people.parquet"
    parquet.write_table(PEOPLE.to_arrow(), path, compression="none", use_dictionary=False, write_statistics=False)
    damaged(path, b"planted-3")
    assert read_table(path, unread=["name"]).column("age").to_list() == PEOPLE["age"].to_list()
    with pytest.raises((shoal.errors.ShoalError, UnicodeDecodeError)):
        read_table(path).column("name").to_list()
    release = shoal.protect(path, 2, quasi=["age", "sex"], identifiers=["name"], read_identifiers=False)
    assert release.k >= 2


def test_identifiers_are_those_of_schema_and_options():
    text = '[columns.name]\nrole = "identifier"\n[columns.age]\nrole = "quasi"\n[columns.sex]\nrole = "identifier"\n'
    assert stated_identifiers(text, {"identifiers": ["id"], "quasi": ["sex"]}) == ["name", "id"]
    assert stated_identifiers(None, {"identifiers": None}) == []


def test_a_misspelt_identifier_is_an_error_and_no_column_slips_through(tmp_path):
    path = tmp_path / "people.csv"
    PEOPLE.write_csv(path)
    with pytest.raises(UnknownColumn):
        shoal.protect(path, 2, quasi=["age"], identifiers=["nmae"], unnamed="other", read_identifiers=False)


NESTED = pa.table(
    {
        "age": [30, 31, 40, 42],
        "visits": [[1, 2], [], None, [3]],
        "place": [{"x": 1, "y": "a"}, None, {"x": 2, "y": None}, {"x": 3, "y": "b"}],
        "tags": pa.array([[("a", 1)], [], None, [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    }
)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_nested_columns_pass_through_unchanged(tmp_path, ending):
    path, safe = tmp_path / f"people.{ending}", tmp_path / f"safe.{ending}"
    if ending == "parquet":
        parquet.write_table(NESTED, path)
    else:
        with ipc.new_file(path, NESTED.schema) as writer:
            writer.write_table(NESTED)
    release = shoal.protect(path, 2, quasi=["age"], unnamed="other")
    release.write(safe)
    found = parquet.read_table(safe) if ending == "parquet" else ipc.open_file(safe).read_all()
    for name in ("visits", "place", "tags"):
        assert found[name].to_pylist() == NESTED[name].to_pylist()
    assert shoal.verify_release(safe, tmp_path / "safe.manifest.json").satisfied


@pytest.mark.parametrize("read", [True, False])
def test_nested_columns_can_be_dropped(tmp_path, read):
    parquet.write_table(NESTED, tmp_path / "people.parquet")
    roles = {"quasi": ["age"], "identifiers": ["visits", "place", "tags"]}
    release = shoal.protect(tmp_path / "people.parquet", 2, read_identifiers=read, **roles)
    release.write(tmp_path / "safe.csv")
    assert (tmp_path / "safe.csv").read_text().startswith("age\n")


def test_the_command_line_reads_identifiers_for_the_record_only(tmp_path, monkeypatch):
    from shoal.cli import application
    from shoal.tables import arrow_files

    seen = []
    read = arrow_files.read_parquet_table
    monkeypatch.setattr(arrow_files, "read_parquet_table", lambda *given: seen.append(given[2]) or read(*given))
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    for record, expected in (("none", ["name"]), (str(tmp_path / "h.parquet"), [])):
        words = ["protect", str(tmp_path / "people.parquet"), "-k", "2", "--quasi", "age,sex", "--identifiers", "name"]
        monkeypatch.setattr(
            "sys.argv", ["shoal", *words, "-o", str(tmp_path / "s.csv"), "--holder-record", record, "-q", "--force"]
        )
        with pytest.raises(SystemExit) as ended:
            application.main()
        assert ended.value.code == 0
        assert [list(names) for names in seen] == [expected, expected]
        seen.clear()
