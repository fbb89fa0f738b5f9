"""An assessment: every privacy model measured on a table, for each confidential column and over all of them.

Each figure is the value for which the table just satisfies the model: the smallest l, p and k of any equivalence class,
the largest alpha, t, beta, delta and c. The files of the models define them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np

from shoal.core.text import html_table, text_table
from shoal.errors import ParameterError
from shoal.privacy.alpha_k import alpha_of
from shoal.privacy.beta_likeness import basic_beta, enhanced_beta
from shoal.privacy.confidential import ConfidentialAs
from shoal.privacy.counts import Counts, Integers
from shoal.privacy.delta_disclosure import delta_of
from shoal.privacy.equivalence_classes import MissingSemantics
from shoal.privacy.ground_distances import GroundDistance
from shoal.privacy.l_diversity import distinct_l, entropy_l, recursive_c
from shoal.privacy.m_t_closeness import m_t_closeness
from shoal.privacy.p_sensitivity import p_of
from shoal.privacy.person_risk import PersonFigures
from shoal.privacy.person_values import PersonValues
from shoal.privacy.t_closeness import closeness
from shoal.schema.requirements import Of, Requirements
from shoal.tables.frames import data_frame

_MEANINGS = {
    "alpha": "largest share of one value in a class",
    "l": "smallest number of different values in a class (distinct l-diversity)",
    "entropy_l": "smallest exp(entropy) of a class (entropy l-diversity)",
    "c": "recursive (c, l)-diversity holds for every larger c",
    "p": "smallest number of different values in a class, in any column (p-sensitivity)",
    "t": "largest distance of a class to the whole table (t-closeness)",
    "m_t": "largest distance of a class to the best set of m records around it",
    "beta": "largest gain in frequency of a value (basic beta-likeness)",
    "enhanced_beta": "the same with the bound -ln p (enhanced beta-likeness); inf: no beta",
    "delta": "largest |ln(q/p)| of a value that occurs (delta-disclosure)",
}
_PERSON_MEANINGS = _MEANINGS | {
    "alpha": "largest share of one value in a class, every person with equal weight",
    "any_row": "largest share of the persons of a class who have one value in any of their rows",
    "l": "smallest number of persons in a class with different values, one value each (distinct l-diversity)",
    "entropy_l": "smallest exp(entropy) of a class, every person with equal weight (entropy l-diversity)",
    "c": "recursive (c, l)-diversity, every person with equal weight, holds for every larger c",
    "p": "smallest number of persons in a class with different values, in any column (p-sensitivity)",
    "t": "largest distance of a class to the average of all persons (t-closeness)",
    "m_t": "largest distance of a class to the best set of m records around it, counted by records",
    "beta": "largest gain in frequency of a value, every person with equal weight (basic beta-likeness)",
    "delta": "largest |ln(q/p)| of a value, every person with equal weight (delta-disclosure)",
}
_K_MEANING = "smallest number of records with identical quasi-identifiers"
_KNOWN_MEANINGS = {
    "with_weight": "the same with the sampling weight, which an intruder may know",
    "with_known": "the same with all columns that an intruder may know",
}
_LARGER_IS_SAFER = {"l", "entropy_l", "p", "recursive_l"}
_LABELS = {
    "l": "distinct l",
    "entropy_l": "entropy l",
    "c": "recursive c (l={l})",
    "m_t": "t for m={m}",
    "enhanced_beta": "enhanced beta",
    "any_row": "alpha, any row",
}
NAMES = tuple(_MEANINGS)
"""The figures of a confidential column, by name."""


@dataclass(frozen=True)
class ColumnAssessment:
    """The figures of one confidential column.

    Parameters
    ----------
    values
        The number of different values.
    distance
        The distance between values for t: ``ordered``, ``equal`` or ``hierarchical``.
    alpha, l, entropy_l, c, p, t, beta, enhanced_beta, delta
        The figures.
    recursive_l
        The l that ``c`` belongs to.
    m_t
        t of (m, t)-closeness, if m was given; always counted by records.
    any_row
        The largest share of the persons of a class who have one value in any of their rows, where persons are counted.
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
    any_row: float | None = None


