"""Checks of single columns for rule books: direct identifiers, small areas, dates, ages and postcodes.

Columns are recognised by their names and by the form of their values (``shoal.schema``), so a line says what a column
looks like. Texts name columns, never values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import narwhals as nw
import polars as pl

from shoal.privacy.rule_books import ColumnRules
from shoal.schema.column_words import looks_like_identifier, words_of
from shoal.schema.value_patterns import IDENTIFYING, form_of
from shoal.tables import Table

KINDS: Mapping[str, str] = {
    "name": "name names surname lastname firstname forename initials vorname nachname",
    "telephone or fax number": "phone telephone tel fax mobile cell telefon",
    "e-mail address": "email mail",
    "social security number": "ssn socialsecurity",
    "medical record number": "mrn medicalrecord patientid patientno",
    "health plan number": "healthplan beneficiary insuranceno insurancenumber policyno",
    "account number": "account accountno iban",
    "certificate or licence number": "licence license certificate passport",
    "vehicle identifier": "vin plate licenceplate",
    "device identifier": "device serial imei deviceid",
    "web address": "url web website homepage",
    "IP address": "ip ipaddress",
    "biometric identifier": "fingerprint voiceprint iris biometric",
    "photograph": "photo photograph portrait image",
    "another identifying number": "id identifier uuid pseudonym caseid",
}
"""The kinds of direct identifiers, with words of names of columns."""
_AREAS = (
    "street address city town village county district municipality commune precinct parish geocode latitude longitude"
)
_POSTCODES = {"zip", "zipcode", "postcode", "postalcode", "plz"}
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class RuleLine:
    """One line of a book, as it came out.

    Parameters
    ----------
    rule
        What the line is about.
    satisfied
        Whether it is; None if the table alone does not show it.
    text
        What was found, in a sentence.
    column
        The column that violates it, if there is one.
    """

    rule: str
    satisfied: bool | None
    text: str
    column: str | None = None


def check_columns(table: Table, rules: ColumnRules, populations: Mapping[str, int] | None) -> list[RuleLine]:
    """Return a line for each rule about columns; one for each column that violates it.

    Parameters
    ----------
    table
        The table that is to be released.
    rules
        The rules.
    populations
        How many people live in the area of each postcode, as far as it is released; None if that is not known.
    """
    lines: list[RuleLine] = []
    if not rules.identifiers:
        lines += _identifiers(table)
    if not rules.small_areas:
        lines += _areas(table)
    if rules.dates == "year":
        lines += _dates(table)
    if rules.largest_age is not None:
        lines += _ages(table, rules.largest_age)
    if rules.postcode_digits is not None:
        lines += _postcodes(table, rules.postcode_digits)
    if rules.small_postcodes is not None:
        lines += _small_postcodes(table, rules, populations)
    return lines


def _words(name: str) -> set[str]:
    words = words_of(name)
    return {*words, "".join(words)}


def _lines(rule: str, found: Mapping[str, str], satisfied: str) -> list[RuleLine]:
    """Return one violated line for each column, or one that is satisfied."""
    if not found:
        return [RuleLine(rule, True, satisfied)]
    return [RuleLine(rule, False, text, name) for name, text in found.items()]


def _identifiers(table: Table) -> list[RuleLine]:
    found = {}
    for name in table.names:
        if _is_age(name) or _is_postcode(table, name) or _is_date(table, name):
            continue  # these have rules of their own
        series = table.typed(name)
        form = form_of(series) if series.dtype == nw.String else None
        kind = next((kind for kind, words in KINDS.items() if _words(name) & set(words.split())), None)
        reason = looks_like_identifier(series)
        if kind is not None:
            found[name] = f'column "{name}" is named like a {kind}'
        elif form in IDENTIFYING:
            found[name] = f'column "{name}" looks like a {form}'
        elif reason and series.dtype == nw.String:
            found[name] = f'column "{name}" may identify single persons ({reason})'
    lines = _lines("direct identifiers", found, "no column looks like a direct identifier")
    text = "photographs, biometrics and other identifying characteristics inside texts or files are not recognised"
    return [*lines, RuleLine("other identifying characteristics", None, text)]


def _areas(table: Table) -> list[RuleLine]:
    areas = set(_AREAS.split())
    found = {
        name: f'column "{name}" is named like an area below a state'
        for name in table.names
        if _words(name) & areas and not _is_postcode(table, name)
    }
    return _lines("areas", found, "no column is named like an area below a state")


def _is_date(table: Table, name: str) -> bool:
    series = table.typed(name)
    return series.dtype.is_temporal() or (series.dtype == nw.String and form_of(series) == "date")


def _dates(table: Table) -> list[RuleLine]:
    found = {
        name: f'column "{name}" has dates; only years are allowed, also where dates are means of groups'
        for name in table.names
        if _is_date(table, name)
    }
    return _lines("dates", found, "no column has dates below a year")


def _is_age(name: str) -> bool:
    return bool(_words(name) & {"age", "alter"})


def _ages(table: Table, largest: int) -> list[RuleLine]:
    found = {}
    for name in filter(_is_age, table.names):
        series = table.typed(name)
        if series.dtype.is_numeric():
            top = series.drop_nulls().max()
            above = top is not None and float(str(top)) > largest
        else:  # texts such as 85-89 or 90+
            numbers = [int(n) for text in _texts(table, name) for n in _NUMBER.findall(text)]
            above = bool(numbers) and max(numbers) > largest + 1
        if above:
            found[name] = f'column "{name}" has ages above {largest}; use a top code such as {largest + 1}+'
    return _lines("ages", found, f"no age is above {largest}")


def _is_postcode(table: Table, name: str) -> bool:
    series = table.typed(name)
    return bool(_words(name) & _POSTCODES) or (series.dtype == nw.String and form_of(series) == "postcode")


def _postcodes(table: Table, digits: int) -> list[RuleLine]:
    found = {
        name: f'column "{name}" has postcodes of more than {digits} digits'
        for name in table.names
        if _is_postcode(table, name) and any(len(_code(text)) > digits for text in _texts(table, name))
    }
    return _lines("postcodes", found, f"no postcode has more than {digits} digits")


def _small_postcodes(table: Table, rules: ColumnRules, populations: Mapping[str, int] | None) -> list[RuleLine]:
    names = [name for name in table.names if _is_postcode(table, name)]
    rule, limit = "small postcode areas", rules.small_postcodes or 0
    if not names:
        return [RuleLine(rule, True, "the table has no postcodes")]
    if populations is None:
        return [RuleLine(rule, None, "how many people live in each area is not known; name a table with --populations")]
    found, unknown = {}, {}
    for name in names:
        codes = {_code(text) for text in _texts(table, name)} - {"", "0" * (rules.postcode_digits or 3)}
        if any(code not in populations for code in codes):
            unknown[name] = f'column "{name}" has areas that the table of populations does not have'
        if any(populations.get(code, limit + 1) <= limit for code in codes):
            found[name] = f'column "{name}" has areas of at most {limit:,} people, which must be released as 000'
    lines = _lines(rule, found, f"no area has {limit:,} people or fewer")
    lines = [] if unknown and not found else lines
    return lines + [RuleLine(rule, None, text, name) for name, text in unknown.items()]


def _code(text: str) -> str:
    """Return a postcode without signs that hide digits, such as 816**."""
    return re.sub(r"[^0-9A-Za-z]|[xX]+$", "", text)


def _texts(table: Table, name: str) -> list[str]:
    return table.column(name).to_polars().cast(pl.String).drop_nulls().unique().to_list()
