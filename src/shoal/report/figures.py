"""Small figures as SVG text: they scale, print, follow light and dark by the style of the page, and need no library.

Every figure has a title and a description for screen readers; bars in tables repeat the number beside them and are
hidden from screen readers. No style attribute is used, so that pages can forbid them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil

import numpy as np
from markupsafe import Markup, escape

from shoal.report.associations import Floats
from shoal.report.axes import number_text, round_step
from shoal.report.histograms import Distribution
from shoal.report.palette import SHADES, shade_name

_MAX_BARS = 24
_WIDTH, _HEIGHT = 320, 166


def bar(share: float, of: float = 1.0, *, heavy: bool = False) -> Markup:
    """Return one horizontal bar for a share of the width of its cell, at most the whole width.

    A heavy loss has another colour.

    Examples
    --------
    >>> 'width="25.0"' in bar(0.25)
    True
    """
    width = 100 * min(max(share / of, 0.0), 1.0) if of > 0 else 0.0
    colour = "heavy" if heavy else "after"
    return _in_cell(
        f'<rect class="track" width="100" height="8"/><rect class="{colour}" width="{width:.1f}" height="8"/>'
    )


def two_bars(before: float | None, after: float, of: float) -> Markup:
    """Return the bar of the original above that of the release.

    Examples
    --------
    >>> two_bars(0.2, 0.1, 0.4).count("<rect")
    2
    """
    if before is None:
        return bar(after, of)
    widths = [100 * min(share / of, 1.0) if of > 0 else 0.0 for share in (before, after)]
    return _in_cell(
        f'<rect class="before" width="{widths[0]:.1f}" height="5"/>'
        f'<rect class="after" y="6" width="{widths[1]:.1f}" height="5"/>',
        height=11,
    )


def _in_cell(body: str, height: int = 8) -> Markup:
    return Markup(  # noqa: S704 - numbers only
        f'<svg class="bar" viewBox="0 0 100 {height}" preserveAspectRatio="none" aria-hidden="true">{body}</svg>'
    )


def group_sizes(counts: Mapping[int, int], number: str) -> tuple[Markup, list[tuple[str, int]]]:
    """Return a bar chart of the numbers of groups by size, and its rows; many sizes are merged into ranges.

    Parameters
    ----------
    counts
        How many groups have each size.
    number
        The identifier of the figure on the page.

    Examples
    --------
    >>> group_sizes({3: 10, 5: 1}, "1")[1]
    [('3', 10), ('4', 0), ('5', 1)]
    """
    binned = _binned(counts)
    ticks = _round_ticks(max(count for _, count in binned))
    top = ticks[-1]
    width, height, left, floor = 420, 216, 46, 174
    step = (width - left - 6) / len(binned)
    parts = ['<text class="soft" x="0" y="12">number of groups</text>']
    for count in ticks:
        y = floor - 138 * count / top
        parts.append(
            f'<path class="grid" d="M{left} {y:.1f}H{width}"/>'
            f'<text class="soft" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{count:,}</text>'
        )
    every = ceil(len(binned) * (7 * max(len(name) for name, _ in binned) + 8) / (width - left))
    for index, (name, count) in enumerate(binned):
        x = left + 4 + index * step
        tall = 138 * count / top
        bar_width = min(step * 0.8, 60)
        middle = x + step / 2
        parts.append(
            f'<rect class="after" x="{middle - bar_width / 2:.1f}" y="{floor - tall:.1f}" width="{bar_width:.1f}" '
            f'height="{tall:.1f}"/>'
        )
        if index % every == 0:
            parts.append(f'<text x="{middle:.1f}" y="{floor + 16}" text-anchor="middle">{name}</text>')
    parts.append(f'<path class="axis" d="M{left} {floor}H{width}"/>')
    parts.append(
        f'<text class="soft" x="{(left + width) / 2}" y="{height - 6}" text-anchor="middle">records in a group</text>'
    )
    described = "; ".join(f"{name} records: {count:,} groups" for name, count in binned)
    return figure("".join(parts), (width, height), "Number of groups by size", described, number), binned


def _binned(counts: Mapping[int, int]) -> list[tuple[str, int]]:
    low, high = min(counts), max(counts)
    if high - low < _MAX_BARS:
        return [(str(size), counts.get(size, 0)) for size in range(low, high + 1)]
    step = int(round_step((high - low + 1) / (_MAX_BARS - 4)))
    bins = []
    for start in range(low // step * step, high + 1, step):
        inside = sum(count for size, count in counts.items() if start <= size < start + step)
        bins.append((f"{max(start, low)}–{min(start + step - 1, high)}", inside))
    return bins


def _round_ticks(highest: int) -> list[int]:
    """Return round counts from 0 to at least the highest one.

    Examples
    --------
    >>> _round_ticks(3), _round_ticks(124)
    ([0, 1, 2, 3], [0, 50, 100, 150])
    """
    step = max(1, int(round_step(highest / 4)))
    return list(range(0, highest + step, step))


def histogram(distribution: Distribution, title: str, unit: str, number: str) -> Markup:
    """Return the original as a grey area and the release as a blue line; areas are shares.

    The vertical axis has the share of records for one step of the horizontal axis, so that bins of several steps, which
    are drawn lower, have areas that can be compared.
    """
    floor, top = 134.0, 26.0
    bins = distribution.bins
    start, end = bins[0].low, bins[-1].high
    step = distribution.step
    heights = [
        [None if share is None else share * step / (entry.high - entry.low) for share in (entry.before, entry.after)]
        for entry in bins
    ]
    tallest = max((height for pair in heights for height in pair if height is not None), default=1.0) or 1.0
    shares = _share_ticks(tallest)
    left, right = 10.0 + 7 * max(len(text) for _, text in shares), _WIDTH - 6.0

    def across(value: float) -> float:
        return left + (right - left) * (value - start) / (end - start)

    def outline(side: int) -> str:
        points = [f"M{left:.1f} {floor:.1f}"]
        for entry, pair in zip(bins, heights, strict=True):
            y = floor - (floor - top) * (pair[side] or 0.0) / tallest
            points.append(f"V{y:.1f}H{across(entry.high):.1f}")
        return "".join([*points, f"V{floor:.1f}"])

    parts = [f'<text class="soft" x="0" y="12">{escape(_vertical(distribution, unit))}</text>']
    for share, text in shares:
        y = floor - (floor - top) * share / tallest
        parts.append(
            f'<path class="grid" d="M{left:.1f} {y:.1f}H{right}"/>'
            f'<text class="soft" x="{left - 5:.1f}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        )
    if bins[0].before is not None:
        parts.append(f'<path class="before-area" d="{outline(0)}"/>')
    parts.append(f'<path class="after-line" d="{outline(1)}"/><path class="axis" d="M{left:.1f} {floor}H{right}"/>')
    parts += _ticks(distribution.ticks, across, floor)
    if unit:
        parts.append(f'<text class="soft" x="{right}" y="{_HEIGHT - 1}" text-anchor="end">{escape(unit)}</text>')
    return figure("".join(parts), (_WIDTH, _HEIGHT), title, described(distribution), number)


def _vertical(distribution: Distribution, unit: str) -> str:
    """Return the name of the vertical axis.

    Examples
    --------
    >>> _vertical(Distribution((), numeric=True, step_text="5"), "days")
    'share of records per 5 days'
    """
    return " ".join(part for part in ("share of records per", distribution.step_text, unit) if part)


def _share_ticks(highest: float) -> list[tuple[float, str]]:
    """Return round shares from 0 to at most the highest one, as numbers and percentages.

    Examples
    --------
    >>> _share_ticks(0.23)
    [(0.0, '0 %'), (0.1, '10 %'), (0.2, '20 %')]
    >>> _share_ticks(0.0042)[1]
    (0.002, '0.2 %')
    """
    step = round_step(100 * highest / 3)
    count = int(100 * highest / step + 1e-9)
    return [(number * step / 100, f"{number_text(number * step, step)} %") for number in range(count + 1)]


def _ticks(ticks: Sequence[tuple[float, str]], across: Callable[[float], float], floor: float) -> list[str]:
    """Return some of the edges as marks and texts; the outermost edges are not limits of the data and have no text."""
    inner = ticks[1:-1]
    longest = max(len(text) for _, text in inner)
    half = 3.6 * longest
    fitting = max(2, int((across(ticks[-1][0]) - across(ticks[0][0])) / (2 * half + 14)))
    every = max(1, ceil(len(inner) / fitting))
    parts = []
    for edge, text in inner[(len(inner) - 1) % every // 2 :: every]:
        x = across(edge)
        inside = min(max(x, half), _WIDTH - half)
        parts.append(
            f'<path class="axis" d="M{x:.1f} {floor}v5"/>'
            f'<text class="soft" x="{inside:.1f}" y="{floor + 19}" text-anchor="middle">{escape(text)}</text>'
        )
    return parts


def described(distribution: Distribution) -> str:
    """Return a distribution in words."""
    return "; ".join(
        f"{entry.name}: {'' if entry.before is None else f'original {100 * entry.before:.1f} %, '}"
        f"released {100 * entry.after:.1f} %"
        for entry in distribution.bins
    )


def heat_map(matrix: Floats, names: Sequence[str], title: str, number: str, *, full: float = 1.0) -> Markup:
    """Return a matrix as coloured cells with their values; rows have numbers and names, columns numbers.

    Parameters
    ----------
    matrix
        Values between -full and full; NaN where there is none.
    names
        The rows and columns.
    title
        What it shows.
    number
        The identifier of the figure on the page.
    full
        The value with the strongest colour.
    """
    label, top, cell = 116, 18, min(34.0, 224 / len(names))
    parts = []
    for i, name in enumerate(names):
        shown = f"{i + 1} {name}" if len(name) <= 14 else f"{i + 1} {name[:13]}…"
        y, x = top + cell * i, label + cell * i
        parts.append(
            f'<text x="{label - 6}" y="{y + cell / 2 + 4:.1f}" text-anchor="end">{escape(shown)}</text>'
            f'<text class="soft" x="{x + cell / 2:.1f}" y="{top - 6}" text-anchor="middle">{i + 1}</text>'
        )
        parts += [
            _heat_cell(None if i == j or np.isnan(value) else float(value), label + cell * j, y, cell, full)
            for j, value in enumerate(matrix[i])
        ]
    side = cell * len(names)
    parts.append(f'<rect class="frame" x="{label}" y="{top}" width="{side:.1f}" height="{side:.1f}"/>')
    text = f"A matrix of {len(names)} by {len(names)} values; the table below the figures lists all of them."
    return figure("".join(parts), (label + 224, top + side + 2), title, text, number)


def _heat_cell(value: float | None, x: float, y: float, cell: float, full: float) -> str:
    """Return a coloured cell with its value where there is space for it; none on the diagonal."""
    shade = "track" if value is None else shade_name(max(-SHADES, min(SHADES, round(SHADES * value / full))))
    drawn = f'<rect class="{shade}" x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}"/>'
    if value is None or cell < 20:
        return drawn
    text = f"{value:.2f}".replace("0.", ".").replace("-.00", ".00").replace("-", "−")
    return drawn + (
        f'<text class="{shade}-text" x="{x + cell / 2:.1f}" y="{y + cell / 2 + 4:.1f}" '
        f'font-size="{11 if cell >= 28 else 9}" text-anchor="middle">{text}</text>'
    )


def figure(body: str, size: tuple[float, float], title: str, text: str, number: str) -> Markup:
    """Return an SVG figure with its title and description; the body must be escaped already."""
    width, height = size
    return Markup(  # noqa: S704 - escaped here and above
        f'<svg class="figure" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-labelledby="{number}-title {number}-desc"><title id="{number}-title">{escape(title)}</title>'
        f'<desc id="{number}-desc">{escape(text)}</desc>{body}</svg>'
    )
