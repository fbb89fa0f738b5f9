"""No output of any command or Python call replaces a file that the run has read, whatever name or link leads to it."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal import dp
from shoal.errors import FileProblem, ParameterError
from shoal.schema.loading import load_with_schema
from shoal.tables import read_table, write_table

LINKS = ["same", "symlink", "hard link", "other spelling"]
SCHEMA = '[columns."age"]\nrole = "quasi"\nkind = "numeric"\n[columns."sex"]\nrole = "quasi"\nkind = "nominal"\n'
INPUTS = {"table": "people.csv", "schema": "people.toml", "hierarchy": "tree.csv"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": range(20), "sex": ["f", "m"] * 10}).write_csv("people.csv")
    Path("people.toml").write_text(SCHEMA)
    Path("tree.csv").write_text("f;*\nm;*\n")
    return {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def alias(source, kind, name):
    """Return another way to name a file."""
    if kind == "same":
        return Path(source)
    if kind == "other spelling":
        Path("folder").mkdir()
        return Path("folder", "..", source)
    Path(name).symlink_to(source) if kind == "symlink" else Path(name).hardlink_to(source)
    return Path(name)


def unchanged(files):
    return all(Path(name).read_bytes() == content for name, content in files.items())


COMMAND = [
    "protect", "people.csv", "-k", "3", "--schema", "people.toml", "--hierarchy", "sex=tree.csv", "--method", "mdav",
]  # fmt: skip


@pytest.mark.parametrize("source", INPUTS.values())
@pytest.mark.parametrize("option", ["-o", "--manifest", "--report", "--public-report"])
@pytest.mark.parametrize("kind", LINKS)
def test_protect_replaces_no_input(files, source, option, kind, monkeypatch, capsys):
    from shoal.cli.application import main

    extension = {"-o": ".csv", "--manifest": ".json"}.get(option, ".html")
    if kind in {"same", "other spelling"} and option != "--manifest" and not source.endswith(extension):
        pytest.skip("the extension is refused before")
    output = alias(source, kind, f"link{extension}")
    outputs = [option, str(output)] if option == "-o" else [option, str(output), "-o", "safe.csv"]
    monkeypatch.setattr(sys, "argv", ["shoal", *COMMAND, *outputs])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "the output is the input" in capsys.readouterr().err
    assert unchanged(files)
    assert not Path("safe.csv").exists()


@pytest.mark.parametrize("source", INPUTS.values())
@pytest.mark.parametrize("kind", LINKS)
def test_a_release_replaces_no_input(files, source, kind, monkeypatch):
    release = shoal.protect("people.csv", 3, schema="people.toml", hierarchies={"sex": "tree.csv"}, method="mdav")
    output = alias(source, kind, "link.csv").absolute()
    monkeypatch.chdir("/")  # names are relative to the directory of the call
    outputs = [{"path": output}] if output.suffix == ".csv" else []
    outputs.append({"path": output.with_name("safe.csv"), "manifest": output})
    for arguments in outputs:
        with pytest.raises(FileProblem, match="the output is the input"):
            release.write(**arguments)
        with pytest.raises(FileProblem, match="the output is the input"):
            copy.deepcopy(release).write(**arguments)
    monkeypatch.chdir(output.parent)
    assert unchanged(files)


def test_a_release_by_stages_and_its_reports_replace_no_input(files):
    os.link("people.toml", "report.html")
    table, schema = load_with_schema("people.csv", schema="people.toml", hierarchies={"sex": "tree.csv"})
    release = shoal.run_plan(table, shoal.Plan(schema, shoal.Requirements(k=3), shoal.MethodCall("mdav")))
    for write in (
        lambda: release.write("people.csv"),
        lambda: release.write("tree.csv"),
        lambda: release.write("safe.csv", manifest="people.toml"),
        lambda: release.write("safe.csv", report="report.html"),
        lambda: release.report("report.html"),
    ):
        with pytest.raises(FileProblem, match="the output is the input"):
            write()
    assert unchanged(files)


@pytest.mark.parametrize("kind", LINKS)
def test_dp_compare_schema_and_tables_replace_no_input(files, kind, monkeypatch):
    pytest.importorskip("opendp")
    output = alias("people.csv", kind, "link.csv")
    private = dp.release("people.csv", epsilon=1.0, mechanism="histogram", bounds={"age": (0, 20)})
    comparison = shoal.compare("people.csv", 3, methods=["mdav"], quasi=["age", "sex"], hierarchies={"sex": "tree.csv"})
    for write in (
        lambda: private.write(output),
        lambda: private.write("private.csv", manifest=output),
        lambda: comparison.write(output),
        lambda: comparison.write("tree.csv"),
        lambda: write_table(read_table("people.csv"), output),
    ):
        with pytest.raises(FileProblem, match="the output is the input"):
            write()
    for arguments in (
        ["dp", "people.csv", "--epsilon", "1", "--bounds", "age=0..20", "-o", output],
        ["compare", "people.csv", "-k", "3", "--quasi", "age", "--hierarchy", "sex=tree.csv", "--csv", "tree.csv"],
        ["schema", "people.csv", "-o", output, "--force"],
    ):
        command = [sys.executable, "-m", "shoal", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 2
        assert "the output is the input" in result.stderr
    assert unchanged(files)


@pytest.mark.parametrize("kind", LINKS)
def test_outputs_differ_from_each_other(files, kind):
    Path("old.csv").write_text("old")
    release = shoal.protect("people.csv", 3, quasi=["age"], confidential=["sex"], method="mdav")
    output = alias("old.csv", kind, "link.json")
    with pytest.raises(ParameterError, match="need different files"):
        release.write("old.csv", manifest=output, overwrite=True)
    assert Path("old.csv").read_text() == "old"


def test_paths_are_in_no_manifest_and_no_pickle(files):
    folder = Path("secret-project")
    folder.mkdir()
    for name in files:
        Path(name).rename(folder / name)
    release = shoal.protect(
        folder / "people.csv", 3, schema=folder / "people.toml", hierarchies={"sex": folder / "tree.csv"}, method="mdav"
    )
    path, manifest, *_ = release.write("safe.csv")
    for content in (path.read_bytes(), manifest.read_bytes(), pickle.dumps(release), pickle.dumps(release.table)):
        assert b"secret-project" not in content
        assert b"people.csv" not in content
    assert release.table.inputs  # what is dropped from the pickle is there


def test_paths_are_in_no_copy_of_a_release(files):
    release = shoal.protect("people.csv", 3, quasi=["age"], confidential=["sex"], method="mdav")
    copies = copy.copy(release), copy.deepcopy(release), pickle.loads(pickle.dumps(release))
    tables = [one.table for one in copies]
    tables += [copy.copy(release.released).table, copy.deepcopy(release.released).table]
    for table in tables:
        assert table.source is None
        assert not any(isinstance(file, Path) for file in table.inputs)
        assert table.native.equals(release.data)
    assert release.table.inputs  # the release itself does not write over its input


def test_the_test_of_copies_finds_paths(files, monkeypatch):
    """The wrong version: a copy that holds all that the release holds."""
    release = shoal.protect("people.csv", 3, quasi=["age"], confidential=["sex"], method="mdav")
    monkeypatch.delattr(type(release.released), "__getstate__")
    assert any(isinstance(file, Path) for file in copy.copy(release).table.inputs)
