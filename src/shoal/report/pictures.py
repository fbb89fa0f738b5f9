"""Small pictures as SVG text: they scale, print, follow light and dark by the style of the page, and need no library.

Every picture has a title and a description for those who do not see it; bars in tables stand beside their number and
are hidden from screen readers. Nothing is drawn by a style attribute, so that pages can forbid these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil

from markupsafe import Markup, escape

from shoal.report.axes import round_step
from shoal.report.histograms import Distribution
from shoal.report.palette import STEPS, shade_name
from shoal.report.relations import Floats

_MOST_COLUMNS = 24
_WIDTH, _HEIGHT = 320, 150


def bar(share: float, of: float = 1.0, *, heavy: bool = False) -> Markup:
    """Return one horizontal bar for a share of the width of its cell; what is larger than the end is cut.

    A heavy one has another colour.

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
    """Return columns for the numbers of groups by size, and the same as a table; many sizes are joined into ranges.

    Parameters
    ----------
    counts
        How many groups have each size.
    number
        The number of the picture, for its parts to be found by.

    Examples
    --------
    >>> group_sizes({3: 10, 5: 1}, "1")[1]
    [('3', 10), ('4', 0), ('5', 1)]
    """
    binned = _binned(counts)
    ticks = _round_ticks(max(count for _, count in binned))
    top = ticks[-1]
    width, height, left, floor = 420, 200, 46, 158
    step = (width - left - 6) / len(binned)
    parts = []
    for count in ticks:
        y = floor - 138 * count / top
        parts.append(
            f'<path class="grid" d="M{left} {y:.1f}H{width}"/>'
            f'<text class="soft" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{count:,}</text>'
        )
    every = ceil(len(binned) * 34 / (width - left))
    for place, (name, count) in enumerate(binned):
        x = left + 4 + place * step
        tall = 138 * count / top
        bar_width = min(step * 0.8, 60)
        middle = x + step / 2
        parts.append(
            f'<rect class="after" x="{middle - bar_width / 2:.1f}" y="{floor - tall:.1f}" width="{bar_width:.1f}" '
            f'height="{tall:.1f}"/>'
        )
        if place % every == 0:
            parts.append(f'<text x="{middle:.1f}" y="{floor + 16}" text-anchor="middle">{name}</text>')
    parts.append(f'<path class="axis" d="M{left} {floor}H{width}"/>')
    parts.append(f'<text class="soft" x="{(left + width) / 2}" y="{height - 6}" text-anchor="middle">group size</text>')
    described = "; ".join(f"size {name}: {count:,} groups" for name, count in binned)
    return picture("".join(parts), width, height, "Number of groups by size", described, number), binned


