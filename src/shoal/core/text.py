"""Figures as text and as HTML: percentages, and tables for ``print`` and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


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
