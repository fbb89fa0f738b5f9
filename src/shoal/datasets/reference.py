"""The reference data of the literature, read from the directory that ``$SHOAL_DATA`` names; nothing is downloaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from shoal.errors import FileProblem, ParameterError, suggestion

REFERENCE = {
    "adult": "adult.csv.gz",
    "census": "census.csv",
    "cloud1": "cloud1.csv",
    "cloud2": "cloud2.csv",
    "covertype": "covertype_quant.csv.gz",
    "credit_card": "credit_card.csv.gz",
    "eia": "eia.csv",
    "eia_full": "eia_full.csv",
    "francdat": "francdat.csv",
    "nursery": "nursery.csv.gz",
    "tarragona": "tarragona.csv",
    "testdata": "testdata.csv",
}


def load(name: str) -> Any:
    """Return a reference data set of the literature as a polars DataFrame.

    Parameters
    ----------
    name
        One of the names in ``REFERENCE``, for example ``census`` or ``tarragona``.
    """
    import polars as pl

    return pl.read_csv(reference_path(name), infer_schema_length=None)


def reference_path(name: str) -> Path:
    """Return the file of a reference data set, or an error that says where it was looked for."""
    if name not in REFERENCE:
        raise ParameterError(f'there is no reference data set "{name}"; {suggestion(name, REFERENCE)}')
    folders = [Path("..", "shared", "data")]
    if os.environ.get("SHOAL_DATA"):
        folders.insert(0, Path(os.environ["SHOAL_DATA"]))
    for folder in folders:
        if (folder / REFERENCE[name]).is_file():
            return folder / REFERENCE[name]
    looked = " and ".join(str(folder) for folder in folders)
    raise FileProblem(f"{REFERENCE[name]} was not found in {looked}; set SHOAL_DATA to the folder that holds it")
