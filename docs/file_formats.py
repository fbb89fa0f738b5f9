"""Write the table of formats in docs/files.md from the formats that Shoal knows. Run: python docs/file_formats.py."""

from pathlib import Path

from kept import write_tables

from shoal.tables.dialect import COMPRESSED
from shoal.tables.files import _FORMATS

PAGE = Path(__file__).parent / "files.md"
EXTRAS = {"statistics": "`stats-files`", "excel": "`excel`"}
KEPT = {
    "text": "every field of an unchanged column as it is written; delimiter, encoding, decimal comma, line ends",
    "parquet": "types, categories, nested columns that are not changed",
    "arrow": "types, categories, nested columns that are not changed",
    "excel": "numbers, dates, times to the millisecond, texts as texts; one sheet",
    "SAS transport": "variable labels, formats",
    "SAS": "variable labels, formats",
    "statistics": "variable labels, labels of values that occur, formats with width and decimals, missing marks",
}


def tables():
    """The lines of the table by its name."""
    lines = ["| format | extension | read | written | extra | what survives |", "|---|---|---|---|---|---|"]
    titles = dict.fromkeys((known.title, known.family) for known in _FORMATS.values())
    for title, family in titles:
        known = [entry for entry in _FORMATS.values() if entry.title == title]
        names = " ".join(f"`{entry.extension}`" for entry in known)
        packed = f" (also {' '.join(f'`{name}`' for name in COMPRESSED)})" if family == "text" else ""
        written = "yes" if all(entry.writable for entry in known) else "no"
        kept = KEPT.get(title, KEPT[family])
        lines.append(f"| {title} | {names}{packed} | yes | {written} | {EXTRAS.get(family, '')} | {kept} |")
    return {"formats": lines}


if __name__ == "__main__":
    write_tables(PAGE, tables())
