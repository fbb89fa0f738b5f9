"""The figures of one line of a comparison: a release, or a perturbation that is measured beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.api.combinations import Combination
from shoal.core.progress import SILENT, Progress
from shoal.evaluate.attribute_disclosure import attribute_disclosure
from shoal.evaluate.candidates import candidates
from shoal.evaluate.class_risk import class_risk
from shoal.evaluate.covering import any_general, covered_columns
from shoal.evaluate.distribution_distances import hellinger
from shoal.evaluate.linkage import record_linkage
from shoal.evaluate.linkage_search import Matcher
from shoal.evaluate.moments import il1s, joint_moments, variance_change
from shoal.evaluate.paired_columns import PairedColumn, pair_columns
from shoal.evaluate.propensity_scores import propensity
from shoal.evaluate.rivals import Rival
from shoal.flow.prepare import Prepared
from shoal.flow.released import Released
from shoal.recoding.loss import mismatch_loss, squared_loss
from shoal.schema.columns import Role
from shoal.tables import Table

SAMPLE = 2_000
"""The most records that are linked for one line."""
SCORED_RECORDS = 5_000
"""The most records of each table that the propensity scores of one line are fitted to."""
REPEATS = 5
"""How often a perturbation is drawn; its figures are means."""


def measured(line: Combination, released: Released, original: Table, seed: int, constant: Sequence[str]) -> Combination:
    """Return a combination with the figures of its release."""
    schema, sizes = released.schema, released.classes.sizes
    classes = class_risk(sizes)
    persons = None if schema.unit is None else released.recount.persons
    units = None if schema.unit is None or released.persons is None else released.persons.unit
    names = [*schema.protected, *schema.named(Role.CONFIDENTIAL)]
    before, after = released.paired(original).with_types(names), released.table.with_types(names)
    paired = pair_columns(before, after, schema.protected, schema)
    matcher = Matcher(paired)
    linkage = record_linkage(paired, matcher=matcher, sample=SAMPLE, seed=seed).success
    covered = covered_columns(before, after, schema.protected, schema)
    compatible = None
    if any_general(covered):
        k = released.plan.requirements.k
        compatible = candidates(covered, paired, k=k, units=units, sample=SAMPLE, seed=seed).success.value
    confidential = schema.named(Role.CONFIDENTIAL)
    attribute = None
    if confidential:
        columns = pair_columns(before, after, confidential, schema)
        attacks = attribute_disclosure(matcher.labels, columns, units=units, repeats=3, seed=seed)
        attribute = max(attack.baseline_adjusted_success for attack in attacks)
    outside = None
    if schema.statistics:
        from shoal.flow.checked_statistics import compare_statistics

        outside = sum(one.outside for one in compare_statistics(schema.statistics, original, released.table))
    varying = [column.name for column in schema.quasi if constant and column.name not in constant]
    runs = released.manifest["method"]["resolved"]
    selected = ", ".join(dict.fromkeys(run["name"] for run in runs if run["name"] != line.method))
    return replace(
        line,
        selected_method=selected,
        information_loss=released.loss.information_loss,
        k_achieved=released.k,
        k_of=str(released.plan.of),
        k_rows=int(sizes.min()),
        highest_risk=classes.prosecutor.highest if persons is None else persons.risk.highest,
        average_risk=classes.prosecutor.average if persons is None else persons.risk.average,
        highest_share=None if persons is None else persons.share.highest,
        record_linkage=linkage.value,
        record_linkage_low=linkage.low,
        record_linkage_high=linkage.high,
        candidates=compatible,
        statistics_outside=outside,
        attribute_disclosure=attribute,
        rows_kept=released.table.n_rows / original.n_rows,
        constant_loss=None if not constant else released.loss.over(constant),
        varying_loss=None if not varying else released.loss.over(varying),
        ncp=_mean_penalty(released),
        **utility_figures(paired, seed),
    )


def _mean_penalty(released: Released) -> float | None:
    """Return the mean NCP over all columns, if all of them are generalised."""
    penalties = [column.ncp for column in released.loss.columns.values() if column.ncp is not None]
    return float(np.mean(penalties)) if len(penalties) == len(released.loss.columns) else None


def utility_figures(columns: Sequence[PairedColumn], seed: int) -> dict[str, Any]:
    """Return what analysts keep of the quasi-identifiers, by the names of the fields of a combination."""
    numbers = [column for column in columns if column.numeric]
    # a column without any released number has no variance
    changes = [
        variance_change(column) for column in numbers if column.deviation > 0 and not np.isnan(column.released).all()
    ]
    scores = propensity(columns, seed=seed, records=SCORED_RECORDS)
    return {
        "il1s": float(np.mean([il1s(column) for column in numbers])) if numbers else None,
        "variance": float(np.mean(changes)) if changes else None,
        "correlation": joint_moments(columns).get("correlation"),
        "hellinger": float(np.mean([hellinger(column) for column in columns])),
        "propensity_ratio": None if scores is None else scores.ratio,
        "specks": None if scores is None else scores.specks,
    }


def measured_rivals(
    prepared: Prepared, rivals: Sequence[Rival], seed: int, progress: Progress = SILENT
) -> list[Combination]:
    """Return a line for each rival: means over five draws; k as it is counted, the smallest of the five.

    Parameters
    ----------
    prepared
        The table whose quasi-identifiers are perturbed.
    rivals
        The perturbations.
    seed
        Seed of the random numbers and of the sample of linked records.
    progress
        Progress callback.
    """
    names = prepared.schema.protected
    table = prepared.table.with_types(names)
    columns = pair_columns(table, table, names, prepared.schema)
    lines = []
    for rival in rivals:
        progress.stage(f"{rival.method} {rival.setting}: measuring")
        drawn = [_drawn(prepared, rival.applied(columns, seed + number), seed) for number in range(REPEATS)]
        means: dict[str, Any] = {
            name: None if drawn[0][name] is None else float(np.mean([each[name] for each in drawn]))
            for name in drawn[0]
        }
        counted = int(min(each["k_rows"] for each in drawn))
        lines.append(
            Combination(
                rival.method, None, rival=True, setting=rival.setting,
                **means | {"k_rows": counted, "k_achieved": counted},
            )
        )  # fmt: skip
    return lines


def _drawn(prepared: Prepared, columns: Sequence[PairedColumn], seed: int) -> dict[str, Any]:
    losses = [
        squared_loss(column.standardised(column.original), column.standardised(column.released), prepared.weights)
        if column.numeric
        else mismatch_loss(column.original, column.released, prepared.weights)
        for column in columns
    ]
    total = sum(loss.sst for loss in losses)
    matcher = Matcher(columns)
    classes = class_risk(matcher.sizes)
    linkage = record_linkage(columns, matcher=matcher, sample=SAMPLE, seed=seed).success
    return {
        "information_loss": sum(loss.sse for loss in losses) / total if total else 0.0,
        "k_rows": float(matcher.sizes.min()),
        "highest_risk": classes.prosecutor.highest,
        "average_risk": classes.prosecutor.average,
        "record_linkage": linkage.value,
        "record_linkage_low": linkage.low,
        "record_linkage_high": linkage.high,
        **utility_figures(columns, seed),
    }
