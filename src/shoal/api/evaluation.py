"""``evaluate``: re-identification risk and data utility of a release, against its original, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.core.progress import SILENT, Progress
from shoal.errors import DataError, ParameterError
from shoal.schema.columns import Role, Schema
from shoal.schema.loading import complete_schema, load_for_counting, load_typed, load_with_schema
from shoal.schema.plan import ReadOptions
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.evaluate.attacks import Attack
    from shoal.evaluate.risk import Risk
    from shoal.evaluate.utility import Utility
    from shoal.flow.holder_record import HolderRecord
    from shoal.privacy.person_risk import PersonFigures


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
    unit: str | None = None,
    household: str | None = None,
    time: str | None = None,
    schema: Schema | str | Path | None = None,
    kinds: Mapping[str, str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    strata: Sequence[str] | None = None,
    sampling_weight: str | None = None,
    release_weight: str | None = None,
    known: Sequence[str] | None = None,
    control: Any = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    target: str | None = None,
    k: int = 3,
    record: HolderRecord | str | Path | None = None,
    also: Any = None,
    also_record: HolderRecord | str | Path | None = None,
    seed: int = 0,
    read_options: Mapping[str, Any] | ReadOptions | None = None,
    progress: Progress = SILENT,
) -> tuple[Risk, Utility]:
    """Measure risk and utility of a release, made by any software, against its original.

    Parameters
    ----------
    original, released
        Two tables or paths of files, with the same records in the same order, unless ``record`` states the order. Of
        Parquet files that memory does not hold, a sample of 100,000 to 200,000 records is measured: all records of the
        equivalence classes that a hash selects; the notes state its size.
    quasi, confidential, identifiers, other, unnamed, unit, household, time, schema, kinds, orders, hierarchies, strata,
    sampling_weight, release_weight, known
        As in :func:`shoal.protect`.
    control
        A table of persons of the same population who are not in the release: the baseline of attribute disclosure, and
        of singling out, linkability and membership, which are measured with it only.
    population
        The number of individuals of the population of which the original is a sample, or a table of them, for
        journalist and marketer risk.
    sampling_fraction
        The share of the population that the original is, instead of its size.
    target
        The target variable of regression and prediction measures.
    k
        Persons with fewer than k released rows that cover their true values are counted, where cells were suppressed
        or generalised.
    record
        The holder's record of the release, which states the order of its rows. Releases with a unit or a household have
        a random order.
    also
        An earlier or parallel release of the same people: measures what both together disclose, by intersection of
        equivalence classes and by differencing of totals. A table with as many records must have them in the same
        order; otherwise give ``also_record``.
    also_record
        The holder's record of the other release, which states whose record is whose.
    seed
        Seed of the random numbers.
    read_options
        For text files: ``delimiter``, ``encoding``, ``decimal``, ``na_values``; for Excel: ``sheet``.
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
    arguments = dict(locals())
    from shoal.core.grouping import check_k
    from shoal.evaluate.risk import risk
    from shoal.evaluate.utility import utility

    check_k(k, k)
    reading = ReadOptions.of(read_options)
    changes = {
        "quasi": quasi, "confidential": confidential, "identifiers": identifiers, "other": other, "unnamed": unnamed,
        "unit": unit, "household": household, "time": time,
        "kinds": kinds, "orders": orders, "hierarchies": hierarchies, "strata": strata,
        "sampling_weight": sampling_weight, "release_weight": release_weight, "known": known,
    }  # fmt: skip
    changes = {name: value for name, value in changes.items() if value}
    found = _evaluated_sample(arguments, changes)
    if found is not None:
        return found
    progress.stage("reading")
    table = load_typed(original, reading)
    full = complete_schema(table, schema, changes)
    names, attributes = full.protected, full.named(Role.CONFIDENTIAL)
    if not names:
        raise ParameterError("no quasi-identifiers given; use quasi=[...] (command line: --quasi age,region)")
    compared = load_typed(released, reading)
    if compared.n_rows != table.n_rows and record is None:
        raise DataError(
            f"the original has {table.n_rows:,} records and the release {compared.n_rows:,}; evaluate needs the same "
            "records in the same order (in Python, shoal.risk and shoal.utility measure tables of different lengths)"
        )
    rows = None
    if full.unit or full.household or record is not None:
        from shoal.api.released_units import original_rows, read_record, with_recorded_steps

        known_record = None if record is None else read_record(record)
        rows = original_rows(table, compared, full, known_record)
        table = table.in_order(rows)
        full = full if known_record is None else with_recorded_steps(full, known_record)
    else:
        from shoal.api.released_units import check_not_shuffled

        check_not_shuffled(table, compared, full)
    if any(column.before or column.after for column in full.columns):
        from shoal.flow.stepped import comparable_original

        control, population = (_stepped(given, full, reading) for given in (control, population))
        table, full = comparable_original(table, full)
    options = reading.given() if any(isinstance(file, str | Path) for file in (released, control, population)) else None
    known = [name for name in full.known if name not in {*names, *attributes}]
    risks = risk(
        table, released, quasi=[*names, *known], confidential=attributes, control=control, population=population,
        sampling_fraction=sampling_fraction,
        sampling_weight=full.released_weight, schema=full, k=k, seed=seed, read_options=options, progress=progress,
        units=_units(table, full) if rows is not None else None,
    )  # fmt: skip
    if rows is not None and (full.unit or full.household):
        risks = replace(risks, persons=_person_figures(table, released, full, reading, progress))
    uses = utility(
        table, compared, columns=[*names, *attributes], target=target, schema=full, seed=seed, progress=progress,
    )  # fmt: skip
    if also is not None:
        progress.stage("intersecting two releases")
        attacks, notes = _second_release(original, table, compared, load_typed(also, reading), also_record, full, rows)
        risks = replace(risks, attacks=(*risks.attacks, *attacks), notes=(*risks.notes, *notes))
    elif also_record is not None:
        raise ParameterError("also_record is the record of another release; name its table with also=")
    if control is None:
        note = (
            "Singling out, linkability and membership were not measured: they need people of the same population who "
            "are not in the release (control=, command line: --control)."
        )
        risks = replace(risks, notes=(*risks.notes, note))
    return risks, uses


