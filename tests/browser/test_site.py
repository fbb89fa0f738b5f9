"""The documentation as a reader gets it: every page loads from its own site, without an error and without a hole."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


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


def test_every_page_is_whole_and_asks_nobody_else(browser, site, address):
    names = [str(page.relative_to(site)) for page in site.rglob("index.html")]
    asked, told, missing = set(), [], []
    page = browser.new_page()
    page.on("request", lambda request: asked.add(request.url))
    page.on("console", lambda message: told.append((page.url, message.text)) if message.type == "error" else None)
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    for name in names:
        page.goto(address + name)
    page.wait_for_load_state("networkidle")
    page.close()
    assert len(names) > 60
    assert not told
    assert not missing
    assert not [url for url in asked if not url.startswith((address, "data:", "blob:"))]
