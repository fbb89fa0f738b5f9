"""Airflow: protect a folder of Parquet every night, verify the release, and only then let other tasks read it.

Put this file into the folder of DAGs. A retry of ``protect`` is harmless: with ``--force`` the earlier release stays in
place until the new one is complete and counted, and the same input gives the same bytes. What a retry cannot change
fails at once: exit code 1 (a requirement is violated) and 2 (wrong use).
"""

import os
import subprocess
from datetime import timedelta

from airflow.exceptions import AirflowFailException
from airflow.sdk import dag, task

STAYS = os.environ.get("STAYS", "/data/stays")
SCHEMA = os.environ.get("STAYS_SCHEMA", "/conf/stays.toml")
RELEASE = os.environ.get("STAYS_RELEASE", "/release/stays")


def shoal(*arguments: str) -> None:
    """Run a command; an error that a retry cannot change fails the task without one."""
    code = subprocess.run(["shoal", *arguments, "--schema", SCHEMA, "--quiet"], check=False).returncode
    if code in {1, 2}:
        raise AirflowFailException(f"shoal ended with exit code {code}: trying again would change nothing")
    if code:
        raise RuntimeError(f"shoal ended with exit code {code}")


@dag(schedule="@daily", catchup=False, default_args={"retries": 2, "retry_delay": timedelta(minutes=5)})
def protect_stays() -> None:
    """Protect and verify stays."""

    @task
    def protect() -> None:
        shoal("protect", STAYS, "-k", "5", "--engine", "disk", "-o", RELEASE, "--force")

    @task
    def verify() -> None:
        shoal("verify", RELEASE, "-k", "5")

    protect() >> verify()


nightly = protect_stays()
