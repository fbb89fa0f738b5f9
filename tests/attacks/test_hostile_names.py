"""Hostile column names: markup, scripts, SQL, TOML, control and bidirectional characters, and very long ones."""

import csv
import json
import random
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from unittest import mock

import pytest

import shoal
from shoal.cli.application import main

NAMES = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<!--", "-->",
    "</title></style><svg onload=alert(1)>", "javascript:alert(1)", "{{7*7}}", "{% raw %}", "${7*7}", "&lt;b&gt;&#60;",
    "[red]bold[/red]", "[/x]", "[link=file:///etc/passwd]x[/link]", "]]>", "'; DROP TABLE people; --", '" OR "1"="1',
    "a]\nrole = 'quasi'\n[columns.b", '"""', "'''", "= 1 # comment", "a.b.c", "a\\u0000b", "back\\slash", "tab\there",
    "line\nbreak", "return\rhere", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "bell\x07", "\x08\x08\x08", "\x7f",
    "\u202egnp.exe", "\u2066a\u2069", "zero\u200bwidth", "\ufeffbom", "😀", "👩‍👩‍👧‍👦", "é",
    "e\u0301", "\u2028line", "\x85next",
    "=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "../../etc/passwd", "C:\\con", "%s%n%x", "{0}{name}", "x" * 3000, " ",
    "  padded  ", "NULL", "None", "0", "-1", "1e9", "true", "constructor", "__proto__", "columns", "role", ",", ";,|",
]  # fmt: skip


class Tags(HTMLParser):
    """Counts elements, and attributes that run scripts."""

    def __init__(self):
        super().__init__()
        self.found, self.handlers = {}, []

    def handle_starttag(self, tag, attributes):
        self.found[tag] = self.found.get(tag, 0) + 1
        self.handlers += [name for name, _ in attributes if name.startswith("on")]


def tags(page):
    parser = Tags()
    parser.feed(page)
    return {
        tag: parser.found.get(tag, 0) for tag in ("script", "img", "iframe", "link", "style", "object")
    }, parser.handlers


def run(*arguments):
    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", ["shoal", *map(str, arguments)]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    return code or 0, out.getvalue(), err.getvalue()


def visible(text):
    """Return whether a text for a terminal has no character that steers it or changes the direction of writing."""
    return all(character == "\n" or character.isprintable() for character in text)


def write_people(path, name):
    source = random.Random(3)
    rows = [[name, "age", "ill"]] + [
        [source.choice("abc"), source.randint(20, 60), source.choice("xyz")] for _ in range(24)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def attacked(folder, name):
    """Protect a table with a hostile name by the command line, and look at everything that is written and printed."""
    people, schema = folder / "people.csv", folder / "schema.toml"
    write_people(people, name)
    reading = ("--delimiter", ",")
    code, out, err = run("schema", people, "-o", schema, "--force", *reading)
    assert visible(out + err), (out, err)
    if code != 0:
        assert (code, len(err.splitlines())) == (2, 1), err
        return False
    entries = tomllib.loads(schema.read_text(encoding="utf-8"))["columns"]
    assert len(entries) == 3
    text = 'unnamed = "quasi"\n[columns.ill]\nrole = "confidential"\n'
    schema.write_text(text, encoding="utf-8")
    for word in ("table", "--json"):
        outputs = [
            "-o",
            folder / "safe.csv",
            "--report",
            folder / "r.html",
            "--public-report",
            folder / "p.html",
            "--force",
        ]
        more = ["--json"] if word == "--json" else []
        code, out, err = run(
            "protect", people, "-k", 3, "--schema", schema, "--method", "mdav", *outputs, *reading, *more
        )
        assert visible(out + err), (out, err)
        if code != 0:
            assert (code, len(err.splitlines())) == (2, 1), err
            return False
        if more:
            json.loads(out)
    manifest = json.loads((folder / "safe.manifest.json").read_text(encoding="utf-8"))
    assert len(manifest["schema"]["columns"]) == 3
    for page in ("r.html", "p.html"):
        assert tags((folder / page).read_text(encoding="utf-8")) == EXPECTED[page]
    code, out, err = run("verify", folder / "safe.csv", "-k", 3, "--schema", schema, *reading)
    assert (code, visible(out + err)) == (0, True), err
    return True


EXPECTED = {}


@pytest.fixture(scope="module", autouse=True)
def expected(tmp_path_factory):
    """The elements of the pages for a table with a harmless name."""
    folder = tmp_path_factory.mktemp("harmless")
    write_people(folder / "people.csv", "job")
    release = shoal.protect(folder / "people.csv", 3, quasi=["job", "age"], confidential=["ill"], method="mdav")
    release.write(folder / "safe.csv", report=folder / "r.html", public_report=folder / "p.html")
    for page in ("r.html", "p.html"):
        EXPECTED[page] = tags((folder / page).read_text(encoding="utf-8"))
        assert EXPECTED[page][1] == []


@pytest.mark.parametrize("part", range(4))
def test_a_hostile_name_stays_a_name_everywhere(part, tmp_path, record, repetitions):
    tried = NAMES[part::4][: repetitions(50)]
    released = sum(attacked(tmp_path, name) for name in tried)
    assert released > len(tried) / 2
    record("hostile column names tried in every output", len(tried))


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_hostile_name_stays_on_one_line_of_an_error(name):
    import polars as pl

    with pytest.raises(shoal.errors.ShoalError) as problem:
        shoal.protect(pl.DataFrame({name or "x": [1, 2, 3]}), 2, quasi=["other column", name])
    assert str(problem.value).isprintable()


def test_a_name_that_is_not_escaped_is_noticed():
    page = "<html><script>a</script><td><img src=x onerror=alert(1)></td></html>"
    assert tags(page)[0]["img"] == 1
    assert tags(page)[1] == ["onerror"]
    assert not visible("\x1b[31mred")
    assert not visible("\u202egpj")
