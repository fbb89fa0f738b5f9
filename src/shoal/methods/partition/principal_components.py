"""The spectrum of a table: its principal components and the share of the variance of each.

Rebollo-Monedero, Mohamad Mezher, Casanova Colomé, Forné & Soriano 2019, sections III-C and IV-A. Cost O(n d²) for the
covariance and O(d³) for its eigenvectors; with many attributes and few components wanted, O(n d m) by random projection
(Halko, Martinsson & Tropp 2011, doi:10.1137/090771806, Algorithm 4.4). Sums run in a fixed order, so the components do
not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.core.compiled import compiled
from shoal.errors import ParameterError

RELATIVE_TOLERANCE = 1e-12  # of variances
RANDOM_PROJECTION_ATTRIBUTES = 400  # from this number on, a few components are found by random projection
EXTRA_DIRECTIONS, POWER_ITERATIONS = 10, 6  # of the random projection


@dataclass(frozen=True)
class Spectrum:
    """Principal components in descending order.

    Parameters
    ----------
    values
        The variance along each component (the eigenvalues λ of the covariance).
    vectors
        The components as columns, orthonormal; the largest entry of each is positive.
    centre
        The mean of the records.
    total
        The variance of all attributes together.
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    centre: NDArray[np.float64]
    total: float

    def energy_loss(self, components: int) -> float:
        """Return ε², the share of the variance that is lost with this number of components.

        Examples
        --------
        >>> spectrum_of(np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])).energy_loss(1)
        0.5
        """
        if self.total <= 0.0:
            return 0.0
        return max(0.0, 1.0 - float(self.values[:components].sum()) / self.total)

    def choose(self, components: int | None = None, energy_loss: float = 0.1) -> int:
        """Return how many components to keep: the number given, or the smallest that loses at most ``energy_loss``.

        Examples
        --------
        >>> spectrum_of(np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])).choose(energy_loss=0.1)
        2
        """
        d = self.vectors.shape[0]
        if components is not None:
            if not 1 <= components <= d:
                raise ParameterError(f"components={components} is not possible; choose 1 to {d}")
            return components
        for m in range(1, self.values.size + 1):
            if self.energy_loss(m) <= energy_loss + RELATIVE_TOLERANCE:
                return m
        return self.values.size

    @property
    def redundant(self) -> int:
        """How many attributes are linear combinations of the others (eigenvalues that are 0 up to rounding)."""
        missing = self.vectors.shape[0] - self.values.size
        return missing + int((self.values <= RELATIVE_TOLERANCE * max(self.total, 0.0)).sum())

    def report(self) -> list[dict[str, float]]:
        """Return a row per component: its share of the variance, the share kept so far, and the share lost.

        Examples
        --------
        >>> spectrum_of(np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])).report()[0]
        {'component': 1, 'share': 0.8, 'kept': 0.8, 'lost': 0.2}
        """
        rows: list[dict[str, float]] = []
        for m in range(1, self.values.size + 1):
            share = float(self.values[m - 1]) / self.total if self.total > 0 else 0.0
            lost = self.energy_loss(m)
            rows.append({"component": m, "share": round(share, 6), "kept": round(1 - lost, 6), "lost": round(lost, 6)})
        return rows


def spectrum_of(points: NDArray[np.float64], components: int | None = None, *, seed: int = 0) -> Spectrum:
    """Return the principal components of a table.

    Parameters
    ----------
    points
        n x d; centred here, not rescaled, so that distances do not change.
    components
        How many are needed, if known; with many attributes only those are computed.
    seed
        Seed of the random projection.

    Returns
    -------
    spectrum
        All components, or the number of them that was asked for.

    Examples
    --------
    >>> spectrum_of(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])).redundant
    1
    """
    d = points.shape[1]
    centre = points.mean(axis=0)
    if components is not None and d >= RANDOM_PROJECTION_ATTRIBUTES and 4 * (components + EXTRA_DIRECTIONS) <= d:
        values, vectors, total = _by_random_projection(points, centre, components, seed)
    else:
        covariance = scatter(points, centre) / len(points)
        values, vectors = np.linalg.eigh(covariance)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        total = float(np.trace(covariance))
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return Spectrum(values, np.ascontiguousarray(vectors * np.where(largest < 0, -1.0, 1.0)), centre, total)


def compress(points: NDArray[np.float64], spectrum: Spectrum, components: int) -> NDArray[np.float64]:
    """Return the records in the coordinates of the first components, without whitening.

    Examples
    --------
    >>> points = np.array([[3.0, 4.0], [-3.0, -4.0]])
    >>> compress(points, spectrum_of(points), 1)
    array([[ 5.],
           [-5.]])
    """
    return project(points, spectrum.centre, np.ascontiguousarray(spectrum.vectors[:, :components]))


class Projected(NamedTuple):
    """Records in the coordinates of their principal components."""

    points: NDArray[np.float64]
    components: int
    energy_loss: float
    redundant: int


def project_on_components(
    points: NDArray[np.float64], components: int | None = None, energy_loss: float = 0.1
) -> Projected:
    """Return the records on a number of their components, or on as few as lose at most ``energy_loss``.

    Examples
    --------
    >>> project_on_components(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])).components
    1
    """
    spectrum = spectrum_of(points, components)
    kept = spectrum.choose(components, energy_loss)
    return Projected(compress(points, spectrum, kept), kept, spectrum.energy_loss(kept), spectrum.redundant)


def _by_random_projection(
    points: NDArray[np.float64], centre: NDArray[np.float64], components: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return leading eigenvalues and eigenvectors by subspace iteration from a random start."""
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(points.shape[1], components + EXTRA_DIRECTIONS))
    for _ in range(POWER_ITERATIONS):
        basis, _ = np.linalg.qr(basis)
        basis = back_project(points, centre, project(points, centre, basis))
    basis, _ = np.linalg.qr(basis)
    images = project(points, centre, np.ascontiguousarray(basis))
    values, inner = np.linalg.eigh(images.T @ images / len(points))
    vectors = basis @ inner[:, ::-1]
    total = sum(float(((points[:, j] - centre[j]) ** 2).mean()) for j in range(points.shape[1]))
    return np.maximum(values[::-1][:components], 0.0), vectors[:, :components], total


@compiled
def scatter(points: Any, centre: Any) -> Any:
    """Return the sums of products of the centred attributes."""
    n, d = points.shape
    total = np.zeros((d, d))
    row = np.empty(d)
    for i in range(n):
        for j in range(d):
            row[j] = points[i, j] - centre[j]
        for p in range(d):
            for q in range(d):
                total[p, q] += row[p] * row[q]
    return total


@compiled
def project(points: Any, centre: Any, vectors: Any) -> Any:
    """Return the centred records in the coordinates of the columns of ``vectors``."""
    n, d = points.shape
    m = vectors.shape[1]
    images = np.zeros((n, m))
    for i in range(n):
        for j in range(d):
            value = points[i, j] - centre[j]
            for q in range(m):
                images[i, q] += value * vectors[j, q]
    return images


@compiled
def back_project(points: Any, centre: Any, images: Any) -> Any:
    """Return the product of the centred records, transposed, with their images."""
    n, d = points.shape
    m = images.shape[1]
    total = np.zeros((d, m))
    for i in range(n):
        for j in range(d):
            value = points[i, j] - centre[j]
            for q in range(m):
                total[j, q] += value * images[i, q]
    return total
