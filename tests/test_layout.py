"""Rules of the source tree: names of files, and one place for one thing."""

import re
from collections import Counter
from pathlib import Path

import pytest

from shoal.methods import MODULES

SOURCE = Path(__file__).parents[1] / "src" / "shoal"
FILES = sorted(SOURCE.rglob("*.py"))
SHARED_FILES = {  # files that register several methods, or cannot be named after theirs
    "auto_of_categories": "auto",
    "own_and_rand": "the fifteen variants of one scheme",
    "random_groups": "random is a module of the standard library",
}


def test_about_fifteen_names_are_at_the_top():
    top = {path.name for path in SOURCE.iterdir() if not path.name.startswith("__") and path.name != "py.typed"}
    assert top == {
        "api", "cli", "core", "datasets", "dp", "engines", "errors.py", "evaluate", "flow", "methods", "privacy",
        "recoding", "report", "schema", "sklearn.py", "studio", "tables",
    }  # fmt: skip


def test_a_file_name_occurs_once():
    names = Counter(
        path.stem for path in FILES if path.stem not in {"__init__", "__main__"} and path.parent.name != "cli"
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_method_is_in_the_file_of_its_name(name):
    stem = MODULES[name].rpartition(".")[2]
    own = name.replace("-", "_")
    variant = own.startswith(f"{stem}_")  # mona.py holds mona and mona-2d
    assert stem == own or variant or stem in SHARED_FILES


def test_no_file_passes_results_through_a_dictionary_of_facts():
    named = [path.name for path in FILES if re.search(r"\bfacts\b", path.read_text(encoding="utf-8"))]
    assert named == []
