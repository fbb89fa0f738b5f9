"""The command line, as a person uses it: what is printed, what is written, and the exit code."""

import gzip
import json
import os
import stat
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace
from unittest import mock

import polars as pl
import pytest

from shoal import datasets
from shoal.cli.application import main

QUASI = "age,sex,income"


def run(*arguments):
    """Run the command line in this process."""
    out, err = StringIO(), StringIO()
    code = 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    return SimpleNamespace(returncode=code or 0, stdout=out.getvalue(), stderr=err.getvalue())


def run_alone(*arguments):
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "shoal", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    datasets.patients(60).write_csv(path)
    return path


def refused(result, text, folder=None, before=()):
    """Exit code 2, one sentence on stderr, no traceback, nothing written."""
    assert result.returncode == 2, result.stderr
    assert text in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert result.stdout == ""
    if folder is not None:
        assert {path.name for path in folder.iterdir()} == set(before)


def test_protect_writes_table_manifest_and_report(people, tmp_path):
    safe, report = tmp_path / "safe.csv", tmp_path / "safe.html"
    result = run("protect", people, "-k", 3, "--quasi", QUASI, "--confidential", "diagnosis", "--identifiers", "name",
                 "-o", safe, "--report", report, "--unnamed", "other")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "k requested / achieved  3 / 3" in result.stdout
    assert "information loss" in result.stdout
    protected = pl.read_csv(safe)
    assert protected.height == 60
    assert protected.group_by(QUASI.split(",")).len()["len"].min() >= 3
    assert "name" not in protected.columns
    assert json.loads((tmp_path / "safe.manifest.json").read_text())["k"] == {"requested": 3, "achieved": 3}
    assert report.read_text().startswith("<!doctype html>")
    assert run("verify", safe, "-k", 3, "--quasi", QUASI, "--unnamed", "other").returncode == 0


