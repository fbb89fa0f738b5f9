"""Line charts as plain SVG, written without a library."""

from math import ceil, floor, log10

import numpy as np

COLOURS = ["#0b6e99", "#d1495b", "#3a7d44", "#e28413", "#6a4c93", "#8d6e63", "#111111", "#5c9ead"]
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 44, 52


def chart(path, title, x_name, y_name, lines, *, y_from_zero=False, width=760, height=440):
    """Write lines (name -> list of (x, y)) over a logarithmic axis; the other one begins at 0 or is logarithmic too."""
    points = [point for line in lines.values() for point in line]
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    if y_from_zero:
        y_low, y_high = 0.0, 1.05 * max(p[1] for p in points)
        y_ticks = np.linspace(0.0, y_high, 6)
        x_ticks = [10.0**power for power in range(ceil(log10(x_low)), floor(log10(x_high)) + 1)]
    else:
        y_low, y_high = (10.0 ** f(log10(g(p[1] for p in points))) for f, g in ((floor, min), (ceil, max)))
        y_ticks = [10.0**power for power in range(round(log10(y_low)), round(log10(y_high)) + 1)]
        x_ticks = sorted({p[0] for p in points})

    def place(x, y):
        across = LEFT + (width - LEFT - RIGHT) * log10(x / x_low) / log10(x_high / x_low)
        share = y / y_high if y_from_zero else log10(y / y_low) / log10(y_high / y_low)
        return across, height - BOTTOM - (height - TOP - BOTTOM) * share

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
        f'font-family="sans-serif" font-size="13"><title>{title}</title>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{title}</text>',
    ]
    for x in x_ticks:
        across, down = place(x, y_low)
        out.append(f'<line x1="{across:.1f}" y1="{TOP}" x2="{across:.1f}" y2="{down:.1f}" stroke="#eee"/>')
        out.append(f'<text x="{across:.1f}" y="{down + 18:.1f}" text-anchor="middle">{x:g}</text>')
    for y in y_ticks:
        _, down = place(x_low, y)
        out.append(f'<line x1="{LEFT}" y1="{down:.1f}" x2="{width - RIGHT}" y2="{down:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">{y:.3g}</text>')
    out.append(f'<text x="{(LEFT + width - RIGHT) / 2}" y="{height - 12}" text-anchor="middle">{x_name}</text>')
    middle = (TOP + height - BOTTOM) / 2
    out.append(f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">{y_name}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = ' stroke-dasharray="7 5"' if number >= len(COLOURS) else ""
        places = [place(*point) for point in line]
        path_text = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path_text}" fill="none" stroke="{colour}" stroke-width="2.2"{dash}/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        row, legend = TOP + 12 + 22 * number, width - RIGHT
        out.append(
            f'<line x1="{legend + 12}" y1="{row - 7}" x2="{legend + 32}" y2="{row - 7}" stroke="{colour}" '
            f'stroke-width="4"{dash}/>'
        )
        out.append(f'<text x="{legend + 38}" y="{row - 3}">{name}</text>')
    path.write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")
