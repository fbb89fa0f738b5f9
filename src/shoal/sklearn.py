"""Microaggregation as a scikit-learn transformer: a step of a pipeline that only lets representatives through.

What is guaranteed, and what is not:

- ``fit_transform(X)`` is k-anonymous in its columns: every row that occurs, occurs at least k times. That says nothing
  about columns that go around this step, such as the target.
- ``transform(X_new)`` replaces every record by the representative of the nearest group, which represents at least k
  records of the table that was fitted. The *new* table is not k-anonymous by that: one person alone may be near to a
  group. To release new records, protect them as a table of their own (:func:`shoal.protect`, or another ``fit``).
- The fitted estimator holds representatives, sizes of groups, the group of each row, middle, mean and spread of each
  column, and categories of at least k records; it holds no record.
- A DataFrame (pandas, polars, pyarrow) may have columns of texts, categories and truth values, whose representative is
  the most frequent category of the group, and, with ``missing="fill"``, missing cells, which get the representative of
  the known cells of their group; a DataFrame of the same library is returned. A missing cell lies at the mean of its
  column when records are compared, and so does a category that fewer than k fitted records have.

Pipelines rely on ``fit(X).transform(X)`` being ``fit_transform(X)``. The groups of a method need not be like that: a
record may be nearer to another mean than to that of its group, which cannot spare it. Small groups therefore get a head
start, an offset taken off all squared distances to them (as in ``pcl``), until each is the nearest of at least k
records; the few that do not get there are dissolved. On Census, Tarragona and EIA, k = 3 to 10, the loss of ONA* rises
by 0.1 to 10 per cent of itself; the groups as they are come from :func:`shoal.group` and :func:`shoal.protect`.

Needs the extra ``sklearn``. Cost: that of the grouping method, then O(log g) per record for g groups in few dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.core.arguments import check_seed
from shoal.core.grouping import Grouping, check_k
from shoal.core.threads import get_threads
from shoal.errors import DataError, MissingExtra, ParameterError, WrongArguments
from shoal.methods.registry import get_method
from shoal.methods.running import run
from shoal.tables.frame_rows import fit_frame, frame_of, whole_frame

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise MissingExtra(
        "shoal.sklearn needs scikit-learn 1.6 or newer; install it with: python3 -m pip install '.[sklearn]'"
    ) from problem


_ROUNDS = 3
"""So many rounds of head starts come first; afterwards every other round dissolves groups that are still too small."""


class Microaggregator(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replace records by the mean of their group of at least k, inside a scikit-learn pipeline.

    Parameters
    ----------
    k
        The smallest number of records with identical quasi-identifiers after ``fit_transform``.
    method
        A name from :func:`shoal.all_methods` that reads numbers.
    standardise
        Compare columns on a common scale, mean 0 and variance 1. Means are taken in the original units either way.
    missing
        Missing cells of a DataFrame: ``error`` (refused) or ``fill`` (replaced like known ones).
    seed
        For methods that draw random numbers.
    options
        Further options of the method.

    Attributes
    ----------
    labels_
        The group of each fitted record, numbered by first appearance.
    representatives_
        One row per group: what is released; a DataFrame where one with categories or missing cells was fitted.
    sizes_
        The number of fitted records of each group, at least k.
    method_
        The method that grouped; with ``auto`` the one it chose.
    information_loss_
        The share of the (standardised) variance that was lost, 0 to 1.
    n_features_in_, feature_names_in_
        As for every estimator.

    Examples
    --------
    >>> import numpy as np
    >>> step = Microaggregator(k=2, method="mdav")
    >>> step.fit_transform([[30.0, 1.0], [32.0, 3.0], [60.0, 7.0], [62.0, 9.0]]).tolist()
    [[31.0, 2.0], [31.0, 2.0], [61.0, 8.0], [61.0, 8.0]]
    >>> step.labels_
    array([0, 0, 1, 1])
    >>> step.transform([[45.0, 1.0]]).tolist()  # nearest to the first group; a table of one is not 2-anonymous
    [[31.0, 2.0]]
    """

    def __init__(
        self,
        k: int = 5,
        *,
        method: str = "auto",
        standardise: bool = True,
        missing: str = "error",
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.standardise = standardise
        self.missing = missing
        self.seed = seed
        self.options = options

    def fit(self, X: ArrayLike, y: object = None) -> Microaggregator:  # noqa: ARG002
        """Group the records.

        Parameters
        ----------
        X
            n x d finite numbers, or a DataFrame with categories and missing cells, with n of at least k; infinite
            values are refused.
        y
            Not used; here because pipelines pass it.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_k(self.k, self.k)
        chosen = get_method(self.method)
        if chosen.data == "codes":
            raise ParameterError(f'method "{self.method}" works on categories; use shoal.protect for those')
        if self.missing not in {"error", "fill"}:
            raise ParameterError(f"missing={self.missing!r} is not possible; choose error or fill")
        frame = frame_of(X)
        self._rows = None
        if frame is None:
            table = _validated(self, X, ensure_min_samples=self.k)
            offsets = self._learn_scale(table)
            points = offsets / self._scale
        else:
            _check_frame(self, X, len(frame), self.k)
            self._rows = fit_frame(frame, self.k, missing=self.missing, standardise=self.standardise)
            points = self._rows.coordinates(frame)
        if not isinstance(self.options, Mapping | None):
            raise ParameterError(f"options must be a mapping from names to values, not {type(self.options).__name__}")
        outcome = run(chosen, points, self.k, seed=check_seed(self.seed), **(self.options or {}))
        self.method_ = outcome.method
        sites, labels = _settled(points, _means(points, outcome.labels), self.k)
        grouping = Grouping(labels, self.k)
        self._sites = sites  # in the order of the last search, so that transform breaks ties in the same way
        self._group_of_site = np.empty(len(grouping), np.int64)
        self._group_of_site[labels] = grouping.labels
        self.labels_ = grouping.labels.copy()
        self.sizes_ = grouping.sizes.copy()
        if frame is None or self._rows is None:
            self.representatives_ = self._middle + _means(offsets, self.labels_)
        else:
            self.representatives_ = self._rows.representatives(frame, self.labels_).to_native()
        self.information_loss_ = _loss(points, self.labels_)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None) -> Any:  # noqa: ARG002
        """Group the records and return the k-anonymous table: each record replaced by the mean of its own group.

        Parameters
        ----------
        X
            n x d finite numbers, or a DataFrame, with n of at least k.
        y
            Not used.

        Returns
        -------
        table
            As many rows as X, in the same order; every row that occurs, occurs at least k times.
        """
        self.fit(X)
        return self._released(X, self.labels_)

    def transform(self, X: ArrayLike) -> Any:
        """Replace each record by the representative of the nearest group; k is not guaranteed for this table.

        Parameters
        ----------
        X
            Records with the columns that were fitted, any number of them.

        Returns
        -------
        table
            One representative per record. How many *new* records share one is not controlled.
        """
        try:
            check_is_fitted(self)
        except NotFittedError:
            raise NotFitted("this Microaggregator is not fitted yet; call fit or fit_transform first") from None
        if self._rows is None:
            table = _validated(self, X, reset=False)
            points = (table - self._middle) / self._scale
        else:
            frame = whole_frame(X)
            _check_frame(self, X, len(frame), 1, reset=False)
            points = self._rows.coordinates(frame)
        found, _ = self._sites.nearest(points)
        return self._released(X, self._group_of_site[found])

    def _released(self, X: ArrayLike, labels: NDArray[np.int64]) -> Any:
        """Return the representative of each row; with the index of a pandas DataFrame."""
        if self._rows is None:
            return self.representatives_[labels]
        rows = nw.from_native(self.representatives_, eager_only=True)[labels.tolist()].to_native()
        index = getattr(X, "index", None)
        return rows if index is None else rows.set_axis(index, axis=0)

    def _learn_scale(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Keep middle and spread of the columns; returns the differences from the middle, which lose no digits."""
        self._middle = table.min(axis=0) / 2 + table.max(axis=0) / 2
        offsets = table - self._middle
        widest = np.abs(offsets).max(axis=0)
        widest[widest == 0] = 1.0  # a constant column
        spread = widest * (offsets / widest).std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0) if self.standardise else np.ones_like(spread)
        return offsets


