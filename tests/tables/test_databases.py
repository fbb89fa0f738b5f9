"""Tables of SQLite, DuckDB and PostgreSQL: a table in, a table out, nothing on failure, and no credentials shown."""

import datetime as dt
import importlib.util
import json
import re
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.api import database_release
from shoal.errors import DataError, FileProblem, GroupTooSmall, MissingExtra, ParameterError, RequirementNotMet
from shoal.tables import Table, databases, read_head, read_table
from shoal.tables.databases import Database, read_database, write_database
from shoal.tables.files import is_database

PEOPLE = pl.DataFrame({
    "name": [f"person {n}" for n in range(8)],
    "age": [30, 31, 40, 42, 50, 52, 61, 60],
    "pay": [1.5, -0.25, 3.0, 1e-9, 2.0, None, 4.0, 5.0],
    "day": [dt.date(2024, 1, n + 1) for n in range(8)],
    "group": ['a "q"', "b", "c;--", "ä", "a", "b", None, "c"],
})  # fmt: skip
ROLES = {"quasi": ["age"], "identifiers": ["name"], "other": ["pay", "day", "group"], "method": "mdav"}


@pytest.fixture(scope="module")
def server():
    """The URI of a new server of PostgreSQL on the loopback interface, with a password in it."""
    spec = importlib.util.spec_from_file_location(
        "test_postgresql", Path(__file__).parents[1] / "flow" / "test_postgresql.py"
    )
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    initdb, postgres, user = programs.program("initdb"), programs.program("postgres"), programs.as_other_user()
    pytest.importorskip("adbc_driver_postgresql")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        folder = Path(directory, "data")
        words = ["-A", "trust", "-U", "steward", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([*user, initdb, "-D", folder, *words], check=True, capture_output=True, cwd="/")
        options = ["-p", str(port), "-k", "", "-c", "listen_addresses=127.0.0.1", "-F"]
        process = subprocess.Popen(
            [*user, postgres, "-D", folder, *options], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/"
        )
        try:
            for _ in range(1200):  # the last line of this file says when connections are accepted
                state = folder / "postmaster.pid"
                if state.exists() and state.read_text().split()[-1:] == ["ready"]:
                    break
                assert process.poll() is None
                subprocess.run(["sleep", "0.05"], check=True)
            yield f"postgresql://steward:planted-password@127.0.0.1:{port}/postgres"
        finally:
            pid = int((folder / "postmaster.pid").read_text().split()[0])
            subprocess.run([*user, "kill", "-INT", str(pid)], check=False, cwd="/")
            process.wait(timeout=60)


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path, monkeypatch):
    """The URI of a database with the table ``people``; the files of a release go into a directory of their own."""
    (tmp_path / "files").mkdir()
    monkeypatch.chdir(tmp_path / "files")
    if request.param == "postgresql":
        uri = request.getfixturevalue("server")
    else:
        uri = f"{request.param}:///{tmp_path / f'people.{request.param}'}"
    store(uri, PEOPLE, "people")
    yield uri
    monkeypatch.undo()
    drop(uri, "safe", "people", "strange; name")


def store(uri, frame, name):
    """Write a table without any check."""
    write_database(
        Table.from_native(frame), f"{uri}?table={name}", overwrite=True, check=lambda _: None, finish=lambda end: end()
    )


