"""Risk from the sizes of classes alone: prosecutor, journalist, marketer, uniqueness; needs only the released table.

Three attackers (El Emam 2013, chapter 16; the vocabulary of ARX). The *prosecutor* knows that a person is in the table:
a record in a class of f is picked out with chance 1/f. The *journalist* knows a population of which the table is a
sample: 1/F, with F people of the population in the class. The *marketer* wants as many records as possible: the
expected share of correct matches. Averages are over records, never over classes: nine classes of one record and one of
a thousand do not have an average risk of 90 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError, SchemaError
from shoal.tables import Table


@dataclass(frozen=True)
class AttackerRisk:
    """The risk from one kind of attacker, over all records.

    Parameters
    ----------
    highest
        The risk of the record that is easiest to pick out.
    average
        The mean over records: the expected share of records that are picked out.
    share_above
        The share of records whose risk is above the threshold.
    threshold
        That threshold.
    """

    highest: float
    average: float
    share_above: float
    threshold: float

    def to_dict(self) -> dict[str, float]:
        """Return the figures for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class ClassRisk:
    """The risk of a table as far as the sizes of its classes tell it.

    Parameters
    ----------
    prosecutor, journalist
        See above; without a population the journalist knows no more than the prosecutor.
    marketer
        The expected share of records matched correctly.
    unique
        The share of records that are alone in their class.
    population_unique
        The share of records that are alone in the population, as far as it is known.
    records, classes
        How many there are.
    """

    prosecutor: AttackerRisk
    journalist: AttackerRisk
    marketer: float
    unique: float
    population_unique: float
    records: int
    classes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return asdict(self)


def class_risk(
    sizes: NDArray[np.int64], *, population: NDArray[np.float64] | None = None, threshold: float = 0.2
) -> ClassRisk:
    """Return the risk from the sizes of the classes of a table.

    Parameters
    ----------
    sizes
        The number of records of each class.
    population
        The number of people of the population in each class, counted or estimated; never fewer than the records.
    threshold
        Records with a risk above this are counted; 0.2 counts those in classes of fewer than 5.

    Returns
    -------
    risk
        Highest, average over records, and share above the threshold. Cost O(classes).

    Examples
    --------
    >>> risk = class_risk(np.array([1, 1, 98]))
    >>> risk.prosecutor.highest, risk.prosecutor.average, risk.prosecutor.share_above, risk.unique
    (1.0, 0.03, 0.02, 0.02)
    """
    if not sizes.size:
        raise DataError("the table has no records, so there is no risk to measure")
    if not 0 < threshold <= 1:
        raise ParameterError(f"threshold={threshold} must be above 0 and at most 1")
    f = sizes.astype(np.float64)
    F = f if population is None else np.maximum(population.astype(np.float64), f)
    n = float(f.sum())
    prosecutor = _attacker(1 / f, f / n, threshold)
    journalist = _attacker(1 / F, f / n, threshold)
    return ClassRisk(
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=float((f / F).sum() / n) if population is not None else f.size / n,
        unique=float(f[sizes == 1].sum() / n),
        population_unique=float(f[np.rint(F) == 1].sum() / n),
        records=int(n),
        classes=int(f.size),
    )


def _attacker(risk: NDArray[np.float64], weight: NDArray[np.float64], threshold: float) -> AttackerRisk:
    above = risk > threshold * (1 + 1e-12)
    return AttackerRisk(float(risk.max()), float(risk @ weight), float(weight[above].sum()), threshold)


def population_sizes(
    table: Table,
    names: Sequence[str],
    labels: NDArray[np.int64],
    *,
    population: Table | None = None,
    sampling_weight: str | None = None,
) -> NDArray[np.float64] | None:
    """Return how many people of the population are in each class of a table, or None where nothing is known of it.

    A population table is counted by equal values in the quasi-identifiers, which suits generalised values; else the
    sampling weights of the records of a class are added up. A class that the population does not have counts its own
    records.
    """
    count = int(labels.max()) + 1
    if population is not None:
        return _counted(table, names, labels, population)
    if sampling_weight is None:
        return None
    weights = table.column(sampling_weight).to_polars().cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if bad:
        raise DataError(
            f'column "{sampling_weight}": {bad} sampling weights are missing, infinite, no numbers or not positive'
        )
    return np.bincount(labels, weights, minlength=count).astype(np.float64)


def _counted(table: Table, names: Sequence[str], labels: NDArray[np.int64], population: Table) -> NDArray[np.float64]:
    first = np.unique(labels, return_index=True)[1]
    try:
        own = pl.DataFrame({name: table.column(name).to_polars() for name in names})[first]
        theirs = pl.DataFrame({name: population.column(name).to_polars() for name in names})
        counts = theirs.group_by(names).len("people")
        joined = own.join(counts, on=list(names), how="left", nulls_equal=True, maintain_order="left")
    except pl.exceptions.PolarsError:
        raise SchemaError(
            "the quasi-identifiers of the population are of other types than those of the table; convert them"
        ) from None
    return joined["people"].fill_null(0).to_numpy().astype(np.float64)
