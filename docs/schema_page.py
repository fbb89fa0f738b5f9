"""Write docs/schema-file.md, the reference of all keys of a schema file. Run: python docs/schema_page.py.

The keys are those that the reader of schema files accepts; a key without a meaning here, and a meaning without a key,
end the script with an error.
"""

from pathlib import Path

from docstrings import sections
from run_file import described

from shoal.schema import toml
from shoal.schema.columns import Kind, Missing, Recode, ReleaseWeight, Role
from shoal.schema.statistic import Statistic

PAGE = Path(__file__).parent / "schema-file.md"
HEAD = """\
# Schema file

A schema file states once what the columns of a table are. `shoal schema people.csv -o people.toml` proposes one, a
person corrects it, and all commands read it with `--schema people.toml`. Options of the command line override it. It
may list categories of the original, so it is confidential. `docs/schema_page.py` writes this page from the reader of
schema files.

```sh
shoal schema people.csv -o proposed.toml
```

<!-- file people.toml -->
```toml
unnamed = "identifiers"          # columns that are not listed below are dropped
missing = "suppress"

[columns.age]
role = "quasi"
kind = "numeric"

[columns.education]
role = "quasi"
kind = "ordinal"
order = ["primary", "secondary", "bachelor", "master", "doctorate"]

[columns.diagnosis]
role = "confidential"
kind = "nominal"
```

```sh
shoal assess people.csv --schema people.toml
```

A key that is not listed here is an error, as is a column that the table does not have. A column without `role` has no
stated role, and no table is protected before it has one. In a [run file](run-file.md) the same keys are below
`[schema]`. The format has no version of its own: new keys may be added, and a key that changes its meaning is named
in the changelog.

"""
TOP = {
    "unnamed": (
        "role of columns that are not listed: `identifiers`, `quasi`, `confidential`, `other`",
        "none: an error",
    ),
    "missing": ("treatment of [missing cells](missing-values.md) of quasi-identifiers", "`error`"),
    "strata": ("columns that no group crosses", "none"),
    "known": ("further columns that an intruder may know; k is also counted with them", "none"),
    "sampling_weight": ("column of sampling weights", "none"),
    "release_weight": ("how the weight is released", "`grouped`"),
    "keep_links": ("the unit is replaced by a random code, which links the rows of a person", "`false`"),
    "shuffle": ("rows in a random order", "`false`"),
    "keep": ("[rules between columns](rules.md)", "none"),
    "together": (
        'columns that are [suppressed together](cell-suppression.md#fewer-suppressed-cells), such as `["roof,walls"]`',
        "none",
    ),
    "statistics": ("[statistics that must hold](statistics.md), one `[[statistics]]` section each", "none"),
    "columns": ("one section `[columns.NAME]` for each column", "none"),
}
COLUMN = {
    "role": ("what the column is", "none: an error"),
    "kind": ("how values are compared", "by its type"),
    "order": ("categories from the lowest to the highest; makes the column ordinal", "none"),
    "weight": ("squared differences count so many times when records are compared", "`1.0`"),
    "recode": ("what replaces the values of a group", "mean, median or mode by kind"),
    "missing": ("treatment of missing cells of this column", "that of the table"),
    "not_applicable": ("texts that mean a question that does not apply", "none"),
    "hierarchy": ("a file, a tree, or `auto`, `flat`, `prefixes`, `intervals`, `order`, `calendar`", "none"),
    "time": ("the column orders the rows of a person", "`false`"),
    "constant": ("one value in all rows of a person", "found in the table"),
    "before": ("[steps](steps.md) before grouping", "none"),
    "after": ("[steps](steps.md) after grouping", "none"),
}
WORDS = {"missing": Missing, "release_weight": ReleaseWeight, "role": Role, "kind": Kind, "recode": Recode}


def rows(meanings, keys):
    """Return the lines of the table of some keys."""
    if set(meanings) != set(keys):
        raise SystemExit(
            f"docs/schema_page.py and the reader of schema files differ in {sorted(set(meanings) ^ set(keys))}"
        )
    lines = ["| key | meaning | values | default |", "|---|---|---|---|"]
    for name, (meaning, default) in meanings.items():
        words = ", ".join(f"`{one}`" for one in WORDS[name]) if name in WORDS else ""
        lines.append(f"| `{name}` | {meaning} | {words} | {default} |")
    return [*lines, ""]


def page():
    """Return the text of the page."""
    statistic = described(Statistic)
    parts = ["## The table\n", *rows(TOP, vars(toml)["_TOP"]), "## Each column\n", *rows(COLUMN, vars(toml)["_COLUMN"])]
    parts += ["## Each statistic\n", sections(Statistic.__doc__)[""].strip() + "\n", "| key | meaning |", "|---|---|"]
    parts += [f"| `{name}` | {text} |" for name, text in statistic.items() if name != "function"]
    return HEAD + "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
