"""Pages that a script writes are up to date; links between pages lead to existing files."""

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from shoal import all_methods

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def load(name, folder="docs"):
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "docs"))  # scripts there may import each other
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return module


def test_the_pages_of_methods_match_the_registry():
    script = load("method_pages")
    files = script.written()
    for path, text in files.items():
        assert path.exists(), f"run: python docs/method_pages.py ({path.name})"
        assert path.read_text(encoding="utf-8") == text, f"run: python docs/method_pages.py ({path.name})"
    assert set(script.PAGES.glob("*.md")) == {path for path in files if path.parent == script.PAGES}


def test_the_page_of_printed_figures_shows_the_stored_ones():
    script = load("reproduction_page")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python docs/reproduction.py --docs"


def test_printed_cells_are_left_out_only_where_their_runs_take_long():
    """At least two minutes of a core for a row, as measured on one run."""
    script = load("reproduction_costs")
    left_out = script.left_out()
    assert left_out.keys() <= load("kept").kept(script.COSTS).keys(), "run: python docs/reproduction_costs.py"
    quick = [call for call, (ks, _) in left_out.items() if script.hours(call, ks) < 1 / 30]
    assert quick == [], "run: python docs/reproduction.py --compute, with these"


OF_STORED_FIGURES = [  # scripts that write tables of docs/methods and docs/validation, and what they are called with
    ("docs", "reproduction_distance", ["cells", "cuts", "simulated"]),
    ("docs", "reproduction_pca", ["--docs"]),
    ("docs", "reproduction_pca_studies", ["--docs"]),
    ("docs", "reproduction_nominal", ["--tables"]),
    ("docs", "reproduction_nominal_studies", None),
    ("docs", "reproduction_partition", ["--docs"]),
    ("benchmarks", "nominal", ["--docs"]),
    ("benchmarks", "optimal", None),
    ("benchmarks", "distance", None),
]


@pytest.mark.parametrize(
    ("folder", "name", "arguments"), OF_STORED_FIGURES, ids=[name for _, name, _ in OF_STORED_FIGURES]
)
def test_the_tables_of_methods_show_the_stored_figures(folder, name, arguments, monkeypatch):
    script, shown = load(name, folder), load("kept").shown
    found = []

    def compare(page, tables):
        found.extend((page.name, mark, shown(page, mark) == "\n".join(lines)) for mark, lines in tables.items())

    monkeypatch.setattr(script, "write_tables", compare)
    monkeypatch.setattr(script, "chart", lambda *_, **__: None, raising=False)
    if arguments is None:
        script.write_page()
    else:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        script.main()
    assert found
    assert [(page, mark) for page, mark, same in found if not same] == [], (
        f"run {folder}/{name}.py, see its first lines"
    )


FIGURE = re.compile(r"\| *[-+]?\d+\.\d+ *\|")
GENERATED = re.compile(r"<!-- generated: [^>]*-->.*?<!-- end -->", re.DOTALL)


@pytest.mark.parametrize(
    "page",
    sorted((ROOT / "docs").glob("methods/*.md")) + sorted((ROOT / "docs").glob("validation/*.md")),
    ids=lambda page: f"{page.parent.name}-{page.stem}",
)
def test_no_table_of_figures_is_written_by_hand(page):
    by_hand = GENERATED.sub("", page.read_text(encoding="utf-8"))
    assert FIGURE.search("| census | 2.760 |")
    assert FIGURE.findall(by_hand) == []


def test_every_method_has_a_small_figure():
    pictures = sorted((ROOT / "docs" / "methods" / "pictures").glob("*.svg"))
    built_in = {name for name, method in all_methods().items() if method.built_in}
    assert {picture.stem for picture in pictures} == built_in, "run: python docs/method_pictures.py"
    assert sum(picture.stat().st_size for picture in pictures) < 1_500_000


@pytest.mark.parametrize("name", ["mdav", "optimal-1d", "mondrian-nominal"])
def test_figures_show_the_present_groups_of_the_method(name):
    script = load("method_pictures")
    shown = (script.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert script.picture(name) == shown, f"run: python docs/method_pictures.py {name}"


def test_the_reference_of_names_is_up_to_date():
    script = load("api")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python docs/api.py"


def test_the_page_of_commands_lists_every_option():
    script = load("commands")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python docs/commands.py"


def test_the_page_of_auto_agrees_with_the_code_that_selects():
    script = load("auto_selection")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python docs/auto_selection.py"


def test_the_page_of_the_studio_has_the_words_of_the_help_beside_each_field():
    script = load("studio_fields")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python docs/studio_fields.py"


def test_the_page_of_determinism_lists_every_method_with_a_time_limit():
    script = load("determinism")
    assert len(script.limited()) > 10
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python docs/determinism.py"


def test_the_page_of_run_files_lists_every_key():
    script = load("run_file")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python docs/run_file.py"


@pytest.mark.parametrize("name", ["errors_page", "schema_page", "report_page"])
def test_pages_written_from_the_code_are_up_to_date(name):
    script = load(name)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), f"run: python docs/{name}.py"