def _stepped(given: Any, schema: Schema, reading: ReadOptions) -> Any:
    """Return a control table or a population with bands and mappings applied; a number, or None, as it is."""
    from shoal.evaluate.population_risk import stated_size
    from shoal.flow.stepped import comparable_original

    known = stated_size(given)
    if known is None or isinstance(known, int | float | np.integer | np.floating):
        return given
    return comparable_original(load_typed(given, reading), schema)[0]


def _evaluated_sample(arguments: Mapping[str, Any], changes: Mapping[str, Any]) -> tuple[Risk, Utility] | None:
    """Return the measures on a sample where both tables are Parquet and memory does not hold them."""
    original, released = arguments["original"], arguments["released"]
    stated = any(arguments[name] is not None for name in ("record", "also", "also_record"))
    if stated or not (isinstance(original, str | Path) and isinstance(released, str | Path)):
        return None
    from shoal.api.sampled_release import sampled_pair

    found = sampled_pair(original, released, arguments["schema"], changes, arguments["progress"])
    if found is None:
        return None
    inside = {**arguments, "original": found.original.native, "released": found.released.native}
    if isinstance(arguments["population"], int | np.integer):
        share = found.sample.records / int(arguments["population"])
        inside |= {"population": None, "sampling_fraction": min(1.0, share)}
    risks, uses = evaluate(**inside)
    note = found.sample.note
    return replace(risks, notes=(note, *risks.notes)), replace(uses, notes=(note, *uses.notes))


def _units(original: Table, schema: Schema) -> NDArray[np.int64] | None:
    """Return the person of each row, where the schema has a unit."""
    from shoal.flow.units import read_units

    units = None if schema.unit is None else read_units(original, schema, ordered=False)
    return None if units is None else units.unit


