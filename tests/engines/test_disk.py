"""Parquet in, Parquet out: the release appears complete, after it was counted, or not at all."""

import json
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from cli.test_commands import run as run_command
from engines.test_partitioned_run import digest, people, plan_of, run
from shoal.engines import disk
from shoal.engines.disk import protect_to_folder
from shoal.errors import DerivedNotAccepted, FileProblem, GroupTooSmall, LinksNotAccepted, ParameterError
from shoal.tables import Table
from shoal.tables.parquet_parts import open_parts

COLUMNS = {"quasi": ["age", "income", "job"], "confidential": ["diagnosis"], "unnamed": "other", "method": "mdav"}


@pytest.fixture
def folder(tmp_path):
    """A folder of three Parquet files of different sizes."""
    path = tmp_path / "people"
    path.mkdir()
    table = people()
    for number, (start, size) in enumerate([(0, 100), (100, 650), (750, 150)]):
        parquet.write_table(table.slice(start, size), path / f"{number}.parquet", row_group_size=90)
    return path


def private(directory):
    return [path for path in directory.iterdir() if path.name.startswith(".")]


def protected(source, plan, place, leaf=100, **options):
    place.mkdir()
    return protect_to_folder(open_parts(source), plan, place, leaf_records=leaf, **options)


@pytest.mark.parametrize("single", [None, "safe.parquet"])
def test_files_hold_what_the_same_plan_gives_in_memory(folder, tmp_path, single):
    plan = plan_of(people())
    found = protected(folder, plan, tmp_path / "private", single=single, bucket_rows=100)
    expected = run(people(), plan)[1]
    files = sorted((tmp_path / "private" / "new").glob("*.parquet"))
    written = pa.concat_tables([parquet.read_table(file) for file in files])
    assert digest(written) == digest(expected)
    assert found.manifest["output"]["fingerprint"] == f"sha256:{digest(expected)}"
    assert found.manifest["method"]["parts"]["count"] == found.figures.jobs > 1
    assert found.manifest["k"] == {"requested": 4, "achieved": found.counted.recount.classes.k}


def test_other_files_with_the_same_rows_give_the_same_release(folder, tmp_path):
    one = tmp_path / "one.parquet"
    parquet.write_table(people(), one, row_group_size=500)
    plan = plan_of(people())
    manifests = [protected(source, plan, tmp_path / name).manifest for name, source in (("a", folder), ("b", one))]
    assert manifests[0]["output"]["fingerprint"] == manifests[1]["output"]["fingerprint"]
    assert manifests[0]["loss"] == manifests[1]["loss"]


def test_protect_writes_a_folder_with_manifest_and_mark(folder, tmp_path):
    release = shoal.protect(folder, 4, engine="disk", output=tmp_path / "safe", **COLUMNS)
    local = shoal.protect(folder, 4, **COLUMNS)
    assert {path.name for path in (tmp_path / "safe").iterdir()} == {"_SUCCESS", "_manifest.json", "part-00000.parquet"}
    assert digest(parquet.read_table(tmp_path / "safe")) == local.table.fingerprint()  # one leaf
    manifest = json.loads((tmp_path / "safe" / "_manifest.json").read_text())
    assert manifest == json.loads(release.manifest_json())
    assert (manifest["groups"], manifest["loss"]) == (local.manifest["groups"], local.manifest["loss"])
    assert manifest["input"] == local.manifest["input"]
    assert release.k == local.k
    assert release.loss.information_loss == local.loss.information_loss
    assert private(tmp_path) == []
    assert shoal.verify(tmp_path / "safe", 4, **{key: COLUMNS[key] for key in ("quasi", "unnamed")}).k >= 4
    with pytest.raises(ParameterError, match="not in memory"):
        release.data  # noqa: B018
    with pytest.raises(ParameterError, match="not in memory"):
        release.write(tmp_path / "again.parquet")
    assert pickle.loads(pickle.dumps(release)).k == release.k
    assert "information loss" in release._repr_html_()


