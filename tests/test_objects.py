"""Objects that people look at: a repr of a few lines, HTML for notebooks, and tables in the library of the user."""

import polars as pl
import pytest

import shoal


@pytest.fixture(scope="module")
def release():
    people = shoal.datasets.patients(80)
    return shoal.protect(
        people,
        4,
        quasi=["age", "sex", "income"],
        confidential=["diagnosis"],
        identifiers=["name"],
        method="mdav",
        unnamed="other",
    )


@pytest.fixture(scope="module")
def objects(release):
    people = shoal.datasets.patients(80)
    quasi, confidential = ["age", "income"], ["diagnosis"]
    return {
        "release": release,
        "loss": release.loss,
        "grouping": release.grouping,
        "schema": release.schema,
        "assessment": shoal.assess(people, quasi=quasi, confidential=confidential, unnamed="other"),
        "comparison": shoal.compare(
            people, [3], methods=["mdav"], quasi=quasi, confidential=confidential, unnamed="other"
        ),
        "risk": release.risk,
        "utility": release.utility,
    }


NAMES = ["release", "loss", "grouping", "schema", "assessment", "comparison", "risk", "utility"]


@pytest.mark.parametrize("name", NAMES)
def test_reprs_are_short_and_hold_no_names_of_persons(objects, name):
    text = repr(objects[name])
    assert text.startswith("<")
    assert len(text.splitlines()) <= 6
    assert "Ada" not in text


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_show_a_table(objects, name):
    html = objects[name]._repr_html_()
    assert "<table" in html
    assert html.count("<table") == html.count("</table>")


def test_the_comparison_shows_its_figure_in_notebooks(objects):
    assert "<svg" in objects["comparison"]._repr_html_()


@pytest.mark.parametrize("name", ["assessment", "comparison", "risk", "utility", "schema"])
def test_results_are_also_tables(objects, name):
    assert isinstance(objects[name].table(), pl.DataFrame)
    assert objects[name].table().height


def test_the_loss_is_a_table_in_the_library_of_the_user(release):
    table = release.loss_table()
    assert table["column"].to_list() == ["age", "sex", "income"]
    assert table["information_loss"].to_list() == [c.information_loss for c in release.loss.columns.values()]


def test_names_of_columns_are_escaped_in_html():
    people = pl.DataFrame({"<b>age</b>": [30, 31, 60, 61]})
    release = shoal.protect(people, 2, quasi=["<b>age</b>"], method="mdav")
    assert "<b>age</b>" not in release._repr_html_() + release.loss._repr_html_() + release.schema._repr_html_()
