from pathlib import Path

import pytest

from shoal.errors import FileProblem, ParameterError
from shoal.tables.files import check_report, check_targets, default_manifest_path


@pytest.mark.parametrize(
    ("table", "manifest"),
    [
        ("safe.csv", "safe.manifest.json"),
        ("safe.csv.gz", "safe.manifest.json"),
        ("out/safe.2024.parquet", "out/safe.2024.manifest.json"),
    ],
)
def test_the_manifest_is_beside_the_table(table, manifest):
    assert default_manifest_path(Path(table)) == Path(manifest)


def test_the_path_of_the_manifest_is_returned(tmp_path):
    table = tmp_path / "safe.csv"
    assert check_targets(table, None, None) == tmp_path / "safe.manifest.json"
    assert check_targets(table, tmp_path / "m.json", tmp_path / "r.html") == tmp_path / "m.json"


@pytest.mark.parametrize(
    "others",
    [
        {"manifest": "safe.csv", "report": None},
        {"manifest": None, "report": "a.html", "public_report": "a.html"},
        {"manifest": "a.html", "report": "./a.html"},
    ],
)
def test_two_outputs_in_one_file_raise_an_error(tmp_path, others):
    paths = {name: None if other is None else f"{tmp_path}/{other}" for name, other in others.items()}
    with pytest.raises(ParameterError, match="table, manifest, holder's record and reports need different files"):
        check_targets(tmp_path / "safe.csv", **paths)


@pytest.mark.parametrize("output", ["manifest", "report", "public_report"])
def test_no_output_may_be_an_input(tmp_path, output):
    source = tmp_path / "people.html"
    source.write_text("x")
    with pytest.raises(FileProblem, match="the output is the input"):
        check_targets(
            tmp_path / "safe.csv", **({"manifest": None, "report": None} | {output: source}), inputs=(source,)
        )


def test_a_report_must_be_named_like_a_web_page(tmp_path):
    check_report(tmp_path / "report.HTM")
    with pytest.raises(ParameterError, match=r"the report is a web page; call it report.html instead of report.pdf"):
        check_report(tmp_path / "report.pdf")
