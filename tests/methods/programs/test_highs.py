"""Loading the solver: absent, present, and in a process that has loaded the HiGHS of OR-tools."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from shoal.errors import MissingExtra
from shoal.methods.optimal.set_partition import set_partition
from shoal.methods.programs import highs
from shoal.methods.programs.mixed_integer import Program

UNDEFINED = "_core.so: undefined symbol: _ZN5Highs13releaseMemoryEv"


def failing_import(failures, error):
    """Return a function that imports as importlib does, after so many failures."""
    left = [failures]

    def imported(name):
        if left[0] > 0:
            left[0] -= 1
            raise error
        return importlib.import_module(name)

    return imported


def test_a_missing_solver_raises_with_the_command_that_installs_it(monkeypatch):
    absent = ModuleNotFoundError("No module named 'highspy'", name="highspy")
    monkeypatch.setattr(highs, "import_module", failing_import(1, absent))
    with pytest.raises(MissingExtra, match=r"install it with: python3 -m pip install highspy"):
        highs.load_highspy()


def test_set_partition_raises_before_any_work_if_the_solver_is_missing(monkeypatch):
    absent = ModuleNotFoundError("No module named 'highspy'", name="highspy")
    monkeypatch.setattr(highs, "import_module", failing_import(1, absent))
    monkeypatch.setattr("shoal.methods.optimal.set_partition._first_groups", lambda *_: pytest.fail("began to work"))
    with pytest.raises(MissingExtra):
        set_partition(np.zeros((10, 2)), 2)


def test_a_module_that_the_solver_itself_lacks_is_not_hidden(monkeypatch):
    absent = ModuleNotFoundError("No module named 'numpy'", name="numpy")
    monkeypatch.setattr(highs, "import_module", failing_import(1, absent))
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        highs.load_highspy()


def test_after_an_undefined_symbol_the_own_library_is_loaded_and_the_import_repeated(monkeypatch):
    pytest.importorskip("highspy", reason="highspy is not installed")
    loaded = []
    monkeypatch.setattr(highs, "import_module", failing_import(1, ImportError(UNDEFINED)))
    monkeypatch.setattr(highs.ctypes, "CDLL", lambda path, mode: loaded.append((path, mode)))
    monkeypatch.setattr(highs, "_own_libraries", lambda: ["libhighs.so.1", "libhighs.so.1.15.1"])
    assert highs.load_highspy().__name__ == "highspy"
    assert [path for path, _ in loaded] == ["libhighs.so.1"]


@pytest.mark.parametrize("libraries", [[], ["libhighs.so.1"]])
def test_a_solver_that_cannot_be_loaded_raises_and_names_the_way_out(libraries, monkeypatch):
    monkeypatch.setattr(highs, "import_module", failing_import(9, ImportError(UNDEFINED)))
    monkeypatch.setattr(highs.ctypes, "CDLL", lambda *_, **__: None)
    monkeypatch.setattr(highs, "_own_libraries", lambda: libraries)
    with pytest.raises(MissingExtra, match="run this method in a process that does not import ortools"):
        highs.load_highspy()


def test_a_library_that_cannot_be_opened_is_passed_over(monkeypatch):
    def refuse(*_, **__):
        raise OSError

    monkeypatch.setattr(highs.ctypes, "CDLL", refuse)
    monkeypatch.setattr(highs, "_own_libraries", lambda: ["libhighs.so.1"])
    assert not highs._load_own_library()


def test_settings_reach_the_solver():
    pytest.importorskip("highspy", reason="highspy is not installed")
    solver = highs.new_highs(mip_rel_gap=0.0)
    assert [solver.getOptionValue(name)[1] for name in ("threads", "output_flag", "mip_rel_gap")] == [1, False, 0.0]


SOLVE = """
import numpy as np
from shoal.methods.optimal.set_partition import set_partition
from shoal.methods.programs.mixed_integer import Program

program = Program()
x = program.variables(2, cost=[-1.0, -1.0], upper=3.0, whole=True)
program.row([x, x + 1], [2.0, 2.0], upper=7.0)
outcome = set_partition(np.random.default_rng(5).normal(size=(30, 2)), 3, steps_per_record=20.0)
print(program.solve().value, outcome.labels.tolist(), outcome.objective)
"""


@pytest.mark.skipif(importlib.util.find_spec("ortools") is None, reason="ortools is not installed")
def test_the_same_result_in_a_process_that_has_loaded_ortools():
    """OR-tools ships another libhighs.so.1; both solvers must work side by side."""
    both = (
        "from ortools.linear_solver import pywraplp\n"
        f"{SOLVE}\n"
        "solver = pywraplp.Solver.CreateSolver('HIGHS') or pywraplp.Solver.CreateSolver('SCIP')\n"
        "y = solver.IntVar(0, 10, 'y')\n"
        "solver.Maximize(y)\n"
        "assert solver.Solve() == 0 and y.solution_value() == 10\n"
        "from ortools.sat.python import cp_model\n"  # binds more of OR-tools after both libraries are there
        "assert cp_model.CpSolver().solve(cp_model.CpModel()) == cp_model.OPTIMAL\n"
    )
    alone, beside = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
        for code in (SOLVE, both)
    )
    assert beside.returncode == 0, beside.stderr
    assert alone.returncode == 0, alone.stderr
    assert beside.stdout.splitlines()[0] == alone.stdout.splitlines()[0]  # then OR-tools prints a line


def test_programs_are_solved():
    pytest.importorskip("highspy", reason="highspy is not installed")
    program = Program()
    x = program.variables(2, cost=[-1.0, -1.0], upper=3.0, whole=True)
    program.row([x, x + 1], [2.0, 2.0], upper=7.0)
    assert program.solve().value == -3.0
