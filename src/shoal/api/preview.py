"""``LossPreview``: what a protection of a large table will cost, estimated from a few blocks of the whole table.

A random sample of the records overstates the loss, because groups of k in a sample are farther apart than in the table.
So the whole table is cut into blocks, a few of them are drawn, and each is grouped by the method and with the work per
record that the whole table gets. A block loses more than its records do in the whole table, since no group crosses its
edge. How much more is measured: each block is cut once more, and its halves are grouped as well. If that multiplies the
loss by q, each of the log2(blocks) cuts above multiplies it by a similar factor, which differs between tables. The
estimate takes q for each cut; the interval allows for none of it up to three times as much, and for the drawing. Where
categories are grouped, halves say less about the cuts above, and the lower end is at least 30 % below the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.api.preview_blocks import DrawnBlocks, Floats, Integers, block_spread, cut_rows, draw_blocks
from shoal.api.protect import PERSON_FIELDS, REQUIREMENT_FIELDS, SCHEMA_FIELDS, check_fields, method_call
from shoal.core.progress import SILENT, Progress
from shoal.engines.leaf_job import check_engine_plan
from shoal.errors import ParameterError
from shoal.flow.encoding import fit_encoding
from shoal.flow.group import method_for
from shoal.flow.prepare import MethodData, Prepared, prepare
from shoal.flow.recode import group_and_recode
from shoal.schema.columns import Kind
from shoal.schema.loading import load
from shoal.schema.plan import MethodCall, Plan, ReadOptions
from shoal.schema.requirements import Requirements

BLOCK_RECORDS = 4_096
"""Records of a block; more for a large k, so that its halves hold many groups."""
DRAWN_BLOCKS = 6
LEAST_BLOCKS = 4
_GROUPS_PER_BLOCK = 100
_CUTS, _MOST_CUTS = 1.0, 3.0
"""The factor of a cut, counted so many times for each cut above the blocks: for the estimate, and the lower end."""
_LEAST_FACTOR = 0.005
_LEAST_SPREAD = 0.35
"""Where categories are grouped, the lower end is at least so much below the estimate (of the logarithm)."""
_T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31}
"""Quantiles of the t distribution for 95 %, by degrees of freedom."""


@dataclass(frozen=True)
class PreviewPoint:
    """The estimate for one k.

    Parameters
    ----------
    k
        The requested k.
    loss, low, high
        The information loss, and the ends of its interval.
    average, highest
        The average and the highest probability of re-identifying a record by its equivalence class, in the blocks.
    blocks, of_blocks
        How many blocks were grouped, and how many the table was cut into.
    """

    k: int
    loss: float
    low: float
    high: float
    average: float
    highest: float
    blocks: int
    of_blocks: int


@dataclass(frozen=True)
class _BlockFigures:
    """The squared error of a block and of its halves, both grouped by themselves; its groups."""

    whole: float
    halves: float
    records: int
    groups: int
    smallest: int


class LossPreview:
    """A table that is cut into blocks, of which a few are grouped for each k.

    Parameters
    ----------
    data
        A table or the path of a file.
    largest_k
        The largest k that will be asked for: blocks are large enough for it, and the same for every k.
    seed
        Seed of the drawing of blocks, and of the method.
    method, effort, options
        As in :func:`shoal.protect`.
    read_options
        As in :func:`shoal.protect`.
    progress
        Progress callback.
    choices
        What else :func:`shoal.protect` accepts: ``quasi``, ``kinds``, ``l``, ``missing``, ...

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.patients(20_000, seed=1)
    >>> preview = LossPreview(people, quasi=["age", "income"], unnamed="other", effort="fast", method="mdav")
    >>> point = preview.point(10)
    >>> point.low < point.loss < point.high, point.blocks, point.of_blocks
    (True, 5, 5)
    """

    def __init__(
        self, data: Any, *, largest_k: int = 20, seed: int = 0, method: str = "auto", effort: str = "balanced",
        options: Mapping[str, Any] | None = None, read_options: Mapping[str, Any] | ReadOptions | None = None,
        progress: Progress = SILENT, **choices: Any,
    ) -> None:  # fmt: skip
        check_fields(choices, [*SCHEMA_FIELDS, *REQUIREMENT_FIELDS, *PERSON_FIELDS])
        reading = ReadOptions.of(read_options)
        table, schema = load(data, None, {name: choices.get(name) for name in SCHEMA_FIELDS}, reading, progress)
        self._requested = {name: choices[name] for name in REQUIREMENT_FIELDS if name in choices}
        self._call = method_call(method, options, effort=effort if method == "auto" else None, seed=seed)
        self._effort, self._seed = effort, seed
        try:
            check_engine_plan(Plan(schema, Requirements(k=largest_k, **self._requested), self._call), "preview")
        except ParameterError as refusal:
            reason = str(refusal).partition(", and engine")[0]
            text = f"{reason}, and a preview is made of parts; compute full results instead"
            raise ParameterError(text) from None
        if schema.unit is not None or schema.household is not None or schema.strata:
            raise ParameterError("blocks of a preview would part persons or strata; compute full results instead")
        progress.stage("cutting the table")
        self._prepared: Prepared = prepare(table, fit_encoding(table, schema), k=largest_k)
        size = max(BLOCK_RECORDS, _GROUPS_PER_BLOCK * largest_k)
        if table.n_rows < LEAST_BLOCKS * size:
            raise ParameterError(
                f"a preview needs at least {LEAST_BLOCKS * size:,} records, the table has {table.n_rows:,}; compute "
                "full results instead"
            )
        self._values = MethodData(self._prepared).mixed()
        self._nominal = np.array([column.kind == Kind.NOMINAL for column in schema.quasi])
        parts = max(LEAST_BLOCKS, round(table.n_rows / size))
        self.blocks = cut_rows(self._values, self._nominal, np.arange(table.n_rows), parts, size // 3)
        self._grouped: dict[tuple[int, int], _BlockFigures] = {}

    @property
    def n(self) -> int:
        """The number of records."""
        return self._prepared.n

    @cached_property
    def spreads(self) -> Floats:
        """What each block loses if it is one group."""
        return np.array([block_spread(self._values, self._nominal, rows) for rows in self.blocks])

    @cached_property
    def _total(self) -> float:
        """The squared error of the whole table as one group, on the scale of the losses of blocks."""
        return block_spread(self._values, self._nominal, np.arange(self.n))

    def drawn(self, seed: int | None = None) -> DrawnBlocks:
        """Return the blocks that are grouped, by default those of the preview's own seed."""
        return draw_blocks(self.blocks, self.spreads, DRAWN_BLOCKS, self._seed if seed is None else seed)

    def point(self, k: int, *, seed: int | None = None, progress: Progress = SILENT) -> PreviewPoint:
        """Return the estimate for one k.

        Parameters
        ----------
        k
            At most the ``largest_k`` of the preview.
        seed
            Another seed of the drawing, to see how much it matters; blocks that were grouped before are not again.
        progress
            Progress callback: the number of blocks.
        """
        drawn = self.drawn(seed)
        progress.stage("grouping blocks", len(drawn.rows))
        figures = []
        for rows in drawn.rows:
            figures.append(self._figures(rows, k))
            progress.advance()
        weights = 1 / drawn.probabilities
        wholes, halves = (np.array([getattr(one, name) for one in figures]) for name in ("whole", "halves"))
        levels = math.log2(drawn.n_blocks)
        estimate = _corrected(wholes, halves, weights, _CUTS * levels)
        spread = _sampling_error(wholes, halves, drawn, _CUTS * levels)
        low = _corrected(wholes, halves, weights, _MOST_CUTS * levels) * math.exp(-spread)
        high = _corrected(wholes, halves, weights, 0.0) * math.exp(spread)
        if method_for(self._prepared, self._call).data != "points":
            low = min(low, estimate * math.exp(-_LEAST_SPREAD))
        records = float((weights * [one.records for one in figures]).sum())
        total = self._total or math.inf
        return PreviewPoint(
            k, min(estimate / total, 1.0), min(low / total, 1.0), min(high / total, 1.0),
            float((weights * [one.groups for one in figures]).sum()) / records,
            1 / min(one.smallest for one in figures), len(figures), drawn.n_blocks,
        )  # fmt: skip

    def _figures(self, rows: Integers, k: int) -> _BlockFigures:
        key = int(rows[0]), k
        if key not in self._grouped:
            loss, sizes = self._loss(rows, k)
            halves = cut_rows(self._values, self._nominal, rows, 2, rows.size // 8)
            parted = sum(self._loss(half, k)[0] for half in halves) if len(halves) > 1 else loss
            self._grouped[key] = _BlockFigures(loss, parted, rows.size, sizes.size, int(sizes.min()))
        return self._grouped[key]

    def _loss(self, rows: Integers, k: int) -> tuple[float, Integers]:
        """Return the squared error of some rows that are grouped by themselves, and the sizes of the groups."""
        whole = self._prepared
        part = prepare(whole.table.in_order(np.sort(rows)), whole.encoding)
        plan = Plan(whole.schema, Requirements(k=k, **self._requested), self._call_for(k))
        grouped, recoded = group_and_recode(part, plan)
        return recoded.loss.sse, grouped.grouping.sizes

    def _call_for(self, k: int) -> MethodCall:
        """Return the method that the whole table gets, so that blocks get as much work for each record."""
        if self._call.name != "auto":
            return self._call
        from shoal.methods.auto import choose
        from shoal.methods.mixed_effort import mixed_work

        info = method_for(self._prepared, self._call)
        widths = [entry.width for entry in self._prepared.encoding.quasi]
        effort: Any = self._effort
        if info.data == "points":
            choice = choose(self.n, sum(widths), k, effort=effort)
            return method_call(choice.method, dict(choice.options), seed=self._seed)
        if any(str(column.default_recode) in {"frequencies", "suppress"} for column in self._prepared.schema.quasi):
            return self._call
        width = sum(width if nominal else 1 for width, nominal in zip(widths, self._nominal, strict=True))
        return method_call("mixed-annealing", mixed_work(self.n, width, effort), seed=self._seed)


def _corrected(wholes: Floats, halves: Floats, weights: Floats, cuts: float) -> float:
    """Return the squared error of the table without the edges of so many cuts."""
    whole, half = float((weights * wholes).sum()), float((weights * halves).sum())
    if whole <= 0:
        return 0.0
    factor = max(math.log(half / whole), _LEAST_FACTOR)
    return whole * math.exp(-cuts * factor)


def _sampling_error(wholes: Floats, halves: Floats, drawn: DrawnBlocks, cuts: float) -> float:
    """Return half the length of the 95 % interval of the drawing, of the logarithm; by leaving out each block once."""
    chances = drawn.probabilities
    chance = np.flatnonzero(chances < 1)
    m = chance.size
    if m == 0:
        return 0.0
    logs = []
    for left_out in chance if m > 1 else []:
        weights = np.where(chances < 1, m / (m - 1) / chances, 1.0)
        weights[left_out] = 0.0
        logs.append(math.log(max(_corrected(wholes, halves, weights, cuts), 1e-300)))
    if not logs:
        return 1.0
    blocks_left = drawn.n_blocks - (chances.size - m)
    spread = float(np.var(logs)) * (m - 1) * max(1 - m / blocks_left, 0.0)
    return _T.get(m - 1, 2.26) * math.sqrt(spread)
