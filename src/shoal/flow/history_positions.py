"""Requirements at each position of equal histories, counted on a finished table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.equal_histories import position_labels
from shoal.core.grouping import canonical_labels
from shoal.errors import RequirementNotMet
from shoal.privacy.k_anonymity import class_labels
from shoal.schema.columns import Role, Schema
from shoal.schema.requirements import Requirements, violation

if TYPE_CHECKING:
    from shoal.flow.units import UnitIndex
    from shoal.tables import Table


def require_at_positions(table: Table, schema: Schema, requirements: Requirements, persons: UnitIndex) -> None:
    """Raise where the rows at one position of equal sequences violate a requirement.

    Rows of a person that have the same released values form one class with each other, but who knows the whole history
    also knows which of them came first.

    Parameters
    ----------
    table
        The finished table.
    schema, requirements
        What is counted and what must hold.
    persons
        Person and position of each row.
    """
    from shoal.flow.satisfy import confidential_values
    from shoal.privacy.person_joins import PersonRequirements

    columns = [schema[name] for name in schema.named(Role.CONFIDENTIAL)] if requirements.beyond_k else []
    values = confidential_values(table, columns, requirements)[1] if columns else ()
    units = canonical_labels(persons.unit)
    labels = position_labels(class_labels(table, schema.protected), units, persons.order)
    problem = PersonRequirements(requirements, units, values).violated(labels)
    if problem is not None:
        name, _, requested, achieved = problem
        violated = violation(name, requested, achieved, persons=True)
        raise RequirementNotMet(f"{violated}, at one position of persons with equal histories")
