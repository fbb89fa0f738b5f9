"""A table in, a table under differential privacy out, with its promise in the manifest."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from shoal.api.release import check_targets
from shoal.core.progress import SILENT, Progress
from shoal.dp.accountant import Accountant
from shoal.dp.domain import Domain, domain_of
from shoal.dp.guarantee import Guarantee, Neighbours, check_epsilon
from shoal.dp.mechanisms import Outcome, check_mechanism
from shoal.dp.opendp_library import library
from shoal.errors import DataError, ParameterError
from shoal.schema.columns import names_list
from shoal.schema.loading import load
from shoal.tables import Table, write_files
from shoal.tables.files import write_plainly, write_text

_NOT_REPEATABLE = (
    "noise and sampling use random bits of the operating system and take no seed, since a known seed would undo the "
    "protection; a second run gives other bytes"
)


@dataclass(frozen=True)
class PrivateRelease:
    """A table released under differential privacy.

    Parameters
    ----------
    table
        The records that are released; none of them belongs to a record of the original.
    guarantee
        What is promised.
    accountant
        What the budget was spent on.
    manifest
        What was done, for JSON; holds nothing about the data beyond what the promise covers.
    warnings
        What a person should know before handing the table out.
    """

    table: Table
    guarantee: Guarantee
    accountant: Accountant
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def data(self) -> Any:
        """The table, in the library that the original came in (polars for text files)."""
        return self.table.native

    def manifest_json(self) -> str:
        """Return the manifest as JSON text."""
        return json.dumps(self.manifest, indent=2, ensure_ascii=False) + "\n"

    def write(self, path: str | Path, *, manifest: str | Path | None = None) -> list[Path]:
        """Write table and manifest, both or none.

        Parameters
        ----------
        path
            Where the table goes; its ending says the format.
        manifest
            Where the manifest goes; by default beside the table, ``safe.csv`` with ``safe.manifest.json``.

        Returns
        -------
        paths
            What was written.
        """
        path = Path(path)
        manifest = check_targets(path, manifest, None)
        writers: dict[Path, Callable[[Path], None]] = {
            manifest: lambda place: write_text(place, self.manifest_json()),
            path: lambda place: write_plainly(self.table, place, target=path),  # the table appears last
        }
        write_files(writers)
        return [path, manifest]


def release(
    data: Any,
    *,
    epsilon: float,
    mechanism: str = "mondrian",
    columns: Sequence[str] | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
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
        The whole price; smaller is safer.
    mechanism
        ``mondrian``, ``histogram``, ``intervals``, ``insensitive``, ``strongly-safe``, ``epsilon-safe`` or
        ``small-db``.
    columns
        The columns to release; by default those with bounds or categories. All others are left out.
    bounds
        ``{"age": (0, 120)}``: the lowest and highest possible value of each column of numbers or dates, chosen without
        looking at the data; values beyond are moved to the bound.
    categories
        ``{"sex": ["f", "m"]}``: all possible values of each other column.
    read_options
        For a text file: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Hears how far the work is.
    options
        Options of the mechanism: ``k``, ``delta``, ``cells``, ``alpha``, ``beta``, ``output``, ``neighbours``,
        ``spread``, ``structure``, ``order``, ``records``.

    Returns
    -------
    release
        The new table, the promise and the account. Its records are in no relation to those of the original.

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
    library()
    bounds, categories = dict(bounds or {}), dict(categories or {})
    named = names_list(columns) if columns is not None else None
    kinds = {**dict.fromkeys(bounds, "numeric"), **dict.fromkeys(categories, "nominal")}
    numeric = [name for name in (named if named is not None else kinds) if name not in categories]
    table, _ = load(data, None, {"quasi": numeric, "kinds": kinds}, read_options or {}, progress)
    domain = domain_of(table, named, bounds, categories)
    outcome = run(domain, epsilon, progress, **options)
    if not len(outcome.places):
        raise DataError(
            "nothing is left to release: after noise or sampling no part is large enough; use a smaller k, fewer cells "
            "or a larger epsilon"
        )
    progress.stage("drawing records")
    frame = domain.restore(outcome.places, outcome.cells, inside=outcome.inside)
    made = replace(table, frame=_like(frame, table), labels=None)
    warnings = _warnings(outcome, domain)
    manifest = _manifest(domain, made, mechanism, options, epsilon, outcome, warnings)
    return PrivateRelease(made, outcome.guarantee, outcome.accountant, manifest, warnings)


def _like(frame: pl.DataFrame, table: Table) -> nw.DataFrame[Any]:
    """Return a frame in the library of the table."""
    if table.frame.implementation.is_pandas_like():
        return nw.from_native(frame.to_pandas(), eager_only=True)
    if table.frame.implementation.is_pyarrow():
        return nw.from_native(frame.to_arrow(), eager_only=True)
    return nw.from_native(frame, eager_only=True)


def _warnings(outcome: Outcome, domain: Domain) -> tuple[str, ...]:
    found = []
    promise = outcome.guarantee
    if promise.epsilon > 10:
        found.append(f"epsilon={promise.epsilon:g} promises next to nothing; common values are 0.1 to 2")
    if promise.delta * len(outcome.places) > 0.01:
        found.append(
            f"delta={promise.delta:g} is not far below one over the number of records; single records may be exposed"
        )
    left_out = [name for name in domain.table.names if name not in {column.name for column in domain.columns}]
    if left_out:
        found.append(f"left out, since they have neither bounds nor categories: {', '.join(left_out)}")
    return tuple(found)


def _if_replaced(promise: Guarantee) -> dict[str, Any] | None:
    try:
        return promise.for_replacement().as_dict()
    except ParameterError:  # two steps of so large an epsilon promise nothing
        return None


def _manifest(
    domain: Domain,
    made: Table,
    mechanism: str,
    options: dict[str, Any],
    epsilon: float,
    outcome: Outcome,
    warnings: tuple[str, ...],
) -> dict[str, Any]:
    """Return what was done; a fingerprint or an exact count of the input would say more than the promise allows."""
    promise = outcome.guarantee
    public = promise.neighbours == Neighbours.REPLACE
    return {
        "shoal": version("shoal"),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in ("numpy", "opendp", "polars", "narwhals")},
        "kind": "differential privacy",
        "guarantee": promise.as_dict(),
        "guarantee_if_a_record_is_replaced": _if_replaced(promise),
        "budget": outcome.accountant.as_dict(),
        "mechanism": {"name": mechanism, "epsilon": epsilon, "options": options, "facts": outcome.facts},
        "domain": [column.as_dict() for column in domain.columns],
        "input": {
            "columns": len(domain.table.names),
            "records": domain.table.n_rows if public else "not told: an exact count is not covered by the promise",
            "fingerprint": "not told: it would allow a guess at the whole table to be confirmed",
        },
        "output": {
            "records": made.n_rows,
            "columns": len(made.names),
            "fingerprint": f"sha256:{made.fingerprint()}",
        },
        "reproducible": False,
        "why_not_reproducible": _NOT_REPEATABLE,
        "warnings": list(warnings),
    }