def tables(uri):
    statement = {
        "sqlite": "SELECT name FROM sqlite_master", "duckdb": "SELECT table_name FROM duckdb_tables()",
        "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    }  # fmt: skip
    found = read_database(uri, query=statement[Database.of(uri).kind]).native
    return set(found.column(0).to_pylist())


def drop(uri, *names):
    with databases._connected(Database.of(uri), writes=True) as connection:
        for name in names:
            connection.run(f'DROP TABLE IF EXISTS "{name}"')
        connection.commit()


def test_a_table_in_and_a_table_out(place):
    table = read_table(f"{place}?table=people")
    assert table.names == PEOPLE.columns
    for name in PEOPLE.columns:
        assert table.column(name).to_list() == PEOPLE[name].to_list(), name
    assert read_head(f"{place}?table=people", rows=2).n_rows == 2
    release = shoal.protect(f"{place}?table=people", 2, **ROLES)
    same = shoal.protect(PEOPLE, 2, **ROLES)
    paths = release.write(f"{place}?table=safe")
    assert [path.name for path in paths] == ["safe.manifest.json", "safe.holder.parquet"]
    stored = read_table(f"{place}?table=safe")
    for name in same.data.columns:
        assert stored.column(name).to_list() == same.data[name].to_list(), name
    assert shoal.verify(f"{place}?table=safe", 2, quasi=["age"], unnamed="other")
    assert tables(place) == {"people", "safe"}


def test_a_query_is_a_table(place):
    query = 'SELECT age, "group" FROM people WHERE age > 30 ORDER BY age DESC;'
    table = read_database(place, query=query)
    assert table.column("age").to_list() == [61, 60, 52, 50, 42, 40, 31]
    release = shoal.protect(
        place,
        2,
        quasi=["age"],
        other=["group"],
        method="mdav",
        read_options={"query": 'SELECT age, "group" FROM people'},
    )
    assert release.k >= 2


def test_dropped_columns_are_not_selected(place, monkeypatch):
    statements = []
    fetch = databases._Connection._fetch
    monkeypatch.setattr(databases._Connection, "_fetch", lambda own, text: statements.append(text) or fetch(own, text))
    release = shoal.protect(f"{place}?table=people", 2, read_identifiers=False, **ROLES)
    assert release._original.column("name").to_list() == [None] * 8
    assert all('"name"' not in text for text in statements if "LIMIT 0" not in text)
    assert len(release.write("safe.csv")) == 2


def test_an_existing_table_is_replaced_only_on_request(place):
    release = shoal.protect(f"{place}?table=people", 2, **ROLES)
    store(place, pl.DataFrame({"kept": [1]}), "safe")
    with pytest.raises(
        FileProblem, match='the table "safe" exists; choose another name, or replace it with overwrite=True'
    ):
        release.write(f"{place}?table=safe")
    assert read_table(f"{place}?table=safe").names == ["kept"]
    assert list(Path().iterdir()) == []
    release.write(f"{place}?table=safe", overwrite=True)
    assert read_table(f"{place}?table=safe").names == release.data.column_names
    checked = shoal.verify_release(f"{place}?table=safe", "safe.manifest.json")
    assert [(check.name, check.holds) for check in checked.checks] == [
        ("table", True),
        ("plan", True),
        ("recount", True),
    ]
    store(place, pl.from_arrow(release.data)[:-1], "safe")
    assert shoal.verify_release(f"{place}?table=safe", "safe.manifest.json").checks[0].holds is False


def test_the_input_is_never_replaced(place):
    release = shoal.protect(f"{place}?table=people", 2, **ROLES)
    with pytest.raises(FileProblem, match="the output is the input table"):
        release.write(f"{place}?table=people", overwrite=True)
    assert read_table(f"{place}?table=people").column("name").to_list() == PEOPLE["name"].to_list()


def violated(*_):
    raise GroupTooSmall("as written, 1 of 8 records are in classes of fewer than k=2")


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("fault", ["recount", "manifest", "commit", "rename", "insert"])
def test_nothing_is_written_on_failure(place, fault, existing, monkeypatch):
    release = shoal.protect(f"{place}?table=people", 2, **ROLES)
    if existing:
        store(place, pl.DataFrame({"kept": [1]}), "safe")
    before = tables(place)

    def broken(*_, **__):
        raise OSError(28, "No space left on device")

    if fault == "recount":
        monkeypatch.setattr(database_release, "require_k", violated)
    elif fault == "manifest":
        monkeypatch.setattr(shoal.api.release, "write_text", broken)
    else:
        name = {"commit": "commit", "rename": "run", "insert": "insert"}[fault]
        monkeypatch.setattr(databases._Connection, name, broken)
    with pytest.raises((GroupTooSmall, OSError)):
        release.write(f"{place}?table=safe", overwrite=existing)
    monkeypatch.undo()
    assert tables(place) == before
    assert not existing or read_table(f"{place}?table=safe").names == ["kept"]
    assert [path for path in Path().iterdir() if path.name.startswith("safe")] == []


def test_what_the_database_holds_is_counted(place, monkeypatch):
    """Two zeros are equal in memory; the wrong version without a recount makes the table visible."""
    release = shoal.protect(PEOPLE, 2, **ROLES)
    wrong = release.data.with_columns(age=pl.Series([-1, *release.data["age"].to_list()[1:]]))
    object.__setattr__(release.released, "table", Table.from_native(wrong))
    with pytest.raises(GroupTooSmall, match="as written, 2 of 8 records are in classes of fewer than k=2"):
        release.write(f"{place}?table=safe", holder_record="none")
    assert tables(place) == {"people"}
    monkeypatch.setattr(database_release, "require_k", lambda *_: None)
    release.write(f"{place}?table=safe", holder_record="none")
    assert read_table(f"{place}?table=safe").column("age").to_list()[0] == -1


def test_requirements_beyond_k_are_counted_in_the_database(place):
    table = pl.DataFrame({"age": [30, 30, 30, 30], "diagnosis": ["A", "B", "A", "B"]})
    release = shoal.protect(table, 2, quasi=["age"], confidential=["diagnosis"], l=2, method="mdav")
    release.write(f"{place}?table=safe")
    object.__setattr__(release.released, "table", Table.from_native(table.with_columns(diagnosis=pl.lit("A"))))
    with pytest.raises(RequirementNotMet, match="l=2 is violated"):
        release.write(f"{place}?table=safe", holder_record="none", overwrite=True)
    assert set(read_table(f"{place}?table=safe").column("diagnosis").to_list()) == {"A", "B"}


def test_credentials_are_in_no_error_manifest_or_record(place):
    uri = place if "planted" in place else "postgresql://steward:planted-password@127.0.0.1:1/postgres"
    texts = [repr(Database.of(f"{uri}?table=x&password=planted-password"))]
    for call in (
        lambda: read_table(f"{uri}?table=no_such_table"),
        lambda: read_table("postgresql://steward:planted-password@127.0.0.1:1/postgres?table=people"),
        lambda: read_table(uri),
    ):
        with pytest.raises((FileProblem, ParameterError)) as found:
            call()
        texts.append(f"{found.value!r} {found.value.__cause__!r}")
    release = shoal.protect(f"{place}?table=people", 2, **ROLES)
    written = release.write(f"{place}?table=safe", report="report.html")
    texts += [path.read_bytes().decode("latin-1") for path in written]
    assert not [text for text in texts if "planted" in text]
    output = json.loads(Path("safe.manifest.json").read_text())["output"]
    assert {"database": Database.of(place).kind, "table": "safe", "records": 8, "columns": 4}.items() <= output.items()


def test_names_are_quoted(place):
    name = "strange; name"
    store(place, PEOPLE.rename({"age": 'the "age"; --'}), name)
    assert read_table(f"{place}?table={name}").column('the "age"; --').to_list() == PEOPLE["age"].to_list()


def test_the_command_line_reads_and_writes_tables(tmp_path, monkeypatch):
    from shoal.cli.application import main

    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path / 'people.db'}"
    store(uri, PEOPLE, "people")
    words = ["protect", f"{uri}?table=people", "-k", "2", "--quasi", "age", "--identifiers", "name", "--quiet"]
    words += ["--unnamed", "other", "--method", "mdav", "-o", f"{uri}?table=safe"]
    for further, code in (([], 0), ([], 2), (["--force"], 0)):
        monkeypatch.setattr(sys, "argv", ["shoal", *words, *further])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
    assert read_table(f"{uri}?table=safe").n_rows == 8
    assert (tmp_path / "safe.manifest.json").exists()


