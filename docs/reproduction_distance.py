"""Writes the tables of docs/methods/distance.md: published results, results of Shoal, and the difference.

Run from the root of the repository, with the names of the parts to renew (all if there is none: tables, simulated,
exchanges); ``--large`` adds Credit Card and Adult (a few minutes). The reference data are read as the tests read them.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from kept import write_tables  # noqa: E402 - one block with those below

from published import thaeter, thaeter_simulated  # noqa: E402 - found through the path above
from shoal.methods.running import run  # noqa: E402

PAGE = ROOT / "docs" / "methods" / "distance.md"
THAETER_2021 = {"closest": "centroid", "split_position": "origin"}
OPTIONS = {"ona-star": THAETER_2021, "ona-star-gamma": THAETER_2021, "lmas": {"runs": 20}, "ona": {"runs": 20}}
TITLES = {"census": "Census", "tarragona": "Tarragona", "eia": "EIA", "cloud1": "Cloud1", "cloud2": "Cloud2"}
TITLES |= {"credit_card": "Credit Card", "adult": "Adult"}
SLOW = {"max-distance", "v-mdav", "mdav-star-gamma", "ona-star-gamma", "lmas", "ona"}


def rows(method, printed, names, ks, options):
    """The lines of a table, and how many of its cells agree to the printed digit."""
    lines, equal, cells = [], 0, 0
    for name in names:
        if name not in printed:
            continue
        table = thaeter.points(name)
        ours, differences = [], []
        for k, text in zip(ks, printed[name].split(), strict=True):
            loss = thaeter.loss(table, run(method, table, k, **options).labels)
            ours.append(thaeter.as_printed(loss, text) + ("" if thaeter.as_printed(loss, text) == text else " *"))
            differences.append(f"{loss - float(text):+.4f}")
            equal += thaeter.as_printed(loss, text) == text
            cells += 1
        lines.append(f"| {TITLES[name]} | printed | " + " | ".join(printed[name].split()) + " |")
        lines.append("| | Shoal | " + " | ".join(ours) + " |")
        lines.append("| | difference | " + " | ".join(differences) + " |")
    return lines, equal, cells


def section(title, method, printed, names, ks, options):
    lines, equal, cells = rows(method, printed, names, ks, options)
    given = "".join(f", {key}={value}" for key, value in options.items())
    head = [f"### {title}", "", f"`{method}`{given}: {equal} of {cells} cells agree to the printed digit.", ""]
    head += ["| data | | " + " | ".join(f"k={k}" for k in ks) + " |", "|---" * (len(ks) + 2) + "|"]
    return "\n".join([*head, *lines, ""])


def sections(large):
    for method, printed in thaeter.LOSS.items():
        names = thaeter.SMALL + (thaeter.LARGE if large and method not in SLOW else ())
        if method in {"lmas", "ona"}:  # printed: the best of 100 runs
            names = tuple(name for name in names if name != "eia")
        table = "B.1 to B.3" if method in {"lmas", "ona", "ona-star", "ona-star-gamma"} else "A.1 to A.3"
        yield section(
            f"Thaeter 2021, Tables {table}: {method}", method, printed, names, thaeter.KS, OPTIONS.get(method, {})
        )
    for method in ("mdav-star", "ona-star"):
        names = thaeter.SMALL + (thaeter.LARGE if large else ())
        printed = thaeter.PAPER[method]
        yield section(
            f"Thaeter & Reischuk 2021, Tables 1 and 6: {method}",
            method,
            printed,
            names,
            thaeter.KS,
            {"closest": "cost"},
        )
    for method, printed in thaeter.CHAPTER_8.items():
        yield section(f"Thaeter 2021, chapter 8: {method}", method, printed, tuple(printed), (3, 4, 5, 10), {})


def simulated(_large):
    """Means over generated databases beside the printed means over 25 that are unavailable."""
    databases = 4
    yield "## Simulated data\n"
    for kind, title in (("simu", "SimU"), ("simc", "SimC")):
        lines = [
            f"### Thaeter 2021, Tables A.4 and B.4: {title}",
            "",
            f"Means over {databases} generated databases.",
            "",
        ]
        lines += [
            "| method | | " + " | ".join(f"k={k}" for k in thaeter.KS) + " |",
            "|---" * (len(thaeter.KS) + 2) + "|",
        ]
        for method in ("mdav", "mdav-plus", "mdav-star", "ona-star"):
            ours = [thaeter_simulated.mean_loss(kind, method, k, databases) for k in thaeter.KS]
            printed = [thaeter_simulated.printed(kind, method, k) for k in thaeter.KS]
            lines.append(f"| `{method}` | printed | " + " | ".join(f"{value:.2f}" for value in printed) + " |")
            lines.append("| | Shoal | " + " | ".join(f"{value:.2f}" for value in ours) + " |")
            differences = [f"{left - right:+.2f}" for left, right in zip(ours, printed, strict=True)]
            lines.append("| | difference | " + " | ".join(differences) + " |")
        yield "\n".join([*lines, ""])


def exchanges(large):
    """What exchanges gain over ONA*."""
    lines = ["Information loss in per cent:", "", "| data | | " + " | ".join(f"k={k}" for k in thaeter.KS) + " |"]
    lines.append("|---" * (len(thaeter.KS) + 2) + "|")
    for name in thaeter.SMALL + (thaeter.LARGE if large else ()):
        table = thaeter.points(name)
        rows = []
        for method in ("ona-star", "ona-star-plus"):
            rows.append([thaeter.loss(table, run(method, table, k).labels) for k in thaeter.KS])
            first = TITLES[name] if method == "ona-star" else ""
            lines.append(f"| {first} | `{method}` | " + " | ".join(f"{value:.3f}" for value in rows[-1]) + " |")
        ratios = [f"{100 * (new / old - 1):+.1f} %" for old, new in zip(*rows, strict=True)]
        lines.append("| | change | " + " | ".join(ratios) + " |")
    yield "\n".join([*lines, ""])


def main():
    parts = {"tables": sections, "simulated": simulated, "exchanges": exchanges}
    wanted = [name for name in parts if name in sys.argv] or parts
    write_tables(PAGE, {name: list(parts[name]("--large" in sys.argv)) for name in wanted})


if __name__ == "__main__":
    main()
