"""Further studies of Rebollo-Monedero et al. 2019 on Forest: macrocells, distal scan, a second energy loss, readings.

    python docs/reproduction_pca_studies.py [macrocells] [distal] [energy] [candidates] [--k 100,50,10,5] [--docs]

``macrocells``: Figure 20; ``distal``: Figure 21; ``energy``: Figures 22 and 23 with an energy loss of 0.2;
``candidates``: readings of the third column of Table IV. Results are stored in docs/methods/pca-results.json;
``--docs`` writes the page from them.
"""

import argparse
from itertools import product

import numpy as np
from kept import keep, kept, write_tables
from reproduction_partition import measured
from reproduction_pca import PAGE, PRINTED, RESULTS, SPLITS, mdav, points_of

from shoal.methods.kernels.centroids import total_cost
from shoal.methods.partition.macrocells import distal_records, macrocell_errors, macrocells
from shoal.methods.partition.principal_components import spectrum_of
from shoal.methods.partition.scans import scan_distal

KS = (2, 5, 10, 50, 100)
COUNTS = (0, 10, 20, 30, 39, 48, 58)
COMPONENTS = 7
CHOICES = ("largest error", "first made")
PARTS = ("proximal", "distal")
SOURCES = ("own", "whole table")
SCALES = ("as it is", "standardised")
ENERGY = 0.2


def cells_of(points):
    return macrocells(points, 2, SPLITS["Forest"]["macro"], mdav)


def measure_macrocells(points):
    """Figure 20: the share of the total variance that each macrocell holds, in the order in which they are made."""
    cells = cells_of(points)
    shares = macrocell_errors(points, cells) * np.bincount(cells) / points.size
    keep(RESULTS, "macrocells Forest", {"shares": [round(float(share), 6) for share in shares]})


def measure_distal(points):
    """Figure 21: extra loss and time over the number of distal macrocells, k = 100."""
    for row in scan_distal(points, 100, counts=list(COUNTS), macro=SPLITS["Forest"]["macro"]):
        keep(RESULTS, f"distal Forest {row.value}", {"extra": row.extra_loss, "time": row.relative_time})
        print("distal", row.value, flush=True)


def measure_energy(points):
    """Figures 22 and 23: the two methods with an energy loss of 0.2."""
    for k, method in product(reversed(KS), ("pca-mdav", "pca-proximal")):
        options = {"energy_loss": ENERGY} | (SPLITS["Forest"] if method == "pca-proximal" else {})
        keep(RESULTS, f"energy {ENERGY} {k} {method}", measured(points, k, method, **options))
        print("energy", k, method, flush=True)


def standardised(part):
    return (part - part.mean(axis=0)) / part.std(axis=0)


def measure_candidates(points, ks):
    """Readings of the third column: which macrocells are distal, which part is projected, by which components, how."""
    cells = cells_of(points)
    masks = {"largest error": distal_records(points, cells, SPLITS["Forest"]["distal"])}
    masks["first made"] = cells < SPLITS["Forest"]["distal"]
    for k, choice in product(ks, CHOICES):
        parts = {"proximal": points[~masks[choice]], "distal": points[masks[choice]]}
        for projected, scale in product(PARTS, SCALES):
            scaled = {name: standardised(part) if scale == "standardised" else part for name, part in parts.items()}
            other = next(name for name in PARTS if name != projected)
            plain = mdav(np.ascontiguousarray(scaled[other]), k)
            for source in SOURCES:
                axes = spectrum_of(scaled[projected] if source == "own" else points).vectors[:, :COMPONENTS]
                centred = scaled[projected] - scaled[projected].mean(axis=0)
                labels = {projected: mdav(np.ascontiguousarray(centred @ axes), k), other: plain}
                found = {
                    "whole": sum(total_cost(parts[name], labels[name]) for name in PARTS) / points.size,
                    "own": sum(len(parts[name]) * own_distortion(scaled[name], labels[name]) for name in PARTS)
                    / len(points),
                }
                keep(RESULTS, f"candidate {k} {choice}; {projected}; {source}; {scale}", found)
                print(k, choice, projected, source, scale, found, flush=True)


