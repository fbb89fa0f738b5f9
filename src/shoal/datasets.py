"""Data to try things on: the synthetic databases of the papers, a generated patient table, and the reference data.

Nothing is downloaded. Reference data are read from the folder ``$SHOAL_DATA`` or from ``../shared/data``; the generated
ones need nothing but a seed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.datasets_nominal import adult_categories, category_codes, matching_instance, nominal_problems
from shoal.datasets_planar import planar_instance
from shoal.errors import FileProblem, ParameterError, suggestion

__all__ = [
    "EDUCATION_ORDER",
    "REFERENCE",
    "adult_categories",
    "category_codes",
    "load",
    "matching_instance",
    "nominal_problems",
    "patients",
    "planar_instance",
    "reference_path",
    "simc",
    "simu",
]

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


def simu(seed: int = 0, n: int = 1000, d: int = 10) -> NDArray[np.float64]:
    """Return a database of independent uniform attributes (Thaeter 2021, section 5.2).

    Examples
    --------
    >>> simu(seed=1).shape
    (1000, 10)
    """
    return np.random.default_rng(seed).uniform(size=(n, d))


def simc(seed: int = 0) -> NDArray[np.float64]:
    """Return a clustered database (Thaeter 2021, Algorithm 7).

    100 centres in [-10000, 10000]^10, each a record with 3 to 20 further records within 50 of it in every attribute;
    then a third as many noise records again.

    Examples
    --------
    >>> simc(seed=1).shape[1]
    10
    """
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10_000, 10_000, size=(100, 10))
    sizes = rng.integers(3, 21, size=100)
    around = np.repeat(centres, sizes, axis=0)
    around += rng.uniform(-50, 50, size=around.shape)
    clustered = np.vstack([centres, around])
    noise = rng.uniform(-10_000, 10_000, size=(len(clustered) // 3 + 1, 10))
    return np.vstack([clustered, noise])


def patients(n: int = 1000, *, missing: float = 0.0, seed: int = 0) -> Any:
    """Return a generated table of hospital patients as a polars DataFrame.

    Mixed types as they occur: a name, whole and fractional numbers, a date, ordered and unordered categories, and a
    diagnosis that depends on age. No person in it exists.

    Parameters
    ----------
    n
        The number of patients.
    missing
        The share of income and education values that are missing.
    seed
        The same seed gives the same table.

    Examples
    --------
    >>> patients(3).columns
    ['name', 'age', 'sex', 'region', 'education', 'income', 'height', 'admitted', 'diagnosis', 'stay_days']
    """
    import polars as pl

    rng = np.random.default_rng(seed)
    first = np.array(
        [
            "Ada",
            "Ben",
            "Cleo",
            "Dario",
            "Edda",
            "Finn",
            "Greta",
            "Hugo",
            "Ines",
            "Jonas",
            "Kira",
            "Levi",
            "Mona",
            "Nils",
            "Olga",
            "Paul",
            "Rosa",
            "Sven",
            "Tara",
            "Uwe",
        ]
    )
    last = np.array(
        [
            "Abel",
            "Brandt",
            "Costa",
            "Dahl",
            "Engel",
            "Falk",
            "Gruber",
            "Hahn",
            "Ivanov",
            "Jensen",
            "Koch",
            "Lang",
            "Maier",
            "Novak",
            "Otto",
        ]
    )
    age = np.clip(rng.gamma(9.0, 5.6, n), 18, 97).astype(np.int64)
    sex = rng.choice(["female", "male", "other"], n, p=[0.51, 0.48, 0.01])
    region = rng.choice(["north", "east", "south", "west", "islands"], n, p=[0.3, 0.25, 0.25, 0.17, 0.03])
    education = rng.choice(
        ["primary", "secondary", "bachelor", "master", "doctorate"], n, p=[0.2, 0.42, 0.22, 0.13, 0.03]
    )
    years = np.select([education == level for level in ("primary", "secondary", "bachelor", "master")], [0, 1, 2, 3], 4)
    income = np.round(np.exp(rng.normal(10.0 + 0.14 * years, 0.45, n)) / 10) * 10
    height = np.round(rng.normal(np.where(sex == "male", 179, 166), 7.0, n), 1)
    admitted = np.datetime64("2025-01-01") + rng.integers(0, 365, n).astype("timedelta64[D]")
    risk = np.clip((age - 30) / 60, 0, 1)
    diagnosis = np.where(
        rng.uniform(size=n) < 0.55 * risk,
        rng.choice(["hypertension", "arrhythmia", "stroke"], n, p=[0.6, 0.25, 0.15]),
        rng.choice(["fracture", "appendicitis", "pneumonia", "migraine"], n, p=[0.35, 0.15, 0.3, 0.2]),
    )
    stay = 1 + rng.poisson(1.5 + 6 * risk)
    holes = {name: rng.uniform(size=n) < missing for name in ("education", "income")}
    table = pl.DataFrame(
        {
            "name": np.char.add(np.char.add(rng.choice(first, n), " "), rng.choice(last, n)),
            "age": age,
            "sex": sex,
            "region": region,
            "education": education,
            "income": income.astype(np.int64),
            "height": height,
            "admitted": admitted,
            "diagnosis": diagnosis,
            "stay_days": stay,
        }
    )
    return table.with_columns(pl.when(pl.Series(~hole)).then(pl.col(name)).alias(name) for name, hole in holes.items())


EDUCATION_ORDER = ("primary", "secondary", "bachelor", "master", "doctorate")
"""The order of the column ``education`` of :func:`patients`."""


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
