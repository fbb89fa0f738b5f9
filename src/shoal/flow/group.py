"""Grouping: blocks that no group may cross, the method on each block, and one outcome for the whole table.

A block is a set of records of one stratum and, where missing values are grouped by pattern, of one missingness pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.core.grouping import Grouping, canonical_labels, canonical_order, check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.flow.prepare import Integers, Masks, MethodData, Prepared
from shoal.methods.contract import Array, ClassRule, ColumnCost, Diagnostic, Objective, OptionValue, Outcome
from shoal.methods.registry import MethodInfo, get_method
from shoal.methods.running import Inputs, run
from shoal.schema.columns import Column, Kind, Recode
from shoal.schema.plan import MethodCall
from shoal.schema.requirements import Requirements

if TYPE_CHECKING:
    from shoal.methods.effort import Effort

FULL_DOMAIN = "full-domain"
"""The method that has one level of generalisation per column for the whole table."""
LIKE_MEANS = {Recode.MEAN, Recode.MEDOID, Recode.SET, Recode.HIERARCHY}
"""Representatives of numbers that are searched by the squared error to the mean."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Sets of records that no group crosses.

    Parameters
    ----------
    members
        The records of each block, in ascending order.
    suppressed
        By column, the cells that are suppressed so that every missingness pattern has at least k records.
    added
        By column, how many of these cells held a value.
    """

    members: tuple[Integers, ...]
    suppressed: Masks = field(default_factory=dict)
    added: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.members)

    def part(self, rows: Integers, n: int) -> Blocks:
        """Return the blocks of some of n records, which are numbered anew; a block without records goes."""
        place = np.full(n, -1, np.int64)
        place[rows] = np.arange(rows.size)
        inside = [place[records][place[records] >= 0] for records in self.members]
        suppressed = {name: mask[rows] for name, mask in self.suppressed.items()}
        return Blocks(tuple(records for records in inside if records.size), suppressed, self.added)

    def mapped(self, n: int, function: Callable[[Integers], Integers]) -> Integers:
        """Return labels of all records from a function that labels the records of one block."""
        labels = np.empty(n, np.int64)
        start = 0
        for records in self.members:
            found = function(records)
            labels[records] = found + start
            start += int(found.max()) + 1
        return labels


@dataclass(frozen=True)
class MethodRun:
    """A method that grouped some blocks.

    Parameters
    ----------
    name, identity
        Its name, and the name with the version of the algorithm.
    options
        All of its options, resolved.
    reason
        Why it was selected, if another method selected it.
    frequencies
        Whether its groups of categories are represented by records that keep frequency tables.
    built_in
        Whether it is part of Shoal.
    blocks
        How many blocks it grouped.
    numbers
        The numbers of these blocks.
    """

    name: str
    identity: str
    options: Mapping[str, OptionValue]
    reason: str = ""
    frequencies: bool = False
    built_in: bool = True
    blocks: int = 1
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepRecord:
    """A step that changed the groups after the method: its name, and counts of what it did."""

    name: str
    counts: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Grouped:
    """The groups of a table.

    Parameters
    ----------
    requirements
        What was requested.
    grouping
        The group of each record, at least k in each.
    blocks
        The blocks that no group crosses.
    outcome
        What the method returned, for all blocks together.
    runs
        The methods that ran, as resolved.
    steps
        What changed the groups after the method.
    outer
        Groups of whole persons or households around the groups, by which columns that stay constant are replaced.
    row_weights
        What each row weighs in means and loss, where every person counts the same.
    households
        Groups of whole households around the groups of persons, and the columns that are replaced by them, where some
        columns stay constant within households and others within persons only.
    levels_of
        The columns that a method generalised to one level each for the whole table, in its order.
    search
        The effort with which groups are searched further once they satisfy requirements beyond k; None for no search.
    """

    requirements: Requirements
    grouping: Grouping
    blocks: Blocks
    outcome: Outcome
    runs: tuple[MethodRun, ...]
    steps: tuple[StepRecord, ...] = ()
    outer: Grouping | None = None
    row_weights: NDArray[np.float64] | None = None
    households: tuple[Grouping, tuple[str, ...]] | None = None
    levels_of: tuple[str, ...] | None = None
    search: Effort | None = None

    def __repr__(self) -> str:
        return f"<Grouped: {self.grouping.summary()}; {', '.join(run.identity for run in self.runs)}>"

    @property
    def levels(self) -> Mapping[str, int]:
        """The level of generalisation of each column, where a method has one for the whole table."""
        if self.levels_of is None or [run.name for run in self.runs] != [FULL_DOMAIN]:
            return {}
        levels = self.outcome.diagnostics["levels"]
        assert isinstance(levels, Sequence)
        return {name: int(str(level)) for name, level in zip(self.levels_of, levels, strict=True)}

    def grouping_of(self, column: Column) -> Grouping:
        """Return the groups by which a column is replaced."""
        if self.households is not None and column.name in self.households[1]:
            return self.households[0]
        return self.outer if column.constant and self.outer is not None else self.grouping

    def regrouped(self, labels: Integers, step: StepRecord) -> Grouped:
        """Return the value with other groups; what the method selected or proved for the old ones is dropped."""
        grouping = Grouping(labels, self.requirements.k, max_size=self.requirements.max_size)
        outcome = self.outcome
        if not np.array_equal(grouping.labels, self.grouping.labels):
            outcome = outcome.regrouped(grouping.labels)
        return replace(self, grouping=grouping, outcome=outcome, steps=(*self.steps, step))


@checked
def group_records(
    prepared: Prepared,
    requirements: Requirements,
    call: MethodCall,
    *,
    size: int | None = None,
    data: MethodData | None = None,
    blocks: Blocks | None = None,
    progress: Progress = SILENT,
) -> Grouped:
    """Group a prepared table.

    Parameters
    ----------
    prepared
        The table.
    requirements
        k, and the largest group allowed.
    call
        The method with its options.
    size
        The smallest group that the method makes, if further requirements need more than k records.
    data
        The arrays of the table, to share them between calls.
    blocks
        The blocks of the table for this k, if known.
    progress
        Progress callback.

    Returns
    -------
    grouped
        Groups of at least k records; further requirements are satisfied by the next stage.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 31, 32, 60, 61, 62]})
    >>> table, schema = shoal.load_table(people, quasi=["age"])
    >>> prepared = shoal.prepare(table, shoal.fit_encoding(table, schema))
    >>> grouped = shoal.group_records(prepared, shoal.Requirements(k=3), shoal.MethodCall("mdav"))
    >>> grouped, grouped.grouping.labels.tolist()
    (<Grouped: 6 records in 2 groups of 3, k=3; mdav@1>, [0, 0, 0, 1, 1, 1])
    """
    k = requirements.k if size is None else max(size, requirements.k)
    check_k(requirements.k, prepared.n)
    info = method_for(prepared, call)
    call = replace(call, options=info.check_options(call.options))
    blocks = find_blocks(prepared, requirements) if blocks is None else blocks
    if info.name.startswith("labels:"):
        return _given(prepared, requirements, info, blocks)
    if prepared.schema.together:
        from shoal.flow.linked_suppression import check_linked

        check_linked(prepared)
    data = data or MethodData(prepared, blocks.suppressed)
    costs: Sequence[ColumnCost] = ()
    if "column_costs" in info.injected:
        from shoal.flow.column_costs import column_costs

        costs = column_costs(prepared)
    array: Array
    rule, parts = None, blocks
    if info.name == FULL_DOMAIN:
        from shoal.flow.leaf_codes import check_one_coding, class_rule, leaf_codes

        check_one_coding(prepared, requirements)
        array, costs = leaf_codes(prepared, blocks.suppressed)
        # one coding for all blocks: the method sees the whole table, and keeps their classes apart
        rule, parts = class_rule(prepared, requirements, blocks), Blocks((np.arange(prepared.n),))
    else:
        array = _method_input(prepared, info, call, data, k)
    columns = _Columns(
        np.array([column.weight for column in prepared.schema.quasi]),
        np.array([column.kind == Kind.NOMINAL for column in prepared.schema.quasi]),
        costs,
        data.observed(info.data) if "observed" in info.injected else None,
        rule,
    )
    outcomes = _run_blocks(
        info, call, array, parts, k=k, max_size=requirements.max_size, columns=columns,
        units=prepared.counted(requirements), record_weights=prepared.weights, progress=progress,
    )  # fmt: skip
    labels, representatives = _joined(outcomes, parts, prepared.n)
    guaranteed = None if info.max_size is None else info.max_size(k)
    largest = [limit for limit in (requirements.max_size, guaranteed) if limit is not None]
    labels, order = canonical_order(labels)
    grouping = Grouping(labels, k, max_size=min(largest, default=None))
    outcome = Outcome(
        labels=grouping.labels,  # one array for both
        representatives=None if representatives is None else representatives[order],
        objective=_joint_objective([outcome.objective for outcome in outcomes]),
        diagnostics=_joint_diagnostics(outcomes),
        timings=outcomes[0].timings if len(outcomes) == 1 else {},
        stopped=max((outcome.stopped for outcome in outcomes), key=["finished", "time limit", "interrupted"].index),
        method=", ".join(dict.fromkeys(outcome.method for outcome in outcomes)),
        options=outcomes[0].options if len(outcomes) == 1 else {},
        reason=outcomes[0].reason if len({outcome.reason for outcome in outcomes}) == 1 else "",
    )
    names = tuple(column.name for column in prepared.schema.quasi) if info.name == FULL_DOMAIN else None
    search = cast("Effort", call.options.get("effort", "balanced")) if info.name == "auto" else None
    return Grouped(requirements, grouping, blocks, outcome, _runs(outcomes, info), levels_of=names, search=search)


def _given(prepared: Prepared, requirements: Requirements, info: MethodInfo, blocks: Blocks) -> Grouped:
    """Return the groups that a column of the table holds."""
    from shoal.flow.given_groups import read_groups

    outcomes = read_groups(prepared, info.name, requirements, blocks)
    grouping = Grouping(_joined(outcomes, blocks, prepared.n)[0], requirements.k, max_size=requirements.max_size)
    outcome = Outcome(grouping.labels, method=info.name)
    return Grouped(requirements, grouping, blocks, outcome, _runs(outcomes, info))


def method_for(prepared: Prepared, call: MethodCall) -> MethodInfo:
    """Return the method of a call: its variant for categories only, or for columns that are not all means."""
    if prepared.schema.nominal:
        return get_method(call.name, "codes")
    return get_method(call.name, "mixed" if prepared.many_categories or _mixed_costs(prepared) else "points")


def _mixed_costs(prepared: Prepared) -> bool:
    """Return whether the loss of some of several columns is not the squared error to the mean of all records.

    One column of numbers or positions in an order has a method of its own, which finds the optimum; not where cells
    are missing.
    """
    if prepared.by_known or prepared.aside:
        return True
    columns = prepared.schema.quasi
    other = [column.kind != Kind.NUMERIC or column.default_recode not in LIKE_MEANS for column in columns]
    return len(columns) > 1 and any(other)


def find_blocks(prepared: Prepared, requirements: Requirements) -> Blocks:
    """Return the blocks for a k: strata, cut by missingness pattern; rare patterns join others by suppressing cells.

    Where k counts persons or households, every block has k of them; raises where the table or a stratum has not.
    """
    n, k, patterns = prepared.n, requirements.k, prepared.by_pattern
    of, units = requirements.counting(prepared.schema), prepared.counted(requirements)
    present = n if units is None else int(units.max()) + 1
    if present < k:
        raise ParameterError(f"k={k} needs at least {k} {of.noun}, the table has {of.amount(present)}")
    if prepared.strata is None:
        strata = [np.arange(n)]
    else:
        order = np.argsort(prepared.strata, kind="stable")
        strata = np.split(order, np.cumsum(np.bincount(prepared.strata))[:-1])
    counts = [rows.size if units is None else np.unique(units[rows]).size for rows in strata]
    small = [count for count in counts if count < k]
    if small and prepared.schema.strata:
        names = " x ".join(f'"{name}"' for name in prepared.schema.strata)
        raise DataError(
            f"groups must not cross {names}, but {len(small)} of its {len(strata)} strata have fewer than k={k} "
            f"{of.noun} (the smallest has {min(small)}); merge small strata or choose a smaller k"
        )
    if prepared.aside:
        from shoal.flow.not_applicable import split_by_applicability

        strata = [part for rows in strata for part in split_by_applicability(rows, prepared.aside, k, units)]
    if not patterns:
        return Blocks(tuple(strata) if not prepared.aside else tuple(sorted(strata, key=lambda part: int(part[0]))))
    from shoal.flow.missing_patterns import split_by_pattern

    return split_by_pattern(strata, patterns, n, k, units)


def _method_input(prepared: Prepared, info: MethodInfo, call: MethodCall, data: MethodData, k: int) -> Array:
    """Return the array that the method reads, or raise if it cannot group these columns."""
    columns = prepared.schema.quasi
    if info.data == "codes":
        numeric = [f'"{column.name}"' for column in columns if column.kind == Kind.NUMERIC]
        if numeric:
            raise DataError(
                f'method "{info.name}" works on categories, but {", ".join(numeric)} '
                f"{'is' if len(numeric) == 1 else 'are'} numeric; call {'it' if len(numeric) == 1 else 'them'} nominal "
                "or ordinal (few different values), or choose a method for numbers such as auto"
            )
        return data.codes()
    if info.data == "values":
        nominal = [column.name for column in columns if column.kind == Kind.NOMINAL]
        if nominal or len(columns) != 1:
            raise DataError(
                f'method "{info.name}" groups one numeric or ordinal column; there are {len(columns)}'
                + (f' and "{nominal[0]}" is nominal' if nominal else "")
            )
        if "cost" in call.options:
            from shoal.methods.univariate.costs import INTEGER_COSTS

            if call.options["cost"] in INTEGER_COSTS:
                return data.offsets()
    if info.data == "mixed":
        return data.mixed()
    return data.points(str(call.options.get("storage", "float64")), k=k, exact=True)


class _Columns(NamedTuple):
    """The weight of each column, whether it is nominal, what replaces its values, and which cells are known.

    Beside them what classes of the whole table must satisfy, for the method that makes these.
    """

    weights: NDArray[np.float64]
    nominal: NDArray[np.bool_]
    costs: Sequence[ColumnCost]
    observed: NDArray[np.bool_] | None
    rule: ClassRule | None


def _run_blocks(
    info: MethodInfo, call: MethodCall, array: Array, blocks: Blocks, *, k: int, max_size: int | None,
    columns: _Columns, units: Integers | None, record_weights: NDArray[np.float64] | None, progress: Progress,
) -> list[Outcome]:  # fmt: skip
    n = len(array)
    outcomes = []
    if call.resolved:
        from shoal.flow.resolved import resolved_methods, run_resolved

        repeated = resolved_methods(call, len(blocks))
    for number, records in enumerate(blocks.members):
        inside = array if records.size == n else array[records]
        share = None if call.time_limit is None else call.time_limit * records.size / n
        inputs: Inputs = {
            "progress": progress, "seed": call.seed, "max_size": max_size, "time_limit": share,
            "column_weights": columns.weights, "nominal": columns.nominal, "column_costs": columns.costs,
            "record_weights": None if record_weights is None else record_weights[records],
            "units": None if units is None else canonical_labels(units[records]),
            "observed": None if columns.observed is None else columns.observed[records],
            "class_rule": columns.rule,
        }  # fmt: skip
        if call.resolved:
            outcomes.append(run_resolved(repeated[number], info, inside, k, inputs))
        else:
            outcomes.append(run(info, inside, k, **inputs, **call.options))
    return outcomes


def _joined(outcomes: Sequence[Outcome], blocks: Blocks, n: int) -> tuple[Integers, Integers | None]:
    """Return labels of all records, and representatives as rows of the whole table if every block has some."""
    labels = np.empty(n, np.int64)
    selected: list[Integers] = []
    start = 0
    for outcome, records in zip(outcomes, blocks.members, strict=True):
        labels[records] = outcome.labels + start
        start += int(outcome.labels.max()) + 1
        if outcome.representatives is not None:
            selected.append(records[outcome.representatives])
    return labels, np.concatenate(selected) if len(selected) == len(outcomes) else None


def _joint_objective(objectives: Sequence[Objective | None]) -> Objective | None:
    """Return the sum over blocks: groups do not cross blocks, so values and bounds add up."""
    known = [objective for objective in objectives if objective is not None]
    if len(known) < len(objectives) or len({(objective.name, objective.scope) for objective in known}) > 1:
        return None
    if len(known) == 1:
        return known[0]
    bounds = [objective.bound for objective in known]
    total = None if None in bounds else float(sum(bound for bound in bounds if bound is not None))
    return Objective(known[0].name, float(sum(objective.value for objective in known)), total, known[0].scope)


def _joint_diagnostics(outcomes: Sequence[Outcome]) -> Mapping[str, Diagnostic]:
    """Return the diagnostics of one block, or those of every block while that is readable."""
    if len(outcomes) == 1:
        return dict(outcomes[0].diagnostics)
    several: list[Diagnostic] = [dict(outcome.diagnostics) for outcome in outcomes]
    return {"blocks": several} if any(several) and len(several) <= 20 else {}


def _runs(outcomes: Sequence[Outcome], info: MethodInfo) -> tuple[MethodRun, ...]:
    """Return the methods that ran, equal ones once with the number of their blocks."""
    runs: dict[str, MethodRun] = {}
    for number, outcome in enumerate(outcomes):
        key = repr((outcome.method, sorted(outcome.options.items(), key=repr)))
        if key in runs:
            before = runs[key]
            runs[key] = replace(before, blocks=before.blocks + 1, numbers=(*before.numbers, number))
            continue
        ran = info if outcome.method == info.name else get_method(outcome.method)
        runs[key] = MethodRun(
            ran.name, ran.identity, dict(outcome.options), outcome.reason, ran.frequencies, ran.built_in,
            numbers=(number,),
        )  # fmt: skip
    return tuple(runs.values())
