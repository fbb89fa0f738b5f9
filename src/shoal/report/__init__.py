"""The report: one self-contained HTML file that opens offline, prints, and holds no value of a single record."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from shoal.methods.registry import get_method
from shoal.report.pictures import bars, columns
from shoal.schema import Role

if TYPE_CHECKING:
    from shoal.release import Release


def render_report(release: Release) -> str:
    """Return the report of a release as HTML text.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> release = shoal.protect(pl.DataFrame({"age": [30, 32, 60, 62]}), k=2, quasi=["age"])
    >>> "k = 2 was asked for" in render_report(release)
    True
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("shoal.report").joinpath("page.html.jinja").read_text(encoding="utf-8"))
    return template.render(_facts(release))


def _facts(release: Release) -> dict[str, Any]:
    manifest = release.manifest
    loss = {name: column.information for name, column in release.loss.columns.items()}
    name = str(manifest["method"]["facts"].get("chosen", manifest["method"]["name"])).partition(", ")[0]
    return {
        "manifest": manifest,
        "release": release,
        "method": get_method(name),
        "asked_method": manifest["method"]["name"],
        "quasi": release.schema.quasi,
        "dropped": release.schema.named(Role.IDENTIFIER),
        "confidential": release.schema.named(Role.CONFIDENTIAL),
        "unchanged": [name for name in release.schema.named(Role.OTHER) if name not in release.schema.within],
        "limits": {
            name: limit
            for name, limit in manifest.get("limits", {}).items()
            if isinstance(limit, dict) and "asked" in limit
        },
        "highest_risk": 1 / release.k,
        "average_risk": release.classes.sizes.size / release.grouping.n,
        "size_picture": columns(release.grouping.size_histogram(), "records in a group", "groups"),
        "loss_picture": bars(loss, "share of information lost"),
    }
