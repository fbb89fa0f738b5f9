"""Every work that a page or a docstring cites by author and year has an entry in the bibliography."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIBLIOGRAPHY = ROOT / "docs" / "bibliography.md"
NAME = r"[A-ZÀ-Þ](?=[\w'’-]*[a-zß-ÿ])[\w'’-]++"
"""A capital letter and a word with a small letter; read in one way only, so that long lists of names are quick."""
CITED = re.compile(
    rf"(?P<names>{NAME}(?:(?:, {NAME})*,? (?:and|&) (?:Van |El )?{NAME}| et al\.)?),?"
    r" \(?(?P<year>(?:19|20)\d\d)\b(?![-:.]\d)"
)
NO_WORKS = {
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    "Trier", "Lübeck", "Research", "ARX", "Java", "In", "Since", "Of", "Until", "From", "Version", "Python", "Opinion",
}  # fmt: skip
"""Words before a year that are no authors: months, places of publication, programs, first words of sentences."""


def entries(text):
    """Return the words and years of each entry."""
    items = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    return [(set(re.findall(NAME, item)), set(re.findall(r"\b(?:19|20)\d\d\b", item))) for item in items]


def citations(text):
    """Return the works that a text cites: their authors as far as they are named, and the year."""
    found = set()
    for match in CITED.finditer(re.sub(r"\s*\n\s*(?:# )?", " ", text)):
        names = [name for name in re.findall(NAME, match["names"]) if name not in NO_WORKS]
        if names:
            found.add((tuple(names), match["year"]))
    return found


def without_entry(text, known):
    """Return the citations of a text that no entry matches: one with the year and all the names."""
    return {
        work
        for work in citations(text)
        if not any(work[1] in years and set(work[0]) <= words for words, years in known)
    }


def sources():
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in pages if path != BIBLIOGRAPHY] + sorted((ROOT / "src").rglob("*.py"))


def test_every_cited_work_has_an_entry():
    known = entries(BIBLIOGRAPHY.read_text(encoding="utf-8"))
    missing = {}
    for path in sources():
        if found := without_entry(path.read_text(encoding="utf-8"), known):
            missing[str(path.relative_to(ROOT))] = sorted(found)
    assert not missing


@pytest.mark.parametrize(
    "text",
    ["as Nowhere et al. 2020 show", "(Sweeney 2003)", "Domingo-Ferrer & Solanas 2002", "Thaeter & Reischuk\n    2019"],
)
def test_a_work_without_an_entry_is_found(text):
    assert without_entry(text, entries(BIBLIOGRAPHY.read_text(encoding="utf-8")))


def test_every_entry_begins_with_its_name_and_year():
    text = BIBLIOGRAPHY.read_text(encoding="utf-8")
    for item in re.split(r"^- ", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"\*\*(.+?)\*\*", item, flags=re.DOTALL)
        assert name, item
        rest = item[name.end() :]
        for year in re.findall(r"\b(?:19|20)\d\d\b", name[1]):
            assert year in rest, item
