"""Findings: what needs a decision before the release, each with its remedy, and what is stated for information."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.flow.released import Released
from shoal.report.evidence import Evidence
from shoal.schema.columns import Recode, Role

_REVEALED = {
    Recode.RANGE: "the true minimum and maximum of every group",
    Recode.MIN: "the true minimum of every group",
    Recode.MAX: "the true maximum of every group",
    Recode.SET: "every value that occurs in a group",
    Recode.MEDOID: "true values of one record of every group",
    Recode.FREQUENCIES: "true values of one record of every group",
}
_ADVICE = {
    "possible-identifier": "Declare it as an identifier, which is dropped, or as a quasi-identifier.",
    "dominant-weight": (
        "Choose a larger k or recode=median, or release without the sampling weight: k counts records, not weights."
    ),
    "lost-category": (
        "Decide whether rare categories may disappear; recode=frequencies keeps counts better, and merging rare "
        "categories before protection keeps them visible."
    ),
    "sampling-weight": "Release the weight grouped (the mean of its group) or drop it.",
    "second-weight": "Drop the column, or declare it as a quasi-identifier.",
    "known-columns": "Declare these columns as quasi-identifiers, or drop them.",
    "derived-exactly": "Declare one of these columns as a quasi-identifier too, or drop it.",
    "derived-column": "Declare the released column as a quasi-identifier too, drop it, or coarsen it.",
    "relinking": "Drop or coarsen these columns, or declare them as quasi-identifiers.",
    "linked-persons": "Count histories (--of histories), or release without links.",
    "rows-suppressed": "Choose a smaller k, a larger weight of suppressed rows, or count units.",
    "constant-columns": "Declare them with --constant (Python: constant), or decide that they may vary.",
    "few-persons": "Count persons: leave out --of rows (Python: of).",
    "imputed": "Check that imputed values are acceptable, or choose another treatment of missing values.",
    "suppressed": "Choose missing=fill or suppress, which change the groups concerned only, or a smaller k.",
    "filled": "Check that values of neighbours are acceptable in place of missing ones; suppress keeps them missing.",
    "emptied": "Choose missing=fill or a smaller k, to empty fewer values.",
    "outliers-dropped": "Check that the dropped records may be missing, or use top and bottom coding instead.",
    "rare-bound": "Choose a bound that more records reach, or a share such as top 99%, which takes care of that.",
}
_NOTABLE_DISCLOSURE = 0.1
_LARGE_SHARE = 0.5


@dataclass(frozen=True)
class Finding:
    """One finding.

    Parameters
    ----------
    text
        What was found.
    advice
        What can be done about it; may be empty.
    """

    text: str
    advice: str = ""


def findings_to_decide(released: Released, evidence: Evidence) -> list[Finding]:
    """Return the findings that need a decision before the table is released.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.report.evidence import measure_evidence
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62], "diagnosis": ["A", "A", "B", "C"]})
    >>> released = shoal.protect(people, 2, quasi=["age"], confidential=["diagnosis"], method="mdav").released
    >>> findings_to_decide(released, measure_evidence(released))[0].text
    'In 1 of 2 equivalence classes (2 records) all records have the same value of "diagnosis": an intruder who knows \
that an individual is in such a class learns the value.'
    """
    findings = [*_homogeneous(released, evidence), *_attribute_attacks(evidence), *_large_shares(released, evidence)]
    findings += _of_remarks(released, evidence)
    findings += [
        Finding(
            f"The {released.grouping.k} most extreme records make up {100 * share:.0f} % of the variance of "
            f'"{name}": the information loss of this column mostly measures the change of these records.',
            "Top-code or bottom-code extreme values before protection, or judge this column by its distribution.",
        )
        for name, share in evidence.dominated.items()
    ]
    if released.manifest["k"]["achieved"] == 2:
        findings.append(
            Finding(
                "k = 2: in a group of two records, each of the two respondents can derive the values of the other one.",
                "Choose k = 3 or more unless respondents can be excluded as intruders.",
            )
        )
    if len(released.grouping) == 1:
        findings.append(
            Finding(
                "All records are in one group: each quasi-identifier has one value in the released table.",
                "Choose a smaller k, or protect more records together.",
            )
        )
    return findings


def findings_for_information(released: Released, evidence: Evidence) -> list[Finding]:
    """Return the findings that need no decision."""
    findings = [
        Finding(f'The released values of "{name}" reveal {_REVEALED[recode]}.')
        for name, recode in applied_recodes(released).items()
        if recode in _REVEALED
    ]
    if not released.schema.named(Role.CONFIDENTIAL):
        findings.append(
            Finding(
                "No confidential attribute is named, so attribute disclosure was not assessed.",
                "Name the columns whose values must not be disclosed.",
            )
        )
    if released.manifest["method"]["stopped"] != "finished":
        findings.append(
            Finding(
                f"The method stopped early ({released.manifest['method']['stopped']}): another run may give other "
                "groups, which satisfy the same requirements."
            )
        )
    second = released.second
    if second is not None:
        findings.append(
            Finding(
                f"The release follows an earlier one: {second.kept:,} records are as before, {second.changed:,} "
                f"changed, {second.new:,} are new, {second.deleted:,} were deleted. Both releases together leave "
                f"{second.below_k:,} records with fewer than k candidates; the earlier groups of "
                f"{second.unavoidable:,} of them have fewer than k members left in the table."
            )
        )
    if evidence.before is None:
        findings.append(
            Finding("The original table was not available: figures of the original and attacks are left out.")
        )
    return findings


def public_findings(released: Released) -> list[Finding]:
    """Return what users of the released table should know, without figures of the original."""
    findings = [
        Finding(f"{_sentence(remark.text)} Do not draw conclusions from this column alone.")
        for remark in released.remarks
        if remark.code == "heavy-loss"
    ]
    findings += [Finding(_sentence(remark.text)) for remark in released.remarks if remark.code == "lost-category"]
    missing = released.manifest["missing_values"]
    findings += [Finding(f'Missing values of "{name}" were imputed before protection.') for name in missing["imputed"]]
    findings += [Finding(f'Some values of "{name}" were suppressed.') for name in missing["suppressed"]]
    findings += [
        Finding(f'{count:,} missing values of "{name}" hold the representative of their group.')
        for name, count in missing.get("filled", {}).items()
    ]
    findings += [
        Finding(f'{count:,} values of "{name}" were emptied, in groups with missing or not applicable cells.')
        for name, count in missing.get("emptied", {}).items()
    ]
    return findings


def applied_recodes(released: Released) -> dict[str, Recode]:
    """Return what replaced the values of each quasi-identifier, as the manifest states it."""
    columns = released.manifest["schema"]["columns"]
    return {column["name"]: Recode(column["recode"]) for column in columns if "recode" in column}


def _of_remarks(released: Released, evidence: Evidence) -> list[Finding]:
    """Return one finding per remedy, so that columns with the same remedy are listed together."""
    texts: dict[tuple[str, str], list[str]] = {}
    for remark in released.remarks:
        text, advice = remark.text, _ADVICE.get(remark.code, "")
        lost = evidence.lost.get(remark.column or "") if remark.code == "lost-category" else None
        cause = evidence.causes.get(remark.column or "") if remark.code == "heavy-loss" else None
        if lost is not None:
            text = f"{text}: {lost}"
        if cause is not None:
            text, advice = f"{text}: {cause.cause}", cause.remedy
        texts.setdefault((remark.code, advice), []).append(_sentence(text))
    return [Finding(" ".join(sentences), advice) for (_, advice), sentences in texts.items()]


def _homogeneous(released: Released, evidence: Evidence) -> list[Finding]:
    return [
        Finding(
            f"In {column.classes:,} of {released.classes.sizes.size:,} equivalence classes ({column.records:,} "
            f'records) all records have the same value of "{column.name}": an intruder who knows that an individual is '
            "in such a class learns the value.",
            "Request l-diversity (l = 2 or more) or t-closeness, or decide that the value may be disclosed.",
        )
        for column in evidence.confidential
        if column.classes
    ]


def _large_shares(released: Released, evidence: Evidence) -> list[Finding]:
    """Return a finding where one person has most rows of a class."""
    persons = evidence.persons_after
    if persons is None or released.schema.unit is None or persons.share.highest <= _LARGE_SHARE:
        return []
    text = (
        f"One person has {100 * persons.share.highest:.0f} % of the rows of an equivalence class: an intruder who "
        "draws a row of this class finds this person more often than any other."
    )
    return [Finding(text, "Limit the share with --max-share (Python: max_share), for example to 1/k.")]


def _attribute_attacks(evidence: Evidence) -> list[Finding]:
    attacks = () if evidence.attacks is None else evidence.attacks.attributes
    return [
        Finding(
            f'The equivalence class predicts "{attack.target}" correctly for {100 * attack.success.value:.0f} % of the '
            f"records; baseline {100 * attack.baseline.value:.0f} %, normalised excess "
            f"{100 * attack.baseline_adjusted_success:.0f} %.",
            "Request t-closeness, or decide that the attribute may be disclosed.",
        )
        for attack in attacks
        if attack.baseline_adjusted_success > _NOTABLE_DISCLOSURE
    ]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