def test_columns_that_are_not_protected_are_written_as_they_were(tmp_path):
    source = tmp_path / "in.csv"
    source.write_bytes(
        b'age;zip;price;note\r\n30;007;1,50;"a ""b"""\r\n31;012;2,00;\r\n60;099;1,10;x\r\n61;100;9,99;y\r\n'
    )
    result = run(
        "protect", source, "-k", 2, "--quasi", "age", "-o", tmp_path / "out.csv", "--method", "mdav", "--unnamed",
        "other",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = (tmp_path / "out.csv").read_bytes().split(b"\r\n")
    assert lines[0] == b"age;zip;price;note"
    assert lines[1].endswith(b';007;1,50;"a ""b"""')
    assert lines[2].endswith(b";012;2,00;")


def test_json_output_is_the_manifest(people, tmp_path):
    result = run(
        "protect", people, "-k", 3, "--quasi", QUASI, "-o", tmp_path / "safe.parquet", "--json", "--unnamed", "other"
    )
    assert json.loads(result.stdout) == json.loads((tmp_path / "safe.manifest.json").read_text())
    assert result.stderr == ""


def test_quiet_says_nothing(people, tmp_path):
    result = run(
        "protect", people, "-k", 3, "--quasi", QUASI, "-o", tmp_path / "safe.csv", "--quiet", "--unnamed", "other"
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_number_of_threads_never_changes_a_byte(people, tmp_path):
    written = []
    for threads in (1, 2):
        out = tmp_path / str(threads) / "safe.csv"  # the manifest names the file
        out.parent.mkdir()
        result = run_alone(
            "protect", people, "-k", 3, "--quasi", QUASI, "--unnamed", "other", "-o", out, "--threads", threads
        )
        assert result.returncode == 0, result.stderr
        written.append((out.read_bytes(), out.with_name("safe.manifest.json").read_bytes()))
    assert written[0] == written[1]


def test_every_option_reaches_the_protection(people, tmp_path):
    datasets.patients(400).write_csv(people)
    result = run(
        "protect", people, "-k", 3, "--quasi", "age,sex,education,height", "--strata", "region",
        "--column-weight", "age=2", "--ordinal", "education=" + "<".join(datasets.EDUCATION_ORDER),
        "--recode", "age=median,height=range",
        "--sampling-weight", "stay_days", "--method", "mdav", "--max-size", 99, "--seed", 5, "--json", "-o",
        tmp_path / "safe.csv", "--unnamed", "other",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    schema = json.loads(result.stdout)["schema"]
    columns = {column["name"]: column for column in schema["columns"]}
    assert columns["age"]["weight"] == 2
    assert columns["age"]["recode"] == "median"
    assert columns["height"]["recode"] == "range"
    assert columns["education"]["kind"] == "ordinal"
    assert (schema["strata"], schema["sampling_weight"]) == (["region"], "stay_days")


def test_a_drafted_schema_can_be_used_as_it_is(people, tmp_path):
    drafted = tmp_path / "people.toml"
    result = run("schema", people, "-o", drafted)
    assert result.returncode == 0, result.stderr
    assert "diagnosis" in result.stdout
    result = run("protect", people, "-k", 4, "--schema", drafted, "-o", tmp_path / "safe.csv")
    assert result.returncode == 0, result.stderr


def test_missing_values_and_their_marks(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("age,job\n30,a\nNA,b\n60,a\n61,b\n")
    arguments = ("protect", source, "-k", 2, "--quasi", "age", "-o", tmp_path / "out.csv", "--numeric", "age")
    refused(run(*arguments, "--unnamed", "other"), "say so with --na-values NA", tmp_path, ["in.csv"])
    refused(
        run(*arguments, "--na-values", "NA", "--unnamed", "other"), 'missing values in "age" (1)', tmp_path, ["in.csv"]
    )
    result = run(*arguments, "--na-values", "NA", "--missing", "impute", "--unnamed", "other")
    assert result.returncode == 0, result.stderr
    assert '1 missing value of "age" was imputed' in " ".join(result.stdout.split())


def test_compressed_and_binary_files_go_through(people, tmp_path):
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(people.read_bytes()))
    frames = []
    for name in ("a.csv.gz", "b.parquet", "c.feather"):
        result = run(
            "protect", packed, "-k", 3, "--quasi", QUASI, "-o", tmp_path / name, "--quiet", "--unnamed", "other"
        )
        assert result.returncode == 0, result.stderr
        read = {"gz": pl.read_csv, "parquet": pl.read_parquet, "feather": pl.read_ipc}[name.rpartition(".")[2]]
        frames.append(read(tmp_path / name))
    assert all(frame["age"].to_list() == frames[0]["age"].to_list() for frame in frames)


def test_verify_fails_with_exit_code_1(people):
    result = run("verify", people, "-k", 2, "--quasi", QUASI, "--unnamed", "other")
    assert result.returncode == 1
    assert "is violated" in result.stdout
    machine = run("verify", people, "-k", 2, "--quasi", QUASI, "--json", "--unnamed", "other")
    assert json.loads(machine.stdout)["satisfied"] is False


def test_demo_leaves_a_report_to_look_at(tmp_path):
    result = run("demo", "--rows", 120, "--missing", 0.1, "--folder", tmp_path / "shoal-demo")
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "shoal-demo").iterdir()} == {
        "patients.csv", "safe.csv", "safe.manifest.json", "safe.holder.parquet", "report.html",
    }  # fmt: skip


def test_methods_are_listed_and_explained():
    assert "mdav" in run("methods").stdout
    assert "Thaeter" in run("methods", "mdav").stdout
    refused(run("methods", "mdv"), 'there is no method "mdv"; did you mean "mdav"?')
    assert any(method["name"] == "mdav" for method in json.loads(run("methods", "--json").stdout)["methods"])


def test_help_and_version_need_no_compiler_and_no_table_library():
    code = (
        "import sys; sys.argv = ['shoal', '--help']\n"
        "from shoal.cli.application import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(any(name in sys.modules for name in ('numba', 'polars', 'pandas', 'scipy', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
    assert run_alone("--version").stdout.startswith("shoal ")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--quasi", "age,incme"], 'column "incme" is not in the table; did you mean "income"?'),
        (["--quasi", "age", "--identifiers", "age"], 'column "age" is given two roles'),
        ([], "no quasi-identifiers given"),
        (["--quasi", "age", "-k", "1"], "k must be at least 2, got 1"),
        (["--quasi", "age", "-k", "61"], "k=61 needs at least 61 records, the table has 60"),
        (
            ["--quasi", "diagnosis", "--numeric", "diagnosis"],
            'column "diagnosis" is to be numeric but 60 of its 60 values are text',
        ),
        (["--quasi", "age", "--method", "none"], 'there is no method "none"'),
        (["--quasi", "age", "--method", "mdav", "--option", "x=1"], 'method "mdav" has no option "x"'),
        (["--quasi", "age", "--column-weight", "age"], "write it as name=value"),
        (["--quasi", "age", "--column-weight", "age=much"], '"much" is not a number'),
        (["--quasi", "age", "--missing", "drop"], 'missing="drop" is not known'),
        (["--quasi", "sex", "--recode", "mean"], 'column "sex" is nominal and has no mean'),
        (["--quasi", "age", "--delimiter", ";"], "column"),
        (["--quasi", "age", "--encoding", "klingon"], "encoding"),
        (["--quasi", "age", "--schema", "nowhere.toml"], 'schema file "nowhere.toml" does not exist'),
    ],
)
def test_wrong_use_is_one_sentence_and_writes_nothing(people, tmp_path, arguments, text):
    arguments = arguments if "-k" in arguments else ["-k", "3", *arguments]
    refused(
        run("protect", people, "-o", tmp_path / "safe.csv", *arguments, "--unnamed", "other"),
        text,
        tmp_path,
        ["people.csv"],
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is empty"),
        (b"age,sex\n", "no records"),
        (b"age,age\n1,2\n3,4\n", '2 columns are named "age"'),
        (b"age,sex\n1,f\n2\n", "row"),
        (b"age,sex\n1,f\n2,m,x\n", "row"),
        (b"age,sex\n1,f\ninf,m\n", "infinite"),
    ],
)
def test_a_broken_file_is_one_sentence_and_writes_nothing(tmp_path, content, text):
    source = tmp_path / "in.csv"
    source.write_bytes(content)
    result = run("protect", source, "-k", 2, "--quasi", "age", "-o", tmp_path / "safe.csv", "--unnamed", "other")
    assert text.lower() in result.stderr.lower()
    refused(result, "", tmp_path, ["in.csv"])


