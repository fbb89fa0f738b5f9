"""A driver of engine ``spark`` that is killed at any moment leaves a complete, counted release or nothing.

Run with ``pytest -m slow``; needs a Java virtual machine and pyspark.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from engines.test_partitioned_run import people
from engines.test_spark import DRIVER, QUICK_JAVA, files_of

KILLS = 20


@pytest.mark.slow
def test_nothing_is_visible_after_the_driver_is_killed_at_any_moment(tmp_path):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java virtual machine")
    source = files_of(people(2000), tmp_path / "in", [2000])
    safe = tmp_path / "out" / "safe"
    safe.parent.mkdir()
    master = "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false"
    master += f" --driver-java-options {QUICK_JAVA} pyspark-shell"
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": master}
    command = [sys.executable, "-c", DRIVER, str(source), str(safe)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    whole = time.perf_counter() - start
    complete = {path.name: path.read_bytes() for path in safe.iterdir()}
    rng, killed, unfinished = random.Random(4), 0, 0
    for attempt in range(3 * KILLS):
        shutil.rmtree(safe, ignore_errors=True)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
        time.sleep(whole * (rng.uniform(0.5, 1.0) if attempt % 4 else rng.uniform(0.0, 0.9)))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        if safe.exists():
            assert {path.name: path.read_bytes() for path in safe.iterdir()} == complete
        else:
            unfinished += 1
            assert all(path.name.startswith(".safe.") for path in safe.parent.iterdir())
            assert all(path.stat().st_mode & 0o777 == 0o700 for path in safe.parent.iterdir())
        if killed >= KILLS:
            break
    assert killed >= KILLS
    assert unfinished > KILLS // 2
    shutil.rmtree(safe, ignore_errors=True)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    assert [path.name for path in safe.parent.iterdir()] == ["safe"]
    assert {path.name: path.read_bytes() for path in safe.iterdir()} == complete
