"""Blocks of equal missingness patterns, where groups may not mix records with different missing cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.flow.group import Blocks
from shoal.flow.prepare import Integers, Masks


def split_by_pattern(
    strata: Sequence[Integers], patterns: Masks, n: int, k: int, units: Integers | None = None
) -> Blocks:
    """Return the strata, cut by missingness pattern; rare patterns join others by suppressing cells.

    Parameters
    ----------
    strata
        The records of each stratum.
    patterns
        The missing cells of each column whose pattern no group may mix.
    n
        The number of records.
    k
        The smallest block, in units where these are given.
    units
        The person or household of each record, where k counts these.
    """
    suppressed = {name: np.zeros(n, bool) for name in patterns}
    members = []
    for records in strata:
        rows = np.column_stack([mask[records] for mask in patterns.values()])
        for inside, pattern in _merge_rare_patterns(rows, k, None if units is None else units[records]):
            members.append(records[inside])
            for position, name in enumerate(patterns):
                if pattern[position]:
                    suppressed[name][records[inside]] = True
    added = {name: int((suppressed[name] & ~mask).sum()) for name, mask in patterns.items()}
    added = {name: count for name, count in added.items() if count}
    ordered = tuple(sorted(members, key=lambda block: int(block[0])))
    return Blocks(ordered, {name: suppressed[name] for name in added}, added)


def _merge_rare_patterns(
    patterns: NDArray[np.bool_], k: int, units: Integers | None = None
) -> list[tuple[Integers, NDArray[np.bool_]]]:
    """Return the records of each missingness pattern; a pattern with fewer than k records or units joins another.

    Two patterns join by taking the missing columns of both, which suppresses values; the pair that suppresses the
    fewest cells joins.
    """
    distinct, which, counts = np.unique(patterns, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    members = np.split(order, np.cumsum(counts)[:-1])

    def counted() -> Integers:
        return counts if units is None else np.array([np.unique(units[rows]).size for rows in members])

    while counts.size > 1 and (found := counted()).min() < k:
        rare = int(found.argmin())
        newly_rare = (distinct & ~distinct[rare]).sum(axis=1) * counts[rare]
        newly_other = (distinct[rare] & ~distinct).sum(axis=1) * counts
        cost = newly_rare + newly_other
        cost[rare] = np.iinfo(cost.dtype).max
        other = int(cost.argmin())
        distinct[other] |= distinct[rare]
        counts[other] += counts[rare]
        members[other] = np.sort(np.concatenate([members[other], members[rare]]))
        del members[rare]
        distinct, counts = np.delete(distinct, rare, axis=0), np.delete(counts, rare)
    return list(zip(members, distinct, strict=True))
