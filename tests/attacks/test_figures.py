"""The figures of the attack suite: numbers that tests record are added up over tests and processes."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize("part", range(4))
def test_a_test_records_a_figure(part, record, repetitions):
    record("inputs", repetitions(10, attacks=50 + part))


@pytest.mark.parametrize("processes", ["0", "2"])
def test_figures_are_added_up_over_tests_and_processes(tmp_path, processes):
    written = tmp_path / "figures.json"
    tests = f"{__file__}::test_a_test_records_a_figure"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", processes, "--attacks", written, tests],
        check=True,
        capture_output=True,
    )
    assert json.loads(written.read_text(encoding="utf-8")) == {"test_figures": {"inputs": 50 + 51 + 52 + 53}}
