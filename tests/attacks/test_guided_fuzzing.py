"""Files from a coverage-guided fuzzer: schema files, hierarchy files and text tables."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("guided_fuzzing.py")
STARTS = {
    "schema": [b"missing = 'impute'\nstrata = ['c']\n[columns.a]\nrole = 'quasi'\norder = ['1', '2']\nweight = 2.0\n"],
    "tree": [b"a;x;*\nb;x;*\nc;y;*\n", b"a,b,c\nd,b,c\n"],
    "csv": [b"a,b,c\n1,x,2020-01-01\n2,,2020-01-02\n", b'a;b\n"1,5";"x"\n"2,5";"y;z"\n'],
}


@pytest.mark.parametrize("target", STARTS)
def test_a_guided_fuzzer_finds_no_internal_error(target, tmp_path, pytestconfig, record):
    if pytestconfig.getoption("--attacks") is None:
        pytest.skip("the guided fuzzer runs with make attacks only")
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed; python3 -m pip install atheris, where there is a wheel for this Python")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, content in enumerate(STARTS[target]):
        (corpus / f"start{number}").write_bytes(content)
    command = [sys.executable, PROGRAM, target, "-runs=20000", "-max_len=400", "-max_total_time=120", corpus]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3_000:]
    record("inputs of the guided fuzzer", re.search(r"Done (\d+) runs", done.stderr)[1])
