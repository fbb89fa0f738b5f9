"""Write the tables and pictures of docs/speed-or-quality.md, docs/methods/partition.md and docs/methods/pca.md.

    python docs/reproduction_partition.py [curve] [pca]

``curve`` measures loss over seconds for MONA with rho = 0.2 ... 1 and for MONA⁺ on Credit Card and Covertype and writes
speed-or-quality-*.svg; ``pca`` measures the tables of the PCA paper on Covertype and on a generated stand-in for Large
Census. Tables are printed as Markdown. Times are those of all cores together.
"""

import sys
import time
from pathlib import Path

import numpy as np

from shoal.datasets import load
from shoal.methods.kernels.groups import total_cost
from shoal.methods.registry import get_method

HERE = Path(__file__).parent
COLOURS = ["#1f6f8b", "#d1495b", "#66a182"]


def table(name):
    """A reference table, standardised; set SHOAL_DATA to the folder that holds it."""
    raw = load(name).to_numpy().astype(float)
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


def large_census(n=149_642, d=13, seed=0):
    """Thirteen attributes of six factors with shares of variance as in the paper's figure 9, heavy tails."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.56, 0.13, 0.08, 0.07, 0.05, 0.039, 0.03, 0.02, 0.015, 0.003, 0.002, 0.0008, 0.0002])
    basis, _ = np.linalg.qr(rng.normal(size=(d, d)))
    hidden = rng.standard_t(4, size=(n, d)) * np.sqrt(shares)
    points = hidden @ basis.T
    return (points - points.mean(axis=0)) / points.std(axis=0)


def measured(points, k, method, **options):
    """Loss in percent and seconds of all cores; the loops are compiled before the clock starts."""
    function = get_method(method).function
    small = dict(options)
    if "macro" in small:
        small.update(macro=10 * k, distal=1)
    function(points[:3000].copy(), k, **small)
    started = time.process_time()
    labels = function(points, k, **options)
    return 100 * total_cost(points, labels) / points.size, time.process_time() - started


def picture(path, title, curves):
    """A small SVG: loss in percent over seconds on a logarithmic axis, one line per method."""
    every = [point for points in curves.values() for point in points]
    low, high = (np.log10([f(s for _, s in every) for f in (min, max)])).tolist()
    top = max(loss for loss, _ in every) * 1.05
    width, height, left, bottom = 640, 360, 60, 46

    def place(loss, seconds):
        x = left + (np.log10(seconds) - low) / max(high - low, 1e-9) * (width - left - 30)
        return x, 20 + (1 - loss / top) * (height - bottom - 20)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="sans-serif" font-size="12"><title>{title}</title>'
            f'<rect width="{width}" height="{height}" fill="#fff"/>'
        )
    ]
    for tick in np.linspace(0, top, 6):
        _, y = place(tick, 10**low)
        parts.append(
            f'<path d="M{left} {y:.1f}H{width - 30}" stroke="#ddd"/><text x="8" y="{y + 4:.1f}">{tick:.2f}</text>'
        )
    for power in range(int(np.ceil(low)), int(np.floor(high)) + 1):
        x, _ = place(0, 10**power)
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{10.0**power:g} s</text>')
    for number, (name, points) in enumerate(curves.items()):
        places = [place(*point) for point in points]
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in places]
        parts.append(f'<text x="{width - 180}" y="{36 + 18 * number}" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{left}" y="14">{title}</text></svg>')
    path.write_text("".join(parts) + "\n", encoding="utf-8")


def curve(name, k, rhos):
    points = table(name)
    curves = {"mona": [], "mona-plus": []}
    print(f"\n{name}, k = {k}\n\n| method | blocks | loss % | seconds |\n|---|---|---:|---:|")
    for rho in rhos:
        loss, seconds = measured(points, k, "mona", rho=rho)
        curves["mona"].append((loss, seconds))
        print(f"| mona | rho = {rho} | {loss:.3f} | {seconds:.1f} |", flush=True)
    for block, passes, rounds, leaf in (
        (1000, 1, 0, "mdav-plus"),
        (3000, 1, 1, "mdav-star"),
        (10_000, 2, 2, "mdav-star"),
        (20_000, 3, 2, "mdav-star"),
        (50_000, 5, 2, "mdav-star"),
    ):
        loss, seconds = measured(points, k, "mona-plus", block=block, passes=passes, rounds=rounds, leaf=leaf)
        curves["mona-plus"].append((loss, seconds))
        print(f"| mona-plus | {block:,} records, {passes} passes | {loss:.3f} | {seconds:.1f} |", flush=True)
    picture(HERE / f"speed-or-quality-{name}.svg", f"{name}, k = {k}: loss in % over seconds", curves)


def pca_tables(name, points, macro, distal, ks):
    print(f"\n{name}\n\n| k | method | D | D - D(mdav) | seconds | of mdav |\n|---|---|---:|---:|---:|---:|")
    for k in ks:
        plain, whole = measured(points, k, "mdav")
        print(f"| {k} | mdav | {plain / 100:.4f} | | {whole:.1f} | 1.00 |", flush=True)
        for method, options in (
            ("pca-mdav", {}),
            ("pca-proximal", {"macro": macro, "distal": distal}),
            ("prepartition", {"macro": macro, "distal": distal}),
        ):
            loss, seconds = measured(points, k, method, **options)
            print(
                f"| {k} | {method} | {loss / 100:.4f} | {(loss - plain) / 100:+.4f} | {seconds:.1f} | "
                f"{seconds / whole:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["curve", "pca"]
    if "curve" in wanted:
        curve("credit_card", 5, (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
        curve("covertype", 5, (0.2, 0.4, 0.5, 0.6, 0.7, 0.8))
    if "pca" in wanted:
        pca_tables("Generated stand-in for Large Census", large_census(), 1000, 59, (10, 50, 100))
        pca_tables("Covertype (Forest)", table("covertype"), 10_000, 39, (50, 100))
