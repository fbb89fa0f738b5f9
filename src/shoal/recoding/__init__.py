"""What replaces the values of a group: one representative per group and column."""

from shoal.recoding.means import group_means
from shoal.recoding.medians import group_medians
from shoal.recoding.medoids import group_medoids
from shoal.recoding.modes import group_modes
from shoal.recoding.range_texts import group_ranges, range_texts
from shoal.recoding.rounding import round_keeping_sum

__all__ = [
    "group_means",
    "group_medians",
    "group_medoids",
    "group_modes",
    "group_ranges",
    "range_texts",
    "round_keeping_sum",
]
