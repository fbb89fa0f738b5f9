"""Draw the figures of docs/methods/univariate.md from runs on this machine, and renew its tables.

    python benchmarks/univariate_figures.py [--n 1000000] [--repeat 3]

Figure 4 of Stamm & Schaub 2024 (runtime over k for every search) and Figure 6 (SSE over k for many columns;
needs the reference data in $SHOAL_DATA or ../shared/data). The pictures are plain SVG, written without a library.
"""

import argparse
import os
import time
from math import ceil, floor, log10
from pathlib import Path

import numpy as np

from shoal.methods.univariate.kmeans_merged import kmeans_merged
from shoal.methods.univariate.neighbour_forest import nearest_neighbour_forest
from shoal.methods.univariate.optimal_1d import optimal_1d
from shoal.methods.univariate.projection import grouped_sse, projection
from shoal.methods.univariate.sorting import sort_values

DOCS = Path(__file__).parent.parent / "docs" / "methods"
COLOURS = ["#0b6e99", "#d1495b", "#3a7d44", "#e28413", "#6a4c93", "#8d6e63", "#111111", "#5c9ead"]
SEARCHES = {
    "auto": 10**6,
    "direct": 5,
    "simple": 100,
    "simple+": 3000,
    "divide": 10**6,
    "staggered": 10**6,
    "wilber": 10**6,
    "galil-park": 10**6,
}
KS = (2, 3, 5, 10, 30, 100, 300, 1000, 3000, 10000)


def chart(path, title, x_name, y_name, lines, width=760, height=440):
    """Write lines (name -> list of (x, y)) with two logarithmic axes as SVG."""
    left, right, top, bottom = 70, 190, 44, 52
    points = [point for line in lines.values() for point in line]
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    y_low, y_high = (10.0 ** f(log10(g(p[1] for p in points))) for f, g in ((floor, min), (ceil, max)))

    def place(x, y):
        across = left + (width - left - right) * log10(x / x_low) / log10(x_high / x_low)
        return across, height - bottom - (height - top - bottom) * log10(y / y_low) / log10(y_high / y_low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="24" font-size="16" font-weight="bold">{title}</text>',
    ]
    for x in sorted({p[0] for p in points}):
        across, down = place(x, y_low)
        out.append(f'<line x1="{across:.1f}" y1="{top}" x2="{across:.1f}" y2="{down:.1f}" stroke="#eee"/>')
        out.append(f'<text x="{across:.1f}" y="{down + 18:.1f}" text-anchor="middle">{x:g}</text>')
    for power in range(round(log10(y_low)), round(log10(y_high)) + 1):
        _, down = place(x_low, 10.0**power)
        out.append(f'<line x1="{left}" y1="{down:.1f}" x2="{width - right}" y2="{down:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{down + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 12}" text-anchor="middle">{x_name}</text>')
    middle = (top + height - bottom) / 2
    out.append(f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">{y_name}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = ' stroke-dasharray="7 5"' if number >= len(COLOURS) else ""
        path_text = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        out.append(f'<polyline points="{path_text}" fill="none" stroke="{colour}" stroke-width="2.2"{dash}/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in (place(*p) for p in line)]
        row = top + 12 + 22 * number
        out.append(
            f'<line x1="{width - right + 12}" y1="{row - 7}" x2="{width - right + 32}" y2="{row - 7}" '
            f'stroke="{colour}" stroke-width="4"{dash}/>'
        )
        out.append(f'<text x="{width - right + 38}" y="{row - 3}">{name}</text>')
    path.write_text("\n".join([*out, "</svg>"]) + "\n")


def replace_block(name, lines):
    """Put new lines between the marks of that name in the page."""
    page = DOCS / "univariate.md"
    begin, end = f"<!-- generated: {name} -->", "<!-- end -->"
    before, rest = page.read_text().split(begin, 1)
    page.write_text("\n".join([before + begin, "", *lines, "", end]) + rest.split(end, 1)[1])


def table(first, columns, rows):
    """A Markdown table; rows: first cell -> list of texts."""
    lines = [f"| {first} | " + " | ".join(map(str, columns)) + " |", "|---|" + "---:|" * len(columns)]
    return lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]


def fastest(call, repeat):
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def runtimes(n, repeat):
    """Figure 4: sorted input, so that the searches show; the sort is a line of its own."""
    x = np.random.default_rng(0).random(n)
    ordered = np.sort(x)
    times = {}
    for name, limit in SEARCHES.items():
        ks = [k for k in KS if k <= limit and 4 * k <= n]
        times[name] = [(k, fastest(lambda k=k, s=name: optimal_1d(ordered, k, search=s), repeat)) for k in ks]
    sort = fastest(lambda: sort_values(x), repeat)
    times["our sort"] = [(k, sort) for k in KS if 4 * k <= n]
    argsort = fastest(lambda: np.argsort(x), repeat)
    times["numpy argsort"] = [(k, argsort) for k in KS if 4 * k <= n]
    chart(
        DOCS / "univariate-runtime.svg",
        f"{n:,} uniform values, SSE",
        "k",
        "milliseconds",
        {name: [(k, 1e3 * t) for k, t in line] for name, line in times.items()},
    )
    rows = {name: [f"{1e3 * dict(line)[k]:.0f}" if k in dict(line) else "" for k in KS] for name, line in times.items()}
    replace_block("runtime", table("ms", KS, rows))


def losses():
    """Figure 6: SSE over k on distinct, standardised records."""
    folder = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
    ks = (2, 3, 5, 10, 20, 30, 50)
    for name, columns in (("eia", range(1, 11)), ("tarragona", None)):
        if not (folder / f"{name}.csv").exists():
            print(f"{name}.csv is not in {folder}; its figure stays as it is")
            continue
        raw = np.unique(np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1, usecols=columns), axis=0)
        points = (raw - raw.mean(axis=0)) / raw.std(axis=0)
        methods = {
            "principal axis": [lambda k, p=points: projection(p, k)],
            "best of 50 random": [
                lambda k, p=points, s=s: projection(p, k, axis="random", directions=50, seed=s) for s in range(3)
            ],
            "k-means 0.5": [lambda k, p=points, s=s: kmeans_merged(p, k, factor=0.5, seed=s) for s in range(3)],
            "k-means 1": [lambda k, p=points, s=s: kmeans_merged(p, k, seed=s) for s in range(3)],
            "k-means 2": [lambda k, p=points, s=s: kmeans_merged(p, k, factor=2.0, seed=s) for s in range(3)],
            "nearest neighbours": [lambda k, p=points, s=s: nearest_neighbour_forest(p, k, seed=s) for s in range(3)],
        }
        found = {
            label: [(k, float(np.mean([grouped_sse(points, run(k)) for run in runs]))) for k in ks]
            for label, runs in methods.items()
        }
        chart(DOCS / f"univariate-{name}.svg", f"{name.title()}, {len(points):,} distinct records", "k", "SSE", found)
        rows = {label: [f"{loss:.0f}" for _, loss in line] for label, line in found.items()}
        replace_block(name, table("SSE", ks, rows))


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--n", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=3)
    chosen = options.parse_args()
    losses()
    runtimes(chosen.n, chosen.repeat)
