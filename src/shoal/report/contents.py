"""The contents of the page of a report: summary, findings, tables and figures of one release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import ParameterError
from shoal.evaluate.attacks import Attack
from shoal.flow.released import Released
from shoal.flow.released_steps import step_sentences
from shoal.flow.remarks import HEAVY_LOSS
from shoal.methods.registry import get_method
from shoal.report.associations import AssociationMatrix
from shoal.report.column_distributions import ColumnDistribution, smallest_bar
from shoal.report.evidence import Evidence, measure_evidence
from shoal.report.figures import bar, group_sizes, heat_map, histogram, two_bars
from shoal.report.findings import applied_recodes, findings_for_information, findings_to_decide, public_findings
from shoal.report.histograms import min_bar_records
from shoal.report.outside_data import OutsideData, criterion_rows
from shoal.report.persons_table import person_rows
from shoal.report.reported_file import ReportedFile, report_date
from shoal.schema.columns import Missing, Recode, Role
from shoal.schema.requirements import Of
from shoal.tables import Table

_REPLACED_BY = {
    Recode.MEAN: "the mean of the group",
    Recode.MEDIAN: "the median of the group",
    Recode.MODE: "the most frequent value of the group",
    Recode.MEDOID: "the value of the record nearest to the centre of the group",
    Recode.RANGE: "the range of the group",
    Recode.MIDRANGE: "the middle of the range of the group",
    Recode.MIN: "the minimum of the group",
    Recode.MAX: "the maximum of the group",
    Recode.SET: "the set of values of the group",
    Recode.HIERARCHY: "the closest common ancestor in a hierarchy",
    Recode.SUPPRESS: "a missing value where the records of the group differ",
    Recode.FREQUENCIES: "the value of a record, selected such that frequency tables are kept",
}
_MISSING = {
    Missing.FILL: (
        "Records were grouped by their known cells; a missing cell got the representative of the known cells of its "
        "group."
    ),
    Missing.SUPPRESS: (
        "Records were grouped by their known cells; a column with known and missing cells in a group was emptied in "
        "that group."
    ),
    Missing.BY_PATTERN: (
        "Records were grouped only with records that have the same missingness pattern; missing values stay missing."
    ),
    Missing.CATEGORY: "A missing value was treated as a category of its own.",
}
_DISTANCES = {
    "ordered": "ordered values",
    "equal": "unordered values",
    "hierarchical": "values in a hierarchy",
}
_REQUIREMENTS = {
    "l": "l-diversity: different values in each equivalence class",
    "c": "recursive (c, l)-diversity",
    "p": "p-sensitivity: different values in each equivalence class",
    "alpha": "(alpha, k)-anonymity: largest share of one value in an equivalence class",
    "t": "t-closeness: largest distance of an equivalence class to the table, 0 to 1",
    "beta": "beta-likeness: largest relative increase of the frequency of a value",
    "delta": "delta-disclosure: largest logarithmic change of the frequency of a value",
    "max_share": "largest share of one person in the rows of an equivalence class",
}
_CORRELATION = (
    "Pearson's correlation of numbers and ordered categories, −1 to 1; each pair over the records in which both are "
    "known."
)
_GIVEN = {
    "sampling weights": "given the sampling weights",
    "size of the population": "by a model of the population of which only the size is known",
    "population table": "counted in a table of the population",
}
_ASSOCIATION = (
    "Cramér's V of any two columns, numbers cut at the deciles of the released values. 0: no association; 1: one "
    "column determines the other. The records of a group fall into the same cells, which raises the released figures, "
    "the more the fewer groups there are."
)


def page_contents(
    released: Released,
    original: Table | None,
    *,
    public: bool,
    title: str | None = None,
    file: ReportedFile | None = None,
    outside: OutsideData | None = None,
) -> dict[str, Any]:
    """Return all values that the template of the report reads."""
    manifest, schema = released.manifest, released.schema
    evidence = measure_evidence(released, None if public else original, outside=None if public else outside)
    decide = [] if public else findings_to_decide(released, evidence)
    information = public_findings(released) if public else findings_for_information(released, evidence)
    size_figure, size_rows = group_sizes(released.grouping.size_histogram(), "sizes")
    contents = {
        "title": title or ("Report on a protected table" if public else "Protection report"),
        "file": file,
        "date": report_date(),
        "public": public,
        "shown": evidence.before is not None,
        "released": released,
        "manifest": manifest,
        "loss_shown": _stated_loss(manifest["loss"]) if public else released.loss,
        "summary": _summary(public=public, findings=len(decide)),
        "decide": decide,
        "information": information,
        "requirements": _requirements(manifest),
        "known_counts": _known_counts(released),
        "of": "persons with equal histories" if released.plan.of == Of.HISTORIES else released.plan.of.noun,
        "n_persons": manifest["input"].get("persons"),
        "n_households": manifest["input"].get("households"),
        "k_rows": manifest["k"].get("rows"),
        "by_persons": schema.unit is not None,
        "persons": None if public else evidence.persons_after,
        "person_risks": [] if public else _person_risks(evidence),
        "evidence": evidence,
        "before": evidence.before,
        "after": evidence.after,
        "methods": _methods(manifest),
        "method_sentences": _method_sentences(_methods(manifest)),
        "requested_method": manifest["method"]["requested"]["name"],
        "scope": "" if released.outcome.objective is None else released.outcome.objective.scope,
        "diagnostics": {} if public else _plain_diagnostics(manifest["method"]["diagnostics"]),
        "missing_steps": _missing_steps(released),
        "step_sentences": step_sentences(manifest, public=public),
        "decimals": _decimals(manifest["schema"]["decimals"]),
        "sums": _SUMS[manifest["schema"]["sums"]],
        "moments": None if public else released.moments,
        "quasi": schema.quasi,
        "replaced_by": {name: _REPLACED_BY[recode] for name, recode in applied_recodes(released).items()},
        "heavy": HEAVY_LOSS,
        "distances": _DISTANCES,
        "dropped": [name for name in schema.named(Role.IDENTIFIER) if name not in schema.coded],
        "confidential": schema.named(Role.CONFIDENTIAL),
        "unchanged": [name for name in schema.named(Role.OTHER) if name not in schema.strata],
        "short_fingerprint": _short_fingerprint(manifest, file),
        "sizes": released.grouping.sizes,
        "size_figure": size_figure,
        "size_rows": size_rows,
        "person_rows": person_rows(released, public=public),
        "distributions": [
            _drawn(entry, number, manifest["loss"]["columns"] if public else None)
            for number, entry in enumerate(evidence.distributions, start=1)
        ],
        "min_records": smallest_bar(released),
        "min_persons": None if schema.unit is None else min_bar_records(released.plan.requirements.k),
        "associations": _associations(evidence),
        "risks": _risks(evidence),
        "linkages": _linkages(evidence),
        "criteria": [] if evidence.attacks is None else criterion_rows(evidence.attacks.controlled),
        "bar": bar,
        "two_bars": two_bars,
    }
    return contents | {"sections": _sections(contents)}


def _short_fingerprint(manifest: Mapping[str, Any], file: ReportedFile | None) -> str:
    """Return the beginning of the digest of the released file; of the fingerprint of its values without a file.

    Empty for a DataFrame on a cluster, which has neither.
    """
    found = manifest["output"].get("fingerprint", "").partition(":")[2]
    whole = found if file is None or not file.sha256 else file.sha256
    return str(whole)[:16]


def _summary(*, public: bool, findings: int) -> str:
    """Return the outcome in one sentence."""
    if public or not findings:
        return "All privacy requirements are met."
    need = "1 finding needs" if findings == 1 else f"{findings} findings need"
    return f"All privacy requirements are met; {need} a decision."


def _sections(contents: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return anchor and name of the sections that have content."""
    public, evidence = contents["public"], contents["evidence"]
    sections = [
        ("summary", "Summary", True),
        ("findings", "Findings", contents["decide"] or contents["information"]),
        ("decision", "Decision", not public),
        ("method", "Method", True),
        ("groups", "Groups", True),
        ("information-loss", "Information loss", True),
        ("distributions", "Distributions", True),
        ("associations", "Associations", contents["associations"]),
        ("data-utility", "Data utility", evidence.statistics),
        ("risk", "Risk", True),
        ("sources-of-risk", "Sources of risk", evidence.sources is not None),
        ("attacks", "Attacks", evidence.attacks is not None),
        ("attribute-disclosure", "Attribute disclosure", evidence.confidential),
        ("expert-page", "Expert page", not public),
        ("glossary", "Glossary", True),
        ("provenance", "Provenance", True),
    ]
    return [(anchor, name) for anchor, name, wanted in sections if wanted]


