"""Write docs/manifest.md and docs/measures.md, the references of all entries of the manifest and of all measures.

Run from the root: python docs/output_keys.py. The entries are those of releases and measurements of small generated
tables; an entry without a meaning here, and a meaning without an entry, end the script with an error.
"""

import json
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import output_meanings as meanings
import polars as pl
from output_meanings import ASSESS, MANIFEST, RISK, UTILITY
from typer.testing import CliRunner

import shoal
from shoal.cli.application import app, main
from shoal.cli.flags import JSON_VERSION
from shoal.flow.manifest import MANIFEST_VERSION

DOCS = Path(__file__).parent
MANIFEST_PAGE, MEASURES_PAGE = DOCS / "manifest.md", DOCS / "measures.md"
MANIFEST_HEAD = f"""\
# Manifest and JSON

The manifest, `safe.manifest.json`, documents a release and may travel with it: it contains aggregates, rounded to as
many digits as *loss.digits* says, and no value of a record. `shoal protect --json` and `shoal run --json` print the
same. This page lists all of its entries; a star means any name, `[]` the items of a list.

**Versions.** `manifest_version` is {MANIFEST_VERSION}. It rises when an entry is renamed, removed or changes its
meaning, not when one is added; `shoal verify --manifest` ends with an error for another one. The JSON of other
commands states `json_version`, now {JSON_VERSION}, by the same rule; their entries are
[below](#json-of-other-commands), those of `assess` and `evaluate` on the page [measures](measures.md). A manifest of
`shoal dp` has a layout and a version of its own, and its `kind` is *differential privacy*. What the manifest does not
state, and why:
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
REMARK_HEAD = """\
## Codes of remarks

| `remarks[].code` | what it says |
|---|---|"""
JSON_HEAD = """\
## JSON of other commands

With `--json` a command prints one JSON object and nothing else on standard output. Entries that begin with `*` stand
for any requirement or check. `sign --json` prints `file` and `signature`, `compile --json` the `methods`, how many
loops were `compiled`, and the `folder` that holds them; `demo --json` the manifest of its release.
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


def failed(*words):
    """Return what a command that fails prints as JSON."""
    out = StringIO()
    with mock.patch.object(sys, "argv", ["shoal", *words, "--json"]), redirect_stdout(out), redirect_stderr(StringIO()):
        try:
            main()
        except SystemExit:
            found = json.loads(out.getvalue())
    del found["json_version"]
    return found


def printed():
    """Return for each command what it prints as JSON for small tables, with the meanings of the entries."""
    people = shoal.datasets.patients(60)
    stays = pl.concat([people.with_row_index("person"), people.head(20).with_row_index("person")])
    with TemporaryDirectory() as name:
        folder = Path(name)
        people.write_csv(folder / "people.csv")
        empty = pl.when(pl.col("age") > 60).then(None).otherwise(pl.col("age"))
        people.with_columns(empty.alias("age")).write_csv(folder / "gaps.csv")
        stays.write_csv(folder / "stays.csv")
        roles = {"quasi": ["age", "income"], "confidential": ["diagnosis"], "identifiers": ["name"]}
        shoal.protect(people, 5, **roles, unnamed="other", method="mdav").write(folder / "safe.csv")

        def run(command, *words):
            result = CliRunner().invoke(app, [command, *(word.replace("@", f"{name}/") for word in words), "--json"])
            found = json.loads(result.stdout)
            if found.pop("json_version", None) != JSON_VERSION and "manifest_version" not in found:
                raise SystemExit(f"{command} states no version: {result.output}")
            return found

        quasi = ("--quasi", "age,income", "--unnamed", "other")
        return {
            "verify": ([
                run("verify", "@safe.csv", "-k", "5", "--l", "1", "--confidential", "diagnosis", *quasi),
                run("verify", "@gaps.csv", "-k", "5", *quasi, "--sampling-weight", "height", "--known", "sex",
                    "--missing-semantics", "wildcard"),
                run("verify", "@stays.csv", "-k", "2", "--l", "1", "--unit", "person", "--confidential", "diagnosis",
                    *quasi),
            ], meanings.VERIFY),
            "verify --manifest": (
                [run("verify", "@safe.csv", "--manifest", "@safe.manifest.json")], meanings.VERIFY_RELEASE
            ),
            "verify --rules": ([run("verify", "@safe.csv", "--rules", "cms-11", *quasi)], meanings.RULES),
            "compare": ([
                run("compare", "@people.csv", "-k", "3", "--methods", "mdav", *quasi, "--against", "noise:0.1,0.2")
            ], meanings.COMPARE),
            "schema": ([run("schema", "@people.csv")], meanings.SCHEMA),
            "methods": ([run("methods", "mdav")], meanings.METHODS),
            "fingerprint": ([run("fingerprint", "@safe.csv")], meanings.FILES),
            "dp": ([
                run("dp", "@stays.csv", "--unit", "person", "--rows-per-person", "2", "--epsilon", "9", "-k", "20",
                    "--bounds", "age=0..120", "-o", "@private.csv"),
            ], meanings.PRIVATE),
            "any command, on an error": (
                [failed("verify", "nothing.csv", "-k", "5", "--quasi", "age")], meanings.ERROR
            ),
        }  # fmt: skip


def remark_codes():
    """Return the codes of remarks that the source makes: the first text of each ``Remark``, and those of steps."""
    found = set()
    for path in (Path(shoal.__file__).parent).rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'Remark\(\s*"([\w-]+)"', code))
        found |= set(re.findall(r'found\.append\(\("([\w-]+)", (?:None|name),', code))
        found |= set(re.findall(r'"(derived-[\w-]+)"', code))
    return found


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
    for title, found, entries in zip(titles, measured(), (ASSESS, RISK, UTILITY), strict=True):
        checked(found, entries)
        parts.append(f"## {title}\n\n| entry | meaning | formula |\n|---|---|---|")
        parts += [f"| `{name}` | {meaning} | {formula} |" for name, (meaning, formula) in entries.items()]
        parts.append("")
    others = [JSON_HEAD]
    for command, (found, texts) in printed().items():
        checked(found, texts)
        title = f"`{command}`" if " " not in command or "--" in command else command.capitalize()
        others += [f"### {title}\n\n| entry | meaning |\n|---|---|"]
        others += [*(f"| `{name}` | {text} |" for name, text in texts.items()), ""]
    if remark_codes() != set(meanings.REMARKS):
        differing = sorted(remark_codes() ^ set(meanings.REMARKS))
        raise SystemExit(f"docs/output_meanings.py differs in the remarks {differing}")
    codes = [REMARK_HEAD, *(f"| `{code}` | {text} |" for code, text in meanings.REMARKS.items())]
    manifest = MANIFEST_HEAD + "\n".join([*rows, "", *codes, "", *others]).rstrip() + "\n"
    return {MANIFEST_PAGE: manifest, MEASURES_PAGE: "\n".join([*parts, LOSS])}


if __name__ == "__main__":
    for page, text in written().items():
        page.write_text(text, encoding="utf-8")
