"""Tables that hold next to nothing: every method groups them or raises one of Shoal's errors, and never crashes.

The tables are grouped in processes of their own, because a compiled loop that reads beyond an array may end the process
without an exception. The first line of ``SCRIPT`` that is not answered names the method and the table.
"""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.grouping import Grouping
from shoal.errors import ShoalError
from shoal.methods import running
from shoal.methods.registry import all_methods, get_method

SCRIPT = """
import json, sys, warnings
import numpy as np, polars as pl
import shoal
from shoal.errors import ShoalError
from shoal.methods.running import run

warnings.simplefilter("error")
K = 3
TEXT, NUMBER = pl.String, pl.Float64

def frame(n, *columns):
    return pl.DataFrame({f"column{i}": pl.Series([value] * n, dtype=dtype) for i, (value, dtype) in enumerate(columns)})

def arrays(kind):
    dtype = np.int32 if kind == "codes" else np.float64
    shapes = [(12, 0), (0, 0), (0, 2), (1, 0), (1, 1), (3, 0), (7, 1), (12, 2)]
    if kind == "values":
        shapes = [(0,), (1,), (7,)]
    return {f"array of shape {shape}": np.zeros(shape, dtype) for shape in shapes}

def tables():
    for kind, value, dtype in (("nominal", "x", TEXT), ("ordinal", "x", TEXT), ("numeric", 1.0, NUMBER)):
        for missing in ("error", "fill", "suppress", "by-pattern", "impute", "category"):
            policy = {"missing": missing}
            yield f"{kind}, all missing, {missing}", frame(12, (None, dtype)), kind, policy
            yield f"{kind}, one of two missing, {missing}", frame(12, (None, dtype), (value, dtype)), kind, policy
        yield f"{kind}, one value", frame(12, (value, dtype)), kind, {}
        yield f"{kind}, no record", frame(0, (value, dtype)), kind, {}
        yield f"{kind}, one record", frame(1, (value, dtype)), kind, {}
        yield f"{kind}, k records", frame(K, (value, dtype)), kind, {}
        yield f"{kind}, weight 0", frame(12, (value, dtype)), kind, {"column_weights": {"column0": 0.0}}
        yield f"{kind}, tiny weight", frame(12, (value, dtype)), kind, {"column_weights": {"column0": 1e-300}}

def attempt(name, case, call):
    print(json.dumps([name, case, "begun"]), flush=True)
    try:
        call()
        answer = "done"
    except ShoalError as error:
        answer = "refused: " + str(error)
    except Exception as error:
        answer = f"wrong: {type(error).__name__}: {error}"
    print(json.dumps([name, case, answer]), flush=True)

for name in sys.argv[1].split(","):
    info = shoal.get_method(name)
    limit = {"time_limit": 0.2} if "time_limit" in info.injected else {}
    for case, array in arrays(info.data).items():
        attempt(name, case, lambda: run(name, array, K, **limit))
    for case, table, kind, options in tables():
        kinds = dict.fromkeys(table.columns, kind)
        orders = {"orders": dict.fromkeys(table.columns, ["w", "x"])} if kind == "ordinal" else {}
        attempt(name, case, lambda: shoal.protect(
            table, K, quasi=table.columns, kinds=kinds, method=name, **limit, **orders, **options))
"""  # fmt: skip
NAMES = list(all_methods())


def attempts(names, *, source=SCRIPT):
    """Run the script for some methods; return what it printed, and the exit code of the process."""
    done = subprocess.run(
        [sys.executable, "-c", source, ",".join(names)], capture_output=True, text=True, check=False, timeout=600
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


@pytest.mark.parametrize("part", range(2))
def test_no_method_crashes_on_a_table_that_holds_nothing(part):
    found, code = attempts(NAMES[part::2])
    assert code == 0, f"the process ended with {code} in {found[-1]}"
    assert not [line for line in found if line[2].startswith("wrong")]
    grouped = [line for line in found if line[2] == "done"]
    assert len(grouped) > len(found) / 8


def test_a_crash_and_a_raw_error_would_be_noticed():
    crashing = SCRIPT.replace("        call()\n", "        import os, signal; os.kill(os.getpid(), signal.SIGSEGV)\n")
    found, code = attempts(["mdav"], source=crashing)
    assert code != 0
    assert found[-1][2] == "begun"
    raising = SCRIPT.replace("        call()\n", "        raise IndexError('out of bounds')\n")
    found, code = attempts(["mdav"], source=raising)
    assert code == 0
    assert found[1][2].startswith("wrong: IndexError")


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(("own-", "rand-"))])
@given(
    n=st.integers(0, 14), d=st.integers(0, 2), k=st.integers(2, 5), values=st.integers(1, 2), seed=st.integers(0, 99)
)
@settings(max_examples=5)
def test_every_method_groups_tables_with_hardly_a_difference_or_refuses_them(name, n, d, k, values, seed):
    info = get_method(name)
    data = np.random.default_rng(seed).integers(0, values, (n, d)).astype(info.dtype())
    options = {"time_limit": 0.2} if "time_limit" in info.injected else {}
    try:
        labels = running.run(name, data[:, :1] if info.data == "values" else data, k, **options).labels
    except ShoalError:
        assert n < k or name in {"brute-force", "matching"} or info.data == "values"
        return
    Grouping(labels, k)
    assert labels.size == n


@pytest.mark.parametrize("requirement", [{"l": 2}, {"t": 0.4}, {"global_recoding": True}, {"recode": "medoid"}])
def test_requirements_and_recodes_work_without_a_single_value(requirement):
    table = pl.DataFrame({"place": pl.Series([None] * 12, dtype=pl.String), "illness": ["a", "b", "c"] * 4})
    release = shoal.protect(
        table, 3, quasi=["place"], confidential=["illness"], kinds={"place": "nominal"}, missing="by-pattern",
        method="mdav", **requirement,
    )  # fmt: skip
    assert release.data["place"].null_count() == 12
