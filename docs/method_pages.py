"""Write docs/methods/index.md, a page for every method, and their part of the navigation, from the registry.

Run from the root: python docs/method_pages.py. It reads the registry and docstrings and runs no method; the pictures
come from docs/method_pictures.py.
"""

import inspect
import re
import sys
from pathlib import Path

from docstrings import cell, entries, markdown, sections

from shoal import all_methods

DOCS = Path(__file__).parent
INDEX = DOCS / "methods" / "index.md"
PAGES = DOCS / "methods" / "reference"
NAVIGATION = DOCS.parent / "mkdocs.yml"
START, END = "  # written by docs/method_pages.py\n", "  # end of what docs/method_pages.py writes\n"
FAMILIES = {
    "distance": "Distances between records",
    "univariate": "One column, and many through a projection",
    "partition": "Cutting the space",
    "optimal": "Optimal and nearly optimal",
    "nominal": "Tables of categories",
    "auto": "The default",
}
FAMILY_PAGES = {"auto": "../../speed-or-quality.md"} | {family: f"../{family}.md" for family in list(FAMILIES)[:5]}
OTHER_PAGES = {
    "pca-mdav": "../pca.md",
    "pca-proximal": "../pca.md",
    "prepartition": "../pca.md",
    "insensitive": "../../privacy.md",
    "column-generation": "../nominal-partition.md",
    "nominal": "../nominal-partition.md",
    "castro-rounding": "../nominal-partition.md",
    "c-modes": "../nominal-partition.md",
    "k-member": "../nominal-partition.md",
    "nominal-mdav": "../nominal-partition.md",
    "nominal-v-mdav": "../nominal-partition.md",
}
READS = {
    "points": "numbers, one or more columns (ordinal and nominal ones are turned into numbers)",
    "values": "one column of numbers",
    "codes": "categories: nominal and ordinal columns",
}
SIZES = {"brute-force": (14, 3), "matching": (60, 2)}
HEADER = """\
# Methods

This page is written by `docs/method_pages.py` from the registry. On the command line `shoal methods` lists the same,
and `shoal methods NAME` shows one method with its options. Every method has a page of its own with a picture.

`auto`, the default, chooses one of them for the size of the table and names it in the result.
"""


def families():
    """Return the methods of each family that has any."""
    found = {family: [] for family in FAMILIES}
    for method in all_methods().values():
        found[method.function.__module__.split(".")[2]].append(method)
    return {family: methods for family, methods in found.items() if methods}


def index():
    """Return the text of the overview."""
    parts = [HEADER]
    for family, methods in families().items():
        if family == "auto":
            continue
        parts += [
            f"## {FAMILIES[family]}\n",
            f"Files: `src/shoal/methods/{family}/`. More: [{family}.md]({family}.md).\n",
        ]
        parts += ["| method | what it does | time | guarantee | when | source |", "|---|---|---|---|---|---|"]
        for method in methods:
            name = f"[`{method.name}`](reference/{method.name}.md)"
            facts = (name, method.title, method.cost, method.guarantee, method.when, method.reference)
            parts.append(f"| {' | '.join(cell(fact) for fact in facts)} |")
        parts.append("")
    return "\n".join(parts)


