"""Write docs/methods/index.md, a page for every method, and their part of the navigation, from the registry.

Run from the root: python docs/method_pages.py. It reads the registry and the docstrings and runs no method;
docs/method_pictures.py draws the figures.
"""

import inspect
import sys
from pathlib import Path

from docstrings import cell, entries, markdown, sections

from shoal import all_methods

DOCS = Path(__file__).parent
INDEX = DOCS / "methods" / "index.md"
PAGES = DOCS / "methods" / "reference"
NAVIGATION = DOCS.parent / "mkdocs.yml"
START = "      # written by docs/method_pages.py\n"
END = "      # end of what docs/method_pages.py writes\n"
FAMILIES = {
    "distance": "Distances between records",
    "univariate": "One column, and projections onto one",
    "partition": "Cutting the space",
    "optimal": "Optimal and nearly optimal",
    "nominal": "Categorical microdata",
    "auto": "The default",
}
FAMILY_PAGES = {"auto": "../../speed-or-quality.md"} | {family: f"../{family}.md" for family in list(FAMILIES)[:5]}
OTHER_PAGES = {
    "pca-mdav": "../pca.md",
    "pca-proximal": "../pca.md",
    "prepartition": "../pca.md",
    "insensitive": "../../privacy.md",
    "cell-suppression": "../../cell-suppression.md",
    "column-generation": "../nominal-partition.md",
    "nominal": "../nominal-partition.md",
    "castro-rounding": "../nominal-partition.md",
    "c-modes": "../nominal-partition.md",
    "k-member": "../nominal-partition.md",
    "nominal-mdav": "../nominal-partition.md",
    "full-domain": "../../recoding.md",
    "nominal-v-mdav": "../nominal-partition.md",
}
READS = {
    "points": "`points`: numbers, one or more columns (ordinal and nominal columns are encoded as numbers)",
    "values": "`values`: one column of numbers",
    "codes": "`codes`: categories, that is nominal and ordinal columns",
    "mixed": "`mixed`: numbers beside codes of nominal columns",
}
SIZES = {"brute-force": (14, 3), "matching": (60, 2)}
HEADER = """\
# Methods

`docs/method_pages.py` writes this page from the registry. `shoal methods` lists the supported methods on the command
line, `shoal methods --all` all of them, and `shoal methods NAME` shows one with its options. Every method has a page
with a figure.

`auto`, the default, selects one of the supported methods for the data, k and the time limit; the result and the
manifest name it. How it selects: [how `auto` selects](../how-auto-selects.md).

**Supported** methods have an algorithm version, for example `mdav@1`, which the manifest records. For a given version
the groups of a table never change within a major version of Shoal. The other methods are **research** methods: they
reproduce the literature, and their results may change with any release.

In the column *time*, n is the number of records, d the number of numeric coordinates of a record, m the number of
categorical columns, k the minimum group size, s the number of frequency tables, c the number of clusters, and rho the
exponent of the block size n^rho.
"""


SOURCES = """\
## Sources

Works are cited by author and year; the [bibliography](../bibliography.md) has them in full.
"""


def families():
    """Return the methods of each family that has any."""
    found = {family: [] for family in FAMILIES}
    for method in all_methods().values():
        if method.built_in:
            found[method.function.__module__.split(".")[2]].append(method)
    return {family: methods for family, methods in found.items() if methods}


def supported_table():
    """Return the lines of the table of supported methods."""
    methods = [method for methods in families().values() for method in methods if method.supported]
    lines = ["## Supported methods\n", "| method | algorithm | description | when |", "|---|---|---|---|"]
    for method in methods:
        entries_of = (link(method), f"`{method.identity}`", method.title, method.when)
        lines.append(f"| {' | '.join(cell(entry) for entry in entries_of)} |")
    return [*lines, ""]


def link(method):
    """Return the name of a method as a link from the overview to its page."""
    return f"[`{method.name}`](reference/{method.name}.md)"