def _person_figures(
    original: Table, released: Any, schema: Schema, reading: ReadOptions, progress: Progress
) -> PersonFigures | None:
    """Return the risk of the persons of a release; the original has the order of the release."""
    from shoal.flow.units import read_units
    from shoal.privacy.k_anonymity import class_labels
    from shoal.privacy.person_risk import person_figures

    units = read_units(original, schema, ordered=False)
    if units is None:
        return None
    labels = class_labels(load_for_counting(released, schema.protected, reading, progress), schema.protected)
    return person_figures(labels, units.unit, units.household, threshold=0.2)


def _second_release(  # noqa: PLR0917 - one value for each of the two tables
    given: Any, original: Table, released: Table, also: Table, record: HolderRecord | str | Path | None, schema: Schema,
    order: NDArray[np.int64] | None = None,
) -> tuple[list[Attack], list[str]]:  # fmt: skip
    """Return the attacks of an intruder who has two releases, and what could not be measured.

    ``original`` has the order of the release; ``order`` has the row of each of its rows in the table that was given.
    """
    from shoal.evaluate.differencing import differencing_attacks, differencing_of_totals
    from shoal.evaluate.intersection import intersection_attacks

    names = schema.protected
    rows = _rows_of_other(given, original, also, record, schema)
    if order is not None and rows is not None and record is not None:
        rows = rows[order]  # found in the order of the table that was given
    units = _units(original, schema) if order is not None else None
    attacks, notes = intersection_attacks(original, released, also, names, rows=rows, units=units, schema=schema)
    shared = [name for name in names if name in also.names and name not in schema.strata]
    missing = None if rows is None else np.flatnonzero(rows < 0)
    if rows is not None and missing is not None and missing.size == original.n_rows - also.n_rows:
        also = also.in_order(rows[rows >= 0])  # totals do not depend on the order, missing records are found by it
    if also.n_rows < original.n_rows and (missing is None or missing.size == original.n_rows - also.n_rows):
        try:
            differences = differencing_of_totals(
                original, released, also, shared, missing=missing, schema=schema,
                strata=[name for name in schema.strata if name in also.names],
            )  # fmt: skip
        except DataError as problem:
            notes.append(f"Differencing of totals was not measured: {problem}.")
        else:
            persons = None if units is None or missing is None else np.unique(units[missing]).size
            attacks += differencing_attacks(differences, original.n_rows, persons=persons)
    elif also.n_rows == original.n_rows and (missing is None or not missing.size):
        notes.append("Both releases have the same records, so that no record follows from the difference of totals.")
    else:
        notes.append(
            "Differencing of totals was not measured: the other release has records that this original lacks; evaluate "
            "the larger release with its own original, and the smaller one as the other."
        )
    return attacks, notes


def _rows_of_other(
    given: Any, original: Table, also: Table, record: HolderRecord | str | Path | None, schema: Schema
) -> NDArray[np.int64] | None:
    """Return the row of each record in the other release; None if that is not known."""
    if record is None:
        if schema.unit or schema.household:
            raise ParameterError(
                "the rows of releases with a unit or a household are in a random order; name the holder's record of "
                "the other release with also_record= (command line: --also-record)"
            )
        return np.arange(original.n_rows) if also.n_rows == original.n_rows else None
    from shoal.flow.holder_record import HolderRecord
    from shoal.flow.record_matching import match_records

    known = record if isinstance(record, HolderRecord) else HolderRecord.read(record)
    if known.rows.height != also.n_rows:
        raise DataError(
            f"the holder's record is that of a release with {known.rows.height:,} records, and the other release has "
            f"{also.n_rows:,}; name the record that was written beside it"
        )
    table = given if isinstance(given, Table) else original
    if not isinstance(given, str | Path | Table) and (schema.unit or schema.household):
        table = Table.from_native(given)  # in the order that was given
    if isinstance(given, str | Path):  # columns that stay unchanged are hashed as they are written
        table, _ = load_with_schema(given, schema=schema)
    earlier = match_records(known, table).earlier
    return np.where(earlier >= 0, known.released_rows[earlier], -1)
