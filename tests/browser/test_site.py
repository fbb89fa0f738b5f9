"""The documentation site: every page loads without an error, and nothing is loaded from another site."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


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
    names = [str(page.relative_to(site)) for page in site.rglob("index.html")]
    requested, errors, missing = set(), [], []
    page = browser.new_page()
    page.on("request", lambda request: requested.add(request.url))
    page.on("console", lambda message: errors.append((page.url, message.text)) if message.type == "error" else None)
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    for name in names:
        page.goto(address + name)
    page.wait_for_load_state("networkidle")
    page.close()
    assert len(names) > 60
    assert not errors
    assert not missing
    assert not [url for url in requested if not url.startswith((address, "data:", "blob:"))]
