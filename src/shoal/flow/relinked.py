"""What is found about persons before a release: linked histories, classes of few persons, missing units.

k persons in every class protect rows that no one can link. Rows are shuffled, but columns that are released unchanged
may still show which rows belong to one person (:mod:`shoal.privacy.relinking`). Above :data:`RELINKED_SHARE` the run
stops, unless the user accepts it.
"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.core.row_classes import distinct_per_class
from shoal.errors import LinksNotAccepted
from shoal.flow.prepare import Prepared
from shoal.flow.units import UnitIndex
from shoal.privacy.k_anonymity import class_labels
from shoal.privacy.relinking import measure_relinking
from shoal.schema.columns import Role
from shoal.schema.person_numbers import RepeatedNumber, repeated_numbers
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


def asked_persons(plan: Plan, prepared: Prepared) -> list[RepeatedNumber]:
    """Return the columns that look like the number of a person and repeat, where no unit and no ``of`` is stated."""
    schema = plan.schema
    if schema.unit is not None or plan.requirements.of is not None:
        return []
    columns = [column for column in schema.columns if column.name not in {schema.household, schema.time}]
    unclear = [column.name for column in columns if column.role in {Role.IDENTIFIER, Role.OTHER}]
    return repeated_numbers(prepared.table, [column.name for column in columns], unclear)


def check_relinking(remarks: tuple[object, ...]) -> None:
    """Raise where the rows of too many persons can be put together again, which a user has to accept."""
    for remark in remarks:
        if getattr(remark, "code", "") == "relinking":
            raise LinksNotAccepted(
                f"{remark}: nothing was released; drop or coarsen these columns, declare them as quasi-identifiers, or "
                "accept it with --accept-relinking (Python: accept_relinking=True)"
            )
