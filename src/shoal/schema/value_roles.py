"""The role that the values of a column suggest where its name and label say nothing.

Categories are read like names: where most of them have words about health, opinions or results, the column is
confidential; where most of them are about origin, family, place, work or schooling, it is a quasi-identifier. Numbers
with many different values in a table about persons are measurements, which are confidential unless something says that
others know them.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from shoal.schema.column_words import Meaning, first_with, words_of
from shoal.schema.columns import Role

MOST_CATEGORIES = 60
"""Categories that are read at most: more are names of things."""
MEASURED_VALUES = 20
"""Different numbers that a measurement has at least, unless it has fractions."""
_ANSWERS = {
    Role.CONFIDENTIAL: (
        "agree disagree approve disapprove favor oppose satisfied dissatisfied happy unhappy never rarely seldom "
        "sometimes often always good fair poor excellent bad better worse positive negative pass fail passed failed "
        "correct wrong true false important unimportant likely unlikely trust distrust treated untreated control "
        "placebo mild moderate severe alive dead normal abnormal smoker nonsmoker"
    ),
    Role.QUASI: (
        "male female man woman single married divorced widowed separated cohabiting urban rural white black asian "
        "hispanic african caucasian employed unemployed retired student homemaker owner renter partner parents alone "
        "north south east west northeast northwest southeast southwest fulltime parttime left right english french "
        "german spanish blue brown green hazel grey"
    ),
}
_ROLE_OF_ANSWER = {word: role for role, words in _ANSWERS.items() for word in words.split()}


def role_of_categories(series: nw.Series[Any]) -> tuple[Role, str] | None:
    """Return the role that most categories of a text column suggest, with one of their words, or None.

    Examples
    --------
    >>> import polars as pl
    >>> column = pl.Series("q7", ["strongly agree", "agree", "disagree"] * 10)
    >>> role_of_categories(nw.from_native(column, series_only=True))
    (<Role.CONFIDENTIAL: 'confidential'>, 'its categories say "agree"')
    """
    if not isinstance(series.dtype, nw.String | nw.Categorical | nw.Enum):
        return None
    categories = [str(value) for value in series.drop_nulls().unique().to_list()]
    if not 2 <= len(categories) <= MOST_CATEGORIES:
        return None
    found: dict[Role, list[str]] = {}
    for category in sorted(categories):
        role, word = _role_of_category(words_of(category))
        if role is not None:
            found.setdefault(role, []).append(word)
    for role, words in found.items():
        if 2 * len(words) > len(categories):
            return role, f'its categories say "{words[0]}"'
    return None


def _role_of_category(words: tuple[str, ...]) -> tuple[Role | None, str]:
    for word in words:
        if word in _ROLE_OF_ANSWER:
            return _ROLE_OF_ANSWER[word], word
    for meaning, role in ((Meaning.HEALTH, Role.CONFIDENTIAL), (Meaning.CONFIDENTIAL, Role.CONFIDENTIAL)):
        found = first_with(words, meaning)
        if found:
            return role, found
    known = first_with(words, Meaning.QUASI)
    return (Role.QUASI, known) if known else (None, "")


def is_measurement(series: nw.Series[Any]) -> bool:
    """Return whether a column has numbers that measure: fractions, or many different numbers that are no numbering.

    Examples
    --------
    >>> import polars as pl
    >>> columns = pl.Series("x", [0.5, 1.2, 3.4] * 9), pl.Series("y", list(range(1, 40)) * 2)
    >>> [is_measurement(nw.from_native(column, series_only=True)) for column in columns]
    [True, False]
    """
    if not series.dtype.is_numeric():
        return False
    values = np.asarray(series.drop_nulls().unique().to_list(), dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size < 3:
        return False
    if (values != np.floor(values)).any():
        return True
    numbered = values.min() in {0.0, 1.0} and values.max() - values.min() + 1 == values.size
    return bool(values.size > MEASURED_VALUES and not numbered)


def has_fractions(series: nw.Series[Any]) -> bool:
    """Return whether a column has numbers that are not whole.

    Examples
    --------
    >>> import polars as pl
    >>> columns = pl.Series("x", [0.5, 2.0]), pl.Series("y", [1.0, 2.0]), pl.Series("z", ["0.5"])
    >>> [has_fractions(nw.from_native(column, series_only=True)) for column in columns]
    [True, False, False]
    """
    return series.dtype.is_float() and bool((series.drop_nulls() != series.drop_nulls().round()).any())
