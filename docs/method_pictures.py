"""Draw docs/methods/pictures/*.svg: the groups of each method on the same small table.

    python docs/method_pictures.py [NAME ...]

Methods for numbers group 80 records in the plane (brute-force 14, matching pairs), ``optimal-1d`` one column; a group
is drawn as an area around its records with a cross at the mean. Methods for categories protect 24 records of four
columns; a record is a column of letters, before and after. The numbers below the figures are measured, so this script
runs the methods; docs/method_pages.py does not.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.methods.kernels.centroids import total_cost

FOLDER = Path(__file__).parent / "methods" / "pictures"
COLOURS = ["#1f6f8b", "#d1495b", "#66a182", "#edae49", "#7d5ba6", "#3e8ede", "#a26769", "#5b8c2a"]
SIZES = {"brute-force": (14, 3), "matching": (80, 2)}
WIDTH, HEIGHT = 560, 330
STYLE = "text{font:12px system-ui,sans-serif;fill:#777}"


def plane(n=80):
    """Records in the plane: three clusters of different density, and some scattered records."""
    rng = np.random.default_rng(7)
    clusters = [rng.normal(centre, spread, (24, 2)) for centre, spread in (((2, 2), 0.5), ((7, 4), 0.9), ((4, 7), 0.7))]
    points = rng.permutation(np.vstack([*clusters, rng.uniform(0, 9, (8, 2))]))[:n]
    return (points - points.mean(axis=0)) / points.std(axis=0)


def categories():
    """Twenty-four records of four nominal columns that depend on each other."""
    rng = np.random.default_rng(3)
    kinds = np.array([["f", "n", "p", "a"], ["m", "s", "s", "b"], ["f", "e", "t", "c"], ["m", "w", "s", "a"]])
    people = kinds[rng.integers(0, 4, 24)]
    other = kinds[rng.integers(0, 4, people.shape), np.arange(4)]
    people = np.where(rng.random(people.shape) < 0.3, other, people)
    return pl.DataFrame(people, schema=["sex", "region", "school", "job"], orient="row")


def picture(name):
    """Return the figure of one method as SVG."""
    method = shoal.get_method(name)
    return of_categories(name) if method.data == "codes" else of_points(name, one_column=method.data == "values")


def of_points(name, *, one_column=False):
    n, k = SIZES.get(name, (80, 5))
    points = plane(n)
    if one_column:
        points = points[:, :1]
    labels = shoal.group(points, k, method=name)
    loss = 100 * total_cost(np.ascontiguousarray(points), labels) / points.size
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.array([WIDTH - 40, 300 - 40])[: points.shape[1]]
    placed = 20 + (points - low) / (high - low) * extent
    if one_column:
        placed = np.column_stack([placed, np.full(n, 40.0)])
    height = 80 if one_column else 300
    parts = []
    for number in range(labels.max() + 1):
        inside = placed[labels == number]
        colour = COLOURS[number % len(COLOURS)]
        x, y = inside.mean(axis=0)
        outline = "M" + "L".join(f"{a:.0f} {b:.0f}" for a, b in hull(inside)) + "z"
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in inside)
        cross = "" if one_column else f'<path class="c" d="M{x - 4:.0f} {y:.0f}h8m-4-4v8"/>'
        parts.append(f'<g color="{colour}"><path class="b" d="{outline}"/><path class="d" d="{dots}"/>{cross}</g>')
    style = (
        ".b{fill:currentColor;stroke:currentColor;stroke-width:15;stroke-linejoin:round;opacity:.28}"
        ".d{stroke:currentColor;stroke-width:6;stroke-linecap:round}.c{stroke:#888;stroke-width:1.5}"
    )
    sizes = np.bincount(labels)
    below = (
        f"{n} records, k = {k}: {len(sizes)} groups of {sizes.min()} to {sizes.max()}, information loss {loss:.2f} %"
    )
    return svg("".join(parts), style, below, height, f"{name}: groups in {'one column' if one_column else 'the plane'}")


def of_categories(name):
    people = categories()
    release = shoal.protect(people, 3, quasi=people.columns, method=name, accept_loss=True)
    labels = release.grouping.labels
    order = np.argsort(labels, kind="stable")
    before, after = people.to_numpy()[order], release.data.to_numpy()[order]
    places = 60 + 17 * np.arange(len(order)) + 7 * labels[order]
    parts, height = [], 17
    for side, (title, cells) in enumerate({"before": before, "after": after}.items()):
        top = 20 + side * (4 * height + 30)
        parts.append(f'<text x="60" y="{top - 5}">{title}</text>')
        for row, column in enumerate(people.columns):
            y = top + row * height
            parts.append(f'<text x="54" y="{y + 12}" text-anchor="end">{column}</text>')
            for code, value in enumerate(sorted(set(before[:, row]))):
                same = places[cells[:, row] == value]
                if same.size:
                    squares = "".join(f"M{x} {y}h16v16h-16z" for x in same)
                    parts.append(f'<path fill="{COLOURS[code]}" opacity=".3" d="{squares}"/>')
            letters = " ".join(str(x + 8) for x in places)
            parts.append(f'<text class="l" x="{letters}" y="{y + 12}">{"".join(cells[:, row])}</text>')
            if side:
                changed = places[before[:, row] != after[:, row]]
                if changed.size:
                    outlines = "".join(f"M{x + 1} {y + 1}h14v14h-14z" for x in changed)
                    parts.append(f'<path fill="none" stroke="#d1495b" stroke-width="1.5" d="{outlines}"/>')
    below = f"24 records, k = 3: {len(release.grouping)} groups, {int((before != after).sum())} of 96 values changed"
    return svg("".join(parts), ".l{font-size:11px;text-anchor:middle}", below, 196, f"{name}: records before and after")


def hull(points):
    """Return the corners of the convex hull, in order (monotone chain)."""
    ordered = sorted(map(tuple, points))
    if len(ordered) < 3:
        return ordered
    halves = []
    for sequence in (ordered, ordered[::-1]):
        half = []
        for point in sequence:
            while len(half) > 1 and turn(half[-2], half[-1], point) <= 0:
                half.pop()
            half.append(point)
        halves += half[:-1]
    return halves


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def svg(body, style, below, height, title):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + 30}" width="{WIDTH}" role="img">'
        f"<title>{title}</title><style>{STYLE}{style}</style>{body}"
        f'<text x="20" y="{height + 20}">{below}</text></svg>\n'
    )


def main(names):
    FOLDER.mkdir(exist_ok=True)
    known = [name for name, method in shoal.all_methods().items() if method.built_in]
    for name in names or known:
        (FOLDER / f"{name}.svg").write_text(picture(name), encoding="utf-8")
        print(name)
    for old in FOLDER.glob("*.svg"):
        if old.stem not in known:
            old.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
