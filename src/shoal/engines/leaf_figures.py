"""What is counted while the parts of a table are protected, and added up in the order of the parts.

Only counts and sums leave a part; the manifest of the whole release is made from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.core.group_statistics import largest_shares
from shoal.flow.encoding import Floats
from shoal.flow.group import Grouped, MethodRun
from shoal.flow.known_cells import ChangedCells
from shoal.flow.prepare import Prepared
from shoal.flow.recode import Recoded
from shoal.flow.remarks import DOMINANT_SHARE
from shoal.recoding.loss import ColumnLoss, Loss
from shoal.schema.columns import Kind, Recode

Key = TypeVar("Key", bound="str | int")


@dataclass(frozen=True, eq=False)
class ColumnFigures:
    """The loss of one column in a part, and what the total of the whole table follows from.

    Parameters
    ----------
    sse, ncp, total_il
        As in :class:`shoal.recoding.loss.ColumnLoss`; the penalties times the weight of the part.
    weight, first, second
        The sum of weights of known cells, and the weighted sums of standardised values and of their squares.
    frequencies
        The weight of each category of a nominal column.
    """

    sse: float
    ncp: float | None
    total_il: float | None
    weight: float
    first: float
    second: float
    frequencies: Floats | None

    def __add__(self, other: ColumnFigures) -> ColumnFigures:
        def plus(one: float | None, two: float | None) -> float | None:
            return None if one is None or two is None else one + two

        frequencies = None
        if self.frequencies is not None and other.frequencies is not None:
            frequencies = self.frequencies + other.frequencies
        return ColumnFigures(
            self.sse + other.sse, plus(self.ncp, other.ncp), plus(self.total_il, other.total_il),
            self.weight + other.weight, self.first + other.first, self.second + other.second, frequencies,
        )  # fmt: skip

    def loss(self, total_weight: float) -> ColumnLoss:
        """Return the loss of the column over the whole table."""
        if self.frequencies is not None:
            total = float(self.frequencies.sum() - self.frequencies.max(initial=0.0))
        else:
            total = max(self.second - self.first * self.first / self.weight, 0.0) if self.weight else 0.0
        ncp, total_il = (
            None if share is None else share / total_weight for share in (self.ncp, self.total_il)
        )  # fmt: skip
        return ColumnLoss(self.sse, total, ncp, total_il)


@dataclass(frozen=True, eq=False)
class LeafFigures:
    """Counts and sums of one or several parts.

    Parameters
    ----------
    records, weight
        The number of rows, and the sum of their sampling weights.
    sizes
        How many groups there are of each size.
    columns
        The loss of each quasi-identifier.
    recodes
        What replaced the values of each quasi-identifier.
    runs
        The methods that ran, equal ones once.
    blocks, jobs
        The number of blocks that no group crosses, and of parts.
    imputed, suppressed
        How many missing cells were imputed, and how many values suppressed for a rare missingness pattern, by column.
    cells
        How many cells were filled or emptied, by column.
    steps
        What the steps after the method did, added up by their names.
    dominated
        Groups in which one record has most of the sampling weight.
    whole
        The loss of a table that is one part, as its own stages computed it.
    repaired
        How many cells were changed to keep rules between columns, by column.
    """

    records: int
    weight: float
    sizes: Mapping[int, int]
    columns: Mapping[str, ColumnFigures]
    recodes: Mapping[str, Recode]
    runs: tuple[MethodRun, ...]
    blocks: int
    jobs: int = 1
    imputed: Mapping[str, int] = field(default_factory=dict)
    suppressed: Mapping[str, int] = field(default_factory=dict)
    cells: Mapping[str, ChangedCells] = field(default_factory=dict)
    steps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    dominated: int = 0
    whole: Loss | None = None
    repaired: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: LeafFigures) -> LeafFigures:
        cells = dict(self.cells)
        for name, found in other.cells.items():
            before = cells.get(name, ChangedCells())
            cells[name] = ChangedCells(
                before.filled + found.filled, before.emptied + found.emptied, before.groups + found.groups
            )  # fmt: skip
        steps = {name: dict(counts) for name, counts in self.steps.items()}
        for name, counts in other.steps.items():
            steps[name] = _plus(steps.get(name, {}), counts)
        return LeafFigures(
            self.records + other.records,
            self.weight + other.weight,
            _plus(self.sizes, other.sizes),
            {name: figures + other.columns[name] for name, figures in self.columns.items()},
            self.recodes,
            joined_runs((*self.runs, *other.runs)),
            self.blocks + other.blocks,
            self.jobs + other.jobs,
            _plus(self.imputed, other.imputed),
            _plus(self.suppressed, other.suppressed),
            cells,
            steps,
            self.dominated + other.dominated,
            repaired=_plus(self.repaired, other.repaired),
        )

    @property
    def groups(self) -> int:
        """The number of groups."""
        return sum(self.sizes.values())

    def loss(self, k: int) -> Loss:
        """Return the loss of the whole table."""
        if self.whole is not None:
            return self.whole
        columns = {name: figures.loss(self.weight) for name, figures in self.columns.items()}
        squares = sum(size * size * count for size, count in self.sizes.items())
        return Loss(columns, squares, self.records / self.groups / k)


def leaf_figures(prepared: Prepared, grouped: Grouped, recoded: Recoded) -> LeafFigures:
    """Return the counts and sums of one part."""
    weights = prepared.weights
    weight = float(prepared.n) if weights is None else float(weights.sum())
    shown = {
        name: (loss, prepared.encoding[name], prepared.original(name)) for name, loss in recoded.loss.columns.items()
    }
    columns = {}
    for name, (loss, entry, values) in shown.items():
        known = ~np.isnan(values)
        inside = np.ones(int(known.sum())) if weights is None else weights[known]
        first = second = 0.0
        frequencies = None
        if entry.column.kind == Kind.NOMINAL:
            codes = values[known].astype(np.int64)
            frequencies = np.bincount(codes, inside, minlength=entry.width).astype(np.float64)
        else:
            standard = entry.standardised(values[known])
            first, second = _weighted(standard, inside), _weighted(standard * standard, inside)
        columns[name] = ColumnFigures(
            loss.sse, None if loss.ncp is None else loss.ncp * weight,
            None if loss.total_il is None else loss.total_il * weight, float(inside.sum()), first, second, frequencies,
        )  # fmt: skip
    dominated = 0
    if weights is not None and Recode.MEAN in recoded.recodes.values():
        dominated = int((largest_shares(weights, grouped.grouping) > DOMINANT_SHARE).sum())
    steps: dict[str, dict[str, int]] = {}
    for step in grouped.steps:
        steps[step.name] = _plus(steps.get(step.name, {}), step.counts)
    return LeafFigures(
        prepared.n, weight, grouped.grouping.size_histogram(), columns, recoded.recodes,
        joined_runs(grouped.runs), len(grouped.blocks), 1, dict(prepared.imputed), dict(grouped.blocks.added),
        dict(recoded.cells), steps, dominated, recoded.loss, dict(recoded.repaired),
    )  # fmt: skip


def total_figures(parts: Iterable[LeafFigures]) -> LeafFigures:
    """Return the figures of all parts, added up in the given order."""
    return reduce(lambda one, other: one + other, parts)


def _weighted(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float((values * weights).sum())


def _plus(one: Mapping[Key, int], other: Mapping[Key, int]) -> dict[Key, int]:
    """Return counts added up by key, keys in order."""
    return {key: one.get(key, 0) + other.get(key, 0) for key in sorted({*one, *other})}


def joined_runs(runs: Iterable[MethodRun]) -> tuple[MethodRun, ...]:
    """Return methods with equal options once, with the number of their blocks."""
    found: dict[str, MethodRun] = {}
    for run in runs:
        key = repr((run.identity, sorted(run.options.items(), key=repr), run.reason))
        blocks = run.blocks + (found[key].blocks if key in found else 0)
        found[key] = replace(run, blocks=blocks, numbers=())
    return tuple(found.values())
