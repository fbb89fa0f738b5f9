"""The documentation site: pages load, links lead somewhere, and all of it works as files, on a phone and in print."""

import re
import threading
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
TERMS = [
    ("risk-utility.md", "equivalence class"), ("choosing.md", "direct identifier"),
    ("glossary.md", "re-identification"), ("glossary.md", "disclosure risk"),
    ("risk-utility.md", "information loss"), ("choosing.md", "key variables"),
    ("privacy.md", "sensitive attribute"), ("coming-from.md", "sdcMicro"), ("coming-from.md", "ARX"),
    ("legal-context.md", "GDPR"), ("command-line.md", "exit code"), ("leitfaden.md", "Mikroaggregation"),
]  # fmt: skip
"""What a reader of the field types first, and the page that has to be among the first ten results."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install 'shoal[docs]'")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    return folder


@pytest.fixture
def address(site):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_every_page_loads_without_errors_or_requests_to_other_sites(browser, site, address):
    names = [str(page.relative_to(site)) for page in site.rglob("*.html")]
    requested, errors, missing = set(), [], []
    page = browser.new_page()
    page.on("request", lambda request: requested.add(request.url))
    page.on("console", lambda message: errors.append((page.url, message.text)) if message.type == "error" else None)
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    for name in names:
        if name != "404.html":
            page.goto(address + name)
    page.wait_for_load_state("networkidle")
    page.close()
    assert len(names) > 100
    assert not errors
    assert not missing
    assert not [url for url in requested if not url.startswith((address, "data:", "blob:"))]


def test_every_link_leads_to_a_file_and_a_heading(site):
    """Works without a browser: links and anchors as they are in the built pages."""
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html") if page.name != "404.html"}
    anchors = {page: set(re.findall(r'\sid="([^"]+)"', text)) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for target in set(re.findall(r'\s(?:href|src)="([^"]+)"', text)):
            link = urlsplit(unescape(target))
            if link.scheme or link.netloc:
                continue
            file = (page.parent / unquote(link.path)).resolve() if link.path else page
            known = anchors.get(file)
            if not file.is_file() or (link.fragment and known is not None and unquote(link.fragment) not in known):
                broken.append((page.name, target))
    assert broken == []


def test_search_finds_the_answers_without_a_server(browser, site):
    """The pages are opened as files; the words of each question lead to its page among the first ten results."""
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+\? \| \[[^]]+\]\(([^)#]*)[^)]*\) \| ([^|]+) \|$", text, flags=re.MULTILINE)
    assert len(rows) >= 20
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    field, lost = "input[data-md-component=search-query]", []
    page.focus(field)  # the index may be read when the search is used first
    page.wait_for_function("typeof __index !== 'undefined'")
    for target, words in [*rows, *TERMS]:
        before = page.inner_html(".md-search-result__list")
        page.fill(field, words)
        page.press(field, "End")  # results follow a key
        page.wait_for_function(
            "before => document.querySelector('.md-search-result__list').innerHTML !== before", arg=before
        )
        links = page.eval_on_selector_all(".md-search-result__link", "all => all.map(link => link.pathname)")
        name = "/" + (target or "questions.md").removesuffix(".md") + ".html"
        if not any(link.endswith(name) for link in links[:10]):
            lost.append((words, name, links[:3]))
    page.close()
    assert lost == []


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(browser, site, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    wide = []
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri(), wait_until="domcontentloaded")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(file.name)
    page.close()
    assert wide == []


def test_nothing_is_cut_off_in_print(browser, site):
    page = browser.new_page(viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    cut = []
    for name in ("guide", "commands", "privacy", "measures", "coming-from", "methods/index"):
        page.goto((site / f"{name}.html").as_uri())
        wider = "[...document.querySelectorAll('article table, article pre')].filter(e => e.scrollWidth > 722).length"
        if page.evaluate(wider):
            cut.append(name)
    page.close()
    assert cut == []
