"""Compiled loops: what is compiled and stored; stored files that are damaged are replaced, and one line says so."""

import gc
import os
import pickle
import re
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import types

from shoal.core.compiled import compiled, compiled_elsewhere, inner, when_compiling
from shoal.core.inner_loops import _kept, inner_compiler, types_remembered

MODULE = """
from shoal.core.compiled import compiled, inner

@inner
def one_more(x):
    return x + 1

@compiled
def count(n):
    total = 0
    for i in range(n):
        total = one_more(total)
    return total
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A folder with a module and its stored loops."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "counting.py").write_text(MODULE)
    assert counted(folder) == (7, "")
    assert list(folder.rglob("*.nbi"))
    return folder


def counted(folder, **variables):
    """Call the loop in a process of its own; return the result and what was written to the error stream."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import counting; print(counting.count(7))"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), **variables}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return int(done.stdout), done.stderr


def test_a_stored_loop_runs_without_preparing_the_compiler(stored):
    """Loading takes a fraction of the time, and imports no linear algebra; what is not stored is compiled as before."""
    code = (
        f"import sys; sys.path.insert(0, {str(stored)!r}); import counting; print(counting.count(7)); "
        "print([name for name in ('scipy.linalg', 'numba.np.linalg') if name in sys.modules]); "
        "import numpy as np; print(counting.count(np.int16(6)))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(stored / "cache")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["7", "[]", "6"]


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite(path):
    path.write_bytes(b"not a stored loop")


def of_another_version(path):
    path.write_bytes(pickle.dumps("0.0.1") + b"nothing that this version can read")


def replace_by_a_directory(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("damage", [truncate, overwrite])
def test_damaged_files_are_built_again(stored, tmp_path, damage, pattern):
    folder = shutil.copytree(stored, tmp_path / "copy")
    assert counted(folder)[1] == ""
    for path in folder.rglob(pattern):
        damage(path)
    result, message = counted(folder)
    assert result == 7
    assert message.count("\n") == 1
    assert "files of compiled loops in" in message
    assert "are damaged; they are built again" in message
    assert counted(folder) == (7, "")


def test_files_of_another_version_are_replaced_silently(stored, tmp_path):
    folder = shutil.copytree(stored, tmp_path / "copy")
    counted(folder)
    for path in folder.rglob("*.nbi"):
        of_another_version(path)
    assert counted(folder) == (7, "")


def test_loops_run_where_nothing_can_be_stored(stored, tmp_path):
    folder = shutil.copytree(stored, tmp_path / "copy")
    counted(folder)
    for path in folder.rglob("*.nbi"):
        replace_by_a_directory(path)
    result, message = counted(folder)
    assert result == 7
    assert message == "shoal: compiled loops cannot be stored or read; they are compiled again in every process\n"


def test_loops_are_stored_in_the_chosen_folder(stored, tmp_path):
    folder = shutil.copytree(stored, tmp_path / "copy", ignore=shutil.ignore_patterns("*.nb?"))
    assert counted(folder, SHOAL_CACHE=str(tmp_path / "chosen")) == (7, "")
    assert [path.name.split("-")[0] for path in (tmp_path / "chosen").rglob("*.nbi")] == ["counting.count"]
    assert not list(folder.rglob("*.nbi"))


def test_another_folder_is_taken_where_the_chosen_one_cannot_be_written(stored, tmp_path):
    folder = shutil.copytree(stored, tmp_path / "copy", ignore=shutil.ignore_patterns("*.nb?"))
    (tmp_path / "file").write_text("no folder")
    assert counted(folder, SHOAL_CACHE=str(tmp_path / "file"))[0] == 7
    assert list(folder.rglob("*.nbi"))
    assert (tmp_path / "file").read_text() == "no folder"


def test_a_loop_that_is_compiled_elsewhere_waits_before_it_runs():
    waited = []

    @compiled
    def double(x):
        waited.append(x)

    double._dispatcher = double.function
    with compiled_elsewhere([__name__], waited.append):
        double(2)
    double(3)
    assert waited == [__name__, 2, 3]


@inner
def _added(x, y):
    return x + y


@compiled
def _added_literals(n):
    return _added(n, 1) + _added(n, 2) + _added(0, n)


@pytest.fixture
def _compiled_here():
    """Compile in this process, since a stored loop leaves nothing to look at."""
    assert _added.dispatcher is not None  # compilations are watched from here on
    _added_literals._dispatcher = _added_literals._plain_dispatcher()


@pytest.mark.usefixtures("_compiled_here")
def test_a_function_is_compiled_once_for_all_literals():
    assert _added_literals(5) == 18
    assert len(_added.dispatcher.overloads) == 1


@pytest.mark.usefixtures("_compiled_here")
def test_an_inner_function_has_no_machine_code_of_its_own():
    _added_literals(5)
    (overload,) = _added.dispatcher.overloads.values()
    assert overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name) == 0
    assert inner_compiler() is not None


def _of_many_operations(x, n):
    total = 0.0
    for i in range(n):
        for j in range(x.shape[1]):
            y = x[i, j] - x[0, j] + 2 * n - 1
            if (y > 0 and n // 2 < i) or not i % 3:
                total += y * y / max(i, 1)
                x[i, j] = min(total, y) * 2.0
    return total


def test_remembered_types_give_the_same_machine_code():
    def code(repeated):
        loop = numba.njit(error_model="numpy")(_of_many_operations)
        for _ in range(1 + repeated):
            loop = numba.njit(error_model="numpy")(_of_many_operations)
            loop.compile("float64(float64[:, ::1], int64)")
        (text,) = loop.inspect_llvm().values()
        return re.sub(r"[v$.%A-Za-z_0-9]*[0-9]+", "", text)

    before = code(repeated=False)
    with types_remembered():
        assert code(repeated=True) == before
    assert types.BaseFunction.get_call_type.__module__ == "shoal.core.inner_loops"


def test_types_that_depend_on_options_are_not_remembered():
    """The minimum of an array is Python code of numba, compiled with the options of its caller."""
    with types_remembered():
        assert numba.njit(lambda x, i: np.sqrt(x[i]) + x.min() + (i + i))(np.ones(3), 1) == 4.0
    names = {str(key[1].typing_key) for key in _kept}
    assert any("add" in name for name in names)
    assert not any("min" in name or "array_min" in name for name in names)


@compiled
def _fails_to_compile(n):
    return n.no_such_attribute


@pytest.mark.parametrize("collecting", [True, False])
def test_the_garbage_collector_is_as_before_after_compiling(collecting):
    seen = []
    before = gc.isenabled()
    try:
        gc.enable() if collecting else gc.disable()
        with when_compiling(lambda _name: seen.append(gc.isenabled())), pytest.raises(Exception, match="no_such"):
            _fails_to_compile(collecting)
        assert seen == [False]
        assert gc.isenabled() == collecting
    finally:
        gc.enable() if before else gc.disable()
        _fails_to_compile._dispatcher = None
