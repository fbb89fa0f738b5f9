"""Write the tables and pictures of docs/speed-or-quality.md, docs/methods/partition.md and docs/methods/pca.md.

    python docs/reproduction_partition.py [curve] [pca] [readings]

``curve`` measures loss over seconds for MONA with rho = 0.2 ... 1 and for MONA⁺ on Credit Card and Covertype and writes
speed-or-quality-*.svg; ``pca`` measures the tables of the PCA paper on Covertype (its "Forest") and on a generated
stand-in for its Large Census; ``readings`` tries what that paper leaves open. Tables are printed as Markdown. Times are
those of all cores together.
"""

import sys
import time
from pathlib import Path

import numpy as np

from shoal.datasets import load
from shoal.methods.distance.mdav import mdav
from shoal.methods.kernels.groups import total_cost
from shoal.methods.partition.proximal import distal_records, macrocells
from shoal.methods.partition.scans import scan_components
from shoal.methods.partition.spectrum import compress, spectrum_of
from shoal.methods.registry import get_method

HERE = Path(__file__).parent
COLOURS = ["#1f6f8b", "#d1495b", "#66a182"]


def table(name):
    """A reference table, standardised; set SHOAL_DATA to the folder that holds it."""
    raw = load(name).to_numpy().astype(float)
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


def large_census(n=149_642, seed=0):
    """Thirteen attributes with the spectrum of the paper's figure 9; thirty kinds of records, heavy tails."""
    from scipy.stats import random_correlation

    rng = np.random.default_rng(seed)
    shares = np.array([0.56, 0.13, 0.08, 0.07, 0.05, 0.039, 0.03, 0.021, 0.014, 0.003, 0.002, 0.0008, 0.0002])
    values, vectors = np.linalg.eigh(random_correlation.rvs(shares / shares.sum() * 13, random_state=seed))
    kinds = rng.normal(size=(30, 13))[rng.integers(0, 30, n)]
    hidden = (np.sqrt(0.95) * kinds + np.sqrt(0.05) * rng.normal(size=(n, 13))) * np.exp(rng.normal(size=(n, 1)))
    hidden -= hidden.mean(axis=0)
    scales, axes = np.linalg.eigh(hidden.T @ hidden / n)
    white = hidden @ (axes / np.sqrt(scales)) @ axes.T
    return (white * np.sqrt(np.maximum(values, 0))) @ vectors.T


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
        (10_000, 3, 2, "mdav-star"),
        (20_000, 4, 2, "mdav-star"),
        (50_000, 6, 2, "mdav-star"),
    ):
        loss, seconds = measured(points, k, "mona-plus", block=block, passes=passes, rounds=rounds, leaf=leaf)
        curves["mona-plus"].append((loss, seconds))
        print(f"| mona-plus | {block:,} records, {passes} passes | {loss:.3f} | {seconds:.1f} |", flush=True)
    picture(HERE / f"speed-or-quality-{name}.svg", f"{name}, k = {k}: loss in % over seconds", curves)


PRINTED = {  # Tables I to IV: seconds and distortions of mdav, with PCA, with PCA on proximal records
    "Large Census": {
        2: ((987, 655, 356), (0.0056, 0.0126, 0.0127)),
        5: ((394, 261, 142), (0.0168, 0.029, 0.028)),
        10: ((197, 130, 71), (0.0278, 0.042, 0.0397)),
        50: ((40, 26, 14), (0.0685, 0.0754, 0.0747)),
        100: ((20, 13, 7), (0.0973, 0.1018, 0.0995)),
    },
    "Forest": {
        2: ((14400, 12180, 7200), (0.0025, 0.0047, 0.004)),
        5: ((5640, 4860, 2940), (0.0088, 0.0154, 0.0133)),
        10: ((2853, 2416, 1478), (0.0158, 0.0262, 0.0227)),
        50: ((570, 480, 296), (0.0417, 0.0586, 0.0545)),
        100: ((285, 240, 148), (0.058, 0.0757, 0.0733)),
    },
}


