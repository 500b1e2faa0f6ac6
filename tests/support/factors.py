"""Decompositions that are unique up to the choice of vectors, and what all right factors have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]


def eigenvectors(values: Array, vectors: Array) -> Array:
    """The matrix with these eigenvalues and right eigenvectors."""
    return np.asarray((vectors * values[..., None, :]) @ np.linalg.inv(vectors))


def schur(vectors: Array, triangular: Array) -> Array:
    """The matrix with this Schur form and these Schur vectors."""
    return np.asarray(vectors @ triangular @ adjoint(vectors))


def singular_vectors(values: Array, left: Array, right: Array) -> tuple[Array, Array, Array]:
    """The matrix with these singular values and vectors, and the products that are identities."""
    rank = values.shape[-1]
    matrix = (left[..., :, :rank] * values[..., None, :]) @ right[..., :rank, :]
    return matrix, adjoint(left) @ left, right @ adjoint(right)


def adjoint(matrix: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.asarray(np.conj(np.swapaxes(matrix, -1, -2)))


def common_factors(text: str, results: Sequence[Array]) -> Sequence[Array] | None:
    """What right results of a decomposition have in common: matrices put together again, and identities.

    None if the program is no decomposition.

    Args:
        text: the program.
        results: values and vectors, in any place the values.
    """
    values = min(results, key=np.ndim)
    vectors = [each for each in results if each is not values]
    for target, (count, common) in _COMMON.items():
        if target in text and [each.ndim for each in vectors] == [values.ndim + 1] * count:
            return common(values, *vectors)
    return None


def _eigenvectors(values: Array, vectors: Array) -> tuple[Array, Array]:
    return eigenvectors(values, vectors), adjoint(vectors) @ vectors


_COMMON: Final[Mapping[str, tuple[int, Callable[..., Sequence[Array]]]]] = {
    "syevd": (1, _eigenvectors),
    "heevd": (1, _eigenvectors),
    "gesdd": (2, singular_vectors),
    "gesvd": (2, singular_vectors),
}
"""By a part of a target's name how many arrays of vectors there are, and what the results have in common."""
