"""Outputs are not overwritten without ``--force``: one rule for every command that writes."""

import subprocess
import sys

import polars as pl
import pytest

import shoal
from shoal.errors import FileProblem

PEOPLE = pl.DataFrame({"age": [30, 31, 40, 42] * 5, "sex": ["f", "m"] * 10})
PROTECT = ["protect", "people.csv", "-k", "2", "--quasi", "age,sex", "--method", "mdav", "-o", "safe.csv"]
COMMANDS = {
    "safe.csv": PROTECT,
    "safe.manifest.json": PROTECT,
    "safe.holder.parquet": PROTECT,
    "report.html": [*PROTECT, "--report", "report.html"],
    "public.html": [*PROTECT, "--public-report", "public.html"],
    "schema.toml": ["schema", "people.csv", "-o", "schema.toml"],
    "compared.csv": [
        "compare", "people.csv", "-k", "2", "--methods", "mdav", "--quasi", "age,sex", "--csv", "compared.csv",
    ],
    "private.csv": ["dp", "people.csv", "--epsilon", "1", "-k", "5", "--bounds", "age=0..120", "-o", "private.csv"],
}  # fmt: skip


def run(monkeypatch, *words):
    from shoal.cli.application import main

    monkeypatch.setattr(sys, "argv", ["shoal", *words, "--quiet"])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize("name", COMMANDS)
def test_an_output_that_exists_is_kept(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    (tmp_path / name).write_text("kept")
    assert run(monkeypatch, *COMMANDS[name]) == 2
    assert f"{name} exists; choose another file, or replace it with --force" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["people.csv", name])
    assert run(monkeypatch, *COMMANDS[name], "--force") == 0
    assert (tmp_path / name).read_bytes() != b"kept"


def test_a_broken_link_is_no_output_that_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    (tmp_path / "safe.csv").symlink_to("elsewhere.csv")
    assert run(monkeypatch, *PROTECT) == 0
    assert (tmp_path / "elsewhere.csv").exists()


def test_force_does_not_allow_to_replace_an_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("people.csv")
    assert run(monkeypatch, *PROTECT[:-1], "people.csv", "--force") == 2
    assert pl.read_csv("people.csv").equals(PEOPLE)


def test_a_signature_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    except FileNotFoundError:
        pytest.skip("there is no program ssh-keygen")
    (tmp_path / "m.json").write_text("{}")
    (tmp_path / "m.json.sig").write_text("kept")
    assert run(monkeypatch, "sign", "m.json", "--key", "key") == 2
    assert "m.json.sig exists" in capsys.readouterr().err
    assert run(monkeypatch, "sign", "m.json", "--key", "key", "--force") == 0


def test_python_replaces_files_only_if_overwrite_is_true(tmp_path):
    release = shoal.protect(PEOPLE, 2, quasi=["age", "sex"], method="mdav")
    release.write(tmp_path / "safe.csv")
    release.write(tmp_path / "safe.csv", overwrite=True)
    release.report(tmp_path / "safe.html")
    encoding = shoal.fit_encoding(*shoal.load_table(PEOPLE, quasi=["age", "sex"]))
    encoding.save(tmp_path / "encoding.json")
    for write, name in (
        (release.write, "safe.csv"), (release.report, "safe.html"), (encoding.save, "encoding.json"),
    ):  # fmt: skip
        with pytest.raises(
            FileProblem, match=rf"{name} exists; choose another file, or replace it with overwrite=True"
        ):
            write(tmp_path / name)
