"""Write docs/methods/index.md from the registry. Run from the root: python docs/method_index.py."""

from pathlib import Path

from shoal import all_methods

PAGE = Path(__file__).parent / "methods" / "index.md"
FAMILIES = {
    "distance": "Distances between records",
    "univariate": "One column, and many through a projection",
    "partition": "Cutting the space",
    "optimal": "Optimal and nearly optimal",
    "nominal": "Tables of categories",
}
HEADER = """\
# Methods

This page is written by `docs/method_index.py` from the registry. On the command line `shoal methods` lists the same,
and `shoal methods NAME` shows one method with its options.

`auto`, the default, chooses one of them for the size of the table and names it in the result.
"""


def page():
    """Return the text of the page."""
    parts = [HEADER]
    methods = all_methods().values()
    for family, title in FAMILIES.items():
        inside = [method for method in methods if f".methods.{family}." in method.function.__module__]
        if not inside:
            continue
        more = f" More: [{family}.md]({family}.md)." if (PAGE.parent / f"{family}.md").exists() else ""
        parts += [f"## {title}\n", f"Files: `src/shoal/methods/{family}/`.{more}\n"]
        parts += ["| method | what it does | time | guarantee | when | source |", "|---|---|---|---|---|---|"]
        for method in inside:
            facts = (f"`{method.name}`", method.title, method.cost, method.guarantee, method.when, method.reference)
            parts.append(f"| {' | '.join(facts)} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
