"""The SQL of the manifest on a server of PostgreSQL that this test starts on the loopback interface."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.flow.recount_file import quoted, recount_entry

PLACES = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *sorted(Path("/usr/pgsql").glob("*/bin"))]
NAMES = ['the "net" income', "größe", "select", "order by", "a,b", "x'y", "--", "名前", "records", "%s", ";drop", "l1"]


def program(name):
    """Return the path of a program of PostgreSQL, which Debian keeps outside of PATH."""
    found = shutil.which(name, path=os.pathsep.join([*map(str, PLACES), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"PostgreSQL is not installed: there is no program {name}")
    return found


def as_other_user():
    """Return the start of a command that does not run as root, which a server refuses."""
    if os.geteuid() != 0:
        return []
    if shutil.which("runuser") is None:
        pytest.skip("a server of PostgreSQL does not run as root, and there is no program runuser")
    users = Path("/etc/passwd").read_text(encoding="utf-8")
    return ["runuser", "-u", "postgres" if "\npostgres:" in users else "nobody", "--"]


@pytest.fixture(scope="module")
def database():
    """A function that runs statements of psql in a new server and returns what they print."""
    initdb, postgres, psql, user = program("initdb"), program("postgres"), program("psql"), as_other_user()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        folder = Path(directory, "data")
        subprocess.run(
            [*user, initdb, "-D", folder, "-A", "trust", "-U", "steward", "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True, capture_output=True, cwd="/",
        )  # fmt: skip
        server = [*user, postgres, "-D", folder, "-p", port, "-k", "", "-c", "listen_addresses=127.0.0.1", "-F"]
        process = subprocess.Popen(server, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/")
        command = [psql, "-h", "127.0.0.1", "-p", port, "-U", "steward", "-d", "postgres", "-X", "-q", "-A", "-F", "\t"]
        environment = os.environ | {"PGCONNECT_TIMEOUT": "5", "PGCLIENTENCODING": "UTF8"}

        def run(*statements):
            words = [word for statement in statements for word in ("-c", statement)]
            settings = ["-v", "ON_ERROR_STOP=1", "-P", "footer=off"]
            result = subprocess.run(
                [*command, *settings, *words], check=False, capture_output=True, text=True, env=environment, timeout=60
            )
            return result.returncode, result.stdout, result.stderr

        try:
            for _ in range(200):
                if run("SELECT 1")[0] == 0:
                    break
                assert process.poll() is None, "the server of PostgreSQL ended"
            yield run
        finally:
            pid = int((folder / "postmaster.pid").read_text().split()[0])
            subprocess.run([*user, "kill", "-INT", str(pid)], check=False, cwd="/")
            process.wait(timeout=60)


def recounted(run, path, columns, statement):
    """Copy a file into the table that a statement counts, and return its answer by the names of its columns."""
    table = f"CREATE TABLE released ({', '.join(f'{quoted(name)} text' for name in columns)})"
    copied = str(path).replace("'", "''")
    code, text, error = run(
        "DROP TABLE IF EXISTS released", table, f"\\copy released FROM '{copied}' WITH (FORMAT csv, HEADER)", statement
    )
    assert code == 0, error
    names, values = (line.split("\t") for line in text.splitlines()[-2:])
    return dict(zip(names, map(int, values), strict=True))


@pytest.fixture
def release():
    people = shoal.datasets.patients(120)
    known = ("age", "income", "sex", "region", "height")
    frame = pl.DataFrame({name: people[known[number % 5]] for number, name in enumerate(NAMES)}).with_columns(
        pl.Series(NAMES[-2], [None if row % 7 == 0 else row % 3 for row in range(120)]),
        pl.Series(NAMES[-1], people["diagnosis"]),
    )
    return shoal.protect(frame, 3, quasi=NAMES[:-2], confidential=NAMES[-2:], method="mdav", l=2, accept_loss=True)


def test_postgresql_recounts_k_and_l_of_a_released_file(tmp_path, database, release):
    path = release.write(tmp_path / "it's safe.csv")[0]
    found = recounted(database, path, release.data.columns, release.manifest["recount"]["sql"])
    assert found["k"] == release.k
    assert found["classes"] == release.classes.sizes.size
    assert [found["l1"], found["l2"]] == [release.assessment.columns[name].l for name in NAMES[-2:]]


def test_postgresql_finds_a_file_that_violates_k(tmp_path, database, release):
    """The wrong version: one record of the released file was changed afterwards."""
    path = release.write(tmp_path / "safe.csv")[0]
    changed = release.data.with_columns(pl.Series(NAMES[0], [-1, *release.data[NAMES[0]][1:]]))
    changed.write_csv(path)
    assert recounted(database, path, changed.columns, release.manifest["recount"]["sql"])["k"] == 1


def test_missing_values_count_as_values_in_postgresql(tmp_path, database):
    path = tmp_path / "missing.csv"
    path.write_text('age,diagnosis\n,a\n,\n1,b\n1,""\n')
    found = recounted(database, path, ["age", "diagnosis"], recount_entry(["age"], ["diagnosis"])["sql"])
    assert found == {"classes": 2, "k": 2, "l1": 2}
