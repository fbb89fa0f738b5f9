"""The risk of a table as it stands: sizes of equivalence classes, and what is known about the population."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.progress import SILENT
from shoal.evaluate.class_risk import ClassRisk, class_risk, overlapping_class_risk, people_in_classes
from shoal.privacy.equivalence_classes import EquivalenceClasses
from shoal.privacy.k_anonymity import class_labels
from shoal.schema.columns import Schema
from shoal.schema.loading import load_for_counting
from shoal.schema.plan import ReadOptions
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.evaluate.population_risk import KnownPopulation


def known_population(population: Any, sampling_fraction: float | None, records: int) -> KnownPopulation | None:
    """Return what the arguments state about the population; None if they state nothing."""
    if population is None and sampling_fraction is None:
        return None
    from shoal.evaluate.population_risk import known_population as read

    return read(population, sampling_fraction, records)


def table_risk(
    table: Table,
    schema: Schema,
    matching: EquivalenceClasses,
    *,
    threshold: float,
    known: KnownPopulation | None = None,
    reading: ReadOptions,
    households: NDArray[np.int64] | None = None,
) -> ClassRisk:
    """Return the risk of a table from the sizes of its classes, averaged over records.

    Parameters
    ----------
    table, schema
        The table and its schema; a sampling weight adds up to the population.
    matching
        The classes of the quasi-identifiers. Where missing values are wildcards nothing is measured against the
        population.
    threshold
        Records with a risk above this are counted.
    known
        The size or a table of the population, if it is known.
    reading
        How the file of a population is read.
    households
        The household of each record, if known.
    """
    if matching.links:
        return overlapping_class_risk(matching.sizes(), matching.labels, threshold=threshold)
    weight, coarse, names = schema.released_weight, matching.labels, schema.protected
    labels = class_labels(table, schema.with_weight) if weight is not None else coarse
    people = None if weight is None else people_in_classes(table.with_types([weight]), coarse, weight)
    counted = None
    if known is not None and known.table is not None:
        from shoal.evaluate.population_risk import population_of_classes

        others = load_for_counting(known.table, names, reading, SILENT).with_types(names)
        stated = [column for column in schema.columns if column.kind_stated or column.order or column.hierarchy]
        kinds = Schema(tuple(stated))  # a range of numbers is a text, whose guessed kind says nothing
        counted = population_of_classes(others, table.with_types(names), others, names, coarse, kinds)
    found = class_risk(
        np.bincount(labels), coarse=np.bincount(coarse), counted=counted, people=people,
        population=None if known is None else known.size, threshold=threshold,
    )  # fmt: skip
    if households is None or found.population is None:
        return found
    from shoal.evaluate.population_risk import against_population, persons_in_found_households

    risk, _ = against_population(
        np.bincount(coarse), counted=counted, people=people, population=None if known is None else known.size
    )
    persons = persons_in_found_households(risk[coarse], households)
    return replace(found, population=replace(found.population, in_found_households=persons))
