"""Running a search for groups of any size: a cost per group, groups below k at a cost, at most M groups.

Stamm & Schaub 2024, section 6. With a cost per group (or per missing record) larger groups may be optimal, so the
searches that stop at 2k-1 are not valid. A maximum of M groups combines microaggregation with k-means: one layer per
group, each an O(n) matrix search, O(M n) time and memory. The layers are needed only where the optimal clustering has
more than M groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError
from shoal.methods.univariate import search_galil_park, search_wilber
from shoal.methods.univariate.capped import backtrack
from shoal.methods.univariate.costs import Cost
from shoal.methods.univariate.prefix_sums import prefix_sums
from shoal.methods.univariate.searches import surcharge_kernel, unbounded_kernel

MOST_CELLS = 2_000_000_000  # of the table of layers, with four bytes each


@dataclass(frozen=True)
class Terms:
    """The constraints of a clustering, and its costs beyond those of the groups.

    ``shortage`` below 0 means that groups below k are not allowed; ``largest`` and ``max_groups`` of 0 mean no limit;
    ``exact`` makes ``max_groups`` the exact number.
    """

    k: int
    group_cost: float = 0.0
    shortage: float = -1.0
    largest: int = 0
    max_groups: int = 0
    exact: bool = False

    @property
    def smallest(self) -> int:
        """The minimum group size."""
        return self.k if self.shortage < 0 else 1


def uncapped_cuts(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    cost: Cost,
    search: str,
    terms: Terms,
    *,
    progress: Progress = SILENT,
) -> NDArray[np.int64]:
    """Return the cuts of the optimal clustering on these terms.

    Parameters
    ----------
    values
        Sorted values.
    weights
        One per value; empty for costs without weights.
    cost
        The cost of a group.
    search
        ``wilber``, ``galil-park``, ``quadratic``, or ``layers`` where the number of groups is known to be too large.
    terms
        Constraints and further costs.
    progress
        Progress callback.
    """
    n = values.size
    begin = np.zeros(n + 1, np.int64)
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    state = _state(values, weights, cost, terms, total)
    if search == "layers":
        return _layered_cuts(state, cost, terms, progress)
    kernel = unbounded_kernel(search, cost.name)
    progress.stage("cutting the sorted values", n)
    if search == "quadratic":
        _in_pieces(kernel, state, terms, total, begin, terms.smallest, progress)
    else:
        module = search_wilber if search == "wilber" else search_galil_park
        extra = module.workspace(n)
        window = np.zeros(2, np.int64)
        while window[0] < n:
            before = int(window[0])
            kernel(state, min(before + (1 << 20), n), window, begin, *(extra if isinstance(extra, tuple) else (extra,)))
            progress.advance(int(window[0]) - before)
    _check_possible(total[n], n, terms)
    cuts = backtrack(np.arange(n + 1) - begin, n)
    if terms.max_groups and cuts.size - 1 > terms.max_groups:
        return _layered_cuts(state, cost, terms, progress)
    return cuts


def _state(values: Any, weights: Any, cost: Cost, terms: Terms, total: Any) -> Any:
    charges = surcharge_kernel(cost.name)(values, terms.k)
    sums = prefix_sums(values, weights)
    return values, sums, charges, total, terms.k, float(terms.group_cost), float(terms.shortage)


def _in_pieces(
    kernel: Any, state: Any, terms: Terms, total: Any, begin: Any, start: int, progress: Progress = SILENT
) -> None:
    n = total.size - 1
    largest = terms.largest or n
    piece = max(1, 50_000_000 // largest)
    for j in range(start, n + 1, piece):
        stop = min(j + piece, n + 1)
        kernel(state, terms.smallest, largest, j, stop, total, begin)
        progress.advance(stop - j)


def _layered_cuts(state: Any, cost: Cost, terms: Terms, progress: Progress) -> NDArray[np.int64]:
    """Return the optimal clustering with at most ``max_groups`` groups, one layer per group."""
    n, most = state[0].size, terms.max_groups
    if most * n > MOST_CELLS:
        raise ParameterError(
            f"max_groups={most} for {n} records needs a table of {4 * most * n / 1e9:.0f} GB; choose fewer groups, or "
            "a group_cost, which controls their number without a table"
        )
    progress.stage("cutting the sorted values, group by group", most)
    begins = np.zeros((most + 1, n + 1), np.int32)
    total = np.full(n + 1, np.inf)
    total[0] = 0.0
    begin = np.zeros(n + 1, np.int64)
    ends = np.full(most + 1, np.inf)
    for t in range(1, most + 1):
        first = t * terms.smallest
        if first > n:
            break
        grown = np.full(n + 1, np.inf)
        so_far = (*state[:3], total, *state[4:])
        if terms.largest:
            _in_pieces(unbounded_kernel("quadratic", cost.name), so_far, terms, grown, begin, first)
        elif t == 1:
            unbounded_kernel("layer", cost.name)(so_far, first, 0, 1, grown, begin)
        else:
            unbounded_kernel("layer", cost.name)(so_far, first, first - terms.smallest, n + 1 - first, grown, begin)
        begins[t] = begin
        ends[t] = grown[n]
        total = grown
        progress.advance()
    t = most if terms.exact else int(np.argmin(ends))
    _check_possible(ends[t], n, terms)
    cuts = [n]
    while cuts[-1] > 0:
        cuts.append(int(begins[t, cuts[-1]]))
        t -= 1
    return np.array(cuts[::-1])


def _check_possible(total: float, n: int, terms: Terms) -> None:
    if not np.isfinite(total):
        limit = f" to {terms.largest}" if terms.largest else " or more"
        count = f"{'' if terms.exact else 'at most '}{terms.max_groups} " if terms.max_groups else ""
        raise ParameterError(
            f"{n} records cannot be cut into {count}groups of {terms.k}{limit}; allow a larger max_size, more groups "
            "or another k"
        )
