"""What analysts keep in each line of a comparison, and the cost of rivals at the same record linkage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shoal.api.combinations import Combination

UTILITY_HEADINGS = ("method", "k", "IL1s", "variance", "correlations", "Hellinger", "pMSE / null", "SPECKS", "NCP")
"""The headings of the table of utility."""
UTILITY_TEXT = (
    "IL1s: mean change of a number, in units of sqrt(2) standard deviations; variance: its mean change; correlations: "
    "mean difference; pMSE / null: how well a model distinguishes released from original records, 1 being as little as "
    "for records drawn at random from the original; SPECKS: the largest difference of its scores; NCP: mean share of "
    "the domain that a generalised cell represents"
)
"""What the figures of utility mean."""
RIVAL_TEXT = (
    "Perturbations are measured for comparison only: they give no k (shown as counted, the smallest of five draws), "
    "and Shoal does not release what they return; other figures are means over five draws."
)
"""What the lines of rivals are."""


@dataclass(frozen=True)
class SameLinkage:
    """What a rival costs where its record linkage is that of a grouping.

    Parameters
    ----------
    grouping
        The name of the combination.
    rival
        The name of the perturbation.
    record_linkage
        The record linkage of the grouping.
    il1s
        IL1s of the grouping.
    rival_il1s
        IL1s of the rival at that record linkage, interpolated between its amounts; None if they do not enclose it.
    """

    grouping: str
    rival: str
    record_linkage: float
    il1s: float
    rival_il1s: float | None

    @property
    def ratio(self) -> float | None:
        """How many times the change of the grouping the rival needs."""
        return None if self.rival_il1s is None or self.il1s == 0 else self.rival_il1s / self.il1s


def same_linkage(lines: Iterable[Combination]) -> list[SameLinkage]:
    """Return the cost of each rival at the record linkage of each grouping.

    Examples
    --------
    >>> from shoal.api.combinations import Combination
    >>> grouped = Combination("mdav", 5, record_linkage=0.2, il1s=0.15)
    >>> rivals = [Combination("noise", None, rival=True, setting=text, record_linkage=linkage, il1s=cost)
    ...           for text, linkage, cost in (("0.1", 0.3, 0.2), ("0.2", 0.1, 0.4))]
    >>> round(same_linkage([grouped, *rivals])[0].ratio, 6)
    2.0
    """
    lines = [line for line in lines if line.record_linkage is not None and line.il1s is not None]
    families: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        if line.rival:
            families.setdefault(line.method, []).append((line.record_linkage or 0.0, line.il1s or 0.0))
    return [
        SameLinkage(line.name, family, line.record_linkage or 0.0, line.il1s or 0.0, _at(line.record_linkage, measured))
        for line in lines
        if not line.rival
        for family, measured in families.items()
    ]


def _at(linkage: float | None, measured: Sequence[tuple[float, float]]) -> float | None:
    risk, cost = np.array(sorted(measured)).T
    if linkage is None or not risk[0] <= linkage <= risk[-1]:
        return None
    return float(np.interp(linkage, risk, cost))


def utility_rows(lines: Iterable[Combination]) -> list[tuple[str, ...]]:
    """Return the figures of utility of the lines that succeeded, as rows of text."""
    return [
        (
            line.method,
            line.setting if line.rival else line.name.partition(" k=")[2],
            _number(line.il1s, ".4f"),
            "" if line.variance is None else f"{100 * line.variance:+.1f} %",
            _number(line.correlation, ".4f"),
            _number(line.hellinger, ".4f"),
            _number(line.propensity_ratio, ".1f"),
            _number(line.specks, ".3f"),
            _number(line.ncp, ".5f"),
        )
        for line in lines
        if not line.reason
    ]


def same_linkage_rows(lines: Iterable[Combination]) -> list[tuple[str, ...]]:
    """Return the cost of rivals at the same record linkage, as rows of text."""
    return [
        (
            found.grouping, f"{100 * found.record_linkage:.1f} %", f"{found.il1s:.4f}", found.rival,
            "not enclosed by its amounts" if found.rival_il1s is None else f"{found.rival_il1s:.4f}",
            "" if found.ratio is None else f"{found.ratio:.1f}",
        )
        for found in same_linkage(lines)
    ]  # fmt: skip


SAME_LINKAGE_HEADINGS = ("grouping", "record linkage", "IL1s", "rival", "IL1s of the rival", "times")
"""The headings of the table at the same record linkage."""


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
