"""How much does an installation take, and what for?

    python benchmarks/install_size.py [--write]

Installs this checkout with the extras for users into a fresh environment, runs the demo there, and prints the size of
each distribution (the files that its metadata lists, compiled modules included) and of what each extra adds.
``--write`` renews the tables of ``docs/install.md``. Sizes differ between systems; the page shows Linux on x86-64.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
EXTRAS = {
    "pandas": "pandas DataFrames in and out",
    "stats-files": "SPSS, Stata and SAS files with labels",
    "excel": "Excel workbooks (`.xlsx`)",
    "sql": "tables of SQLite, DuckDB and PostgreSQL",
    "dp": "differential privacy (`shoal.dp`, `shoal dp`)",
    "sklearn": "`shoal.sklearn.Microaggregator` in scikit-learn pipelines",
    "matching": "the method `matching`",
    "png": "`shoal compare --png`",
    "studio": "`shoal studio`, the job in the browser",
    "spark": "engine `spark`, on a cluster; needs Java 17",
}
DEMO = """
import json, sys
from importlib.metadata import packages_distributions
from shoal.cli.application import main
sys.argv = ["shoal", "demo"]
try:
    main()
except SystemExit as finished:
    assert not finished.code
owners = packages_distributions()
packages = {name.partition(".")[0] for name in sys.modules}
print(json.dumps(sorted({owner for name in packages for owner in owners.get(name, [])})))
"""


def canonical(name):
    """The name of a distribution as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(site):
    """The distributions of an environment by name."""
    return {canonical(found.metadata["Name"]): found for found in distributions(path=[str(site)])}


def closure(found, names, extra=""):
    """The distributions that some distributions need, themselves included; those of an extra for the first of them."""
    needed, waiting = set(), [(canonical(name), extra) for name in names]
    while waiting:
        name, wanted = waiting.pop()
        if name in needed and not wanted:
            continue
        needed.add(name)
        for text in found[name].requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": wanted}):
                other = canonical(requirement.name)
                if other not in needed:
                    waiting.append((other, ""))
    return needed


def megabytes(distribution):
    """The size of the files of a distribution."""
    files = {Path(distribution.locate_file(file)).resolve() for file in distribution.files or []}
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def measure(folder):
    """The distributions of a fresh environment, their sizes, and which ones the demo loads."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
    python = folder / "environment" / "bin" / "python"
    target = f"{ROOT}[{','.join(EXTRAS)}]"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", target], check=True, stderr=subprocess.DEVNULL)
    site = next((folder / "environment" / "lib").glob("python*/site-packages"))
    found = installed(site)
    sizes = {name: megabytes(distribution) for name, distribution in found.items()}
    demo = subprocess.run([str(python), "-c", DEMO], check=True, cwd=folder, stdout=subprocess.PIPE, text=True)
    loaded = {canonical(name) for name in json.loads(demo.stdout.splitlines()[-1])}
    return found, sizes, loaded


def tables(found, sizes, loaded):
    """The lines of the two tables."""
    base = closure(found, ["shoal"])
    total = sum(sizes[name] for name in base)
    rows = sorted(base, key=lambda name: -sizes[name])
    large = [name for name in rows if sizes[name] >= 5]
    small = [name for name in rows if sizes[name] < 5]
    lines = ["| library | MB | loaded by the demo |", "|---|--:|---|"]
    lines += [f"| {name} | {sizes[name]:.0f} | {'yes' if name in loaded else 'no'} |" for name in large]
    lines += [f"| {len(small)} others, below 5 MB each | {sum(sizes[name] for name in small):.0f} | |"]
    lines += [f"| **together** | **{total:.0f}** | |"]
    extras = ["| extra | for | adds MB |", "|---|---|--:|", f"| (none) | everything else | {total:.0f} |"]
    for extra, purpose in EXTRAS.items():
        added = closure(found, ["shoal"], extra) - base
        extras.append(f"| `{extra}` | {purpose} | {sum(sizes[name] for name in added):.0f} |")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    others = ", ".join(f"`{name}`" for name in declared if name not in EXTRAS)
    return {"sizes": lines, "extras": [*extras, "", f"For work on Shoal itself: {others}."]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--write", action="store_true", help="renew docs/install.md")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        written = tables(*measure(Path(name)))
    for lines in written.values():
        print("\n".join([*lines, ""]))
    if chosen.write:
        sys.path.insert(0, str(ROOT / "docs"))
        from kept import write_tables

        write_tables(ROOT / "docs" / "install.md", written)


if __name__ == "__main__":
    main()