def test_an_unreadable_encoding_is_refused(tmp_path):
    source = tmp_path / "in.csv"
    source.write_bytes("age,name\n1,Jörg\n2,Zoë\n".encode("latin-1"))
    refused(
        run("protect", source, "-k", 2, "--quasi", "age", "-o", tmp_path / "o.csv", "--encoding", "utf-8"),
        "utf-8",
        tmp_path,
        ["in.csv"],
    )


def test_nested_columns_are_refused(tmp_path):
    pl.DataFrame({"age": [1, 2], "visits": [[1], [2, 3]]}).write_parquet(tmp_path / "in.parquet")
    refused(
        run("protect", tmp_path / "in.parquet", "-k", 2, "--quasi", "age", "-o", tmp_path / "o.csv"),
        '"visits"',
        tmp_path,
        ["in.parquet"],
    )


def test_the_output_must_not_be_the_input(people, tmp_path):
    before = people.read_bytes()
    refused(run("protect", people, "-k", 3, "--quasi", "age", "-o", people), "people.csv", tmp_path, ["people.csv"])
    link = tmp_path / "link.csv"
    link.symlink_to(people)
    assert run("protect", people, "-k", 3, "--quasi", "age", "-o", link).returncode == 2
    assert people.read_bytes() == before


def test_a_folder_that_is_not_there_or_not_writable_is_refused(people, tmp_path):
    refused(
        run("protect", people, "-k", 3, "--quasi", "age", "-o", tmp_path / "no" / "safe.csv"),
        "no",
        tmp_path,
        ["people.csv"],
    )
    refused(
        run("protect", people, "-k", 3, "--quasi", "age", "-o", people / "safe.csv"),
        "people.csv",
        tmp_path,
        ["people.csv"],
    )
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir()
        locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
        assert run("protect", people, "-k", 3, "--quasi", "age", "-o", locked / "safe.csv").returncode == 2


def test_table_and_manifest_cannot_be_one_file(people, tmp_path):
    same = tmp_path / "safe.csv"
    result = run("protect", people, "-k", 3, "--quasi", "age", "-o", same, "--manifest", same)
    refused(result, "different files", tmp_path, ["people.csv"])


def test_a_report_must_be_a_web_page_and_a_folder_is_no_table(people, tmp_path):
    arguments = ("protect", people, "-k", 3, "--quasi", "age", "-o")
    refused(
        run(*arguments, tmp_path / "safe.csv", "--report", tmp_path / "r.txt"),
        "call it r.html",
        tmp_path,
        ["people.csv"],
    )
    refused(run(*arguments, tmp_path), "extension", tmp_path, ["people.csv"])
    refused(run(*arguments, "."), "", tmp_path, ["people.csv"])


def test_a_fault_of_ours_shows_no_value_of_a_record(people, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("Ada Abel, 50, male")

    monkeypatch.setattr("shoal.api.protect.prepare", fail)
    result = run("protect", people, "-k", 3, "--quasi", "age", "-o", tmp_path / "safe.csv", "--unnamed", "other")
    assert result.returncode == 3
    assert "RuntimeError" in result.stderr
    assert "Ada" not in result.stderr + result.stdout


def test_a_full_disk_leaves_nothing(people, tmp_path):
    resource = pytest.importorskip("resource")
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, {resource.RLIM_INFINITY}))\n"
    code = (
        f"import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{limit}"
        f"sys.argv = ['shoal', 'protect', {str(people)!r}, '-k', '3', '--quasi', 'age', '--unnamed', 'other', "
        f"'--method', 'mdav', '-o', {str(tmp_path / 'safe.csv')!r}]\n"
        "from shoal.cli.application import main\nmain()"
    )
    result = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    refused(result, "safe.", tmp_path, ["people.csv"])


