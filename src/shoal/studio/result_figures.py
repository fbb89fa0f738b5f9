"""A release as plain values for the screen Look: verdict, figures, findings and the pictures of the report."""

from __future__ import annotations

from typing import Any


def result_figures(release: Any) -> dict[str, Any]:
    """Return what the studio shows of a release; no value of a single record."""
    from shoal.report.contents import page_contents

    contents = page_contents(release.released, release._paired_original(), public=False)  # noqa: SLF001 - one holder
    manifest, evidence = contents["manifest"], contents["evidence"]
    sizes = contents["sizes"]
    return {
        "k": {"requested": manifest["k"]["requested"], "achieved": manifest["k"]["achieved"], "of": contents["of"]},
        "requirements": contents["requirements"],
        "summary": contents["summary"],
        "known_counts": [{**one, "columns": list(one["columns"])} for one in contents["known_counts"]],
        "n_rows": manifest["input"]["records"],
        "loss": release.loss.information_loss,
        "gap": release.loss.gap,
        "columns": [
            {
                "name": column.name,
                "kind": str(column.kind),
                "replaced_by": contents["replaced_by"][column.name],
                "loss": release.loss.columns[column.name].information_loss,
                "weight": column.weight,
            }
            for column in contents["quasi"]
        ],
        "heavy": contents["heavy"],
        "groups": {"count": manifest["groups"]["count"], "smallest": int(sizes.min()), "largest": int(sizes.max())},
        "highest": _highest(contents),
        "highest_before": None if evidence.before is None else evidence.before.prosecutor.highest,
        "average": evidence.after.prosecutor.average,
        "linkages": [{name: _plain(value) for name, value in one.items()} for one in contents["linkages"]],
        "linkage": _linkage(evidence),
        "risks": [{name: _plain(value) for name, value in one.items()} for one in contents["risks"]],
        "person_risks": [{name: _plain(value) for name, value in one.items()} for one in contents["person_risks"]],
        "decide": [
            {"text": one.text, "advice": one.advice, "ways": _ways(release, one)} for one in contents["decide"]
        ],
        "information": [{"text": one.text, "advice": one.advice} for one in contents["information"]],
        "methods": [
            {name: one[name] for name in ("name", "title", "reason") if name in one} for one in contents["methods"]
        ],
        "notes": list(evidence.notes),
        "size_figure": str(contents["size_figure"]),
        "distributions": [_distribution(one) for one in contents["distributions"]],
        "associations": [
            {
                "title": one["title"], "meaning": one["meaning"],
                "figures": [{"title": panel["title"], "figure": str(panel["figure"])} for panel in one["panels"]],
            }
            for one in contents["associations"]
        ],
        "attribute": _attribute(evidence),
        "patterns": _patterns(release),
        "statistics": [_statistic(one, contents["min_records"]) for one in evidence.statistics],
        "fingerprint": contents["short_fingerprint"],
    }  # fmt: skip


def _ways(release: Any, finding: Any) -> list[dict[str, str]]:
    """Return the changes of the plan that one click can make about a finding: what is changed, and for which column."""
    ways = []
    for remark in release.released.remarks:
        if remark.column is not None and remark.text[1:] in finding.text:
            change = {"heavy-loss": "weight", "lost-category": "frequencies"}.get(remark.code)
            ways += [{"change": change, "column": remark.column}] if change else []
    advice = finding.advice
    ways += [{"change": "l", "column": ""}] if advice.startswith("Request l-diversity") else []
    ways += [{"change": "t", "column": ""}] if advice.startswith("Request t-closeness") else []
    return ways


def _plain(value: Any) -> Any:
    return float(value) if hasattr(value, "item") else value


def _highest(contents: dict[str, Any]) -> float:
    persons = contents["persons"]
    if persons is not None and contents["by_persons"]:
        return float(persons.risk.highest)
    return float(contents["after"].prosecutor.highest)


def _linkage(evidence: Any) -> dict[str, float] | None:
    if evidence.attacks is None:
        return None
    success = evidence.attacks.record_linkage.success
    return {"value": success.value, "low": success.low, "high": success.high}


def _distribution(drawn: dict[str, Any]) -> dict[str, Any]:
    bins = drawn["distribution"].bins
    return {
        "name": drawn["column"].name,
        "loss": drawn["loss"],
        "figure": str(drawn["figure"]),
        "largest": drawn["largest"],
        "bins": [{"name": each.name, "before": each.before, "after": each.after} for each in bins],
        "missing": drawn["distribution"].missing,
    }


def _patterns(release: Any) -> dict[str, Any]:
    """Return the riskiest patterns; none where the table is too large for a report's attacks."""
    from shoal.api.risk_patterns import LEAST_ROWS, risk_patterns

    everyone, found = risk_patterns(release)
    return {
        "everyone": everyone, "least": LEAST_ROWS,
        "found": [
            {"text": ", ".join(f"{name} {value}" for name, value in one.parts), "rows": one.rows,
             "linked": one.linked, "low": one.low, "high": one.high}
            for one in found
        ],
    }  # fmt: skip


def _statistic(compared: Any, least: int) -> dict[str, Any]:
    """Return a statistic before and after; figures of domains of fewer rows than ``least`` stay out."""
    statistic = compared.statistic
    shown = [
        one
        for one in compared.figures
        if one.records is not None and one.records >= least and one.before is not None and one.after is not None
    ]
    return {
        "sentence": compared.sentence(), "relative": statistic.relative, "tolerance": statistic.tolerance,
        "hidden": len(compared.figures) - len(shown),
        "figures": [
            {"domain": ", ".join(one.domain), "before": one.before, "after": one.after, "change": one.change}
            for one in shown
        ],
    }  # fmt: skip


def _attribute(evidence: Any) -> list[dict[str, Any]]:
    attacks = evidence.attacks
    found = [] if attacks is None else list(attacks.attributes)
    return [
        {"target": one.target, "baseline": one.baseline.value, "after": one.success.value}
        for one in found
    ]  # fmt: skip
