"""Write docs/manifest.md and docs/measures.md, the references of all entries of the manifest and of all measures.

Run from the root: python docs/output_keys.py. The entries are those of releases and measurements of small generated
tables; an entry without a meaning here, and a meaning without an entry, end the script with an error.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from output_meanings import ASSESS, MANIFEST, RISK, UTILITY

import shoal
from shoal.flow.manifest import MANIFEST_VERSION

DOCS = Path(__file__).parent
MANIFEST_PAGE, MEASURES_PAGE = DOCS / "manifest.md", DOCS / "measures.md"
MANIFEST_HEAD = f"""\
# Manifest and JSON

The manifest, `safe.manifest.json`, documents a release and may travel with it: it contains aggregates, rounded to as
many digits as *loss.digits* says, and no value of a record. `shoal protect --json` and `shoal run --json` print the
same. This page lists all of its entries; a star means any name, `[]` the items of a list.

**Versions.** `manifest_version` is {MANIFEST_VERSION}. It rises when an entry is renamed, removed or changes its
meaning, not when one is added; `shoal verify --manifest` refuses other versions. The JSON of other commands states
`json_version`, see [the command line in scripts](command-line.md#results-as-json); [measures](measures.md) has the
entries of `assess` and `evaluate`. What the manifest does not state, and why:
[evidence](evidence.md#what-the-manifest-does-not-state).

`docs/output_keys.py` writes this page from releases of generated tables.

| entry | meaning | stated |
|---|---|---|
"""
MEASURES_HEAD = """\
# Measures

Every figure that `shoal assess --json` and `shoal evaluate --json` print, with its definition. In Python the entries
are attributes: `shoal.assess(...).t`, `release.risk.classes.marketer`, `release.utility.il1s`. How to read them:
[privacy models](privacy.md), [risk and utility](risk-utility.md); works are in the [bibliography](bibliography.md).
`docs/output_keys.py` writes this page from measurements of generated tables.

*f* is the number of records of an equivalence class, *F* that of individuals of the population in it, *n* the number
of records; *q* and *p* are the shares of a confidential value in a class and in the table; *S* is the standard
deviation of an original column, *x* a true and *x'* a released value. A star means any name of a column, `[]`
for the items of a list.
"""
LOSS = """\
## Information loss

In the manifest, `release.loss` and the report; [definition in full](risk-utility.md#information-loss).

| entry | meaning | formula |
|---|---|---|
| `loss.information_loss` | share of the information that was lost, 0 to 1 | SSE / SST |
| `loss.sse` | squared error of the release in standardised columns; changed categories | Σ (x − x')² / S² |
| `loss.sst` | squared error if each column were replaced by its mean or most frequent category | Σ (x − mean)² / S² |
| `loss.columns.*.ncp`, `loss.columns.*.total_il` | width of a node | [NCP](recoding.md#what-generalisation-costs) |
| `loss.discernibility` | C_DM, the sum of the squared sizes of groups | Σ f² |
| `loss.c_avg` | C_AVG, the average size of groups as a multiple of k | n / (groups · k) |
| `loss.objective` | what the method minimised, with a proven lower bound where there is one | gap = value / bound − 1 |
"""


def flat(found, prefix=""):
    """Return the names of all entries below a mapping; items of lists are written as ``[]``."""
    names = set()
    for key, value in found.items():
        inside = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and value:
            names |= flat(value, f"{prefix}{key}.")
        elif inside and all(isinstance(item, dict) and item for item in inside):
            names = names.union(*(flat(item, f"{prefix}{key}[].") for item in inside))
        else:
            names.add(f"{prefix}{key}")
    return names


def matches(name, pattern):
    """Return whether an entry is the one that a pattern describes; a star is any one name, two stars any number."""
    parts, wanted = name.split("."), pattern.split(".")
    if wanted[-1] == "**":
        return parts[: len(wanted) - 1] == wanted[:-1]
    return len(parts) == len(wanted) and all(one in {"*", part} for part, one in zip(parts, wanted, strict=True))


def checked(examples, meanings):
    """Return how many examples state each meaning; every entry needs a meaning and every meaning an entry."""
    found = [flat(example) for example in examples]
    unknown = {name for names in found for name in names if not any(matches(name, one) for one in meanings)}
    counts = {one: sum(any(matches(name, one) for name in names) for names in found) for one in meanings}
    idle = {one for one, count in counts.items() if not count}
    if unknown or idle:
        raise SystemExit(f"docs/output_meanings.py lacks {sorted(unknown)} and has without an entry {sorted(idle)}")
    return counts


def manifests():
    """Return manifests of releases that differ in what was requested."""
    people = shoal.datasets.patients(60)
    common = {"method": "mdav", "unnamed": "other", "identifiers": ["name"]}
    plain = shoal.protect(people, 5, quasi=["age", "sex", "income"], confidential=["diagnosis"], l=2, **common)
    stays = pl.concat([people.with_row_index("person"), people.head(20).with_row_index("person")])
    persons = shoal.protect(
        stays.with_columns((pl.col("person") // 2).alias("house")), 3, quasi=["age", "sex"], confidential=["diagnosis"],
        unit="person", household="house", unnamed="identifiers", hierarchies={"sex": "flat"},
        recode={"sex": "hierarchy"}, t=0.9, accept_loss=True, accept_relinking=True, constant=["sex"],
    )  # fmt: skip
    weighted = shoal.protect(
        people.with_columns((pl.col("age") * 1.0).alias("weight")), 2, quasi=["age", "income"], known=["sex"],
        strata=["education"], sampling_weight="weight", keep_moments=True, **common,
    )  # fmt: skip
    missing = people.with_columns(pl.when(pl.col("age") > 70).then(None).otherwise(pl.col("age")).alias("age"))
    stepped = shoal.protect(
        missing, 5, quasi=["age", "income", "education"], missing="fill",
        orders={"education": ["primary", "secondary", "bachelor", "master", "doctorate"]},
        before={"income": ["top 60000"]},
        after={"income": ["round 1000"]}, shuffle=True, keep=["age <= income"],
        statistics=[shoal.Statistic("mean age", value="age", relative=0.5)], **common,
    )  # fmt: skip
    proven = shoal.protect(
        people.head(20), 3, quasi=["age", "income"], unnamed="other", identifiers=["name"], method="set-partition"
    )
    counted = shoal.protect(people, 3, quasi=["sex", "region"], recode="frequencies", accept_loss=True, **common)
    with TemporaryDirectory() as folder:
        plain.write(Path(folder) / "safe.csv")
        written = json.loads((Path(folder) / "safe.manifest.json").read_text(encoding="utf-8"))
    return [written, *(release.manifest for release in (persons, weighted, stepped, proven, counted))]


def measured():
    """Return assessments, risks and utilities of small tables."""
    people, control = shoal.datasets.patients(60), shoal.datasets.patients(60, seed=5)
    roles = {"quasi": ["age", "income", "sex"], "confidential": ["diagnosis"], "unnamed": "other"}
    released = shoal.protect(
        people.drop("name"), 5, method="mdav", recode={"age": "range"}, accept_loss=True, **roles
    ).data
    risk, utility = shoal.evaluate_release(people.drop("name"), released, control=control.drop("name"), **roles)
    stays = pl.concat([people.with_row_index("person"), people.head(20).with_row_index("person")])
    by_persons = stays.with_columns((pl.col("person") // 2).alias("house"))
    assessed = [
        shoal.assess(released, population=control, special_uniques=True, contributions=True, **roles),
        shoal.assess(by_persons, unit="person", household="house", **(roles | {"unnamed": "identifiers"})),
    ]
    return [one.to_dict() for one in assessed], [risk.to_dict()], [utility.to_dict()]


def written():
    """Return both pages with their texts."""
    examples = manifests()
    counts = checked(examples, MANIFEST)
    rows = [
        f"| `{name}` | {text} | {'always' if counts[name] == len(examples) else 'where it applies'} |"
        for name, text in MANIFEST.items()
    ]
    parts = [MEASURES_HEAD]
    titles = ("Privacy models, and risk without the original: `assess`", "Risk: `evaluate`", "Utility: `evaluate`")
    for title, found, meanings in zip(titles, measured(), (ASSESS, RISK, UTILITY), strict=True):
        checked(found, meanings)
        parts.append(f"## {title}\n\n| entry | meaning | formula |\n|---|---|---|")
        parts += [f"| `{name}` | {meaning} | {formula} |" for name, (meaning, formula) in meanings.items()]
        parts.append("")
    return {MANIFEST_PAGE: MANIFEST_HEAD + "\n".join(rows) + "\n", MEASURES_PAGE: "\n".join([*parts, LOSS])}


if __name__ == "__main__":
    for page, text in written().items():
        page.write_text(text, encoding="utf-8")
