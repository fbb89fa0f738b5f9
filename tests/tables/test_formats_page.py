"""The page of formats lists what Shoal reads and writes."""

import importlib.util
import sys
from pathlib import Path

from shoal.tables.files import _FORMATS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_formats_is_the_one_that_the_script_writes(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    spec = importlib.util.spec_from_file_location("file_formats", DOCS / "file_formats.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    lines = script.tables()["formats"]
    assert "\n".join(lines) in (DOCS / "files.md").read_text(encoding="utf-8")
    assert all(any(f"`{extension}`" in line for line in lines) for extension in _FORMATS)
    sys.modules.pop("kept", None)
