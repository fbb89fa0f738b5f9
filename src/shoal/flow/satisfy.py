"""Limits beyond k in the flow of a protection: read them, refuse what cannot be reached, keep them, recount them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.api.checks import require
from shoal.core.grouping import Grouping
from shoal.core.progress import Progress
from shoal.errors import ParameterError, SchemaError
from shoal.privacy.assessment import NAMES, Assessment, assess_column
from shoal.privacy.confidential import Values, read_values
from shoal.privacy.counts import count_values
from shoal.privacy.equivalence_classes import Holes, match_records
from shoal.schema.columns import Column, Kind, Role, Schema
from shoal.schema.requirements import Requirements
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.flow.prepare import Prepared


@dataclass(frozen=True)
class Limits:
    """What every group must keep, and the confidential columns it is about.

    Parameters
    ----------
    requirements
        The limits.
    columns
        The confidential columns, as they are compared.
    values
        Their values in the table that is protected.
    """

    requirements: Requirements
    columns: tuple[Column, ...]
    values: tuple[Values, ...]

    def group_size(self, k: int) -> int:
        """Return how many records a group needs: k, or more where no smaller group can keep the limits."""
        from shoal.privacy.requirement_table import smallest_size

        return max(k, smallest_size(self.requirements, self.values, self.values[0].codes.size))

    def check_reachable(self, blocks: Sequence[NDArray[np.int64]]) -> None:
        """Refuse limits that even one group per block would break, and name the best value that can be reached."""
        labels = np.empty(self.values[0].codes.size, np.int64)
        for number, records in enumerate(blocks):
            labels[records] = number
        for column in self.values:
            found = assess_column(
                count_values(labels, column.codes, n_values=column.n_values),
                column.distance,
                l=self.requirements.recursive_l,
            )
            figures = {name: getattr(found, name) for name in NAMES}
            for name, (asked, best, enough) in self.requirements.reached_by(figures).items():
                if not enough:
                    whole = len(blocks) == 1
                    where = "all records in one group" if whole else "one group per stratum or hole pattern"
                    raise ParameterError(
                        f'{name}={asked:g} cannot be reached for column "{column.name}" with its {found.values} '
                        f"values: even {where} has {name}={best:.4g}; ask for that or less protection"
                    )

    def kept(
        self, prepared: Prepared, grouping: Grouping, k: int, max_size: int | None, facts: dict[str, Any],
        progress: Progress,
    ) -> Grouping:  # fmt: skip
        """Return groups near the given ones that keep the limits, block by block."""
        from shoal.privacy.enforcement import keep_limits
        from shoal.privacy.requirement_table import build_table

        table = build_table(self.requirements, self.values)
        codes = np.column_stack([column.codes for column in self.values])
        points = prepared.points()
        labels = grouping.labels.copy()
        told: dict[str, int] = {}
        start = 0
        for records in prepared.blocks:
            block: dict[str, int] = {}
            found = keep_limits(
                points[records], labels[records], k, codes[records], table, progress=progress, facts=block
            )
            labels[records] = found + start
            start += int(found.max()) + 1
            told = {name: told.get(name, 0) + count for name, count in block.items()}
        facts["limits"] = told
        kept = Grouping(labels, k, max_size=max_size)
        if not np.array_equal(kept.labels, grouping.labels):
            prepared.standing = None
        return kept

    def recount(self, released: Table, schema: Schema) -> Assessment:
        """Assess the finished table from scratch and refuse it if it breaks a limit."""
        matching = match_records(released, schema.protected, Holes.OWN_VALUE)
        columns = {}
        for column in self.columns:
            values = read_values(_typed(released, column), column, Holes.OWN_VALUE)
            columns[column.name] = assess_column(
                matching.counts(values.codes, values.n_values), values.distance, l=self.requirements.recursive_l
            )
        sizes = matching.sizes()
        found = Assessment(
            records=released.n_rows, sizes=sizes, members=sizes, quasi=tuple(schema.protected),
            confidential=tuple(columns), reading="each", missing=str(Holes.OWN_VALUE), columns=columns,
        )  # fmt: skip
        require(found, self.requirements)
        return found

    def for_manifest(self, found: Assessment) -> dict[str, Any]:
        """Return what was asked for and reached, for the manifest."""
        return {
            "confidential": {column.name: column.distance.name for column in self.values},
            **({"l_kind": str(self.requirements.l_kind)} if self.requirements.l is not None else {}),
            **({"l": self.requirements.l} if self.requirements.c is not None else {}),
            **{
                name: {"asked": asked, "reached": reached}
                for name, (asked, reached, _) in found.reached(self.requirements).items()
            },
        }


def read_limits(
    table: Table, schema: Schema, requirements: Requirements, explicit: Container[str] = ()
) -> Limits | None:
    """Return the limits of a protection, or None where only k is asked for.

    Parameters
    ----------
    table, schema
        What is protected.
    requirements
        The limits.
    explicit
        Columns whose kind the user stated; text in the others is compared by value where all of it is numbers.
    """
    if not requirements:
        return None
    if requirements.delta is not None:
        raise ParameterError(
            "delta can be verified but not asked for: two groups that keep it may break it together; ask for beta"
        )
    names = schema.named(Role.CONFIDENTIAL)
    if not names:
        raise SchemaError(
            f"{next(iter(requirements.asked()))} limits what is learned about confidential columns, but none is named; "
            "name them with confidential="
        )
    columns = tuple(_column(table, schema[name], stated=name in explicit) for name in names)
    values = tuple(read_values(_typed(table, column), column, Holes.OWN_VALUE) for column in columns)
    return Limits(requirements, columns, values)


def _column(table: Table, column: Column, *, stated: bool) -> Column:
    """Return the column with the kind by which it is compared: text that is all numbers is numeric unless stated."""
    if stated or column.kind != Kind.NOMINAL or table.value_labels(column.name):
        return column
    series = table.column(column.name).to_polars()
    if series.dtype != pl.String or table.source is None:
        return column
    return replace(column, kind=Kind.NUMERIC, recode=None) if _numbers(table, series) is not None else column


def _typed(table: Table, column: Column) -> Table:
    """Return the table with a numeric column as numbers, where a text file kept it as it was written."""
    series = table.column(column.name).to_polars()
    if column.kind != Kind.NUMERIC or series.dtype != pl.String:
        return table
    numbers = _numbers(table, series)
    if numbers is None:
        raise SchemaError(f'column "{column.name}" is to be numeric but holds text; correct it or call it nominal')
    return Table.from_native(pl.DataFrame({column.name: numbers}))


def _numbers(table: Table, series: pl.Series) -> pl.Series | None:
    """Return text as numbers, or None if some of it is none."""
    texts = series.str.strip_chars()
    if table.dialect is not None and table.dialect.decimal == ",":
        texts = texts.str.replace(",", ".", literal=True)
    numbers = texts.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == series.null_count() and len(numbers) else None
