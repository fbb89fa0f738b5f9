"""Texts in other languages: complete entries, names of the data as they are, and the same files whatever is said."""

import json
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core import languages
from shoal.core.languages import catalogue, has_letters, read_catalogue, texts_of_page, translated, translated_page
from shoal.errors import ParameterError
from shoal.report.page import render_report

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9]*)(?:!t)?\}")
SENTENCES, ITEMS = languages._BORDERS
SOURCE = (languages.files("shoal.core") / "translations" / "de.po").read_text(encoding="utf-8")
ENTRIES = [*read_catalogue(SOURCE)]
SAME_IN_GERMAN = {
    "Original", "original", "Plan", "Software", "NCP", "C_AVG", "Discernibility C_DM", "Hellinger", "SPECKS", "nominal",
    "ordinal", "none (Python: constant=none).", "mdav", "Shoal",
}  # fmt: skip


def test_entries_are_unique_and_have_the_same_placeholders():
    texts = [text for text, _ in ENTRIES]
    assert len(ENTRIES) > 1_000
    assert len(set(texts)) == len(texts)
    for text, translation in ENTRIES:
        assert translation, text
        assert set(PLACEHOLDER.findall(translation)) <= set(PLACEHOLDER.findall(text)), text


def test_every_line_of_the_catalogue_is_read():
    assert len(ENTRIES) == SOURCE.count("\nmsgid ") - 1  # the head has an empty text


@pytest.fixture(scope="module")
def releases():
    people = shoal.datasets.patients(120, missing=0.1)
    stays = shoal.datasets.stays(60)
    plain = shoal.protect(
        people, 4, quasi=["age", "sex", "education", "income", "admitted"], confidential=["diagnosis"],
        identifiers=["name"], missing="by-pattern", method="mdav", unnamed="other", accept_loss=True, l=2,
    )  # fmt: skip
    persons = shoal.protect(
        stays, 4, quasi=["birth_year", "days"], unit="patient_id", unnamed="other", method="mdav", accept_relinking=True
    )
    return plain, persons


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_every_text_of_a_report_is_german(releases, which, public):
    release = releases[which]
    assert (
        untranslated(
            render_report(release.released, None if public else release._paired_original(), public=public), release
        )
        == []
    )


@pytest.mark.parametrize("population", ["table", 5_000])
def test_every_text_about_outside_data_is_german(releases, population):
    from shoal.report.outside_data import outside_data

    release, others = releases[0], shoal.datasets.patients(300, missing=0.1)
    outside = outside_data(
        others if population == "table" else population, None, others[120:], records=120, schema=release.schema,
        options={},
    )  # fmt: skip
    english = render_report(release.released, release._paired_original(), outside=outside)
    assert "Opinion 05/2014" in english
    assert untranslated(english, release) == []


def untranslated(english, release):
    """The texts of a page that have no German entry."""
    names = {column.name for column in release.schema.columns}
    missing = []
    drawn = re.compile(rf"\d+ (?:{'|'.join(map(re.escape, names))})")  # a row of a picture: its number and its name
    known = SAME_IN_GERMAN | names
    for text in texts_of_page(english):
        plain = re.sub(r"\s+", " ", text)
        if plain in known or drawn.fullmatch(plain) or plain.startswith(("Shoal 0.", "--")):
            continue
        sentences = [plain] if catalogue("de").find(plain) else SENTENCES.split(plain)
        for sentence in filter(has_letters, sentences):
            items = [sentence] if catalogue("de").find(sentence) else ITEMS.split(sentence)
            missing += [
                item for item in items if has_letters(item) and not catalogue("de").find(item) and item not in known
            ]
    return missing


def test_names_of_the_data_are_not_translated(monkeypatch):
    """The wrong version: elements whose text comes from the data are translated like all others."""
    people = pl.DataFrame(
        {"Groups": [1, 2, 3, 4] * 5, "Summary": ["Findings", "Risk"] * 10, "Method": ["Decision"] * 20}
    )
    release = shoal.protect(people, 4, quasi=["Groups", "Summary"], unnamed="other", method="mdav")
    english = render_report(release.released, release._paired_original())
    names = re.findall(r"<bdi>([^<]*)</bdi>", english)
    assert {"Groups", "Summary"} <= set(names)
    german = translated_page(english, "de")
    assert re.findall(r"<bdi>([^<]*)</bdi>", german) == names
    assert '<html lang="de">' in german
    assert "Zusammenfassung" in german
    monkeypatch.setattr(languages, "_KEPT_ELEMENTS", frozenset({"style"}))
    wrong = translated_page(english, "de")
    assert re.findall(r"<bdi>([^<]*)</bdi>", wrong) != names


