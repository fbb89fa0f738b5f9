"""Small pictures that the server draws from a few figures: bars of a column, the curves over k, the scatter of runs.

Numbers only, as SVG attributes, so that no style attribute is needed; texts are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log
from typing import Any

from markupsafe import Markup, escape

_NARROW = 300
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 230, 52, 30, 16


def small_bars(bins: Sequence[float]) -> Markup:
    """Return a small distribution, hidden from screen readers, beside which the figures stand.

    Examples
    --------
    >>> small_bars([1.0, 0.5]).count("<rect")
    2
    """
    if not bins:
        return Markup("")
    width = 72 / max(len(bins), 6)
    body = "".join(
        f'<rect class="before-line" x="{i * width:.1f}" y="{26 - 25 * share:.1f}" width="{max(width - 1, 0.8):.1f}" '
        f'height="{25 * share:.1f}"/>'
        for i, share in enumerate(bins)
    )
    return Markup(  # noqa: S704 - numbers only
        f'<svg class="spark" viewBox="0 0 72 27" width="72" height="27" aria-hidden="true">{body}'
        '<path class="axis" d="M0 26.5H72"/></svg>'
    )


def bar(share: float, *, heavy: bool = False) -> Markup:
    """Return one bar for a share, hidden from screen readers.

    Examples
    --------
    >>> 'width="25.0"' in bar(0.25)
    True
    """
    width = 100 * min(max(share, 0.0), 1.0)
    return Markup(  # noqa: S704 - numbers only
        '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" '
        f'width="100" height="6"/><rect class="{"heavy" if heavy else "after"}" width="{width:.1f}" height="6"/></svg>'
    )


def two_bars(before: float | None, after: float, of: float) -> Markup:
    """Return the bar of the original above that of the release."""
    shares = [100 * min(max((share or 0.0) / of, 0.0), 1.0) if of > 0 else 0.0 for share in (before, after)]
    return Markup(  # noqa: S704 - numbers only
        '<svg class="bar tall" viewBox="0 0 100 11" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="before-line" width="{shares[0]:.1f}" height="5"/>'
        f'<rect class="after" y="6" width="{shares[1]:.1f}" height="5"/></svg>'
    )


def curve(points: Sequence[dict[str, Any]], present: int, name: str) -> Markup:
    """Return a curve over k twice: for wide screens, and for narrow ones, where the letters would be too small."""
    wide = _curve(points, present, name, _WIDTH)
    return wide + _curve(points, present, name, _NARROW) if wide else wide


def _curve(points: Sequence[dict[str, Any]], present: int, name: str, width: int) -> Markup:
    """Return loss or risk over k: ``loss`` with the interval of previews; ``linkage`` or ``average`` with the highest.

    Parameters
    ----------
    points
        One entry for each k with ``k``, ``loss``, ``linkage``, ``low``, ``high``, ``highest``; None where unknown.
        Previews have ``loss_low``, ``loss_high`` and ``average``.
    present
        The present k.
    name
        ``loss``, ``linkage`` or ``average``.
    """
    known = [point for point in points if point.get(name) is not None]
    levels = [point["k"] for point in points]
    if not known:
        return Markup("")
    more = ("loss_high",) if name == "loss" else ("high", "highest")
    ceiling = max(max(point[name], *(point.get(key) or 0 for key in more)) for point in known)
    ticks, narrow = _ticks(1.1 * ceiling), width == _NARROW
    labelled = {present, levels[0], levels[-1]} if narrow else set(levels)
    low, high = log(levels[0]), log(levels[-1])

    def across(k: int) -> float:
        return _LEFT + 24 + (width - _LEFT - 24 - (16 if narrow else 36)) * (log(k) - low) / max(high - low, 1e-9)

    def up(share: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share / ticks[-1]

    parts = [
        f'<path class="grid" d="M{_LEFT} {up(tick):.1f}H{width - 12}"/>'
        f'<text class="soft" x="{_LEFT - 8}" y="{up(tick) + 4:.1f}" text-anchor="end">{100 * tick:g} %</text>'
        for tick in ticks
    ]
    x = across(present)
    parts.append(f'<path class="present" d="M{x:.1f} {_TOP - 8}V{_HEIGHT - _BOTTOM}"/>')
    parts += [
        f'<text class="{"strong" if k == present else ""}" x="{across(k):.1f}" y="{_HEIGHT - 10}" '
        f'text-anchor="middle">{k}</text>'
        for k in levels
    ]
    low_name, high_name = ("loss_low", "loss_high") if name == "loss" else ("low", "high")
    banded = [point for point in known if point.get(low_name) is not None]
    edge = [f"{across(point['k']):.1f} {up(point[high_name]):.1f}" for point in banded]
    edge += [f"{across(point['k']):.1f} {up(point[low_name]):.1f}" for point in reversed(banded)]
    if len(banded) > 1:
        parts.append(f'<path class="band" d="M{"L".join(edge)}Z"/>')
    if name == "loss":
        parts += [
            f'<path class="whisker" d="M{across(one["k"]):.1f} {up(one[low_name]):.1f}V{up(one[high_name]):.1f}"/>'
            for one in banded
        ]
    else:
        limits = [f"{across(p['k']):.1f} {up(p['highest']):.1f}" for p in known if p.get("highest") is not None]
        parts.append(f'<path class="limit" d="M{"L".join(limits)}"/>' if len(limits) > 1 else "")
    line = [f"{across(point['k']):.1f} {up(point[name]):.1f}" for point in known]
    parts.append(f'<path class="after-stroke" d="M{"L".join(line)}"/>')
    for point in known:
        shape = "hollow" if point.get("fast") or point.get("preview") else "after"
        radius, px, py = (7 if point["k"] == present else 4.5), across(point["k"]), up(point[name])
        parts.append(f'<circle class="{shape}" cx="{px:.1f}" cy="{py:.1f}" r="{radius}"/>')
        if point["k"] not in labelled:
            continue
        text = f"{100 * point[name]:.{1 if ceiling >= 0.02 else 2}f}"
        strong = ' class="strong"' if point["k"] == present else ""
        parts.append(f'<text{strong} x="{px:.1f}" y="{py - 11:.1f}" text-anchor="middle">{text}</text>')
    title = {
        "loss": "Information loss by k", "linkage": "Record linkage by k, with 95 % interval",
        "average": "Average risk by k, from the same blocks",
    }[name]  # fmt: skip
    words = "; ".join(
        f"k = {point['k']}: {100 * point[name]:.2f} %"
        + (
            f" ({100 * point[low_name]:.2f} to {100 * point[high_name]:.2f} %)"
            if point.get(low_name) is not None
            else ""
        )
        for point in known
    )
    label = f"curve-{name}{'-narrow' if narrow else ''}"
    return _picture("".join(parts), title, words, label, (width, _HEIGHT), "for-narrow" if narrow else "for-wide")


def scatter(runs: Sequence[dict[str, Any]]) -> Markup:
    """Return pinned runs by loss and record linkage, with the 95 % interval of the linkage; twice, as :func:`curve`.

    Examples
    --------
    >>> "<circle" in scatter([{"letter": "A", "loss": 0.1, "linkage": 0.2, "low": 0.1, "high": 0.3}])
    True
    """
    known = [run for run in runs if run["loss"] is not None and run["linkage"] is not None]
    if not known:
        return Markup("")
    return _scatter(known, _WIDTH) + _scatter(known, _NARROW)


def _scatter(known: Sequence[dict[str, Any]], width: int) -> Markup:
    """Return pinned runs of which loss and record linkage are known, for wide or for narrow screens."""
    height, narrow = 330, width == _NARROW
    loss_ticks = _ticks(max(run["loss"] for run in known))
    risk_ticks = _ticks(max(run["high"] or run["linkage"] for run in known))

    def across(share: float) -> float:
        return 60 + (width - 90) * share / loss_ticks[-1]

    def up(share: float) -> float:
        return height - 46 - (height - 76) * share / risk_ticks[-1]

    parts = [
        f'<path class="grid" d="M60 {up(tick):.1f}H{width - 20}"/><text class="soft" x="52" y="{up(tick) + 4:.1f}" '
        f'text-anchor="end">{100 * tick:g} %</text>'
        for tick in risk_ticks
    ]
    parts += [
        f'<text class="soft" x="{across(tick):.1f}" y="{height - 26}" text-anchor="middle">{100 * tick:g} %</text>'
        for tick in (loss_ticks[:: max(1, len(loss_ticks) // 2)] if narrow else loss_ticks)
    ]
    parts.append(f'<text class="soft" x="{width - 20}" y="{height - 6}" text-anchor="end">information loss</text>')
    parts.append('<text class="soft" x="4" y="12">record linkage</text>')
    for run in known:
        x, y = across(run["loss"]), up(run["linkage"])
        if run["low"] is not None:
            parts.append(f'<path class="whisker" d="M{x:.1f} {up(run["low"]):.1f}V{up(run["high"]):.1f}"/>')
        parts.append(f'<circle class="after" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        parts.append(f'<text class="strong" x="{x + 10:.1f}" y="{y - 7:.1f}">{escape(run["letter"])}</text>')
    words = "; ".join(
        f"{run['letter']}: loss {100 * run['loss']:.1f} %, record linkage {100 * run['linkage']:.1f} %" for run in known
    )
    name, shown = ("scatter-narrow", "for-narrow") if narrow else ("scatter", "for-wide")
    return _picture("".join(parts), "Record linkage over information loss", words, name, (width, height), shown)


def _ticks(highest: float) -> list[float]:
    """Return round shares from 0 to at least the highest.

    Examples
    --------
    >>> _ticks(0.17)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5):
        if highest <= 5 * step:
            break
    count = max(1, ceil(round(highest / step, 6)))
    return [round(step * i, 6) for i in range(count + 1)]


def _picture(body: str, title: str, words: str, name: str, size: tuple[int, int], shown: str = "") -> Markup:
    return Markup(  # noqa: S704 - escaped here and above
        f'<svg class="picture {shown}" viewBox="0 0 {size[0]} {size[1]}" role="img" '
        f'aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(words)}</desc>{body}</svg>'
    )
