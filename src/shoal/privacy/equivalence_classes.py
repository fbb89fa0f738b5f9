"""The equivalence classes of a table under a stated meaning of missing quasi-identifiers.

*Distinct*: a missing value equals only a missing value, so classes are disjoint. *Wildcard*: a missing value matches
any value, as for an intruder who cannot use it; a record then belongs to every class that it matches, and classes
overlap (the reading of sdcMicro). *Error*: missing values raise an error. No record is dropped before counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shoal.core.row_classes import equal_rows
from shoal.errors import DataError, MissingValues
from shoal.privacy.counts import Counts, Integers, Link, count_values, linked
from shoal.privacy.k_anonymity import class_labels
from shoal.tables import Table
from shoal.tables.value_codes import missing_mask

MAX_PATTERNS = 200
"""The most patterns of missing values that are compared with each other; the cost grows with the square."""


WILDCARD_NOTE = (
    "missing values were counted as equal to any value; an intruder who knows a suppressed value may still find the "
    "row, so compare with the original by shoal evaluate"
)
"""What has to be stated where wildcards were counted: k of the release does not hold against the true values."""


class MissingSemantics(StrEnum):
    """The meaning of a missing value when equivalence classes are counted."""

    DISTINCT = "distinct"
    WILDCARD = "wildcard"
    ERROR = "error"


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The equivalence classes of a table.

    Parameters
    ----------
    labels
        The class of each record.
    links
        The classes that match each other, where missing values are wildcards; otherwise empty, and each class matches
        only itself.
    """

    labels: Integers
    links: tuple[Link, ...] = ()

    def counts(self, codes: Integers, n_values: int) -> Counts:
        """Return how often each value occurs in each class."""
        counts = count_values(self.labels, codes, n_values=n_values)
        return linked(counts, list(self.links)) if self.links else counts

    def sizes(self) -> Integers:
        """Return the number of records that each class matches."""
        return self.counts(np.zeros(self.labels.size, np.int64), 1).sizes


def equivalence_classes(table: Table, names: Sequence[str], semantics: MissingSemantics) -> EquivalenceClasses:
    """Return the classes of records with equal values in all of these columns.

    Parameters
    ----------
    table
        Any table.
    names
        The quasi-identifiers.
    semantics
        The meaning of missing values.

    Returns
    -------
    classes
        Labels and, for wildcards, links. Cost O(n log n) per column; for wildcards also O(classes) for each pair of
        patterns of missing values.

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"age": [34, 34, None, 41]}))
    >>> sorted(equivalence_classes(people, ["age"], MissingSemantics.DISTINCT).sizes().tolist())
    [1, 1, 2]
    >>> sorted(equivalence_classes(people, ["age"], MissingSemantics.WILDCARD).sizes().tolist())
    [2, 3, 4]
    """
    labels = class_labels(table, names)
    if semantics == MissingSemantics.DISTINCT:
        return EquivalenceClasses(labels)
    missing = {name: mask for name in names if (mask := missing_mask(table.column(name))).any()}
    if not missing:
        return EquivalenceClasses(labels)
    if semantics == MissingSemantics.ERROR:
        raise missing_values_error({name: int(mask.sum()) for name, mask in missing.items()})
    return EquivalenceClasses(labels, tuple(_links(table, names, missing, labels)))


def missing_values_error(counts: dict[str, int]) -> MissingValues:
    """Return the error for columns with missing values whose meaning is not stated, by number of missing values."""
    columns = ", ".join(f'"{name}" ({count})' for name, count in counts.items())
    return MissingValues(
        f"missing values in {columns}; state their meaning with missing_semantics= (command line: "
        "--missing-semantics): distinct or wildcard"
    )


def _links(table: Table, names: Sequence[str], missing: dict[str, NDArray[np.bool_]], labels: Integers) -> list[Link]:
    """Link the classes of every pair of patterns of missing values by the columns that are known in both."""
    rows = np.unique(labels, return_index=True)[1]  # one record of each class
    absent = np.column_stack([missing[name][rows] if name in missing else np.zeros(rows.size, bool) for name in names])
    codes = [_codes_of(table, name, rows) for name in names]
    patterns, pattern_of = np.unique(absent, axis=0, return_inverse=True)
    pattern_of = pattern_of.reshape(-1)
    if len(patterns) > MAX_PATTERNS:
        raise DataError(
            f"there are {len(patterns)} patterns of missing values, more than the {MAX_PATTERNS} that wildcards are "
            "compared for; name fewer quasi-identifiers or choose missing_semantics=distinct"
        )
    members = [np.flatnonzero(pattern_of == number) for number in range(len(patterns))]
    links = []
    for left, targets in enumerate(members):
        for right, sources in enumerate(members):
            both = np.concatenate([targets, sources])
            known = np.flatnonzero(~(patterns[left] | patterns[right]))
            keys = equal_rows([np.zeros(both.size, np.int64), *(codes[column][both] for column in known)])
            links.append(Link(targets, keys[: targets.size], sources, keys[targets.size :]))
    return links


def _codes_of(table: Table, name: str, rows: Integers) -> Integers:
    values = table.column(name).to_polars().gather(rows)
    return values.rank("dense").fill_null(0).to_numpy().astype(np.int64)