def index():
    """Return the text of the overview."""
    parts = [HEADER, *supported_table()]
    for family, methods in families().items():
        if family == "auto":
            continue
        parts += [
            f"## {FAMILIES[family]}\n",
            f"Files: `src/shoal/methods/{family}/`. More: [{family}.md]({family}.md).\n",
        ]
        parts += [
            "| method | status | description | time | guarantee | when | source |",
            "|---|---|---|---|---|---|---|",
        ]
        for method in methods:
            status = f"`{method.identity}`" if method.supported else "research"
            texts = (method.title, method.complexity, method.guarantee, method.when, method.reference)
            parts.append(f"| {' | '.join(cell(text) for text in (link(method), status, *texts))} |")
        parts.append("")
    return "\n".join([*parts, SOURCES])


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
        f"![The groups of {method.name} on a small table](../pictures/{method.name}.svg)\n",
        f"{caption(method)}\n",
        "## Idea\n",
        *[f"{markdown(part)}\n" for part in idea],
        "## When to use it\n",
        f"{method.when[0].upper()}{method.when[1:]}.\n",
        "## Properties\n",
        "| property | |",
        "|---|---|",
        f"| status | {status(method)} |",
        f"| reads | {READS[method.data]} |",
        f"| time | {cell(method.complexity)} |",
        f"| guarantee | {cell(method.guarantee)} |",
    ]
    if method.max_size is not None:
        parts.append(f"| largest group | {method.max_size(5)} records for k = 5, {method.max_size(10)} for k = 10 |")
    if method.proves is not None:
        parts.append(f"| proves | a lower bound on the {cell(method.proves)} |")
    if method.represents:
        parts.append("| representatives | a record of each group, selected by the method |")
    parts += [
        f"| random numbers | {'from `seed`; the same seed gives the same groups' if method.seeded else 'none'} |",
        f"| time limit | {time_limit(method)} |",
        f"| source | {cell(method.reference)} |",
        f"| code | `src/{module.__name__.replace('.', '/')}.py` |",
        "",
        f"Comparison with other methods and with published results: [{Path(where).name}]({where}).\n",
        "## Options\n",
        *options(method, text.get("Parameters", "")),
        "## Example\n",
        *usage(method),
    ]
    return "\n".join(parts)


def status(method):
    """Return whether the results of a method are frozen, and since which version of the algorithm."""
    if method.supported:
        return f"supported, algorithm version {method.version} (`{method.identity}` in the manifest)"
    return "research: results may change with a release"


def time_limit(method):
    """Return whether a method can stop early, and its limit if none is given."""
    if "time_limit" not in method.injected:
        return "none"
    default = inspect.signature(method.function).parameters["time_limit"].default
    text = "`time_limit` (`--time-limit`)"
    return text if default is None else f"{text}; {default:g} s if not given"


def caption(method):
    """Return what the figure of a method shows."""
    if method.data == "codes":
        return "Each record is a column of letters. Gaps separate groups; frames mark values that changed."
    if method.data == "values":
        return "Dots are the values of one column. Each bar is a group, whose values are replaced by their mean."
    return "Dots are records in the plane. Each area is a group; the cross is the mean that replaces its records."


def options(method, documented):
    """Return the lines of the table of options."""
    if not method.options:
        return ["None.\n"]
    meanings = {name.strip(): text for names, text in entries(documented) for name in names.split(",")}
    meanings.setdefault("storage", "`float32` halves the memory of a large table; sums and distances stay float64.")
    lines = [
        "`--option NAME=VALUE` on the command line, `options={...}` in Python.\n",
        "| option | values | default | meaning |",
    ]
    lines.append("|---|---|---|---|")
    for option in method.options.values():
        meaning = meanings.get(option.name, "")
        lines.append(f"| `{option.name}` | {cell(option.type_text)} | `{option.default}` | {cell(meaning)} |")
    return [*lines, ""]


def usage(method):
    """Return the lines of the example; the tests run it."""
    n, k = SIZES.get(method.name, (60, 3))
    draw = "integers(0, 3, size=({n}, 3))" if method.data == "codes" else "normal(size=({n}, {d}))"
    draw = draw.format(n=n, d=1 if method.data == "values" else 2)
    quasi = {"codes": "sex,region", "values": "age"}.get(method.data, "age,income")
    further = " --max-suppressed 0.05" if method.name == "full-domain" else ""  # without it one level empties a column
    command = (
        f"shoal protect people.csv -k {k} --quasi {quasi} --unnamed other --method {method.name}{further} -o safe.csv"
    )
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
    lines = ["      - Methods one by one:"]
    for family, methods in families().items():
        lines.append(f"          - {FAMILIES[family]}:")
        lines += [f"              - {method.name}: methods/reference/{method.name}.md" for method in methods]
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
