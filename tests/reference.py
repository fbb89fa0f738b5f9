"""The reference data of the literature, read from the directory in the environment variable ``SHOAL_DATA``."""

import csv
import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest


def path(file_name):
    """The path of a reference file; skips the test if the file is absent."""
    directory = os.environ.get("SHOAL_DATA")
    if not directory:
        pytest.skip(f"SHOAL_DATA is not set; set it to the directory that contains {file_name}")
    file = Path(directory, file_name)
    if not file.exists():
        pytest.skip(f"{file_name} is not in {directory}, the directory in SHOAL_DATA")
    return file


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
