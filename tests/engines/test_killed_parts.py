"""A process killed at any moment leaves a complete, counted release or nothing, and the next run removes the rest."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

from pyarrow import parquet

from engines.test_partitioned_run import people

KILLS = 20


def test_nothing_is_visible_after_a_kill(tmp_path):
    source, safe = tmp_path / "people.parquet", tmp_path / "out" / "safe"
    safe.parent.mkdir()
    parquet.write_table(people(20_000), source)
    command = [
        sys.executable, "-m", "shoal", "protect", str(source), "-k", "5", "--quasi", "age,income", "--unnamed", "other",
        "--method", "mondrian", "--engine", "disk", "-o", str(safe), "--quiet",
    ]  # fmt: skip
    subprocess.run(command, check=True)  # compiles, once
    complete = {path.name: path.read_bytes() for path in safe.iterdir()}
    shutil.rmtree(safe)
    start = time.perf_counter()
    subprocess.run(command, check=True)
    whole = time.perf_counter() - start
    rng, killed, unfinished = random.Random(3), 0, 0
    for attempt in range(3 * KILLS):
        shutil.rmtree(safe, ignore_errors=True)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(whole * (rng.uniform(0.5, 1.0) if attempt % 2 else rng.uniform(0.0, 0.9)))
        os.kill(process.pid, signal.SIGKILL)
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
    assert unfinished
    shutil.rmtree(safe, ignore_errors=True)
    subprocess.run(command, check=True)
    assert [path.name for path in safe.parent.iterdir()] == ["safe"]
