"""One record stands for each group, chosen so that frequency tables stay right; and what happened to the tables.

Either the method chose the records (SAFE, the recipes of Cost 2023), or they are chosen here for all groups together
by :func:`shoal.methods.nominal.table_representatives.table_representatives`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.core.frequency_errors import FrequencyErrors, frequency_errors
from shoal.core.grouping import Grouping
from shoal.core.progress import Progress
from shoal.flow.encoding import Codec
from shoal.flow.prepare import Prepared
from shoal.schema.columns import Kind, Recode

_VALUES = {Recode.MODE, Recode.MEDOID, Recode.TABLES, Recode.MEDIAN, Recode.MIN, Recode.MAX}


def standing_records(prepared: Prepared, grouping: Grouping, progress: Progress) -> NDArray[np.int64] | None:
    """Return the record that stands for each group, if any column is to be replaced by it."""
    chosen = [codec for codec in prepared.codecs if codec.column.representative == Recode.TABLES]
    if not chosen:
        return None
    if prepared.standing is not None:
        return most_frequent(prepared.standing, grouping)
    from shoal.methods.nominal.table_representatives import table_representatives

    codes = np.column_stack([_codes(prepared.values(codec)) for codec in chosen])
    return table_representatives(codes, grouping.labels, progress=progress)


def most_frequent(standing: NDArray[np.int64], grouping: Grouping) -> NDArray[np.int64]:
    """Return the record that stands for most of each group; more than one only if groups were joined afterwards.

    Examples
    --------
    >>> most_frequent(np.array([2, 2, 2, 4, 4]), Grouping([0, 0, 1, 1, 1], k=2))
    array([2, 4])
    """
    n = standing.size
    pairs, counts = np.unique(grouping.labels * n + standing, return_counts=True)
    order = np.lexsort((pairs % n, -counts, pairs // n))
    first = np.searchsorted(pairs[order] // n, np.arange(len(grouping)))
    return pairs[order[first]] % n


def table_errors(prepared: Prepared, released: Mapping[str, nw.Series[Any]]) -> FrequencyErrors | None:
    """Return the errors in frequency tables, where all quasi-identifiers are categories before and after."""
    codecs = prepared.codecs
    if any(codec.column.kind == Kind.NUMERIC or codec.column.representative not in _VALUES for codec in codecs):
        return None
    before = np.column_stack([_codes(codec.values(prepared.table.column(codec.column.name))) for codec in codecs])
    after = np.column_stack([_codes(_read(codec, released)) for codec in codecs])
    return frequency_errors(before, after)


def vector_warnings(facts: Mapping[str, Any], n: int) -> tuple[str, ...]:
    """Return a warning where a method found a frequency vector with another number of records.

    Examples
    --------
    >>> vector_warnings({"vector_records": 199}, 200)[0][:58]
    'the method found frequencies of 199 records; they were bro'
    """
    several = facts.get("blocks")
    blocks = [told for told in (several if isinstance(several, list) else [facts]) if "vector_records" in told]
    found = sum(int(told["vector_records"]) for told in blocks)
    changed = [told for told in blocks if told.get("vector_records") != told.get("records", n)]
    if not changed:
        return ()
    text = (
        f"the method found frequencies of {found} records; they were brought back to the {n} records of the table, so "
        "that none is lost, which changes its frequency tables by as much"
    )
    return (text,)


def _codes(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return codes from 1; a hole is 0."""
    return (np.nan_to_num(values, nan=-1.0) + 1.0).astype(np.int32)


def _read(codec: Codec, released: Mapping[str, nw.Series[Any]]) -> NDArray[np.float64]:
    return codec.values(released[codec.column.name])
