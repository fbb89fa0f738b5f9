"""Put the pages of the root (changelog, security, contributing) on the site; mkdocs calls ``on_files`` as a hook."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {"changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md", "contributing.md": "CONTRIBUTING.md"}
"""Page of the site: file of the root."""


def text_of(source):
    """Return the text of a file of the root with links as they are below ``docs``."""
    text = (ROOT / source).read_text(encoding="utf-8")
    for page, file in PAGES.items():
        text = text.replace(f"]({file}", f"]({page}")
    return re.sub(r"\]\(docs/", "](", text)


def on_files(files, config):
    """Add the pages to those of the site."""
    from mkdocs.structure.files import File

    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=text_of(source)))
    return files
