"""What is found about persons before a release: linked histories, classes of few persons, missing units.

k persons in every class protect rows that no one can link. Rows are shuffled, but columns that are released unchanged
may still show which rows belong to one person (:mod:`shoal.privacy.relinking`). Above :data:`RELINKED_SHARE` the run
stops, unless the user accepts it.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.core.grouping import canonical_labels
from shoal.core.row_classes import distinct_per_class
from shoal.flow.prepare import Prepared
from shoal.flow.units import UnitIndex
from shoal.privacy.k_anonymity import class_labels
from shoal.schema.constant_columns import constant_columns
from shoal.schema.plan import Plan
from shoal.schema.requirements import Of
from shoal.tables import Table

RELINKED_SHARE = 0.05
"""The share of persons with several rows that may be put together again before the run stops."""


@dataclass(frozen=True)
class PersonRemark:
    """A remark about persons: its code and its sentence."""

    code: str
    text: str


def person_remarks(plan: Plan, table: Table, units: UnitIndex | None) -> list[PersonRemark]:
    """Return what a person should know about the persons of a released table.

    Parameters
    ----------
    plan
        What was requested.
    table
        The released table.
    units
        The persons of its rows, in the order of the release.
    """
    if units is None or plan.schema.unit is None:
        return []
    if plan.of == Of.HISTORIES:
        return []
    if plan.schema.keep_links:
        return [_linked_remark(plan, table, units)]
    from shoal.privacy.relinking import measure_relinking

    remarks = []
    found = measure_relinking(table, units.unit)
    share = found.without_order / found.histories if found.histories else 0.0  # the order of the rows is random
    if share > RELINKED_SHARE:
        names = ", ".join(f'"{name}"' for name in found.columns)
        text = (
            f"the rows of {100 * share:.0f} % of the persons with several rows can be put together again through "
            f"{names}, so that k holds for each row and not for all rows of a person"
        )
        remarks.append(PersonRemark("relinking", text))
    if plan.of == Of.ROWS:
        persons = distinct_per_class(class_labels(table, plan.schema.protected), units.unit)
        few = int((persons < plan.requirements.k).sum())
        if few:
            text = (
                f"k counts records: {100 * few / persons.size:.0f} % of the equivalence classes have fewer than "
                f"{plan.requirements.k} different persons"
            )
            remarks.append(PersonRemark("few-persons", text))
    return remarks


def _linked_remark(plan: Plan, table: Table, units: UnitIndex) -> PersonRemark:
    """Return how many persons are alone with their rows, which are linked although k does not count histories."""
    from shoal.privacy.person_risk import linked_risk

    labels = class_labels(table, plan.schema.protected)
    risk = linked_risk(labels, canonical_labels(units.unit))
    alone, few = float((risk > 0.999).mean()), float((risk * plan.requirements.k > 1 + 1e-9).mean())
    text = (
        f"the rows of a person stay linked, but k counts {plan.of.noun} in each class: {100 * alone:.0f} % of the "
        f"persons are the only ones with rows in all of their classes, and {100 * few:.0f} % share these with fewer "
        f"than {plan.requirements.k}; count histories to protect linked rows"
    )
    return PersonRemark("linked-persons", text)


def original_remarks(plan: Plan, prepared: Prepared) -> list[PersonRemark]:
    """Return what a person should know about rows that are suppressed and columns that are constant within persons."""
    remarks, whole, schema = [], prepared.complete, plan.schema
    if prepared.whole is not None:
        left = whole.n - prepared.n
        rows = "1 row is" if left == 1 else f"{left:,} rows are"
        text = (
            f"{rows} not released, because not all persons of the group have one in their place; "
            f"{100 * prepared.n / whole.n:.1f} % of {whole.n:,} rows are kept"
        )
        remarks.append(PersonRemark("rows-suppressed", text))
    owner = schema.unit or schema.household
    undecided = [column.name for column in schema.quasi if column.constant is None]
    if owner is None or not undecided:
        return remarks
    found = constant_columns(whole.table, owner, undecided)
    if found:
        names = ", ".join(column.text for column in found)
        kept = "persons" if schema.unit else "households"
        verb = "is" if len(found) == 1 else "are"
        text = (
            f"{names} {verb} constant within {kept} and may get several values in their rows; keep one value with "
            "--constant (Python: constant=[...]), or state --constant none (Python: constant=none)"
        )
        remarks.append(PersonRemark("constant-columns", text))
    return remarks
