"""What the page of a report is filled with: verdict, points, figures and pictures of one release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.evaluate.attacks import Attack
from shoal.methods.registry import get_method
from shoal.report.column_distributions import Spread
from shoal.report.evidence import Evidence, measured
from shoal.report.findings import HEAVY_LOSS, points_for_users, points_to_decide, points_to_know
from shoal.report.histograms import fewest_records
from shoal.report.pictures import bar, group_sizes, heat_map, histogram, two_bars
from shoal.report.relations import Relations
from shoal.schema.columns import Recode, Role

if TYPE_CHECKING:
    from shoal.api.release import Release

_REPLACED = {
    Recode.MEAN: "the mean of the group",
    Recode.MEDIAN: "the median of the group",
    Recode.MODE: "the most frequent value of the group",
    Recode.MEDOID: "the value of the record nearest to the centre of the group",
    Recode.RANGE: "the range of the group",
    Recode.MIDRANGE: "the middle of the range of the group",
    Recode.MIN: "the lowest value of the group",
    Recode.MAX: "the highest value of the group",
    Recode.SET: "the set of values of the group",
    Recode.HIERARCHY: "the closest common ancestor in a hierarchy",
    Recode.SUPPRESS: "nothing, where the records of the group differ",
    Recode.TABLES: "the value of a record that keeps frequency tables right",
}
_COMPARED = {
    "ordered": "compared by order",
    "equal": "compared as equal or different",
    "hierarchical": "compared by a hierarchy",
}
_LIMITS = {
    "l": "so many different values in every group",
    "c": "recursive (c, l)-diversity",
    "p": "p-sensitivity: so many different values in every group",
    "alpha": "the largest share of one value in a group",
    "t": "t-closeness: the distance of a group from the whole table",
    "beta": "beta-likeness: how much more frequent a value is in a group than in the table",
}


def page_contents(release: Release, *, public: bool) -> dict[str, Any]:
    """Return everything that the template of the report needs."""
    manifest = release.manifest
    evidence = measured(release, public=public)
    name = str(manifest["method"]["facts"].get("chosen", manifest["method"]["name"])).partition(", ")[0]
    decide = [] if public else points_to_decide(release, evidence)
    know = points_for_users(release) if public else points_to_know(release, evidence)
    size_picture, size_rows = group_sizes(release.grouping.size_histogram(), "sizes")
    relations = [
        _related(one, title, meaning)
        for one, title, meaning in (
            (evidence.correlation, "Correlations", "Pearson's correlation of numbers and ordered categories, −1 to 1."),
            (
                evidence.association,
                "Associations",
                (
                    "Cramér's V of any two columns, numbers cut at deciles: 0 is nothing in common, 1 that one column "
                    "tells the other. The records of a group fall into the same cells, which raises the released "
                    "figures, more so the fewer groups there are."
                ),
            ),
        )
        if one is not None
    ]
    limits = _limits(manifest)
    return {
        "title": "Report on a protected table" if public else "Protection report",
        "public": public,
        "shown": evidence.before is not None,
        "release": release,
        "manifest": manifest,
        "verdict": _verdict(public=public, points=len(decide)),
        "decide": decide,
        "know": know,
        "limits": limits,
        "evidence": evidence,
        "before": evidence.before,
        "after": evidence.after,
        "method": get_method(name),
        "asked_method": manifest["method"]["name"],
        "options": {key: value for key, value in manifest["method"]["options"].items() if not public or key != "seed"},
        "facts": {} if public else _plain_facts(manifest["method"]["facts"]),
        "quasi": release.schema.quasi,
        "replaced": _REPLACED,
        "heavy": HEAVY_LOSS,
        "compared": _COMPARED,
        "dropped": release.schema.named(Role.IDENTIFIER),
        "confidential": release.schema.named(Role.CONFIDENTIAL),
        "unchanged": [name for name in release.schema.named(Role.OTHER) if name not in release.schema.within],
        "short_fingerprint": manifest["output"]["fingerprint"].partition(":")[2][:16],
        "sizes": release.grouping.sizes,
        "size_picture": size_picture,
        "size_rows": size_rows,
        "spreads": [_drawn(one, number) for number, one in enumerate(evidence.spreads, start=1)],
        "fewest": fewest_records(release.grouping.k),
        "relations": relations,
        "risks": _risks(evidence),
        "intervals": [attack for attack in evidence.attacks if attack.name == "interval"],
        "guesses": [attack for attack in evidence.attacks if attack.name == "attribute"],
        "bar": bar,
        "two_bars": two_bars,
        "contents": _list_of_contents(
            public=public, points=bool(decide or know), relations=bool(relations), secrets=bool(evidence.secrets)
        ),
    }


def _verdict(*, public: bool, points: int) -> str:
    if public:
        return "The table was protected and recounted."
    return "The table keeps every limit that was asked for" + (", with reservations." if points else ".")


def _list_of_contents(*, public: bool, points: bool, relations: bool, secrets: bool) -> list[tuple[str, str]]:
    everything = [
        ("points", "What users should know" if public else "Points", points),
        ("decision", "Decision", not public),
        ("done", "What was done", True),
        ("groups", "Groups", True),
        ("loss", "Loss", True),
        ("distributions", "Distributions", True),
        ("relations", "Relations", relations),
        ("risk", "Risk", True),
        ("confidential", "Confidential", secrets),
        ("words", "Words", True),
        ("record", "Record", True),
    ]
    return [(anchor, text) for anchor, text, wanted in everything if wanted]


def _limits(manifest: Mapping[str, Any]) -> list[str]:
    """Return each limit beyond k as a sentence."""
    asked = manifest.get("limits", {})
    kind = {"entropy": " (entropy)", "recursive": " (recursive)"}.get(str(asked.get("l_kind")), "")
    return [
        f"{name} = {limit['asked']:g}{kind if name == 'l' else ''} was asked for and {name} = {limit['reached']:.4g} "
        f"was counted on the finished table ({_LIMITS[name]})."
        for name, limit in asked.items()
        if isinstance(limit, dict) and "asked" in limit
    ]


def _plain_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the method told in single figures and words."""
    return {
        key: f"{value:.6g}" if isinstance(value, float) else value
        for key, value in facts.items()
        if isinstance(value, int | float | str) and not isinstance(value, bool) and key != "chosen"
    }


