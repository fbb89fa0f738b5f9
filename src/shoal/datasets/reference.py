"""The reference data of the literature, read from the directory in the environment variable ``SHOAL_DATA``."""

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
        One of the names in ``REFERENCE``, for example ``census`` or ``tarragona``. The file must be in the directory
        that the environment variable ``SHOAL_DATA`` names; it is not downloaded.

    Returns
    -------
    table
        All records.

    Examples
    --------
    >>> load("censos")
    Traceback (most recent call last):
        ...
    shoal.errors.ParameterError: there is no reference data set "censos"; did you mean "census"?
    """
    import polars as pl

    return pl.read_csv(reference_path(name), infer_schema_length=None)


def reference_path(name: str) -> Path:
    """Return the file of a reference data set in the directory that the environment variable ``SHOAL_DATA`` names.

    Parameters
    ----------
    name
        As in :func:`load`.

    Returns
    -------
    path
        Raises :class:`shoal.errors.FileProblem` where the directory or the file does not exist.
    """
    if not isinstance(name, str) or name not in REFERENCE:
        raise ParameterError(f'there is no reference data set "{name}"; {suggestion(name, REFERENCE)}')
    directory = os.environ.get("SHOAL_DATA")
    if not directory:
        raise FileProblem(
            f"the environment variable SHOAL_DATA is not set; set it to the directory that contains {REFERENCE[name]}"
        )
    path = Path(directory, REFERENCE[name])
    if not path.is_file():
        raise FileProblem(
            f"{REFERENCE[name]} is not in {directory}; set the environment variable SHOAL_DATA to the directory that "
            "contains it"
        )
    return path
