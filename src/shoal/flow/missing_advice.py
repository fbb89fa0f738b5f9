"""What to do about missing values: the sentence of the error, in the words of Python and of the command line."""

from __future__ import annotations

from collections.abc import Mapping


def missing_advice(counts: Mapping[str, int], records: int, k: int | None) -> tuple[str, str]:
    """Return the sentence about missing values for which no policy was chosen, for Python and for the command line.

    Parameters
    ----------
    counts
        How many cells of which column are missing.
    records
        The number of records.
    k
        The minimum group size, if it is known.

    Examples
    --------
    >>> python, command_line = missing_advice({"age": 1}, 15_524, 5)
    >>> "at most 8 known cells" in python, "missing=" in python, "--missing" in command_line
    (True, True, True)
    """
    listed = ", ".join(f'"{name}" ({count:,})' for name, count in counts.items())
    total = sum(counts.values())
    filled = "the missing cell gets" if total == 1 else f"the {total:,} missing cells get"
    emptied = "known cells are emptied in groups that mix known and missing ones, at most 2k - 2 for each missing one"
    if k is not None:
        most = sum(min(count * (2 * k - 2), records - count) for count in counts.values())
        emptied = f"at most {most:,} known cells are emptied, those of groups that mix known and missing ones"
    choices = (
        f"fill (records are grouped by their known cells, and {filled} the representative of the group), suppress "
        f"(grouped likewise; {emptied}), by-pattern (records are grouped only with records that have the same "
        "missingness pattern), impute (median or most frequent value), or category (nominal columns only)"
    )
    first = next(iter(counts))
    start = f"missing values in {listed}; choose what happens to them with"
    return (
        f'{start} missing=: {choices}; missing={{"{first}": "fill"}} decides one column',
        f'{start} --missing: {choices}; --missing "{first}=fill" decides one column',
    )
