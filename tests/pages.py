"""A strict reader of web pages, shared by the tests of reports and comparisons."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import html5lib

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
HEADINGS = [f"{HTML}h{level}" for level in range(1, 7)]


def checked(text):
    """Return the tree of a page; fails on any parse error, double id, reference to nothing or skipped heading."""
    root = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), strict=True).parse(text)
    everything = [one for one in root.iter() if isinstance(one.tag, str)]
    ids = [one.attrib["id"] for one in everything if "id" in one.attrib]
    assert len(ids) == len(set(ids))
    for one in everything:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set(one.attrib.get(name, "").split()) <= set(ids), one.attrib
        target = one.attrib.get("href", "#")
        assert target.startswith("#"), "nothing is asked for from outside"
        assert target == "#" or target[1:] in ids
        assert not {"src", "srcset", "action", "style"} & set(one.attrib)
        assert not [name for name in one.attrib if name.startswith("on")]
        assert one.tag not in {f"{HTML}{name}" for name in ("script", "link", "img", "iframe", "object", "form")}
    levels = [HEADINGS.index(one.tag) + 1 for one in everything if one.tag in HEADINGS]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert root.attrib["lang"] == "en"
    _check_pictures(everything)
    _check_inputs(root, everything)
    assert not re.search(r"https?://|url\(|@import", text.replace("http://www.w3.org/2000/svg", ""))
    return root


def _check_pictures(everything):
    for one in everything:
        if one.tag == f"{SVG}svg":
            if one.attrib.get("aria-hidden") == "true":
                continue
            assert one.attrib["role"] == "img"
            texts = {child.tag: child.text for child in one}
            assert texts[f"{SVG}title"]
            assert texts[f"{SVG}desc"] is not None


def _check_inputs(root, everything):
    named = {one.attrib["for"] for one in everything if one.tag == f"{HTML}label" and "for" in one.attrib}
    wrapped = {
        id(inside)
        for label in root.iter(f"{HTML}label")
        for inside in label.iter()
        if inside.tag in {f"{HTML}input", f"{HTML}textarea"}
    }
    for one in everything:
        if one.tag in {f"{HTML}input", f"{HTML}textarea"}:
            assert id(one) in wrapped or one.attrib["id"] in named


def words(root):
    """Return the text of a page with plain spaces, without its style."""
    for style in root.iter(f"{HTML}style"):
        style.text = ""
    return re.sub(r"\s+", " ", ET.tostring(root, "unicode", "text"))
