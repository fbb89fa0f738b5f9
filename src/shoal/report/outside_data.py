"""Data from outside of the release that a report may measure with: the population, and people who are not in it.

A population, as its size or as a table, gives the risk of a journalist; a control table, people of the same population
who are not in the release, is the baseline of singling out, linkability, membership and inference. Nothing of either is
released, and the public report uses neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import SchemaError
from shoal.evaluate.attacks import Attack
from shoal.evaluate.contribution import contributions
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import pair_with_others
from shoal.evaluate.population_risk import check_sampling_fraction, known_population, population_of_classes
from shoal.evaluate.risk import control_units, controlled_attacks
from shoal.flow.stepped import comparable_original
from shoal.privacy.k_anonymity import Classes
from shoal.schema.columns import Schema
from shoal.schema.loading import load_file_or_frame
from shoal.tables import Table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CRITERIA = {
    "singling-out": (
        "Singling out",
        "A predicate on {} that holds for one released class is true for exactly one record.",
    ),
    "linkability": ("Linkability", "Two sources with different columns of one person are linked by the release."),
    "membership": (
        "Membership",
        "Someone in the table is nearer to the release than someone who is not; 50 % says nothing.",
    ),
    "attribute-disclosure": ("Inference", "The confidential value follows from the nearest equivalence class."),
}
"""Name and meaning of each attack that is compared with a control table."""


@dataclass(frozen=True, eq=False)
class OutsideData:
    """What is known besides the original and the release.

    Parameters
    ----------
    population
        A table of the population; None if there is none.
    individuals
        The number of individuals of the population; None if not known.
    control
        A table of people of the same population who are not in the release; None if there is none.
    """

    population: Table | None = None
    individuals: int | None = None
    control: Table | None = None

    def people(self, original: Table, table: Table, labels: Integers, schema: Schema) -> Floats | None:
        """Return for each class how many individuals of the population are nearest to it; None without a table."""
        if self.population is None:
            return None
        return population_of_classes(original, table, self.population, schema.protected, labels, schema)


def outside_data(
    population: Any, sampling_fraction: float | None, control: Any, *, records: int, schema: Schema,
    options: Mapping[str, Any],
) -> OutsideData | None:  # fmt: skip
    """Return what a user states about the population, and a control table; None where nothing is stated.

    Parameters
    ----------
    population
        The number of individuals of the population, a table of them, or the path of a file.
    sampling_fraction
        The share of the population that the table is, instead of its size.
    control
        A table of people who are not in the release, or the path of a file.
    records
        The number of records of the release.
    schema
        Bands and mappings before grouping are applied to both tables, as an intruder would.
    options
        How files are read.

    Examples
    --------
    >>> outside_data(None, 0.1, None, records=50, schema=Schema(()), options={}).individuals
    500
    """
    check_sampling_fraction(sampling_fraction)
    if population is None and sampling_fraction is None and control is None:
        return None
    known = known_population(population, sampling_fraction, records)
    tables = [
        None if given is None else comparable_original(_complete(given, name, schema, options), schema)[0]
        for name, given in (("population", known.table), ("control", control))
    ]
    return OutsideData(tables[0], known.size, tables[1])


def _complete(given: Any, name: str, schema: Schema, options: Mapping[str, Any]) -> Table:
    """Return a table that has all quasi-identifiers."""
    table = load_file_or_frame(given, options if isinstance(given, str | Path) else {})
    for column in schema.protected:
        if column not in table.names:
            raise SchemaError(
                f'the {name} table has no column "{column}"; it needs all quasi-identifiers and strata of the table'
            )
    return table.with_types(schema.protected)


def attacks_against_control(
    original: Table, released: Table, control: Table, schema: Schema, confidential: Sequence[str],
    *, units: Integers | None = None, sample: int | None = None,
) -> tuple[Attack, ...]:  # fmt: skip
    """Return singling out, linkability, membership and inference, each beside the same attack on a control table.

    Parameters
    ----------
    original, released
        The tables, the same records in the same order.
    control
        People of the same population who are not in the release.
    schema
        Quasi-identifiers, kinds and orders.
    confidential
        The confidential attributes that are inferred, of which those in the control table are.
    units
        The person of each record, where persons have several.
    sample
        The most records that inference tries; None for all.
    """
    names = schema.protected
    inferred = [name for name in confidential if name in control.names]
    control = control.with_types(inferred)
    pairs, values = pair_with_others(original, released, control, [*names, *inferred], schema)
    matcher = Matcher(pairs[: len(names)])
    shares = contributions(released, names, classes=Classes(matcher.sizes))
    controlled = [replace(pair, original=part) for pair, part in zip(pairs, values, strict=True)]
    whose = None if units is None else control_units(control, schema)
    found = controlled_attacks(
        matcher, pairs[len(names) :], controlled, shares, (units, whose), {"width": 0.05, "sample": sample, "seed": 0}
    )
    return tuple(found)


def criterion_rows(attacks: Sequence[Attack]) -> list[dict[str, Any]]:
    """Return name, meaning and figures of each attack for the report."""
    rows = []
    for attack in attacks:
        name, meaning = CRITERIA[attack.name]
        if attack.counted == "persons":
            meaning = meaning.replace("one record", "one person")
        rows.append({
            "name": name, "meaning": meaning.format(attack.target), "target": "" if "{}" in meaning else attack.target,
            "success": attack.success, "baseline": attack.baseline.value, "excess": attack.baseline_adjusted_success,
        })  # fmt: skip
    return rows
