"""A generated household survey, one row per person, for examples and tests without real data."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.arguments import check_seed, check_size


def households(n: int = 400, *, seed: int = 0) -> Any:
    """Return a generated survey of households as a polars DataFrame, one row per person.

    A household has one or two adults and up to four children. Region, size and income of the household are the same for
    all its members; age, sex, education and health are those of the person. All persons are fictitious.

    Parameters
    ----------
    n
        The number of households; there are about 2.3 times as many persons.
    seed
        Random seed (default 0).

    Returns
    -------
    table
        One row per person.

    Examples
    --------
    >>> table = households(3)
    >>> table.columns
    ['household_id', 'region', 'size', 'household_income', 'relation', 'age', 'sex', 'education', 'health']
    >>> table["household_id"].n_unique()
    3
    """
    import polars as pl

    check_size(n, "n")
    rng = np.random.default_rng(check_seed(seed))
    head_age = np.clip(rng.gamma(11.0, 4.6, n), 19, 95).astype(np.int64)
    couple = rng.uniform(size=n) < 0.58
    fertile = np.clip(1 - np.abs(head_age - 39) / 22, 0, 1)
    children = np.minimum(rng.poisson(1.9 * fertile * np.where(couple, 1.0, 0.5)), 4)
    size = 1 + couple + children
    home = np.repeat(np.arange(n), size)
    position = np.arange(home.size) - np.repeat(np.cumsum(size) - size, size)
    relation = np.where(position == 0, "head", np.where((position == 1) & couple[home], "partner", "child"))
    partner = np.clip(head_age[home] + np.round(rng.normal(-1, 4, home.size)).astype(np.int64), 19, 97)
    youngest = np.clip(head_age[home] - 20 - rng.integers(0, 18, home.size), 0, 24)
    age = np.select([relation == "head", relation == "partner"], [head_age[home], partner], youngest)
    region = rng.choice(["north", "east", "south", "west"], n, p=[0.3, 0.25, 0.25, 0.2])
    income = np.round(np.exp(rng.normal(7.75 + 0.35 * couple + 0.04 * children, 0.42, n)) / 10) * 10
    education = rng.choice(["basic", "vocational", "secondary", "university"], home.size, p=[0.2, 0.35, 0.23, 0.22])
    ill = 0.03 + 0.5 * np.clip((age - 30) / 65, 0, 1)
    poor = np.where(rng.uniform(size=home.size) < ill, rng.choice(["poor", "fair"], home.size, p=[0.4, 0.6]), "good")
    frame = {
        "household_id": rng.permutation(10 * n)[:n][home] + 10_000,
        "region": region[home],
        "size": size[home],
        "household_income": income[home].astype(np.int64),
        "relation": relation,
        "age": age,
        "sex": rng.choice(["female", "male"], home.size),
        "education": np.where(age < 16, "none yet", education),
        "health": poor,
    }
    return pl.DataFrame(frame)
