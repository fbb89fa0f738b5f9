"""The records that have no group yet: what the greedy baselines nominal-mdav, nominal-v-mdav and k-member share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.core.row_classes import compact, hamming_to_row


class UngroupedRecords:
    """The records without a group in ascending order, and the labels of the others.

    Parameters
    ----------
    codes
        Categories as integers, n x m.
    """

    def __init__(self, codes: NDArray[np.int32]) -> None:
        self.codes = codes
        self.records = np.arange(len(codes))
        self.labels = np.full(len(codes), -1, np.int64)
        self._small, self._domains = compact(codes)
        self._counts = [np.bincount(column) for column in self._small.T]

    @property
    def count(self) -> int:
        """The number of records without a group."""
        return self.records.size

    def mode(self) -> NDArray[np.int32]:
        """Return the plurality mode of the ungrouped records."""
        values = [domain[counts.argmax()] for domain, counts in zip(self._domains, self._counts, strict=True)]
        return np.array(values, np.int32)

    def distances(self, row: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the distances of the ungrouped records to a row."""
        found: NDArray[np.int64] = hamming_to_row(self.codes, self.records, row)
        return found

    def farthest(self, row: NDArray[np.int32]) -> int:
        """Return the ungrouped record farthest from a row."""
        return int(self.records[self.distances(row).argmax()])

    def nearest(self, row: NDArray[np.int32], count: int, first: int) -> NDArray[np.int64]:
        """Return the ungrouped records nearest to a row, the record ``first`` always among them."""
        distances = self.distances(row)
        distances[np.searchsorted(self.records, first)] = -1
        limit = np.partition(distances, count - 1)[count - 1]
        nearer = np.flatnonzero(distances < limit)
        return self.records[np.append(nearer, np.flatnonzero(distances == limit)[: count - nearer.size])]

    def assign(self, records: NDArray[np.int64], group: int) -> None:
        """Put ungrouped records into a group."""
        self.labels[records] = group
        for column, counts in zip(self._small[records].T, self._counts, strict=True):
            np.subtract.at(counts, column, 1)
        self.records = self.records[self.labels[self.records] < 0]

    def join_nearest_groups(self) -> None:
        """Put each ungrouped record into the group of its nearest record."""
        grouped = np.flatnonzero(self.labels >= 0)
        joined = [grouped[hamming_to_row(self.codes, grouped, self.codes[row]).argmin()] for row in self.records]
        self.labels[self.records] = self.labels[np.array(joined, np.int64)]
        self.records = self.records[:0]
