"""Write docs/report-contents.md, the reference of the sections of a report. Run: python docs/report_page.py.

A section without a description here, and a description without a section, end the script with an error.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import shoal
from shoal.report import page as report

PAGE = Path(__file__).parent / "report-contents.md"
TEMPLATES = Path(report.__file__).parent
HEAD = """\
# Report

`--report safe.html` writes the full report, `--public-report public.html` the one for publication; in Python
`release.write("safe.csv", report=..., public_report=...)`. Each is one HTML file that loads nothing from elsewhere,
works in the light and the dark, on a phone and in print. **The full report describes the original data and stays
internal.** The public report contains what can be computed from the release, and figures about the original only as
the manifest states them, rounded.

`docs/report_page.py` writes the table from the reports of a generated table. A section appears where there is
something to show.

| section | contents | report |
|---|---|---|
"""
FOOT = """
`shoal compare --html` writes a page of its own with the sections *Risk and information loss*, *Values* and *Glossary*.

```sh
shoal protect people.csv -k 5 --quasi age,region --confidential diagnosis --unnamed identifiers -o safe.csv \\
    --method mdav --report safe.html --public-report public.html
```

`--population`, `--sampling-fraction` and `--control` add the journalist's
[risk against the population](population-risk.md) and
[singling out, linkability, membership and inference](risk-utility.md#singling-out-linkability-inference) to the full
report.

Definitions: [measures](measures.md), [glossary](glossary.md). How the findings are worded and decided is stated in
the report itself; the signature and the date are for the person who decides.
"""
SECTIONS = {
    "Summary": "k, records, groups, information loss, requirements requested and achieved, open decisions",
    "Findings": "what a person should know or decide: heavy losses, lost categories, unchanged columns that suggest "
    "identifiers, missing cells, early ends of a search",
    "Decision": "place for the decision, its reason, name, date and signature",
    "Method": "method, version, options, requirements, missing cells, columns with role and representative",
    "Groups": "number and sizes of groups and equivalence classes",
    "Information loss": "loss of each column, with the cause of a heavy one",
    "Distributions": "each quasi-identifier, in the full report before and after; bars below k records are merged",
    "Associations": "correlations and Cramér's V, pair by pair, in the full report before and after",
    "Data utility": "statistics that were stated with `--statistics` or a schema file, and whether they hold",
    "Risk": "prosecutor, journalist and marketer risk, uniqueness, contribution of columns, persons and households",
    "Sources of risk": "columns and combinations that make records unique",
    "Attacks": "simulated attacks with baseline and interval",
    "Attribute disclosure": "privacy models of each confidential attribute",
    "Expert page": "figures that an expert determination asks for, and what they do not cover",
    "Glossary": "terms of the report",
    "Provenance": "versions, seed, digests, the input as the holder knows it",
}


def headings(text):
    """Return the titles of the sections of a page."""
    return re.findall(r'<h2 id="[\w-]+">([^<{]+)</h2>', text)


def reports():
    """Return the sections of a full and of a public report of a small table."""
    people = shoal.datasets.patients(60)
    release = shoal.protect(
        people, 5, quasi=["age", "income", "sex"], confidential=["diagnosis"], identifiers=["name"], unnamed="other",
        method="mdav", statistics=[shoal.Statistic("mean age", value="age")],
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        full, public = Path(folder) / "full.html", Path(folder) / "public.html"
        release.write(Path(folder) / "safe.csv", report=full, public_report=public)
        return headings(full.read_text(encoding="utf-8")), headings(public.read_text(encoding="utf-8"))


def page():
    """Return the text of the page."""
    templates = {title for file in TEMPLATES.glob("*.jinja") for title in headings(file.read_text(encoding="utf-8"))}
    templates -= {"Risk and information loss", "Values"}  # of the page of a comparison
    if templates != set(SECTIONS):
        raise SystemExit(f"docs/report_page.py and the templates differ in {sorted(templates ^ set(SECTIONS))}")
    full, public = reports()
    kinds = {title: "full and public" if title in public else "full" for title in full}
    kinds["Sources of risk"] = "full, where records are unique"
    return HEAD + "\n".join(f"| {title} | {text} | {kinds[title]} |" for title, text in SECTIONS.items()) + "\n" + FOOT


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
