"""Small pictures as SVG text: they scale, print, follow light and dark, and need no library."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup, escape

_MOST_COLUMNS = 40


def bars(shares: Mapping[str, float], title: str) -> Markup:
    """Return horizontal bars for shares between 0 and 1 (larger ones are cut at the edge and still printed).

    Examples
    --------
    >>> "12.50 %" in bars({"age": 0.125}, "loss")
    True
    """
    height = 26
    longest = max((len(name) for name in shares), default=1)
    left = min(9 * longest + 12, 260)
    scale = 440 / max([0.05, *(min(share, 1.0) for share in shares.values())])
    rows = []
    for place, (name, share) in enumerate(shares.items()):
        y = place * height
        width = max(1.0, scale * min(share, 1.0))
        shown = name if len(name) <= 28 else name[:27] + "…"
        rows.append(
            f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{escape(shown)}</text>'
            f'<rect x="{left}" y="{y + 4}" width="{width:.1f}" height="18" rx="2"/>'
            f'<text x="{left + width + 6:.1f}" y="{y + 17}">{100 * share:.2f} %</text>'
        )
    return _picture("".join(rows), left + 530, height * max(len(shares), 1), title, shares.items())


def columns(counts: Mapping[int, int], across: str, up: str) -> Markup:
    """Return vertical columns for counts of whole numbers; many are joined into ranges.

    Examples
    --------
    >>> columns({3: 10, 5: 1}, "size", "groups").count("<rect")
    2
    """
    binned = _binned(counts)
    highest = max(binned.values())
    width = max(14.0, min(48.0, 640 / len(binned)))
    rows = []
    for place, (name, count) in enumerate(binned.items()):
        x = 50 + place * (width + 4)
        height = max(1.0, 150 * count / highest)
        rows.append(
            f'<rect x="{x:.1f}" y="{180 - height:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"/>'
            f'<text x="{x + width / 2:.1f}" y="{174 - height:.1f}" text-anchor="middle">{count:,}</text>'
            f'<text x="{x + width / 2:.1f}" y="198" text-anchor="middle">{name}</text>'
        )
    total = 60 + len(binned) * (width + 4)
    rows.append(f'<text x="50" y="222">{escape(across)}</text>')
    return _picture("".join(rows), max(total, 260), 230, f"{up} by {across}", binned.items())


def _binned(counts: Mapping[int, int]) -> dict[str, int]:
    if len(counts) <= _MOST_COLUMNS:
        return {str(value): counts[value] for value in sorted(counts)}
    low, high = min(counts), max(counts)
    step = -(-(high - low + 1) // 20)
    found: dict[str, int] = {}
    for start in range(low, high + 1, step):
        inside = sum(count for value, count in counts.items() if start <= value < start + step)
        found[f"{start}+"] = inside
    return found


def _picture(body: str, width: float, height: float, title: str, facts: object) -> Markup:
    described = "; ".join(f"{name}: {value:.4g}" for name, value in facts)  # type: ignore[attr-defined]
    return Markup(  # noqa: S704 - names are escaped above
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(described)}</desc>{body}</svg>"
    )
