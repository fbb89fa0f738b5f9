"""The work on one part of a table: the stages of an ordinary protection, with the encoding of the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.core.progress import SILENT, Progress
from shoal.engines.leaf_figures import LeafFigures, leaf_figures
from shoal.errors import ParameterError
from shoal.flow.encoding import Encoding
from shoal.flow.prepare import prepare
from shoal.flow.recode import group_and_recode
from shoal.schema.columns import Schema
from shoal.schema.plan import Plan
from shoal.tables import Table

ROW = "__shoal_row"
"""The column of row numbers that travels with the rows of a part."""


@dataclass(frozen=True, eq=False)
class LeafRelease:
    """The released rows of a part, in the order of their numbers, and what was counted.

    Parameters
    ----------
    table
        The rows as a pyarrow Table.
    figures
        Counts and sums.
    """

    table: Any
    figures: LeafFigures


def protect_part(part: Any, plan: Plan, encoding: Encoding, progress: Progress = SILENT) -> LeafRelease:
    """Protect the rows of a part.

    Parameters
    ----------
    part
        A pyarrow Table of the rows in the order of their numbers, without the numbers.
    plan
        What is requested.
    encoding
        The encoding of the whole table.
    progress
        Progress callback.
    """
    prepared = prepare(Table.from_native(part), encoding)
    grouped, recoded = group_and_recode(prepared, plan, progress=progress)
    from shoal.tables.table import to_arrow

    return LeafRelease(to_arrow(recoded.table), leaf_figures(prepared, grouped, recoded))


def check_engine_plan(plan: Plan, engine: str) -> None:
    """Raise for what an engine that protects a table in parts cannot do, in one sentence that names the way out."""
    schema, requirements = plan.schema, plan.requirements
    unit = schema.unit is not None or schema.household is not None
    refused = {
        "keep_moments moves all representatives by one map of the whole table": plan.keep_moments,
        "histories and columns that stay constant within persons need all rows of a person together": plan.by_persons,
        "keep_links needs all rows of a person together": schema.keep_links,
        "global_recoding needs identical records of the whole table together": requirements.global_recoding,
        "l, p, alpha, t, beta and max_share count persons where there is a unit, over the whole table": unit
        and (requirements.beyond_k or requirements.max_share is not None),
        "a time limit makes parts depend on the speed of the machine": plan.method.time_limit is not None,
        'method "full-domain" has one level of generalisation for the whole table': plan.method.name == "full-domain",
        "groups of your own (labels) may lie in several parts of the table": plan.method.text.startswith("labels:"),
        "steps before or after grouping depend on the whole table": _has_steps(schema),
        "statistics are compared on the whole table": bool(schema.statistics),
        "not_applicable cells are divided over the whole table": any(c.not_applicable for c in schema.quasi),
    }
    for reason, holds in refused.items():
        if holds:
            raise ParameterError(
                f"{reason}, and engine={engine} protects it in parts; leave that out, or take engine=local"
            )


def _has_steps(schema: Schema) -> bool:
    return any(column.before or column.after for column in schema.columns)
