"""An assessment: every privacy model measured on a table, for each confidential column and over all.

Each figure is the value for which the table just satisfies the model: the smallest l, p and k of any class, the largest
alpha, t, beta, delta and c. See the files of the models for definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.privacy.alpha_k import alpha_of
from shoal.privacy.beta_likeness import basic_beta, enhanced_beta
from shoal.privacy.counts import Counts, Integers
from shoal.privacy.delta_disclosure import delta_of
from shoal.privacy.ground_distances import GroundDistance
from shoal.privacy.l_diversity import distinct_l, entropy_l, recursive_c
from shoal.privacy.m_t_closeness import m_t_closeness
from shoal.privacy.p_sensitivity import p_of
from shoal.privacy.t_closeness import closeness
from shoal.schema.requirements import Requirements

_MEANINGS = {
    "alpha": "the largest share that one value has in a class",
    "l": "the fewest different values of a class (distinct l-diversity)",
    "entropy_l": "the lowest exp(entropy) of a class (entropy l-diversity)",
    "c": "recursive (c, l)-diversity holds for every larger c",
    "p": "the fewest different values of a class in any column (p-sensitivity)",
    "t": "the largest distance of a class to the whole table (t-closeness)",
    "m_t": "the largest distance of a class to the best set of m records around it",
    "beta": "the largest gain in frequency of a value (basic beta-likeness)",
    "enhanced_beta": "the same with the bound -ln p (enhanced beta-likeness); inf: no beta",
    "delta": "the largest |ln(q/p)| of a value that occurs (delta-disclosure)",
}
_LARGER_IS_SAFER = {"l", "entropy_l", "p", "recursive_l"}
NAMES = tuple(_MEANINGS)


@dataclass(frozen=True)
class ColumnAssessment:
    """What the models say about one confidential column.

    Parameters
    ----------
    values
        The number of different values.
    distance
        How they are compared for t: ``ordered``, ``equal`` or ``hierarchical``.
    alpha, l, entropy_l, c, p, t, beta, enhanced_beta, delta
        The figures.
    recursive_l
        The l that ``c`` belongs to.
    m_t
        t of (m, t)-closeness, if m was given.
    """

    values: int
    distance: str
    alpha: float
    l: int
    entropy_l: float
    c: float
    recursive_l: int
    p: int
    t: float
    m_t: float | None
    beta: float
    enhanced_beta: float
    delta: float


def assess_column(
    counts: Counts, distance: GroundDistance, *, l: int | None = None, m: int | None = None
) -> ColumnAssessment:
    """Return every figure of a column.

    Parameters
    ----------
    counts
        Its values in each class.
    distance
        How far apart they are.
    l
        For recursive (c, l)-diversity; the distinct l of the column if not given.
    m
        For (m, t)-closeness; not computed if not given.
    """
    distinct = int(distinct_l(counts).min())
    recursive_l = distinct if l is None else l
    return ColumnAssessment(
        values=int(np.count_nonzero(counts.totals)),
        distance=distance.name,
        alpha=float(alpha_of(counts).max()),
        l=distinct,
        entropy_l=float(entropy_l(counts).min()),
        c=float(recursive_c(counts, recursive_l).max()),
        recursive_l=recursive_l,
        p=int(p_of(counts).min()),
        t=float(closeness(counts, distance).max()),
        m_t=None if m is None else m_t_closeness(counts, distance, m),
        beta=float(basic_beta(counts).max()),
        enhanced_beta=float(enhanced_beta(counts).max()),
        delta=float(delta_of(counts).max()),
    )


@dataclass(frozen=True)
class Assessment:
    """How safe a table is as it stands.

    Parameters
    ----------
    records
        The number of records.
    sizes
        How many records look like those of each class.
    members
        The number of records in each class; less than the size where wildcards make classes overlap.
    quasi, confidential
        The columns that were counted and checked.
    reading
        How several confidential columns were read: ``each``, ``others-known`` or ``together``.
    missing
        What a missing value meant: ``own-value``, ``wildcard`` or ``error``.
    columns
        The figures of each confidential column.
    m
        The m of (m, t)-closeness, if there is one.
    risk
        Prosecutor, journalist and marketer risk from the sizes of the classes, averaged over records.
    contributions
        What each quasi-identifier contributes, if that was asked for.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 31, 61, 61], "diagnosis": ["A", "B", "C", "C"]})
    >>> found = shoal.assess(people, quasi=["age"], confidential=["diagnosis"])
    >>> found.k, found.l, round(found.t, 3)
    (2, 1, 0.5)
    """

    records: int
    sizes: Integers
    members: Integers
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    reading: str
    missing: str
    columns: Mapping[str, ColumnAssessment]
    m: int | None = None
    risk: Any = None
    contributions: Mapping[str, Any] | None = None

    @property
    def k(self) -> int:
        """The size of the smallest class."""
        return int(self.sizes.min())

    def records_below(self, k: int) -> int:
        """Return how many records look like fewer than k."""
        return int(self.members[self.sizes < k].sum())

    def __getattr__(self, name: str) -> Any:
        """Return a figure over all confidential columns: ``l``, ``t``, ``alpha``, ..."""
        if name not in _MEANINGS and name != "recursive_l":
            raise AttributeError(f"an assessment has no figure {name!r}")
        found = [getattr(column, name) for column in self.columns.values()]
        found = [value for value in found if value is not None]
        if not found:
            raise AttributeError(f"{name} was not measured; name confidential columns{' and m' * (name == 'm_t')}")
        return min(found) if name in _LARGER_IS_SAFER else max(found)

    def figures(self) -> dict[str, float]:
        """Return k and every figure over all confidential columns, by name."""
        measured = [name for name in _MEANINGS if name != "m_t" or self.m is not None] if self.columns else []
        return {"k": self.k, **{name: getattr(self, name) for name in measured}}

    def reached(self, requirements: Requirements) -> dict[str, tuple[float, float, bool]]:
        """Return for each limit what was asked for, what was reached, and whether that is enough."""
        return requirements.reached_by(self.figures())

    def rows(self) -> list[tuple[str, ...]]:
        """Return the figures as lines of text: name, over all, one per column, meaning."""
        found = []
        for name, value in self.figures().items():
            if name == "k":
                cells = [str(value), *("" for _ in self.columns), "the smallest number of records that look alike"]
            else:
                each = [getattr(column, name) for column in self.columns.values()]
                cells = [_shown(value), *map(_shown, each), _MEANINGS[name]]
            found.append((_LABELS.get(name, name).format(m=self.m, l=self._recursive_l()), *cells))
        return found

    def _recursive_l(self) -> str:
        found = sorted({column.recursive_l for column in self.columns.values()})
        return "/".join(map(str, found))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures for JSON; an infinite figure becomes None."""
        return {
            "records": self.records,
            "classes": int(self.sizes.size),
            "quasi": list(self.quasi),
            "confidential": list(self.confidential),
            "reading": self.reading,
            "missing": self.missing,
            "m": self.m,
            "figures": {name: _finite(value) for name, value in self.figures().items()},
            "columns": {
                name: {key: _finite(value) for key, value in asdict(column).items()}
                for name, column in self.columns.items()
            },
            "risk": None if self.risk is None else self.risk.to_dict(),
            "contributions": None
            if self.contributions is None
            else {name: one.to_dict() for name, one in self.contributions.items()},
        }

    def __str__(self) -> str:
        from shoal.core.text import plain_table

        heads = ["measure", "all", *self.columns, "meaning"]
        return plain_table(heads, self.rows())


_LABELS = {
    "l": "distinct l",
    "entropy_l": "entropy l",
    "c": "recursive c (l={l})",
    "m_t": "t for m={m}",
    "enhanced_beta": "enhanced beta",
}


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
