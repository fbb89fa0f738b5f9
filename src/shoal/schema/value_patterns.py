"""Texts of a column that have the form of an address, a number or a date, and texts that are ordered.

Patterns are compared with at most 2,000 different values; a form is reported where at least nine of ten have it. No
value of a record is returned.
"""

from __future__ import annotations

import re
from typing import Any

import narwhals as nw

SAMPLE = 2_000
MOSTLY = 0.9
FREE_TEXT_LETTERS, FREE_TEXT_WORDS = 30, 5
MOST_ORDERED = 12

_PATTERNS = (
    ("e-mail address", r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    ("web address", r"(?:https?://|www\.)\S+"),
    ("IP address", r"(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f:]+"),
    ("IBAN", r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?"),
    ("UUID", r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"),
    (
        "telephone number",
        r"(?:\+|00)\d[\d\s()/-]{6,}\d|0\d{1,4}[\s/-]\d[\d\s-]{4,}\d|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4}",
    ),
    ("social security number", r"\d{3}-\d{2}-\d{4}"),
)  # fmt: skip
IDENTIFYING = frozenset(name for name, _ in _PATTERNS)
"""The forms of values that identify a person directly."""
_DATE = re.compile(
    r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}-\d{1,2}-\d{4}"
    r"|\d{1,2}[ -]?[A-Za-z]{3,9}[ -]?\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}|\d{4}/\d{1,2}/\d{1,2}|(?:19|20)\d{2}"
)
_POSTCODE = re.compile(r"\d{5}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2}")
_ORDERS = (
    "never rarely seldom occasionally sometimes often usually frequently always",
    "none never occas regul heavy",
    "none some marked",
    "none mild moderate severe",
    "very_low low medium high very_high",
    "low middle high",
    "low average high",
    "tiny small medium large huge",
    "very_poor poor fair good very_good excellent",
    "poor average good excellent",
    "bad fair good",
    "strongly_disagree disagree neutral agree strongly_agree",
    "disagree neither agree",
    "too_little about_right too_much",
    "very_dissatisfied dissatisfied neutral satisfied very_satisfied",
    "primary secondary tertiary",
    "primary secondary bachelor master doctorate",
    "none ged highschool bachelor master phd",
    "less_than_high_school high_school some_college junior_college bachelor graduate",
    "child adolescent adult senior",
    "young middle old",
    "i ii iii iv v",
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "monday tuesday wednesday thursday friday saturday sunday",
    "nie selten manchmal oft immer",
    "niedrig mittel hoch",
    "sehr_schlecht schlecht mittel gut sehr_gut",
    "decreased unchanged increased",
    "worse same better",
)
MISSING_LABEL = re.compile(
    r"\b(missing|refus\w*|don'?t know|dk|no answer|not (applicable|answered|asked|available|stated|known)|n/?a|unknown|"
    r"skip\w*|inapplicable|inap|keine angabe|k\.? ?a\.?|weiss nicht|weiß nicht|trifft nicht zu|verweigert)\b",
    re.IGNORECASE,
)
"""Labels of values that mean a missing value."""


def form_of(series: nw.Series[Any]) -> str | None:
    """Return the form that most texts of a column have: an e-mail address, a date, free text; None for others.

    Examples
    --------
    >>> import polars as pl
    >>> mails = nw.from_native(pl.Series("contact", ["a@b.org", "c.d@e.de"]), series_only=True)
    >>> form_of(mails), form_of(nw.from_native(pl.Series("day", ["03.07.2024", "1.1.2023"]), series_only=True))
    ('e-mail address', 'date')
    """
    texts = sample_texts(series)
    if not texts:
        return None
    for name, pattern in _PATTERNS:
        compiled = re.compile(pattern)
        if _share(texts, compiled) >= MOSTLY:
            return name
    if _share(texts, _DATE) >= MOSTLY and any(not text.isdigit() for text in texts):
        return "date"
    if _share(texts, _POSTCODE) >= MOSTLY:
        return "postcode"
    letters = sum(map(len, texts)) / len(texts)
    words = sum(len(text.split()) for text in texts) / len(texts)
    several = len(texts) >= 10 and len(texts) > 0.3 * min(len(series), SAMPLE)
    return "free text" if several and letters > FREE_TEXT_LETTERS and words > FREE_TEXT_WORDS else None


def ordered_categories(series: nw.Series[Any]) -> tuple[str, ...] | None:
    """Return the categories of a column of texts in their order, if they are words of a known scale or numbered.

    Examples
    --------
    >>> import polars as pl
    >>> ordered_categories(nw.from_native(pl.Series("pain", ["Severe", "none", "mild"]), series_only=True))
    ('none', 'mild', 'Severe')
    >>> ordered_categories(nw.from_native(pl.Series("x", ["2_fair", "1_good", "10_bad"]), series_only=True))
    ('1_good', '2_fair', '10_bad')
    """
    texts = sample_texts(series)
    if not 2 < len(texts) <= MOST_ORDERED:
        return None
    numbered = {text: re.match(r"(\d{1,2})(?:[_:)] ?|\. |- )\S", text) for text in texts}
    if all(numbered.values()):
        numbers = {text: int(found.group(1)) for text, found in numbered.items() if found}
        if len(set(numbers.values())) == len(texts):
            return tuple(sorted(texts, key=numbers.__getitem__))
    plain = {text: re.sub(r"[^a-z]+", "_", text.strip().lower()).strip("_") for text in texts}
    for scale in _ORDERS:
        words = scale.split()
        if all(word in words for word in plain.values()) and len(set(plain.values())) == len(texts):
            return tuple(sorted(texts, key=lambda text: words.index(plain[text])))
    return _ordered_intervals(texts)


def _ordered_intervals(texts: list[str]) -> tuple[str, ...] | None:
    """Return intervals such as ``18-24``, ``25-34`` and ``65+`` by their lower ends, or None."""
    starts = {}
    for text in texts:
        found = re.fullmatch(
            r"[<>≤≥]?=? ?[\[(]?(-?\d+(?:\.\d+)?)(?: ?(?:-|–|to|,|bis) ?-?\d+(?:\.\d+)?|\+| ?or more)?[\])]?", text
        )
        if found is None:
            return None
        starts[text] = (float(found.group(1)), not text.startswith(("<", "≤")))
    if all(re.fullmatch(r"-?\d+(?:\.\d+)?", text) for text in texts) or len(set(starts.values())) < len(texts):
        return None
    return tuple(sorted(texts, key=starts.__getitem__))


def sample_texts(series: nw.Series[Any]) -> list[str]:
    """Return at most 2,000 different texts of a column; none where the column holds something else."""
    if not isinstance(series.dtype, nw.String | nw.Categorical | nw.Enum):
        return []
    found = series.drop_nulls().unique().to_list()
    return sorted(text for text in map(str, found) if text.strip())[:: max(1, len(found) // SAMPLE)]


def _share(texts: list[str], pattern: re.Pattern[str]) -> float:
    return sum(pattern.fullmatch(text.strip()) is not None for text in texts) / len(texts)
