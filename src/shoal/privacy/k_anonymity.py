"""k-anonymity, counted on a finished table (Sweeney 2002; Thaeter 2021, Def. 2.4).

Records with equal values in all quasi-identifiers form an equivalence class. A missing value equals only a missing
value. No record is dropped before counting, and the index of a DataFrame is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.core.grouping import size_histogram
from shoal.errors import DataError, GroupTooSmall, SchemaError
from shoal.schema.requirements import Of
from shoal.tables import Table


@dataclass(frozen=True)
class Classes:
    """The sizes of the equivalence classes of a table.

    Parameters
    ----------
    sizes
        The number of records of each class, in no particular order.
    units
        The number of different persons or households of each class, where k counts these; for histories the smallest
        number of persons with equal sequences, over the persons in the class.
    of
        What k counts.
    notes
        What a reader has to know about the counts.

    Examples
    --------
    >>> classes = Classes(np.array([5, 4]), np.array([1, 4]), Of.UNITS)
    >>> classes.k, classes.k_rows, classes.records_below(2)
    (1, 4, 5)
    """

    sizes: NDArray[np.int64]
    units: NDArray[np.int64] | None = None
    of: Of = Of.ROWS
    notes: tuple[str, ...] = ()

    @property
    def counted(self) -> NDArray[np.int64]:
        """What k counts, for each class: persons, households or records."""
        return self.sizes if self.units is None else self.units

    @property
    def k(self) -> int:
        """The smallest number of what k counts in any class."""
        return int(self.counted.min())

    @property
    def k_rows(self) -> int:
        """The number of records of the smallest class."""
        return int(self.sizes.min())

    @property
    def records(self) -> int:
        """The number of records of all classes."""
        return int(self.sizes.sum())

    def size_histogram(self) -> dict[int, int]:
        """Return how many classes there are of each size."""
        return size_histogram(self.sizes)

    def records_below(self, k: int) -> int:
        """Return how many records are in classes of fewer than k."""
        return int(self.sizes[self.counted < k].sum())


def count_classes(
    table: Table,
    names: Sequence[str],
    units: NDArray[np.int64] | None = None,
    of: Of = Of.ROWS,
    order: NDArray[np.int64] | None = None,
) -> Classes:
    """Count the equivalence classes that these columns form together.

    Parameters
    ----------
    table
        Any table, whichever software produced it.
    names
        The quasi-identifiers.
    units, of
        The person or household of each record as a code from 0, and which of them k counts; None counts records.
    order
        What sorts the records of a person, for histories; the order of the table if not given.

    Returns
    -------
    classes
        Their sizes. Records are sorted by a hash and neighbours compared value by value, so the count is exact. Cost
        O(n log n + n d), one column in memory at a time.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"age": [34, 34, None, 41, 41]}))
    >>> count_classes(people, ["age"]).k
    1
    """
    if units is not None:
        labels = class_labels(table, names)
        if of == Of.HISTORIES:
            from shoal.core.equal_histories import histories_per_class

            order = np.arange(labels.size) if order is None else order
            return Classes(np.bincount(labels), histories_per_class(labels, units, order), of)
        from shoal.core.row_classes import distinct_per_class

        return Classes(np.bincount(labels), distinct_per_class(labels, units), of)
    columns = _columns(table, names)
    order, same = _order(columns)
    if order is None:
        return Classes(np.bincount(_labels_without_hashes(columns)))
    ends = np.append(np.flatnonzero(~same), table.n_rows - 1)
    return Classes(np.diff(ends, prepend=-1))


def class_labels(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the class of each record, 0, 1, ... in no particular order; counted as in :func:`count_classes`.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"age": [34, 34, None, 41, 41]}))
    >>> np.bincount(class_labels(people, ["age"])).tolist().count(2)
    2
    """
    columns = _columns(table, names)
    order, same = _order(columns)
    if order is None:
        return _labels_without_hashes(columns)
    labels = np.empty(table.n_rows, np.int64)
    labels[order] = np.append(0, np.cumsum(~same))
    return labels