def test_labels_of_spss_files_survive_a_protection(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"age": [30.0, 31, 32, 60, 61, 62], "region": [1.0, 1, 2, 2, 1, 2], "sex": [1.0, 2, 1, 2, 1, 1]}
    )
    labels = {"region": {1: "north", 2: "south"}, "sex": {1: "m", 2: "f"}}
    pyreadstat.write_sav(
        frame, tmp_path / "in.sav", column_labels={"age": "Age in years"}, variable_value_labels=labels
    )
    result = run(
        "protect", tmp_path / "in.sav", "-k", 3, "--quasi", "age,region", "-o", tmp_path / "out.sav", "-q",
        "--unnamed", "other",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    safe, notes = pyreadstat.read_sav(tmp_path / "out.sav")
    assert notes.column_names_to_labels["age"] == "Age in years"
    assert notes.variable_value_labels == labels
    assert safe["sex"].tolist() == frame["sex"].tolist()
    assert safe.groupby(["age", "region"]).size().min() >= 3


def test_effort_and_time_limit_choose_the_method(tmp_path):
    people = tmp_path / "people.csv"
    datasets.patients(3000).write_csv(people)
    for option in (("--effort", "fast"), ("--time-limit", "4s")):
        result = run(
            "protect",
            people,
            "-k",
            5,
            "--quasi",
            "age,income,height",
            "--unnamed",
            "other",
            "-o",
            tmp_path / "safe.csv",
            "--json",
            "--force",
            *option,
        )
        assert result.returncode == 0, result.stderr
        (resolved,) = json.loads(result.stdout)["method"]["resolved"]
        assert resolved["name"] == "annealing"
        assert resolved["reason"]
    before = ["people.csv", "safe.csv", "safe.manifest.json", "safe.holder.parquet"]
    arguments = (
        "protect",
        people,
        "-k",
        5,
        "--quasi",
        "age,income",
        "--unnamed",
        "other",
        "-o",
        tmp_path / "other.csv",
    )
    refused(run(*arguments, "--time-limit", "soon"), 'time_limit="soon" is not a time', tmp_path, before)
    refused(run(*arguments, "--effort", "much"), 'option effort="much" is not possible', tmp_path, before)
    refused(
        run(*arguments, "--effort", "fast", "--method", "mdav"),
        'method "mdav" has no option "effort"',
        tmp_path,
        before,
    )


def test_protect_says_which_files_may_be_handed_out(people, tmp_path):
    safe = tmp_path / "safe.csv"
    command = ["protect", people, "-k", 4, "--quasi", "age,income", "--identifiers", "name", "--unnamed", "other",
               "--method", "mdav", "-o"]  # fmt: skip
    result = run(*command, safe, "--report", tmp_path / "r.html", "--public-report", tmp_path / "p.html")
    assert result.returncode == 0, result.stderr
    lines = {line.partition(":")[0]: line for line in result.stdout.splitlines() if line.startswith("written")}
    released, kept = lines["written, to be released"], lines["written, confidential, keep with the original"]
    assert all(name in released for name in ("safe.csv", "safe.manifest.json", "p.html"))
    assert all(name in kept and name not in released for name in ("safe.holder.parquet", "r.html"))
    none = run(*command, tmp_path / "other.csv", "--holder-record", "none")
    assert "confidential, keep" not in none.stdout
    assert not (tmp_path / "other.holder.parquet").exists()


def test_a_second_release_starts_from_the_record(people, tmp_path):
    command = ["-k", 4, "--quasi", "age,income", "--identifiers", "name", "--unnamed", "other", "--method", "mdav"]
    run("protect", people, *command, "-o", tmp_path / "safe.csv")
    later = tmp_path / "later.csv"
    later.write_text("".join(people.read_text().splitlines(keepends=True)[:-3]))
    record = tmp_path / "safe.holder.parquet"
    result = run("protect", later, *command, "--previous", record, "-o", tmp_path / "second.csv")
    assert result.returncode == 0, result.stderr
    assert "57 kept, 0 changed, 0 new, 3 deleted" in result.stdout
    stopped = run("protect", later, *command, "--seed", 1, "--previous", record, "-o", tmp_path / "third.csv")
    refused(stopped, "differ in method.seed")
    accepted = run(
        "protect", later, *command, "--seed", 1, "--previous", record, "--accept-second-release",
        "-o", tmp_path / "third.csv",
    )  # fmt: skip
    assert accepted.returncode == 0, accepted.stderr
    refused(run("protect", later, *command, "--previous", later, "-o", tmp_path / "x.csv"), "is not a holder's record")
