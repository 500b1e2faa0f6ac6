"""Factors and solutions by what they must satisfy, and their bits on each level of x86-64."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.linalg import linalg
from tests.processors.levels import available_levels, environment

Array = np.ndarray[Any, Any]

DTYPES = ["f4", "f8", "c8", "c16"]
SQUARE = [(1, 1), (20, 3, 3), (3, 8, 8), (9, 16, 16), (17, 17), (2, 67, 67), (140, 140)]
"""Shapes in lanes, with lanes left over, in one panel, and in several panels and blocks."""
RECTANGULAR = [(20, 5, 3), (17, 3, 5), (2, 70, 33), (33, 150), (150, 40)]
FLAGS = (False, True)
SYSTEMS = list(itertools.product(FLAGS, FLAGS, "NTC", FLAGS))
"""left_side, lower, transpose, unit_diagonal."""


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype)


def definite(shape: tuple[int, ...], dtype: str) -> Array:
    """Matrices whose diagonals dominate, without a product, whose bits depend on the processor."""
    a = numbers(shape, dtype)
    result: Array = a + a.conj().swapaxes(-1, -2) + 4 * shape[-1] * np.eye(shape[-1], dtype=dtype)
    return result


def triangle(shape: tuple[int, ...], dtype: str, lower: bool, unit_diagonal: bool) -> tuple[Array, Array]:
    """An operand, NaN where it is not read, and the matrix that it stands for."""
    order = shape[-1]
    values = (numbers(shape, dtype) / order + 2 * np.eye(order)).astype(dtype)
    is_read = np.tri(order, dtype=bool) if lower else np.tri(order, dtype=bool).T
    matrix = np.where(is_read, values, 0).astype("c16")
    if unit_diagonal:
        is_read &= ~np.eye(order, dtype=bool)
        matrix[..., range(order), range(order)] = 1
    return np.where(is_read, values, np.nan).astype(dtype), matrix


def tolerance(dtype: str, order: int) -> float:
    return float(np.finfo(dtype).eps) * (order + 8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
@pytest.mark.parametrize("lower", FLAGS)
def test_cholesky(dtype: str, shape: tuple[int, ...], lower: bool) -> None:
    a, keep = definite(shape, dtype), np.tril if lower else np.triu
    (factor,) = linalg.cholesky(dtype, shape, lower, True)(np.where(keep(np.ones(shape)) == 1, a, np.nan))
    np.testing.assert_array_equal(factor, keep(factor))
    wide = factor.astype("c16")
    adjoint = wide.conj().swapaxes(-1, -2)
    product = wide @ adjoint if lower else adjoint @ wide
    assert np.abs(product - a).max() < tolerance(dtype, shape[-1]) * np.abs(a).max()
    kept, info = linalg.cholesky(dtype, shape, lower, False)(a)
    np.testing.assert_array_equal(kept, np.where(keep(np.ones(shape)) == 1, factor, a))
    assert not info.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", FLAGS)
def test_cholesky_in_small_blocks_has_the_bits_of_large_ones(dtype: str, lower: bool) -> None:
    """Large matrices have smaller blocks than their leading submatrices."""
    a = definite((530, 530), dtype)
    (factor,) = linalg.cholesky(dtype, a.shape, lower, True)(a)
    wide = factor.astype("c16")
    product = wide @ wide.conj().T if lower else wide.conj().T @ wide
    assert np.abs(product - a).max() < tolerance(dtype, 530) * np.abs(a).max()
    for order in (60, 250, 511):
        leading = np.ascontiguousarray(a[:order, :order])
        (part,) = linalg.cholesky(dtype, leading.shape, lower, True)(leading)
        assert part.tobytes() == np.ascontiguousarray(factor[:order, :order]).tobytes()
    a[515, 515] = -1
    _, info = linalg.cholesky(dtype, a.shape, lower, False)(a)
    assert info == 516


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(20, 3, 3), (2, 70, 70)])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_cholesky_without_a_factor(dtype: str, shape: tuple[int, ...], value: float) -> None:
    count, order, _ = shape
    a = definite(shape, dtype)
    failing = order - 2
    a[0, failing, failing] = value
    kept, info = linalg.cholesky(dtype, shape, True, False)(a)
    (factor,) = linalg.cholesky(dtype, shape, True, True)(a)
    assert info.tolist() == [order - 1] + [0] * (count - 1)
    assert np.isnan(factor[0]).all() and np.isfinite(factor[1:]).all()
    np.testing.assert_array_equal(np.tril(kept[1:]), factor[1:])
    # The columns before are those of the factor of another matrix, whose pivot is large enough.
    a[0, failing, failing] = 4 * order
    (factor,) = linalg.cholesky(dtype, shape, True, True)(a)
    np.testing.assert_array_equal(np.tril(kept[0])[:, :failing], factor[0][:, :failing])
    np.testing.assert_array_equal(kept[0][:failing, failing:], a[0][:failing, failing:])
    np.testing.assert_array_equal(kept[0][failing:, failing + 1 :], a[0][failing:, failing + 1 :])
    assert not kept[0][failing, failing].real > 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "columns"), list(zip(SQUARE, [1, 2, 7, 40, 33, 5, 150], strict=True)))
def test_triangular_solve(dtype: str, shape: tuple[int, ...], columns: int) -> None:
    for left_side, lower, transpose, unit_diagonal in SYSTEMS:
        a, matrix = triangle(shape, dtype, lower, unit_diagonal)
        b = numbers((*shape[:-1], columns) if left_side else (*shape[:-2], columns, shape[-1]), dtype, seed=1)
        (x,) = linalg.triangular_solve(dtype, b.shape, left_side, lower, transpose, unit_diagonal)(a, b)
        matrix = matrix if transpose == "N" else matrix.swapaxes(-1, -2)
        matrix = matrix.conj() if transpose == "C" else matrix
        product = matrix @ x if left_side else x @ matrix
        scale = np.abs(matrix) @ np.abs(x) if left_side else np.abs(x) @ np.abs(matrix)
        assert (np.abs(product - b) <= tolerance(dtype, shape[-1]) * scale).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("divisor", [5, 2.0**-149, 2.0**-130, 2.0**127, 0.0, np.inf, -np.inf, np.nan])
def test_quotients_of_extreme_numbers(dtype: str, divisor: float) -> None:
    """A quotient by a real number is right to the last bit but where it underflows."""
    scale = 1.0 if np.finfo(dtype).bits == 32 else divisor if np.isfinite(divisor) and divisor else 1.0
    a = np.array([[divisor * scale]]).astype(np.finfo(dtype).dtype)
    values = np.array([[1, 3, -7, 35, 1e30, 0, np.inf, np.nan]], a.dtype)
    (x,) = linalg.triangular_solve(dtype, values.shape, True, True, "N", False)(a, values)
    with np.errstate(all="ignore"):
        expected = values / a
    is_normal = ~(np.abs(expected) < np.finfo(dtype).tiny) | (expected == 0)
    np.testing.assert_array_equal(x[is_normal], expected[is_normal])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SQUARE, *RECTANGULAR])
def test_lu(dtype: str, shape: tuple[int, ...]) -> None:
    a = numbers(shape, dtype)
    lu, pivots, info = linalg.lu(dtype, shape)(a)
    rows, columns = shape[-2:]
    steps = min(rows, columns)
    assert not info.any()
    for index in np.ndindex(shape[:-2]):
        lower = np.tril(lu[index], -1)[:, :steps].astype("c16") + np.eye(rows, steps)
        upper, order = np.triu(lu[index])[:steps].astype("c16"), np.arange(rows)
        for step, row in enumerate(pivots[index]):
            order[[step, row - 1]] = order[[row - 1, step]]
        bound = tolerance(dtype, steps) * (np.abs(lower) @ np.abs(upper))
        assert (np.abs(lower @ upper - a[index][order]) <= bound).all()
        component_size = np.abs(lower.real) + np.abs(lower.imag)
        assert component_size.max() <= (1.01 if np.dtype(dtype).kind != "c" else 2.01)


@pytest.mark.parametrize("shape", [(20, 3, 3), (3, 3), (70, 70)])
def test_lu_takes_the_first_largest_pivot_and_names_the_first_zero(shape: tuple[int, ...]) -> None:
    a = np.ones(shape)
    a[..., 0, 0] = -0.5
    lu, pivots, info = linalg.lu("f8", shape)(a)
    assert (pivots[..., 0] == 2).all() and (info == 3).all()
    assert (lu[..., 1, 1] == 1.5).all() and not lu[..., 2:, 2:].any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [3, 16, 31])
def test_lanes_have_the_bits_of_panels(dtype: str, order: int) -> None:
    """Many problems are computed in lanes, one of them in panels."""
    count = 19
    a, b = definite((count, order, order), dtype), numbers((count, order, 5), dtype)
    for prepare, operands in (
        (lambda count: linalg.cholesky(dtype, (count, order, order), True, True), (a,)),
        (lambda count: linalg.lu(dtype, (count, order, order)), (numbers(a.shape, dtype),)),
        (lambda count: linalg.triangular_solve(dtype, (count, order, 5), True, False, "C", False), (a, b)),
    ):
        together, alone = prepare(count), prepare(1)
        results = together(*operands)
        for problem in (0, 7, count - 1):
            for all_of, one in zip(
                results, alone(*[one[problem : problem + 1] for one in operands]), strict=True
            ):
                assert all_of[problem].tobytes() == one[0].tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (16, 16), (50, 33, 33), (67, 67), (140, 140)])
def test_one_right_side_has_the_bits_of_several(dtype: str, shape: tuple[int, ...]) -> None:
    """Systems with one are solved row by row, others in panels."""
    for left_side, lower, transpose, unit_diagonal in SYSTEMS:
        a, _ = triangle(shape, dtype, lower, unit_diagonal)
        several = (*shape[:-1], 3) if left_side else (*shape[:-2], 3, shape[-1])
        b = numbers(several, dtype, seed=1)
        first = (..., slice(0, 1)) if left_side else (..., slice(0, 1), slice(None))
        system = left_side, lower, transpose, unit_diagonal
        (x,) = linalg.triangular_solve(dtype, several, *system)(a, b)
        (one,) = linalg.triangular_solve(dtype, b[first].shape, *system)(a, b[first])
        assert one.tobytes() == x[first].tobytes()


def digest() -> str:
    """Of the bits of all results of some problems."""
    bits = hashlib.sha256()
    for dtype, shape in itertools.product(DTYPES, [(5, 4, 4), (2, 23, 23), (70, 70)]):
        operands = [definite(shape, dtype)]
        for result in linalg.cholesky(dtype, shape, True, True)(*operands):
            bits.update(result.tobytes())
        operands = [numbers(shape, dtype)]
        for result in linalg.lu(dtype, shape)(*operands):
            bits.update(result.tobytes())
        for system in SYSTEMS[::5]:
            a, _ = triangle(shape, dtype, system[1], system[3])
            (x,) = linalg.triangular_solve(dtype, shape, *system)(a, numbers(shape, dtype, seed=1))
            bits.update(x.tobytes())
            one = (*shape[:-1], 1) if system[0] else (*shape[:-2], 1, shape[-1])
            (x,) = linalg.triangular_solve(dtype, one, *system)(a, numbers(one, dtype, seed=1))
            bits.update(x.tobytes())
    return bits.hexdigest()


@pytest.mark.parametrize("level", available_levels())
def test_levels_have_the_same_bits(level: str) -> None:
    command = [sys.executable, "-c", "from tests.kernels.linalg.test_linalg import digest; print(digest())"]
    done = subprocess.run(command, env=environment(level), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest()
