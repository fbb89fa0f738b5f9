"""A process killed at any moment leaves a complete, counted release or nothing, and the next run removes the rest."""

import random
import shutil
import signal
import subprocess
import sys
import time

from pyarrow import parquet

from engines.test_partitioned_run import people

KILLS = 20


def kill_at_random(command, safe, whole, *, seed, early, environment=None):
    """Start a protection again and again and kill it after a random share of the seconds that a whole one takes.

    Whatever is visible after a kill is the complete release, and all else is private. One in ``early`` kills may come
    at any time, the others come in the second half. Returns after how many kills nothing was visible.
    """
    complete = {path.name: path.read_bytes() for path in safe.iterdir()}
    rng, killed, unfinished = random.Random(seed), 0, 0
    for attempt in range(3 * KILLS):
        shutil.rmtree(safe, ignore_errors=True)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
        time.sleep(whole * (rng.uniform(0.5, 1.0) if attempt % early else rng.uniform(0.0, 0.9)))
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
    shutil.rmtree(safe, ignore_errors=True)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    assert [path.name for path in safe.parent.iterdir()] == ["safe"]  # the next run removed what was left
    assert {path.name: path.read_bytes() for path in safe.iterdir()} == complete
    return unfinished


def test_nothing_is_visible_after_a_kill(tmp_path):
    source, safe = tmp_path / "people.parquet", tmp_path / "out" / "safe"
    safe.parent.mkdir()
    parquet.write_table(people(20_000), source)
    command = [
        sys.executable, "-m", "shoal", "protect", str(source), "-k", "5", "--quasi", "age,income", "--unnamed", "other",
        "--method", "mondrian", "--engine", "disk", "-o", str(safe), "--quiet",
    ]  # fmt: skip
    subprocess.run(command, check=True)  # compiles, once
    shutil.rmtree(safe)
    start = time.perf_counter()
    subprocess.run(command, check=True)
    whole = time.perf_counter() - start
    assert kill_at_random(command, safe, whole, seed=3, early=2)
