"""The tables and the picture of ``curve.py`` in docs/speed-or-quality.md, written from stored results."""

import sys
from math import log10
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from kept import write_tables

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "speed-or-quality.md", DOCS / "speed-or-quality-efforts.svg"
EVIDENCE = DOCS / "evidence.md"
OURS = ("fast", "balanced", "best")
PEERS = ("mdav", "projection", "mhm-tour", "mhm-mdav", "k-means", "earlier fast")
TITLES = {"mhm-tour": "MHM, tour", "mhm-mdav": "MHM, MDAV", "k-means": "constrained k-means", "auto 1 s": "auto, 1 s"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 440, 70, 50, 56


def cells_of(results):
    """By table and k: by contender, what was measured."""
    cells = {}
    for key, found in results.items():
        if key.startswith(("limit ", "release ")):
            continue
        name, k, contender = key.split(" ", 2)
        cells.setdefault((found["n"], name, int(k)), {})[contender] = found
    return {key: cells[key] for key in sorted(cells) if "ona-star" in cells[key]}


def change(cell, name, base="ona-star"):
    return 100 * (cell[name]["sse"] / cell[base]["sse"] - 1)


def summary(cells):
    """One line for each contender: change of the loss against ona-star and time as multiple of its time."""
    lines = [
        "| contender | cells | loss, mean % | worst % | in | time, median | cells below `balanced` |",
        "|---|---:|---:|---:|---|---:|---:|",
    ]
    for name in (*PEERS, *OURS, "auto 1 s", "set-partition"):
        present = {key: cell for key, cell in cells.items() if name in cell}
        if not present:
            continue
        changes = {key: change(cell, name) for key, cell in present.items()}
        worst = max(changes, key=changes.get)
        times = np.median([cell[name]["s"] / max(cell["ona-star"]["s"], 1e-4) for cell in present.values()])
        below = sum("balanced" in cell and change(cell, name, "balanced") < -1e-4 for cell in present.values())
        lines.append(
            f"| {shown(name)} | {len(present)} | {np.mean(list(changes.values())):+.1f} | {changes[worst]:+.1f} "
            f"| {worst[1]} k={worst[2]} | {times:.1f} | {'' if name == 'balanced' else below} |"
        )
    return lines


def shown(name):
    return f"`{name}`" if name in {"mdav", "projection", "set-partition"} else TITLES.get(name, name)


def targets(cells):
    """What is aimed at, and what was measured: the mean over cells and the worst one."""
    rows = []

    def row(title, values, unit="%"):
        if values:
            worst = max(values, key=values.get)
            rows.append(
                f"| {title} | {len(values)} | {np.mean(list(values.values())):+.2f} {unit} "
                f"| {values[worst]:+.2f} {unit} ({worst[1]} k={worst[2]}) |"
            )

    both = {key: cell for key, cell in cells.items() if {"fast", "earlier fast"} <= set(cell)}
    row(
        "`fast` against the earlier `fast`: -2 %",
        {key: change(cell, "fast", "earlier fast") for key, cell in both.items()},
    )
    large = {key: cell for key, cell in both.items() if cell["fast"]["s"] > 0.05}
    row(
        "its time: 1.3 times (runs above 0.05 s)",
        {k: c["fast"]["s"] / c["earlier fast"]["s"] for k, c in large.items()},
        "x",
    )
    ours = {key: cell for key, cell in cells.items() if "balanced" in cell}
    row("`balanced` against `ona-star`: -6 %", {key: change(cell, "balanced") for key, cell in ours.items()})
    row(
        "its time beyond 2.4 times + 0.1 s (+ 1 s up to 1,000 records): 0 s",
        {k: c["balanced"]["s"] - 2.4 * c["ona-star"]["s"] - 0.1 - (k[0] <= 1_000) for k, c in ours.items()}, "s",
    )  # fmt: skip
    row(
        "`balanced` against the best peer of the cell: 0 %",
        {k: max(change(c, "balanced", peer) for peer in (*PEERS, "ona-star") if peer in c) for k, c in ours.items()},
    )
    near = {key: cell for key, cell in cells.items() if {"best", "set-partition"} <= set(cell) and key[0] <= 4_000}
    row("`best` against `set-partition`, 20 s: +1 %", {k: change(c, "best", "set-partition") for k, c in near.items()})
    small = {key: cell for key, cell in cells.items() if "best" in cell and key[0] <= 4_000}
    row("its time up to 4,000 records: 3 s", {k: c["best"]["s"] for k, c in small.items()}, "s")
    return ["| target | cells | mean | worst cell |", "|---|---:|---:|---:|", *rows]


def each_cell(cells):
    """The loss of every cell against ona-star."""
    lines = [
        "| table | k | ona-star s | best peer | % | fast % | s | balanced % | s | best % | s | set-partition % |",
        "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (n, name, k), cell in cells.items():
        peer = min((p for p in PEERS if p in cell), key=lambda p: cell[p]["sse"])
        texts = [shown(peer), f"{change(cell, peer):+.1f}"]
        for ours in OURS:
            texts += [f"{change(cell, ours):+.1f}", f"{cell[ours]['s']:.2f}"] if ours in cell else ["", ""]
        texts.append(f"{change(cell, 'set-partition'):+.1f}" if "set-partition" in cell else "")
        size = f"{n:,} x {cell['ona-star']['d']}"
        lines.append(f"| {name} {size} | {k} | {cell['ona-star']['s']:.3f} | {' | '.join(texts)} |")
    return lines


def limits(results):
    lines = ["| table | time limit s | used s | loss % | method |", "|---|---:|---:|---:|---|"]
    for key in sorted(
        (key for key in results if key.startswith("limit ")), key=lambda key: (key.split()[1], float(key.split()[2]))
    ):
        found, (_, name, limit) = results[key], key.split()
        lines.append(f"| {name} | {limit} | {found['s']:.2f} | {found['loss']:.3f} | `{found['method']}` |")
    return lines


def releases(results):
    """Return the table of persons that two releases leave with fewer than k candidates."""
    lines = [
        "| table | removed | formed anew | `--previous` | avoidable | same, first with k = 6 | loss, k = 5 | k = 6 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    shares = ("anew", "previous", "avoidable", "reserve", "loss", "loss of k + 1")
    for key in sorted(
        (key for key in results if key.startswith("release ")), key=lambda key: (key.split()[1], int(key.split()[3]))
    ):
        _, name, _, removed = key.split()
        texts = [f"{100 * results[key][part]:.2f} %" for part in shares]
        lines.append(f"| {name} | {int(removed):,} | {' | '.join(texts)} |")
    return lines


def picture(cells):
    """Mean change of the loss over the time, both against ona-star, of each contender on the cells it has."""
    points = {"ona-star": (1.0, 0.0)}
    for name in (*PEERS, *OURS, "set-partition"):
        present = [cell for cell in cells.values() if name in cell]
        if present:
            times = [log10(max(cell[name]["s"], 1e-4) / max(cell["ona-star"]["s"], 1e-4)) for cell in present]
            points[name] = (10 ** float(np.mean(times)), float(np.mean([change(cell, name) for cell in present])))
    low, high = -12.0, 60.0
    first, last = min(log10(x) for x, _ in points.values()) - 0.2, max(log10(x) for x, _ in points.values()) + 0.9

    def place(x, y):
        share = (min(y, high) - low) / (high - low)
        across = LEFT + (WIDTH - LEFT - 20) * (log10(x) - first) / (last - first)
        return across, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    title = "Loss and processor time against ona-star, means over all cells"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"',
        f'font-family="sans-serif" font-size="13"><title>{title}</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="26" font-size="16" font-weight="bold">{title}</text>',
    ]
    for y in range(-10, 61, 10):
        _, down = place(1.0, y)
        out.append(f'<line x1="{LEFT}" y1="{down:.1f}" x2="{WIDTH - 20}" y2="{down:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">{y:+d} %</text>')
    for power in range(int(np.ceil(first)), int(np.floor(last)) + 1):
        across, down = place(10.0**power, low)
        out.append(f'<line x1="{across:.1f}" y1="{TOP}" x2="{across:.1f}" y2="{down:.1f}" stroke="#eee"/>')
        out.append(f'<text x="{across:.1f}" y="{down + 18:.1f}" text-anchor="middle">{10.0**power:g}</text>')
    out.append(
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 14}" text-anchor="middle">time of ona-star = 1 (geometric mean)</text>'
    )
    for name, (x, y) in points.items():
        across, down = place(x, y)
        colour = "#0b6e99" if name in OURS else "#d1495b"
        more = f" ({y:+.0f} %)" if y > high else ""
        out.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="5" fill="{colour}"/>')
        out.append(f'<text x="{across + 9:.1f}" y="{down + 4:.1f}">{TITLES.get(name, name)}{more}</text>')
    PICTURE.write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")


def write(results):
    """Write all tables and the picture."""
    cells = cells_of(results)
    picture(cells)
    tables = {"contenders": summary(cells), "targets": targets(cells), "efforts": each_cell(cells)}
    tables["limits"] = limits(results)
    write_tables(PAGE, tables)
    write_tables(EVIDENCE, {"releases": releases(results)})
    return tables | {"releases": releases(results)}
