"""Sums of numbers and of their squares that do not depend on the order of the terms, nor on how they are divided.

Every float64 is an integer of 53 bits times a power of two. The integers (and the parts of their squares) are added up
in 64-bit integers, one for each power of two, and then as integers of any length: nothing is ever rounded, so every
order and every division of the rows gives the same mean and deviation, bit for bit. Cost O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled

_EXPONENTS = 2_048
_LOW_26 = np.int64(2**26 - 1)
_LOW_31 = np.int64(2**31 - 1)
_BLOCK = 2**20
"""Numbers that are added before the sums of 64 bits become integers of any length."""
_SUM_SHIFT, _SQUARE_SHIFT = 1_075, 2_150


@dataclass(frozen=True)
class ExactMoments:
    """The number of values, their sum times 2**1075, and the sum of their squares times 2**2150, all exact.

    Examples
    --------
    >>> moments = ExactMoments.of(np.array([1e16, 1.0])) + ExactMoments.of(np.array([-1e16]))
    >>> moments.mean() * 3, moments.count
    (Fraction(1, 1), 3)
    """

    count: int = 0
    scaled_sum: int = 0
    scaled_squares: int = 0

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> ExactMoments:
        """Return the moments of finite numbers."""
        found = cls()
        for start in range(0, values.size, _BLOCK):
            block = np.ascontiguousarray(values[start : start + _BLOCK], np.float64)
            sums = np.zeros((8, _EXPONENTS), np.int64)
            _add_up(block, sums)
            found += cls(block.size, *_joined(sums))
        return found

    def __add__(self, other: ExactMoments) -> ExactMoments:
        return ExactMoments(
            self.count + other.count,
            self.scaled_sum + other.scaled_sum,
            self.scaled_squares + other.scaled_squares,
        )

    def mean(self) -> Fraction:
        """Return the exact mean."""
        return Fraction(self.scaled_sum, self.count << _SUM_SHIFT)

    def variance(self) -> Fraction:
        """Return the exact population variance."""
        return Fraction(self.scaled_squares, self.count << _SQUARE_SHIFT) - self.mean() ** 2


def square_root(value: Fraction) -> float:
    """Return the square root of a fraction with 80 digits, rounded once; the same on every machine.

    Examples
    --------
    >>> square_root(Fraction(9, 4))
    1.5
    """
    from decimal import Context, Decimal

    context = Context(prec=80)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return float(context.sqrt(quotient))


def _joined(sums: NDArray[np.int64]) -> tuple[int, int]:
    """Return the sum and the sum of squares from the sums of parts of the integers for each power of two."""
    total = squares = 0
    for power in np.flatnonzero(sums.any(axis=0)).tolist():
        low, high, bb_low, bb_high, ab_low, ab_high, aa_low, aa_high = (int(part) for part in sums[:, power])
        total += (low + (high << 31)) << power
        pairs = (bb_low + (bb_high << 31)) + ((ab_low + (ab_high << 31)) << 27) + ((aa_low + (aa_high << 31)) << 52)
        squares += pairs << (2 * power)
    return total, squares


@compiled
def _add_up(values: NDArray[np.float64], sums: NDArray[np.int64]) -> None:
    """Add the integers of the numbers, and the parts of their squares, to the sums of their power of two."""
    words = values.view(np.int64)
    for i in range(words.size):
        word = words[i]
        power = (word >> 52) & 2047
        whole = word & (2**52 - 1)
        if power == 0:
            power = 1
        else:
            whole |= 2**52
        low, high = whole & _LOW_26, whole >> 26
        squares = (low * low, low * high, high * high)
        for j in range(3):
            sums[2 + 2 * j, power] += squares[j] & _LOW_31
            sums[3 + 2 * j, power] += squares[j] >> 31
        if word < 0:
            whole = -whole
        sums[0, power] += whole & _LOW_31
        sums[1, power] += whole >> 31
