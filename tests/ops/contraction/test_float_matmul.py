"""Products of matrices of floats that are left to BLAS."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.ops.contraction import float_matmul
from nimblehlo.ops.framework.declaration import Array


def test_blocked_products_have_the_bits_of_their_definition() -> None:
    generator = np.random.default_rng(0)
    for rows_, terms, columns in [
        (500, 64, 32),
        (32, 64, 500),
        (1000, 1000, 2),
        (2, 1000, 1000),
        (129, 128, 127),
    ]:
        lhs, rhs = (
            generator.integers(-9, 9, shape).astype("f4")
            for shape in ((2, rows_, terms), (2, terms, columns))
        )
        assert np.array_equal(float_matmul.blas_matmul(lhs, rhs), np.einsum("brt,btc->brc", lhs, rhs))


def test_products_are_blocked_for_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = []

    def matmul(a: Array, b: Array, out: Array | None = None) -> Array:
        sizes.append(a.shape[-2] * a.shape[-1] * b.shape[-1])
        return np.multiply(a[..., :1], b[..., :1, :], out=out)

    monkeypatch.setattr(float_matmul.np, "matmul", matmul)
    for shape in [(128, 128, 128), (500, 64, 32), (32, 64, 500)]:
        sizes.clear()
        float_matmul.blas_matmul(np.ones(shape[:2], "f4"), np.ones(shape[1:], "f4"))
        assert sum(sizes) == np.prod(shape) and len(sizes) > 1
        assert max(sizes) <= 1.1 * (1 << 19)
    for shape in [(32, 128, 128), (512, 512, 512), (1, 1000, 1000), (1000, 1000, 1)]:
        sizes.clear()
        float_matmul.blas_matmul(np.ones(shape[:2], "f4"), np.ones(shape[1:], "f4"))
        assert sizes == [np.prod(shape)]


def test_without_tiles_blas_adds_as_many_terms_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    lhs, rhs = (generator.standard_normal(shape, np.float32) for shape in ((2, 9, 600), (2, 600, 40)))
    expected = sum(
        (lhs[..., start : start + 256] @ rhs[:, start : start + 256] for start in (256, 512)),
        start=lhs[..., :256] @ rhs[:, :256],
    )
    monkeypatch.setattr(float_matmul, "_native_matmul", lambda: None)
    assert not float_matmul.has_native_matmul()
    for product in (float_matmul.matmul, float_matmul.fastest_matmul(9, 600, 40, 2)):
        assert np.array_equal(product(lhs, rhs), expected)
    assert float_matmul.fastest_matmul(9, 256, 40) is np.matmul


def test_stacks_of_one_matrix_are_repeated() -> None:
    lhs, rhs = np.arange(24.0).reshape(4, 2, 3), np.arange(12.0).reshape(1, 3, 4)
    assert np.array_equal(float_matmul.blocked_matmul(lhs, rhs), lhs @ rhs)
