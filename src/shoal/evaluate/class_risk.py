"""Re-identification risk from the sizes of equivalence classes: prosecutor, journalist, marketer, uniqueness.

Only the released table is needed. Three intruders (El Emam 2013, chapter 16; the vocabulary of ARX). The *prosecutor*
knows that an individual is in the table: a record in a class of f is re-identified with probability 1/f. The
*journalist* knows a population of which the table is a sample: 1/F, with F individuals of the population in the class.
The *marketer* re-identifies as many records as possible: the expected share of correct matches. Averages are over
records, never over classes: nine classes of one record and one of a thousand do not have an average risk of 90 %.
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
    prosecutor, journalist
        The two intruders; without a population the journalist risk equals the prosecutor risk.
    marketer
        The expected share of records matched correctly.
    unique
        The share of sample-unique records: no other record has the same quasi-identifiers.
    population_unique
        The share of records that are unique in the population, as far as it is known.
    records, classes
        The number of records and of classes.
    """

    prosecutor: IntruderRisk
    journalist: IntruderRisk
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
        The number of individuals of the population in each class, counted or estimated; at least the number of records.
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
    F = f if population is None else np.maximum(population.astype(np.float64), f)
    n = float(f.sum())
    prosecutor = _intruder(1 / f, f / n, threshold)
    journalist = _intruder(1 / F, f / n, threshold)
    return ClassRisk(
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=float((f / F).sum() / n) if population is not None else f.size / n,
        unique=float(f[sizes == 1].sum() / n),
        population_unique=float(f[np.rint(F) == 1].sum() / n),
        records=int(n),
        classes=int(f.size),
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
    return ClassRisk(intruder, intruder, intruder.average, unique, unique, risk.size, int(sizes.size))


def population_sizes(
    table: Table,
    names: Sequence[str],
    labels: NDArray[np.int64],
    *,
    population: Table | None = None,
    sampling_weight: str | None = None,
) -> NDArray[np.float64] | None:
    """Return the number of individuals of the population in each class of a table; None without a population.

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
            f'column "{sampling_weight}": {bad} sampling weights are missing, infinite, not numeric or not positive'
        )
    return np.bincount(labels, weights, minlength=count).astype(np.float64)


def of_finer_classes(
    population: NDArray[np.float64] | None, labels: NDArray[np.int64], finer: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return for each of the finer classes the individuals of the class that contains it.

    An intruder who knows the sampling weight distinguishes more records, but the individuals of the population have no
    sampling weight.

    Examples
    --------
    >>> of_finer_classes(np.array([20.0, 1.0]), np.array([0, 0, 1]), np.array([0, 1, 2])).tolist()
    [20.0, 20.0, 1.0]
    """
    return None if population is None else population[labels[np.unique(finer, return_index=True)[1]]]


def _counted(table: Table, names: Sequence[str], labels: NDArray[np.int64], population: Table) -> NDArray[np.float64]:
    first = np.unique(labels, return_index=True)[1]
    try:
        own = pl.DataFrame({name: table.column(name).to_polars() for name in names})[first]
        members = pl.DataFrame({name: population.column(name).to_polars() for name in names})
        counts = members.group_by(names).len("individuals")
        joined = own.join(counts, on=list(names), how="left", nulls_equal=True, maintain_order="left")
    except pl.exceptions.PolarsError:
        raise SchemaError(
            "the quasi-identifiers of the population and of the table have different types; convert them"
        ) from None
    return joined["individuals"].fill_null(0).to_numpy().astype(np.float64)
