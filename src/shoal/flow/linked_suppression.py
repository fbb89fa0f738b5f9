"""Columns that are suppressed together: where one of them is suppressed in a group, all are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ParameterError
from shoal.flow.column_recode import ColumnTask
from shoal.flow.generalised_columns import suppressed_groups
from shoal.schema.linked_columns import linked_columns

if TYPE_CHECKING:
    from shoal.flow.prepare import Prepared
    from shoal.schema.columns import Schema


def check_linked(prepared: Prepared) -> None:
    """Raise where columns that are suppressed together are treated differently otherwise."""
    for names in linked_columns(prepared.schema):
        for name in names:
            if name in prepared.by_known or name in prepared.aside:
                raise ParameterError(
                    f'column "{name}" is suppressed together with others and has missing cells that are grouped by '
                    'what is known; choose missing "by-pattern" or, for categories, "category" for it'
                )
        if len({bool(prepared.schema[name].constant) for name in names}) > 1:
            raise ParameterError(
                f'columns "{names[0]}" and "{names[1]}" are suppressed together, but only one of them stays constant '
                "within persons; keep both constant, or none"
            )


def suppressed_together(schema: Schema, tasks: Iterable[ColumnTask]) -> list[ColumnTask]:
    """Return columns with the groups in which each is suppressed because a linked one is."""
    found = {task.entry.column.name: task for task in tasks}
    for names in linked_columns(schema):
        inside = [name for name in names if name in found]
        if inside:
            hidden = np.logical_or.reduce([suppressed_groups(found[name]) for name in inside])
            found |= {name: replace(found[name], hidden=hidden) for name in inside}
    return list(found.values())