def _binned(counts: Mapping[int, int]) -> list[tuple[str, int]]:
    low, high = min(counts), max(counts)
    if high - low < _MOST_COLUMNS:
        return [(str(size), counts.get(size, 0)) for size in range(low, high + 1)]
    step = int(round_step((high - low + 1) / (_MOST_COLUMNS - 4)))
    found = []
    for start in range(low // step * step, high + 1, step):
        inside = sum(count for size, count in counts.items() if start <= size < start + step)
        found.append((f"{max(start, low)}–{min(start + step - 1, high)}", inside))
    return found


def _round_ticks(highest: int) -> list[int]:
    """Return round counts from 0 to at least the highest one.

    Examples
    --------
    >>> _round_ticks(3), _round_ticks(124)
    ([0, 1, 2, 3], [0, 50, 100, 150])
    """
    step = max(1, int(round_step(highest / 4)))
    return list(range(0, highest + step, step))


def histogram(found: Distribution, title: str, unit: str, number: str) -> Markup:
    """Return the original as a grey area and the release as a blue line; areas are shares."""
    left, right, floor, top = 6.0, _WIDTH - 6.0, 118.0, 8.0
    start, end = found.bins[0].low, found.bins[-1].high
    heights = [
        [None if share is None else share / (one.high - one.low) for share in (one.before, one.after)]
        for one in found.bins
    ]
    tallest = max((height for pair in heights for height in pair if height is not None), default=1.0) or 1.0

    def across(value: float) -> float:
        return left + (right - left) * (value - start) / (end - start)

    def outline(side: int) -> str:
        points = [f"M{left:.1f} {floor:.1f}"]
        for one, pair in zip(found.bins, heights, strict=True):
            y = floor - (floor - top) * (pair[side] or 0.0) / tallest
            points.append(f"V{y:.1f}H{across(one.high):.1f}")
        return "".join([*points, f"V{floor:.1f}"])

    parts = [f'<path class="before-area" d="{outline(0)}"/>'] if found.bins[0].before is not None else []
    parts.append(f'<path class="after-line" d="{outline(1)}"/><path class="axis" d="M{left} {floor}H{right}"/>')
    parts += _ticks(found.ticks, across, floor)
    if unit:
        parts.append(f'<text class="soft" x="{right}" y="{_HEIGHT - 1}" text-anchor="end">{escape(unit)}</text>')
    return picture("".join(parts), _WIDTH, _HEIGHT, title, described(found), number)


def _ticks(ticks: Sequence[tuple[float, str]], across: Callable[[float], float], floor: float) -> list[str]:
    """Return some of the edges as marks and texts; the outermost edges are no ends of the data and stay unnamed."""
    inner = ticks[1:-1]
    longest = max(len(text) for _, text in inner)
    fitting = max(2, int((_WIDTH - 20) / (7.2 * longest + 14)))
    every = max(1, ceil(len(inner) / fitting))
    parts = []
    for place, text in inner[(len(inner) - 1) % every // 2 :: every]:
        x = across(place)
        parts.append(
            f'<path class="axis" d="M{x:.1f} {floor}v5"/>'
            f'<text class="soft" x="{x:.1f}" y="{floor + 19}" text-anchor="middle">{escape(text)}</text>'
        )
    return parts


def described(found: Distribution) -> str:
    """Return a distribution in words."""
    return "; ".join(
        f"{one.name}: {'' if one.before is None else f'{100 * one.before:.1f} % before, '}{100 * one.after:.1f} % "
        f"{'released' if one.before is None else 'after'}"
        for one in found.bins
    )


def heat_map(matrix: Floats, names: Sequence[str], title: str, number: str, *, full: float = 1.0) -> Markup:
    """Return a matrix as coloured cells with their figures; rows have numbers and names, columns numbers.

    Parameters
    ----------
    matrix
        Figures between -full and full.
    names
        The rows and columns.
    title
        What it shows.
    number
        The number of the picture.
    full
        The figure with the strongest colour.
    """
    label, top, cell = 116, 18, min(34.0, 224 / len(names))
    width, height = label + 224, top + cell * len(names) + 2
    size = 11 if cell >= 28 else 9
    parts = []
    for i, name in enumerate(names):
        shown = f"{i + 1} {name}" if len(name) <= 14 else f"{i + 1} {name[:13]}…"
        y, x = top + cell * i, label + cell * i
        parts.append(
            f'<text x="{label - 6}" y="{y + cell / 2 + 4:.1f}" text-anchor="end">{escape(shown)}</text>'
            f'<text class="soft" x="{x + cell / 2:.1f}" y="{top - 6}" text-anchor="middle">{i + 1}</text>'
        )
        for j in range(len(names)):
            value = float(matrix[i, j])
            shade = shade_name(max(-STEPS, min(STEPS, round(STEPS * value / full))))
            shade = "track" if i == j else shade
            x = label + cell * j
            parts.append(f'<rect class="{shade}" x="{x:.1f}" y="{y:.1f}" width="{cell:.1f}" height="{cell:.1f}"/>')
            if i != j and cell >= 20:
                text = f"{value:.2f}".replace("0.", ".").replace("-.00", ".00").replace("-", "−")
                parts.append(
                    f'<text class="{shade}-text" x="{x + cell / 2:.1f}" y="{y + cell / 2 + 4:.1f}" '
                    f'font-size="{size}" text-anchor="middle">{text}</text>'
                )
    parts.append(
        f'<rect class="frame" x="{label}" y="{top}" width="{cell * len(names):.1f}" height="{cell * len(names):.1f}"/>'
    )
    words = f"A table of {len(names)} by {len(names)} figures; every figure is in the table below the pictures."
    return picture("".join(parts), width, height, title, words, number)


def picture(body: str, width: float, height: float, title: str, text: str, number: str) -> Markup:
    """Return an SVG picture with its title and description; the body must be escaped already."""
    return Markup(  # noqa: S704 - escaped here and above
        f'<svg class="picture" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-labelledby="{number}-title {number}-desc"><title id="{number}-title">{escape(title)}</title>'
        f'<desc id="{number}-desc">{escape(text)}</desc>{body}</svg>'
    )
