"""What scripts measured, kept beside the pages that show it, and the tables that they show.

A run of some cells renews these cells only. A table stands between ``<!-- generated: name -->`` and ``<!-- end -->``.
"""

import json


def kept(file):
    """All results of a file; none if there is none yet."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def keep(file, key, found):
    """Write one result, beside those that other runs may have written meanwhile; floats to six digits."""
    results = kept(file)
    results[key] = {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in found.items()}
    file.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def write_tables(page, tables):
    """Put lines between the marks of each name."""
    text = page.read_text(encoding="utf-8")
    for name, lines in tables.items():
        begin, end = f"<!-- generated: {name} -->", "<!-- end -->"
        before, rest = text.split(begin, 1)
        text = "\n".join([before + begin, "", *lines, "", end]) + rest.split(end, 1)[1]
    page.write_text(text, encoding="utf-8")


def shown(page, name):
    """The lines of a page between the marks of a name."""
    text = page.read_text(encoding="utf-8").split(f"<!-- generated: {name} -->\n\n", 1)[1]
    return text.split("\n\n<!-- end -->", 1)[0]
