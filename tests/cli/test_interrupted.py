"""An interrupt from the keyboard ends a long search with the best groups found so far, and these are released."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import datasets

K = 5
QUASI = ["age", "income", "height"]


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    datasets.patients(600).select(QUASI).write_csv(path)
    return path


def interrupt_in(stage, command, log):
    """Run a command, send SIGINT once its log names the stage, and return exit code and output."""
    listening = (
        "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "  # ignored in the background
    )
    listening += "runpy.run_module('shoal', run_name='__main__', alter_sys=True)"
    call = [sys.executable, "-c", listening, *command, "--log", str(log)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            for _ in range(1200):
                if log.exists() and stage in log.read_text():
                    break
                assert process.poll() is None, process.stdout.read()
                time.sleep(0.05)
            output = ended_by_interrupts(process)
        finally:
            process.kill()
    return process.returncode, output.decode()


def ended_by_interrupts(process):
    """Send SIGINT, again where a library lost it inside a callback of its compiler, and return what was printed."""
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("the process does not end")


def squared_error(original, released):
    """Return the squared error of standardised columns."""
    gaps = (original - released) / np.where(original.std(axis=0) > 0, original.std(axis=0), 1.0)
    return float((gaps**2).sum())


def test_an_interrupted_search_is_released_and_no_worse_than_the_default(people, tmp_path):
    out, manifest = tmp_path / "safe.csv", tmp_path / "m.json"
    exact = ["--decimals", "full", "--sums", "exact"]
    command = [
        "protect", str(people), "-k", str(K), "--quasi", ",".join(QUASI), "-o", str(out),
        "--manifest", str(manifest), "--time-limit", "1h", *exact,
    ]  # fmt: skip
    code, output = interrupt_in("bounding", command, tmp_path / "log.txt")
    assert code == 0, output
    assert "interrupted from the keyboard" in output
    assert json.loads(manifest.read_text())["method"]["stopped"] == "interrupted"
    released = pl.read_csv(out)
    assert released.group_by(QUASI).len()["len"].min() >= K
    original = pl.read_csv(people).to_numpy()
    plain = shoal.protect(pl.read_csv(people), K, quasi=QUASI, decimals="full", sums="exact").data
    assert squared_error(original, released.to_numpy()) <= squared_error(original, plain.to_numpy()) * (1 + 1e-9)


def test_an_interrupt_before_there_are_groups_writes_nothing(people, tmp_path):
    out = tmp_path / "safe.csv"
    command = [
        "protect", str(people), "-k", str(K), "--quasi", ",".join(QUASI), "-o", str(out),
        "--time-limit", "1h",
    ]  # fmt: skip
    code, output = interrupt_in("preparing", command, tmp_path / "log.txt")
    if code == 0:  # the signal came after the first groups were found
        assert "interrupted from the keyboard" in output
    else:
        assert code == 130, output
        assert "nothing was written" in output
        assert not out.exists()
