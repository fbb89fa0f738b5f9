"""The studio in Chromium: the whole job by clicks and by keys, on wide and narrow screens, light and dark.

Nothing is written to the console, nothing is asked for from elsewhere, and the policy blocks nothing. With
``SHOAL_PICTURES`` set, the pictures of the tour are written to that directory.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import polars as pl
import pytest

from shoal.datasets import patients

pytestmark = pytest.mark.browser
SCREENS = ("/open", "/columns", "/protect", "/run", "/look", "/out", "/history", "/compare", "/check")
PICTURES = os.environ.get("SHOAL_PICTURES")
WIDE = """() => [...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll, svg, .vh, pre, .skip')
  && !one.classList.contains('vh') && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(one => one.outerHTML.slice(0, 120))"""

CUT = """() => [...document.querySelectorAll('.plan dl > div:not(.brief):not(.method) dd')].filter(one =>
  one.getClientRects().length && (one.scrollWidth > one.clientWidth + 1 || one.clientWidth < 20))
  .map(one => one.textContent)"""
"""Cells of the plan whose text is cut, except the names of the file and of the method."""


class Studio:
    def __init__(self, folder, *arguments):
        environment = {**os.environ, "SHOAL_STUDIO": str(folder / "state")}
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "studio", "--no-browser", *map(str, arguments)],
            stdout=subprocess.PIPE, text=True, cwd=folder, env=environment,
        )  # fmt: skip
        self.link = re.search(r"http://\S+", self.process.stdout.readline())[0]
        self.address = self.link.partition("/start/")[0]

    def end(self, *, kill=False):
        if self.process.poll() is None:
            (self.process.kill if kill else self.process.terminate)()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture
def watched(browser):
    """Return a function that opens a page in a context whose console and requests are watched."""
    contexts, messages, requested = [], [], []

    def open_page(studio, *, width=1280, scheme="light", cookies=None, locale="en-US"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, locale=locale)
        contexts.append(context)
        if cookies:
            context.add_cookies(cookies)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requested.append((studio.address, request.url)))
        page.add_init_script(
            "window.blocked = []; document.addEventListener('securitypolicyviolation', "
            "event => window.blocked.push(event.blockedURI + ' ' + event.violatedDirective));"
        )
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("window.blocked || []") == []
        context.close()
    assert messages == []
    assert all(url.startswith(address) for address, url in requested)


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a studio in the directory of the test; all of them are ended."""
    started = []

    def start_studio(*arguments):
        started.append(Studio(tmp_path, *arguments))
        return started[-1]

    yield start_studio
    for studio in started:
        studio.end()


@pytest.fixture(scope="module")
def finished(browser, tmp_path_factory):
    """A studio in which the demo table was protected and everything decided; the keys of its browser."""
    folder = tmp_path_factory.mktemp("studio")
    studio = Studio(folder)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(studio.link)
    page.click("#demo-patients")
    page.wait_for_selector("table.columns", timeout=60_000)
    page.click("#next")
    page.wait_for_selector("#controls")
    page.check("#effort-fast", force=True)
    page.wait_for_selector("#effort-fast:checked")
    page.click("#next")
    page.wait_for_url("**/look", timeout=120_000)
    page.click("#pin")
    page.wait_for_selector("#pin >> text=Unpin")
    yield studio, context.cookies()
    context.close()
    studio.end()


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


@pytest.mark.parametrize(("scheme", "locale"), [("light", "en-US"), ("dark", "en-US"), ("light", "de-DE")])
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_every_screen_fits_and_is_silent(watched, finished, width, scheme, locale):
    studio, cookies = finished
    page = watched(studio, width=width, scheme=scheme, cookies=cookies, locale=locale)
    for screen in SCREENS:
        page.goto(studio.address + screen)
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), screen
        assert page.evaluate(WIDE) == [], screen
        assert page.evaluate(CUT) == [], screen
        assert page.evaluate("document.getElementById('plan').offsetHeight") < (260 if width == 320 else 130), screen
        if locale != "en-US":
            continue
        if PICTURES and screen == "/protect":
            page.wait_for_selector("#curves:not([hx-get])", timeout=240_000)
        if scheme == ("dark" if screen == "/history" else "light") and width == 1280:
            picture(page, screen[1:])
        if screen == "/columns" and width == 320 and scheme == "light":
            picture(page, "columns-narrow")


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The source of axe-core, fetched from the registry; skipped where there is none."""
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, so axe-core cannot be fetched")
    done = subprocess.run(["npm", "pack", "--silent", "axe-core@4"], cwd=folder, capture_output=True, check=False)
    found = list(folder.glob("axe-core-*.tgz"))
    if done.returncode or not found:
        pytest.skip("axe-core cannot be fetched here")
    with tarfile.open(found[0]) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_axe_finds_no_violation(watched, finished, axe, width, scheme):
    studio, cookies = finished
    page = watched(studio, width=width, scheme=scheme, cookies=cookies)
    for screen in SCREENS:
        page.goto(studio.address + screen)
        if screen == "/look":
            page.click("#rows-question summary")
            if page.locator("#show-rows").count():
                page.click("#show-rows")
                page.wait_for_selector("#rows table", timeout=60_000)
        if screen == "/columns":
            page.click("#open-4")
            page.wait_for_selector("#panel-head")
        page.evaluate(axe)  # evaluated by the debugger, which the policy of the page does not concern
        found = page.evaluate("axe.run(document)")["violations"]
        shown = [(one["id"], [node["html"][:150] for node in one["nodes"][:3]]) for one in found]
        assert shown == [], screen


def violations(page, axe):
    """What axe-core finds; what the policy blocks of axe-core itself is not the page's, what it blocked before is."""
    assert page.evaluate("window.blocked") == []
    page.evaluate(axe)
    found = page.evaluate("axe.run(document)")["violations"]
    page.evaluate("window.blocked = []")
    return [(one["id"], [node["html"][:150] for node in one["nodes"][:3]]) for one in found]


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_trees_orders_steps_and_helps_by_mouse_and_keys(watched, start, axe, tmp_path, width, scheme):
    patients(200).write_csv(tmp_path / "people.csv")
    studio = start("people.csv")
    page = watched(studio, width=width, scheme=scheme)
    page.goto(studio.link)
    page.wait_for_selector("table.columns", timeout=60_000)
    page.click("#open-3")
    page.wait_for_selector("#panel-head >> text=region")
    page.check("#way-hand")
    page.click("#make-tree")
    page.wait_for_selector("#tree-form")
    settled(page)
    for value in ("vnorth", "veast"):
        page.check(f'[name=node][value="{value}"]')
    page.fill("#tree-name", "north-east")
    page.click("#tree-group")
    page.wait_for_selector('[name=node][value="nnorth-east"]')
    settled(page)
    page.click("#tree .help summary")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate(WIDE) == []
    assert violations(page, axe) == []
    if PICTURES:
        page.locator("#side").screenshot(path=Path(PICTURES) / f"tree-{width}.png")
    page.click("#open-4")
    page.wait_for_selector("#panel-head >> text=education")
    settled(page)
    places = "[...document.querySelectorAll('[data-place] span:nth-child(2)')].map(one => one.textContent)"
    first = page.evaluate(places)
    page.drag_and_drop('[data-place="0"] .grip', '[data-place="2"] .grip')
    page.wait_for_function(f"() => {places}[2] === {first[0]!r}")
    settled(page)
    page.focus("#up-2")
    page.keyboard.press("Alt+ArrowUp")
    page.wait_for_function(f"() => {places}[1] === {first[0]!r}")
    page.wait_for_function("() => document.activeElement.id === 'up-1'")
    settled(page)
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => {places}[0] === {first[0]!r}")
    assert page.evaluate(places) == first
    settled(page)
    page.select_option("#step", "rare")
    page.fill("#amount", "5")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=rare 5")
    settled(page)
    assert violations(page, axe) == []
    assert page.evaluate(WIDE) == []


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_a_large_table_shows_a_preview_and_a_table_made_elsewhere_is_assessed(
    watched, start, axe, tmp_path, width, scheme
):
    table = patients(20_500).select("age", "income", "height")
    table.write_parquet(tmp_path / "people.parquet")
    studio = start("people.parquet")
    page = watched(studio, width=width, scheme=scheme)
    page.goto(studio.link)
    page.wait_for_selector("table.columns", timeout=60_000)
    while page.locator("text=All of them quasi").count():
        page.click("text=All of them quasi")
        page.wait_for_selector("#next")
    page.goto(f"{studio.address}/protect")
    page.check("#effort-fast", force=True)
    page.wait_for_selector("text=preview with its interval", timeout=120_000)
    page.wait_for_selector("#curves:not([hx-get])", timeout=240_000)
    settled(page)
    assert page.evaluate(WIDE) == []
    assert violations(page, axe) == []
    picture(page, f"preview-{width}")
    page.goto(f"{studio.address}/check")
    page.fill("#released", str(tmp_path / "people.parquet"))
    page.fill("#check-quasi", "age")
    page.click("#check-go")
    page.wait_for_selector("#checked table", timeout=60_000)
    settled(page)
    assert page.evaluate(WIDE) == []
    assert violations(page, axe) == []
    picture(page, f"check-{width}")