def page(method, family):
    """Return the text of the page of one method."""
    module = sys.modules[method.function.__module__]
    text = sections(inspect.getdoc(method.function))
    of_module = inspect.getdoc(module)
    shared = sum(other.function.__module__ == module.__name__ for other in all_methods().values()) > 1
    idea = [text[""], of_module] if shared else [of_module]
    where = OTHER_PAGES.get(method.name, FAMILY_PAGES[family])
    parts = [
        f"# {method.name}\n",
        f"{method.title}.\n",
        f"![What {method.name} does to a small table](../pictures/{method.name}.svg)\n",
        f"{caption(method)}\n",
        "## Idea\n",
        *[f"{markdown(part)}\n" for part in idea],
        "## When to use it\n",
        f"{method.when[0].upper()}{method.when[1:]}.\n",
        "## Facts\n",
        "| fact | |",
        "|---|---|",
        f"| reads | {READS[method.data]} |",
        f"| time | {cell(method.cost)} |",
        f"| guarantee | {cell(method.guarantee)} |",
    ]
    if method.max_size is not None:
        parts.append(f"| largest group | {method.max_size(5)} records for k = 5, {method.max_size(10)} for k = 10 |")
    parts += [
        f"| chance | {'random numbers from `seed`; the same seed, the same groups' if method.seeded else 'none'} |",
        f"| source | {cell(method.reference)} |",
        f"| code | `src/{module.__name__.replace('.', '/')}.py` |",
        "",
        f"How it compares, with figures measured here beside the published ones: [{Path(where).name}]({where}).\n",
        "## Options\n",
        *options(method, text.get("Parameters", "")),
        "## Use it\n",
        *usage(method),
    ]
    return "\n".join(parts)


def caption(method):
    if method.data == "codes":
        return "A record is a column of letters. Gaps separate groups, frames mark values that changed."
    if method.data == "values":
        return "Dots are the values of one column; each bar is a group, which is replaced by its mean."
    return "Dots are records in the plane. Each blob is a group; the cross is the mean that replaces its records."


def options(method, documented):
    """Return the lines of the table of options."""
    if not method.options:
        return ["None.\n"]
    meanings = {name.strip(): text for names, text in entries(documented) for name in names.split(",")}
    meanings.setdefault("storage", "`float32` halves the memory of a large table; sums and distances stay float64.")
    lines = [
        "`--option NAME=VALUE` on the command line, `options={...}` in Python.\n",
        "| option | type | default | meaning |",
    ]
    lines.append("|---|---|---|---|")
    for option in method.options.values():
        meaning = meanings.get(option.name, "")
        kind = re.sub(
            r"Literal\[(.*?)\]", lambda found: found[1].replace("'", "").replace(", ", " or "), option.type_name
        )
        lines.append(f"| `{option.name}` | {cell(kind)} | `{option.default}` | {cell(meaning)} |")
    return [*lines, ""]


def usage(method):
    """Return the lines that show a command and a call; tests run them."""
    n, k = SIZES.get(method.name, (60, 3))
    draw = "integers(0, 3, size=({n}, 3))" if method.data == "codes" else "normal(size=({n}, {d}))"
    draw = draw.format(n=n, d=1 if method.data == "values" else 2)
    quasi = {"codes": "sex,region", "values": "age"}.get(method.data, "age,income")
    command = f"shoal protect people.csv -k {k} --quasi {quasi} --method {method.name} -o safe.csv"
    lines = [] if method.name == "brute-force" else ["```sh", command, "```", ""]
    return [
        *lines,
        "```python",
        "import numpy as np",
        "import shoal",
        "",
        f"records = np.random.default_rng(0).{draw}",
        f'labels = shoal.group(records, k={k}, method="{method.name}")',
        "```",
        "",
    ]


def navigation():
    """Return the part of mkdocs.yml that lists the pages of methods."""
    lines = ["  - Methods one by one:"]
    for family, methods in families().items():
        lines.append(f"      - {FAMILIES[family]}:")
        lines += [f"          - {method.name}: methods/reference/{method.name}.md" for method in methods]
    return "\n".join(lines) + "\n"


def written():
    """Return every file that this script writes with its text."""
    files = {INDEX: index()}
    for family, methods in families().items():
        files |= {PAGES / f"{method.name}.md": page(method, family) for method in methods}
    before, _, rest = NAVIGATION.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    return files | {NAVIGATION: f"{before}{START}{navigation()}{END}{after}"}


def main():
    PAGES.mkdir(exist_ok=True)
    files = written()
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    for old in set(PAGES.glob("*.md")) - set(files):
        old.unlink()


if __name__ == "__main__":
    main()
