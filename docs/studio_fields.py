"""Write the table of fields on the page of the studio: the words of the help beside each field.

python docs/studio_fields.py
"""

from pathlib import Path

from shoal.studio.help_texts import HELP

PAGE = Path(__file__).parent / "studio.md"
BEGIN, END = "<!-- fields: written by docs/studio_fields.py -->", "<!-- end of fields -->"
NAMES = {
    "na_values": "also missing", "address": "address of a database",
    "recode": "replaced by", "before": "steps before grouping", "of": "what k counts",
    "max_size": "largest group", "missing": "missing cells", "statistics": "statistics that must hold",
    "use": "used as", "schema": "schema file", "held_value": "mean of", "held_domains": "by columns",
    "held_relative": "largest change", "step_name": "name of a step", "step_note": "note of a step",
    "check_quasi": "quasi-identifiers of a table made elsewhere",
    "check_confidential": "confidential columns of a table made elsewhere",
    "time_limit": "time limit", "folder": "directory", "extension": "format", "released": "released table",
}  # fmt: skip


def page():
    """Return the text of the page with the table renewed."""
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    rows = "\n".join(f"| {NAMES.get(name, name)} | {words} |" for name, words in HELP.items())
    return f"{text[:start]}\n\n| field | what it means |\n|---|---|\n{rows}\n\n{text[end:]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