@pytest.mark.parametrize(
    ("uri", "options", "error", "text"),
    [
        ("sqlite:///none.db?table=a", {}, FileProblem, "sqlite:///none.db does not exist"),
        ("sqlite:///PLACE", {}, ParameterError, r"name the table, for example .*\?table=people"),
        ("sqlite:///PLACE?table=a", {"query": "SELECT 1"}, ParameterError, "names a table and there is a query"),
        ("sqlite:///PLACE?table=none", {}, FileProblem, "cannot be read; check its names"),
        ("sqlite:///PLACE", {"query": "SELECT age FROM people WHERE age > 999"}, DataError, "has no records"),
        ("sqlite:///PLACE?table=people", {"delimiter": ";"}, ParameterError, "is for text files, this is a database"),
        ("sqlite://host/x.db?table=a", {}, ParameterError, "write sqlite:///people.db for a file"),
        ("a.csv", {"query": "SELECT 1"}, ParameterError, "the option query is for databases"),
    ],
)
def test_what_is_not_possible_is_said(tmp_path, uri, options, error, text):
    store(f"sqlite:///{tmp_path / 'people.db'}", PEOPLE, "people")
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(error, match=text):
        read_table(uri.replace("PLACE", str(tmp_path / "people.db")), **options)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_new_database_is_removed_after_a_failure(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = shoal.protect(PEOPLE, 2, **ROLES)
    monkeypatch.setattr(database_release, "require_k", violated)
    with pytest.raises(GroupTooSmall):
        release.write(f"{kind}:///{tmp_path / 'new.db'}?table=safe")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_driver_is_named(tmp_path, monkeypatch):
    store(f"sqlite:///{tmp_path / 'people.db'}", PEOPLE, "people")
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite", None)
    with pytest.raises(MissingExtra, match=re.escape('pip install "shoal[sql]"')):
        read_table(f"sqlite:///{tmp_path / 'people.db'}?table=people")


def test_names_of_databases_are_known():
    assert is_database("duckdb:///a.duckdb")
    assert not any(map(is_database, ["a.csv", Path("sqlite:///a.db"), None, "http://a.b", "C://x.csv"]))


def test_persons_are_counted_in_what_was_stored(place, monkeypatch):
    """A stored table with too few persons in a class, or with its rows in another order, never becomes visible."""
    stays = pl.DataFrame({
        "patient": [f"p{i % 12}" for i in range(36)], "age": [20 + i % 12 * 5 + i // 12 for i in range(36)],
        "ward": ["a", "b", "c"] * 12,
    })  # fmt: skip
    roles = {"quasi": ["age"], "unit": "patient", "other": ["ward"], "method": "mdav", "accept_relinking": True}
    release = shoal.protect(stays, 3, **roles)
    release.write(f"{place}?table=safe")
    stored = pl.DataFrame({name: read_table(f"{place}?table=safe").column(name).to_list() for name in ("age", "ward")})
    whose = stays["patient"].gather(release.released.order.original_rows)
    counts = stored.with_columns(whose).group_by("age").agg(pl.col("patient").n_unique())["patient"]
    assert counts.min() == release.k >= 3
    drop(place, "safe")
    same = np.zeros_like(release.released.units)
    monkeypatch.setattr(release, "released", replace(release.released, units=same))  # one person has all rows
    with pytest.raises(GroupTooSmall, match="fewer than k=3 persons"):
        release.write(f"{place}?table=safe", overwrite=True)
    assert "safe" not in tables(place)


def test_rows_in_another_order_are_refused_where_persons_are_counted(place, monkeypatch):
    stays = pl.DataFrame({"patient": list("abcdef"), "age": [20, 21, 22, 40, 41, 42]})
    release = shoal.protect(stays, 3, quasi=["age"], unit="patient", method="mdav")
    labels = database_release.class_labels
    calls = iter([slice(None, None, -1), slice(None)])
    monkeypatch.setattr(
        database_release, "class_labels", lambda table, names: np.append(labels(table, names), 9)[next(calls)]
    )
    with pytest.raises(FileProblem, match="not read back in the order of the release"):
        release.write(f"{place}?table=safe")
    assert "safe" not in tables(place)
    with pytest.raises(ParameterError, match="histories, whose rows have an order"):
        shoal.protect(stays, 3, quasi=["age"], unit="patient", of="histories").write(f"{place}?table=safe")
