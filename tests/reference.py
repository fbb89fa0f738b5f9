"""The reference data of the literature, read from the directory in the environment variable ``SHOAL_DATA``.

Without a file the tests that need it are skipped; where ``SHOAL_REQUIRE_DATA`` is 1, as in continuous integration, they
fail, so that no published figure goes untested unnoticed.
"""

import csv
import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest


def path(file_name):
    """The path of a reference file; skips the test if the file is absent, or fails where data are required."""
    directory = os.environ.get("SHOAL_DATA")
    if not directory:
        stop(f"SHOAL_DATA is not set; set it to the directory that contains {file_name}")
    file = Path(directory, file_name)
    if not file.exists():
        stop(f"{file_name} is not in {directory}, the directory in SHOAL_DATA")
    return file


def stop(reason):
    """Fail or skip the test, according to ``SHOAL_REQUIRE_DATA``."""
    if os.environ.get("SHOAL_REQUIRE_DATA") == "1":
        pytest.fail(f"{reason} (SHOAL_REQUIRE_DATA is 1)")
    pytest.skip(reason)


def rows(file_name):
    """The rows of a small reference CSV as dictionaries."""
    with path(file_name).open(newline="") as lines:
        return list(csv.DictReader(lines))


@cache
def points(name, columns=None):
    """A numeric reference table, standardised; columns: positions, None for all."""
    file = path({"credit_card": "credit_card.csv.gz", "covertype": "covertype_quant.csv.gz"}.get(name, f"{name}.csv"))
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        raw = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=columns, ndmin=2)
    centred = raw - raw.mean(axis=0)
    return centred / np.sqrt((centred**2).mean(axis=0))


def information_loss(points, labels):
    """SSE / SST in percent, computed the obvious way."""
    sse = sum(((points[labels == g] - points[labels == g].mean(axis=0)) ** 2).sum() for g in range(labels.max() + 1))
    return 100 * sse / ((points - points.mean(axis=0)) ** 2).sum()
