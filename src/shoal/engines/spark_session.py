"""Sessions of Spark: the one that runs already, or one of our own; and all that ever reaches the driver.

Only :func:`collected_evidence` and :func:`collected_totals` bring anything to the driver: what tasks have counted, and
the rows of the sample.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.engines.packets import PACKET_COLUMNS
from shoal.engines.spark_worker import Work
from shoal.errors import ParameterError

PACKETS_PER_BATCH = 64
"""Packets that Spark passes to a task at a time; each has about a megabyte."""
_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_OLDEST = (3, 5)


def is_spark_frame(data: object) -> bool:
    """Return whether a table is a DataFrame of Spark; imports nothing.

    Examples
    --------
    >>> is_spark_frame([1, 2])
    False
    """
    return type(data).__module__.startswith("pyspark.sql") and type(data).__name__ == "DataFrame"


@contextmanager
def spark_session() -> Iterator[Any]:
    """Return the session of Spark that runs, or a new one that is stopped at the end.

    A new one reads the usual configuration of Spark (``spark-submit``, ``SPARK_CONF_DIR``, ``PYSPARK_SUBMIT_ARGS``).
    """
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ParameterError(
            'engine=spark needs pyspark 3.5 or newer; install it with: pip install "shoal[spark]"'
        ) from error
    if tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < _OLDEST:
        raise ParameterError(
            f"engine=spark needs pyspark 3.5 or newer, and {pyspark.__version__} is installed; "
            'install a newer one with: pip install "shoal[spark]"'
        )
    session = SparkSession.getActiveSession()
    if session is not None:
        yield session
        return
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java").exists() if home else shutil.which("java") is not None
    if not java:
        raise ParameterError(
            "engine=spark needs Java 17 beside shoal[spark]; install it (Debian: apt install openjdk-17-jre-headless), "
            "or name its folder in JAVA_HOME"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("shoal").config("spark.ui.showConsoleProgress", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def records_per_batch(session: Any, records: int) -> Iterator[None]:
    """Set how many rows Spark passes to a task at a time, and restore the former number."""
    before = session.conf.get(_RECORDS)
    session.conf.set(_RECORDS, records)
    try:
        yield
    finally:
        session.conf.set(_RECORDS, before)


def mapped(frame: Any, task: object) -> Any:
    """Return the packets that a task makes of a DataFrame."""
    return frame.mapInArrow(Work.of(task), PACKET_COLUMNS)


def exchanged(packets: Any, partitions: int) -> Any:
    """Return packets by their key, one partition for each, sorted by place; errors travel with them."""
    return (
        packets.where("packet is not null or place = -1").repartition(partitions, "bin").sortWithinPartitions("place")
    )


def collected_evidence(packets: Any) -> list[tuple[int, Any]]:
    """Return what tasks have counted, in the order of their places; raises what a task found to be wrong."""
    rows = packets.where("evidence is not null").select("place", "evidence").collect()
    found = sorted(((int(row[0]), bytes(row[1])) for row in rows), key=lambda one: one[0])
    evidence = [(place, pickle.loads(content)) for place, content in found]  # noqa: S301 - written by our own tasks
    for place, content in evidence:
        if place < 0:
            raise content
    return evidence


def collected_totals(totals: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a small DataFrame of totals."""
    return [tuple(row) for row in totals.collect()]
