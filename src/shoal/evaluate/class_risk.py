"""Re-identification risk from the sizes of equivalence classes: prosecutor, journalist, marketer, uniqueness.

Only the released table is needed. Three intruders (El Emam 2013, chapter 16; the vocabulary of ARX). The *prosecutor*
knows that an individual is in the table: a record in a class of f is re-identified with probability 1/f. The
*journalist* knows a population of which the table is a sample; measured only where something is known about the
population, see :mod:`shoal.evaluate.population_risk`. The *marketer* re-identifies as many records as possible: the
expected share of correct matches. Averages are over records, never over classes: nine classes of one record and one of
a thousand do not have an average risk of 90 %.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, ParameterError
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.evaluate.population_risk import PopulationFigures


@dataclass(frozen=True)
class IntruderRisk:
    """The risk from one kind of intruder, over all records.

    Parameters
    ----------
    highest
        The largest risk of a record.
    average
        The mean over records: the expected share of records that are re-identified.
    share_above
        The share of records whose risk is above the threshold.
    threshold
        The threshold.
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
    """The risk of a table that follows from the sizes of its equivalence classes.

    Parameters
    ----------
    prosecutor
        The intruder who knows that an individual is in the table.
    journalist
        The intruder who knows the population; None where nothing is known about it.
    marketer
        The expected share of records matched correctly.
    unique
        The share of sample-unique records: no other record has the same quasi-identifiers.
    population_unique
        The share of records that are expected to be unique in the population; None where nothing is known about it.
    records, classes
        The number of records and of classes.
    population
        All figures against the population; None where nothing is known about it.
    """

    prosecutor: IntruderRisk
    journalist: IntruderRisk | None
    marketer: float
    unique: float
    population_unique: float | None
    records: int
    classes: int
    population: PopulationFigures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {**asdict(self), "population": None if self.population is None else self.population.to_dict()}


def class_risk(
    sizes: NDArray[np.int64],
    *,
    coarse: NDArray[np.int64] | None = None,
    counted: NDArray[np.float64] | None = None,
    people: NDArray[np.float64] | None = None,
    population: int | None = None,
    threshold: float = 0.2,
) -> ClassRisk:
    """Return the risk from the sizes of the classes of a table.

    Parameters
    ----------
    sizes
        The number of records of each class.
    coarse
        The number of records of each class for an intruder who knows the population, where that intruder distinguishes
        fewer records (individuals have no sampling weight); the same as ``sizes`` if not given.
    counted
        The number of individuals of a population table in each of these classes.
    people
        The sum of the sampling weights of each of these classes.
    population
        The number of individuals of the population.
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
        raise DataError("the table has no records, so no risk can be measured")
    if not 0 < threshold <= 1:
        raise ParameterError(f"threshold={threshold} must be above 0 and at most 1")
    f = sizes.astype(np.float64)
    n = float(f.sum())
    prosecutor = _intruder(1 / f, f / n, threshold)
    journalist = figures = None
    if counted is not None or people is not None or population is not None:
        from shoal.evaluate.population_risk import against_population

        known = sizes if coarse is None else coarse
        risk, figures = against_population(known, counted=counted, people=people, population=population)
        journalist = _intruder(risk, known / n, threshold)
    return ClassRisk(
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=prosecutor.average if journalist is None else journalist.average,
        unique=float(f[sizes == 1].sum() / n),
        population_unique=None if figures is None else figures.population_unique,
        records=int(n),
        classes=int(f.size),
        population=figures,
    )


def _intruder(risk: NDArray[np.float64], weight: NDArray[np.float64], threshold: float) -> IntruderRisk:
    above = risk > threshold * (1 + 1e-12)
    return IntruderRisk(float(risk.max()), float(risk @ weight), float(weight[above].sum()), threshold)


def overlapping_class_risk(sizes: NDArray[np.int64], labels: NDArray[np.int64], *, threshold: float = 0.2) -> ClassRisk:
    """Return the risk of classes that overlap, because missing values match any value.

    Parameters
    ----------
    sizes
        The number of records that each class matches.
    labels
        The class of each record.
    threshold
        Records with a risk above this are counted.

    Examples
    --------
    >>> overlapping_class_risk(np.array([2, 4]), np.array([0, 0, 1, 1])).prosecutor.average
    0.375
    """
    risk = 1.0 / sizes[labels]
    above = float((risk > threshold * (1 + 1e-12)).mean())
    intruder = IntruderRisk(float(risk.max()), float(risk.mean()), above, threshold)
    unique = float((risk == 1.0).mean())
    return ClassRisk(intruder, None, intruder.average, unique, None, risk.size, int(sizes.size))


def people_in_classes(table: Table, labels: NDArray[np.int64], sampling_weight: str) -> NDArray[np.float64]:
    """Return the sum of the sampling weights of each class; every weight must be a positive number."""
    weights = table.column(sampling_weight).to_polars().cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if bad:
        raise DataError(
            f'column "{sampling_weight}": {bad} sampling weights are missing, infinite, not numeric or not positive'
        )
    return np.bincount(labels, weights, minlength=int(labels.max()) + 1).astype(np.float64)
