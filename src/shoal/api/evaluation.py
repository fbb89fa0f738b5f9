"""``evaluate``: re-identification risk and data utility of a release, against its original, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.core.arguments import checked
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.schema.columns import Role, Schema
from shoal.schema.loading import complete_schema, load_typed
from shoal.schema.plan import ReadOptions

if TYPE_CHECKING:
    from shoal.evaluate.risk import Risk
    from shoal.evaluate.utility import Utility


@checked
def evaluate(
    original: Any,
    released: Any,
    *,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    other: Sequence[str] | None = None,
    unnamed: str | None = None,
    schema: Schema | str | Path | None = None,
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    strata: Sequence[str] | None = None,
    sampling_weight: str | None = None,
    control: Any = None,
    population: Any = None,
    target: str | None = None,
    seed: int = 0,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
) -> tuple[Risk, Utility]:
    """Measure risk and utility of a release, made by any software, against its original.

    Parameters
    ----------
    original, released
        Two tables or paths of files, with the same records in the same order.
    quasi, confidential, identifiers, other, unnamed, schema, kinds, orders, hierarchies, strata, sampling_weight
        As in :func:`shoal.protect`.
    control
        A table of persons who are not in the release, as a baseline of attribute disclosure.
    population
        A table of the whole population, for journalist and marketer risk.
    target
        The target variable of regression and prediction measures.
    seed
        Seed of the random numbers.
    read_options
        For text files: ``delimiter``, ``encoding``, ``decimal``, ``na_values``.
    progress
        Progress callback.

    Returns
    -------
    risk, utility
        As of :func:`shoal.risk` and :func:`shoal.utility`.

    Examples
    --------
    >>> import polars as pl
    >>> before = pl.DataFrame({"age": [30, 32, 60, 62], "income": [10, 14, 20, 30]})
    >>> after = before.with_columns(age=pl.Series([31, 31, 61, 61]))
    >>> risk, utility = evaluate(before, after, quasi=["age"], confidential=["income"])
    >>> risk.classes.prosecutor.highest
    0.5
    """
    from shoal.evaluate.risk import risk
    from shoal.evaluate.utility import utility

    reading = ReadOptions.of(read_options)
    progress.stage("reading")
    table = load_typed(original, reading)
    changes = {
        "quasi": quasi, "confidential": confidential, "identifiers": identifiers, "other": other, "unnamed": unnamed,
        "kinds": kinds, "orders": orders, "hierarchies": hierarchies,
        "strata": strata, "sampling_weight": sampling_weight,
    }  # fmt: skip
    full = complete_schema(table, schema, {name: value for name, value in changes.items() if value})
    names, attributes = full.protected, full.named(Role.CONFIDENTIAL)
    if not names:
        raise ParameterError("no quasi-identifiers given; use quasi=[...] (command line: --quasi age,region)")
    if control is not None and not attributes:
        raise ParameterError("control is the baseline of attribute disclosure; name confidential attributes as well")
    compared = load_typed(released, reading)
    if compared.n_rows != table.n_rows:
        raise DataError(
            f"the original has {table.n_rows:,} records and the release {compared.n_rows:,}; evaluate needs the same "
            "records in the same order (in Python, shoal.risk and shoal.utility measure tables of different lengths)"
        )
    options = reading.given()
    risks = risk(
        table, released, quasi=names, confidential=attributes, control=control, population=population,
        sampling_weight=full.sampling_weight, schema=full, seed=seed, read_options=options, progress=progress,
    )  # fmt: skip
    uses = utility(
        table, compared, columns=[*names, *attributes], target=target, schema=full, seed=seed, read_options=options,
        progress=progress,
    )  # fmt: skip
    return risks, uses
