"""The risk of a release in one place: sizes of equivalence classes, attacks with baselines, contributions of columns.

``shoal.risk(original, released, quasi=[...])`` measures any release, whichever software made it; ``Release.risk`` the
release of a run. Figures that need only the released table are in ``class_risk.py`` and ``contribution.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.core.arguments import checked
from shoal.core.grouping import check_k
from shoal.core.progress import SILENT, Progress
from shoal.core.text import html_table, percent, text_table
from shoal.errors import ParameterError, SchemaError, suggestion
from shoal.evaluate.attacks import MAX_SEARCHED, Attack, sampled_rows
from shoal.evaluate.attribute_disclosure import attribute_disclosure, attribute_inference
from shoal.evaluate.candidates import CandidatesAttack, against_control, candidates, covering_rows
from shoal.evaluate.class_risk import ClassRisk, class_risk, people_in_classes
from shoal.evaluate.contribution import Contribution, contributions
from shoal.evaluate.control_attacks import Units, control_attacks
from shoal.evaluate.covering import CoveredColumn, any_general, covered_columns
from shoal.evaluate.interval_disclosure import interval_disclosure, rank_interval_disclosure
from shoal.evaluate.linkage import assignment_linkage, linkage_without, person_linkage, record_linkage
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn, pair_columns, pair_with_others
from shoal.evaluate.population_risk import known_population, population_of_classes
from shoal.privacy.k_anonymity import Classes, class_labels
from shoal.privacy.person_risk import PersonFigures
from shoal.schema.columns import Schema, names_list
from shoal.schema.loading import check_read_options, complete_schema, load_file_or_frame, load_for_counting
from shoal.schema.plan import ReadOptions
from shoal.tables import Table
from shoal.tables.frames import backend_of, data_frame

BY_PERSONS = (
    "Persons have several rows. Class risks, record linkage and assignment linkage count records, where a link to "
    "another row of the same person is no success; all other attacks count persons."
)
_HEADER = ("measure", "risk", "baseline", "meaning")
_MOST_LINES = 4  # of a repr
_COLUMN_HEADER = ("quasi-identifier", "contribution", "record linkage", "separation", "distinction")


@dataclass(frozen=True, repr=False)
class Risk:
    """The risk of a release.

    Parameters
    ----------
    classes
        Prosecutor, journalist and marketer risk and uniqueness, from the sizes of the equivalence classes.
    attacks
        The success of each attack, with its baseline.
    columns
        The contribution of each quasi-identifier.
    notes
        What was not measured, and why.
    persons
        Risk and shares of persons and households, where a unit or household says whose rows the rows are; all other
        figures count records.
    backend
        The library of the DataFrame that :meth:`table` returns: ``polars``, ``pandas`` or ``pyarrow``.
    """

    classes: ClassRisk
    attacks: tuple[Attack, ...]
    columns: Mapping[str, Contribution]
    notes: tuple[str, ...] = ()
    persons: PersonFigures | None = None
    backend: str = field(default="polars", compare=False, kw_only=True)

    def attack(self, name: str, target: str = "") -> Attack:
        """Return one attack by name and, where there is one, the column it aims at."""
        for attack in self.attacks:
            if attack.name == name and target in {attack.target, ""}:
                return attack
        names = sorted({attack.name for attack in self.attacks})
        aim = f' on column "{target}"' if target else ""
        raise ParameterError(f'there is no attack "{name}"{aim}; {suggestion(name, names)}')

    @property
    def candidates(self) -> CandidatesAttack | None:
        """The candidates attack; None where no cell was suppressed or generalised."""
        found = [attack for attack in self.attacks if isinstance(attack, CandidatesAttack)]
        return found[0] if found else None

    def _class_figures(self) -> list[tuple[str, float, str]]:
        classes = self.classes
        above = f"share of records above {100 * classes.prosecutor.threshold:g} %"
        return [
            ("prosecutor, highest", classes.prosecutor.highest, "largest risk of a record"),
            ("prosecutor, average", classes.prosecutor.average, "mean over records"),
            ("prosecutor, share at risk", classes.prosecutor.share_above, above),
            *self._journalist(),
            ("marketer", classes.marketer, "expected share of records matched"),
            ("unique", classes.unique, "sample-unique records"),
            *([] if self.persons is None else self.persons.figures()),
        ]

    def _journalist(self) -> list[tuple[str, float, str]]:
        """Return the risk against the population, where something is known about it."""
        population = self.classes.population
        if population is None:
            return []
        return [
            ("journalist, highest", population.highest, f"largest risk of a record, by {population.source}"),
            ("journalist, average", population.average, "mean over records"),
            ("population-unique", population.population_unique, "records expected to be unique in the population"),
        ]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return measure, figure, baseline and meaning as rows of text."""
        found = [(name, percent(value), "", meaning) for name, value, meaning in self._class_figures()]
        if self.classes.population is not None:
            shown = {name for name, *_ in found}
            rows = [row for row in self.classes.population.rows() if row[0] not in shown]
            found += [(name, value, "", meaning) for name, value, meaning in rows]
        for attack in self.attacks:
            name = f"{attack.name}: {attack.target}" if attack.target else attack.name
            found.append((name, str(attack.success), percent(attack.baseline.value), attack.description))
        return found

    def column_rows(self) -> list[tuple[str, ...]]:
        """Return the contribution of each quasi-identifier as rows of text."""
        return [
            (name, *map(percent, (part.contribution, part.record_linkage, part.separation, part.distinction)))
            for name, part in self.columns.items()
        ]

    def table(self, backend: str | None = None) -> Any:
        """Return the figures as a DataFrame with one row per measure.

        Parameters
        ----------
        backend
            ``polars``, ``pandas`` or ``pyarrow``; by default the library of the released table.

        Returns
        -------
        frame
            Columns ``measure``, ``target`` (the column that an attack aims at), ``value``, ``low`` and ``high`` (95 %
            confidence interval; equal to the value where nothing is sampled), ``baseline`` and ``meaning``.
        """
        rows: list[tuple[Any, ...]] = [
            (name, "", value, value, value, None, meaning) for name, value, meaning in self._class_figures()
        ]
        rows += [
            (
                attack.name, attack.target, attack.success.value, attack.success.low, attack.success.high,
                attack.baseline.value, attack.description,
            )
            for attack in self.attacks
        ]  # fmt: skip
        header = ("measure", "target", "value", "low", "high", "baseline", "meaning")
        return data_frame(header, rows, backend or self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures for JSON."""
        return {
            "classes": self.classes.to_dict(),
            **({} if self.persons is None else {"persons": self.persons.to_dict()}),
            "attacks": [attack.to_dict() for attack in self.attacks],
            "columns": {name: column.to_dict() for name, column in self.columns.items()},
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """Return the number of records and classes and the prosecutor risk as one line."""
        classes = self.classes
        return (
            f"{classes.records:,} records in {classes.classes:,} equivalence "
            f"class{'es' if classes.classes != 1 else ''}; prosecutor risk {percent(classes.prosecutor.highest)} at "
            f"most, {percent(classes.prosecutor.average)} on average"
            + ("" if self.persons is None else f"; person risk {percent(self.persons.risk.highest)} at most")
        )

    def __repr__(self) -> str:
        lines = [f" {name}: {figure} (baseline {baseline})" for name, figure, baseline, _ in self.rows() if baseline]
        shown = lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], " ..."]
        return "\n".join([f"<Risk: {self.summary()}", *shown]) + ">"

    def __str__(self) -> str:
        tables = [
            text_table(_HEADER, self.rows()),
            text_table(_COLUMN_HEADER, self.column_rows()),
        ]
        return "\n\n".join([*tables, *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        tables = html_table(_HEADER, self.rows()) + html_table(_COLUMN_HEADER, self.column_rows())
        return f"<p>{escape(self.summary())}</p>{tables}{notes}"


@checked
def risk(
    original: Any,
    released: Any,
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    control: Any = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    sampling_weight: str | None = None,
    schema: Schema | str | Path | None = None,
    threshold: float = 0.2,
    width: float = 0.05,
    k: int = 3,
    sample: int | None = MAX_SEARCHED,
    units: NDArray[np.int64] | None = None,
    seed: int = 0,
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Risk:
    """Measure the risk of a release, whichever software made it, against its original.

    Parameters
    ----------
    original, released
        Two tables or paths of files. Record i of the original is record i of the release; if the numbers of records
        differ, only figures of the released table alone are measured, and ``notes`` states so.
    quasi
        The quasi-identifiers.
    confidential
        The confidential columns.
    control
        A table of individuals who are not in the release, from the same population: the baseline of attribute
        disclosure. Singling out, linkability and membership are measured with it only; see
        :mod:`shoal.evaluate.control_attacks`.
    population
        The number of individuals of the population, or a table of them, for journalist and marketer risk. Individuals
        of a table are counted at the class that is nearest to them.
    sampling_fraction
        The share of the population that the table is, instead of its size.
    sampling_weight
        A column of the release with the number of individuals of the population that a record represents, instead of a
        population table. The intruder knows it, as the quasi-identifiers.
    schema
        Kinds and orders of columns, where they differ from what the types suggest.
    threshold
        Records with a prosecutor or journalist risk above this are counted.
    width
        Half of the width of the interval of interval disclosure, in standard deviations or as a share of the ranks.
    k
        Persons with fewer than k released rows that cover their true values are counted, where cells were suppressed
        or replaced by ranges, sets or nodes of a hierarchy.
    sample
        The most records that record linkage tries; None for all.
    units
        The person of each record as a number, where persons have several: attacks are then counted by persons, and
        linkage by records and by persons. With a unit in the schema, the persons of a control table are read from it.
    seed
        Seed of samples and shuffled baselines.
    read_options
        For text files: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Progress callback.

    Returns
    -------
    risk
        Classes, attacks and contributions; ``print`` shows them as tables, ``.table()`` returns a DataFrame.

    Examples
    --------
    >>> import polars as pl
    >>> before = pl.DataFrame({"age": [30, 32, 60, 62], "diagnosis": ["A", "A", "A", "B"]})
    >>> after = before.with_columns(age=pl.Series([31, 31, 61, 61]))
    >>> found = risk(before, after, quasi=["age"], confidential=["diagnosis"])
    >>> found.classes.prosecutor.highest, found.attack("record-linkage").success.value
    (0.5, 0.5)
    >>> found.attack("attribute-disclosure").success.value
    0.75
    """
    names, confidential_names = _names(quasi, confidential)
    check_k(k, k)
    options = ReadOptions.of(read_options).given()
    check_read_options(options, original, released, control, population)
    before, after = load_file_or_frame(original, options), load_file_or_frame(released, options)
    if isinstance(schema, str | Path):
        schema = complete_schema(before, schema, {})
    backend = backend_of(after.native)
    counted = _as_counted(released, names, options, progress)
    progress.stage("counting classes")
    coarse = class_labels(counted, names)
    known = known_population(population, sampling_fraction, counted.n_rows)
    individuals = None
    if known.table is not None:
        everyone = load_file_or_frame(known.table, options)
        individuals = population_of_classes(before, after, everyone, names, coarse, schema)
    people = None if sampling_weight is None else people_in_classes(counted, coarse, sampling_weight)
    labels = coarse
    if sampling_weight is not None and sampling_weight not in names:
        names = [*names, sampling_weight]
        labels = class_labels(counted, names)
    sizes = np.bincount(labels)
    columns = contributions(counted, names, classes=Classes(sizes), progress=progress)
    classes = class_risk(
        sizes, coarse=np.bincount(coarse), counted=individuals, people=people, population=known.size,
        threshold=threshold,
    )  # fmt: skip
    if before.n_rows != after.n_rows:
        note = (
            f"The original has {before.n_rows:,} records and the release {after.n_rows:,}; attacks need the same "
            "records in the same order and were left out."
        )
        return Risk(classes, (), columns, (note,), backend=backend)
    everything = [*names, *confidential_names]
    values: list[Any] = []
    others = None if control is None else load_file_or_frame(control, options)
    if others is None:
        pairs = pair_columns(before, after, everything, schema)
    else:  # codes of categories have to be those of the control table as well
        pairs, values = pair_with_others(before, after, others, everything, schema)
    paired, paired_confidential = pairs[: len(names)], pairs[len(names) :]
    matcher = Matcher(paired)
    attacks = _linkages(paired, matcher, units, {"sample": sample, "seed": seed, "progress": progress})
    covered = covered_columns(before, after, names, schema)
    if any_general(covered):
        further = {"k": k, "units": units, "sample": sample, "seed": seed, "progress": progress}
        attacks.insert(0, _candidates_attack(covered, paired, after, others, values[: len(names)], schema, further))
    decreases = linkage_without(paired, matcher=matcher, seed=seed)
    columns = {name: replace(column, record_linkage=decreases[name]) for name, column in columns.items()}
    progress.stage("interval and attribute disclosure")
    attacks += [
        *interval_disclosure(paired, units=units, width=width, seed=seed),
        *rank_interval_disclosure(paired, units=units, width=width, seed=seed),
    ]
    if others is None:
        attacks += attribute_disclosure(labels, paired_confidential, units=units, width=width, seed=seed)
    else:
        controlled = [replace(pair, original=part) for pair, part in zip(pairs, values, strict=True)]
        attacks += controlled_attacks(
            matcher, paired_confidential, controlled, columns,
            (units, None if units is None else control_units(others, schema)),
            {"width": width, "sample": sample, "seed": seed}, progress,
        )  # fmt: skip
    return Risk(classes, tuple(attacks), columns, () if units is None else (BY_PERSONS,), backend=backend)


def _candidates_attack(  # noqa: PLR0917 - both tables, and what is known about them
    covered: Sequence[CoveredColumn], paired: Sequence[PairedColumn], released: Table, control: Table | None,
    values: Sequence[NDArray[np.float64]], schema: Schema | None, options: dict[str, Any],
) -> CandidatesAttack:  # fmt: skip
    """Return the candidates attack, with people of a control table as its baseline if there is one.

    ``values`` are the quasi-identifiers of the control table. Where persons have several records, a guess stays the
    baseline.
    """
    attack = candidates(covered, paired, **options)
    if control is None or options["units"] is not None:
        return attack
    found = covered_columns(control, released, [column.name for column in covered], schema, aligned=False)
    seen = [replace(one, truthful=column.truthful) for one, column in zip(found, covered, strict=True)]
    rows = sampled_rows(control.n_rows, options["sample"], options["seed"])
    return against_control(attack, covering_rows(seen, paired, values, rows))


def _names(quasi: Any, confidential: Any) -> tuple[list[str], list[str]]:
    """Return the quasi-identifiers and confidential attributes; a column of both raises SchemaError."""
    names, confidential_names = names_list(quasi), names_list(confidential)
    for name in confidential_names:
        if name in names:
            raise SchemaError(f'column "{name}" is both a quasi-identifier and confidential; choose one role')
    return names, confidential_names


def _linkages(
    paired: list[PairedColumn], matcher: Matcher, units: NDArray[np.int64] | None, options: dict[str, Any]
) -> list[Attack]:
    """Return record, assignment and, where persons have several records, person linkage."""
    attacks = [
        record_linkage(paired, matcher=matcher, **options),
        assignment_linkage(paired, matcher=matcher, seed=options["seed"], progress=options["progress"]),
    ]
    return attacks if units is None else [*attacks, person_linkage(paired, units, matcher=matcher, **options)]


def control_units(control: Table, schema: Schema | None) -> NDArray[np.int64] | None:
    """Return the person of each record of a control table; None where it has no such column, so that each is one."""
    if schema is None or schema.unit is None or schema.unit not in control.names:
        return None
    return class_labels(control, [schema.unit])


def controlled_attacks(  # noqa: PLR0917 - both tables, and what is known about them
    matcher: Matcher, confidential: Sequence[PairedColumn], control: Sequence[PairedColumn],
    columns: Mapping[str, Contribution], units: Units, further: dict[str, Any], progress: Progress = SILENT,
) -> list[Attack]:  # fmt: skip
    """Return the attacks that are compared with people who are not in the release.

    Parameters
    ----------
    matcher, confidential
        The classes of the release, and its confidential columns.
    control
        The same columns of the control table (as ``original``), quasi-identifiers first.
    columns
        The contribution of each quasi-identifier.
    units
        The persons of the records of both tables, where persons have several.
    further
        Width, sample and seed of attribute inference.
    progress
        Progress callback.
    """
    progress.stage("singling out, linkability, membership")
    count = len(matcher.columns)
    shares = {name: column.contribution for name, column in columns.items()}
    found = control_attacks(matcher, control[:count], shares, units=units, seed=further["seed"])
    if confidential:
        found += attribute_inference(
            matcher, confidential, control[:count], control[count:], units=units[0], control_units=units[1], **further
        )
    return found


def _as_counted(data: Any, names: Sequence[str], options: Mapping[str, Any], progress: Progress = SILENT) -> Table:
    """Return a table with the texts of a file as they are written; read options apply to files only."""
    return load_for_counting(data, names, ReadOptions.of(options if isinstance(data, str | Path) else None), progress)
