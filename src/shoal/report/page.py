"""The report: one self-contained HTML file that opens offline, prints, and holds no value of a single record.

There are two variants: the full report for internal use shows the original beside the release; the public report has
no statistics of the original except information loss. Neither runs a script or loads anything; a Content-Security-
Policy that allows only the style of the page enforces this in the browser.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.flow.released import Released
    from shoal.report.outside_data import OutsideData
    from shoal.report.reported_file import ReportedFile
    from shoal.tables import Table

_SPACE = "\N{NO-BREAK SPACE}"


def render_report(
    released: Released,
    original: Table | None = None,
    *,
    public: bool = False,
    title: str | None = None,
    file: ReportedFile | None = None,
    language: str = "en",
    outside: OutsideData | None = None,
) -> str:
    """Return the report of a release as HTML text.

    Parameters
    ----------
    released
        The release.
    original
        The original table; without it figures of the original and attacks are left out.
    public
        The public report: no figures of the original, no attacks, no seed, no signature.
    title, file
        The title, and the released file that the report states.
    language
        The language of the texts, ``en`` or ``de``; names from the data stay as they are.
    outside
        What is known of the population, and a control table; not used in a public report.

    Returns
    -------
    text
        The page; the same bytes for the same release. Cost O(n log n) per column.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> release = shoal.protect(pl.DataFrame({"age": [30, 32, 60, 62]}), k=2, quasi=["age"])
    >>> "Requested: k = 2 records" in render_report(release.released)
    True
    """
    from shoal.report.contents import page_contents

    contents = page_contents(released, original, public=public, title=title, file=file, outside=outside)
    return render_page("page.html.jinja", contents, language)


def render_page(template: str, contents: dict[str, Any], language: str = "en") -> str:
    """Return a page of this package filled with its contents, its style and a policy that allows nothing else."""
    style = _style()
    page: str = _environment().get_template(template).render(**contents, style=style, policy=_policy(style))
    if language == "en":
        return page
    from shoal.core.languages import translated_page

    return translated_page(page, language)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(_source)
    )
    environment.filters |= {
        "percent": _percent,
        "count": "{:,}".format,
        "gap": _gap,
        "association": _association,
        "unbroken": _unbroken,
    }
    return environment


def _source(name: str) -> str:
    return files("shoal.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _style() -> Any:
    from markupsafe import Markup

    from shoal.report.palette import stylesheet

    return Markup(stylesheet(_source("style.css")))  # noqa: S704 - our own file


def _policy(style: str) -> str:
    """Return a policy that allows the style of the page, by its hash, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _percent(share: float, digits: int = 1) -> str:
    """Return a share in percent; a share that is not zero is never printed as zero."""
    text = f"{100 * share:.{digits}f}"
    if share and not float(text):
        return f"below {10.0**-digits:.{digits}f}{_SPACE}%"
    return f"{text}{_SPACE}%"


def _gap(share: float) -> str:
    return f"{100 * share:.2g}{_SPACE}%"


def _association(value: float) -> str:
    """Return a correlation or an association; a dash where there is none."""
    return "–" if isnan(value) else f"{value:.3f}"


def _unbroken(text: str) -> Any:
    """Return text in which percentages, parameters such as k = 5 and options such as --missing are not split by lines.

    Examples
    --------
    >>> str(_unbroken("state --constant none"))
    'state <span class="option">--constant</span> none'
    """
    from markupsafe import Markup, escape

    kept = re.sub(r"(?<=\d) (?=%)|(?<=\b[kltp]) = (?=\d)", lambda space: space.group().replace(" ", _SPACE), text)
    marked = re.sub(r"(?<![\w-])--[a-z][a-z-]*", r'<span class="option">\g<0></span>', str(escape(kept)))
    return Markup(marked)  # noqa: S704 - escaped above
