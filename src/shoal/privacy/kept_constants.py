"""Columns that stay constant within persons or households: counted on a finished table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.core.row_classes import distinct_per_class
from shoal.errors import RequirementNotMet
from shoal.privacy.k_anonymity import class_labels
from shoal.tables import Table

Integers = NDArray[np.int64]


def require_constant(table: Table, names: Sequence[str], owners: Integers) -> None:
    """Raise where a column has several values in the rows of one person or household.

    Parameters
    ----------
    table
        The finished table.
    names
        The columns that must be constant.
    owners
        The person or household of each row.

    Examples
    --------
    >>> import polars as pl
    >>> stays = Table.from_native(pl.DataFrame({"sex": ["f", "f", "m"]}))
    >>> require_constant(stays, ["sex"], np.array([0, 1, 1]))
    Traceback (most recent call last):
        ...
    shoal.errors.RequirementNotMet: column "sex" is to stay constant, but 1 person or household has several values
    """
    for name in names:
        require_one_each(class_labels(table, [name]), owners, f'column "{name}" is')


def with_several_values(labels: Integers, owners: Integers) -> int:
    """Return how many persons or households have several labels in their rows.

    Examples
    --------
    >>> with_several_values(np.array([0, 1, 0]), np.array([4, 4, 2]))
    1
    """
    compact = np.unique(owners, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return int((distinct_per_class(compact, labels) > 1).sum())


def require_one_each(labels: Integers, owners: Integers, what: str) -> None:
    """Raise where the rows of an owner have several labels; ``what`` begins the sentence.

    Examples
    --------
    >>> require_one_each(np.array([0, 1]), np.array([0, 1]), "all columns are")
    """
    several = with_several_values(labels, owners)
    if several:
        found = "1 person or household has" if several == 1 else f"{several:,} persons or households have"
        raise RequirementNotMet(f"{what} to stay constant, but {found} several values")
