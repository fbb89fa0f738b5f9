"""Texts in the language of the user: one catalogue for the report, the studio and the command line.

The texts of the source are English. A catalogue of another language (``translations/de.po``, in the format of gettext)
has an entry for each text that a person may read. A text with figures or names in it has an entry with placeholders:
``{n}``, ``{n1}``, ``{n2}`` stand for numbers, ``{w}``, ``{w1}``, ``{w2}`` for one word, any other name for any text,
and ``{a!t}`` for a text that is translated itself. A text without an entry stays English, so that nothing is lost.

Pages are translated after they are made: text and labels, but nothing inside of ``bdi`` (names from the data), ``code``
and elements with ``translate="no"``, so that a column or a category that is named like a word of a page keeps its name.
Numbers get the signs of the language. Nothing here is imported where the language is English.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files

LANGUAGES = ("en", "de")
"""The languages of reports, of the studio and of the command line; the first one is that of the source."""
_NUMBER = r"[−+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?:[ \u00a0]%)?"
_LIMITED_NUMBER = rf"(?:below[ \u00a0])?{_NUMBER}"
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9]*)(!t)?\}")
_BORDERS = (re.compile(r"((?<=[.!?])(?<!Alg\.)\s+(?=[A-Z0-9\"„]))"), re.compile(r"(;\s+)"))
"""Where a text is divided: between sentences, and between items."""
_KEPT_ELEMENTS = frozenset({"bdi", "code", "script", "style", "textarea", "pre", "kbd"})
_ATTRIBUTES = "aria-label|title|placeholder|alt|data-name|hx-confirm"
_ATTRIBUTE = re.compile(rf'(?<=\s)({_ATTRIBUTES})="([^"]*)"')
_TOKEN = re.compile(r"(<!--.*?-->|<[^>]*>)", re.DOTALL)
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "col", "wbr"})


@dataclass(frozen=True)
class Entry:
    """A text with placeholders and its translation."""

    text: str
    translation: str
    pattern: re.Pattern[str] = field(compare=False)
    translated_parts: frozenset[str] = frozenset()

    def filled(self, parts: Mapping[str, str]) -> str:
        """Return the translation with a text for each placeholder."""
        return _PLACEHOLDER.sub(lambda match: parts[match[1]], self.translation)


@dataclass(frozen=True)
class Catalogue:
    """The texts of one language.

    Parameters
    ----------
    language
        Its code, such as ``de``.
    texts
        The translation of each text without placeholders.
    entries
        Texts with placeholders, by the first word; those that begin with a placeholder under the empty text.
    """

    language: str
    texts: Mapping[str, str]
    entries: Mapping[str, tuple[Entry, ...]]

    def find(self, text: str) -> str | None:
        """Return the translation of a text, or None where the catalogue has none.

        Examples
        --------
        >>> catalogue("de").find("Information loss")
        'Informationsverlust'
        """
        known = self.texts.get(text.replace("\N{NO-BREAK SPACE}", " "))
        if known is not None:
            return known
        first = re.split("[ \N{NO-BREAK SPACE}]", text, maxsplit=1)[0]
        for entry in (*self.entries.get(first, ()), *self.entries.get("", ())):
            found = entry.pattern.fullmatch(text)
            if found is not None:
                parts = {
                    name: (self.translate(part) if name in entry.translated_parts else self._part(name, part))
                    for name, part in found.groupdict().items()
                }
                return entry.filled(parts)
        return None

    def translate(self, text: str) -> str:
        """Return the translation of a text, the text itself where there is none; numbers get other signs.

        A text of several sentences, or of several items with semicolons, is translated piece by piece if it has no
        entry as a whole.
        """
        inner = text.strip()
        if not inner:
            return text
        before, _, after = text.partition(inner)
        found = local_number(inner) if re.fullmatch(_NUMBER, inner) else self.find(inner)
        for border in _BORDERS:
            pieces = border.split(inner)
            if found is None and len(pieces) > 1:
                found = "".join(piece if place % 2 else self.translate(piece) for place, piece in enumerate(pieces))
                found = None if found == inner else found
        return text if found is None else f"{before}{found}{after}"

    def _part(self, name: str, part: str) -> str:
        """Return what takes the place of a placeholder: a number with local signs, any other text as it is."""
        if not _is_number_name(name):
            return part
        return local_number(part) if re.fullmatch(_NUMBER, part) else self.translate(part)


def local_number(text: str) -> str:
    """Return a number with a comma for decimals and points between thousands.

    Examples
    --------
    >>> local_number("1,234.5 %")
    '1.234,5 %'
    """
    return text.translate(str.maketrans(",.", ".,"))


@cache
def catalogue(language: str) -> Catalogue:
    """Return the texts of a language, which are read once.

    Parameters
    ----------
    language
        One of :data:`LANGUAGES`; English has no texts of its own.

    Returns
    -------
    catalogue
        The texts.

    Examples
    --------
    >>> catalogue("de").translate("3 groups")
    '3 Gruppen'
    """
    texts: dict[str, str] = {}
    entries: dict[str, list[Entry]] = {}
    if language != LANGUAGES[0]:
        source = files("shoal.core").joinpath("translations", f"{language}.po").read_text(encoding="utf-8")
        for text, translation in read_catalogue(source):
            if _PLACEHOLDER.search(text):
                first = text.partition(" ")[0]
                entries.setdefault("" if "{" in first else first, []).append(_entry(text, translation))
            else:
                texts[text] = translation
    ordered = {
        first: tuple(sorted(found, key=lambda entry: -len(_PLACEHOLDER.sub("", entry.text))))
        for first, found in entries.items()
    }
    return Catalogue(language, texts, ordered)


def _entry(text: str, translation: str) -> Entry:
    """Return a text with placeholders as a pattern."""
    pieces, place, used = [], 0, set[str]()
    for match in _PLACEHOLDER.finditer(text):
        pieces.append(_literal(text[place : match.start()]))
        shape = _LIMITED_NUMBER if _is_number_name(match[1]) else r"\S+" if match[1] in {"w", "w1", "w2"} else ".+?"
        pieces.append(f"(?P={match[1]})" if match[1] in used else f"(?P<{match[1]}>{shape})")
        used.add(match[1])
        place = match.end()
    pieces.append(_literal(text[place:]))
    nested = frozenset(match[1] for match in _PLACEHOLDER.finditer(translation) if match[2])
    return Entry(text, translation, re.compile("".join(pieces), re.DOTALL), nested)


def _is_number_name(name: str) -> bool:
    """Return whether a placeholder stands for a number: n, n1, n2, ..."""
    return re.fullmatch(r"n\d?", name) is not None


def _literal(text: str) -> str:
    return re.escape(text).replace(r"\ ", "[ \N{NO-BREAK SPACE}]")


def read_catalogue(source: str) -> Iterator[tuple[str, str]]:
    r"""Yield the entries of a file in the format of gettext, each a text and its translation.

    Parameters
    ----------
    source
        The content of the file: lines ``msgid "..."`` and ``msgstr "..."``, long ones continued on further lines.

    Yields
    ------
    entry
        A text and its translation; the head of the file (an empty text) is left out.

    Examples
    --------
    >>> list(read_catalogue('msgid "yes"\nmsgstr "ja"\n'))
    [('yes', 'ja')]
    """
    parts: dict[str, str] = {}
    current = ""
    for line in [*source.splitlines(), 'msgid ""']:
        keyword, _, rest = line.partition(" ")
        if keyword in {"msgid", "msgstr"}:
            if keyword == "msgid" and parts.get("msgid"):
                yield parts["msgid"], parts["msgstr"]
            if keyword == "msgid":
                parts = {}
            current = keyword
            parts[current] = _unquoted(rest)
        elif line.startswith('"'):
            parts[current] += _unquoted(line)


def _unquoted(text: str) -> str:
    """Return a quoted text without its quotes and escapes."""
    signs = {"n": "\n", "t": "\t"}
    return re.sub(r"\\(.)", lambda match: signs.get(match[1], match[1]), text.strip()[1:-1])


@lru_cache(maxsize=20_000)
def translated(text: str, language: str) -> str:
    """Return a text in a language; the text itself where the catalogue has no entry.

    Parameters
    ----------
    text
        A text of the source, with its figures and names.
    language
        One of :data:`LANGUAGES`.

    Returns
    -------
    text
        The translation. Cost: a look-up; with placeholders, one match for each entry with the same first word.

    Examples
    --------
    >>> translated("Information loss", "de"), translated("Information loss", "en")
    ('Informationsverlust', 'Information loss')
    """
    return text if language == LANGUAGES[0] else catalogue(language).translate(text)


def translated_page(page: str, language: str) -> str:
    """Return a page, or a fragment of one, in a language.

    Parameters
    ----------
    page
        HTML text made by Shoal, in which names from the data are inside of ``bdi``.
    language
        One of :data:`LANGUAGES`.

    Returns
    -------
    page
        The page with the language stated; marks, links and names are the same. Cost O(length).

    Examples
    --------
    >>> translated_page("<h2>Groups</h2><bdi>Groups</bdi>", "de")
    '<h2>Gruppen</h2><bdi>Groups</bdi>'
    """
    if language == LANGUAGES[0]:
        return page
    return "".join(_translated_tokens(_TOKEN.split(page), language))


def _translated_tokens(tokens: list[str], language: str) -> Iterator[str]:
    """Yield the parts of a page: texts at even places, marks at odd ones."""
    kept, depth, option = "", 0, ""
    for place, token in enumerate(tokens):
        if place % 2 == 0:
            text = html.unescape(token)
            found = text if depth or not text.strip() else translated(text, language)
            if option:
                yield option if found == text else f'{option[:-1]} value="{html.escape(text.strip())}">'
                option = ""
            yield token if found == text else html.escape(found, quote=False)
            continue
        name = _name_of(token)
        if depth:
            depth += (name == kept) - (name == f"/{kept}")
            yield token
            continue
        if name not in _VOID and (name in _KEPT_ELEMENTS or 'translate="no"' in token) and not token.endswith("/>"):
            kept, depth = name, 1
        mark = _translated_mark(token, name, language)
        if name == "option" and " value=" not in token:
            option = mark  # the form sends the text, unless a value is stated
        else:
            yield mark


def _name_of(token: str) -> str:
    """Return the name of a mark, with a slash where it ends an element."""
    found = re.match(r"</?[A-Za-z][\w-]*", token)
    return "" if found is None else found[0][1:].lower()


def _translated_mark(token: str, name: str, language: str) -> str:
    """Return a mark with its labels in a language."""
    if name == "html":
        return re.sub(r'lang="\w+"', f'lang="{language}"', token, count=1)
    if "=" not in token or name.startswith("/"):
        return token

    def label(match: re.Match[str]) -> str:
        text = html.unescape(match[2])
        return f'{match[1]}="{html.escape(translated(text, language))}"'

    return _ATTRIBUTE.sub(label, token)


def texts_of_page(page: str) -> Iterator[str]:
    """Yield the texts and labels of a page that a catalogue needs entries for: those with letters, outside of names.

    Parameters
    ----------
    page
        HTML text made by Shoal.

    Yields
    ------
    text
        A text as it is looked up.

    Examples
    --------
    >>> list(texts_of_page('<p title="Size">3 groups of <bdi>age</bdi></p>'))
    ['Size', '3 groups of']
    """
    kept, depth = "", 0
    for place, token in enumerate(_TOKEN.split(page)):
        name = _name_of(token) if place % 2 else ""
        if depth:
            depth += bool(name) and (name == kept) - (name == f"/{kept}")
        elif place % 2:
            if name not in _VOID and (name in _KEPT_ELEMENTS or 'translate="no"' in token) and not token.endswith("/>"):
                kept, depth = name, 1
            labels = [] if name.startswith("/") else [match[2] for match in _ATTRIBUTE.finditer(token)]
            yield from (html.unescape(label).strip() for label in labels if has_letters(html.unescape(label)))
        elif has_letters(html.unescape(token)):
            yield html.unescape(token).strip()


def has_letters(text: str) -> bool:
    """Return whether a text has two letters in a row, so that it is more than a sign or a symbol."""
    return re.search(r"[^\W\d_]{2}", text) is not None


def chosen_language(stated: str | None) -> str:
    """Return the language for a stated one: an HTTP header with preferences, or a locale of the environment.

    Parameters
    ----------
    stated
        ``de-AT,de;q=0.9,en;q=0.8`` or ``de_DE.UTF-8``; None or an unknown language gives English.

    Returns
    -------
    language
        One of :data:`LANGUAGES`; the first one where none of them is stated.

    Examples
    --------
    >>> chosen_language("fr;q=0.9,de-AT;q=0.8,en;q=0.5"), chosen_language("de_DE.UTF-8"), chosen_language("C")
    ('de', 'de', 'en')
    """
    weighted = []
    for place, part in enumerate((stated or "").split(",")):
        name, _, weight = part.strip().partition(";q=")
        try:
            weighted.append(
                (-float(weight or 1), place, name.replace("_", "-").replace(".", "-").partition("-")[0].lower())
            )
        except ValueError:
            continue
    known = [name for _, _, name in sorted(weighted) if name in LANGUAGES]
    return known[0] if known else LANGUAGES[0]
