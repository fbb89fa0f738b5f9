"""The colours of the pages: light, dark and print, safe for colour-blind readers, every text at 4.5:1 or more.

The hues are those of Okabe and Ito (2008): blue for the released table, grey for the original, vermillion against blue
where signs matter. Dark pages use the same hues, lighter. Printed pages are always light.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "panel": "#f5f7f9",
    "ink": "#17202a",
    "soft": "#51606e",
    "line": "#d3dbe3",
    "link": "#00588a",
    "before": "#ccd4dc",
    "before-line": "#6a7784",
    "after": "#0072b2",
    "good": "#00614a",
    "good-paper": "#e8f4f0",
    "warn": "#833f00",
    "warn-paper": "#fdf2e6",
    "negative": "#d55e00",
    "positive": "#0072b2",
}
DARK = {
    "paper": "#11171d",
    "panel": "#19212a",
    "ink": "#e8eef4",
    "soft": "#a9b7c4",
    "line": "#34414e",
    "link": "#7cc6f2",
    "before": "#4a5763",
    "before-line": "#98a7b5",
    "after": "#56b4e9",
    "good": "#66d3ac",
    "good-paper": "#102a21",
    "warn": "#ffc581",
    "warn-paper": "#2f2311",
    "negative": "#e8823a",
    "positive": "#56b4e9",
}
SERIES = ("#0072b2", "#d55e00", "#009e73", "#b3568b", "#a37b00", "#3b8fc4", "#6b7682", "#8c564b")
"""Colours of the methods of a comparison, at 3:1 or more on light and on dark paper."""
SHADES = 5
"""The number of shades of a heat map on either side of zero."""


def mixed(start: str, end: str, share: float) -> str:
    """Return a colour between two.

    Examples
    --------
    >>> mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    pairs = [(int(start[at : at + 2], 16), int(end[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in pairs)


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it: 1 (none) to 21.

    Examples
    --------
    >>> contrast("#000000", "#ffffff")
    21.0
    """
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def shades(colours: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the colours of the cells of a heat map, and of the text in them, by name: ``m5`` ... ``z`` ... ``p5``."""
    found = {}
    for step in range(-SHADES, SHADES + 1):
        end = colours["negative" if step < 0 else "positive"]
        cell = mixed(colours["paper"], end, abs(step) / SHADES)
        text = max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, cell))
        found[shade_name(step)] = cell, text
    return found


def shade_name(step: int) -> str:
    """Return the name of a shade: ``m2`` for -2, ``z`` for 0, ``p2`` for 2."""
    return "z" if step == 0 else f"{'p' if step > 0 else 'm'}{abs(step)}"


def stylesheet(rest: str) -> str:
    """Return the style of a page: the colours of light and dark, then the rest.

    Dark is chosen by the system or by the switch on the page; a switch works by ``:has``, without a script. Only
    screens are ever dark.
    """
    light, dark = _variables(LIGHT, "light"), _variables(DARK, "dark")
    cells = "".join(
        f"svg .{name}{{fill:var(--{name})}}svg .{name}-text{{fill:var(--{name}-text)}}" for name in shades(LIGHT)
    )
    return (
        f":root{{{light}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root:has(#theme-light:checked){{{light}}}}}\n"
        f"@media screen{{:root:has(#theme-dark:checked){{{dark}}}}}\n{cells}\n{rest}"
    )


def _variables(colours: dict[str, str], scheme: str) -> str:
    found = [f"color-scheme:{scheme}", *(f"--{name}:{colour}" for name, colour in colours.items())]
    for name, (cell, text) in shades(colours).items():
        found += [f"--{name}:{cell}", f"--{name}-text:{text}"]
    return ";".join(found)
