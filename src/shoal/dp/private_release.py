"""Release of a table under differential privacy, with the guarantee and the privacy accounting in the manifest."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from shoal.core.arguments import checked
from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.declaration import Declaration
from shoal.dp.domain import Domain
from shoal.dp.guarantee import Guarantee, Neighbours, check_epsilon
from shoal.dp.mechanisms import MechanismResult, check_mechanism
from shoal.dp.opendp_library import library
from shoal.dp.person_rows import PersonLimit, limited, person_limit
from shoal.dp.schema_domain import schema_domain
from shoal.errors import DataError, ParameterError, SchemaError, json_text
from shoal.schema.columns import Schema, names_list
from shoal.schema.plan import ReadOptions
from shoal.tables import Table, write_files
from shoal.tables.files import check_targets, write_directly, write_text
from shoal.tables.text_fields import read_as_declared
from shoal.tables.written import WrittenFile, read_back

_MANIFEST_VERSION = 1  # of manifests whose kind is "differential privacy"; those of protect have a version of their own
_NOT_REPRODUCIBLE = (
    "noise and sampling use random bits of the operating system and have no seed, since a known seed would make the "
    "noise removable; a second run gives other bytes"
)


@dataclass(frozen=True)
class PrivateRelease:
    """A table released under differential privacy.

    Parameters
    ----------
    table
        The released records; they do not correspond to records of the original.
    guarantee
        The privacy guarantee.
    accountant
        The queries that the privacy budget was spent on.
    manifest
        Description of the release for JSON; contains nothing about the data that the guarantee does not cover.
    warnings
        Findings to consider before the table is released.

    Examples
    --------
    >>> import shoal
    >>> ages = [[float(i % 90)] for i in range(900)]
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [i % 90 for i in range(900)]})
    >>> made = shoal.dp.release(people, epsilon=1.0, mechanism="histogram", bounds={"age": (0, 89)})
    >>> made.data.columns, made.guarantee.epsilon
    (['age'], 1.0)
    """

    table: Table
    guarantee: Guarantee
    accountant: Accountant
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [f"PrivateRelease: {self._summary()}", self.guarantee.sentence, self._budget()]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        """Return the summary and the privacy accounting as HTML, for notebooks."""
        rows = "".join(
            f"<tr><td style='text-align: left'>{escape(line.query)}</td><td>{line.epsilon:.4g}</td>"
            f"<td>{line.times}</td><td>{line.parts}</td><td>{float(line.total_epsilon):.4g}</td></tr>"
            for line in self.accountant.spends
        )
        names = ("query", "epsilon", "times", "disjoint parts", "total epsilon")
        head = "".join(f"<th>{name}</th>" for name in names)
        warnings = "".join(f"<p>Warning: {escape(text)}</p>" for text in self.warnings)
        return (
            f"<p><b>PrivateRelease</b>: {escape(self._summary())}<br>{escape(self.guarantee.sentence)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{self._budget()}</p>{warnings}"
        )

    def _summary(self) -> str:
        columns = ", ".join(self.table.names)
        return f"{self.table.n_rows:,} records of {columns}; mechanism {self.manifest['mechanism']['name']}"

    def _budget(self) -> str:
        per = "" if self.guarantee.rows_per_person is None else " per record"
        spent = f"privacy budget{per}: epsilon {self.accountant.spent_epsilon:.4g} of {self.accountant.epsilon:g} spent"
        if not self.accountant.delta:
            return spent
        return f"{spent}, delta {self.accountant.spent_delta:.4g} of {self.accountant.delta:g}"

    @property
    def data(self) -> Any:
        """The table, in the DataFrame library of the input (polars for text files)."""
        return self.table.native

    def manifest_json(self, written: WrittenFile | None = None) -> str:
        """Return the manifest as JSON text, with name, size and SHA-256 of the file that the table was written to."""
        output = {} if written is None else written.as_dict()
        manifest = self.manifest | {"output": self.manifest["output"] | output}
        return json_text(manifest) + "\n"

    @checked
    def write(self, path: str | Path, *, manifest: str | Path | None = None, overwrite: bool = False) -> list[Path]:
        """Write table and manifest, both or none.

        Parameters
        ----------
        path
            Output file of the table; the extension sets the format. The file that the table was read from is never
            replaced.
        manifest
            Output file of the manifest; by default beside the table, ``safe.csv`` with ``safe.manifest.json``.
        overwrite
            Whether existing files are replaced; if not, one of them raises :class:`shoal.errors.FileProblem`.

        Returns
        -------
        paths
            The files that were written.
        """
        path = Path(path)
        manifest = check_targets(path, manifest, None, inputs=self.table.inputs, overwrite=overwrite)
        found: list[WrittenFile] = []

        def write_table(temporary: Path) -> None:
            write_directly(self.table, temporary, target=path)
            found.append(read_back(temporary, path, self.table, []))

        write_files({path: write_table, manifest: lambda place: write_text(place, self.manifest_json(found[0]))})
        return [path, manifest]


@checked
def release(  # noqa: PLR0913 - every option of a user is a keyword
    data: Any,
    *,
    epsilon: float,
    mechanism: str = "mondrian",
    columns: Sequence[str] | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    decimals: Mapping[str, int] | None = None,
    default: Mapping[str, Any] | None = None,
    schema: Schema | str | Path | None = None,
    unit: str | None = None,
    rows_per_person: int | None = None,
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> PrivateRelease:
    """Release a table under differential privacy.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow table, or the path of a file.
    epsilon
        Total privacy loss epsilon; smaller values protect more. With a unit it is the loss per person, as is ``delta``.
    mechanism
        ``mondrian``, ``histogram``, ``intervals``, ``insensitive``, ``strongly-safe``, ``epsilon-safe`` or
        ``small-db``.
    columns
        The columns to release; by default those with bounds or categories. All others are omitted.
    bounds
        ``{"age": (0, 120)}``: the lowest and highest possible value of each column of numbers or dates. They must not
        depend on the data; values beyond a bound are replaced by the bound. Bounds that are whole numbers give
        integers; write ``(0.0, 1.0)`` for fractions. The types of the data are not used.
    categories
        ``{"sex": ["f", "m", "other"]}``: all possible values of each other column. A value that is not listed counts
        as the last one.
    decimals
        ``{"share": 3}``: decimals of released numbers; by default what a grid of 65,536 cells resolves.
    default
        ``{"age": 40}``: the value that takes the place of missing and unreadable values; by default the middle of the
        bounds, or the last category.
    schema
        A schema, its file or its text: identifiers, unit, household and time are never released, the unit is that of
        the guarantee, and the order of an ordinal column lists its categories. It must not depend on the data either.
    unit
        The column that numbers persons, where a person may have several rows; needs ``rows_per_person``. It is not
        released, and rows without a value in it are not used.
    rows_per_person
        How many rows of a person are used at most, drawn at random; choose it without looking at the data.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``na_values``. What is not given follows from the
        header, never from the records.
    progress
        Progress callback.
    options
        Options of the mechanism: ``k`` (size of groups or parts), ``delta`` (failure probability), ``cells`` (cells of
        a column of numbers), ``alpha`` (target accuracy), ``beta`` (sampling probability), ``output`` (``synthetic`` or
        ``microaggregated``), ``neighbours`` (``add-remove`` or ``replace``), ``split_criterion`` (``side``,
        ``deviation`` or ``mad``), ``structure`` (fraction of epsilon for the boxes), ``order`` (``z-curve``, ``sum`` or
        ``lexicographic``), ``records`` (number of synthetic records).

    Returns
    -------
    release
        The new table, the guarantee and the privacy accounting. Its records do not correspond to those of the
        original.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50] * 500, "sex": ["f", "m"] * 1000})
    >>> made = release(people, epsilon=1.0, mechanism="histogram", bounds={"age": (0, 99)}, categories={"sex": "fm"})
    >>> made.data.columns, made.guarantee.sentence
    (['age', 'sex'], '(1, 0)-differential privacy; neighbours: one record more or less')
    """
    check_epsilon(epsilon)
    run = check_mechanism(mechanism, options)
    if schema is not None:
        stated = schema_domain(schema)
        stated.check([*(columns or ()), *(bounds or ()), *(categories or ())])
        unit = unit or stated.unit
        categories = stated.with_categories(categories or {}, bounds or (), columns)
    limit = person_limit(unit, rows_per_person)
    if limit is not None:
        _check_persons(limit, mechanism, options, [*(columns or ()), *(bounds or ()), *(categories or ())])
    library()
    declared = Declaration(
        names_list(columns) if columns is not None else None,
        dict(bounds or {}),
        dict(categories or {}),
        dict(decimals or {}),
        dict(default or {}),
    )
    declared.check()
    progress.stage("reading")
    table = _table(data, declared, ReadOptions.of(read_options))
    used, per_row, spent = (table, epsilon, options) if limit is None else _per_row(table, limit, epsilon, options)
    domain = declared.domain(used)
    result = run(domain, per_row, progress, **spent)
    guarantee = result.guarantee if limit is None else result.guarantee.for_persons(limit.rows)
    if not len(result.positions):
        raise DataError(
            "no records are left to release: after noise or sampling no part is large enough; use a smaller k, fewer "
            "cells or a larger epsilon"
        )
    progress.stage("drawing records")
    frame = domain.restore(result.positions, result.cells, random_within=result.random_within)
    made = replace(table, frame=_like(frame, table), labels=None)
    warnings = _warnings(result, domain, guarantee, limit)
    manifest = _manifest(
        domain, made, result, guarantee, limit=limit, mechanism=mechanism, options=options, epsilon=epsilon,
        warnings=warnings,
    )  # fmt: skip
    return PrivateRelease(made, guarantee, result.accountant, manifest, warnings)


def _check_persons(limit: PersonLimit, mechanism: str, options: dict[str, Any], released: Sequence[str]) -> None:
    """Raise where a limit of rows per person cannot be combined with what else was requested."""
    if limit.unit in released:
        raise SchemaError(
            f'column "{limit.unit}" is the unit and cannot be released; remove it from columns, bounds and categories'
        )
    if mechanism == "insensitive" or options.get("neighbours") == "replace":
        raise ParameterError(
            "a guarantee per person needs a mechanism for add-remove neighbours, since the number of records that are "
            "used depends on the persons; choose mondrian, or histogram with neighbours=add-remove"
        )


def _per_row(
    table: Table, limit: PersonLimit, epsilon: float, options: dict[str, Any]
) -> tuple[Table, float, dict[str, Any]]:
    """Return the rows that are used, and epsilon and options with the privacy loss per record."""
    per_row = limit.epsilon_per_row(epsilon)
    check_epsilon(per_row)
    delta = options.get("delta")
    if isinstance(delta, int | float) and not isinstance(delta, bool) and delta > 0:
        options = options | {"delta": limit.delta_per_row(delta, per_row)}
    return limited(table, limit), per_row, options


def _table(data: Any, declared: Declaration, reading: ReadOptions) -> Table:
    if isinstance(data, str | Path):
        return read_as_declared(Path(data), declared.names, **reading.given())
    if reading.given():
        raise ParameterError(
            f"read options ({', '.join(reading.given())}) apply to text files only, and a {type(data).__name__} was "
            "given"
        )
    return Table.from_native(data)


def _like(frame: pl.DataFrame, table: Table) -> nw.DataFrame[Any]:
    """Return a frame in the DataFrame library of the table."""
    if table.frame.implementation.is_pandas_like():
        return nw.from_native(frame.to_pandas(), eager_only=True)
    if table.frame.implementation.is_pyarrow():
        return nw.from_native(frame.to_arrow(), eager_only=True)
    return nw.from_native(frame, eager_only=True)


def _warnings(
    result: MechanismResult, domain: Domain, guarantee: Guarantee, limit: PersonLimit | None
) -> tuple[str, ...]:
    found = []
    if guarantee.epsilon > 10:
        found.append(f"epsilon={guarantee.epsilon:g} gives hardly any protection; common values are 0.1 to 2")
    if guarantee.delta * len(result.positions) > 0.01:
        found.append(
            f"delta={guarantee.delta:g} is not far below one over the number of records; single records may be exposed"
        )
    known = {*(column.name for column in domain.columns), *(() if limit is None else [limit.unit])}
    omitted = [name for name in domain.table.names if name not in known]
    if omitted:
        found.append(f"omitted columns, which have neither bounds nor categories: {', '.join(omitted)}")
    return tuple(found)


def _guarantee_for_replacement(guarantee: Guarantee) -> dict[str, Any] | None:
    try:
        return guarantee.for_replacement().as_dict()
    except ParameterError:  # there is no guarantee for two steps of such a large epsilon
        return None


def _manifest(
    domain: Domain,
    made: Table,
    result: MechanismResult,
    guarantee: Guarantee,
    *,
    limit: PersonLimit | None,
    mechanism: str,
    options: dict[str, Any],
    epsilon: float,
    warnings: tuple[str, ...],
) -> dict[str, Any]:
    """Return the manifest, without a fingerprint or an exact count of the input, which the guarantee does not cover."""
    public = guarantee.neighbours == Neighbours.REPLACE
    return {
        "manifest_version": _MANIFEST_VERSION,
        "shoal": version("shoal"),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "opendp", "polars", "narwhals")},
        "kind": "differential privacy",
        "guarantee": guarantee.as_dict(),
        "guarantee_if_a_record_is_replaced": _guarantee_for_replacement(guarantee),
        "budget": result.accountant.as_dict(),
        **({} if limit is None else {"persons": {**limit.as_dict(), "budget": "per record"}}),
        "mechanism": {"name": mechanism, "epsilon": epsilon, "options": options, "diagnostics": result.diagnostics},
        "domain": [column.as_dict() for column in domain.columns],
        "input": {
            "columns": len(domain.table.names),
            "records": domain.table.n_rows if public else "not stated: the guarantee does not cover an exact count",
            "fingerprint": "not stated: it would allow a guess of the table to be confirmed",
        },
        "output": {
            "records": made.n_rows,
            "columns": len(made.names),
            "fingerprint": f"sha256:{made.fingerprint()}",
        },
        "reproducible": False,
        "reason_not_reproducible": _NOT_REPRODUCIBLE,
        "warnings": list(warnings),
    }
