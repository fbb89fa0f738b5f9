"""Figures as a plain table of text, for ``print``."""

from __future__ import annotations

from collections.abc import Sequence


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of text, each as wide as its longest entry.

    Examples
    --------
    >>> print(plain_table(("name", "loss"), [("age", "1 %"), ("income", "12 %")]))
    name    loss
    ------  ----
    age     1 %
    income  12 %
    """
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in [heads, ["-" * width for width in widths], *rows]
    ]
    return "\n".join(lines)
