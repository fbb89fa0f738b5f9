"""Statistics that must hold, computed on the original and on the released table, and compared.

SQL is run by polars on the columns of the released table only; it reads no files and opens no network (see
:mod:`shoal.schema.statistic`). Figures of the original are confidential: errors and the manifest state names,
tolerances and numbers of domains, never figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.errors import ParameterError, RequirementNotMet, function_name
from shoal.flow.released import Released
from shoal.schema.plan import JsonDict
from shoal.schema.statistic import RECORDS, TABLE, Statistic
from shoal.tables import Table

_SCAN = re.compile(r"(?m)^\s*\w+ SCAN \[")
"""A file in the plan of a query; the check of its functions leaves none, and a later polars might have other ways."""


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of a statistic before and after.

    Parameters
    ----------
    domain
        What the figure is about; empty for the whole table.
    before, after
        The figure of the original and that of the release; None where the table has no such domain.
    allowed
        The largest change that is allowed; None without a tolerance.
    records
        The number of records of the domain in the original, where it is known.
    """

    domain: tuple[str, ...]
    before: float | None
    after: float | None
    allowed: float | None
    records: int | None = None

    @property
    def change(self) -> float:
        """The change; infinite where one of both does not exist."""
        if self.before is None or self.after is None:
            return 0.0 if self.before is self.after else math.inf
        return self.after - self.before

    @property
    def holds(self) -> bool:
        """Whether the change is within the tolerance."""
        return self.allowed is None or abs(self.change) <= self.allowed * (1 + 1e-9) + 1e-12


@dataclass(frozen=True)
class ComparedStatistic:
    """A statistic before and after; its figures are confidential.

    Parameters
    ----------
    statistic
        The statistic.
    figures
        One entry for each domain.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 32, 60, 62], "pay": [1, 2, 3, 4]})
    >>> release = shoal.protect(people, 2, quasi=["age"], unnamed="other", method="mdav",
    ...                         statistics=[{"name": "mean age", "value": "age", "tolerance": 1}])
    >>> release.statistics[0].sentence()
    'mean age: within its tolerance'
    """

    statistic: Statistic
    figures: tuple[ComparedFigure, ...]

    @property
    def outside(self) -> int:
        """The number of figures outside the tolerance."""
        return sum(not figure.holds for figure in self.figures)

    @property
    def largest_change(self) -> float:
        """The largest absolute change of a figure."""
        return max((abs(figure.change) for figure in self.figures), default=0.0)

    def sentence(self) -> str:
        """Return the result without figures."""
        name = self.statistic.name
        if not self.statistic.limited:
            return f"{name}: no tolerance was stated"
        domains = f"{self.outside:,} of {len(self.figures):,} domains are outside the tolerance"
        held = "within its tolerance" + (f" in all {len(self.figures):,} domains" if len(self.figures) > 1 else "")
        return f"{name}: {held if not self.outside else domains if len(self.figures) > 1 else 'outside its tolerance'}"

    def to_dict(self) -> JsonDict:
        """Return all figures for JSON; confidential."""
        return {
            "name": self.statistic.name, "tolerance": self.statistic.tolerance, "relative": self.statistic.relative,
            "outside": self.outside,
            "figures": [
                {"domain": list(one.domain), "before": one.before, "after": one.after, "holds": one.holds}
                for one in self.figures
            ],
        }  # fmt: skip


def compare_statistics(
    statistics: Sequence[Statistic], original: Table, released: Table
) -> tuple[ComparedStatistic, ...]:
    """Compute statistics on both tables.

    Parameters
    ----------
    statistics
        The statistics.
    original, released
        The tables; queries see the columns that both have.

    Returns
    -------
    compared
        One entry for each statistic, with a figure for each domain of either table.
    """
    names = [name for name in released.names if name in original.names]
    before, after = (_frame(table, names) for table in (original, released))
    return tuple(_compared(one, before, after) for one in statistics)


