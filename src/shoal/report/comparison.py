"""The risk-utility figure of a comparison, and a page around it.

Information loss on the horizontal axis, record linkage on the vertical one, one colour and one shape per method, a mark
per combination joined in the order of k, and the 95 % confidence interval of the linkage as a line. Filled marks are
Pareto-efficient: no other combination has less loss and less linkage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import ceil
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from shoal.errors import ParameterError
from shoal.report.axes import number_text, round_step
from shoal.report.palette import DARK, LIGHT, SERIES

if TYPE_CHECKING:
    from shoal.api.combinations import Combination, Comparison

_WIDTH = 640.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 66.0, 16.0, 624.0, 346.0
_LEGEND = 404.0
_ACROSS, _LINE = 152.0, 22.0
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Mark:
    """A combination that succeeded: its name, method, figures and interval."""

    name: str
    method: str
    loss: float
    linkage: float
    interval: tuple[float, float] | None
    efficient: bool

    @classmethod
    def of(cls, combination: Combination) -> _Mark | None:
        """Return the mark of a combination; None where it failed."""
        if combination.information_loss is None or combination.record_linkage is None:
            return None
        low, high = combination.record_linkage_low, combination.record_linkage_high
        return cls(
            combination.name,
            f"{combination.method} ({combination.counted})" if combination.counted else combination.method,
            combination.information_loss,
            combination.record_linkage,
            None if low is None or high is None else (low, high),
            combination.efficient,
        )


def comparison_figure(comparison: Comparison, *, alone: bool = True) -> Markup:
    """Return the figure as SVG.

    Parameters
    ----------
    comparison
        What to draw.
    alone
        With a style of its own, for a file; otherwise the page around it brings the style.

    Examples
    --------
    >>> from shoal.api.combinations import Combination, Comparison
    >>> line = Combination("mdav", 5, information_loss=0.1, record_linkage=0.2)
    >>> str(comparison_figure(Comparison((line,), 100))).count("<circle")
    2
    """
    marks = [mark for mark in map(_Mark.of, comparison.combinations) if mark is not None]
    across = _ticks([mark.loss for mark in marks])
    up = _ticks([max(mark.linkage, *(mark.interval or (0.0,))) for mark in marks])
    methods = list(dict.fromkeys(mark.method for mark in marks))
    parts, boxes = [_axes(across, up)], []
    for number, method in enumerate(methods):
        own = [mark for mark in marks if mark.method == method]
        positions = [_position(mark, across[-1], up[-1]) for mark in own]
        boxes += [(x - 7, y - 7, x + 7, y + 7) for x, y in positions]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in positions)
        colour = SERIES[number % len(SERIES)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for mark, (x, y) in zip(own, positions, strict=True):
            parts.append(_interval(mark, x, up[-1], colour))
            parts.append(_shape(number, x, y, filled=mark.efficient))
    parts += [_label(mark, *_position(mark, across[-1], up[-1]), boxes) for mark in marks]
    parts += _legend(methods)
    if not marks:
        parts.append(f'<text x="{_LEFT + 20}" y="{_TOP + 40}">no combination succeeded</text>')
    height = _LEGEND + _LINE * (ceil(len(methods) / 4) + 1)
    title = "Information loss and record linkage of each combination"
    described = "; ".join(
        f"{mark.name}: information loss {100 * mark.loss:.4g} %, record linkage {100 * mark.linkage:.4g} %"
        for mark in marks
    )
    space = 'xmlns="http://www.w3.org/2000/svg" ' if alone else 'class="figure" '
    return Markup(  # noqa: S704 - names are escaped above
        f'<svg {space}viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" height="{height:.0f}" role="img" '
        f'aria-labelledby="compared-title compared-desc">{_style() if alone else ""}'
        f'<title id="compared-title">{title}</title><desc id="compared-desc">{escape(described)}</desc>'
        + "".join(parts)
        + "</svg>\n"
    )


def comparison_page(
    comparison: Comparison,
    headings: Sequence[str],
    utility_headings: Sequence[str],
    same_linkage_headings: Sequence[str],
    language: str = "en",
) -> str:
    """Return figure and tables as one self-contained web page.

    Parameters
    ----------
    comparison
        What to show.
    headings, utility_headings, same_linkage_headings
        The headings of its rows, of its rows of utility, and of those at the same record linkage.
    language
        The language of the texts, ``en`` or ``de``.
    """
    from shoal.report.page import render_page

    return render_page(
        "comparison.html.jinja",
        {
            "comparison": comparison,
            "figure": comparison_figure(comparison, alone=False),
            "headings": headings,
            "rows": comparison.rows(),
            "utility_headings": utility_headings,
            "same_linkage_headings": same_linkage_headings,
            "reasons": comparison.reasons(),
            "persons": bool(comparison.note),
        },
        language,
    )


def comparison_png(comparison: Comparison) -> bytes:
    """Return the figure as PNG on white, twice as large; needs ``shoal[png]``."""
    check_png()
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=str(comparison_figure(comparison)), background="#ffffff", zoom=2))


def check_png() -> None:
    """Raise, before any work, where the library that draws PNG files is not installed."""
    if find_spec("resvg_py") is None:
        raise ParameterError("a .png file needs one more library: install shoal[png], or write .svg instead")


def _style() -> str:
    def rules(colours: dict[str, str]) -> str:
        return (
            f"text{{fill:{colours['ink']}}}.soft{{fill:{colours['soft']}}}.grid{{stroke:{colours['line']}}}"
            f".axis{{stroke:{colours['before-line']}}}.hollow{{fill:{colours['paper']}}}"
            f".halo{{stroke:{colours['paper']};stroke-width:3;paint-order:stroke}}"
        )

    fonts = "text{font-family:system-ui,sans-serif;font-size:12px}.grid,.axis{fill:none}"
    return f"<style>{fonts}{rules(LIGHT)}@media (prefers-color-scheme:dark){{{rules(DARK)}}}</style>"


def _ticks(values: Sequence[float]) -> list[float]:
    """Return round shares from 0 to a little more than the largest.

    Examples
    --------
    >>> _ticks([0.13, 0.31])
    [0.0, 0.1, 0.2, 0.3, 0.4]
    """
    largest = max([0.001, *values]) * 1.02
    step = round_step(largest / 6)
    return [round(number * step, 12) for number in range(ceil(largest / step - 1e-9) + 1)]


def _position(mark: _Mark, across: float, up: float) -> tuple[float, float]:
    return _LEFT + (_RIGHT - _LEFT) * mark.loss / across, _height(mark.linkage, up)


def _height(share: float, up: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share / up


def _axes(across: Sequence[float], up: Sequence[float]) -> str:
    parts = []
    for share in across:
        x = _LEFT + (_RIGHT - _LEFT) * share / across[-1]
        text = number_text(100 * share, 100 * across[1])
        parts.append(
            f'<path class="grid" d="M{x:.1f} {_TOP}V{_BOTTOM}"/>'
            f'<text x="{x:.1f}" y="{_BOTTOM + 18}" text-anchor="middle" class="soft">{text} %</text>'
        )
    for share in up:
        y = _height(share, up[-1])
        text = number_text(100 * share, 100 * up[1])
        parts.append(
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" class="soft">{text} %</text>'
        )
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}"/>')
    parts.append(
        f'<text x="{(_LEFT + _RIGHT) / 2:.0f}" y="{_BOTTOM + 38}" text-anchor="middle">information loss</text>'
    )
    middle = (_TOP + _BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{middle:.0f}" text-anchor="middle" transform="rotate(-90 14 {middle:.0f})">'
        "record linkage (re-identified records)</text>"
    )
    return "".join(parts)


def _legend(methods: Sequence[str]) -> list[str]:
    parts = []
    for number, method in enumerate(methods):
        x, y = _LEFT + 8 + _ACROSS * (number % 4), _LEGEND + 8 + _LINE * (number // 4)
        label = method if len(method) <= 18 else method[:17] + "…"
        parts.append(_shape(number, x, y - 4, filled=True))
        parts.append(f'<text x="{x + 12}" y="{y}">{escape(label)}</text>')
    y = _LEGEND + 8 + _LINE * ceil(len(methods) / 4)
    text = "filled: Pareto-efficient; vertical lines: 95 % confidence intervals"
    parts.append(f'<text x="{_LEFT}" y="{y}" class="soft">{text}</text>')
    return parts


def _interval(mark: _Mark, x: float, up: float, colour: str) -> str:
    if mark.interval is None:
        return ""
    low, high = (_height(share, up) for share in mark.interval)
    return f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" fill="none" stroke="{colour}" stroke-opacity="0.45"/>'


def _label(mark: _Mark, x: float, y: float, boxes: list[Box]) -> str:
    """Return k beside its mark, on the first side where it covers nothing; empty if there is no such side."""
    text = mark.name.partition(" ")[2]
    width = 6.6 * len(text)
    for right, down in ((9, -6), (9, 14), (-9 - width, -6), (-9 - width, 14), (-width / 2, -13), (-width / 2, 22)):
        box = (x + right, y + down - 10, x + right + width, y + down + 3)
        inside = box[0] >= _LEFT and box[2] <= _WIDTH and box[1] >= 0 and box[3] <= _BOTTOM
        free = all(box[2] < o[0] or o[2] < box[0] or box[3] < o[1] or o[3] < box[1] for o in boxes)
        if inside and free:
            boxes.append(box)
            return f'<text x="{x + right:.1f}" y="{y + down:.1f}" class="soft halo">{escape(text)}</text>'
    return ""


def _shape(number: int, x: float, y: float, *, filled: bool) -> str:
    """Return a circle, square, triangle or diamond, so that colour is not the only difference."""
    colour = SERIES[number % len(SERIES)]
    drawn = f'fill="{colour}"' if filled else 'class="hollow"'
    drawn += f' stroke="{colour}" stroke-width="1.75"'
    if number % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.75" {drawn}/>'
    if number % 4 == 1:
        return f'<path d="M{x - 4.25:.1f} {y - 4.25:.1f}h8.5v8.5h-8.5z" {drawn}/>'
    if number % 4 == 2:
        return f'<path d="M{x:.1f} {y - 5.5:.1f}l5.5 9.5h-11z" {drawn}/>'
    return f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z" {drawn}/>'
