"""Histories: how many persons have the same sequence of rows, the number of rows included.

Sequences are compared exactly. Persons are visited position by position: a state stands for all rows so far, so that
two persons end in the same state if and only if their sequences are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.grouping import canonical_labels

Integers = NDArray[np.int64]


def history_states(labels: Integers, units: Integers, order: Integers) -> tuple[Integers, Integers]:
    """Return a number for each person, equal where the sequences of classes are equal, and the person of each row.

    Parameters
    ----------
    labels
        The class of each row.
    units
        The person of each row.
    order
        What sorts the rows of a person.

    Returns
    -------
    states, persons
        Persons are numbered 0, 1, ... by first appearance. O(n log n) for persons of bounded length.

    Examples
    --------
    >>> labels, units = np.array([7, 8, 8, 7, 7, 8]), np.array([0, 0, 1, 1, 2, 2])
    >>> history_states(labels, units, np.arange(6))[0].tolist()
    [2, 3, 2]
    """
    persons = canonical_labels(units)
    rows = np.lexsort((order, persons))
    sizes = np.bincount(persons)
    starts = np.cumsum(sizes) - sizes
    classes = np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int64)[rows]
    count = int(classes.max(initial=0)) + 1
    states = np.zeros(sizes.size, np.int64)
    used, alive = 0, np.arange(sizes.size)
    for position in range(int(sizes.max(initial=0))):
        alive = alive[sizes[alive] > position]
        before = np.unique(states[alive], return_inverse=True)[1].reshape(-1)
        found = np.unique(before * count + classes[starts[alive] + position], return_inverse=True)[1].reshape(-1)
        states[alive] = used + found  # no state of shorter histories has these numbers
        used += int(found.max()) + 1
    return states, persons


def histories_per_class(labels: Integers, units: Integers, order: Integers) -> Integers:
    """Return for each class the smallest number of persons with equal sequences, over the persons in the class.

    Parameters
    ----------
    labels, units, order
        As in :func:`history_states`; labels are 0, 1, ... without gaps.

    Examples
    --------
    >>> histories_per_class(np.array([0, 1, 0, 1, 0]), np.array([0, 0, 1, 1, 2]), np.arange(5)).tolist()
    [1, 2]
    """
    states, persons = history_states(labels, units, order)
    equal = np.bincount(states)[states][persons]
    fewest = np.full(int(labels.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(fewest, labels, equal)
    return fewest


def position_labels(labels: Integers, units: Integers, order: Integers) -> Integers:
    """Return for each row a number that is equal for the same position of equal sequences.

    Who knows all rows of a person also knows which of them is the first: requirements on confidential attributes have
    to hold at each position, not only over all rows with the same released values.

    Parameters
    ----------
    labels, units, order
        As in :func:`history_states`.

    Examples
    --------
    >>> position_labels(np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1]), np.arange(4)).tolist()
    [0, 1, 0, 1]
    """
    states, persons = history_states(labels, units, order)
    rows = np.lexsort((order, persons))
    sizes = np.bincount(persons)
    position = np.empty(labels.size, np.int64)
    position[rows] = np.arange(labels.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return canonical_labels(states[persons] * (int(sizes.max(initial=0)) + 1) + position)
