"""Hashes of the keys of records, read from the bytes of a file, and the equivalence classes that they form.

A key is the sequence of a record's values in some columns. It is hashed as a polynomial with two random points over
the integers modulo 2^61 - 1, so that two different keys of L words share both hashes with a probability of at most
(L / 2^61)^2, whatever the keys are: for a million keys of 20 words below 10^-22 for the whole table. The points are
drawn anew in each process, so that no file can be made whose keys collide. Equal keys always share their hashes.

Text is compared byte by byte, as it is written, with its quotes: every program that reads equal bytes as equal values
then finds classes that are at least as large. Cost O(bytes) and 16 bytes of memory per record.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled, inner

_PRIME = np.uint64(2**61 - 1)
_LOW_31, _LOW_30 = np.uint64(2**31 - 1), np.uint64(2**30 - 1)
_S61, _S56, _S32, _S31, _S30, _S8 = (np.uint64(shift) for shift in (61, 56, 32, 31, 30, 8))
_ZERO, _ONE, _TWO, _SEVEN = (np.uint64(number) for number in (0, 1, 2, 7))
_LOW_32 = np.uint64(2**32 - 1)
_MISSING = np.uint64(2**33)  # no half of a value is as large
_POINTS = np.array([secrets.randbelow(2**61 - 3) + 2 for _ in range(2)], np.uint64)

_ROW, _FAULT = 0, 5  # in the place of a reader
_LINE_FEED, _CARRIAGE_RETURN, _QUOTE = 10, 13, 34
_FEW = 50_000  # records up to which NumPy is as fast as a compiled loop


class TextKeys:
    r"""The keys of a delimited text with a header, read a block of bytes at a time.

    Parameters
    ----------
    records
        The number of records that are expected.
    keys
        For each column whether it belongs to the key.
    delimiter
        The separator of fields, one ASCII character.

    Examples
    --------
    >>> reader = TextKeys(3, np.array([True, False]), ",")
    >>> reader.add(b'x,y\n1.0,a\n1,"b\n')
    >>> reader.add(b'x"\n1.0,c\n')
    >>> reader.finish()
    >>> sorted(class_sizes(*reader.hashes).tolist())
    [1, 2]
    """

    def __init__(self, records: int, keys: NDArray[np.bool_], delimiter: str) -> None:
        self.hashes = new_hashes(records)
        self._keys, self._delimiter = keys, ord(delimiter)
        self._place = np.array([-1, 0, 0, 0, 0, 0], np.int64)
        self._sums = np.array([0, 0, 0, 1, 1], np.uint64)

    def add(self, block: bytes) -> None:
        """Read the next bytes; raises ValueError where they are no table of the expected shape."""
        data = np.frombuffer(block, np.uint8)
        _read_text(data, self._keys, self._delimiter, self._place, self._sums, *self.hashes, _POINTS)
        if self._place[_FAULT]:
            raise ValueError("the text has another number of records or fields, or a quote in the wrong place")

    def finish(self) -> None:
        """Raise ValueError unless all records were read and the last one is complete."""
        if self._place[_ROW] != self.hashes[0].size or self._place[_ROW + 1 :].any():
            raise ValueError("the text ends too early")


def new_hashes(records: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the two hashes of each record before its first value."""
    return np.ones(records, np.uint64), np.ones(records, np.uint64)


def add_column(
    hashes: tuple[NDArray[np.uint64], NDArray[np.uint64]], words: NDArray[np.uint64], missing: NDArray[np.bool_] | None
) -> None:
    """Add a column to the keys of all records; equal words mean equal values.

    Examples
    --------
    >>> hashes = new_hashes(3)
    >>> add_column(hashes, np.array([0, 0, 0], np.uint64), np.array([False, True, True]))
    >>> sorted(class_sizes(*hashes).tolist())
    [1, 2]
    """
    _mix_column(*hashes, words, np.zeros(0, np.bool_) if missing is None else missing, _POINTS)


