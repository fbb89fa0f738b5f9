"""A published figure whose table is absent is skipped, or fails where data are required."""

from pathlib import Path

import pytest

import reference

CI = Path(__file__).parent.parent.parent / ".ci" / "run"


@pytest.mark.parametrize("directory", ["", "empty"])
def test_absent_data_fail_where_they_are_required(directory, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path) if directory else "")
    monkeypatch.delenv("SHOAL_REQUIRE_DATA", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"census\.csv"):
        reference.path("census.csv")
    monkeypatch.setenv("SHOAL_REQUIRE_DATA", "1")
    with pytest.raises(pytest.fail.Exception, match=r"census\.csv.*SHOAL_REQUIRE_DATA is 1"):
        reference.path("census.csv")


def test_continuous_integration_requires_the_data_in_all_its_sets():
    text = CI.read_text(encoding="utf-8")
    assert text.index("export SHOAL_REQUIRE_DATA=1") < text.index("pytest")
