"""The kind of a column: what its type suggests, and what a draft of a schema proposes.

A protection takes the kind of the type unless a person states another one. A draft looks at names, labels and
frequencies too: whole numbers with few different values are codes unless they are counts or amounts, texts of a known
scale have an order, and one label for a missing value does not make a number nominal.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import narwhals as nw

from shoal.schema.column_words import FEW_CODES, FEWEST_RECORDS, Meaning, first_with, infer_kind
from shoal.schema.columns import Kind
from shoal.schema.value_patterns import ordered_categories

LARGEST_CODE = 1_000
"""Few numbers of this size are years or amounts."""


def propose_kind(
    series: nw.Series[Any], words: tuple[str, ...], value_labels: dict[Any, str] | None = None
) -> tuple[Kind, tuple[str, ...] | None, str]:
    """Return kind, order and reason for a draft: integer codes with few values are nominal, known scales are ordinal.

    Examples
    --------
    >>> import polars as pl
    >>> codes = nw.from_native(pl.Series("region", [1, 2, 3, 4] * 10), series_only=True)
    >>> propose_kind(codes, ("region",))[0], propose_kind(codes, ("number", "of", "children"))[0]
    (<Kind.NOMINAL: 'nominal'>, <Kind.NUMERIC: 'numeric'>)
    """
    kind, order, reason = infer_kind(series, value_labels)
    if kind == Kind.NOMINAL and not value_labels:
        order = ordered_categories(series)
        return (Kind.ORDINAL, order, "its categories have an order") if order else (kind, None, reason)
    if kind != Kind.NUMERIC or not series.dtype.is_numeric() or len(series) < FEWEST_RECORDS:
        return kind, order, reason
    found = _codes(series.drop_nulls(), words)
    return (Kind.NOMINAL, None, found) if found else (kind, order, reason)


def _codes(values: nw.Series[Any], words: tuple[str, ...]) -> str | None:
    """Return the reason why numbers are codes, or None where they are counts, amounts or measurements."""
    code, counted = first_with(words, Meaning.CODE), first_with(words, Meaning.COUNT)
    distinct = values.n_unique() if len(values) else 0
    named = code is not None and counted is None
    if (distinct > FEW_CODES and not named) or bool((values != values.round()).any()):
        return None
    if distinct <= 2:
        return "two different numbers" if distinct == 2 else None
    if named and distinct > FEW_CODES:
        return f'its name says "{code}", so the numbers are codes'
    amounts = len(values) < 3 * distinct or (code is None and float(values.max()) >= LARGEST_CODE)
    if amounts or (counted and not code) or falls_from_zero(values):
        return None
    return f"{distinct} different whole numbers, which look like codes; numeric if they are amounts"


def falls_from_zero(values: nw.Series[Any]) -> bool:
    """Return whether whole numbers begin at 0 and larger ones are rarer, as in counts.

    Examples
    --------
    >>> import polars as pl
    >>> visits = pl.Series("visits", [0] * 9 + [1] * 5 + [2] * 3 + [3])
    >>> falls_from_zero(nw.from_native(visits, series_only=True))
    True
    """
    counts = values.value_counts(sort=False, name="n").sort(values.name)
    numbers, frequencies = counts[values.name].to_list(), counts["n"].to_list()
    if len(numbers) < 4 or numbers[0] != 0:
        return False
    top = frequencies.index(max(frequencies))
    falls = sum(later <= 1.1 * before for before, later in pairwise(frequencies[top:]))
    rare = bool(2 * frequencies[-1] < frequencies[top])  # codes are about equally frequent
    return rare and top <= 2 and falls >= 0.7 * (len(frequencies) - top - 1)
