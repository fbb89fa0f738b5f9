"""What a person should look at before signing: each point in plain words, with what can be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.report.evidence import Evidence
from shoal.schema.columns import Recode, Role

if TYPE_CHECKING:
    from shoal.api.release import Release

HEAVY_LOSS = 0.4
_SHOWS = {
    Recode.RANGE: "the true lowest and highest value of every group",
    Recode.MIN: "the true lowest value of every group",
    Recode.MAX: "the true highest value of every group",
    Recode.SET: "every value that occurs in a group",
}


@dataclass(frozen=True)
class Point:
    """One thing to look at.

    Parameters
    ----------
    text
        What was found.
    advice
        What can be done about it; may be empty.
    """

    text: str
    advice: str = ""


def points_to_decide(release: Release, evidence: Evidence) -> list[Point]:
    """Return what needs a decision before the table is handed out.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.report.evidence import measured
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62], "diagnosis": ["A", "A", "B", "C"]})
    >>> release = shoal.protect(people, 2, quasi=["age"], confidential=["diagnosis"], method="mdav")
    >>> points_to_decide(release, measured(release))[0].text
    'In 1 of 2 groups (2 records) all records share one value of "diagnosis": whoever knows that a person is in such a \
group knows the value.'
    """
    found = [*_alike(release, evidence), *_guessed(evidence)]
    known = set()
    for name, column in release.loss.columns.items():
        if column.information > HEAVY_LOSS:
            known.add(f'column "{name}" lost {100 * column.information:.0f} % of its information')
            found.append(
                Point(
                    f'Column "{name}" lost {100 * column.information:.0f} % of its information.',
                    "Give it a weight above 1, choose a smaller k, or leave out quasi-identifiers nobody can know.",
                )
            )
    for name, share in evidence.dominated.items():
        found.append(
            Point(
                f"The {release.grouping.k} most extreme records make up {100 * share:.0f} % of the variation of "
                f'"{name}": the loss of this column mostly measures what happened to them.',
                "Cap extreme values before protecting, or judge this column by the deciles rather than by the loss.",
            )
        )
    found += [Point(_sentence(text)) for text in release.warnings if text not in known]
    if release.k == 2:
        found.append(
            Point(
                "k = 2: where a group has two records, one person of the pair can work out the other's values.",
                "Choose k = 3 or more unless nobody in the table is an attacker.",
            )
        )
    if len(release.grouping) == 1:
        found.append(
            Point(
                "All records are in one group: the table tells no more of the quasi-identifiers than one value each.",
                "Choose a smaller k, or protect more records together.",
            )
        )
    return found


def points_to_know(release: Release, evidence: Evidence) -> list[Point]:
    """Return what is worth knowing and needs no decision."""
    found = [
        Point(f'The released values of "{column.name}" show {_SHOWS[column.representative]}.')
        for column in release.schema.quasi
        if column.representative in _SHOWS
    ]
    if not release.schema.named(Role.CONFIDENTIAL):
        found.append(
            Point(
                "No column was named as confidential, so it was not checked what groups tell about such a column.",
                "Name the columns that must not be learned about a person.",
            )
        )
    if release.original is None:
        found.append(Point("The original was not at hand: figures of the original and attacks are left out."))
    return found


def points_for_users(release: Release) -> list[Point]:
    """Return what users of the released table should know, for publication."""
    found = []
    for name, column in release.loss.columns.items():
        if column.information > HEAVY_LOSS:
            text = f'Column "{name}" lost {100 * column.information:.0f} % of its information; do not rely on it alone.'
            found.append(Point(text))
    treated = release.manifest["missing_values"]
    found += [Point(f'Missing values of "{name}" were imputed before protection.') for name in treated["imputed"]]
    found += [Point(f'Some values of "{name}" were suppressed.') for name in treated["suppressed"]]
    return found


def _alike(release: Release, evidence: Evidence) -> list[Point]:
    return [
        Point(
            f"In {one.groups:,} of {release.classes.sizes.size:,} groups ({one.records:,} records) all records share "
            f'one value of "{one.name}": whoever knows that a person is in such a group knows the value.',
            "Ask for l-diversity (l=2 or more) or t-closeness, or judge that the value is harmless.",
        )
        for one in evidence.secrets
        if one.groups
    ]


def _guessed(evidence: Evidence) -> list[Point]:
    return [
        Point(
            f'Guessing "{one.target}" from the group is right for {100 * one.success.value:.0f} % of the records, '
            f"against {100 * one.baseline.value:.0f} % by chance.",
            "Ask for t-closeness, or judge that the column may be learned.",
        )
        for one in evidence.attacks
        if one.name == "attribute" and one.excess > 0.1
    ]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
