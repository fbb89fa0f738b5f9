"""Faults that were found and closed, each by the plainest command or call that showed it.

Every test fails on the code before the fault was closed; its docstring is the sentence that holds now. The attacks in
the other files of this folder try many inputs around each of them.
"""

import gzip
import hashlib
import inspect
import json
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from decimal import Decimal
from io import StringIO
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.cli.application import main
from shoal.errors import ShoalError

PLANTED = 987_654_321_123
PROTECT = ("-k", 3, "--method", "mdav")
ACCEPTED = {"accept_loss": True} if "accept_loss" in inspect.signature(shoal.protect).parameters else {}
"""So that the tests run on versions before this option, too."""


def run(*arguments):
    """Return exit code, output and messages of a command."""
    out, err = StringIO(), StringIO()
    with (
        mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as stop,
    ):
        main()
    return stop.value.code or 0, out.getvalue(), err.getvalue()


def process(*arguments, **options):
    """Run a command in a process of its own."""
    options = {"capture_output": True, "text": True, "timeout": 240} | options
    return subprocess.run([sys.executable, "-m", "shoal", *map(str, arguments)], check=False, **options)


def is_refused(*arguments):
    """Whether a command ends with exit code 2 and one sentence."""
    code, out, err = run(*arguments)
    return (code, out, err.count("\n")) == (2, "", 1) and err.startswith("shoal: ")


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file of 30 records in the current directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"age": rng.integers(20, 60, 30), "sex": ["f", "m"] * 15, "pay": rng.integers(1, 9, 30) * 100})
    table.write_csv("people.csv")


pytestmark = pytest.mark.usefixtures("people")


class TestCritical:
    def test_1(self, tmp_path):
        """No value of the original lies under a missing cell of a released file or in a pickled release."""
        ages = [*range(PLANTED, PLANTED + 15), *[40] * 15]
        table = pa.table({"age": ages, "sex": ["f", "m", "m"] * 10})
        release = shoal.protect(table, 3, quasi=["age", "sex"], recode={"age": "suppress"}, method="mdav")
        release.write(tmp_path / "safe.arrow")
        searched = (tmp_path / "safe.arrow").read_bytes() + pickle.dumps(release) + pickle.dumps(release.data)
        assert release.data["age"].null_count
        assert not any(int(age).to_bytes(8, "little") in searched for age in ages if age > 40)

    def test_2(self):
        """The form of a differentially private release does not depend on a record."""
        pytest.importorskip("opendp")
        forms = []
        for last in ("30", "30.5"):
            Path("ages.csv").write_text("age\n" + "40\n" * 500 + f"{last}\n")
            words = ["--epsilon", "1", "-k", "50", "--bounds", "age=0..120", "-o", f"{last}.csv"]
            assert run("dp", "ages.csv", *words)[0] == 0
            forms.append("." in "".join(Path(f"{last}.csv").read_text().splitlines()[1:]))
        assert forms[0] == forms[1]

    def test_3(self):
        """No output replaces a file that the run has read."""
        before = Path("people.csv").read_bytes()
        release = shoal.protect("people.csv", 3, quasi=["age", "sex"], confidential=["pay"], method="mdav")
        with pytest.raises(ShoalError):
            release.write("people.csv")
        assert Path("people.csv").read_bytes() == before
        tree = Path("tree.csv")
        tree.write_text("f;*\nm;*\n")
        words = ["--quasi", "age,sex", "--confidential", "pay", "--hierarchy", "sex=tree.csv"]
        assert is_refused("protect", "people.csv", *PROTECT, *words, "-o", "tree.csv")
        assert tree.read_text() == "f;*\nm;*\n"

    def test_4(self, tmp_path):
        """A stratum with 0.0 and -0.0 has k records for a program that reads the file as text."""
        table = pl.DataFrame({"age": range(12), "zone": [0.0, 0.0, -0.0, 1.0] * 3})
        try:
            release = shoal.protect(table, 3, quasi=["age"], strata=["zone"], method="mdav")
            release.write(tmp_path / "safe.csv")
        except ShoalError:
            return
        rows = (tmp_path / "safe.csv").read_text().splitlines()[1:]
        assert min(rows.count(row) for row in rows) >= 3

    def test_5(self):
        """A group of equal values keeps its value bit for bit, whatever the sampling weights are."""
        rng = np.random.default_rng(0)
        values = np.repeat(rng.normal(size=40) * 1e4, 9)
        table = pl.DataFrame({"pay": values, "w": rng.uniform(0.01, 1_000, values.size)})
        release = shoal.protect(table, 3, quasi=["pay"], sampling_weight="w", method="mdav", decimals="full")
        assert set(release.data["pay"]) <= set(values)

    def test_6(self):
        """A column that no role was stated for, and that may identify, stops the run."""
        table = pl.read_csv("people.csv").with_columns(plz=pl.Series([str(10_115 + 7 * i) for i in range(30)]))
        table.write_csv("named.csv")
        assert is_refused("protect", "named.csv", *PROTECT, "--quasi", "age,sex", "-o", "safe.csv")
        assert not Path("safe.csv").exists()

    def test_7(self):
        """Two releases with and without a person do not give the person by the difference of their totals."""
        pay = np.random.default_rng(1).integers(1_000, 99_000, 200)

        def total(part):
            return shoal.protect(pl.DataFrame({"pay": part}), 3, quasi=["pay"], method="mdav").data["pay"].sum()

        errors = [abs(total(pay) - total(np.delete(pay, person)) - pay[person]) for person in range(6)]
        assert sorted(errors)[3] > 100