def own_distortion(part, labels):
    """The distortion of a part in relation to its own variance."""
    return total_cost(part, labels) / ((part - part.mean(axis=0)) ** 2).sum()


def candidate_lines(results):
    ks = [k for k in KS if f"candidate {k} first made; distal; own; standardised" in results]
    printed = {k: PRINTED["Forest"][k][1][2] for k in ks}
    head = ["distal macrocells", "projected part", "components of", "parts", "D of", *(f"k = {k}" for k in ks)]
    lines = ["| " + " | ".join([*head, "largest difference"]) + " |", "|---|---|---|---|---|" + "--:|" * (len(ks) + 1)]
    lines.append("| **printed** | | | | | " + " | ".join(f"{printed[k]:.4f}" for k in ks) + " | |")
    rows = []
    for choice, projected, source, scale in product(CHOICES, PARTS, SOURCES, SCALES):
        for measure in ("whole", "own"):
            found = [results[f"candidate {k} {choice}; {projected}; {source}; {scale}"][measure] for k in ks]
            apart = max(abs(value - printed[k]) for value, k in zip(found, ks, strict=True))
            rows.append((apart, [choice, projected, source, scale, "the table" if measure == "whole" else "each part",
                                 *(f"{value:.4f}" for value in found), f"{apart:.4f}"]))  # fmt: skip
    return lines + ["| " + " | ".join(row) + " |" for _, row in sorted(rows)]


def study_lines(results):
    shares = np.array(results["macrocells Forest"]["shares"])
    spread = f"{shares.min():.4f}, {np.median(shares):.4f}, {shares.max():.4f}"
    yield from ("| macrocells (Figure 20) | printed | here |", "|---|---|---|", f"| number | 58 | {shares.size} |")
    yield f"| least, median and largest share of the variance | nearly equal | {spread} |"
    yield from (f"| share of all together | | {shares.sum():.3f} |", "")
    yield from ("| distal macrocells, k = 100 (Figure 21) | extra D | time |", "|--:|--:|--:|")
    for count in COUNTS:
        found = results[f"distal Forest {count}"]
        yield f"| {count} | {found['extra']:+.4f} | {found['time']:.2f} |"
    yield from ("", "Printed for the 39 that were chosen: extra D of about 0.02.", "")
    yield (
        "| energy loss | method | mean extra D printed (Figure 23) | here | "
        + " | ".join(f"k = {k}" for k in KS)
        + " |"
    )
    yield "|--:|---|--:|--:|" + "--:|" * len(KS)
    for energy, said in ((0.1, ("0.015", "about 0.015")), (ENERGY, ("0.055", "about 0.02"))):
        for method, text in zip(("pca-mdav", "pca-proximal"), said, strict=True):
            start = "table Forest" if energy == 0.1 else f"energy {ENERGY}"
            extra = [
                (results[f"{start} {k} {method}"]["loss"] - results[f"table Forest {k} mdav"]["loss"]) / 100 for k in KS
            ]
            cells = " | ".join(f"{value:+.4f}" for value in extra)
            yield f"| {energy} | `{method}` | {text} | {np.mean(extra):+.4f} | {cells} |"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("what", nargs="*", choices=["macrocells", "distal", "energy", "candidates", []])
    options.add_argument("--k", default="100,50,10,5")
    options.add_argument("--docs", action="store_true", help="write docs/validation/pca.md")
    chosen = options.parse_args()
    for name, measure in (("macrocells", measure_macrocells), ("distal", measure_distal), ("energy", measure_energy)):
        if name in chosen.what:
            measure(points_of("Forest"))
    if "candidates" in chosen.what:
        measure_candidates(points_of("Forest"), [int(k) for k in chosen.k.split(",")])
    if chosen.docs:
        results = kept(RESULTS)
        write_tables(PAGE, {"candidates": candidate_lines(results), "studies": list(study_lines(results))})


if __name__ == "__main__":
    main()
