"""The reference data of the literature, read from ``$SHOAL_DATA`` or from ``../shared/data`` beside the checkout."""

import csv
import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest


def path(file_name):
    """The path of a reference file; skips the test where there is none."""
    folders = [Path(__file__).parents[2] / "shared" / "data"]
    if "SHOAL_DATA" in os.environ:
        folders.insert(0, Path(os.environ["SHOAL_DATA"]))
    for folder in folders:
        if (folder / file_name).exists():
            return folder / file_name
    pytest.skip(f"{file_name} is neither in $SHOAL_DATA nor in ../shared/data")


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
