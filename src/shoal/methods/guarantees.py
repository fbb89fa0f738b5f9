"""What a method guarantees, stated such that a test can refute it.

A method lists its guarantees when it is registered, beside the largest group (``max_size``) and the objective for which
it proves a bound (``proves``). Each kind of guarantee is a class of its own; the property tests have a check for every
kind, apply it to every method that claims it, and show a wrong grouping that the check finds. Text that no test can
check is not a guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Guarantee:
    """A property of every grouping that a method returns.

    The methods of Shoal use the kinds below; a method of another package may state its own in words.

    Parameters
    ----------
    text
        The property in words.
    """

    text: str


@dataclass(frozen=True)
class OneLargerGroup(Guarantee):
    """Every group has exactly k records, except for one of up to 2k-1."""

    text: str = "all groups have k records, except for one of up to 2k-1"


@dataclass(frozen=True)
class FewExtraRecords(Guarantee):
    """Fewer than k records in total exceed a size: k records a group, or 2k-1.

    Parameters
    ----------
    doubled
        Whether the size is 2k-1 instead of k.
    """

    text: str = "fewer than k records enlarge groups of k"
    doubled: bool = False


@dataclass(frozen=True)
class TwoGroups(Guarantee):
    """A table of 2k to 3k-1 records is divided into exactly two groups."""

    text: str = "2k to 3k-1 records make two groups"


@dataclass(frozen=True)
class NeverWorse(Guarantee):
    """The cost is never above that of another method, or of the same method with other options.

    The cost is the sum of squared errors of points, and the within-group distance of codes.

    Parameters
    ----------
    than
        The name of the other method.
    options
        Its options.
    most_records
        The guarantee holds for tables of up to this many records; None for all.

    Examples
    --------
    >>> NeverWorse("never worse than ona-star", "ona-star").text
    'never worse than ona-star'
    """

    than: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    most_records: int | None = None


@dataclass(frozen=True)
class Optimal(Guarantee):
    """No grouping of at least k records a group costs less, within what the objective of the outcome states."""

    text: str = "the smallest SSE of all groupings"


@dataclass(frozen=True)
class WithinFactor(Guarantee):
    """The sum of squared errors is at most a factor, which depends on k, times the optimum."""

    factor: Callable[[int], int] = lambda _: 1


@dataclass(frozen=True)
class OptimalAlongDirection(Guarantee):
    """Among the groupings of the records projected on the reported direction, none has less SSE there."""

    text: str = "optimal along the direction"


@dataclass(frozen=True)
class Insensitive(Guarantee):
    """If one record has other values, each group changes in at most one record (Thaeter 2021, Definition 3.19)."""

    text: str = "changing a record changes each group in at most one element"


@dataclass(frozen=True)
class SelectedRecords(Guarantee):
    """Each group is represented by the combination of values of a record, so that no combination is new."""

    text: str = "only combinations that occur"


@dataclass(frozen=True)
class SeparateGroups(Guarantee):
    """With the given options no two groups share a combination of categories.

    Parameters
    ----------
    options
        Options of the method for which this holds.
    """

    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SizesOfOptions(Guarantee):
    """With the given options groups have k to 2k-1 records.

    Parameters
    ----------
    options
        Options of the method for which this holds.
    """

    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AsMethodUsed(Guarantee):
    """The sizes are those of the method that is named by an option, or by the outcome.

    Parameters
    ----------
    option
        The option that names the method; None if the outcome names it.
    """

    text: str = "that of the selected method, which the result names"
    option: str | None = None


def sizes_in_words(max_size: Callable[[int], int] | None) -> str:
    """Return what is guaranteed about the sizes of groups, in words.

    Examples
    --------
    >>> sizes_in_words(lambda k: 2 * k - 1)
    'groups have k to 2k-1 records'
    >>> sizes_in_words(None)
    'groups have at least k records'
    """
    if max_size is None:
        return "groups have at least k records"
    known = {(5, 19): "2k-1", (6, 20): "2k"}
    largest = known.get((max_size(3), max_size(10)), f"{max_size(3)} (k = 3), {max_size(10)} (k = 10)")
    return f"groups have k to {largest} records"
