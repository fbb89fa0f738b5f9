"""The role of a column: what its name, its label, its values and the other columns suggest, with the reason.

Words are searched in this order: names and numbers of persons, health and other confidential matters, what others can
know. A column that nothing says anything about is confidential in a table about health, has the role of the column
that it is named after, or is an answer where several columns share a scale; otherwise a person has to decide.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import narwhals as nw
import polars as pl

from shoal.errors import short_name
from shoal.schema.column_words import (
    AMBIGUOUS,
    DURATIONS,
    FEWEST_RECORDS,
    NUMBER_WORDS,
    PERSON_WORDS,
    Meaning,
    differs_enough,
    first_with,
    is_nested,
    is_weak,
    looks_like_identifier,
    named_as_person,
    plain_words,
    words_of,
)
from shoal.schema.columns import DROPPED, Column, Kind, Role
from shoal.schema.constant_columns import constant_columns
from shoal.schema.kind_proposal import falls_from_zero, propose_kind
from shoal.schema.neighbours import Neighbours
from shoal.schema.person_numbers import RepeatedNumber
from shoal.schema.value_patterns import IDENTIFYING, form_of
from shoal.schema.value_roles import has_fractions, is_measurement, role_of_categories
from shoal.tables import Table
from shoal.tables.value_codes import comparable_values

WEIGHT_REASON = "it looks like a sampling weight"
ONE_VALUE = "every record has the same value"
NUMBER_REASON = "it looks like the number of a person"
HEALTH_REASON = "the table is about health, and nothing says that others know this column"
MOST_ANSWERS = 20
"""Different numbers that a scale of answers has at most."""
PERSON_COLUMNS = 2
"""A table with so many quasi-identifiers is about persons."""
HEALTH_COLUMNS = 3
"""A table with so many columns about health, a fifth of all, is about health."""


def is_telling(name: str) -> bool:
    """Return whether the name of a column says that it identifies persons, is confidential or may be known.

    Examples
    --------
    >>> is_telling("test_result"), is_telling("wave")
    (True, False)
    """
    telling = (Meaning.IDENTIFIER, Meaning.HEALTH, Meaning.CONFIDENTIAL, Meaning.QUASI)
    return any(first_with(words_of(name), meaning) for meaning in telling)


def about_health(table: Table) -> bool:
    """Return whether a table is about health, by the names and labels of its columns."""
    found = 0
    for name in table.names:
        words = (*words_of(name), *words_of(table.variable_label(name) or ""))
        found += first_with(words, Meaning.HEALTH) is not None
    return found >= HEALTH_COLUMNS and 5 * found >= len(table.names)


def propose_column(table: Table, name: str, *, health: bool = False) -> Column:
    """Return a column with proposed role and kind; ``health`` states that the table is about health.

    Examples
    --------
    >>> import polars as pl
    >>> column = propose_column(Table.from_native(pl.DataFrame({"postcode": ["10115", "80331"]})), "postcode")
    >>> str(column.role), str(column.kind)
    ('quasi', 'nominal')
    """
    series, labels = table.typed(name), table.value_labels(name)
    if is_nested(series):
        reason = "its values are nested: it can be dropped or released unchanged; nested values cannot be compared"
        return Column(name, Role.OTHER, Kind.NOMINAL, reason=reason, role_stated=False)
    words = (*words_of(name), *words_of(table.variable_label(name) or ""))
    kind, order, kind_reason = propose_kind(series, words, labels)
    own = words_of(name)
    numbered = _numbers_persons(series, table.variable_label(name) or "")
    role, role_reason = numbered or _infer_role(series, own if _is_clear(own) else words, health=health)
    form = "" if role_reason.startswith("its values") else _kind_hint(series, kind)
    return Column(
        name, role or Role.OTHER, kind, order=order, reason=f"{role_reason}; {kind_reason}{form}",
        role_stated=role is not None,
    )  # fmt: skip


def _numbers_persons(series: nw.Series[Any], label: str) -> tuple[Role, str] | None:
    """Return the role of a column whose values all differ and which name or label call a number of persons, or None.

    This comes before all words with another meaning: ``respid`` is neither a respiration nor confidential.
    """
    if not differs_enough(series) or len(series) < FEWEST_RECORDS or has_fractions(series):
        return None
    person = series.dtype.is_numeric() and len(plain_words(series.name)) == 1
    if named_as_person(series.name) or (person and plain_words(series.name)[0] in PERSON_WORDS):
        return Role.IDENTIFIER, "its name is that of a number of persons"
    words = words_of(label)
    called = set(words) & NUMBER_WORDS - AMBIGUOUS or "identifier" in words
    return (Role.IDENTIFIER, "its label calls it an identifier") if called and "unique" in words else None


def _is_clear(words: tuple[str, ...]) -> bool:
    """Return whether the name alone says what a column is, so that words of its label need not be read.

    A label is a sentence, such as the question of an interview, and mentions other things too.
    """
    telling = (Meaning.IDENTIFIER, Meaning.HEALTH, Meaning.CONFIDENTIAL, Meaning.QUASI, Meaning.WEIGHT)
    found = [word for meaning in telling if (word := first_with(words, meaning))]
    return not all(is_weak(word) for word in found)


def _kind_hint(series: nw.Series[Any], kind: Kind) -> str:
    """Return a remark for texts that are dates which are not read as such."""
    dates = kind == Kind.NOMINAL and form_of(series) == "date"
    return ", dates of an uncertain form; write them as 2024-07-03 to compare them in time" if dates else ""


def _infer_role(series: nw.Series[Any], words: tuple[str, ...], *, health: bool) -> tuple[Role | None, str]:
    """Return the role of a column and its reason; None where a person has to decide."""
    found = _role_of_values(series, words) or _role_of_words(series, words, health=health)
    if found is not None:
        return found
    identifier = looks_like_identifier(series)
    if identifier:
        return Role.IDENTIFIER, identifier
    if series.dtype.is_temporal() or form_of(series) == "date":
        return Role.QUASI, "an intruder may know a date"
    categories = role_of_categories(series)
    if categories is not None:
        return categories
    if health:
        return Role.CONFIDENTIAL, HEALTH_REASON
    return None, "nothing shows whether an intruder may know it"


def _role_of_values(series: nw.Series[Any], words: tuple[str, ...]) -> tuple[Role, str] | None:
    """Return the role that the form of the values decides whatever the name is, or None."""
    if len(series) >= FEWEST_RECORDS and series.n_unique() == 1:
        return Role.OTHER, ONE_VALUE
    form = form_of(series)
    if form in IDENTIFYING:
        return Role.IDENTIFIER, f"its values have the form of {'an' if form[0] in 'eI' else 'a'} {form}"
    if form == "free text":
        return Role.IDENTIFIER, "its values are free text, which may name persons"
    if series.dtype.is_numeric() and _named_as_weight(words) and _can_weight(series):
        return Role.OTHER, WEIGHT_REASON
    return (Role.QUASI, "its values have the form of a postcode") if form == "postcode" else None


def _named_as_weight(words: tuple[str, ...]) -> bool:
    """Return whether words name a sampling weight; a plain weight is that of a body."""
    return first_with(words, Meaning.WEIGHT) is not None or bool(
        "weight" in words and {"sampling", "sample", "survey", "final", "design", "person"} & set(words)
    )


def _can_weight(series: nw.Series[Any]) -> bool:
    """Return whether numbers can be sampling weights: all of them known and positive."""
    return not series.null_count() and bool((series > 0).all())


def _role_of_words(series: nw.Series[Any], words: tuple[str, ...], *, health: bool) -> tuple[Role | None, str] | None:
    """Return the role that the words of name and label suggest, or None; what is confidential comes first."""
    identifier = first_with(words, Meaning.IDENTIFIER)
    institution = first_with(words, Meaning.INSTITUTION)
    if identifier and not institution and differs_enough(series):
        return Role.IDENTIFIER, f'its name says "{identifier}"'
    suggested = [
        (role, word)
        for meaning, role in (
            (Meaning.HEALTH, Role.CONFIDENTIAL), (Meaning.CONFIDENTIAL, Role.CONFIDENTIAL), (Meaning.QUASI, Role.QUASI),
        )
        if (word := first_with(words, meaning))
    ]  # fmt: skip
    if health and has_fractions(series):
        suggested = [found for found in suggested if found[0] != Role.QUASI or not is_weak(found[1])]
    suggested.sort(key=lambda found: is_weak(found[1]))  # a stable sort: what is confidential comes first
    if suggested:
        return suggested[0][0], f'its name says "{suggested[0][1]}"'
    if institution and institution.removesuffix("s") not in _ABOUT_THINGS:
        return Role.QUASI, f'its name says "{institution}"'
    time = first_with(words, Meaning.TIME)
    if time and not (health and time in DURATIONS):
        return Role.QUASI, f'its name says "{time}"'
    return None


_ABOUT_THINGS = frozenset({"item", "file", "variable", "test", "task", "product", "brand"})
"""Words for what is no institution that a person belongs to."""


def with_relatives(table: Table, columns: list[Column]) -> list[Column]:
    """Return the columns; an undecided one gets the role of a column that it is named after, or that of a scale.

    ``dage`` and ``agesq`` are named after ``age``. Columns of numbers that share one scale of answers, such as 1 to 5,
    are items of a questionnaire. Among persons, what measures or counts is confidential.
    """
    plain = {*DROPPED, Role.OTHER}
    decided = {column.name: column.role for column in columns if not _is_open(column) and column.role not in plain}
    scales = _answer_scales(table, columns)
    persons = sum(role == Role.QUASI for role in decided.values()) >= PERSON_COLUMNS
    neighbours = Neighbours(table, columns, decided)
    heights = any(_HEIGHT & set(words_of(name)) for name in table.names)
    found = []
    for column in columns:
        if heights and column.reason.startswith(WEIGHT_REASON) and set(words_of(column.name)) <= _BODY_WEIGHT:
            column = _with_role(column, Role.QUASI, "it is a weight beside a height")
        elif _is_open(column):
            base = _named_after(column.name, list(decided))
            if base is not None:
                column = _with_role(column, decided[base], f'it is named after "{short_name(base)}"')
            elif not column.role_stated and column.name in scales:
                reason = f"{scales[column.name]} columns share this scale of answers"
                column = _with_role(column, Role.CONFIDENTIAL, reason)
            elif not column.role_stated and (beside := neighbours.role(column.name)) is not None:
                column = _with_role(column, *beside)
            elif not column.role_stated and persons and _marks_year(table, column.name):
                column = _with_role(column, Role.QUASI, "it marks a year")
            elif not column.role_stated and persons and column.kind == Kind.NUMERIC and _measures(table, column.name):
                reason = "it measures something about a person, and nothing says that others know it"
                column = _with_role(column, Role.CONFIDENTIAL, reason)
            elif not column.role_stated and persons and neighbours.explained(column.name):
                reason = "the others seem to explain it: it has few values and is the first or the last column"
                column = _with_role(column, Role.CONFIDENTIAL, reason)
        found.append(column)
    decided |= {column.name: column.role for column in found if column.role_stated and column.role not in plain}
    bases = {
        column.name: _named_after(column.name, list(decided))
        for column in found
        if not column.role_stated and not column.reason.startswith(NUMBER_REASON)
    }
    return [
        _with_role(column, decided[base], f'it is named after "{short_name(base)}"')
        if (base := bases.get(column.name)) is not None
        else column
        for column in found
    ]


_HEIGHT = frozenset({"height", "ht", "hgt", "stature", "bmi", "taille", "groesse", "altura"})
_BODY_WEIGHT = frozenset({"weight", "wgt", "wt", "kg", "lb", "lbs"})


def _is_open(column: Column) -> bool:
    """Return whether nothing about a column itself says what its role is."""
    open_role = not column.role_stated or column.reason.startswith(HEALTH_REASON)
    return open_role and not column.reason.startswith(NUMBER_REASON)


def _with_role(column: Column, role: Role, reason: str) -> Column:
    """Return a column with another role and the reason for it."""
    return replace(column, role=role, role_stated=True, reason=f"{reason};{column.reason.partition(';')[2]}")


def _marks_year(table: Table, name: str) -> bool:
    """Return whether a column of two values is named as a year, such as ``y85`` or ``d1998``."""
    named = re.fullmatch(r"(?:y|yr|d|t)_?(?:19[5-9]\d|20[0-3]\d|[5-9]\d)", name.lower())
    return named is not None and table.column(name).drop_nulls().n_unique() == 2


def _measures(table: Table, name: str) -> bool:
    """Return whether a column has measurements or counts, and no name that is about the data."""
    words = words_of(name)
    other = any(first_with(words, meaning) for meaning in (Meaning.TECHNICAL, Meaning.CODE, Meaning.TIME))
    series = table.typed(name)
    return not other and (
        is_measurement(series) or (series.dtype.is_numeric() and falls_from_zero(series.drop_nulls()))
    )


def _named_after(name: str, others: list[str]) -> str | None:
    """Return the column whose name this one extends by at most three letters, or None.

    Examples
    --------
    >>> _named_after("dage", ["age", "sex"]), _named_after("logwage", ["wage"]), _named_after("x", ["age"])
    ('age', 'wage', None)
    """
    plain = re.sub(r"[^a-z]", "", name.lower())
    for other in sorted(others, key=len, reverse=True):
        base = re.sub(r"[^a-z]", "", other.lower())
        longer = len(plain) - len(base)
        extends = plain.startswith(base) or plain.endswith(base)
        if extends and other != name and len(base) >= 2 and 0 <= longer <= min(3, len(base)):
            return other
    return None


def _answer_scales(table: Table, columns: list[Column]) -> dict[str, int]:
    """Return the columns whose few different numbers are those of at least two other columns, and how many they are."""
    scales: dict[tuple[float, ...], list[str]] = {}
    for column in columns:
        series = table.typed(column.name)
        if series.dtype.is_numeric():
            values = tuple(sorted(series.drop_nulls().unique().to_list()))
            if 3 <= len(values) <= MOST_ANSWERS:
                scales.setdefault(values, []).append(column.name)
    return {name: len(names) for names in scales.values() if len(names) >= 3 for name in names}


def with_question(column: Column, found: RepeatedNumber | None) -> Column:
    """Return a column that numbers persons with several rows as the unit, or with a question in its reason."""
    if found is None:
        return column
    question = f"{found.counted} occur{'s' if found.repeated == 1 else ''} more than once: is one row one person?"
    if named_as_person(column.name):
        role = Role.HOUSEHOLD if first_with(words_of(column.name), Meaning.HOUSEHOLD) else Role.UNIT
        other = "identifier" if role == Role.UNIT else "unit"
        return replace(
            column, role=role, role_stated=True, reason=f'{column.reason}; {question} If so role = "{other}"'
        )
    reason = f'{column.reason}; {question} Otherwise role = "unit"'
    if _is_open(column):  # no guess may release the number of a person unchanged
        return replace(column, role=Role.OTHER, role_stated=False, reason=f"{NUMBER_REASON}; {reason}")
    return replace(column, reason=reason)


def with_constants(table: Table, columns: list[Column], owner: str | None) -> list[Column]:
    """Return the columns with a reason that names those which are constant within what may be a person."""
    if owner is None:
        return columns
    tested = [column.name for column in columns if column.role == Role.QUASI and column.name != owner]
    texts = {}
    for found in constant_columns(table, owner, tested):
        rest = f" but for {found.exceptions:,} of {found.persons:,}" if found.exceptions else ""
        texts[found.name] = f'constant within "{short_name(owner)}"{rest}; constant = true keeps it so'
    return [
        replace(column, reason=f"{column.reason}; {texts[column.name]}") if column.name in texts else column
        for column in columns
    ]


def one_of_each(columns: list[Column], table: Table) -> list[Column]:
    """Return the columns with at most one unit and one household: the one with the most different values."""
    found = list(columns)
    for role in (Role.UNIT, Role.HOUSEHOLD):
        several = [column for column in found if column.role == role]
        for column in sorted(several, key=lambda column: -table.column(column.name).n_unique())[1:]:
            found[found.index(column)] = replace(column, role=Role.IDENTIFIER)
    return found


def with_time(table: Table, columns: list[Column]) -> list[Column]:
    """Return the columns with the time of a person's rows: the first column named so without equal times."""
    unit = next((column.name for column in columns if column.role == Role.UNIT), None)
    if unit is None:
        return columns
    persons = comparable_values(table.column(unit))
    for position, column in enumerate(columns):
        series = table.typed(column.name)
        if column.role in DROPPED or not (series.dtype.is_numeric() or series.dtype.is_temporal()):
            continue
        word = first_with(words_of(column.name), Meaning.TIME)
        if word is None or series.null_count():
            continue
        pairs = pl.DataFrame({"unit": persons, "time": comparable_values(series)})
        if pairs.n_unique() == pairs.height:
            reason = f'its name says "{word}", and it differs between the rows of a person; {column.reason}'
            return [*columns[:position], replace(column, time=True, reason=reason), *columns[position + 1 :]]
    return columns
