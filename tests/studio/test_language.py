"""The studio in the language that the browser prefers; names of columns, categories and files stay."""

import html
import re

import polars as pl

from shoal import all_methods, get_method
from shoal.core import languages
from shoal.core.languages import catalogue, translated, translated_page
from shoal.datasets import patients
from shoal.studio import columns_screen, out_screen, protect_screen, web
from shoal.studio.help_texts import HELP
from shoal.studio.open_screen import DEMOS
from shoal.studio.settings import KINDS
from shoal.studio.trees import WAYS
from shoal.studio.web import ROLE_WORDS

GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.5"}
CATALOGUE = catalogue("de")
SCREENS = ("/open", "/columns", "/protect", "/run", "/look", "/out", "/history", "/compare", "/check")


def test_screens_are_german_and_names_of_the_data_are_not(client, tmp_path, monkeypatch):
    """The wrong version: elements that hold names from the data are translated as well."""
    table = tmp_path / "Groups.csv"
    pl.DataFrame({"Summary": [1, 2, 3, 4] * 5, "Method": ["other", "north"] * 10}).write_csv(table)
    assert "Eine Tabelle öffnen" in client.get("/open", headers=GERMAN).text
    client.open(table)
    page = client.get("/columns", headers=GERMAN).text
    assert '<html lang="de"' in page
    assert "Nichts wird geschützt, bevor jede Spalte eine Rolle hat." in page or "Spalten" in page
    names = re.findall(r'<a class="name"[^>]*>([^<]*)</a>', page)
    assert names == ["Summary", "Method"]
    english = client.get("/columns").text
    assert '<html lang="en"' in english
    assert re.findall(r"<[a-z]+", page) == re.findall(r"<[a-z]+", english)  # the same elements in the same order
    kept = 'translate="no"'
    monkeypatch.setattr(web, "translated_page", lambda text, language: translated_all(text.replace(kept, ""), language))
    wrong = client.get("/columns", headers=GERMAN).text
    assert re.findall(r'<a class="name"[^>]*>([^<]*)</a>', wrong) == ["Zusammenfassung", "Verfahren"]


def translated_all(text, language):
    return translated_page(text, language)


def test_command_and_script_state_the_language_of_the_reports(client, table):
    client.open(table)
    client.settle()
    client.run()
    page = client.get("/out", headers=GERMAN).text
    assert "--language de" in page
    assert "language=&#39;de&#39;" in page or "language=&#x27;de&#x27;" in page
    assert "--language" not in client.get("/out").text


NAMES = {
    "Shoal", "patients", "stays", "survey", "NA,?", "auto", "month", "CSV", "Parquet", "Arrow", "Excel", "SPSS",
    "Stata", "alpha", "beta", "delta", "inf", "IL1s", "Hellinger", "SPECKS", "mdav",
}  # fmt: skip
"""Names that are the same in both languages: of files, formats and measures."""
MEASURES = re.compile(
    r"(?:record|assignment|(?:rank-)?interval|attribute)-(?:linkage|disclosure)(?:: \w+)?|p?MSE.*|prop.*"
)
"""Measures of ``shoal evaluate``, which keep the names that its options have."""


def untranslated(page, names):
    """The texts of an English page that have no German entry, by sentence and by item as they are looked up."""
    found, (sentences, items) = [], languages._BORDERS
    drawn = re.compile(rf"\d+ (?:{'|'.join(map(re.escape, names))})")
    for text in languages.texts_of_page(page):
        whole = re.sub(r"\s+", " ", text)
        for sentence in [whole] if CATALOGUE.find(whole) else sentences.split(whole):
            for item in [sentence] if CATALOGUE.find(sentence) else items.split(sentence):
                known = (
                    item in NAMES | names or item.startswith("/") or drawn.fullmatch(item) or MEASURES.fullmatch(item)
                )
                if languages.has_letters(item) and not known and not CATALOGUE.find(item):
                    found.append(item)
    return found


KEPT = re.compile(
    r'<(bdi|code|pre|kbd|textarea|script)\b.*?</\1>|<(\w+)[^>]*\btranslate="no"[^>]*>.*?</\2>|<[^>]*>', re.DOTALL
)
"""What keeps the signs of its numbers: values of the data, code, and the marks of the page."""


NUMBERS = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d+\.\d+(?=[ \u00a0]%)")
"""Numbers of thousands, and shares with decimals, as English writes them."""


