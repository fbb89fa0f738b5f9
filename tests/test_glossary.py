"""The terms of the glossary occur on other pages, and words that were replaced occur on none."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY, BIBLIOGRAPHY = ROOT / "docs" / "glossary.md", ROOT / "docs" / "bibliography.md"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCE = ROOT / "src" / "shoal"
TEMPLATES = sorted(path for ending in ("jinja", "js", "css", "html") for path in SOURCE.rglob(f"*.{ending}"))
REPLACED = (
    "hole", "told", "hears", "whomever", "whoever", "somebody", "nobody", "outsider", "standing for", "look alike",
    "pick out", "safe to hand out", "secret", "shade", "rung", "yardstick", "`within`", "globally", "own-group",
    "as-value",
)  # fmt: skip


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


@pytest.mark.parametrize("word", REPLACED)
def test_a_word_that_was_replaced_occurs_on_no_page_and_in_no_report(word):
    pages = [path for path in [*PAGES, *TEMPLATES] if path != BIBLIOGRAPHY]  # titles of works are quoted as they are
    assert [str(path.relative_to(ROOT)) for path in pages if found(word, path.read_text(encoding="utf-8"))] == []


def texts(code):
    """Return the texts of a module that may be shown: its string constants, without docstrings and comments."""
    tree = ast.parse(code)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_replaced_word_is_printed():
    """Help, errors, terminal, findings and the studio take their words from constants; pages of commands from help."""
    shown = []
    for path in SOURCE.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        suspects = [word for word in REPLACED if word in code.lower()]
        if suspects:
            shown += [(path.name, word) for text in texts(code) for word in suspects if found(word, text)]
    assert shown == []


def test_words_are_looked_for_in_constants_only():
    code = '"""A hole."""\n# secret\nraise ValueError(f"{n} yardstick")\nprint("told " "twice")\n'
    assert sorted(texts(code)) == [" yardstick", "told twice"]


def test_a_word_is_found_as_a_word_only():
    assert found("hole", "One hole, two.")
    assert not found("hole", "The whole table")
    assert found("`within`", "the option `within`")
    assert not found("`within`", "within a group")