def class_sizes(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of records of each equivalence class: records that share both hashes."""
    return np.diff(_ordered_classes(first, second)[1], prepend=-1)


def constant_within(labels: NDArray[np.int64], first: NDArray[np.uint64], second: NDArray[np.uint64]) -> bool:
    """Return whether the records of each group share both hashes; cost O(n), without sorting.

    If so, every equivalence class is a union of groups, so that none is smaller than the smallest group.

    Examples
    --------
    >>> hashes = np.array([7, 3, 7], np.uint64)
    >>> constant_within(np.array([0, 1, 0]), hashes, hashes), constant_within(np.array([0, 0, 1]), hashes, hashes)
    (True, False)
    """
    if labels.size != first.size or not labels.size or labels.min() < 0:
        return False
    of_group = np.empty(int(labels.max()) + 1, np.uint64)
    for hashes in (first, second):
        of_group[labels] = hashes
        if not (of_group[labels] == hashes).all():
            return False
    return True


def class_numbers(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the class of each record, numbered as :func:`class_sizes` lists them.

    Examples
    --------
    >>> hashes = np.array([7, 3, 7], np.uint64)
    >>> class_sizes(hashes, hashes).tolist(), class_numbers(hashes, hashes).tolist()
    ([1, 2], [1, 0, 1])
    """
    order, ends = _ordered_classes(first, second)
    numbers = np.empty(first.size, np.int64)
    numbers[order] = np.repeat(np.arange(ends.size), np.diff(ends, prepend=-1))
    return numbers


def _ordered_classes(
    first: NDArray[np.uint64], second: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records in an order with equal ones together, and the place of the last record of each class."""
    order = np.argsort(first)
    one, two = first[order], second[order]
    same = one[1:] == one[:-1]
    if (same & (two[1:] != two[:-1])).any():  # two different keys share the first hash
        order = np.lexsort((second, first))
        one, two = first[order], second[order]
        same = (one[1:] == one[:-1]) & (two[1:] == two[:-1])
    return order, np.append(np.flatnonzero(~same), first.size - 1)


def add_multilinear(
    first: NDArray[np.uint64], second: NDArray[np.uint64], words: NDArray[np.uint64], coefficients: NDArray[np.uint64]
) -> None:
    """Add a column to two multilinear hashes: coefficient times half, for the lower and the upper half of each word.

    Parameters
    ----------
    first, second
        The sums so far, modulo 2^64.
    words
        The values.
    coefficients
        Those of the lower and the upper half, and a third one, for the first sum; then for the second.

    Examples
    --------
    >>> first, second = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    >>> add_multilinear(first, second, np.array([2**32 + 3], np.uint64), np.arange(1, 7, dtype=np.uint64))
    >>> int(first[0]), int(second[0])
    (5, 17)
    """
    if first.size > _FEW:
        _add_halves(first, second, words, coefficients)
        return
    lower, upper = words & _LOW_32, words >> _S32
    first += lower * coefficients[0] + upper * coefficients[1]
    second += lower * coefficients[3] + upper * coefficients[4]


@compiled
def _add_halves(first: Any, second: Any, words: Any, coefficients: Any) -> None:
    for i in range(first.size):
        lower, upper = words[i] & _LOW_32, words[i] >> _S32
        first[i] += lower * coefficients[0] + upper * coefficients[1]
        second[i] += lower * coefficients[3] + upper * coefficients[4]


@inner
def _next(value: Any, point: Any, word: Any) -> Any:
    """Return (value * point + word) modulo the prime, by products of halves."""
    high, low = value >> _S31, value & _LOW_31
    point_high, point_low = point >> _S31, point & _LOW_31
    middle = low * point_high + high * point_low
    product = high * point_high * _TWO + (middle >> _S30) + ((middle & _LOW_30) << _S31) + low * point_low
    product = (product >> _S61) + (product & _PRIME)
    if product >= _PRIME:
        product -= _PRIME
    product += word
    if product >= _PRIME:
        product -= _PRIME
    return product


@compiled
def _mix_column(first: Any, second: Any, words: Any, missing: Any, points: Any) -> None:
    some = missing.size > 0
    for i in range(first.size):
        high, low = words[i] >> _S32, words[i] & _LOW_32
        if some and missing[i]:
            high, low = _MISSING, _ZERO
        first[i] = _next(_next(first[i], points[0], high), points[0], low)
        second[i] = _next(_next(second[i], points[1], high), points[1], low)


@compiled
def _read_text(
    data: Any, keys: Any, delimiter: Any, place: Any, sums: Any, first: Any, second: Any, points: Any
) -> None:
    """Read bytes of a text; ``place`` and ``sums`` hold what a block leaves for the next one.

    ``quotes`` is 0 outside of quotes, 1 inside, and 2 after a quote that ends the field or begins a doubled one. A
    fault is a quote inside an unquoted field, a carriage return that no line feed follows, or a wrong number of fields
    or records. Bytes are hashed in words of seven; the last word contains their number.
    """
    row, field, quotes, seen, returned = place[0], place[1], place[2], place[3], place[4]
    word, count, length, a, b = sums[0], sums[1], sums[2], sums[3], sums[4]
    for i in range(data.size):
        byte = data[i]
        if quotes == 1:
            if byte == _QUOTE:
                quotes = 2
        elif returned and byte != _LINE_FEED:
            place[5] = 1
            return
        elif byte == delimiter:
            quotes = 0
            seen = -1
            if field + 1 >= keys.size:
                place[5] = 1
                return
        elif byte == _LINE_FEED:
            if field + 1 != keys.size or row >= first.size:
                place[5] = 1
                return
            if row >= 0:
                word |= count << _S56
                first[row] = _next(_next(a, points[0], word), points[0], length)
                second[row] = _next(_next(b, points[1], word), points[1], length)
            row += 1
            field, quotes, seen, returned = 0, 0, 0, 0
            word, count, length, a, b = _ZERO, _ZERO, _ZERO, _ONE, _ONE
            continue
        elif byte == _CARRIAGE_RETURN:
            returned = 1
            continue
        elif byte == _QUOTE and (seen == 0 or quotes == 2):
            quotes = 1
        elif byte == _QUOTE or quotes == 2:
            place[5] = 1
            return
        if keys[field]:
            word = (word << _S8) | np.uint64(byte)
            count += _ONE
            if count == _SEVEN:
                a, b = _next(a, points[0], word), _next(b, points[1], word)
                length += _SEVEN
                word, count = _ZERO, _ZERO
        seen += 1
        if seen == 0:  # after a delimiter
            field += 1
    place[0], place[1], place[2], place[3], place[4] = row, field, quotes, seen, returned
    sums[0], sums[1], sums[2], sums[3], sums[4] = word, count, length, a, b