class TestHigh:
    def test_8(self, tmp_path):
        """An index, attributes and metadata of the original are in no released file."""
        table = pd.DataFrame({"age": range(30), "sex": ["f", "m", "f"] * 10}, index=[f"Person{i}" for i in range(30)])
        table.attrs["note"] = '{"Person7": "cancer"}'
        arrow = pa.Table.from_pandas(table).replace_schema_metadata({"note": "Person7: cancer"})
        for number, source in enumerate((table, arrow.drop_columns(["__index_level_0__"]))):
            target = tmp_path / f"{number}.parquet"
            release = shoal.protect(source, 3, quasi=["age", "sex"], method="mdav")
            release.write(target)
            assert b"Person7" not in target.read_bytes()
            assert b"Person7" not in pickle.dumps(release.data)

    def test_9(self):
        """A release that empties a column stops, with exit code 1, and writes nothing."""
        pl.DataFrame({"age": range(30), "plan": [f"p{i}" for i in range(30)]}).write_csv("plans.csv")
        words = ["--quasi", "age,plan", "--recode", "plan=suppress", "-o", "safe.csv"]
        assert run("protect", "plans.csv", *PROTECT, *words)[0] == 1
        assert not Path("safe.csv").exists()

    def test_9_categories(self, tmp_path):
        """A category that disappears is a finding of the report."""
        table = pl.DataFrame({"age": [20 + i % 30 for i in range(60)], "sex": ["f", "m"] * 29 + ["other"] * 2})
        release = shoal.protect(table, 5, quasi=["age", "sex"], method="mdav")
        release.report(tmp_path / "report.html")
        assert "other" not in release.data["sex"]
        assert "does not occur in the released table any more" in (tmp_path / "report.html").read_text()

    def test_10(self):
        """The manifest holds no fingerprint of the original and no exact sums."""
        release = shoal.protect("people.csv", 3, quasi=["age", "sex"], confidential=["pay"], method="mdav")
        release.write("safe.csv")
        text = Path("safe.manifest.json").read_text() if Path("safe.manifest.json").exists() else str(release.manifest)
        assert not re.search(r'"(sse|sst)": [0-9]+\.[0-9]{6,}', text)
        assert fingerprint_of(Path("people.csv")) not in text
        assert fingerprint_of(Path("people.csv")) not in json.dumps(release.manifest, default=str)

    def test_11(self):
        """A name that looks like markup is printed as it is, and a failure after writing names the files."""
        pl.read_csv("people.csv").rename({"age": "[/x]"}).write_csv("named.csv")
        words = ["--quasi", "[/x],sex", "--confidential", "pay", "-o", "safe.csv"]
        code, out, _ = run("protect", "named.csv", *PROTECT, *words)
        assert code == 0
        assert "[/x]" in out

    def test_12(self):
        """Five thousand categories are protected without an indicator column for each."""
        rng = np.random.default_rng(0)
        table = pl.DataFrame({"job": [f"j{code}" for code in rng.integers(0, 5_000, 9_000)]})
        table = table.with_columns(age=rng.integers(0, 99, 9_000))
        assert shoal.protect(table, 3, quasi=["job", "age"], effort="fast", **ACCEPTED).k >= 3

    def test_13(self):
        """A nominal column without values as the only quasi-identifier ends no process."""
        code = (
            "import shoal, polars as pl\n"
            "table = pl.DataFrame({'a': pl.Series([None] * 9, dtype=pl.String)})\n"
            "for name in ('density', 'v-mdav', 'spanning-tree'):\n"
            "    try:\n        shoal.protect(table, 3, quasi=['a'], kinds={'a': 'nominal'}, method=name,"
            " missing='by-pattern')\n"
            "    except shoal.errors.ShoalError:\n        pass\n"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0

    def test_14(self):
        """Integers near the end of their scale are exact in every representative."""
        top = 2**63 - 1
        weights = np.random.default_rng(0).uniform(0.1, 9, 300)
        table = pl.DataFrame({"number": [top, top - 2**62 + 1] * 150, "w": weights})
        release = shoal.protect(table, 3, quasi=["number"], sampling_weight="w", method="mdav")
        assert set(release.data["number"]) <= {top, top - 2**62 + 1}


def fingerprint_of(path):
    """Return the fingerprint of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class TestMediumAndLow:
    def test_weighted_means(self):
        """A weighted mean is not below the minimum of its column."""
        rng = np.random.default_rng(5)
        values = np.full(300, 0.1) + (rng.random(300) < 0.02) * 7
        table = pl.DataFrame({"x": values, "w": 10 ** rng.uniform(-2, 3, 300)})
        release = shoal.protect(table, 3, quasi=["x"], sampling_weight="w", method="mdav", decimals="full")
        assert release.data["x"].min() >= 0.1

    @pytest.mark.parametrize("recode", ["mode", "medoid", "min", "max"])
    def test_values_of_records(self, recode):
        """Representatives that are values of records are taken from the column, not computed."""
        values = [4082.72, 0.3, 1e17] * 10
        table = pl.DataFrame({"pay": values})
        release = shoal.protect(table, 3, quasi=["pay"], recode=recode, method="mdav", decimals="full")
        assert set(release.data["pay"]) <= set(values)

    def test_categories_without_a_record(self, tmp_path):
        """Categories that no released record has are in no dictionary and in no public report."""
        names = pd.Categorical(["f", "m"] * 15, categories=["f", "m", "Person7"])
        table = pd.DataFrame({"age": range(30), "sex": names})
        release = shoal.protect(table, 3, quasi=["age", "sex"], method="mdav")
        release.report(tmp_path / "public.html", public=True)
        release.write(tmp_path / "safe.parquet")
        assert "Person7" not in list(release.data["sex"].cat.categories)
        assert b"Person7" not in (tmp_path / "safe.parquet").read_bytes()
        assert "Person7" not in (tmp_path / "public.html").read_text()

    @pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
    def test_time_stamps(self, ending):
        """Files of SPSS, Stata and SAS do not contain the time of writing."""
        pytest.importorskip("pyreadstat")
        table = pl.read_csv("people.csv").rename({"age": "AGE", "sex": "SEX", "pay": "PAY"})
        release = shoal.protect(table, 3, quasi=["AGE", "SEX"], confidential=["PAY"], method="mdav")
        release.write(f"safe.{ending}")
        searched = Path(f"safe.{ending}").read_bytes()[:1_000]
        assert time.strftime("%b %y").encode() not in searched
        assert time.strftime("%d %b %Y").encode() not in searched
        assert time.strftime("%d%b%y").upper().encode() not in searched

    def test_many_columns(self):
        """The work grows linearly with the number of columns."""
        rng = np.random.default_rng(0)

        def calls(columns):
            table = pl.DataFrame({f"c{i}": rng.integers(0, 99, 12) for i in range(columns)})
            number = 0

            def count(_frame, event, _argument):
                nonlocal number
                number += event in {"call", "c_call"}

            before = sys.getprofile()
            sys.setprofile(count)
            try:
                shoal.protect(table, 3, quasi=table.columns, method="mdav", **ACCEPTED)
            finally:
                sys.setprofile(before)
            return number

        calls(10)
        assert calls(200) / calls(100) < 2.1

    def test_damaged_compiled_loops(self):
        """Stored compiled loops that are damaged are built again, and one line says so."""
        Path("counting.py").write_text(
            "from shoal.core.compiled import compiled\n@compiled\ndef twice(x):\n    return 2 * x\n"
        )
        code = "import sys; sys.path.insert(0, '.'); import counting; print(counting.twice(21))"
        environment = os.environ | {"NUMBA_CACHE_DIR": str(Path("cache").absolute())}
        answers = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment
            )
            answers.append((done.stdout, done.stderr.count("\n")))
            for path in Path("cache").rglob("*.nbi"):
                path.write_bytes(path.read_bytes()[:-20])
        assert answers == [("42\n", 0), ("42\n", 1)]

    def test_a_tree_that_contains_itself(self):
        """A hierarchy that contains itself is refused."""
        code = (
            "import polars as pl, shoal\ntree = {'b': ['x', 'y']}\ntree['a'] = tree\n"
            "table = pl.DataFrame({'sex': ['x', 'y'] * 6})\n"
            "try:\n    shoal.protect(table, 3, quasi=['sex'], hierarchies={'sex': tree}, method='mdav')\n"
            "except shoal.errors.SchemaError:\n    print('refused')\n"
        )
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=240)
        assert done.stdout == "refused\n"

    def test_a_pipe(self):
        """A pipe in place of a file is refused, not waited for."""
        os.mkfifo("pipe.csv")
        done = process("protect", "pipe.csv", *PROTECT, "--quasi", "age", "-o", "safe.csv")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)

    def test_a_thread_at_the_end(self):
        """A thread of a library that still runs does not outlive the command."""
        code = (
            "import runpy, sys, threading\nthreading.Thread(target=threading.Event().wait).start()\n"
            "sys.argv = ['shoal', 'methods', 'none']\nrunpy.run_module('shoal', run_name='__main__')"
        )
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=240)
        assert done.returncode == 2

    def test_decimals_of_256_bits(self):
        """Decimals of 256 bits are read, or refused by the name of the column."""
        values = pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("3.75")] * 4, pa.decimal256(50, 2))
        table = pa.table({"pay": values})
        assert shoal.protect(table, 3, quasi=["pay"], method="mdav").k >= 3

    def test_a_death_between_two_renames(self):
        """After a death between the renames the next command finishes the switch to the new files."""
        words = ["protect", "people.csv", *PROTECT, "--quasi", "age,sex", "--confidential", "pay"]
        first = [*words, "--manifest", "safe.json", "-o", "safe.csv"]
        assert run(*first)[0] == 0
        old = {name: Path(name).read_bytes() for name in ("safe.csv", "safe.json")}
        first[first.index("-k") + 1] = 6
        died = replace_the_second_rename_by_death(first)
        assert died != 0
        run("verify", "safe.csv", "-k", 3, "--quasi", "age,sex", "--confidential", "pay")
        new = {name: Path(name).read_bytes() for name in ("safe.csv", "safe.json")}
        assert (old["safe.csv"] == new["safe.csv"]) == (old["safe.json"] == new["safe.json"])

    @pytest.mark.parametrize("existing", [False, True])
    def test_termination_while_writing(self, existing):
        """A signal while a file is written leaves no temporary file; until then it is private."""
        target = Path("safe.csv")
        if existing:
            target.write_text("old")
            target.chmod(0o644)
        code = (
            "import os, runpy, sys, time\nopen_before = os.fsync\n"
            "def slow(number):\n    print('writing', flush=True, file=sys.stderr)\n    time.sleep(60)\n"
            "os.fsync = slow\nsys.argv = ['shoal', *sys.argv[1:]]\nrunpy.run_module('shoal', run_name='__main__')"
        )
        words = ["protect", "people.csv", *map(str, PROTECT), "--quasi", "age,sex", "--confidential", "pay"]
        if "--force" in run("protect", "--help")[1]:
            words.append("--force")
        before = names()
        with subprocess.Popen(
            [sys.executable, "-c", code, *words, "-o", "safe.csv"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as running:
            while b"writing" not in (line := running.stderr.readline()):
                assert line
            modes = [stat.S_IMODE(path.stat().st_mode) for path in temporary_files(before)]
            running.send_signal(signal.SIGTERM)
            running.wait()
        assert modes
        assert not any(mode & 0o077 for mode in modes)
        assert names() == before

    def test_texts_of_weights(self):
        """A weight that is released unchanged keeps its text."""
        Path("weights.csv").write_text("age,w\n" + "".join(f"{20 + i},1.50\n" for i in range(12)))
        words = ["--quasi", "age", "--sampling-weight", "w", "-o", "safe.csv"]
        if "--release-weight" in run("protect", "--help")[1]:
            words += ["--release-weight", "unchanged"]
        assert run("protect", "weights.csv", *PROTECT, *words)[0] == 0
        assert {line.split(",")[1] for line in Path("safe.csv").read_text().splitlines()[1:]} == {"1.50"}

    def test_a_dominating_weight(self, tmp_path):
        """A weight that dominates its group, so that the mean is one record's value, is a finding."""
        table = pl.DataFrame({"age": range(12), "w": [1_000.0, 1.0, 1.0] * 4})
        release = shoal.protect(table, 3, quasi=["age"], sampling_weight="w", method="mdav")
        release.report(tmp_path / "report.html")
        assert re.search("one record has more than", (tmp_path / "report.html").read_text())

    def test_hundreds_of_categories(self):
        """A thousand records with 607 categories are protected in eight seconds of processor time, once compiled."""
        code = (
            "import resource, numpy as np, polars as pl, shoal\n"
            "rng = np.random.default_rng(0)\ncodes = [*range(607), *rng.integers(0, 607, 393).tolist()]\n"
            "table = pl.DataFrame({'job': [f'job {code}' for code in codes], 'age': rng.integers(0, 99, 1_000)})\n"
            "table = table.with_columns(pl.col('age').cast(pl.String))\n"
            "for _ in range(2):\n"
            f"    shoal.protect(table, 3, quasi=['job', 'age'], **{ACCEPTED})\n"
            "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
            "    limit = int(used.ru_utime + used.ru_stime) + 8\n"
            "    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))\n"
        )  # the hard limit stays, since only some users may raise it again
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_blank_columns(self):
        """A column without any value is evaluated, or refused in one sentence."""
        Path("blank.csv").write_text("age,pay\n" + "".join(f"{20 + i},\n" for i in range(12)))
        code, _, err = run("evaluate", "blank.csv", "blank.csv", "--quasi", "age", "--confidential", "pay")
        assert code == 0 or (code, err.count("\n")) == (2, 1)

    @pytest.mark.parametrize("text", ["sampling_weight = 3", "sampling_weight = ['a']"])
    def test_types_of_toml(self, text):
        """A value of a wrong type in a schema file is refused in one sentence."""
        Path("schema.toml").write_text(text + "\n[columns.age]\nrole = 'quasi'\n")
        assert is_refused("protect", "people.csv", *PROTECT, "--schema", "schema.toml", "-o", "safe.csv")

    def test_negative_seed(self):
        """A negative seed is refused in one sentence."""
        words = ["--quasi", "age,sex", "--confidential", "pay", "--seed", "-1", "-o", "safe.csv"]
        assert is_refused("protect", "people.csv", "-k", 3, "--method", "lloyd", *words)

    def test_long_names(self):
        """A name of a file that is too long is refused in one sentence."""
        words = ["--quasi", "age,sex", "--confidential", "pay", "-o", "n" * 300 + ".csv"]
        assert is_refused("protect", "people.csv", *PROTECT, *words)

    def test_circles_of_links(self):
        """A circle of symbolic links is refused in one sentence."""
        Path("a.csv").symlink_to("b.csv")
        Path("b.csv").symlink_to("a.csv")
        words = ["--quasi", "age,sex", "--confidential", "pay", "-o", "a.csv"]
        assert is_refused("protect", "people.csv", *PROTECT, *words)

    @pytest.mark.parametrize(
        "arguments",
        [
            {"quasi": [["age"]]},
            {"quasi": {"age": 1}},
            {"quasi": ["age"], "orders": {"age": 3}},
            {"quasi": ["age"], "hierarchies": ["age"]},
            {"quasi": ["age"], "column_weights": {"age": "2"}},
        ],
        ids=str,
    )
    def test_misuses(self, arguments):
        """A misuse of a function raises an error of Shoal that quotes no record."""
        table = pl.read_csv("people.csv")
        with pytest.raises(ShoalError) as error:
            shoal.protect(table, 3, **arguments, method="mdav")
        assert not any(str(value) in str(error.value) for value in table["pay"])

    def test_a_panic_of_a_library(self, monkeypatch):
        """A library that stops by a panic ends in one sentence and exit code 3."""
        panic = type("PanicException", (BaseException,), {})

        def broken(*_, **__):
            raise panic("could not spawn threads")

        monkeypatch.setattr("shoal.api.protect.protect", broken)
        words = ["--quasi", "age,sex", "--confidential", "pay", "-o", "safe.csv"]
        code, out, err = run("protect", "people.csv", *PROTECT, *words)
        assert (code, out, err.count("\n")) == (3, "", 1)

    @pytest.mark.parametrize("words", [["protect"], ["protect", "people.csv", "-k", "x"], ["nothing"]], ids=str)
    def test_usage_errors(self, words):
        """Wrong use of the command line is answered by one sentence."""
        code, out, err = run(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)

    def test_an_edited_schema(self):
        """A schema file that was edited is not replaced."""
        assert run("schema", "people.csv", "-o", "people.toml")[0] == 0
        edited = Path("people.toml").read_text() + "# decided\n"
        Path("people.toml").write_text(edited)
        assert is_refused("schema", "people.csv", "-o", "people.toml")
        assert Path("people.toml").read_text() == edited

    def test_a_closed_pipe(self):
        """The exit code does not depend on who reads the output."""
        reading, writing = os.pipe()
        os.close(reading)
        done = process("methods", "--all", capture_output=False, stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, "")

    def test_numbers_of_rows(self):
        """Tables of different length are not compared record by record."""
        pl.read_csv("people.csv").head(29).write_csv("fewer.csv")
        words = ["--quasi", "age", "--confidential", "sex,pay"]
        assert run("evaluate", "people.csv", "fewer.csv", *words)[0] == 2

    @pytest.mark.parametrize("place", ["first", "later"])
    def test_long_lines(self, place):
        """A line of a gigabyte is refused in one sentence, before it is in memory."""
        with gzip.open("long.csv.gz", "wb", compresslevel=1) as file:
            file.write(b"" if place == "first" else b"age,sex,pay\n" + b"41,f,200\n" * 30)
            for _ in range(64):
                file.write(b"x" * 2**22)
        words = ["--quasi", "age,sex", "--confidential", "pay", "-o", "safe.csv"]
        code, _, err = run("protect", "long.csv.gz", *PROTECT, *words)
        assert (code, err.count("\n")) == (2, 1)
        assert "line" in err
        assert "more than" in err


def names():
    """Return the names in the current directory."""
    return {path.name for path in Path.cwd().iterdir()}


def temporary_files(before):
    """Return the files below the current directory that were not there before."""
    found = [path for name in names() - before for path in [Path(name), *Path(name).rglob("*")]]
    return [path for path in found if path.is_file()]


def replace_the_second_rename_by_death(words):
    """Run a command that dies at the second rename that replaces a file; return its exit code."""
    code = (
        "import os, runpy, sys\ncount = 0\nbefore = os.replace\n"
        "def replace(*arguments, **options):\n"
        "    global count\n    count += str(arguments[1]).endswith(('safe.csv', 'safe.json'))\n"
        "    if count == 2:\n        os._exit(9)\n    return before(*arguments, **options)\n"
        "os.replace = replace\nos.rename = replace\n"
        "sys.argv = ['shoal', *sys.argv[1:]]\nrunpy.run_module('shoal', run_name='__main__')"
    )
    words = [*map(str, words)]
    if "--force" in run("protect", "--help")[1]:
        words.append("--force")
    return subprocess.run([sys.executable, "-c", code, *words], check=False, capture_output=True).returncode
