"""The synthetic databases SimU and SimC (Thaeter 2021, section 5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import check_seed, check_size


def simu(seed: int = 0, n: int = 1000, d: int = 10) -> NDArray[np.float64]:
    """Return a database of independent uniform attributes (Thaeter 2021, section 5.2).

    Parameters
    ----------
    seed
        Random seed.
    n, d
        Numbers of records and of attributes.

    Returns
    -------
    points
        Records x attributes, numbers from 0 to 1.

    Examples
    --------
    >>> simu(seed=1).shape
    (1000, 10)
    """
    check_size(n, "n")
    check_size(d, "d")
    return np.random.default_rng(check_seed(seed)).uniform(size=(n, d))


def simc(seed: int = 0) -> NDArray[np.float64]:
    """Return a clustered database (Thaeter 2021, Algorithm 7).

    100 centres in [-10000, 10000]^10, each a record with 3 to 20 further records within 50 of it in every attribute;
    then a third as many noise records again.

    Parameters
    ----------
    seed
        Random seed.

    Returns
    -------
    points
        About 1,700 records x 10 attributes.

    Examples
    --------
    >>> simc(seed=1).shape[1]
    10
    """
    rng = np.random.default_rng(check_seed(seed))
    centres = rng.uniform(-10_000, 10_000, size=(100, 10))
    sizes = rng.integers(3, 21, size=100)
    around = np.repeat(centres, sizes, axis=0)
    around += rng.uniform(-50, 50, size=around.shape)
    clustered = np.vstack([centres, around])
    noise = rng.uniform(-10_000, 10_000, size=(len(clustered) // 3 + 1, 10))
    return np.vstack([clustered, noise])
