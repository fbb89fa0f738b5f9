"""What follows recoding: steps on representatives, rules between columns, and the loss against the original table.

A step after grouping is a function of the representative alone, so equal values stay equal: classes stay as they are or
join, and none becomes smaller than k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import narwhals as nw

from shoal.errors import SchemaError
from shoal.flow.encoding import from_polars
from shoal.flow.group import Grouped
from shoal.flow.prepare import Prepared
from shoal.flow.step_loss import loss_against_original
from shoal.flow.step_values import FittedStep, fit_step
from shoal.recoding.loss import ColumnLoss
from shoal.schema.columns import Recode
from shoal.schema.step_texts import parse_step
from shoal.tables.value_codes import polars_series

if TYPE_CHECKING:
    from shoal.tables.table import Series

_TEXTS = {Recode.RANGE, Recode.SET, Recode.HIERARCHY}


@dataclass(frozen=True, eq=False)
class Finished:
    """Quasi-identifiers as they are released.

    Parameters
    ----------
    columns
        The columns, one value per record.
    losses
        Their losses.
    after
        How many cells of a column steps after grouping changed.
    repaired
        How many cells of a column were changed to keep rules between columns.
    """

    columns: dict[str, Series]
    losses: dict[str, ColumnLoss]
    after: dict[str, int] = field(default_factory=dict)
    repaired: dict[str, int] = field(default_factory=dict)


def after_recoding(
    prepared: Prepared, grouped: Grouped, columns: Mapping[str, Series], losses: Mapping[str, ColumnLoss],
    recodes: Mapping[str, Recode],
) -> Finished:  # fmt: skip
    """Return the released columns after all steps and rules, and their loss.

    Parameters
    ----------
    prepared
        The table that was grouped.
    grouped
        Its groups.
    columns
        The recoded quasi-identifiers, one value per record.
    losses
        Their losses.
    recodes
        What replaced their values.
    """
    found, measured, changed = dict(columns), dict(losses), {}
    for column in prepared.schema.quasi:
        name = column.name
        if not column.after:
            continue
        if recodes[name] in _TEXTS:
            raise SchemaError(
                f'column "{name}" is replaced by {recodes[name]}, a text, so that no step can follow; state the step '
                "before grouping, or another recode"
            )
        found[name], changed[name] = _after_steps(columns[name], column.after)
    repaired: dict[str, int] = {}
    if prepared.schema.keep:
        from shoal.flow.kept_rules import keep_rules

        schema = prepared.schema
        found, repaired = keep_rules(prepared, found, recodes, lambda name: grouped.grouping_of(schema[name]))
    steps = prepared.steps
    dropped = steps is not None and steps.kept is not None
    for name, values in found.items():
        stepped = steps is not None and name in steps.changed
        if dropped or stepped or name in changed or name in repaired:
            measured[name] = loss_against_original(prepared, name, values, losses[name])
    return Finished(found, measured, changed, repaired)


def _after_steps(values: Series, texts: tuple[str, ...]) -> tuple[Series, int]:
    """Return representatives after some steps, and the number of changed cells."""
    from shoal.flow.stepped import changed_cells

    released = polars_series(values)
    for text in texts:
        fitted: FittedStep = fit_step(parse_step(text), released, least=1, owners=None)
        released = fitted.apply(released)
    shown = from_polars(released, values, same_dtype=False)
    return shown, changed_cells(values, nw.from_native(released, series_only=True))