def _requirements(manifest: Mapping[str, Any]) -> list[str]:
    """Return each requirement beyond k as a sentence."""
    kind = {"entropy": " (entropy)", "recursive": " (recursive)"}.get(str(manifest["requirements"].get("l_kind")), "")
    return [
        f"Requested: {name} = {entry['requested']:g}{kind if name == 'l' else ''}; achieved: {name} = "
        f"{entry['achieved']:.4g} ({_REQUIREMENTS[name]}{'; counted by persons' if 'of' in entry else ''})."
        for name, entry in manifest.get("achieved", {}).items()
    ]


def _known_counts(released: Released) -> list[dict[str, Any]]:
    """Return k with the further columns that an intruder may know, counted on the released table."""
    recount, schema, k = released.recount, released.schema, released.plan.requirements.k
    known = (
        (recount.with_weight, "with the sampling weight", [schema.released_weight]),
        (recount.with_known, "with all columns that an intruder may know", list(schema.known)),
        (recount.with_constant, "with unchanged columns that are constant within persons", list(recount.constant)),
    )
    return [
        {"name": name, "columns": columns, "k": classes.k, "below": classes.records_below(k)}
        for classes, name, columns in known
        if classes is not None
    ]


def _methods(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the methods that ran; a function that is not registered has a name only."""
    methods = []
    for run in manifest["method"]["resolved"]:
        title = reference = ""
        try:
            info = get_method(run["name"])
        except ParameterError:
            pass
        else:
            title = "" if info.title == info.name else info.title
            reference = "" if info.reference == "-" else info.reference
        methods.append({**run, "title": title, "reference": reference})
    return methods


def _method_sentences(methods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return methods that differ in their options only as one, with the number of all their blocks."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for method in methods:
        first = merged.setdefault((method["name"], method["reason"]), {**method, "blocks": 0})
        first["blocks"] += method["blocks"]
    return list(merged.values())


def _plain_diagnostics(diagnostics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the diagnostics that are single numbers or texts."""
    return {
        name.replace("_", " "): f"{value:.6g}" if isinstance(value, float) else value
        for name, value in diagnostics.items()
        if isinstance(value, int | float | str) and not isinstance(value, bool)
    }


def _missing_steps(released: Released) -> list[str]:
    """Return how missing values of quasi-identifiers were treated, in one sentence per treatment."""
    policies = {column.missing or released.schema.missing for column in released.schema.quasi}
    return [text for policy, text in _MISSING.items() if policy in policies]


_SUMS = {
    "rounded": "rounded: means are multiples of 1, 2, 5, 10, ... that suit the extent of each group",
    "exact": (
        "exact: the totals of two releases of nearly the same records differ by the values of the records that only "
        "one of them has"
    ),
}


def _decimals(decimals: int | str) -> str:
    """Return the decimals of released numbers in words."""
    if isinstance(decimals, int):
        return f"rounded to {decimals} decimal{'' if decimals == 1 else 's'}"
    return "integers stay integers" if decimals == "input" else "full precision"


def _stated_loss(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rounded figures of a manifest under the names of :class:`shoal.recoding.loss.Loss`."""
    objective = stated.get("objective")
    return {
        "information_loss": stated["information_loss"],
        "columns": {name: {"ncp": None, **figures} for name, figures in stated["columns"].items()},
        "objective": objective,
        "bound": None if objective is None else objective["bound"],
        "gap": None if objective is None else objective["gap"],
        "frequency_tables": stated.get("frequency_tables"),
    }


def _drawn(entry: ColumnDistribution, number: int, stated: Mapping[str, Any] | None) -> dict[str, Any]:
    distribution = entry.distribution
    shares = [share for each in distribution.bins for share in (each.before, each.after) if share is not None]
    title = f"Distribution of {entry.column.name}"
    drawn = distribution.bins and distribution.numeric
    return {
        "column": entry.column,
        "loss": entry.loss if stated is None else stated[entry.column.name]["information_loss"],
        "distribution": distribution,
        "largest": max(shares, default=1.0),
        "figure": histogram(distribution, title, entry.unit, f"distribution-{number}") if drawn else "",
    }


def _associations(evidence: Evidence) -> list[dict[str, Any]]:
    matrices = (
        (evidence.correlation, "Correlation", "correlation", _CORRELATION),
        (evidence.association, "Cramér's V", "cramer", _ASSOCIATION),
    )
    return [_matrix(matrix, *texts) for matrix, *texts in matrices if matrix is not None]


def _matrix(matrix: AssociationMatrix, title: str, key: str, meaning: str) -> dict[str, Any]:
    panels = [("Released", matrix.after, 1.0)]
    if matrix.before is not None:
        change = ("Difference (released − original)", matrix.after - matrix.before, 0.5)
        panels = [("Original", matrix.before, 1.0), *panels, change]
    return {
        "title": title,
        "meaning": meaning,
        "change": matrix.largest_change,
        "without": matrix.without_figures,
        "pairs": matrix.pairs(),
        "panels": [
            {"title": name, "figure": heat_map(values, matrix.names, f"{title}: {name}", f"{key}-{number}", full=full)}
            for number, (name, values, full) in enumerate(panels, start=1)
        ],
    }


def _risks(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the rows of the table of risks, each with its definition."""
    before, after = evidence.before, evidence.after
    threshold = f"{100 * after.prosecutor.threshold:g} %"

    def row(name: str, meaning: str, figure: Any) -> dict[str, Any]:
        original = None if before is None else figure(before)
        return {"name": name, "meaning": meaning, "before": original, "after": figure(after)}

    rows = [
        row(
            "Prosecutor risk, highest",
            "The largest probability of re-identifying a record, for an intruder who knows that an individual is in "
            "the table and knows all quasi-identifiers of the individual.",
            lambda risk: risk.prosecutor.highest,
        ),
        row("Prosecutor risk, average", "The mean over all records.", lambda risk: risk.prosecutor.average),
        row(
            f"Records above {threshold}",
            f"The share of records with a prosecutor risk above {threshold}.",
            lambda risk: risk.prosecutor.share_above,
        ),
        row(
            "Marketer risk",
            "The expected share of records that are matched correctly by an intruder who matches all records.",
            lambda risk: risk.marketer,
        ),
        row(
            "Sample-unique records",
            "The share of records whose quasi-identifiers no other record has.",
            lambda risk: risk.unique,
        ),
    ]
    if after.population is not None:
        rows[3:3] = [
            row(
                "Journalist risk, highest",
                "The same for an intruder who has a register of the population and does not know who is in the table: "
                "the expectation of 1 divided by the number of individuals of the population with the same values, "
                f"{_GIVEN[after.population.source]}.",
                lambda risk: None if risk.population is None else risk.population.highest,
            ),
            row(
                "Journalist risk, average",
                "The mean over all records.",
                lambda risk: None if risk.population is None else risk.population.average,
            ),
            row(
                "Population-unique records",
                "The share of records that are expected to be unique in the population.",
                lambda risk: None if risk.population is None else risk.population.population_unique,
            ),
        ]
    return rows


_PERSON_MEANINGS = {
    "person risk, highest": (
        "The largest probability of re-identifying a person, 1 divided by the number of persons in the equivalence "
        "class of a row, for an intruder who knows the quasi-identifiers of a row. Holds if the intruder cannot link "
        "rows to each other."
    ),
    "person risk, average": "The mean over all persons. Holds if rows cannot be linked.",
    "person risk, share at risk": "The share of persons with a risk above {above}. Holds if rows cannot be linked.",
    "share of a class, highest": (
        "The largest part of the rows of an equivalence class that belong to one person: the probability that a row "
        "drawn from the class is one of this person. k persons do not limit it; --max-share does."
    ),
    "share of a class, average": "The mean over all persons of their largest share.",
    "share of a class, share at risk": "The share of persons with more than {above} of the rows of a class.",
    "linked person risk, highest": (
        "The same as the person risk for an intruder who can see which rows belong together, and knows all rows of a "
        "person."
    ),
    "linked person risk, average": "The mean over all persons, if rows are linked.",
    "household risk, highest": "The largest risk of a member of a household. Holds if rows cannot be linked.",
    "household risk, average": "The mean over all households.",
    "any member, highest": (
        "The probability that at least one member of a household is re-identified, if these events were independent; "
        "too high where members share an equivalence class."
    ),
    "any member, average": "The mean over all households.",
}


def _person_risks(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the rows of the table of risks of persons and households, each with its definition."""
    after, before = evidence.persons_after, evidence.persons_before
    if after is None:
        return []
    earlier = {} if before is None else {name: value for name, value, _ in before.figures()}
    above = f"{100 * after.threshold:g} %"
    return [
        {
            "name": name[0].upper() + name[1:].replace("share at risk", f"persons above {above}"),
            "meaning": _PERSON_MEANINGS[name].format(above=above),
            "before": earlier.get(name),
            "after": value,
        }
        for name, value, _ in after.figures()
    ]


def _linkages(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the rows of the table of linkage attacks."""
    if evidence.attacks is None or evidence.before is None:
        return []
    found = evidence.attacks.candidates
    compatible = (
        "The share of records that are re-identified by an intruder who knows the true quasi-identifiers and rules out "
        "every released row whose values, ranges, sets or suppressed cells do not cover them; the attack that suits "
        "suppressed and generalised tables."
    )
    texts: tuple[tuple[Attack, str, str], ...] = () if found is None else ((found, "Candidates", compatible),)
    texts += (
        (
            evidence.attacks.record_linkage,
            "Record linkage",
            (
                "The share of records that are re-identified by an intruder who knows the true quasi-identifiers of "
                "all records and links each of them to the nearest released record."
            ),
        ),
        (
            evidence.attacks.assignment_linkage,
            "Assignment linkage",
            "The same for an intruder who links all records at once, each to another released record.",
        ),
    )
    return [
        {
            "name": name,
            "meaning": meaning,
            "before": evidence.before.prosecutor.average,
            "after": attack.success.value,
            "interval": _interval(attack),
        }
        for attack, name, meaning in texts
    ]


def _interval(attack: Attack) -> str:
    return f"95 % CI: {100 * attack.success.low:.1f} to {100 * attack.success.high:.1f} %"
