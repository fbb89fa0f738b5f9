"""``compare``: loss, risk and time of several methods and levels of protection.

Two protections are comparable only by loss and risk together: the figure has loss on one axis and risk on the other,
and a combination is *Pareto-efficient* if no other has both less loss and less risk. A combination that fails, because
a method cannot work on the data or a target is not achievable, is listed with the reason and does not end the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

from shoal.api.combinations import Combination, Comparison
from shoal.api.measured_combinations import measured, measured_rivals
from shoal.api.protect import (
    PERSON_FIELDS,
    REQUIREMENT_FIELDS,
    SCHEMA_FIELDS,
    check_fields,
    method_call,
    prepared_with_steps,
    run_prepared,
)
from shoal.core.arguments import checked
from shoal.core.compiled import when_compiling
from shoal.core.grouping import check_k
from shoal.core.progress import SILENT, Progress
from shoal.errors import ParameterError, ShoalError, suggestion
from shoal.evaluate.rivals import read_rivals
from shoal.flow.prepare import MethodData, Prepared
from shoal.flow.released import Released
from shoal.methods.registry import get_method
from shoal.schema.columns import Schema, names_list
from shoal.schema.loading import load
from shoal.schema.plan import Decimals, MethodCall, Plan, ReadOptions, Sums
from shoal.schema.requirements import Of, PersonOptions, Requirements
from shoal.tables.frames import backend_of

SMALL_TABLE_RECORDS = 20_000
DEFAULT_METHODS = ("auto", "mdav", "ona-star", "mona")
DEFAULT_METHODS_LARGE = ("auto", "mondrian-v", "mona", "mona-plus")


@checked
def compare(
    data: Any,
    k: int | Iterable[int] = (3, 5, 10),
    *,
    methods: Sequence[str | Callable[..., Any]] | None = None,
    l: float | Iterable[float] | None = None,
    t: float | Iterable[float] | None = None,
    of: str | Iterable[str] | None = None,
    against: str | Sequence[str] | None = None,
    schema: Schema | str | Path | None = None,
    decimals: Decimals = "input",
    sums: Sums = "rounded",
    keep_moments: bool = False,
    seed: int = 0,
    time_limit: float | str | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
    **choices: Any,
) -> Comparison:
    """Protect one table by several methods and levels, and compare loss, risk and time.

    The table is read, encoded and prepared once for all combinations.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    k
        One or several minimum group sizes.
    methods
        Names from :func:`shoal.all_methods`, or functions; if not given mdav, ona-star and mona, or faster ones for
        more than 20,000 records.
    l, t
        One or several targets of l-diversity and t-closeness, tried in every combination.
    of
        One or several of ``rows``, ``units``, ``households`` and ``histories``: what k counts. Where columns are
        declared as constant within persons, each is tried with and without keeping them constant. Histories and
        constant columns have a search of their own, so that they are tried once and not for each method.
    against
        Perturbations of other software to measure beside the groupings: ``noise:0.1,0.2``, ``noise-restored:0.1``,
        ``rank-swap:0.1``, ``pram:0.2``, or several in turn, ``noise:0.1+pram:0.2``. They give no k, and what they
        return is never released. Figures are means over five draws.
    schema
        A schema, the path of a schema file, or TOML text.
    decimals, sums
        Decimals of released numbers and totals of columns, as in :func:`shoal.protect`.
    keep_moments
        Also try each combination with means and covariances kept, as in :func:`shoal.protect`: two lines each.
    seed
        Seed of the random numbers, also for the sample of linked records.
    time_limit
        Seconds for each combination, for methods that can stop early.
    options
        Options of methods by name: ``{"auto": {"effort": "best"}}``.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
    progress
        Progress callback.
    choices
        What else :func:`shoal.protect` accepts: ``quasi``, ``confidential``, ``missing``, ``recode``, ...

    Returns
    -------
    comparison
        One line per combination; ``print`` shows a table, ``.svg()`` a figure, ``.write("x.html")`` a page.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.patients(60)
    >>> result = compare(people, k=[3, 5], methods=["mdav"], quasi=["age", "income"], unnamed="other")
    >>> [(line.method, line.k, line.reason) for line in result]
    [('mdav', 3, ''), ('mdav', 5, '')]
    """
    requirement_fields = [name for name in REQUIREMENT_FIELDS if name not in {"l", "t", "of"}]
    check_fields(choices, [*SCHEMA_FIELDS, *requirement_fields, *PERSON_FIELDS])
    reading = ReadOptions.of(read_options)
    fields = {name: choices.get(name) for name in SCHEMA_FIELDS}
    table, full = load(data, schema, fields, reading, progress, read_identifiers=_reads_groups(methods))
    if methods is None:
        methods = DEFAULT_METHODS if table.n_rows <= SMALL_TABLE_RECORDS else DEFAULT_METHODS_LARGE
    methods = [methods] if isinstance(methods, str) or callable(methods) else list(methods)
    calls = _calls(methods, options or {}, seed, time_limit)
    requested = {name: choices[name] for name in requirement_fields if name in choices}
    persons = PersonOptions.of(**{name: choices.get(name) for name in PERSON_FIELDS})
    given = [None] if of is None else names_list(of)
    grid = [
        (call, Combination(call.text, size, diversity, closeness, **mode))
        for mode in _modes(full, given)
        for call, size, diversity, closeness in product(
            _searched(calls, full, mode), _several(k, "k"), _several(l), _several(t)
        )
    ]
    if keep_moments:
        grid = [(call, each) for call, line in grid for each in (line, replace(line, keep_moments=True))]
    if not grid:
        raise ParameterError("there is nothing to compare; name at least one method and one k")
    for _, line in grid:  # a k or a target that is never possible is wrong use, not a combination that fails
        check_k(line.requested_k, line.requested_k)
        _Task.plan_of(full, line, MethodCall(), requested, persons, decimals=decimals)
    rivals = read_rivals([against] if isinstance(against, str) else list(against or ()))
    progress.stage("preparing")
    possible = [
        line.requested_k for _, line in grid if line.requested_k <= table.n_rows
    ]  # the others fail line by line
    prepared = prepared_with_steps(table, full, max(possible, default=2))
    arrays = MethodData(prepared)
    results = []
    for position, (call, line) in enumerate(grid, start=1):
        step = _Named(progress, f"{line.name} ({position} of {len(grid)})")
        task = _Task(prepared, arrays, call, decimals, sums, reading, requested, seed, persons)
        results.append(task.tried(line, step))
    results += measured_rivals(prepared, rivals, seed, progress)
    counted = None if prepared.units is None or full.unit is None else prepared.units.persons
    return Comparison(_with_efficient(results), table.n_rows, backend_of(table.native), table.inputs, counted)


def _modes(schema: Schema, given: Sequence[str | None]) -> list[dict[str, Any]]:
    """Return what k counts in each line, and whether columns are kept constant: both where some are declared."""
    modes: list[dict[str, Any]] = []
    for of in given:
        histories = Requirements(of=of).counting(schema) == Of.HISTORIES
        if schema.constant and not histories:
            of = of or str(Requirements().counting(schema))
            modes += [{"of": of}, {"of": of, "constant": True}]
        else:
            modes.append({"of": of, "constant": bool(schema.constant)})
    return modes


def _searched(calls: list[MethodCall], schema: Schema, mode: Mapping[str, Any]) -> list[MethodCall]:
    """Return the methods of a line: one call where whole persons are grouped, which have a search of their own."""
    whole = mode.get("constant") or Requirements(of=mode["of"]).counting(schema) == Of.HISTORIES
    return [MethodCall(seed=calls[0].seed)] if whole and calls else calls


def _reads_groups(methods: Any) -> bool:
    """Whether a combination takes its groups from a column, which may be a direct identifier."""
    names = [methods] if isinstance(methods, str) else methods or ()
    return any(isinstance(name, str) and name.startswith("labels:") for name in names)


def _calls(
    methods: Sequence[str | Callable[..., Any]], options: Mapping[str, Mapping[str, Any]], seed: int,
    time_limit: float | str | None,
) -> list[MethodCall]:  # fmt: skip
    """Return the methods with their options; an unknown name or option is an error before any work."""
    calls = [method_call(method, None, seed=seed, time_limit=time_limit) for method in methods]
    names = [call.text for call in calls]
    for name in options:
        if name not in names:
            raise ParameterError(f'options are given for "{name}", which is not compared; {suggestion(name, names)}')
    return [
        method_call(call.name, options.get(call.text), seed=seed, time_limit=_limit_for(call, time_limit))
        for call in calls
    ]


def _limit_for(call: MethodCall, time_limit: float | str | None) -> float | str | None:
    return time_limit if "time_limit" in get_method(call.name).injected else None


def _several(values: Any, name: str = "") -> list[Any]:
    if values is None:
        return [None]
    if isinstance(values, str | bytes) or not isinstance(values, int | float | Iterable):
        raise ParameterError(f"{name or 'a target'} must be a number or a list of numbers, not {type(values).__name__}")
    several = [values] if isinstance(values, int | float) else list(values)
    if name and not several:
        raise ParameterError(f"{name} names no value; give at least one, such as {name}=5")
    return several


@dataclass(frozen=True, eq=False)
class _Task:
    """One method on the prepared table, for any requirements."""

    prepared: Prepared
    arrays: MethodData
    call: MethodCall
    decimals: Decimals
    sums: Sums
    reading: ReadOptions
    requested: Mapping[str, Any]
    seed: int
    persons: PersonOptions

    @staticmethod
    def plan_of(
        schema: Schema, line: Combination, call: MethodCall, requested: Mapping[str, Any], persons: PersonOptions,
        **further: Any,
    ) -> Plan:  # fmt: skip
        """Return the plan of a line; options that do not apply to it are left out."""
        requirements = Requirements(k=line.requested_k, **{**requested, "of": line.of, "l": line.l, "t": line.t})
        if not line.constant:
            columns = (replace(column, constant=None) for column in schema.columns)
            schema = replace(schema, columns=tuple(columns))
        histories = requirements.counting(schema) == Of.HISTORIES
        default = PersonOptions()
        if histories:
            persons = replace(persons, weighting=default.weighting)
        else:
            persons = replace(persons, slots=default.slots, suppressed_weight=default.suppressed_weight)
            persons = persons if line.constant else default
        return Plan(schema, requirements, call, persons=persons, **further)

    def tried(self, line: Combination, progress: Progress) -> Combination:
        """Return a combination with its figures, or with the reason why there are none."""
        compiled: list[str] = []
        try:
            with when_compiling(compiled.append):
                released, seconds = self._timed(line, progress)
            if compiled:  # the time of compiling is spent once on a machine and says nothing about the method
                seconds = self._timed(line, progress)[1]
            progress.stage("measuring")
            constant = self.prepared.schema.constant
            return measured(replace(line, seconds=seconds), released, self.prepared.input, self.seed, constant)
        except ShoalError as problem:
            return replace(line, reason=str(problem))
        except MemoryError:
            return replace(line, reason="it does not fit into memory")
        except Exception as fault:  # noqa: BLE001 - one fault must not end the run; its text may quote values
            return replace(line, reason=f"internal error ({type(fault).__name__})")

    def _timed(self, line: Combination, progress: Progress) -> tuple[Released, float]:
        started = perf_counter()
        check_k(line.requested_k, self.prepared.n)
        plan = self.plan_of(
            self.prepared.schema, line, self.call, self.requested, self.persons, decimals=self.decimals,
            sums=self.sums, reading=self.reading, keep_moments=line.keep_moments,
        )  # fmt: skip
        prepared = replace(self.prepared, encoding=replace(self.prepared.encoding, schema=plan.schema))
        released = run_prepared(prepared, plan, data=self.arrays, progress=progress)
        return released, perf_counter() - started


def _with_efficient(found: list[Combination]) -> tuple[Combination, ...]:
    """Mark the combinations that are Pareto-efficient in loss and record linkage; rivals give no k and are none."""
    measured = [
        (line.information_loss, line.record_linkage)
        for line in found
        if line.information_loss is not None and line.record_linkage is not None and not line.rival
    ]

    def dominated(loss: float, linkage: float) -> bool:
        return any(other <= loss and risk <= linkage and (other < loss or risk < linkage) for other, risk in measured)

    return tuple(
        line
        if line.information_loss is None or line.record_linkage is None or line.rival
        else replace(line, efficient=not dominated(line.information_loss, line.record_linkage))
        for line in found
    )


class _Named(Progress):
    """Forwards progress with the name of the combination before the name of the step."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._name = progress, name

    def stage(self, name: str, total: int | None = None) -> None:
        self._progress.stage(f"{self._name}: {name}", total)

    def advance(self, amount: int = 1) -> None:
        self._progress.advance(amount)

    def note(self, text: str) -> None:
        self._progress.note(text)
