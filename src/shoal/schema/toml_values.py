"""Plain values as the text of a TOML file: the standard library reads TOML and does not write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shoal.errors import ParameterError

_LINE = 120


def format_document(content: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """Return a mapping as TOML: values first, then a section for each mapping, and one for each mapping of a list.

    Parameters
    ----------
    content
        Texts, numbers, truth values, lists and mappings.
    comments
        A comment above a key or a section of the document.

    Examples
    --------
    >>> print(format_document({"version": 1, "method": {"name": "mdav", "options": {"gamma": 0.5}}}))
    version = 1
    <BLANKLINE>
    [method]
    name = "mdav"
    options = {gamma = 0.5}
    <BLANKLINE>
    """
    comments = comments or {}
    lines = []
    for name, value in content.items():
        if not isinstance(value, Mapping):
            lines += [*_comment(comments.get(name)), f"{format_key(name)} = {format_value(value)}"]
    for name, value in content.items():
        if isinstance(value, Mapping):
            lines += ["", *_comment(comments.get(name)), f"[{format_key(name)}]", *_section(format_key(name), value)]
    return "\n".join(lines) + "\n"


def _section(heading: str, content: Mapping[str, Any]) -> list[str]:
    """Return the lines of a section; lists of mappings become sections of their own, after all values."""
    lines = [f"{format_key(name)} = {format_value(value)}" for name, value in content.items() if not _is_rows(value)]
    for name, value in content.items():
        if _is_rows(value):
            for row in value:
                lines += ["", f"[[{heading}.{format_key(name)}]]"]
                lines += [f"{format_key(key)} = {format_value(item)}" for key, item in row.items()]
    return lines


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _comment(text: str | None) -> list[str]:
    return [] if text is None else [f"# {line}" for line in text.splitlines()]


def format_value(value: Any) -> str:
    """Return a value as it stands behind a key; long lists take one line per entry.

    Examples
    --------
    >>> format_value([1, 2.5, True, "a b", {"x": "y"}])
    '[1, 2.5, true, "a b", {x = "y"}]'
    """
    text = _inline(value)
    if isinstance(value, list) and len(text) > _LINE:
        return "[\n" + "".join(f"  {_inline(item)},\n" for item in value) + "]"
    return text


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)  # the shortest text that is read back as the same number; also inf and nan
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{format_key(name)} = {_inline(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return format_text(value)


def format_key(name: str) -> str:
    """Return a key, in quotation marks where it needs them.

    Examples
    --------
    >>> format_key("age"), format_key("income, net")
    ('age', '"income, net"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else format_text(name)


def format_text(value: str) -> str:
    r"""Return a text in quotation marks; what is not printable is escaped.

    Examples
    --------
    >>> print(format_text('a "b"\n'))
    "a \"b\"\U0000000A"
    """
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ParameterError("a name with bytes that are not UTF-8 text cannot be written to a TOML file; rename it")
    escaped = "".join({"\\": "\\\\", '"': '\\"'}.get(c, c if c.isprintable() else f"\\U{ord(c):08X}") for c in value)
    return f'"{escaped}"'