def test_at_most_ten_clicks_from_a_file_to_its_report(watched, start, tmp_path):
    patients(200).write_csv(tmp_path / "people.csv")
    studio = start()
    page = watched(studio)
    clicks = []

    def click(selector):
        clicks.append(selector)
        page.click(selector)

    page.goto(studio.link)
    click("text=people.csv")
    click("#open-this")
    page.wait_for_selector("table.columns", timeout=60_000)
    click("#next")
    page.wait_for_selector("#controls")
    click("#next")
    page.wait_for_url("**/look", timeout=120_000)
    while page.locator("#points form").count():
        count = page.locator("#points form").count()
        page.locator("#points form input").first.fill("seen")
        click("#points form button >> nth=0")
        while page.locator("#points form").count() >= count:
            page.wait_for_timeout(50)
    click("#next")
    page.wait_for_selector("#write")
    click("#write")
    page.wait_for_selector("#written .notice.good", timeout=60_000)
    assert len(clicks) <= 10, clicks
    assert (tmp_path / "people-protected.report.html").is_file()
    report = page.locator("#written a").first.get_attribute("href")
    assert page.request.get(studio.address + report).ok


def settled(page):
    """Wait until new parts of the page answer: the script attaches their actions shortly after they are shown."""
    page.wait_for_function(
        "() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added')"
    )


