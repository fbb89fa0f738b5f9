"""Loops that are compiled in advance, and in a second process."""

import importlib
import json
import os
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from shoal.api import compiling
from shoal.cli.application import app
from shoal.core import compiled
from shoal.core.compiled import Kernel
from shoal.core.threads import set_threads
from shoal.errors import ParameterError


@pytest.fixture
def two_threads():
    set_threads(2)
    yield
    set_threads(None)


def begin_to_compile():
    """Report what numba reports when it compiles a loop."""
    for callback in list(compiled._callbacks):
        callback("some loop")


@pytest.fixture
def process(monkeypatch):
    """Let the second process run another program; returns the processes that were started. Loops are stored."""
    started = []

    def record(command, **options):
        started.append(original(command, **options))
        return started[-1]

    original = subprocess.Popen
    monkeypatch.setattr(compiling.subprocess, "Popen", record)
    monkeypatch.setattr(compiling, "_nothing_stored", lambda: False)
    monkeypatch.setattr(compiling, "_PROGRAM", "import time; print('search', flush=True); time.sleep(100)")
    return started


def test_a_second_process_begins_with_the_first_compilation_and_ends_with_the_block(two_threads, process):
    with compiling.compiling_ahead("auto"):
        assert not process
        begin_to_compile()
        begin_to_compile()
        assert len(process) == 1
        compiled._elsewhere["shoal.methods.kernels.annealing_moves"]("shoal.methods.kernels.annealing_moves")
        assert process[0].poll() is None
    assert process[0].poll() is not None
    assert not compiled._elsewhere


def test_a_second_process_that_fails_stops_nothing(two_threads, process, monkeypatch):
    monkeypatch.setattr(compiling, "_PROGRAM", "raise SystemExit(1)")
    with compiling.compiling_ahead("auto"):
        begin_to_compile()
        for module, wait in list(compiled._elsewhere.items()):
            wait(module)
    assert process[0].returncode == 1


def test_a_second_process_begins_at_once_where_nothing_is_stored(two_threads, process, monkeypatch):
    monkeypatch.setattr(compiling, "_nothing_stored", lambda: True)
    with compiling.compiling_ahead("auto", requirements=True):
        assert len(process) == 1
        assert process[0].args[-2:] == ["search", "price"]


def test_what_is_stored_is_found_without_numba(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path / "cache"))
    assert compiling._nothing_stored()
    (tmp_path / "cache" / "kernels").mkdir(parents=True)
    assert compiling._nothing_stored()
    (tmp_path / "cache" / "kernels" / "annealing_moves.sweep-1.py311.nbi").touch()
    assert not compiling._nothing_stored()


def test_a_part_that_has_not_begun_is_not_waited_for(two_threads, process, monkeypatch):
    program = "import time; print('search\\nbegun cuts', flush=True); time.sleep(1); print('cuts'); time.sleep(100)"
    monkeypatch.setattr(compiling, "_PROGRAM", program.replace("print('cuts')", "print('cuts', flush=True)"))
    second = compiling._SecondProcess([])
    second.wait_for("search")
    second.wait_for("lists")
    assert "cuts" not in second._done
    while "cuts" not in second._begun:
        time.sleep(0.01)
    second.wait_for("cuts")
    assert "cuts" in second._done
    second.end()


@pytest.mark.parametrize(("method", "threads"), [("auto", 1), ("mdav", 2)])
def test_no_second_process_without_a_second_core_or_for_other_methods(process, method, threads):
    set_threads(threads)
    with compiling.compiling_ahead(method):
        begin_to_compile()
        assert not compiled._elsewhere
    set_threads(None)
    assert not process


def test_the_second_process_reports_all_parts(capsys):
    compiling.compile_search(report=True)
    parts = [*dict.fromkeys(compiling.AHEAD.values()), "within"]  # the last one is another form of loops of "mixed"
    assert capsys.readouterr().out.splitlines() == [line for part in parts for line in (f"begun {part}", part)]
    for name in compiling.AHEAD:
        module = importlib.import_module(name)
        loops = [loop for loop in vars(module).values() if isinstance(loop, Kernel) and loop.__module__ == name]
        assert any(loop._dispatcher is not None and loop._dispatcher.overloads for loop in loops), name


def test_compiling_names_the_methods_and_the_folder(tmp_path):
    printed = CliRunner().invoke(app, ["compile", "mdav", "--json"])
    assert json.loads(printed.stdout)["methods"] == ["mdav"]
    assert "mdav: " in CliRunner().invoke(app, ["compile", "mdav"]).stdout
    with pytest.raises(ParameterError, match="did you mean"):
        compiling.compile_methods(["mdv"])


def test_loops_that_cannot_be_stored_are_an_error_with_the_way_out(monkeypatch):
    monkeypatch.setattr(compiling, "_use", lambda _name: None)
    monkeypatch.setattr(compiling, "cache_folder", lambda: None)
    printed = CliRunner().invoke(app, ["compile", "mdav"])
    assert isinstance(printed.exception, ParameterError)
    assert "SHOAL_CACHE" in str(printed.exception)


AFTERWARDS = """
import numpy as np, shoal
from shoal.core.compiled import when_compiling
compiled = []
with when_compiling(compiled.append):
    shoal.datasets.patients(200).write_csv("people.csv")
    for n, d in ((40, 2), (3_300, 2), (15_200, 2), (15_200, 13), (40, 1)):
        shoal.run_method("auto", np.random.default_rng(1).normal(size=(n, d)), 5)
    shoal.protect("people.csv", 5, quasi=["age", "income", "sex"], unnamed="other").write("safe.csv")
print(compiled)
"""


def test_after_shoal_compile_auto_compiles_nothing(tmp_path):
    environment = os.environ | {"SHOAL_CACHE": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": str(tmp_path / "none")}
    first = subprocess.run(
        [sys.executable, "-m", "shoal", "compile"], check=True, capture_output=True, text=True, env=environment
    )
    assert f"stored in {tmp_path / 'cache'}" in first.stdout
    later = subprocess.run(
        [sys.executable, "-c", AFTERWARDS], check=True, capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert later.stdout.strip() == "[]"
    assert not (tmp_path / "none").exists()
