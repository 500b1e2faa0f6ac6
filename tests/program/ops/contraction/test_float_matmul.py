"""Products of matrices of floats that are left to BLAS."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.program.ops.contraction import float_matmul


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
    assert np.array_equal(float_matmul.matmul(lhs, rhs), lhs @ rhs)
