"""Means rounded such that totals give no record away.

A mean with all its digits keeps the total of its group, and with it the total of every stratum and of the table: two
releases of nearly the same records then differ by the values of the records that only one of them has. Here each mean
becomes a multiple of a base. The bases are 1, 2, 5, 10, 20, 50, ... and their fractions, whatever the records are; a
group takes the largest of them that is at most its extent (maximum less minimum) divided by its size. The error in
the total of one group is then of the order of the deviations inside the group, so a difference of totals says less
about a record than the released representative does. One base for a whole column could not do that: it would be too
small for groups far out, whose records are most at risk, or too large for all others.

A mean between two multiples becomes the nearer one more often, in proportion to the distances, so that totals are not
shifted in one direction. The draw is a function of the contents of the group: the same group becomes the same number
in every release, whatever the seed is, and a repeated release says nothing new.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.core.group_statistics import GroupSummary

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
INTERPRETED_GROUPS = 2_000  # up to here the plain loop is faster than compiling it
NO_KEYS = np.empty(0, np.uint64)
_WHOLE = np.array([digit * 10**power for power in range(19) for digit in (1, 2, 5) if digit * 10**power < 2**62])
_TENS = 10.0 ** np.arange(23)
_FLOATS = np.array([float(f"{digit}e{power}") for power in range(-323, 308) for digit in (1, 2, 5)])


def whole_bases(extents: Integers, sizes: Integers, ladder: Integers | None = None) -> Integers:
    """Return the largest base of each group that is at most its extent divided by its size, and at least 1.

    Parameters
    ----------
    extents
        Maximum less minimum of each group.
    sizes
        The number of records of each group.
    ladder
        All bases in ascending order; None for 1, 2, 5, 10, 20, 50, ...

    Examples
    --------
    >>> whole_bases(np.array([0, 12, 9_000]), np.array([3, 3, 3])).tolist()
    [1, 2, 2000]
    """
    bases = _WHOLE if ladder is None else ladder
    return bases[np.maximum(np.searchsorted(bases, extents // sizes, side="right") - 1, 0)]


def round_whole(
    means: tuple[Integers, Floats], ends: tuple[Integers, Integers], bases: Integers, draws: Floats, zero: int = 0
) -> Integers:
    """Round means of whole numbers to multiples of bases, between minimum and maximum of their group.

    Parameters
    ----------
    means
        Whole numbers, and what has to be added to them (at least 0, less than 1).
    ends
        Minimum and maximum of each group.
    bases
        The base of each group.
    draws
        A number from 0 to 1 for each group.
    zero
        The true value of a 0 in the other arguments: multiples are counted from the true zero.

    Examples
    --------
    >>> means, ends = (np.array([36, 36]), np.array([0.5, 0.5])), (np.array([31, 31]), np.array([49, 49]))
    >>> round_whole(means, ends, np.array([5, 5]), np.array([0.1, 0.8])).tolist()
    [35, 40]
    """
    (whole, fraction), (lowest, highest) = means, ends
    different, which = np.unique(bases, return_inverse=True)
    phase = np.array([zero % int(base) for base in different], np.int64)[which]
    multiple, rest = np.divmod(whole + phase, bases)
    multiple += ((rest + fraction) / bases + draws >= 1).astype(np.int64)
    first, last = -((-lowest - phase) // bases), (highest + phase) // bases
    return np.clip(multiple, first, np.maximum(first, last)) * bases - phase


def round_floats(
    summary: GroupSummary, sizes: Integers, draws: Floats, *, unit: float = 0.0, grain: float = 0.0
) -> Floats:
    """Round means of floats to multiples of bases, between minimum and maximum of their group.

    Parameters
    ----------
    summary
        Means, minima and maxima.
    sizes
        The number of records of each group.
    draws
        A number from 0 to 1 for each group.
    unit
        The smallest base.
    grain
        The unit of the values, where they have one. Means are multiples of the grain divided by the size, so a base
        has to be larger than that to change them.

    Returns
    -------
    rounded
        A group whose extent has no multiple of the unit in it becomes the nearest multiple outside.

    Examples
    --------
    >>> summary = GroupSummary(np.array([1.2345]), np.array([1.0]), np.array([1.9]))
    >>> round_floats(summary, np.array([3]), np.array([0.5]))
    array([1.2])
    """
    smallest = int(np.searchsorted(_FLOATS, unit)) if unit else -1
    run = _round_floats if sizes.size > INTERPRETED_GROUPS else _round_floats.function
    with np.errstate(over="ignore", invalid="ignore"):
        groups = summary.means, summary.lowest, summary.highest, sizes, draws
        rounded: Floats = run(groups, smallest, grain, _FLOATS, _TENS)
    return rounded


@compiled
def _round_floats(groups: Any, smallest: int, grain: float, bases: Any, tens: Any) -> Any:
    """Round each mean; ``smallest`` is the number of the smallest base, -1 for none."""
    means, lowest, highest, sizes, draws = groups
    rounded = means.copy()
    for g in range(means.size):
        low, high = lowest[g], highest[g]
        if np.isnan(means[g]) or (low == high and smallest < 0):
            continue
        number = np.searchsorted(bases, high / sizes[g] - low / sizes[g], side="right") - 1
        if grain > 0:
            number = max(number, np.searchsorted(bases, grain / sizes[g] * (1 + 1e-9), side="right"))
        number = max(number, smallest)
        if number < 0:
            continue
        position = means[g] / bases[number]
        if not abs(position) < 2.0**52:  # also where a quotient overflows
            continue
        multiple = np.floor(position)
        if position - multiple + draws[g] >= 1:
            multiple += 1
        first, last = np.ceil(low / bases[number]), np.floor(high / bases[number])
        multiple = min(max(multiple, first), last) if first <= last else np.rint(position)
        # the float that is nearest to the decimal number: 3 x 0.1 is 0.3
        power = number // 3 - 323
        digit = 1.0 if number % 3 == 0 else 2.0 if number % 3 == 1 else 5.0
        if abs(power) > 22:
            value = multiple * bases[number]
        elif power < 0:
            value = multiple * digit / tens[-power]
        else:
            value = multiple * digit * tens[power]
        rounded[g] = (min(max(value, low), high) if smallest < 0 else value) + 0.0
    return rounded


def group_draws(keys: Words, column: str) -> Floats:
    """Return a number from 0 to 1 for each group and column, which looks random and is always the same.

    Parameters
    ----------
    keys
        A number for each group, made by :func:`content_keys`.
    column
        The name of the column.

    Examples
    --------
    >>> keys = content_keys(np.array([3, 3]), [np.array([1.5, 2.5])])
    >>> [round(draw, 3) for draw in group_draws(keys, "age").tolist()] == [
    ...     round(draw, 3) for draw in group_draws(keys[::-1], "age")[::-1].tolist()
    ... ]
    True
    """
    name = int.from_bytes(hashlib.blake2b(column.encode(), digest_size=8).digest(), "little")
    return (_mixed(keys ^ np.uint64(name)) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def content_keys(sizes: Integers, means: list[Floats]) -> Words:
    """Return a number for each group that depends on its size and the means of its columns.

    Groups that agree in all of them are numbered in their order, so that they differ.

    Examples
    --------
    >>> keys = content_keys(np.array([3, 3, 3]), [np.array([1.0, 2.0, 1.0])])
    >>> np.unique(keys).size
    3
    """
    keys = _mixed(sizes.astype(np.uint64))
    for column in means:
        keys = _mixed(keys ^ _mixed(np.ascontiguousarray(column + 0.0).view(np.uint64)))
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    if first.all():
        return keys
    places = np.arange(keys.size)
    repeated = np.empty(keys.size, np.uint64)
    repeated[order] = (places - np.maximum.accumulate(np.where(first, places, 0))).astype(np.uint64)
    return _mixed(keys + repeated)


def _mixed(words: Words) -> Words:
    """Return 64-bit words in which every bit depends on every bit of the input (splitmix64, Steele et al. 2014)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