def english_numbers(page):
    """The texts of an English page in which German keeps the English signs of a number."""
    texts = {text.strip() for text in KEPT.sub("\n", page).split("\n") if NUMBERS.search(text)}
    found = [(text, translated(html.unescape(text), "de")) for text in sorted(texts)]
    return [german for text, german in found if {*NUMBERS.findall(text)} & {*re.findall(r"\d+(?:[.,]\d+)*", german)}]


def test_the_signs_of_numbers_are_found_where_they_are_wrong():
    assert english_numbers("<p>so much is 1.5 %</p><b>1,000 pieces</b>") == ["1,000 pieces", "so much is 1.5 %"]
    assert english_numbers("<p>1.5 %</p><code>1.5 %</code> <b>· 1,000 × 10</b> · risk ≤ 20.0 %") == []


def test_a_whole_job_shows_no_text_without_a_german_entry(client, tmp_path):
    """Every screen before, while and after a run, its fields, helps, notices and errors."""
    table = tmp_path / "people.csv"
    patients(300, missing=0.03).write_csv(table)
    broken = tmp_path / "broken.csv"
    broken.write_text("a,b\n1,2,3\n")
    pages = [client.get(path).text for path in SCREENS]

    def post(where, /, **form):
        pages.append(client.post(where, **form).text)

    for form in (
        {"path": str(table)},
        {"path": str(broken)},
        {"path": "none.csv"},
        {"path": "sqlite:///people.db?table=people"},
        {"path": str(table), "encoding": "x"},
    ):
        post("/peek", **form)
    client.open(table)
    pages.append(client.get("/columns").text)
    post("/protect", method="mdav", effort="fast")
    post("/columns/3/panel", way="hand")
    for tree in ({"tree": "group", "node": ["vnorth", "veast"], "name": "north-east"}, {"tree": "group"}):
        post("/columns/3/panel", **tree)
    post("/columns/1/panel", step="top", amount="80")
    post("/columns/1/panel", step="top", amount="x")
    for wrong in ({"k": "1"}, {"l": "x"}, {"t": "7"}, {"alpha": "7"}, {"time_limit": "x"}, {"held_name": "a"}):
        post("/protect", **wrong)
    pages.append(client.get("/protect").text)
    post("/protect", missing="fill", l="2")
    post("/protect", held_name="mean age", held_value="stay_days", held_relative="1000")
    pages += [client.get(f"/columns/{index}/panel").text for index in range(10)]
    post("/run")
    pages.append(client.get("/run").text)
    assert client.wait("run").state == "done", client.session.job("run").error
    pages += [client.get(path).text for path in SCREENS]
    post("/look/rows")
    post("/points/0", reason="")
    for index in range(len(client.session.result["decide"])):
        post(f"/points/{index}", reason="seen")
    client.post(f"/pins/{client.session.history.at}")
    post("/out", folder=str(tmp_path), report="on")
    post("/out", folder=str(tmp_path), report="on")
    post("/out", folder="")
    post("/protect", k="250")
    pages += [client.get(path).text for path in SCREENS]
    client.run()
    client.post(f"/pins/{client.session.history.at}")
    pages += [client.get(path).text for path in SCREENS]
    post("/check", released=str(tmp_path / "people-protected.csv"), original=str(table), quasi="age")
    names = {*client.session.settings.columns, *(path.name for path in tmp_path.iterdir())}
    lacking = {text for page in pages for text in untranslated(page, names)}
    assert lacking == set()
    assert sorted({text for page in pages for text in english_numbers(page)}) == []


def test_every_word_of_fields_ways_and_choices_has_a_german_entry():
    words = [*HELP.values(), *DEMOS.values(), *out_screen.DECISIONS.values(), *ROLE_WORDS.values(), *KINDS]
    words += [text for way in WAYS.values() for text in way]
    words += [text for steps in columns_screen.STEP_WORDS.values() for text in steps.values()]
    words += [text for recodes in columns_screen.RECODES.values() for text in recodes]
    words += [
        f"{text}, built when the plan runs" for one in columns_screen.HIERARCHIES.values() for text in one.values()
    ]
    words += [f"{label} and run" for ways in protect_screen._WAYS.values() for label, _ in ways]
    words += [f"{text[0].upper()}{text[1:]}." for _, _, text in protect_screen._LIMITS.values()]
    words += [get_method(name).title for name in all_methods()]
    words += ["0.1 s", "63.1 kB", "searching for better groups, pass 1 of 2"]
    words += ["searching for better groups by exact loss, pass 1 of 2"]
    assert [text for text in words if translated(text, "de") == text and text not in {"nominal", "ordinal"}] == []
