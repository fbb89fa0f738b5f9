"""Reference implementation of kept moments: matrix square roots of a library, without limits."""

import numpy as np
from scipy.linalg import eigh


def power(matrix, exponent):
    """A symmetric matrix to a power, on the directions in which it has variance."""
    values, vectors = eigh(matrix)
    kept = values > 1e-10 * values.max()
    return (vectors[:, kept] * values[kept] ** exponent) @ vectors[:, kept].T


def least_map(original, centroids):
    """Olkin and Pukelsheim 1982."""
    half, inverse = power(centroids, 0.5), power(centroids, -0.5)
    inner = half @ original @ half
    values, vectors = eigh((inner + inner.T) / 2)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return inverse @ root @ inverse


def unlimited(table, labels):
    """Representatives after the map, without any limits, and the map (in standard deviations)."""
    mean, deviation = table.mean(axis=0), table.std(axis=0)
    standard = (table - mean) / deviation
    centroids = np.array([standard[labels == g].mean(axis=0) for g in range(labels.max() + 1)])[labels]
    matrix = least_map(standard.T @ standard / len(table), centroids.T @ centroids / len(table))
    return mean + deviation * (centroids @ matrix), matrix