def test_a_single_file_has_its_manifest_beside_it(folder, tmp_path):
    release = shoal.protect(folder, 4, engine="disk", output=tmp_path / "safe.parquet", **COLUMNS)
    assert release.paths == [tmp_path / "safe.parquet", tmp_path / "safe.manifest.json"]
    entry = json.loads(release.paths[1].read_text())["output"]
    assert entry["bytes"] == release.paths[0].stat().st_size
    assert stat.S_IMODE(release.paths[0].stat().st_mode) == 0o666 & ~current_umask()


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_existing_outputs_are_replaced_only_on_request(folder, tmp_path):
    for _ in range(2):
        shoal.protect(folder, 4, engine="disk", output=tmp_path / "safe", overwrite=True, **COLUMNS)
    with pytest.raises(FileProblem, match="exists"):
        shoal.protect(folder, 4, engine="disk", output=tmp_path / "safe", **COLUMNS)
    other = tmp_path / "mine"
    other.mkdir()
    (other / "note.txt").write_text("keep")
    with pytest.raises(FileProblem, match="no release wrote"):
        shoal.protect(folder, 4, engine="disk", output=other, overwrite=True, **COLUMNS)
    with pytest.raises(FileProblem, match="the output is the input"):
        shoal.protect(folder, 4, engine="disk", output=folder, overwrite=True, **COLUMNS)
    assert (other / "note.txt").read_text() == "keep"
    assert private(tmp_path) == []


def test_a_violated_requirement_in_the_written_bytes_releases_nothing(folder, tmp_path, monkeypatch):
    """The wrong version releases one row with a value of its own; only the recount of the files can find it."""
    original = disk.ParquetFolder.write

    def broken(self, table):
        ages = np.asarray(table["age"]).copy()
        ages[0] = 1_000
        original(self, table.set_column(0, table.schema.field("age"), pa.array(ages)))

    monkeypatch.setattr(disk.ParquetFolder, "write", broken)
    with pytest.raises(GroupTooSmall):
        shoal.protect(folder, 4, engine="disk", output=tmp_path / "safe", **COLUMNS)
    assert [path.name for path in tmp_path.iterdir()] == ["people"]


def test_the_private_folder_is_private_and_leftovers_go(folder, tmp_path, monkeypatch):
    left = tmp_path / ".safe.00000000.1-folder0.shoal-tmp"
    left.mkdir()
    (left / "rows-0.arrow").write_text("rows of a process that was killed")
    modes = []
    original = disk.ParquetFolder.write

    def noted(self, table):
        modes.append(stat.S_IMODE(self.folder.parent.stat().st_mode))
        original(self, table)

    monkeypatch.setattr(disk.ParquetFolder, "write", noted)
    shoal.protect(folder, 4, engine="disk", output=tmp_path / "safe", **COLUMNS)
    assert set(modes) == {0o700}
    assert not left.exists()


def test_columns_that_give_a_protected_one_back_stop_the_release(folder, tmp_path):
    table = people()
    source = tmp_path / "copied.parquet"
    parquet.write_table(table.append_column("twice", pa.array(2 * np.asarray(table["income"]))), source)
    with pytest.raises(DerivedNotAccepted, match="income"):
        shoal.protect(source, 4, engine="disk", output=tmp_path / "safe", **COLUMNS)
    assert not (tmp_path / "safe").exists()
    shoal.protect(source, 4, engine="disk", output=tmp_path / "safe", accept_derived=True, **COLUMNS)


def test_rows_of_a_person_that_can_be_linked_stop_the_release(tmp_path):
    table = people()
    source = tmp_path / "linked.parquet"
    parquet.write_table(table.append_column("card", pa.array([f"card {person}" for person in table["person"]])), source)
    columns = COLUMNS | {"unit": "person"}
    with pytest.raises(LinksNotAccepted):
        shoal.protect(source, 4, engine="disk", output=tmp_path / "safe", **columns)
    release = shoal.protect(source, 4, engine="disk", output=tmp_path / "safe", accept_relinking=True, **columns)
    assert release.manifest["k"]["of"] == "units"
    assert release.classes.units.min() >= 4


def test_auto_takes_disk_for_a_folder_and_where_memory_will_not_do(folder, tmp_path, monkeypatch):
    from shoal.api.partitioned import chosen_engine

    assert chosen_engine("auto", folder, tmp_path / "safe") == "disk"
    assert chosen_engine("auto", folder, tmp_path / "safe.parquet") == "local"
    assert chosen_engine("auto", "people.csv", "safe.csv") == "local"
    monkeypatch.setattr("shoal.core.memory.free_memory", lambda: 1_000)
    assert chosen_engine("auto", folder, tmp_path / "safe.parquet") == "disk"


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"engine": "dusk", "output": "x"}, 'did you mean "disk"'),
        ({"engine": "disk"}, "name a folder or a file"),
        ({"output": "x"}, "release.write"),
        ({"engine": "disk", "output": "-"}, "a folder or a file of Parquet"),
        ({"engine": "auto", "output": "sqlite:///a.db?table=b"}, "a folder or a file of Parquet"),
        ({"engine": "disk", "output": "safe.csv"}, "ends in .parquet"),
        ({"engine": "disk", "output": "safe", "time_limit": 5, "method": "auto"}, "time limit"),
    ],
)
def test_wrong_use_is_one_sentence(folder, options, match):
    with pytest.raises(ParameterError, match=match):
        shoal.protect(folder, 4, **COLUMNS | options)


