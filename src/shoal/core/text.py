"""Figures as text and as HTML: percentages, and tables for ``print`` and for notebooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import Any


def percent(share: float | None, digits: int = 2) -> str:
    """Return a share as a percentage; an empty text for None.

    Examples
    --------
    >>> percent(0.125), percent(0.125, 0), percent(None)
    ('12.50 %', '12 %', '')
    """
    return "" if share is None else f"{100 * share:.{digits}f} %"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of text, each as wide as its longest entry.

    Examples
    --------
    >>> print(text_table(("name", "loss"), [("age", "1 %"), ("income", "12 %")]))
    name    loss
    ------  ----
    age     1 %
    income  12 %
    """
    widths = [max(len(row[position]) for row in [header, *rows]) for position in range(len(header))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, ["-" * width for width in widths], *rows]
    ]
    return "\n".join(lines)


def html_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as HTML; all texts are escaped.

    Examples
    --------
    >>> html_table(("name",), [("<age>",)])
    '<table><tr><th>name</th></tr><tr><td>&lt;age&gt;</td></tr></table>'
    """

    def line(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(header, "th") + "".join(line(row, "td") for row in rows) + "</table>"


def text_of(value: object) -> str:
    """Return how a value is written in ranges and hierarchy files: 34.0 as 34, anything else as Python prints it.

    Examples
    --------
    >>> text_of(34.0), text_of(0.5), text_of("x")
    ('34', '0.5', 'x')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def json_text(value: Any, *, ascii_only: bool = False) -> str:
    r"""Return a value as indented JSON; characters that steer a terminal or the direction of writing are escaped.

    Examples
    --------
    >>> print(json_text("caf\u00e9 \u202egnp"))
    "café \u202egnp"
    """
    text = json.dumps(value, indent=2, ensure_ascii=ascii_only)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    """Return a character as JSON escapes it."""
    return f"\\u{ord(character):04x}" if character.isascii() else json.dumps(character)[1:-1]


def function_name(function: Callable[..., Any]) -> str:
    """Return module and name of a function; a partial function has those of the function that it completes.

    Examples
    --------
    >>> from functools import partial
    >>> function_name(partial(function_name))
    'shoal.core.text:function_name'
    """
    inner = getattr(function, "func", function)
    module = getattr(inner, "__module__", None) or "__main__"
    return f"{module}:{getattr(inner, '__qualname__', type(inner).__name__)}"
