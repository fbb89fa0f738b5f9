"""The examples for Airflow and dbt do what they say: exit codes end the job, and a second start changes nothing.

Neither program is needed: stand-ins with the same interface run the tasks of the DAG in order, and the two steps of
dbt. What is tested is the part between them: commands, exit codes and retries.
"""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import shoal

ROOT = Path(shoal.__file__).parent.parent.parent
PIPELINES = ROOT / "examples" / "pipelines"
DBT = """
import json, sys
from pathlib import Path
import polars as pl
import shoal
step = sys.argv[-1]
with Path("target", "log").open("a") as log:
    log.write(step + "\\n")
if step == "stays_for_release":
    shoal.datasets.patients(2_000).write_parquet("target/stays/stays.parquet")
else:
    released = pl.scan_parquet("target/stays_safe/*.parquet")
    Path("target", "counts.json").write_text(json.dumps(released.select(pl.len()).collect().item()))
"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """``shoal`` and a stand-in of ``dbt`` as programs of a shell."""
    place = tmp_path / "bin"
    place.mkdir()
    (tmp_path / "dbt.py").write_text(DBT)
    for name, code in {"shoal": "-m shoal", "dbt": str(tmp_path / "dbt.py")}.items():
        (place / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {code} "$@"\n')
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    return tmp_path


class Task:
    """A task of a DAG: ``>>`` states which comes after it."""

    def __init__(self, run):
        self.run, self.after = run, None

    def __rshift__(self, other):
        self.after = other
        return other


@pytest.fixture
def airflow(monkeypatch):
    """Stand-ins for the names that the DAG imports; a DAG is the list of its tasks."""
    found = []

    def task(run):
        def call():
            found.append(Task(run))
            return found[-1]

        return call

    def dag(**settings):
        assert settings["default_args"]["retries"] > 0
        return lambda body: lambda: (body(), found)[1]

    sdk, exceptions = ModuleType("airflow.sdk"), ModuleType("airflow.exceptions")
    sdk.dag, sdk.task = dag, task
    exceptions.AirflowFailException = type("AirflowFailException", (Exception,), {})
    for module in (ModuleType("airflow"), sdk, exceptions):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return exceptions.AirflowFailException


def test_the_airflow_task_may_be_tried_again(programs, airflow, monkeypatch):
    (programs / "stays").mkdir()
    shoal.datasets.patients(1_000).write_parquet(programs / "stays" / "0.parquet")
    for name, value in {"STAYS": "stays", "STAYS_RELEASE": "safe", "STAYS_SCHEMA": "stays.toml"}.items():
        monkeypatch.setenv(name, str(programs / value))
    shutil.copy(PIPELINES / "dbt" / "stays.toml", programs)
    protect, verify = runpy.run_path(str(PIPELINES / "airflow_dag.py"))["nightly"]
    assert protect.after is verify
    with pytest.raises(airflow, match="exit code 2"):  # nothing is there yet
        verify.run()
    protect.run()
    manifest = (programs / "safe" / "_manifest.json").read_bytes()
    protect.run()
    verify.run()
    assert (programs / "safe" / "_manifest.json").read_bytes() == manifest
    (programs / "stays" / "0.parquet").unlink()
    with pytest.raises(airflow, match="exit code 2"):
        protect.run()
    assert (programs / "safe" / "_manifest.json").read_bytes() == manifest
    three = pl.DataFrame({name: shoal.datasets.patients(3)[name] for name in ("age", "income", "region", "diagnosis")})
    shutil.rmtree(programs / "safe")
    (programs / "safe").mkdir()
    three.write_parquet(programs / "safe" / "0.parquet")
    with pytest.raises(airflow, match="exit code 1"):  # a release of other hands violates k
        verify.run()


def test_the_steps_around_dbt_end_at_the_first_error(programs):
    project = programs / "dbt"
    shutil.copytree(PIPELINES / "dbt", project)
    for _ in range(2):
        subprocess.run([project / "steps.sh"], check=True)
    log = (project / "target" / "log").read_text().split()
    assert log == ["stays_for_release", "released"] * 2
    assert json.loads((project / "target" / "counts.json").read_text()) == 2_000
    manifest = (project / "target" / "stays_safe" / "_manifest.json").read_bytes()
    schema = project / "stays.toml"
    schema.write_text(schema.read_text().replace("columns.age", "columns.ages"))
    done = subprocess.run([project / "steps.sh"], check=False, capture_output=True, text=True)
    assert (done.returncode, "ages" in done.stderr) == (2, True)
    assert (project / "target" / "log").read_text().split() == [*log, "stays_for_release"]
    assert (project / "target" / "stays_safe" / "_manifest.json").read_bytes() == manifest