def _drawn(one: Spread, number: int) -> dict[str, Any]:
    found = one.distribution
    shares = [share for each in found.bins for share in (each.before, each.after) if share is not None]
    title = f"Distribution of {one.column.name}"
    return {
        "column": one.column,
        "loss": one.loss,
        "distribution": found,
        "largest": max(shares, default=1.0),
        "picture": histogram(found, title, one.unit, f"spread-{number}") if found.bins and found.numeric else "",
    }


def _related(found: Relations, title: str, meaning: str) -> dict[str, Any]:
    key = title.lower()
    panels = [("released", found.after, 1.0)]
    if found.before is not None:
        panels = [("original", found.before, 1.0), *panels, ("change", found.after - found.before, 0.5)]
    return {
        "title": title,
        "meaning": meaning,
        "change": found.largest_change,
        "pairs": found.pairs(),
        "panels": [
            {
                "title": {"original": "Original", "released": "Released", "change": "Released less original"}[name],
                "picture": heat_map(matrix, found.names, f"{title}, {name}", f"{key}-{name}", full=full),
            }
            for name, matrix, full in panels
        ],
    }


def _risks(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the lines of the table of risks, each with a definition of one sentence."""
    before, after = evidence.before, evidence.after
    threshold = f"{100 * after.prosecutor.threshold:g} %"

    def line(name: str, meaning: str, figure: Any) -> dict[str, Any]:
        was = None if before is None else figure(before)
        return {"name": name, "meaning": meaning, "before": was, "after": figure(after), "interval": ""}

    found = [
        line(
            "Prosecutor, highest",
            "The chance to pick out the record that is easiest to find, for somebody who knows that a person is in the "
            "table and knows all quasi-identifiers.",
            lambda risk: risk.prosecutor.highest,
        ),
        line("Prosecutor, average", "The same on average over all records.", lambda risk: risk.prosecutor.average),
        line(
            f"Records above {threshold}",
            f"The share of records that such a person picks out with a chance above {threshold}.",
            lambda risk: risk.prosecutor.share_above,
        ),
        line(
            "Journalist, highest",
            "The chance for somebody who does not know who of a population is in the table; without sampling weights "
            "this is taken to be that of the prosecutor.",
            lambda risk: risk.journalist.highest,
        ),
        line(
            "Marketer",
            "The share of records that somebody matches correctly who wants as many as possible.",
            lambda risk: risk.marketer,
        ),
        line("Unique records", "The share of records that no other record looks like.", lambda risk: risk.unique),
    ]
    words = {
        "linkage": "The share of records linked to their person by somebody who knows all true values and takes the "
        "nearest released record.",
        "one-to-one": "The same for somebody who links all persons at once, each to a record of its own.",
    }
    names = {"linkage": "Linkage, nearest record", "one-to-one": "Linkage, one to one"}
    for attack in evidence.attacks:
        if attack.name in words:
            assert before is not None
            found.append(
                {
                    "name": names[attack.name],
                    "meaning": words[attack.name],
                    "before": before.prosecutor.average,
                    "after": attack.success.value,
                    "interval": _interval(attack),
                }
            )
    return found


def _interval(attack: Attack) -> str:
    return f"{100 * attack.success.low:.1f} to {100 * attack.success.high:.1f}"
