"""A generated table of hospital patients, for examples and tests without real data."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.arguments import check_seed, check_size
from shoal.errors import ParameterError

EDUCATION_ORDER = ("primary", "secondary", "bachelor", "master", "doctorate")
"""The order of the column ``education`` of :func:`patients`."""


def patients(n: int = 1000, *, missing: float = 0.0, seed: int = 0) -> Any:
    """Return a generated table of hospital patients as a polars DataFrame.

    The columns have mixed types: a name, integers and floats, a date, ordered and unordered categories, and a diagnosis
    that depends on age. All persons are fictitious.

    Parameters
    ----------
    n
        The number of patients.
    missing
        Fraction of missing values in the columns income and education.
    seed
        Random seed (default 0).

    Returns
    -------
    table
        One row per patient.

    Examples
    --------
    >>> patients(3).columns
    ['name', 'age', 'sex', 'region', 'education', 'income', 'height', 'admitted', 'diagnosis', 'stay_days']
    """
    import polars as pl

    check_size(n, "n")
    if isinstance(missing, bool) or not isinstance(missing, int | float) or not 0 <= missing <= 1:
        raise ParameterError(f"missing={missing!r} is not possible; it is the share of missing cells, from 0 to 1")
    rng = np.random.default_rng(check_seed(seed))
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
    empty = {name: rng.uniform(size=n) < missing for name in ("education", "income")}
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
    return table.with_columns(pl.when(pl.Series(~mask)).then(pl.col(name)).alias(name) for name, mask in empty.items())