class NotFitted(ParameterError, NotFittedError):  # type: ignore[misc]
    """An estimator was used before it was fitted.

    Examples
    --------
    >>> import numpy as np
    >>> Microaggregator(k=5).transform(np.zeros((3, 1)))
    Traceback (most recent call last):
        ...
    shoal.sklearn.NotFitted: this Microaggregator is not fitted yet; call fit or fit_transform first
    """


def _validated(estimator: Microaggregator, X: ArrayLike, **checks: Any) -> NDArray[np.float64]:
    """Return the records as scikit-learn validates them; its errors become errors of this package."""
    try:
        table: NDArray[np.float64] = validate_data(estimator, X, dtype=np.float64, **checks)
    except (ValueError, TypeError) as problem:
        text = " ".join(str(problem).split())
        if "could not convert" in text:  # the text quotes a value
            text = "X holds texts; pass a DataFrame, encode them as numbers first, or use shoal.protect"
        if "NaN" in text:
            text += '; for missing cells pass a DataFrame with missing="fill"'
        raise (WrongArguments if isinstance(problem, TypeError) else DataError)(text) from None
    return table


def _check_frame(estimator: Microaggregator, X: Any, n: int, least: int, **checks: Any) -> None:
    """Check the columns of a DataFrame against those that were fitted, and the number of rows."""
    try:
        validate_data(estimator, X, skip_check_array=True, **checks)
    except (ValueError, TypeError) as problem:
        raise DataError(" ".join(str(problem).split())) from None
    if n < least:
        raise DataError(f"Found a DataFrame with {n} rows while a minimum of {least} is required")