def check_statistics(released: Released, original: Table) -> tuple[ComparedStatistic, ...]:
    """Compute the statistics of a plan on both tables; raise if one is outside its tolerance."""
    compared = compare_statistics(released.schema.statistics, original, released.table)
    failed = [one for one in compared if one.outside]
    if failed:
        texts = "; ".join(one.sentence() for one in failed)
        raise RequirementNotMet(
            f"nothing was released, because statistics that must hold do not: {texts}; choose a smaller k, another "
            "method or recode, or a larger tolerance"
        )
    return compared


def statistics_entry(statistics: Sequence[Statistic]) -> list[JsonDict]:
    """Return what a manifest states: which statistics are within which tolerance, without any figure."""
    return [
        {"name": one.name, "tolerance": one.tolerance, "relative": one.relative, "required": one.limited}
        for one in statistics
    ]


def _frame(table: Table, names: Sequence[str]) -> pl.DataFrame:
    typed = table.with_types(list(names))
    return pl.DataFrame({name: typed.column(name).to_polars() for name in names})


def _compared(statistic: Statistic, before: pl.DataFrame, after: pl.DataFrame) -> ComparedStatistic:
    old, counts = _figures(statistic, before, "original")
    new, _ = _figures(statistic, after, "released")
    figures = tuple(
        ComparedFigure(
            domain, old.get(domain), new.get(domain),
            statistic.allowed(old.get(domain) or 0.0) if statistic.limited else None, counts.get(domain),
        )
        for domain in sorted({*old, *new})
    )  # fmt: skip
    return ComparedStatistic(statistic, figures)


Domain = tuple[str, ...]


def _figures(statistic: Statistic, frame: pl.DataFrame, which: str) -> tuple[dict[Domain, float], dict[Domain, int]]:
    """Return the figures of one table by domain, and the records of each domain where they are known."""
    if statistic.function is not None:
        return _of_function(statistic, frame, which), {}
    try:
        found = _result(statistic.query(), frame)
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        ValueError,
        TypeError,
        OSError,
    ):  # may quote values
        raise ParameterError(
            f'statistic "{statistic.name}" cannot be computed on the {which} table; check its SQL and the names of its '
            "columns, which have to be in both tables"
        ) from None
    counts = found[RECORDS].to_list() if statistic.value is not None else []
    keys = [name for name in found.columns[:-1] if statistic.value is None or name != RECORDS]
    figures: dict[Domain, float] = {}
    domains = [tuple("missing" if item is None else str(item) for item in row) for row in found.select(keys).rows()]
    domains = domains if keys else [()] * found.height
    last = found[found.columns[-1]].cast(pl.Float64, strict=False).to_list()
    for domain, value in zip(domains, last, strict=True):
        if domain in figures:
            raise ParameterError(
                f'statistic "{statistic.name}" has two figures for one domain; its last column is the figure, and the '
                "columns before it must name each domain once"
            )
        if value is not None and math.isfinite(value):
            figures[domain] = float(value)
    return figures, dict(zip(domains, counts, strict=False))


def _result(query: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the result of a query of one table; raises ValueError where its plan has another source."""
    planned = pl.SQLContext({TABLE: frame}, register_globals=False, eager=False).execute(query)
    if _SCAN.search(planned.explain(optimized=False)):
        raise ValueError("the query reads a file")
    return planned.collect()


def _of_function(statistic: Statistic, frame: pl.DataFrame, which: str) -> dict[Domain, float]:
    assert statistic.function is not None
    try:
        found = statistic.function(frame)
        entries = found if isinstance(found, Mapping) else {(): found}
        return {
            key if isinstance(key, tuple) and not key else (str(key),): float(value)
            for key, value in entries.items()
            if math.isfinite(float(value))
        }
    except Exception:  # noqa: BLE001 - the text of a foreign error may quote values
        raise ParameterError(
            f'statistic "{statistic.name}": the function {function_name(statistic.function)} failed on the {which} '
            "table, or returned neither a number nor a mapping of numbers"
        ) from None