@pytest.mark.parametrize("name", ["output_keys", "notebook"])
def test_pages_written_from_results_are_up_to_date(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    for page, text in load(name).written().items():
        assert page.read_text(encoding="utf-8") == text, f"run: python docs/{name}.py"


def test_an_entry_without_a_meaning_and_a_meaning_without_an_entry_are_found():
    script = load("output_keys")
    assert script.checked([{"k": {"achieved": 5}}, {"k": {}}], {"k.achieved": "", "k": ""}) == {"k.achieved": 1, "k": 1}
    for found, meanings in (({"k": 5, "l": 2}, {"k": ""}), ({"k": 5}, {"k": "", "l": ""})):
        with pytest.raises(SystemExit, match="'l'"):
            script.checked([found], meanings)


QUESTION = re.compile(r"^\| ([^|]+\?) \| \[[^]]+\]\(([^)#]*)(?:#([^)]+))?\) \| ([^|]+) \|$", re.MULTILINE)


def questions():
    """Return question, page, section and search words of each line of the table on docs/questions.md."""
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    return [(one, page or "questions.md", part, words.split()) for one, page, part, words in QUESTION.findall(text)]


def section(page, anchor):
    """Return the part of a page below the heading of an anchor, or the whole page."""
    text = page.read_text(encoding="utf-8")
    if not anchor:
        return text
    for found in re.finditer(r"^(#+) (.+)$", text, flags=re.MULTILINE):
        name = re.sub(r"[^\w\s-]", "", found[2].lower()).strip()
        if re.sub(r"[\s-]+", "-", name) == anchor:
            return (
                found[2]
                + re.split(rf"^#{{1,{len(found[1])}}} ", text[found.end() :], maxsplit=1, flags=re.MULTILINE)[0]
            )
    raise AssertionError(f"{page.name} has no heading {anchor}")


def test_twenty_questions_of_users_lead_to_pages_that_answer_them():
    found = questions()
    assert len(found) >= 20
    for question, page, anchor, words in found:
        text = section(ROOT / "docs" / page, anchor).lower()
        assert [word for word in words if word.lower() not in text] == [], question


def test_a_section_ends_at_the_next_heading_of_its_level(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n## One\n\nfirst\n\n### Deeper\n\nsecond\n\n## Two\n\nthird\n", encoding="utf-8")
    assert "second" in section(page, "one")
    assert "third" not in section(page, "one")
    with pytest.raises(AssertionError, match="no heading"):
        section(page, "four")


def test_the_page_of_the_attack_suite_shows_the_recorded_figures():
    script = load("reliability")
    figures = json.loads(script.FIGURES.read_text(encoding="utf-8"))
    assert script.PAGE.read_text(encoding="utf-8") == script.page(figures), "run: python docs/reliability.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_existing_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not target.startswith(("http", "mailto:")):
            assert (page.parent / target).exists(), target


def test_every_page_of_the_docs_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    written = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")}
    script = load("site_pages")
    assert written | set(script.PAGES) == listed
    assert not written & set(script.PAGES)


def test_pages_of_the_root_have_links_of_the_site():
    text = load("site_pages").text_of("CHANGELOG.md")
    assert "](files.md" in text or "](docs/files.md" not in text
    assert "](docs/" not in text


def test_the_reference_lists_properties_without_parentheses():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    release = text.partition("### shoal.Release\n")[2].partition("### ")[0]
    for name in ("data", "k", "risk", "utility"):
        assert f"| `{name}` |" in release
        assert f"`{name}()`" not in release
    assert "| `write()` |" in release


def test_the_changelog_names_the_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def commands_of(page):
    """Return the commands in the blocks of a page, without comments."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(("shoal ", "openssl ", "sha256sum ", "python3 -m pip"))]


def test_german_pages_show_the_commands_of_the_english_ones():
    assert commands_of("docs/leitfaden.md") == [
        line for line in commands_of("docs/guide.md") if line in set(commands_of("docs/leitfaden.md"))
    ]
    english = {line for line in commands_of("docs/guide.md") if not line.startswith("shoal-demo")}
    assert english == set(commands_of("docs/leitfaden.md"))
    german = [line for line in commands_of("README.de.md") if line.startswith("python3")]
    assert german == [line for line in commands_of("README.md") if line.startswith("python3")]


def guarantees(readme, heading):
    """Return for each guarantee of a README whether it states a condition, which is printed in italics."""
    text = (ROOT / readme).read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    items = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    return [re.search(r"(?<!\*)\*[^*]+\*(?!\*)", item) is not None for item in items]


def test_the_german_readme_states_each_guarantee_with_its_condition():
    english = guarantees("README.md", "Guarantees and their conditions")
    assert len(english) == 7
    assert sum(english) >= 4
    assert guarantees("README.de.md", "Zusagen und ihre Bedingungen") == english