def assess_column(
    counts: Counts,
    distance: GroundDistance,
    *,
    l: int | None = None,
    m: int | None = None,
    persons: PersonValues | None = None,
) -> ColumnAssessment:
    """Return every figure of a column.

    Parameters
    ----------
    counts
        Its values in each equivalence class.
    distance
        The distance between values.
    l
        The l of recursive (c, l)-diversity; the distinct l of the column if not given.
    m
        The m of (m, t)-closeness; not computed if not given.
    persons
        The values counted by persons, where persons have several rows: l and p are then matchings of persons to values,
        and all other figures but (m, t)-closeness give every person equal weight.
    """
    records = counts
    distinct = int((distinct_l(counts) if persons is None else persons.matching).min())
    smallest_p = int(p_of(counts).min()) if persons is None else distinct
    counts = counts if persons is None else persons.averaged
    recursive_l = distinct if l is None else l
    return ColumnAssessment(
        values=int(np.count_nonzero(counts.totals)),
        distance=distance.name,
        alpha=float(alpha_of(counts).max()),
        l=distinct,
        entropy_l=float(entropy_l(counts).min()),
        c=float(recursive_c(counts, recursive_l).max()),
        recursive_l=recursive_l,
        p=smallest_p,
        t=float(closeness(counts, distance).max()),
        m_t=None if m is None else m_t_closeness(records, distance, m),
        beta=float(basic_beta(counts).max()),
        enhanced_beta=float(enhanced_beta(counts).max()),
        delta=float(delta_of(counts).max()),
        any_row=None if persons is None else float(persons.any_row.max()),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Assessment:
    """Privacy models and risk of a table as it is.

    Parameters
    ----------
    records
        The number of records.
    sizes
        The number of records that each equivalence class matches.
    members
        The number of records in each class; less than the size where wildcards make classes overlap.
    quasi, confidential
        The quasi-identifiers and the confidential columns.
    columns
        The figures of each confidential column, or of their combination.
    confidential_as
        How several confidential columns were assessed: ``separate``, ``quasi`` or ``joint``.
    missing_semantics
        The meaning of a missing value: ``distinct``, ``wildcard`` or ``error``.
    m
        The m of (m, t)-closeness, if there is one.
    risk
        Prosecutor, journalist and marketer risk from the sizes of the classes, averaged over records.
    contributions
        The contribution of each quasi-identifier to the risk, if requested.
    special_uniques
        The columns and combinations of columns that make records unique, if requested.
    k_with_weight
        k over the quasi-identifiers and the sampling weight, if there is one.
    k_with_known
        k over these and the further columns that an intruder may know, if any are named.
    weight_counts
        Whether the sampling weight must have k too: always, unless it is declared to be released unchanged.
    of
        What k counts: ``rows``, ``units`` (persons) or ``households``.
    units
        The number of different persons or households of each class, where k counts these.
    notes
        What a reader has to know about the figures.
    persons
        Risk and shares of persons, where a unit says whose rows the rows are. The figures of confidential columns then
        count persons, otherwise records.
    several_values
        For each column that is to stay constant, the number of persons or households with several values.
    constant_within
        For each of these columns which of the two were counted: ``persons`` or ``households``.
    backend
        The library of the DataFrame that :meth:`table` returns: ``polars``, ``pandas`` or ``pyarrow``.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 31, 61, 61], "diagnosis": ["A", "B", "C", "C"]})
    >>> found = shoal.assess(people, quasi=["age"], confidential=["diagnosis"])
    >>> found.k, found.l, round(found.t, 3)
    (2, 1, 0.5)
    >>> found
    <Assessment: 4 records in 2 equivalence classes, k=2
     diagnosis: alpha=1, l=1, entropy_l=1, c=1, p=1, t=0.5, beta=1, enhanced_beta=inf, delta=0.6931>
    """

    records: int
    sizes: Integers
    members: Integers
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    columns: Mapping[str, ColumnAssessment]
    confidential_as: str = str(ConfidentialAs.SEPARATE)
    missing_semantics: str = str(MissingSemantics.DISTINCT)
    m: int | None = None
    risk: Any = None
    contributions: Mapping[str, Any] | None = None
    special_uniques: Any = None
    k_with_weight: int | None = None
    k_with_known: int | None = None
    weight_counts: bool = False
    of: Of = Of.ROWS
    units: Integers | None = None
    notes: tuple[str, ...] = ()
    persons: PersonFigures | None = None
    several_values: Mapping[str, int] = field(default_factory=dict)
    constant_within: Mapping[str, str] = field(default_factory=dict)
    backend: str = field(default="polars", kw_only=True)

    @property
    def k(self) -> int:
        """The smallest number of what k counts in any class: records, persons or households."""
        return int(self.counted.min())

    @property
    def counted(self) -> Integers:
        """What k counts, for each class."""
        return self.sizes if self.units is None else self.units

    def known_k(self) -> dict[str, int]:
        """Return k over the quasi-identifiers and further columns that an intruder may know, where there are any."""
        found = {"with_weight": self.k_with_weight, "with_known": self.k_with_known}
        return {name: k for name, k in found.items() if k is not None}

    def satisfies_k(self, k: int) -> bool:
        """Return whether every class has k, also with the sampling weight unless it is released unchanged."""
        return self.k >= k and (self.k_with_weight is None or not self.weight_counts or self.k_with_weight >= k)

    def records_below(self, k: int) -> int:
        """Return the number of records in classes of fewer than k."""
        return int(self.members[self.counted < k].sum())

    def __getattr__(self, name: str) -> Any:
        """Return a figure over all confidential columns: ``l``, ``t``, ``alpha``, ..."""
        if name not in _PERSON_MEANINGS and name != "recursive_l":
            raise AttributeError(f"an assessment has no figure {name!r}")
        found = [getattr(column, name) for column in self.columns.values()]
        found = [value for value in found if value is not None]
        if not found:
            raise AttributeError(f"{name} was not measured; name confidential columns{' and m' * (name == 'm_t')}")
        return min(found) if name in _LARGER_IS_SAFER else max(found)

    def figures(self) -> dict[str, float]:
        """Return k and every figure over all confidential columns, by name; with persons also their largest share."""
        share = {} if self.persons is None else {"max_share": self.persons.highest_share}
        return {"k": self.k, **share, **{name: getattr(self, name) for name in self._measured()}}

    @property
    def values_of(self) -> str:
        """What the figures of confidential columns count: ``persons`` where a unit is known, otherwise ``records``."""
        return "records" if self.persons is None else "persons"

    @property
    def _meanings(self) -> Mapping[str, str]:
        return _MEANINGS if self.persons is None else _PERSON_MEANINGS

    def _measured(self) -> list[str]:
        return [name for name in self._meanings if name != "m_t" or self.m is not None] if self.columns else []

    def achieved(self, requirements: Requirements) -> dict[str, tuple[float, float, bool]]:
        """Return for each requirement the requested value, the achieved one, and whether that satisfies it."""
        if requirements.max_share is not None and self.persons is None:
            raise ParameterError(
                "max_share counts rows of persons, and the table does not show whose they are; name --unit "
                "(Python: unit=), or --original (Python: original=) and --record (Python: record=) of a release"
            )
        return requirements.achieved_by(self.figures())

    def rows(self) -> list[tuple[str, ...]]:
        """Return the figures as rows of text: name, over all, one per column, meaning."""
        blank = ["" for _ in self.columns]
        found = [("k", str(self.k), *blank, self._k_meaning)]
        if self.units is not None:
            found.append(("rows", str(int(self.sizes.min())), *blank, _K_MEANING))
        for name, value in self.known_k().items():
            label = f"k {name.replace('_', ' ')}"
            found.append((label, str(value), *("" for _ in self.columns), _KNOWN_MEANINGS[name]))
        for name in self._measured():
            each = [getattr(column, name) for column in self.columns.values()]
            found.append((self._label(name), _shown(getattr(self, name)), *map(_shown, each), self._meanings[name]))
        return found

    @property
    def _k_meaning(self) -> str:
        if self.of == Of.HISTORIES and self.units is not None:
            return "smallest number of persons with equal sequences of rows"
        return _K_MEANING.replace("records", "different " + self.of.noun) if self.units is not None else _K_MEANING

    def _label(self, name: str) -> str:
        found = sorted({column.recursive_l for column in self.columns.values()})
        return _LABELS.get(name, name).format(m=self.m, l="/".join(map(str, found)))

    def header(self) -> tuple[str, ...]:
        """Return the header of the rows."""
        return ("measure", "all", *self.columns, "meaning")

    def table(self, backend: str | None = None) -> Any:
        """Return the figures as a DataFrame with one row per measure and confidential column.

        Parameters
        ----------
        backend
            ``polars``, ``pandas`` or ``pyarrow``; by default the library of the table that was assessed.

        Returns
        -------
        frame
            Columns ``measure``, ``column`` (empty over all columns), ``value`` and ``meaning``.

        Examples
        --------
        >>> import polars as pl, shoal
        >>> people = pl.DataFrame({"age": [31, 31, 61, 61], "diagnosis": ["A", "B", "C", "C"]})
        >>> found = shoal.assess(people, quasi=["age"], confidential=["diagnosis"])
        >>> found.table().filter(measure="t").rows()[0][:3]
        ('t', '', 0.5)
        """
        rows: list[tuple[str, str, float | None, str]] = [("k", "", float(self.k), self._k_meaning)]
        for name in self._measured():
            rows.append((name, "", float(getattr(self, name)), self._meanings[name]))
            for column, figures in self.columns.items():
                rows.append((name, column, _number(getattr(figures, name)), self._meanings[name]))
        return data_frame(("measure", "column", "value", "meaning"), rows, backend or self.backend)

    def kept_constants(self) -> dict[str, dict[str, Any]]:
        """Return for JSON how many persons or households have several values in columns that are to stay constant."""
        if not self.several_values:
            return {}
        return {"several_values": dict(self.several_values), "constant_within": dict(self.constant_within)}

    def to_dict(self) -> dict[str, Any]:
        """Return all figures for JSON; an infinite figure becomes None."""
        return {
            "records": self.records,
            **({} if self.units is None else {"of": str(self.of), "k_rows": int(self.sizes.min())}),
            **({"notes": list(self.notes)} if self.notes else {}),
            **self.kept_constants(),
            "classes": int(self.sizes.size),
            "quasi": list(self.quasi),
            "confidential": list(self.confidential),
            "confidential_as": self.confidential_as,
            "missing_semantics": self.missing_semantics,
            "m": self.m,
            **{f"k_{name}": value for name, value in self.known_k().items()},
            "figures": {name: _finite(value) for name, value in self.figures().items()},
            **({"counted": self.values_of} if self.columns else {}),
            "columns": {
                name: {key: _finite(value) for key, value in asdict(column).items()}
                for name, column in self.columns.items()
            },
            **({} if self.persons is None else {"persons": self.persons.to_dict()}),
            "risk": None if self.risk is None else self.risk.to_dict(),
            "contributions": None
            if self.contributions is None
            else {name: column.to_dict() for name, column in self.contributions.items()},
            **({} if self.special_uniques is None else {"special_uniques": self.special_uniques.to_dict()}),
        }

    def summary(self) -> str:
        """Return the number of records and classes, and k, as one line."""
        count = int(self.sizes.size)
        of = "" if self.units is None else f" {self.of.noun}"
        return f"{self.records:,} records in {count:,} equivalence class{'es' if count != 1 else ''}, k={self.k}{of}"

    def __repr__(self) -> str:
        lines = [
            f" {column}: " + ", ".join(f"{name}={_shown(getattr(figures, name))}" for name in self._measured())
            for column, figures in self.columns.items()
        ]
        return "\n".join([f"<Assessment: {self.summary()}", *lines]) + ">"

    def __str__(self) -> str:
        return text_table(self.header(), self.rows())

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary())}</p>{html_table(self.header(), self.rows())}"


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
