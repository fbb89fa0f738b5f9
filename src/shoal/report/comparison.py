"""The risk-utility picture of a comparison, and a page around it."""

from __future__ import annotations

from importlib.resources import files
from math import ceil
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from shoal.comparing import Combination, Comparison

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7f7f7f", "#8c564b")
_WIDTH, _HEIGHT = 640.0, 400.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 64.0, 18.0, 470.0, 346.0
_STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#1d2733}.axis{stroke:#d8dee6}.soft{fill:#5b6775}"
    "@media (prefers-color-scheme:dark){text{fill:#e7edf3}.axis{stroke:#2c3743}.soft{fill:#9fb0c0}}</style>"
)


def comparison_picture(comparison: Comparison) -> Markup:
    """Return loss across and linkage risk up: one colour and mark per method, points joined in the order of k.

    Examples
    --------
    >>> from shoal.comparing import Combination, Comparison
    >>> one = Combination("mdav", 5, loss=0.1, linkage=0.2, linkage_low=0.1, linkage_high=0.3)
    >>> str(comparison_picture(Comparison((one,), 100))).count("<circle")
    2
    """
    shown = [one for one in comparison.combinations if one.loss is not None and one.linkage is not None]
    across = _top([one.loss for one in shown if one.loss is not None])
    up = _top([one.linkage_high or one.linkage or 0.0 for one in shown])
    parts = [_axes(across, up)]
    methods = list(dict.fromkeys(one.method for one in shown))
    for number, method in enumerate(methods):
        colour, mark = _COLOURS[number % len(_COLOURS)], number % 4
        mine = [one for one in shown if one.method == method]
        places = [_place(one, across, up) for one in mine]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-opacity="0.5"/>')
        for one, (x, y) in zip(mine, places, strict=True):
            parts.append(_mark(mark, x, y, colour))
            name = one.name.partition(" ")[2]
            parts.append(f'<text x="{x + 8:.1f}" y="{y - 6:.1f}" class="soft">{escape(name)}</text>')
        y = _TOP + 14 + 22 * number
        label = method if len(method) <= 20 else method[:19] + "…"
        parts.append(_mark(mark, _RIGHT + 22, y - 4, colour))
        parts.append(f'<text x="{_RIGHT + 34}" y="{y}">{escape(label)}</text>')
    if not shown:
        parts.append(f'<text x="{_LEFT + 20}" y="{_TOP + 40}">no combination succeeded</text>')
    title = "Information loss and linkage risk of each combination"
    described = "; ".join(
        f"{one.name}: loss {100 * (one.loss or 0):.4g} %, linkage {100 * (one.linkage or 0):.4g} %" for one in shown
    )
    return Markup(  # noqa: S704 - names are escaped above
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" width="{_WIDTH:.0f}" '
        f'role="img" aria-label="{title}">{_STYLE}<title>{title}</title><desc>{escape(described)}</desc>'
        + "".join(parts)
        + "</svg>\n"
    )


def comparison_page(comparison: Comparison) -> str:
    """Return picture and table as one self-contained web page."""
    from jinja2 import Environment, StrictUndefined

    from shoal.comparing import HEADINGS

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    source = files("shoal.report").joinpath("comparison.html.jinja").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        comparison=comparison,
        picture=comparison_picture(comparison),
        headings=HEADINGS,
        rows=comparison.rows(),
        reasons=comparison.reasons(),
    )


def _top(values: list[float]) -> float:
    """Return a round number of at least the largest value, as the end of an axis."""
    largest = max([0.001, *values]) * 1.08
    step = 10.0 ** (len(str(int(1 / largest))) - 1) if largest < 1 else 1.0
    return min(ceil(largest * step * 10) / (step * 10), 1.0) if largest <= 1 else largest


def _place(one: Combination, across: float, up: float) -> tuple[float, float]:
    assert one.loss is not None
    assert one.linkage is not None
    x = _LEFT + (_RIGHT - _LEFT) * min(one.loss / across, 1.0)
    return x, _BOTTOM - (_BOTTOM - _TOP) * min(one.linkage / up, 1.0)


def _axes(across: float, up: float) -> str:
    parts = []
    for tick in range(6):
        share = tick / 5
        x, y = _LEFT + (_RIGHT - _LEFT) * share, _BOTTOM - (_BOTTOM - _TOP) * share
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_BOTTOM}" class="axis"/>'
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}" class="axis"/>'
            f'<text x="{x:.1f}" y="{_BOTTOM + 18}" text-anchor="middle" class="soft">{_tick(across, share)}</text>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" class="soft">{_tick(up, share)}</text>'
        )
    middle = (_LEFT + _RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_BOTTOM + 40}" text-anchor="middle">information lost</text>')
    middle = (_TOP + _BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 14 {middle:.0f})">'
        "records linked to their person</text>"
    )
    return "".join(parts)


def _tick(end: float, share: float) -> str:
    return f"{100 * end * share:.3g} %"


def _mark(kind: int, x: float, y: float, colour: str) -> str:
    """Return a circle, square, triangle or diamond, so that colour is not the only difference."""
    if kind == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    if kind == 1:
        return f'<path d="M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z" fill="{colour}"/>'
    if kind == 2:
        return f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z" fill="{colour}"/>'