def test_marks_are_the_same_in_every_language(releases):
    english = render_report(releases[0].released, releases[0]._paired_original())
    german = translated_page(english, "de")
    labels = re.compile(r' (?:aria-label|title|placeholder|alt|lang)="[^"]*"')

    def marks(page):
        return [labels.sub("", mark) for mark in re.findall(r"<[^>]*>", page)]

    assert marks(german) == marks(english)
    assert re.findall(r"<code>.*?</code>", german) == re.findall(r"<code>.*?</code>", english)


@given(st.text(max_size=80))
def test_any_text_is_passed_on(text):
    assert translated(text, "en") == text
    found = translated(text, "de")
    assert found.strip() == found.strip()
    assert len(found) - len(found.lstrip()) == len(text) - len(text.lstrip())


@pytest.mark.parametrize(
    ("text", "german"),
    [
        ("12,345 records", "12.345 Datensätze"),
        ("information loss below 0.01 %", "Informationsverlust unter 0,01 %"),
        ("See; 3 groups. Values", "Siehe; 3 groups. Werte"),
        ('Column "3 groups" lost 1.5 % of its information.', "Spalte „3 groups“ hat 1,5 % ihrer Information verloren."),
    ],
)  # fmt: skip
def test_numbers_get_german_signs_and_names_stay(text, german):
    assert translated(text, "de") == german


def test_an_option_of_a_form_sends_what_it_sent_before():
    page = '<select><option selected>nominal</option><option>other</option><option value="a">other</option></select>'
    assert translated_page(page, "de") == (
        '<select><option selected>nominal</option><option value="other">andere</option>'
        '<option value="a">andere</option></select>'
    )


def test_the_released_files_do_not_depend_on_the_language(tmp_path, monkeypatch, capsys):
    from shoal.cli.application import main

    people = shoal.datasets.patients(60)
    people.write_csv(tmp_path / "people.csv")
    written = {}
    for language in ("en", "de"):
        monkeypatch.setenv("SHOAL_LANGUAGE", language)
        monkeypatch.chdir(tmp_path)
        arguments = (
            "people.csv -k 5 --quasi age,income --unnamed other --method mdav -o safe.csv --report safe.html --force"
        )
        monkeypatch.setattr("sys.argv", ["shoal", "protect", *arguments.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        written[language] = [(tmp_path / name).read_bytes() for name in ("safe.csv", "safe.manifest.json")]
        said = capsys.readouterr().out
        assert ("Informationsverlust" in said) == (language == "de")
        assert ("Zusammenfassung" in (tmp_path / "safe.html").read_text(encoding="utf-8")) == (language == "de")
    assert written["en"] == written["de"]


def test_an_unknown_language_is_refused_by_its_name(releases, tmp_path):
    with pytest.raises(ParameterError, match='language="fr" is not known; choose from: en, de'):
        releases[0].write(tmp_path / "safe.csv", language="fr")
    assert [*tmp_path.iterdir()] == []


def test_json_is_english_in_every_language(tmp_path, monkeypatch, capsys):
    from shoal.cli.application import main

    monkeypatch.setenv("SHOAL_LANGUAGE", "de")
    monkeypatch.setattr(
        "sys.argv", ["shoal", "verify", str(tmp_path / "none.csv"), "-k", "3", "--quasi", "a", "--json"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert err.strip().endswith("gibt es nicht")
    assert json.loads(out)["error"]["message"].endswith("does not exist")


def test_descriptions_of_histograms_are_translated_bar_by_bar():
    """The wrong version: one placeholder took in all bars but the last, whose words and signs stayed English."""
    text = "below 1,000: original 1.7 %, released 0.0 %; 1,000 to 1,999: original 8.8 %, released 8.3 %"
    text += "; 2,000 and above: original 2.4 %, released 3.3 %"
    assert translated(text, "de") == (
        "unter 1.000: Original 1,7 %, veröffentlicht 0,0 %; 1.000 bis 1.999: Original 8,8 %, veröffentlicht 8,3 %; "
        "2.000 und mehr: Original 2,4 %, veröffentlicht 3,3 %"
    )
    months = "below 2025-02: released 1.7 %; 2025-02 to 2025-03: released 10.0 %; 2025-12 and above: released 0.1 %"
    assert "2025-02 bis 2025-03: veröffentlicht 10,0 %" in translated(months, "de")
