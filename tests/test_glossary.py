"""The terms of the glossary occur on other pages, and words that were replaced occur on none."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY, BIBLIOGRAPHY = ROOT / "docs" / "glossary.md", ROOT / "docs" / "bibliography.md"
ROOTS = ("README", "README.de", "SECURITY", "CONTRIBUTING")  # the changelog names what options were called before
PAGES = [*(ROOT / f"{name}.md" for name in ROOTS), *sorted((ROOT / "docs").rglob("*.md"))]
SOURCE = ROOT / "src" / "shoal"
TEMPLATES = sorted(path for ending in ("jinja", "js", "css", "html") for path in SOURCE.rglob(f"*.{ending}"))
EXAMPLES = sorted((ROOT / "examples").rglob("*.py")) + sorted((ROOT / "examples").rglob("*.md"))
REPLACED = (
    "hole", "told", "hears", "whomever", "whoever", "somebody", "nobody", "outsider", "standing for", "look alike",
    "pick out", "safe to hand out", "secret", "shade", "rung", "yardstick", "`within`", "globally", "own-group",
    "as-value",
)  # fmt: skip
FORMS = (
    "holes", "hear", "outsiders", "stands for", "stands in for", "standing in for", "looks alike", "looking alike",
    "picks out", "picked out", "picking out", "secrets", "shades", "rungs", "yardsticks", "everybody", "anybody",
)  # fmt: skip
"""Other forms of the words above, and their relatives."""
HAND_OUT = (
    "docs/studio.md",
    "src/shoal/studio/templates/out.html.jinja",
    "src/shoal/studio/out_screen.py",
    "src/shoal/studio/web.py",
)
"""Where "hand out" may occur: it is the name of the last step of the studio, as Look is that of the one before it."""


def terms():
    """Return the terms of the glossary; "a, b" and "a and b" name two."""
    rows = re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = [row for row in rows if row != "term" and not row.startswith("-")]
    return [part for name in names for part in re.sub(r" \(.*\)", "", name).split(", ")]


def test_every_term_occurs_on_another_page():
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES if path not in (GLOSSARY, BIBLIOGRAPHY)).lower()
    text = re.sub(r"\s+", " ", text)
    assert len(terms()) > 50
    assert [term for term in terms() if term.lower() not in text] == []


def found(word, text):
    """Return whether a text contains a word or phrase as it is."""
    pattern = re.escape(word) if word.startswith("`") else rf"(?<![\w-]){re.escape(word)}(?![\w-])"
    return re.search(pattern, text, flags=re.IGNORECASE) is not None


def pages_with(word):
    """Return the pages, templates and examples that contain a word; titles of works are quoted as they are."""
    pages = [path for path in [*PAGES, *TEMPLATES, *EXAMPLES] if path != BIBLIOGRAPHY]
    return [str(path.relative_to(ROOT)) for path in pages if found(word, path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("word", [*REPLACED, *FORMS])
def test_a_word_that_was_replaced_occurs_on_no_page_and_in_no_report(word):
    assert pages_with(word) == []


def test_only_the_step_of_the_studio_is_called_hand_out():
    pages = {*pages_with("hand out"), *printed("hand out", "handed out", "hands out")}
    assert pages == set(HAND_OUT)
    for path in (ROOT / page for page in HAND_OUT if page.endswith("md")):
        shown = re.findall(r".{2}hand out.{2}", path.read_text(encoding="utf-8"), flags=re.IGNORECASE)
        assert all("Hand out" in text for text in shown)


def texts(code):
    """Return the texts of a module that may be shown: its string constants, without docstrings and comments."""
    tree = ast.parse(code)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [node.value for node in constants if isinstance(node.value, str)]


def printed(*words):
    """Return the modules whose texts contain one of these words, and the words."""
    shown = {}
    for path in SOURCE.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        suspects = [word for word in words if word in code.lower()]
        for word in {word for text in texts(code) for word in suspects if found(word, text)} if suspects else ():
            shown.setdefault(str(path.relative_to(ROOT)), set()).add(word)
    return shown


def test_no_replaced_word_is_printed():
    """Help, errors, terminal, findings and the studio take their words from constants; pages of commands from help."""
    assert printed(*REPLACED, *FORMS) == {}


def test_words_are_looked_for_in_constants_only():
    code = '"""A hole."""\n# secret\nraise ValueError(f"{n} yardstick")\nprint("told " "twice")\n'
    assert sorted(texts(code)) == [" yardstick", "told twice"]


def test_a_word_is_found_as_a_word_only():
    assert found("hole", "One hole, two.")
    assert not found("hole", "The whole table")
    assert found("`within`", "the option `within`")
    assert not found("`within`", "within a group")
