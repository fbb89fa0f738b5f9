"""A generated table of hospital stays, several rows per patient, for examples and tests without real data."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.arguments import check_seed, check_size

_ACUTE = ("fracture", "pneumonia", "appendicitis", "migraine")
_CHRONIC = ("heart failure", "diabetes", "kidney failure", "COPD")
_WARDS = {"surgery": ("fracture", "appendicitis"), "internal": ("pneumonia", *_CHRONIC), "neurology": ("migraine",)}


def stays(n: int = 500, *, seed: int = 0) -> Any:
    """Return a generated table of hospital stays as a polars DataFrame.

    Most patients have one or two stays, patients with a chronic disease up to twelve. Sex, year of birth and region are
    constant within a patient; date of admission, days, cost, ward and diagnosis vary. Rows are in order of admission.
    All patients are fictitious.

    Parameters
    ----------
    n
        The number of patients; there are about 2.2 times as many rows.
    seed
        Random seed (default 0).

    Returns
    -------
    table
        One row per stay.

    Examples
    --------
    >>> table = stays(3)
    >>> table.columns
    ['patient_id', 'sex', 'birth_year', 'region', 'admitted', 'days', 'ward', 'diagnosis', 'cost']
    >>> table["patient_id"].n_unique()
    3
    """
    import polars as pl

    check_size(n, "n")
    rng = np.random.default_rng(check_seed(seed))
    age = np.clip(rng.gamma(9.0, 6.0, n), 1, 99)
    sex = rng.choice(["female", "male"], n)
    region = rng.choice(["north", "east", "south", "west"], n, p=[0.35, 0.25, 0.25, 0.15])
    ill = rng.uniform(size=n) < 0.05 + 0.35 * np.clip((age - 35) / 50, 0, 1)
    disease = rng.choice(_CHRONIC, n, p=[0.35, 0.3, 0.15, 0.2])
    count = np.minimum(np.where(ill, 1 + rng.geometric(0.25, n), rng.geometric(0.7, n)), 12)
    person = np.repeat(np.arange(n), count)
    rows = person.size
    # dates of one patient differ: the days of the two years are drawn without repetition
    day = np.concatenate([rng.choice(731, size, replace=False) for size in count])
    for_disease = ill[person] & (rng.uniform(size=rows) < 0.8)
    diagnosis = np.where(for_disease, disease[person], rng.choice(_ACUTE, rows, p=[0.4, 0.3, 0.15, 0.15]))
    ward = np.select([np.isin(diagnosis, inside) for inside in _WARDS.values()], list(_WARDS), "internal")
    days = 1 + rng.poisson(2 + 0.06 * age[person] + 2.5 * for_disease)
    cost = np.round(days * rng.normal(620, 90, rows) + np.where(ward == "surgery", 2400, 400)).clip(250)
    frame = pl.DataFrame(
        {
            "patient_id": [f"P{number:05d}" for number in rng.permutation(10 * n)[:n][person]],
            "sex": sex[person],
            "birth_year": (2024 - age).astype(np.int64)[person],
            "region": region[person],
            "admitted": np.datetime64("2023-01-01") + day.astype("timedelta64[D]"),
            "days": days,
            "ward": ward,
            "diagnosis": diagnosis,
            "cost": cost.astype(np.int64),
        }
    )
    return frame.sort("admitted", maintain_order=True)
