"""The figure of a comparison: every mark drawn, nothing covered, the same in SVG, PNG and HTML."""

import re
import struct
import sys
from contextlib import redirect_stdout
from io import StringIO
from unittest import mock

import pytest

import shoal
from pages import checked, words
from shoal.api.combinations import Combination, Comparison
from shoal.cli.application import main
from shoal.errors import ParameterError
from shoal.report.comparison import comparison_figure


def combination(name, k, loss, risk):
    figures = {"information_loss": loss, "record_linkage": risk}
    interval = {"record_linkage_low": risk / 2, "record_linkage_high": risk * 1.2}
    return Combination(name, k, **figures, **interval, efficient=k == 3)


def made(*points):
    return Comparison(tuple(combination(*point) for point in points), 100)


MANY = made(*((f"method {m}", k, 0.01 * m + 0.002 * k, 1 / k + 0.01 * m) for m in range(9) for k in (3, 5, 10)))


def test_every_combination_has_a_mark_with_a_shape_and_a_filling():
    picture = str(comparison_figure(MANY))
    assert picture.count("<polyline") == 9
    assert picture.count('class="hollow"') == 18  # two of three levels are not efficient
    assert len(re.findall(r'stroke-width="1.75"', picture)) == 27 + 9


def test_labels_cover_neither_marks_nor_each_other():
    picture = str(comparison_figure(MANY))
    labels = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="soft halo">([^<]+)<', picture)
    boxes = [(float(x), float(y) - 10, float(x) + 6.6 * len(text), float(y) + 3) for x, y, text in labels]
    assert len(boxes) >= 9
    for position, one in enumerate(boxes):
        for other in boxes[:position]:
            assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]


def test_the_page_is_strict_and_has_every_figure():
    root = checked(MANY.html())
    text = words(root)
    assert all(cell in text for row in MANY.rows() for cell in row)
    assert "<style" not in re.sub(r"<head>.*</head>", "", MANY.html(), flags=re.DOTALL)


def test_failed_combinations_are_listed_and_not_drawn():
    failed = Combination("mdav", 500, reason="k=500 needs at least 500 records")
    comparison = Comparison((*MANY.combinations[:1], failed), 100)
    assert "mdav k=500: k=500 needs at least 500 records." in words(checked(comparison.html()))
    assert str(comparison_figure(comparison)).count("<polyline") == 1
    assert "no combination succeeded" in str(comparison_figure(Comparison((failed,), 100)))


def test_a_png_is_twice_as_large_as_the_drawing_and_always_the_same(tmp_path):
    pytest.importorskip("resvg_py", reason="resvg-py is not installed: pip install 'shoal[png]'")
    path = tmp_path / "c.png"
    MANY.write(path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert (width, height) == (1280, 2 * (404 + 22 * 4))
    assert MANY.png() == content


def test_a_png_without_the_library_raises_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    monkeypatch.setattr("shoal.report.comparison.find_spec", lambda _: None)
    with pytest.raises(ParameterError, match=r"shoal\[png\]"):
        MANY.write(tmp_path / "c.png", tmp_path / "c.csv")
    assert not (tmp_path / "c.csv").exists()


def test_commands_write_both_reports_and_the_figure(tmp_path):
    pytest.importorskip("resvg_py", reason="resvg-py is not installed: pip install 'shoal[png]'")
    people = tmp_path / "people.csv"
    shoal.datasets.patients(60).write_csv(people)
    columns = ["--quasi", "age,income", "--unnamed", "other", "--quiet"]
    lines = [
        ["protect", people, "-k", 5, *columns, "--identifiers", "name", "--method", "mdav", "-o", tmp_path / "s.csv",
         "--report", tmp_path / "r.html", "--public-report", tmp_path / "p.html"],
        ["compare", people, "-k", "3", "--methods", "mdav", *columns, "--png", tmp_path / "c.png"],
    ]  # fmt: skip
    for line in lines:
        with mock.patch.object(sys, "argv", ["shoal", *map(str, line)]), redirect_stdout(StringIO()):
            try:
                main()
            except SystemExit as stop:
                assert not stop.code  # noqa: PT017 - the command says so itself
    assert "full report for internal use" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "public report" in (tmp_path / "p.html").read_text(encoding="utf-8")
    assert (tmp_path / "c.png").stat().st_size > 5000
