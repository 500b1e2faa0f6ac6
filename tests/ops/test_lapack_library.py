"""Calls of LAPACK for batches: in NumPy's library and in SciPy's, in both orders of storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nimblehlo.ops import lapack, lapack_library
from nimblehlo.ops.fortran import call_for_each
from nimblehlo.ops.lapack_library import LIBRARIES, factors, library_of, solutions

Array = np.ndarray[Any, Any]

DTYPES = ["f4", "f8", "c8", "c16"]


@pytest.fixture(params=["as found", "SciPy"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Which library serves: the one that is found, and SciPy's as where NumPy brings none."""
    if request.param == "SciPy":
        monkeypatch.setattr(lapack_library, "_in_numpy", lambda name: None)
    lapack_library._native.cache_clear()
    yield request.param
    lapack_library._native.cache_clear()


def matrices(shape: tuple[int, ...], dtype: Any) -> Array:
    generator = np.random.default_rng(len(shape))
    values = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype)


def definite(shape: tuple[int, ...], dtype: Any) -> Array:
    a = matrices(shape, dtype)
    product: Array = a @ a.swapaxes(-1, -2).conj() + np.eye(shape[-1], dtype=dtype)
    return product


def precision(dtype: Any) -> float:
    return 50 * float(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
def test_factors(source: str, dtype: str, lower: bool, by_columns: bool) -> None:
    a = definite((3, 5, 5), dtype)
    stored = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) if by_columns else a
    before = stored.copy()
    result, info = factors(library_of(dtype), stored, lower)
    assert info.tolist() == [0, 0, 0] and (stored == before).all()
    triangle = np.tril if lower else np.triu
    np.testing.assert_array_equal(result - triangle(result), a - triangle(a))
    factor = triangle(result)
    adjoint = factor.conj().swapaxes(-1, -2)
    product = factor @ adjoint if lower else adjoint @ factor
    np.testing.assert_allclose(product, a, atol=precision(dtype) * np.abs(a).max())


@pytest.mark.parametrize("lower", [False, True])
def test_orders_of_parts_without_factors(source: str, lower: bool) -> None:
    a = np.array([np.eye(3), np.diag([1, -1, 1]), np.diag([1, 1, 0])])
    assert factors(library_of("f8"), a, lower)[1].tolist() == [0, 2, 3]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", ["N", "T", "C"])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_solutions(
    source: str, dtype: str, left_side: bool, lower: bool, transpose: str, unit_diagonal: bool
) -> None:
    a = matrices((4, 3, 3), dtype) + 3 * np.eye(3, dtype=dtype)
    b = matrices((4, 3, 2) if left_side else (4, 2, 3), dtype)
    x = solutions(
        library_of(dtype),
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose=transpose,
        unit_diagonal=unit_diagonal,
    )
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        triangle[:, range(3), range(3)] = 1
    if transpose != "N":
        triangle = triangle.swapaxes(-1, -2)
    if transpose == "C":
        triangle = triangle.conj()
    got = triangle @ x if left_side else x @ triangle
    np.testing.assert_allclose(got, b, atol=precision(dtype) * np.abs(a).max() * np.abs(x).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4, 4), (1, 3, 5), (2, 5, 3), (1, 1, 1)])
def test_routines_with_workspaces(source: str, dtype: str, shape: tuple[int, ...]) -> None:
    """Factors of QR and singular value decompositions give back what was factored."""
    library, a, (_, m, n) = library_of(dtype), matrices(shape, dtype), shape
    close = {"atol": precision(dtype) * np.abs(a).max()}
    for name in ("gesdd", "gesvd"):
        _, s, u, vt, info = lapack._singular_values(name)(library, {"mode": "S"}, a)
        assert u is not None and vt is not None and s is not None and info is not None and not info.any()
        np.testing.assert_allclose((u * s[:, None, :]) @ vt, a, **close)
    reflected, tau = lapack._geqrf(library, {}, a)
    assert reflected is not None and tau is not None
    k = min(m, n)
    (q,) = lapack._orgqr(library, {}, reflected[:, :, :k], tau)
    np.testing.assert_allclose(q @ np.triu(reflected[:, :k]), a, **close)


@pytest.mark.parametrize("dtype", DTYPES)
def test_problems_of_a_batch_are_independent(source: str, dtype: str) -> None:
    """Each problem has the bits that it has alone, whatever its neighbours hold."""
    library, a = library_of(dtype), definite((4, 6, 6), dtype)
    a[1] = np.nan
    values = {"mode": "V", "uplo": "L"}
    for position in (0, 2, 3):
        alone = a[position : position + 1]
        for run in (
            lambda x: lapack._getrf(library, {}, x)[:2],
            lambda x: lapack._syevd(library, values, x)[:2],
            lambda x: factors(library, x, True)[:1],
        ):
            for all_of, one in zip(run(a), run(alone), strict=True):
                assert all_of is not None and one is not None
                np.testing.assert_array_equal(all_of[position], one[0])


def test_small_problems_take_one_thread() -> None:
    """The library's own number of threads is as before afterwards, also from within another one."""
    get, _ = lapack_library._one_thread.functions
    before = get()
    with lapack_library._one_thread:
        assert get() in (0, 1)
        factors(LIBRARIES["s"], definite((1, 3, 3), "f4"), True)
        assert get() in (0, 1)
    assert get() == before
    with pytest.raises(ZeroDivisionError), lapack_library._one_thread:
        raise ZeroDivisionError
    assert get() == before


def test_a_fork_leaves_the_context() -> None:
    context = lapack_library._OneThread()
    before = context.functions[0]()
    context.__enter__()
    context.leave_in_child()
    assert context.functions[0]() == before and context.entered == 0
    with context:
        assert context.functions[0]() in (0, 1)
    assert context.functions[0]() == before


def test_too_many_arguments() -> None:
    with pytest.raises(ValueError, match="a routine has 17 arguments"):
        call_for_each(0, 1, True, [np.zeros(1)] * 17)


def test_too_large_an_integer() -> None:
    with pytest.raises(OverflowError):
        call_for_each(0, 0, False, [1 << 31])
    call_for_each(0, 0, True, [1 << 31])