def tab_to(page, find):
    """Press Tab until the element that has the focus, ``focus``, satisfies an expression of JavaScript."""
    for _ in range(200):
        if page.evaluate(f"(focus => Boolean({find}))(document.activeElement)"):
            settled(page)
            return
        page.keyboard.press("Tab")
    raise AssertionError(find)


def test_the_whole_job_with_keys_only(watched, start, tmp_path):
    patients(120).write_csv(tmp_path / "people.csv")
    studio = start("people.csv")
    page = watched(studio)
    page.goto(studio.link)
    page.wait_for_selector("table.columns", timeout=60_000)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"

    tab_to(page, "focus.id == 'role-9-quasi'")
    settled(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#undo:not([disabled])")
    assert page.evaluate("document.activeElement.id") == "role-9-confidential", "focus stays after the answer"
    page.locator("main").focus()
    settled(page)
    page.keyboard.press("Control+z")
    page.wait_for_selector("#role-9-quasi:checked")
    page.wait_for_selector("#redo:not([disabled])")
    page.wait_for_load_state()
    page.locator("main").focus()
    settled(page)
    page.keyboard.press("Control+Shift+Z")
    page.wait_for_selector("#role-9-confidential:checked")
    page.wait_for_load_state()
    tab_to(page, "focus.id == 'open-3'")
    settled(page)
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel-head")
    assert page.evaluate("document.activeElement.id") == "panel-head"
    settled(page)
    page.keyboard.press("]")
    page.wait_for_selector("#panel-head >> text=education")
    settled(page)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "open-4"
    settled(page)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.locator("main").focus()
    settled(page)
    page.keyboard.press("g")
    page.keyboard.press("3")
    page.wait_for_selector("#k")
    tab_to(page, "focus.id == 'k'")
    settled(page)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector("#plan >> text=k = 6 rows")
    page.locator("main").focus()
    page.evaluate("document.getElementById('next').focus()")
    settled(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/look", timeout=120_000)


def test_open_look_compare_history_and_hand_out_with_keys_only(watched, start, tmp_path):
    (tmp_path / "tables").mkdir()
    patients(200).write_csv(tmp_path / "tables" / "people.csv")
    studio = start()
    page = watched(studio)
    page.goto(studio.link)
    keys = page.keyboard
    tab_to(page, "focus.textContent == 'tables' && focus.closest('#files')")
    keys.press("Enter")
    page.wait_for_selector("#files >> text=people.csv")
    tab_to(page, "focus.textContent == 'people.csv' && focus.closest('#files')")
    keys.press("Enter")
    page.wait_for_selector("#open-this")
    tab_to(page, "focus.id == 'open-this'")
    keys.press("Enter")
    page.wait_for_selector("table.columns", timeout=60_000)
    tab_to(page, "focus.id == 'next'")
    keys.press("Enter")
    page.wait_for_selector("#k")
    tab_to(page, "focus.id == 'k'")
    keys.press("ArrowUp")
    keys.press("Enter")
    page.wait_for_selector("#plan >> text=k = 6 rows")
    page.locator("main").focus()
    tab_to(page, "focus.id == 'next'")
    keys.press("Enter")
    page.wait_for_url("**/look", timeout=120_000)

    page.wait_for_selector("#points")
    while count := page.locator("#points form").count():
        tab_to(page, "focus.name == 'reason'")
        keys.type("seen")
        keys.press("Enter")
        page.wait_for_function("count => document.querySelectorAll('#points form').length < count", arg=count)
    tab_to(page, "focus.id == 'pin'")
    keys.press("Enter")
    page.wait_for_selector("#pin >> text=Unpin")

    page.locator("main").focus()
    settled(page)
    keys.press("g")
    keys.press("c")
    page.wait_for_selector("table.pins")
    tab_to(page, "focus.textContent.startsWith('Unpin A')")
    page.locator("main").focus()
    settled(page)
    keys.press("g")
    keys.press("h")
    page.wait_for_selector("ol.steps")
    tab_to(page, "focus.id == 'step-name'")
    keys.type("candidate")
    keys.press("Tab")
    page.wait_for_selector("ol.steps >> text=candidate")
    tab_to(page, "focus.matches('ol.steps a') && !focus.hasAttribute('aria-current')")
    keys.press("Enter")
    page.wait_for_selector("#goto")
    tab_to(page, "focus.id == 'step-note'")
    keys.type("before anything was decided")
    keys.press("Tab")
    page.wait_for_selector("ol.steps >> text=before anything was decided")
    tab_to(page, "focus.id == 'goto'")
    keys.press("Enter")
    page.wait_for_selector("#plan >> text=k = 5 rows")
    page.wait_for_selector("#redo:not([disabled])")
    page.locator("main").focus()
    settled(page)
    keys.press("Control+Shift+Z")
    page.wait_for_selector("#plan >> text=k = 6 rows")

    page.locator("main").focus()
    settled(page)
    keys.press("g")
    keys.press("6")
    page.wait_for_selector("#write")
    tab_to(page, "focus.name == 'decision'")
    keys.press("Space")
    tab_to(page, "focus.id == 'signer'")
    keys.type("A. Steward")
    tab_to(page, "focus.id == 'write'")
    keys.press("Enter")
    page.wait_for_selector("#written .notice.good", timeout=60_000)
    assert (tmp_path / "tables" / "people-protected.report.html").is_file()
    tab_to(page, "focus.closest('#written') && focus.matches('a')")


def test_a_million_rows_leave_the_pages_fast_and_cancel_leaves_nothing(watched, start, tmp_path):
    rows = 1_000_000
    table = pl.DataFrame({"age": pl.int_range(rows, eager=True) % 83, "income": pl.int_range(rows, eager=True) % 9973,
                          "height": (pl.int_range(rows, eager=True) * 7919) % 611})  # fmt: skip
    table.write_parquet(tmp_path / "people.parquet")
    studio = start("people.parquet")
    page = watched(studio)
    page.goto(studio.link)
    page.wait_for_selector("table.columns", timeout=120_000)
    while page.locator("text=All of them quasi").count():
        page.click("text=All of them quasi")
        page.wait_for_selector("#next")
    before = {path.name for path in tmp_path.iterdir()}
    page.goto(f"{studio.address}/protect")
    page.click("#next")
    page.wait_for_selector("#cancel", timeout=60_000)
    page.wait_for_selector("table.stages", timeout=60_000)
    asked = ("/columns", "/protect", "/history", "/run/state")
    answers = [page.evaluate("async where => (await fetch(where)).status", screen) for screen in asked]
    assert answers == [200] * 4, "the server answers while the worker runs"
    workers = _workers(studio.process.pid)
    assert len(workers) == 1
    page.click("#cancel")
    page.wait_for_selector("text=nothing was written")
    assert _workers(studio.process.pid) == []
    assert {path.name for path in tmp_path.iterdir()} == before


def _workers(parent):
    children = Path(f"/proc/{parent}/task/{parent}/children")
    return children.read_text().split() if children.exists() else []


def test_a_killed_server_loses_no_step(watched, start, tmp_path):
    patients(60).write_csv(tmp_path / "people.csv")
    studio = start("people.csv")
    page = watched(studio)
    page.goto(studio.link)
    page.wait_for_selector("table.columns", timeout=60_000)
    page.check("#role-9-confidential", force=True)
    page.wait_for_selector("#tools #undo:not([disabled])")
    page.goto("about:blank")
    studio.end(kill=True)
    again = start()
    second = watched(again)
    second.goto(again.link)
    second.wait_for_selector("#role-9-confidential:checked", timeout=60_000)
    second.goto(f"{again.address}/history")
    assert second.locator(".steps li").count() == 2
