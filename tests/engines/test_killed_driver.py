"""A driver of engine ``spark`` that is killed at any moment leaves a complete, counted release or nothing.

Run with ``pytest -m slow``; needs a Java virtual machine and pyspark.
"""

import subprocess
import time

import pytest

from engines.test_killed_parts import KILLS, kill_at_random
from engines.test_spark import driver, spark_or_skip


@pytest.mark.slow
def test_nothing_is_visible_after_the_driver_is_killed_at_any_moment(tmp_path):
    spark_or_skip()
    command, environment, safe = driver(tmp_path)
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    whole = time.perf_counter() - start
    assert kill_at_random(command, safe, whole, seed=4, early=4, environment=environment) > KILLS // 2
