"""The tables of the page on differential privacy are current, and its examples run."""

import importlib.util
import re
from pathlib import Path

from shoal import datasets

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "differential-privacy.md").read_text(encoding="utf-8")


def test_the_tables_are_up_to_date():
    spec = importlib.util.spec_from_file_location("differential_privacy", DOCS / "differential_privacy.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.page(TEXT) == TEXT, "run: python docs/differential_privacy.py"


def test_the_python_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    datasets.patients(500).write_csv("people.csv")
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        exec(compile(example, "differential-privacy.md", "exec"), {})
    assert (tmp_path / "private-again.manifest.json").exists()
