"""Perturbations that other software offers, for comparison only: additive noise, rank swapping and PRAM.

None of them gives k: a record keeps values of its own. They are measured beside groupings, and no command releases what
they return.

- Noise a (Brand 2002): x + e with e ~ N(0, a S), S the covariance matrix of the numbers, so that correlations are kept
  on average and variances grow by 1 + a. ``noise-restored`` shrinks the sum to the variance of the original.
- Rank swap p (Moore 1996): per column, in the order of the ranks, each value is exchanged with one that has not been
  exchanged yet and whose rank is at most floor(p n) higher.
- PRAM h (Gouweleeuw et al. 1998): a category stays with probability 1 - h, and is otherwise drawn from the frequencies
  t of the column. The transition matrix R = (1 - h) I + h 1 t' keeps frequencies in expectation: t R = t.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.errors import ParameterError, suggestion
from shoal.evaluate.paired_columns import PairedColumn
from shoal.methods.kernels.random_numbers import below

Floats = NDArray[np.float64]
_TRIES = 60


@dataclass(frozen=True)
class Rival:
    """One or several perturbations with their amounts: ``noise:0.1``, ``rank-swap:0.2+pram:0.2``.

    Parameters
    ----------
    steps
        Name and amount of each perturbation, in the order in which they are applied.
    """

    steps: tuple[tuple[str, float], ...]

    @property
    def method(self) -> str:
        """The names of the perturbations."""
        return "+".join(name for name, _ in self.steps)

    @property
    def setting(self) -> str:
        """Their amounts."""
        return "+".join(f"{amount:g}" for _, amount in self.steps)

    def applied(self, columns: Sequence[PairedColumn], seed: int) -> list[PairedColumn]:
        """Return the columns with perturbed values in place of the released ones; missing values stay missing.

        Parameters
        ----------
        columns
            The columns of the original; numbers and categories.
        seed
            Seed of the random numbers.
        """
        found = [replace(column, released=column.original) for column in columns]
        for number, (name, amount) in enumerate(self.steps):
            found = _RIVALS[name](found, amount, np.random.default_rng([seed, number]))
        return found


def read_rivals(texts: Sequence[str]) -> list[Rival]:
    """Return the rivals that texts such as ``noise:0.1,0.2`` name.

    Examples
    --------
    >>> [(rival.method, rival.setting) for rival in read_rivals(["noise:0.1,0.2", "rank-swap:0.1+pram:0.2"])]
    [('noise', '0.1'), ('noise', '0.2'), ('rank-swap+pram', '0.1+0.2')]
    """
    return [rival for text in texts for rival in _read(text)]


def _read(text: str) -> list[Rival]:
    parts = [part.strip().partition(":") for part in text.split("+")]
    amounts = [_amounts(text, name.strip(), values) for name, _, values in parts]
    longest = max(map(len, amounts))
    if any(len(given) not in {1, longest} for given in amounts):
        raise ParameterError(f'rival "{text}": give each perturbation one amount, or all of them equally many')
    names = [name.strip() for name, _, _ in parts]
    return [
        Rival(tuple((name, given[place if len(given) > 1 else 0]) for name, given in zip(names, amounts, strict=True)))
        for place in range(longest)
    ]


def _amounts(text: str, name: str, values: str) -> list[float]:
    if name not in _RIVALS:
        raise ParameterError(f'rival "{text}": there is no perturbation "{name}"; {suggestion(name, _RIVALS)}')
    try:
        amounts = [float(value) for value in values.split(",")]
    except ValueError:
        amounts = []
    most = 1.0 if name in {"rank-swap", "pram"} else float("inf")
    if not amounts or not all(isfinite(amount) and 0 < amount <= most for amount in amounts):
        allowed = "numbers above 0 and at most 1" if most == 1 else "numbers above 0"
        raise ParameterError(f'rival "{text}": write {allowed} behind the name, such as {name}:0.1,0.2')
    return amounts


def noise(columns: Sequence[PairedColumn], amount: float, rng: np.random.Generator) -> list[PairedColumn]:
    """Return the columns with correlated normal noise on the numbers.

    Examples
    --------
    >>> x = PairedColumn("x", np.arange(4.0), np.arange(4.0))
    >>> (noise([x], 0.1, np.random.default_rng(0))[0].released != x.original).all()
    np.True_
    """
    return _noisy(columns, amount, rng, restored=False)


def noise_restored(columns: Sequence[PairedColumn], amount: float, rng: np.random.Generator) -> list[PairedColumn]:
    """Return the columns with noise, shrunk about the mean by sqrt(1 + a), so that variances are as before."""
    return _noisy(columns, amount, rng, restored=True)


def _noisy(
    columns: Sequence[PairedColumn], amount: float, rng: np.random.Generator, *, restored: bool
) -> list[PairedColumn]:
    places = [place for place, column in enumerate(columns) if column.numeric and column.deviation > 0]
    found = list(columns)
    if not places:
        return found
    values = np.column_stack([columns[place].standardised(columns[place].released) for place in places])
    known = np.nan_to_num(values, nan=0.0)
    covariance = np.atleast_2d(np.cov(known, rowvar=False, bias=True))
    roots, axes = np.linalg.eigh(covariance)  # not Cholesky: columns may depend on each other
    drawn = rng.standard_normal(values.shape)
    noisy = values + np.sqrt(amount) * drawn @ (axes * np.sqrt(np.maximum(roots, 0.0))).T
    if restored:
        noisy = np.nanmean(values, axis=0) + (noisy - np.nanmean(noisy, axis=0)) / np.sqrt(1 + amount)
    for number, place in enumerate(places):
        column = columns[place]
        found[place] = replace(column, released=noisy[:, number] * column.deviation + column.mean)
    return found


def rank_swap(columns: Sequence[PairedColumn], amount: float, rng: np.random.Generator) -> list[PairedColumn]:
    """Return the columns with values of numbers (and ordered categories) exchanged within a share of the ranks."""
    return [replace(column, released=_swapped(column, amount, rng)) if column.numeric else column for column in columns]


def _swapped(column: PairedColumn, amount: float, rng: np.random.Generator) -> Floats:
    values = column.released
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    partner = np.arange(order.size)
    state = rng.integers(0, 2**63, 1, dtype=np.uint64)
    swap_ranks(partner, int(amount * order.size + 1e-9), state)
    swapped = values.copy()
    swapped[order] = values[order[partner]]
    return swapped


@compiled
def swap_ranks(partner: NDArray[np.int64], window: int, state: NDArray[np.uint64]) -> None:
    """Pair ranks at random: each free rank with a free one among the next ``window``; one that finds none stays.

    Parameters
    ----------
    partner
        0, 1, ..., n - 1; becomes the partner of each rank.
    window
        The largest distance of two partners.
    state
        State of the random numbers.
    """
    n = partner.size
    for rank in range(n):
        reach = min(window, n - 1 - rank)
        if partner[rank] != rank or reach == 0:
            continue
        other = rank
        for _ in range(_TRIES):
            candidate = rank + 1 + below(state, reach)
            if partner[candidate] == candidate:
                other = candidate
                break
        if other == rank:  # nearly all are taken: the first free one
            for candidate in range(rank + 1, rank + reach + 1):
                if partner[candidate] == candidate:
                    other = candidate
                    break
        partner[rank], partner[other] = other, rank


def pram(columns: Sequence[PairedColumn], amount: float, rng: np.random.Generator) -> list[PairedColumn]:
    """Return the columns with a share of the categories drawn anew from their frequencies."""
    found = []
    for column in columns:
        if not column.numeric:
            matrix = transition(_frequencies(column), amount)
            column = replace(column, released=_drawn(column.released, matrix, rng))
        found.append(column)
    return found


def transition(frequencies: Floats, amount: float) -> Floats:
    """Return the matrix of PRAM: row i has the probabilities of what category i becomes.

    Examples
    --------
    >>> transition(np.array([0.5, 0.3, 0.2]), 0.4).round(12).tolist()
    [[0.8, 0.12, 0.08], [0.2, 0.72, 0.08], [0.2, 0.12, 0.68]]
    """
    return (1 - amount) * np.eye(frequencies.size) + amount * frequencies


def _frequencies(column: PairedColumn) -> Floats:
    known = column.released[~np.isnan(column.released)].astype(np.int64)
    return np.bincount(known, minlength=len(column.categories)) / max(known.size, 1)


def _drawn(codes: Floats, matrix: Floats, rng: np.random.Generator) -> Floats:
    drawn = rng.random(codes.size)
    found = codes.copy()
    for category, row in enumerate(matrix):
        own = codes == category
        limits = np.cumsum(row)
        found[own] = np.searchsorted(limits / limits[-1], drawn[own], "right")
    return found


_RIVALS: dict[str, Callable[[Sequence[PairedColumn], float, np.random.Generator], list[PairedColumn]]] = {
    "noise": noise, "noise-restored": noise_restored, "rank-swap": rank_swap, "pram": pram,
}  # fmt: skip
