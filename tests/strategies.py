"""Nasty points for property tests: duplicates, ties, constant columns, n = k, n = 2k-1, huge offsets, any scale."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def points_and_k(draw, max_n=60, max_d=5, max_k=6, min_k=2):
    k = draw(st.integers(min_k, max_k))
    n = draw(st.one_of(st.sampled_from([k, 2 * k - 1, 2 * k, 3 * k - 1, 3 * k]), st.integers(k, max(max_n, k))))
    d = draw(st.integers(1, max_d))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.sampled_from(["normal", "grid", "duplicates", "constant", "clusters", "offset"]))
    points = rng.normal(size=(n, d))
    if shape == "grid":
        points = rng.integers(0, 3, size=(n, d)).astype(float)
    elif shape == "duplicates":
        points = points[rng.integers(0, max(1, n // 3), size=n)]
    elif shape == "constant":
        points[:, rng.integers(d)] = 7.0
    elif shape == "clusters":
        points = 100.0 * rng.integers(-2, 3, size=(n, d)) + points
    elif shape == "offset":
        points = 1e6 + points
    scale = 2.0 ** draw(st.sampled_from([0, -40, 40]))
    return points * scale, k