def pca_tables(name, points, macro, distal, ks):
    """Tables I to IV beside the printed ones: D, extra D, and time as a share of that of mdav."""
    spectrum = spectrum_of(points)
    kept = spectrum.choose(energy_loss=0.1)
    print(f"\n{name}: {kept} components keep {100 * (1 - spectrum.energy_loss(kept)):.1f} %, ", end="")
    print(f"one keeps {100 * (1 - spectrum.energy_loss(1)):.0f} %\n")
    print("| k | method | D printed | D here | extra printed | extra here | time printed | time here | seconds here |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    split = {"macro": macro, "distal": distal}
    for k in ks:
        times, losses = PRINTED[name][k]
        runs = [("mdav", {}), ("pca-mdav", {}), ("pca-proximal", split), ("prepartition", split)]
        for place, (method, options) in enumerate(runs):
            loss, seconds = measured(points, k, method, **options)
            if place == 0:
                plain, whole = loss, seconds
            known = place < len(losses)
            print(
                f"| {k} | {method} | {f'{losses[place]:.4f}' if known else ''} | {loss / 100:.4f} | "
                f"{f'{losses[place] - losses[0]:+.4f}' if known else ''} | {(loss - plain) / 100:+.4f} | "
                f"{f'{times[place] / times[0]:.2f}' if known else ''} | {seconds / whole:.2f} | {seconds:.1f} |",
                flush=True,
            )


def pca_scan(name, points, k=10, sample=75_000):
    """Figures 11, 12, 18 and 19: the number of components on random records."""
    print(f"\n{name}, k = {k}, {sample:,} random records\n")
    print("| components | energy lost | extra D | time |\n|---:|---:|---:|---:|")
    for row in scan_components(points, k, sample=sample):
        print(f"| {row.value} | {row.energy_loss:.3f} | {row.extra_loss:+.4f} | {row.relative_time:.2f} |", flush=True)


def pca_readings(points, ks=(10, 50, 100), macro=10_000, distal=39):
    """Readings of "PCA on proximal data" that the paper leaves open: D of the whole for each, distal part included."""
    far = distal_records(points, macrocells(points, 2, macro, mdav), distal)
    near, rest = points[~far], points[far]
    scaled = (near - near.mean(axis=0)) / near.std(axis=0)
    _, uncentred = np.linalg.eigh(near.T @ near)
    images = {
        f"{name}, {m} components": (part - part.mean(axis=0)) @ spectrum_of(part).vectors[:, :m]
        for name, part in (("centred", near), ("scaled again", scaled))
        for m in (7, 6, 5)
    }
    images["not centred, 7 components"] = near @ uncentred[:, ::-1][:, :7]
    images["components of the whole table, 7"] = near @ spectrum_of(points).vectors[:, :7]
    print("\n| reading | k | D | among the components, the discarded added |\n|---|---:|---:|---:|")
    for k in ks:
        outside = total_cost(rest, mdav(rest, k))
        for name, image in images.items():
            image = np.ascontiguousarray(image)
            labels = mdav(image, k)
            discarded = ((near - near.mean(axis=0)) ** 2).sum() - ((image - image.mean(axis=0)) ** 2).sum()
            inside, among = total_cost(near, labels), total_cost(image, labels) + discarded
            print(f"| {name} | {k} | {(outside + inside) / points.size:.4f} | ", end="")
            print(f"{(outside + among) / points.size:.4f} |" if name.startswith("centred") else "|", flush=True)


def scan_readings(raw, k=10, sample=75_000, seed=0):
    """Readings of the scan over components: random or first records, published centroids or those of the components."""
    chosen = np.sort(np.random.default_rng(seed).choice(len(raw), sample, replace=False))
    print("\n| records | components | extra D | among the components, the discarded added |\n|---|---:|---:|---:|")
    for name, part in (("random", raw[chosen]), ("first", raw[:sample])):
        points = (part - part.mean(axis=0)) / part.std(axis=0)
        plain = total_cost(points, mdav(points, k)) / points.size
        spectrum = spectrum_of(points)
        for m in (1, 6):
            image = compress(points, spectrum, m)
            labels = mdav(image, k)
            among = total_cost(image, labels) / points.size + spectrum.energy_loss(m) - plain
            print(
                f"| {name} | {m} | {total_cost(points, labels) / points.size - plain:.4f} | {among:.4f} |", flush=True
            )


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["curve", "pca", "readings"]
    if "curve" in wanted:
        curve("credit_card", 5, (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
        curve("covertype", 5, (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
    if "pca" in wanted:
        pca_tables("Large Census", large_census(), 1000, 59, (100, 50, 10, 5, 2))
        pca_tables("Forest", table("covertype"), 10_000, 39, (100, 50, 10, 5, 2))
        pca_scan("Large Census", large_census())
        pca_scan("Forest", table("covertype"))
    if "readings" in wanted:
        pca_readings(table("covertype"))
        scan_readings(table("covertype"))
