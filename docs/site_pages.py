"""Put the pages of the root on the site, and rank its pages for the search; mkdocs calls both functions as hooks."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {"changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md", "contributing.md": "CONTRIBUTING.md"}
"""Page of the site: file of the root."""
RANKS = {
    "glossary.md": 3.0, "choosing.md": 2.0, "questions.md": 1.5, "privacy.md": 1.5, "risk-utility.md": 1.5,
    "microaggregation.md": 1.5, "measures.md": 1.2, "legal-context.md": 1.2, "commands.md": 0.5, "run-file.md": 0.5,
    "api.md": 0.5, "scope.md": 0.5, "methods/nominal-studies.md": 0.5, "changelog.md": 0.3, "reproduction.md": 0.2,
}  # fmt: skip
"""How much the results of a page count in the search, beside 1 of all others: definitions first, long tables last."""


def text_of(source):
    """Return the text of a file of the root with links as they are below ``docs``."""
    text = (ROOT / source).read_text(encoding="utf-8")
    for page, file in PAGES.items():
        text = text.replace(f"]({file}", f"]({page}")
    return re.sub(r"\]\(docs/", "](", text)


def on_page_markdown(markdown, page, config, files):
    """State how much a page counts in the search."""
    if page.file.src_uri in RANKS or page.file.src_uri.startswith("validation/"):
        page.meta.setdefault("search", {"boost": RANKS.get(page.file.src_uri, 0.5)})


def on_files(files, config):
    """Add the pages to those of the site."""
    from mkdocs.structure.files import File

    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=text_of(source)))
    return files