def _means(values: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each group."""
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in values.T])


class _Sites(NamedTuple):
    """Where groups stand, and the head start of each: what is taken off squared distances to it."""

    centres: NDArray[np.float64]
    start: NDArray[np.float64]

    def nearest(
        self, points: NDArray[np.float64], among: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest site of each point, of all or among some, and its squared distance less the head start.

        Sites without a head start are searched as they are. The others stand off in one more coordinate, the less the
        larger their head start is.
        """
        among = np.ones(self.start.size, bool) if among is None else among
        ahead = among & (self.start > 0)
        found, best = _search(self.centres, among & ~ahead, points)
        if ahead.any():
            most = self.start[ahead].max()
            off = np.column_stack([self.centres, np.sqrt(np.maximum(most - self.start, 0.0))])
            other, lifted = _search(off, ahead, np.column_stack([points, np.zeros(len(points))]))
            nearer = lifted - most < best
            found, best = np.where(nearer, other, found), np.where(nearer, lifted - most, best)
        return found, best


def _search(
    sites: NDArray[np.float64], which: NDArray[np.bool_], points: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nearest of some sites for each point, and its squared distance."""
    from scipy.spatial import cKDTree

    numbers = np.flatnonzero(which)
    if not numbers.size:
        return np.zeros(len(points), np.int64), np.full(len(points), np.inf)
    distance, place = cKDTree(sites[numbers]).query(points, workers=get_threads())
    return numbers[place], distance**2


def _settled(points: NDArray[np.float64], centres: NDArray[np.float64], k: int) -> tuple[_Sites, NDArray[np.int64]]:
    """Return sites that are each nearest to at least k points, and the site of each point.

    A round looks only at what it changed; at the end all is searched once more, so that ``transform`` finds the same.
    """
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    sites = _Sites(centres, np.zeros(len(centres)))
    alive = np.ones(len(centres), bool)
    labels, best = sites.nearest(points)
    searched = True
    for turn in count(1):
        sizes = np.bincount(labels, minlength=len(centres))
        small = np.flatnonzero(alive & (sizes < k))
        if not small.size and searched:
            break
        searched = not small.size
        if searched:
            labels, best = sites.nearest(points, alive)
        elif turn <= _ROUNDS or turn % 2:
            more = np.zeros(len(centres))
            more[small] = _lacking(points, sites, labels, small, tree, k)
            sites.start[:] += more
            best -= more[labels]
            found, there = sites.nearest(points, more > 0)
            labels, best = np.where(there < best, found, labels), np.minimum(there, best)
        else:
            alive[small[np.argsort(sizes[small], kind="stable")][: (small.size + 1) // 2]] = False
            lost = ~alive[labels]
            labels[lost], best[lost] = sites.nearest(points[lost], alive)
    number = np.cumsum(alive) - 1
    return _Sites(sites.centres[alive], sites.start[alive]), number[labels]


def _lacking(
    points: NDArray[np.float64],
    sites: _Sites,
    labels: NDArray[np.int64],
    small: NDArray[np.int64],
    tree: Any,
    k: int,
) -> NDArray[np.float64]:
    """Return by how much the head start of each small site must grow to win the records that it lacks."""
    centres, start = sites
    near = tree.query(centres[small], k=min(4 * k, len(points)))[1].reshape(small.size, -1)
    ours = ((points[near] - centres[small][:, None]) ** 2).sum(axis=2) - start[small][:, None]
    theirs = ((points[near] - centres[labels[near]]) ** 2).sum(axis=2) - start[labels[near]]
    lead = np.where(labels[near] == small[:, None], np.inf, ours - theirs)
    lead.sort(axis=1)
    sizes = np.bincount(labels, minlength=len(centres))[small]
    wanted: NDArray[np.float64] = lead[np.arange(small.size), k - sizes - 1]
    return wanted * (1 + 1e-9) + 1e-12


def _loss(points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return the squared error as a share of that of one single group."""
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    lost = float(((points - _means(points, labels)[labels]) ** 2).sum())
    return lost / total if total > 0 else 0.0