def test_text_files_are_not_read_in_parts(tmp_path):
    pl.DataFrame({"age": [1, 2]}).write_csv(tmp_path / "people.csv")
    with pytest.raises(FileProblem, match="convert it to Parquet"):
        shoal.protect(tmp_path / "people.csv", 2, quasi=["age"], engine="disk", output=tmp_path / "safe")


def test_the_command_line(folder, tmp_path):
    command = [
        sys.executable, "-m", "shoal", "protect", str(folder), "-k", "4", "--quasi", "age,income,job", "--unnamed",
        "other", "--method", "mdav", "--engine", "disk", "-o", str(tmp_path / "safe"),
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "k requested / achieved  4 /" in done.stdout
    assert (tmp_path / "safe" / "_SUCCESS").exists()
    again = subprocess.run(command, check=False, capture_output=True, text=True)
    assert again.returncode == 2
    assert "--force" in again.stderr
    refused = subprocess.run([*command, "--holder-record", "r.parquet"], check=False, capture_output=True, text=True)
    assert (refused.returncode, "--holder-record" in refused.stderr) == (2, True)


@pytest.mark.parametrize("name", ["safe", "safe.parquet"])
def test_a_run_file_repeats_the_release_with_its_engine(folder, tmp_path, name):
    safe, run_file, report = tmp_path / name, tmp_path / "release.toml", tmp_path / "public.html"
    command = [
        "protect", str(folder), "-k", "4", "--quasi", "age,income", "--confidential", "diagnosis", "--unnamed", "other",
        "--method", "mondrian", "--engine", "disk", "-o", str(safe), "--quiet", "--save", str(run_file),
    ]  # fmt: skip
    assert run_command(*command, "--public-report", report).returncode == 0
    assert stat.S_IMODE(run_file.stat().st_mode) == 0o600
    kept = shoal.load_run(run_file)
    assert (kept.output.engine, kept.plan.method.resolved[0].identity) == ("disk", "mondrian@1")
    manifest = safe / "_manifest.json" if name == "safe" else tmp_path / "safe.manifest.json"
    before = manifest.read_bytes()
    assert run_command("run", run_file, "--quiet").returncode == 2  # what exists is replaced on request only
    assert run_command("run", run_file, "--quiet", "--force").returncode == 0
    assert manifest.read_bytes() == before
    run_file.write_text(run_file.read_text().replace('engine = "disk"', 'engine = "dusk"'))
    assert run_command("run", run_file, "--quiet", "--force").returncode == 2
    run_file.write_text(run_file.read_text().replace('engine = "dusk"', 'engine = "disk"').replace("k = 4", "k = 5"))
    assert run_command("run", run_file, "--quiet", "--force").returncode == 0
    assert json.loads(manifest.read_text())["k"]["requested"] == 5


def test_partitions_of_hive_are_columns(tmp_path):
    table = people()
    for year, start in ((2023, 0), (2024, 450)):
        (tmp_path / "in" / f"year={year}").mkdir(parents=True)
        parquet.write_table(table.slice(start, 450), tmp_path / "in" / f"year={year}" / "a.parquet")
    release = shoal.protect(tmp_path / "in", 4, engine="disk", output=tmp_path / "safe", **COLUMNS)
    local = shoal.protect(tmp_path / "in", 4, **COLUMNS)
    assert release.manifest["output"]["fingerprint"] == local.manifest["output"]["fingerprint"]


def test_an_ordinary_protection_imports_no_engine():
    code = "import sys, shoal, polars as pl; shoal.protect(pl.DataFrame({'a': [1, 2, 3, 4]}), 2, quasi=['a']); "
    code += "print([name for name in sys.modules if 'shoal.engines' in name or 'pyspark' in name])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_tables_read_in_parts_are_those_read_at_once(folder):
    parts = open_parts(folder)
    read = pa.concat_tables([part for _, part in parts.batches(parts.names, 37)])
    assert Table.from_native(read).fingerprint() == Table.from_native(people()).fingerprint()
    assert [first for first, _ in parts.batches(["age"], 1_000)] == [0, 100, 750]
    assert list(parts.offsets()) == [Path(folder, f"{number}.parquet") for number in range(3)]