def _columns(table: Table, names: Sequence[str]) -> list[Callable[[], pl.Series]]:
    if not names:
        raise SchemaError("no quasi-identifier is named, so no class can be counted; name at least one column")
    if not table.n_rows:
        raise DataError("the table has no records, so no class can be counted")
    return [_comparable(table, name) for name in names]


def _order(columns: list[Callable[[], pl.Series]]) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """Return the records in an order with equal ones together, and whether each equals the one after it.

    Records are sorted by a hash and neighbours compared; None where two different records share a hash.
    """
    order, candidate = _order_by_hash(columns)
    for column in columns:
        ordered = column().gather(order)
        equal = ordered[1:].eq_missing(ordered[:-1]).to_numpy()
        if not equal[candidate].all():
            return None, candidate
    return order, candidate


def _comparable(table: Table, name: str) -> Callable[[], pl.Series]:
    """Return a function that reads a column for comparison, so that only one column is in memory at a time."""
    column = table.column(name)
    if column.to_polars().dtype.is_nested():
        raise SchemaError(f'column "{name}" is nested; flatten it before counting')

    def read() -> pl.Series:
        values = column.to_polars()
        return values + 0.0 if values.dtype.is_float() else values  # one zero instead of two

    return read


def _order_by_hash(columns: list[Callable[[], pl.Series]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the records sorted by a hash of all columns, and whether each has the hash of the one after it."""
    mixed: NDArray[np.uint64] | None = None
    for column in columns:
        hashed = column().hash(seed=0).to_numpy()
        mixed = (
            hashed.copy()
            if mixed is None
            else (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15) ^ hashed
        )
    assert mixed is not None
    order = np.argsort(mixed)
    ordered = mixed[order]
    return order, ordered[1:] == ordered[:-1]


def _labels_without_hashes(columns: list[Callable[[], pl.Series]]) -> NDArray[np.int64]:
    """Return the classes without hashes: slower, for the rare table in which two different records share one."""
    frame = pl.DataFrame({str(number): column() for number, column in enumerate(columns)})
    members = frame.with_row_index("row").group_by(frame.columns).agg("row")["row"]
    labels = np.empty(frame.height, np.int64)
    rows = members.explode().to_numpy()
    labels[rows] = np.repeat(np.arange(len(members)), members.list.len().to_numpy())
    return labels


def verify_k(
    table: Table,
    names: Sequence[str],
    k: int,
    units: NDArray[np.int64] | None = None,
    of: Of = Of.ROWS,
    order: NDArray[np.int64] | None = None,
) -> Classes:
    """Recount the classes of a finished table; raises GroupTooSmall if any class has fewer than k of what k counts.

    Examples
    --------
    >>> people = Table.from_native(pl.DataFrame({"age": [34, 34, 41]}))
    >>> verify_k(people, ["age"], 2)
    Traceback (most recent call last):
        ...
    shoal.errors.GroupTooSmall: 1 of 3 records are in classes of fewer than k=2 (the smallest class has 1 record)
    """
    classes = count_classes(table, names, units, of, order)
    require_k(classes, k)
    return classes


def require_k(classes: Classes, k: int, where: str = "") -> None:
    """Raise :class:`GroupTooSmall` if any class has fewer than k of what k counts; ``where`` begins the sentence.

    Examples
    --------
    >>> require_k(Classes(np.array([2, 1])), 2, "safe.csv: ")
    Traceback (most recent call last):
        ...
    shoal.errors.GroupTooSmall: safe.csv: 1 of 3 records are in classes of fewer than k=2 (the smallest class has 1 record)
    """  # noqa: E501 - the doctest shows the text as one line
    if classes.k < k:
        raise GroupTooSmall(
            f"{where}{classes.records_below(k)} of {classes.records} records are in classes of fewer than k={k}"
            f"{'' if classes.units is None else f' {classes.of.noun}'} (the smallest class has "
            f"{classes.of.amount(classes.k)})"
        )
