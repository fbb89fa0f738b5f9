"""The risk of a release in one place: sizes of classes, attacks with controls, and what each column contributes.

``shoal.risk(original, released, quasi=[...])`` measures any release, by whatever software; ``Release.risk`` the one at
hand. Figures that need only the released table are in ``class_risk.py`` and ``contribution.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.core.progress import SILENT, Progress
from shoal.errors import SchemaError
from shoal.evaluate.attacks import SAMPLE, Attack
from shoal.evaluate.attribute_disclosure import attribute_disclosure, attribute_inference
from shoal.evaluate.class_risk import ClassRisk, class_risk, population_sizes
from shoal.evaluate.contribution import Contribution, contributions
from shoal.evaluate.interval_disclosure import interval_disclosure, rank_interval_disclosure
from shoal.evaluate.linkage import distance_linkage, linkage_without, one_to_one_linkage
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.privacy.k_anonymity import Classes, class_labels
from shoal.schema.columns import Schema, names_list
from shoal.schema.loading import load_for_counting
from shoal.tables import Table, read_table


@dataclass(frozen=True)
class Risk:
    """The risk of a release.

    Parameters
    ----------
    classes
        Prosecutor, journalist, marketer and uniqueness, from the sizes of the classes.
    attacks
        What each attack achieved, with its control.
    columns
        What each quasi-identifier contributes.
    notes
        What was not measured, and why.
    """

    classes: ClassRisk
    attacks: tuple[Attack, ...]
    columns: Mapping[str, Contribution]
    notes: tuple[str, ...] = ()

    def attack(self, name: str, target: str = "") -> Attack:
        """Return one attack by name and, where there is one, the column it aims at."""
        for attack in self.attacks:
            if attack.name == name and target in {attack.target, ""}:
                return attack
        raise KeyError(f"no attack {name} {target}".strip())

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return measure, figure, baseline and meaning of each line, for a table on the screen."""
        classes = self.classes
        share = f"share of records above {100 * classes.prosecutor.threshold:g} %"
        found = [
            ("prosecutor, highest", _percent(classes.prosecutor.highest), "", "the record easiest to pick out"),
            ("prosecutor, average", _percent(classes.prosecutor.average), "", "mean over records"),
            ("prosecutor, share at risk", _percent(classes.prosecutor.share_above), "", share),
            ("journalist, highest", _percent(classes.journalist.highest), "", "against the population"),
            ("journalist, average", _percent(classes.journalist.average), "", "mean over records"),
            ("marketer", _percent(classes.marketer), "", "expected share of records matched"),
            ("unique", _percent(classes.unique), "", "records alone in their class"),
        ]
        for attack in self.attacks:
            name = f"{attack.name}: {attack.target}" if attack.target else attack.name
            found.append((name, str(attack.success), _percent(attack.baseline.value), attack.how))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all figures for JSON."""
        return {
            "classes": self.classes.to_dict(),
            "attacks": [attack.to_dict() for attack in self.attacks],
            "columns": {name: column.to_dict() for name, column in self.columns.items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        from shoal.core.text import plain_table

        table = plain_table(("measure", "risk", "baseline", "meaning"), self.rows())
        parts = [
            (
                name, _percent(one.contribution), "" if one.linkage is None else _percent(one.linkage),
                _percent(one.separation), _percent(one.distinction),
            )
            for name, one in self.columns.items()
        ]  # fmt: skip
        columns = plain_table(("quasi-identifier", "contribution", "linkage", "separation", "distinction"), parts)
        return "\n\n".join([table, columns, *self.notes])


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def risk(
    original: Any,
    released: Any,
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    control: Any = None,
    population: Any = None,
    sampling_weight: str | None = None,
    schema: Schema | None = None,
    threshold: float = 0.2,
    width: float = 0.05,
    sample: int | None = SAMPLE,
    seed: int = 0,
    read_options: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Risk:
    """Measure the risk of a release, made by whatever software, against its original.

    Parameters
    ----------
    original, released
        Two tables or paths of files. Record i of the one is record i of the other; where their numbers of records
        differ, only what the released table alone tells is measured, and said so.
    quasi
        The columns an outsider may know.
    confidential
        The columns that must not be learned.
    control
        A table of people who are not in the release, from the same population: what is learned about them is the
        baseline of attribute disclosure.
    population
        A table of the whole population, for the journalist; counted by equal quasi-identifiers.
    sampling_weight
        A column of the release that says for how many people a record stands, instead of a population table.
    schema
        Kinds and orders of columns, where they are not what the types suggest.
    threshold
        Records with a prosecutor or journalist risk above this are counted.
    width
        Half of the interval of interval disclosure, in standard deviations or as a share of the ranks.
    sample
        The most records a linkage attack tries; None for all.
    seed
        Draws samples and shuffles controls.
    read_options
        For text files: ``delimiter``, ``encoding``, ``decimal``, ``missing_marks``.
    progress
        Hears how far the work is.

    Returns
    -------
    risk
        Classes, attacks and contributions; ``print`` shows them as tables.

    Examples
    --------
    >>> import polars as pl
    >>> before = pl.DataFrame({"age": [30, 32, 60, 62], "diagnosis": ["A", "A", "A", "B"]})
    >>> after = before.with_columns(age=pl.Series([31, 31, 61, 61]))
    >>> found = risk(before, after, quasi=["age"], confidential=["diagnosis"])
    >>> found.classes.prosecutor.highest, found.attack("linkage").success.value, found.attack("attribute").success.value
    (0.5, 0.5, 0.75)
    """
    names, secrets = names_list(quasi), names_list(confidential)
    for name in secrets:
        if name in names:
            raise SchemaError(f'column "{name}" is both a quasi-identifier and confidential; choose one')
    options = dict(read_options or {})
    before, after = _table(original, options), _table(released, options)
    counted = load_for_counting(released, names, options, progress)
    progress.stage("counting classes")
    labels = class_labels(counted, names)
    sizes = np.bincount(labels)
    columns = contributions(counted, names, classes=Classes(sizes), progress=progress)
    people = population_sizes(
        counted, names, labels, population=None if population is None else _as_counted(population, names, options),
        sampling_weight=sampling_weight,
    )  # fmt: skip
    classes = class_risk(sizes, population=people, threshold=threshold)
    if before.n_rows != after.n_rows:
        note = (
            f"The original has {before.n_rows:,} records and the release {after.n_rows:,}; attacks need the same "
            "records in the same order and were left out."
        )
        return Risk(classes, (), columns, (note,))
    paired = pair_columns(before, after, names, schema)
    secret = pair_columns(before, after, secrets, schema) if secrets else []
    matcher = Matcher(paired)
    attacks = [
        distance_linkage(paired, matcher=matcher, sample=sample, seed=seed, progress=progress),
        one_to_one_linkage(paired, matcher=matcher, seed=seed, progress=progress),
    ]
    gained = linkage_without(paired, matcher=matcher, seed=seed)
    columns = {name: replace(column, linkage=gained[name]) for name, column in columns.items()}
    progress.stage("intervals and attributes")
    attacks += interval_disclosure(paired, width=width, seed=seed)
    attacks += rank_interval_disclosure(paired, width=width, seed=seed)
    if control is None:
        attacks += attribute_disclosure(labels, secret, width=width, seed=seed)
    elif secret:
        theirs = _control(before, _table(control, options), [*names, *secrets], schema)
        attacks += attribute_inference(
            matcher, secret, theirs[: len(names)], theirs[len(names) :], width=width, sample=sample, seed=seed
        )
    return Risk(classes, tuple(attacks), columns)


def _table(data: Any, options: Mapping[str, Any]) -> Table:
    from pathlib import Path

    return read_table(data, **options) if isinstance(data, str | Path) else Table.from_native(data)


def _as_counted(data: Any, names: Sequence[str], options: Mapping[str, Any]) -> Table:
    return load_for_counting(data, names, options, SILENT)


def _control(before: Table, control: Table, names: Sequence[str], schema: Schema | None) -> list[PairedColumn]:
    """Return the columns of a control table on the scale, and with the codes, of the original."""
    pairs = pair_columns(before, control, names, schema, aligned=False)
    return [PairedColumn(pair.name, pair.released, pair.original, pair.categories) for pair in pairs]
