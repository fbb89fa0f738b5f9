"""The studio in the language that the browser prefers; names of columns, categories and files stay."""

import re

import polars as pl

from shoal.studio import web

GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.5"}


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
    from shoal.core.languages import translated_page

    return translated_page(text, language)


def test_command_and_script_state_the_language_of_the_reports(client, table):
    client.open(table)
    client.settle()
    client.run()
    page = client.get("/out", headers=GERMAN).text
    assert "--language de" in page
    assert "language=&#39;de&#39;" in page or "language=&#x27;de&#x27;" in page
    assert "--language" not in client.get("/out").text
