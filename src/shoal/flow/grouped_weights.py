"""The sampling weight of a release: the mean of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw

from shoal.core.group_statistics import group_summary
from shoal.core.grouping import Grouping
from shoal.flow.exact_numbers import decimals_of
from shoal.flow.prepare import Prepared
from shoal.recoding.rounded_means import content_keys, group_draws, round_floats
from shoal.schema.plan import Sums

if TYPE_CHECKING:
    from shoal.tables.table import Series


def group_weights(prepared: Prepared, grouping: Grouping, sums: Sums) -> dict[str, Series]:
    """Return the sampling weight as the mean of the group.

    Exact means keep the sum of the weights, so that two releases disclose the weight of a person whom only one of them
    has. They are rounded like all others unless exact totals were requested, and stay positive: between minimum and
    maximum of their group.
    """
    name = prepared.schema.sampling_weight
    if name is None or prepared.weights is None:
        return {}
    summary = group_summary(prepared.weights, grouping)
    means = summary.means
    if sums == "rounded":
        draws = group_draws(content_keys(grouping.sizes, [means]), name)
        places = decimals_of(prepared.weights)
        grain = 0.0 if places is None else 10.0**-places
        means = round_floats(summary, grouping.sizes, draws, grain=grain)
    return {
        name: nw.new_series(
            name, means[grouping.labels], nw.Float64, backend=prepared.table.column(name).implementation
        )
    }
