"""Random numbers inside kernels: SplitMix64 (Steele, Lea & Flood 2014), the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.core.compiled import inner


@inner
def random_bits(state: Any) -> Any:
    """Return 64 random bits; state: one uint64, changed in place."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def below(state: Any, limit: int) -> Any:
    """Return a random integer in 0..limit-1; state: one uint64, changed in place."""
    return np.int64(random_bits(state) % np.uint64(limit))


@inner
def shuffle(state: Any, items: Any) -> None:
    """Shuffle the items."""
    for i in range(items.size - 1, 0, -1):
        other = below(state, i + 1)
        kept = items[i]
        items[i] = items[other]
        items[other] = kept
