"""Which records look alike, under a stated meaning of missing quasi-identifiers.

*Own value*: a hole equals only a hole, so classes are disjoint. *Wildcard*: a hole matches any value, as for an
attacker who cannot use it; a record then belongs to every class that it matches, and classes overlap (the reading of
sdcMicro).
*Error*: holes are refused. Nothing is ever dropped before counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, MissingValues
from shoal.flow.encoding import missing_mask
from shoal.privacy.counts import Counts, Integers, Link, count_values, linked
from shoal.privacy.k_anonymity import class_labels
from shoal.tables import Table

MOST_PATTERNS = 200


class Holes(StrEnum):
    """What a missing value means when a table is checked."""

    OWN_VALUE = "own-value"
    WILDCARD = "wildcard"
    ERROR = "error"


@dataclass(frozen=True)
class Matching:
    """The classes of a table.

    Parameters
    ----------
    labels
        The class of each record.
    links
        Which classes match each other, where holes are wildcards; otherwise none, and each matches only itself.
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


def match_records(table: Table, names: Sequence[str], holes: Holes) -> Matching:
    """Return the classes of records that look alike in these columns.

    Examples
    --------
    >>> import polars as pl
    >>> people = Table.from_native(pl.DataFrame({"age": [34, 34, None, 41]}))
    >>> sorted(match_records(people, ["age"], Holes.OWN_VALUE).sizes().tolist())
    [1, 1, 2]
    >>> sorted(match_records(people, ["age"], Holes.WILDCARD).sizes().tolist())
    [2, 3, 4]
    """
    labels = class_labels(table, names)
    if holes == Holes.OWN_VALUE:
        return Matching(labels)
    missing = {name: mask for name in names if (mask := missing_mask(table.column(name))).any()}
    if not missing:
        return Matching(labels)
    if holes == Holes.ERROR:
        counts = ", ".join(f'"{name}" ({int(mask.sum())})' for name, mask in missing.items())
        raise MissingValues(
            f"missing values in {counts}; say what they mean with missing= (command line: --missing): own-value or "
            "wildcard"
        )
    return Matching(labels, tuple(_links(table, names, missing, labels)))


def _links(table: Table, names: Sequence[str], missing: dict[str, NDArray[np.bool_]], labels: Integers) -> list[Link]:
    """Link every pair of patterns of holes by the columns that both know."""
    rows = np.unique(labels, return_index=True)[1]  # one record of each class
    holes = np.column_stack([missing[name][rows] if name in missing else np.zeros(rows.size, bool) for name in names])
    codes = np.column_stack([_codes_of(table, name, rows) for name in names])
    patterns, which = np.unique(holes, axis=0, return_inverse=True)
    which = which.reshape(-1)
    if len(patterns) > MOST_PATTERNS:
        raise DataError(
            f"there are {len(patterns)} patterns of missing values, more than the {MOST_PATTERNS} that wildcards are "
            "compared for; name fewer quasi-identifiers or choose missing=own-value"
        )
    members = [np.flatnonzero(which == place) for place in range(len(patterns))]
    links = []
    for left, takers in enumerate(members):
        for right, givers in enumerate(members):
            both = ~(patterns[left] | patterns[right])
            keys = _keys(codes[np.concatenate([takers, givers])][:, both])
            links.append(Link(takers, keys[: takers.size], givers, keys[takers.size :]))
    return links


def _codes_of(table: Table, name: str, rows: Integers) -> Integers:
    values = table.column(name).to_polars().gather(rows)
    return values.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _keys(codes: Integers) -> Integers:
    """Return one number per different row."""
    keys = np.zeros(len(codes), np.int64)
    for column in codes.T:
        keys = np.unique(keys * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1].reshape(-1)
    return keys
