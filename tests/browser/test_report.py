"""Reports and comparisons in Chromium: on a screen, a phone and paper, light and dark."""

import polars as pl
import pytest

import shoal
from shoal.datasets import EDUCATION_ORDER, patients, stays

pytestmark = pytest.mark.browser
WIDTHS = {"phone": 390, "desktop": 1280}
QUASI = ["age", "sex", "region", "education", "income", "admitted"]
LUMINANCE = """
const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
const luminance = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255;
  return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    people = patients(150, missing=0.05)
    settings = {"quasi": QUASI, "confidential": ["diagnosis"], "identifiers": ["name"], "missing": "by-pattern"}
    settings |= {"unnamed": "other"}
    release = shoal.protect(people, 4, orders={"education": EDUCATION_ORDER}, method="mdav", **settings)
    release.report(folder / "full.html")
    release.report(folder / "public.html", public=True)
    table = stays(120).with_columns(home=pl.col("patient_id").rank("dense") // 2)
    several = {"quasi": ["sex", "birth_year", "days"], "confidential": ["diagnosis"], "unit": "patient_id"}
    shoal.protect(
        table, 4, **several, household="home", unnamed="other", method="mdav", l=2, max_share=0.4, accept_relinking=True
    ).report(folder / "persons.html")
    long = "a column with a very long name " * 4
    unbroken = "x" * 90
    strange = pl.DataFrame({long: range(60), unbroken: ["א" * 70, "🐟", "<b>c</b>"] * 20, "third": range(60)})
    shoal.protect(strange, 3, quasi=strange.columns, method="mdav").report(folder / "strange.html")
    shoal.compare(
        people.drop_nulls(), k=[3, 5], methods=["mdav", "mondrian-v"], quasi=["age", "income"], unnamed="other"
    ).write(folder / "compared.html", folder / "compared.svg")
    return folder


@pytest.fixture
def opened(browser, pages):
    """Return a function that opens a page; afterwards the console is empty and no other file was requested."""
    contexts, messages, requested = [], [], []

    def open_page(name, *, width="desktop", scheme="light", **options):
        context = browser.new_context(
            viewport={"width": WIDTHS[width], "height": 900}, color_scheme=scheme, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requested.append(request.url))
        page.goto((pages / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert messages == []
    assert all(url.startswith(pages.as_uri()) for url in requested)
    assert len(requested) == len(contexts), "a page is one file"


ALL = ["full.html", "public.html", "strange.html", "compared.html", "persons.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ALL)
def test_nothing_is_wider_than_the_screen_and_every_figure_is_drawn(opened, name, width, scheme):
    page = opened(name, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    beyond = page.evaluate(
        """() => [...document.querySelectorAll('main *')].filter(one => !one.closest('.scroll, svg')
          && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(one => one.outerHTML)"""
    )
    assert beyond == []
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('svg')].filter(one => one.checkVisibility()).map(one => {
          const box = one.getBoundingClientRect(), inner = one.getBBox();
          return [box.width, box.height, inner.width, inner.height]; })"""
    )
    assert boxes
    assert all(width > 0 and height > 0 for width, height, *_ in boxes)
    figures = page.locator("svg.figure")
    assert figures.count() >= 1
    for one in figures.all():
        box = one.bounding_box()
        assert box["width"] > 150
        assert box["height"] > 60


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ALL)
def test_every_text_can_be_read(opened, name, scheme):
    page = opened(name, scheme=scheme)
    weak = page.evaluate(
        "() => {"
        + LUMINANCE
        + """
        const behind = one => { for (let at = one; at; at = at.parentElement) {
          const colour = parse(getComputedStyle(at).backgroundColor);
          if (colour.length === 3 || colour[3] > 0) return colour; } return [255, 255, 255]; };
        const found = [];
        for (const one of document.querySelectorAll('body *')) {
          const own = [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
          const cell = one.closest('svg') && [...one.classList].some(name => name.endsWith('-text'));
          if (!own || cell || one.matches('title, desc') || !one.checkVisibility()) continue;
          const style = getComputedStyle(one);
          const front = parse(one.closest('svg') ? style.fill : style.color);
          const [a, b] = [luminance(front), luminance(behind(one))].sort((x, y) => y - x);
          if ((a + 0.05) / (b + 0.05) < 4.5) found.push(one.outerHTML.slice(0, 200));
        } return found; }"""
    )
    assert weak == []


def test_the_style_is_allowed_and_a_script_is_not(opened):
    page = opened("full.html")
    assert page.evaluate("getComputedStyle(document.querySelector('.page')).maxWidth") != "none"
    assert page.locator("script").count() == 0
    plain = opened("full.html", java_script_enabled=False)
    assert plain.get_by_role("heading", name="Attribute disclosure").is_visible()


def test_the_keyboard_reaches_the_report_the_colours_and_the_tables(opened):
    page = opened("full.html")
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    assert skip.evaluate("one => one === document.activeElement")
    page.wait_for_function("document.querySelector('.skip').getBoundingClientRect().top >= 0")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "theme-system"
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("ArrowLeft")  # around the corner to the last one
    assert page.evaluate("document.activeElement.id") == "theme-dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.contents a')")
    summary = page.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").first.evaluate("one => one.open")
    assert page.locator("details table").first.is_visible()


def test_light_can_be_chosen_on_a_dark_system(opened):
    page = opened("full.html", scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("light", exact=True).check()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)" != dark


def test_paper_is_white_with_the_summary_and_the_signature_on_the_first_page(opened):
    page = opened("full.html", scheme="dark")
    page.get_by_label("dark", exact=True).check()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in (".theme", ".contents", "details"):
        assert not page.locator(hidden).first.is_visible()
    page.set_viewport_size({"width": 673, "height": 975})  # A4 less its margins
    assert page.locator("#signature").bounding_box()["y"] < 975
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_the_roles_that_a_screen_reader_sees(opened):
    page = opened("full.html")
    for role in ("main", "banner", "contentinfo", "navigation"):
        assert page.get_by_role(role).count() == 1
    assert page.get_by_role("img", name="Number of groups by size").count() == 1
    assert page.get_by_role("img", name="Distribution of income").count() == 1
    assert page.get_by_role("textbox", name="Name and office").count() == 1


def test_the_figure_of_a_comparison_needs_no_page(opened):
    page = opened("compared.svg")
    assert page.evaluate("document.documentElement.getBBox().width") > 400
    assert page.locator("circle").count() == 3
