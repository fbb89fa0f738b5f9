"""Permissions of the outputs: files for the data holder are private, files that are released follow the umask."""

import os
import stat

import polars as pl
import pytest

import shoal
from shoal.api import release as release_module
from shoal.cli.application import app
from shoal.tables import read_table
from shoal.tables.atomic import write_files

PEOPLE = shoal.datasets.patients(60).select("age", "sex", "diagnosis")
PUBLIC = {"safe.csv", "safe.manifest.json", "public.html"}
CONFIDENTIAL = {"safe.holder.parquet", "report.html", "later.html", "compared.html", "compared.csv", "schema.toml",
                "encoding.json"}  # fmt: skip
ROLES = {"quasi": ["age", "sex"], "confidential": ["diagnosis"]}


@pytest.fixture(params=[0o022, 0o002, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def write_everything(folder):
    """Write every kind of output that Shoal has, by the command line where it has a command for it."""
    PEOPLE.write_csv(folder / "people.csv")
    release = shoal.protect(folder / "people.csv", 3, method="mdav", **ROLES)
    release.write(
        folder / "safe.csv", report=folder / "report.html", public_report=folder / "public.html", overwrite=True
    )
    release.report(folder / "later.html", overwrite=True)
    release.report(folder / "public.html", public=True, overwrite=True)
    comparison = shoal.compare(PEOPLE, [3], methods=["mdav"], **ROLES)
    comparison.write(folder / "compared.html", folder / "compared.csv", overwrite=True)
    table, schema = shoal.load_table(PEOPLE, **ROLES)
    shoal.fit_encoding(table, schema).save(folder / "encoding.json", overwrite=True)
    app(["schema", str(folder / "people.csv"), "-o", str(folder / "schema.toml"), "--force", "--quiet"],
        standalone_mode=False)  # fmt: skip


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize("existing", [False, True])
def test_only_what_is_released_can_be_read_by_others(tmp_path, umask, existing, record):
    for name in CONFIDENTIAL if existing else ():  # a file with open permissions is replaced
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    write_everything(tmp_path)
    found = modes(tmp_path)
    assert {name: found[name] for name in CONFIDENTIAL} == dict.fromkeys(CONFIDENTIAL, 0o600)
    assert {name: found[name] for name in PUBLIC} == dict.fromkeys(PUBLIC, 0o666 & ~umask)
    assert set(found) == PUBLIC | CONFIDENTIAL | {"people.csv"}
    record("confidential files with mode 0600", len(CONFIDENTIAL))


def test_a_report_written_like_a_table_is_caught(tmp_path, monkeypatch):
    """The wrong version: the mode of the full report follows the umask."""
    monkeypatch.setattr(release_module, "write_files", lambda writers, **_: write_files(writers))
    before = os.umask(0o022)
    try:
        write_everything(tmp_path)
    finally:
        os.umask(before)
    assert modes(tmp_path)["report.html"] == 0o644


def test_a_private_file_is_private_before_its_first_byte(tmp_path):
    seen = []

    def writer(path):
        seen.append(stat.S_IMODE(path.stat().st_mode))
        pl.DataFrame({"a": [1]}).write_csv(path)

    write_files({tmp_path / "record.csv": writer}, private=[tmp_path / "record.csv"])
    assert seen == [0o600]
    assert read_table(tmp_path / "record.csv").names == ["a"]
