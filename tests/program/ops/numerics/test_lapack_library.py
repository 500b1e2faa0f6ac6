"""Calls of LAPACK for batches: in NumPy's library and in SciPy's, in both orders of storage."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ops.custom_calls import lapack
from nimblehlo.program.ops.numerics import fortran, lapack_library
from nimblehlo.program.ops.numerics.fortran import Call, Procedure
from nimblehlo.program.ops.numerics.lapack_library import LIBRARIES, library_of, potrf_arguments

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


def factored(a: Array, lower: bool) -> tuple[Array, Array]:
    order, results = a.shape[-1], [(a.shape, a.dtype), (a.shape[:1], np.int32)]
    factor, info = Procedure(
        lambda: library_of(a.dtype).call("potrf", potrf_arguments(order, lower), len(a), results)
    )(a)
    return factor, info


def solved(target: str, *operands: Array, results: list[Any], **parameters: Any) -> tuple[Array, ...]:
    """What a custom call's routine makes of a batch of one dimension."""
    routine = lapack.ROUTINES[f"lapack_{target}_ffi"]
    name, arguments = routine.describe(routine.library, parameters, *[each.shape[1:] for each in operands])
    count = len(operands[0])
    declared = [((count, *shape), dtype) for shape, dtype in results]
    return Procedure(lambda: routine.library.call(name, arguments, count, declared))(*operands)


def in_order(a: Array, order: str) -> Array:
    """The same elements stored row by row, column by column, or with gaps."""
    if order == "columns":
        return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    if order == "gaps":
        wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
        wide[..., ::2] = a
        return wide[..., ::2]
    return a


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("order", ["rows", "columns", "gaps"])
def test_factors(source: str, dtype: str, lower: bool, order: str) -> None:
    a = definite((3, 5, 5), dtype)
    stored = in_order(a, order)
    before = stored.copy()
    result, info = factored(stored, lower)
    assert info.tolist() == [0, 0, 0] and (stored == before).all()
    np.testing.assert_array_equal(result, factored(a, lower)[0])
    triangle = np.tril if lower else np.triu
    np.testing.assert_array_equal(result - triangle(result), a - triangle(a))
    factor = triangle(result)
    adjoint = factor.conj().swapaxes(-1, -2)
    product = factor @ adjoint if lower else adjoint @ factor
    np.testing.assert_allclose(product, a, atol=precision(dtype) * np.abs(a).max())


@pytest.mark.parametrize("lower", [False, True])
def test_orders_of_parts_without_factors(source: str, lower: bool) -> None:
    a = np.array([np.eye(3), np.diag([1, -1, 1]), np.diag([1, 1, 0])])
    assert factored(a, lower)[1].tolist() == [0, 2, 3]


@pytest.mark.sampled(pairs=True)
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
    found = []
    for order in ("rows", "columns", "gaps"):
        (x,) = solved(
            library_of(dtype).prefix + "trsm",
            in_order(a, order),
            in_order(b, order),
            results=[(b.shape[1:], dtype)],
            side="RL"[left_side],
            uplo="UL"[lower],
            trans_x=transpose,
            diag="NU"[unit_diagonal],
        )
        found.append(x)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        triangle[:, range(3), range(3)] = 1
    if transpose != "N":
        triangle = triangle.swapaxes(-1, -2)
    if transpose == "C":
        triangle = triangle.conj()
    got = triangle @ x if left_side else x @ triangle
    np.testing.assert_allclose(got, b, atol=precision(dtype) * np.abs(a).max() * np.abs(x).max())


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4, 4), (1, 3, 5), (2, 5, 3), (1, 1, 1), (2, 90, 70)])
@pytest.mark.parametrize("order", ["rows", "columns", "gaps"])
def test_routines_with_workspaces(source: str, dtype: str, shape: tuple[int, ...], order: str) -> None:
    """Factors of QR and singular value decompositions give back what was factored."""
    prefix, a, (_, m, n) = library_of(dtype).prefix, matrices(shape, dtype), shape
    close = {"atol": precision(dtype) * max(m, n) * np.abs(a).max()}
    k, real = min(m, n), a.real.dtype
    stored = in_order(a, order)
    for name in ("gesdd", "gesvd"):
        results = [((m, n), dtype), ((k,), real), ((m, k), dtype), ((k, n), dtype), ((), np.int32)]
        _, s, u, vt, info = solved(prefix + name, stored, results=results, mode="S")
        assert not info.any()
        np.testing.assert_allclose((u * s[:, None, :]) @ vt, a, **close)
    reflected, tau = solved(prefix + "geqrf", stored, results=[((m, n), dtype), ((k,), dtype)])
    name = prefix + ("orgqr" if prefix in "sd" else "ungqr")
    (q,) = solved(name, reflected[:, :, :k], tau, results=[((m, k), dtype)])
    np.testing.assert_allclose(q @ np.triu(reflected[:, :k]), a, **close)


def test_batches_of_several_dimensions_that_are_views() -> None:
    batch = definite((6, 4, 4), "f4").reshape(2, 3, 4, 4)
    call = LIBRARIES["s"].call("potrf", potrf_arguments(4, True), 6, [((3, 2, 4, 4), "f4"), ((3, 2), "i4")])
    got, _ = Procedure(lambda: call)(batch.swapaxes(0, 1))
    want, _ = factored(batch.reshape(6, 4, 4), True)
    np.testing.assert_array_equal(got, want.reshape(batch.shape).swapaxes(0, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_problems_of_a_batch_are_independent(source: str, dtype: str) -> None:
    """Each problem has the bits that it has alone, whatever its neighbours hold."""
    prefix, a = library_of(dtype).prefix, definite((4, 6, 6), dtype)
    a[1] = np.nan
    eigen = prefix + ("syevd" if prefix in "sd" else "heevd")
    pivots, values = ((6,), np.int32), ((6,), a.real.dtype)
    matrix, info = ((6, 6), dtype), ((), np.int32)
    for run in (
        lambda x: solved(prefix + "getrf", x, results=[matrix, pivots, info])[:2],
        lambda x: solved(eigen, x, results=[matrix, values, info], mode="V", uplo="L")[:2],
        lambda x: factored(x, True)[:1],
    ):
        found = run(a)
        for position in (0, 2, 3):
            for all_of, one in zip(found, run(a[position : position + 1]), strict=True):
                np.testing.assert_array_equal(all_of[position], one[0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["rows", "columns", "gaps"])
def test_threads_share_the_problems_of_a_batch(
    dtype: str, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one of the first or the last problems of a task cannot be solved."""
    monkeypatch.setattr(fortran, "chosen_threads", lambda threads: threads or 3)
    library, a = library_of(dtype), in_order(matrices((601, 7, 5), dtype), order)
    a[[0, 199, 200, 401, 600]] = np.nan
    routine = lapack.ROUTINES[f"lapack_{library.prefix}gesdd_ffi"]
    name, arguments = routine.describe(library, {"mode": "S"}, (7, 5))
    real, number = a.real.dtype, np.dtype(np.int32)
    shapes = [((7, 5), dtype), ((5,), real), ((7, 5), dtype), ((5, 5), dtype), ((), number)]
    results = [((601, *shape), type) for shape, type in shapes]
    calls = [library.call(name, arguments, 601, results, threads) for threads in (None, 1)]
    assert calls[0].solver is None
    shared, alone = [Procedure(lambda: call)(a) for call in calls]  # noqa: B023
    assert np.flatnonzero(shared[4]).tolist() == [0, 199, 200, 401, 600]
    for one, other in zip(shared, alone, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("real", ["f4", "f8"])
def test_eigenvectors_of_conjugate_pairs(source: str, real: str) -> None:
    """A rotation has a pair, a triangle has none, and both in one matrix keep their places."""
    a = np.zeros((3, 3, 3), real)
    a[0] = [[0, -1, 0], [1, 0, 0], [0, 0, 2]]
    a[1] = np.triu(np.ones((3, 3))) * [1, 2, 3]
    a[2] = [[5, 1, 1], [0, 1, -2], [0, 2, 1]]
    wide = np.result_type(real, np.complex64)
    vector, matrix = ((3,), real), ((3, 3), wide)
    results = [vector, vector, matrix, matrix, ((), np.int32)]
    prefix = library_of(real).prefix
    options: dict[str, str] = {"compute_left": "V", "compute_right": "V"}
    wr, wi, left, right, info = solved(prefix + "geev", a, results=results, **options)
    values = wr + 1j * wi
    assert not info.any() and (wi != 0).sum(1).tolist() == [2, 0, 2]
    np.testing.assert_allclose(a @ right, right * values[:, None, :], atol=precision(real))
    adjoint = left.conj().swapaxes(-1, -2)
    np.testing.assert_allclose(adjoint @ a, values[:, :, None] * adjoint, atol=precision(real))


def test_results_that_nothing_becomes_are_zero() -> None:
    a = matrices((2, 3, 3), "f8")
    matrix, vector = ((3, 3), "c16"), ((3,), "f8")
    results = [vector, vector, matrix, matrix, ((), np.int32)]
    _, _, left, right, _ = solved("dgeev", a, results=results, compute_left="N", compute_right="V")
    assert not left.any() and right.any()


def guarded_routines(dtype: str) -> Iterator[tuple[str, list[Any], dict[str, str], int]]:
    """Routines that need finite matrices of order 4: their results, parameters, and the number of the matrix
    among their arguments."""
    order, prefix = 4, library_of(dtype).prefix
    is_real, real = prefix in "sd", np.empty(0, dtype).real.dtype
    matrix, vector, reals = ((order, order), dtype), ((order,), dtype), ((order,), real)
    wide, number = ((order, order), np.result_type(dtype, np.complex64)), ((), np.int32)
    values = [vector] * (2 if is_real else 1)
    yield "geev", [*values, wide, wide, number], {"compute_left": "V", "compute_right": "V"}, 4
    yield "gees", [matrix, matrix, *values, number, number], {"mode": "V"}, 5
    yield "gesdd", [matrix, reals, matrix, matrix, number], {"mode": "A"}, 4
    yield "gesvd", [matrix, reals, matrix, matrix, number], {"mode": "S"}, 5
    for uplo in "LU":
        name = "syevd" if is_real else "heevd"
        yield name, [matrix, reals, number], {"mode": "V", "uplo": uplo}, 4


def unbearable(dtype: str) -> Array:
    """Matrices of order 4 with elements that are not finite, in both triangles."""
    a = np.stack([np.eye(4, dtype=dtype)] * 6)
    a[0] = np.inf
    a[1, ::2], a[1, 1::2] = np.inf, -np.inf
    a[2] = np.nan
    a[3, 1, 1] = np.inf
    a[4, 0, 3] = a[4, 3, 0] = -np.inf
    a[5, 2, 2] = np.nan
    return a


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_iterates_is_never_given_elements_that_are_not_finite(source: str, dtype: str) -> None:
    """Such a problem gives NaN and the number of the argument; its neighbours keep their bits."""
    a = np.concatenate([definite((2, 4, 4), dtype), unbearable(dtype)])
    for name, results, parameters, argument in guarded_routines(dtype):
        *found, info = solved(library_of(dtype).prefix + name, a, results=results, **parameters)
        *alone, _ = solved(library_of(dtype).prefix + name, a[:2], results=results, **parameters)
        np.testing.assert_array_equal(info, [0] * 2 + [-argument] * 6, name)
        for array, want in zip(found, alone, strict=True):
            np.testing.assert_array_equal(array[:2], want)
            assert array.dtype.kind == "i" or np.isnan(array[2:]).all(), name


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_that_a_routine_does_not_read_may_be_anything(source: str, dtype: str) -> None:
    prefix, a = library_of(dtype).prefix, definite((1, 4, 4), dtype)
    name = prefix + ("syevd" if prefix in "sd" else "heevd")
    results = [((4, 4), dtype), ((4,), a.real.dtype), ((), np.int32)]
    for uplo, unread in (("L", np.triu_indices(4, 1)), ("U", np.tril_indices(4, -1))):
        want = solved(name, a, results=results, mode="V", uplo=uplo)
        spoiled = a.copy()
        spoiled[0][unread] = np.nan
        if prefix in "cz":
            spoiled.imag[0][np.diag_indices(4)] = np.inf
        got = solved(name, spoiled, results=results, mode="V", uplo=uplo)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
def test_column_norms_that_are_not_finite_choose_no_column(source: str, dtype: str) -> None:
    a = unbearable(dtype)
    results = [((4, 4), dtype), ((4,), np.int32), ((4,), dtype)]
    routine = lapack.ROUTINES[f"lapack_{library_of(dtype).prefix}geqp3_ffi"]
    name, arguments = routine.describe(routine.library, {}, (4, 4), (4,))
    declared = [((6, *shape), dtype) for shape, dtype in results]
    call = Procedure(lambda: routine.library.call(name, arguments, 6, declared))
    factor, pivots, tau = call(a, np.zeros((6, 4), np.int32))
    assert np.isnan(factor).all() and np.isnan(tau).all() and (pivots == [1, 2, 3, 4]).all()


def test_a_failure_leaves_no_uninitialized_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the routine itself reports counts as well: a stand-in reports a failure and computes nothing."""
    address = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_int64)] * 11)

    @address
    def failing(*arguments: Any) -> None:
        arguments[10][0] = 3

    name, parameters = "syevd", {"mode": "V", "uplo": "L"}
    results = [((3, 3), "f8"), ((3,), "f8"), ((), np.int32)]
    monkeypatch.setattr(
        lapack_library, "_native", lambda name: (ctypes.cast(failing, ctypes.c_void_p).value, np.int64)
    )
    monkeypatch.setattr(lapack_library.Library, "_workspaces", lambda *_: iter([99, 99]))
    vectors, values, info = solved("d" + name, definite((2, 3, 3), "f8"), results=results, **parameters)
    assert np.isnan(vectors).all() and np.isnan(values).all() and (info == 3).all()


def test_small_problems_take_one_thread() -> None:
    """The library's own number of threads is as before afterwards, also from within another limit."""
    get, _ = lapack_library._thread_limits.functions
    before = get()
    with lapack_library._ThreadLimit(1):
        assert get() in (0, 1)
        factored(definite((1, 3, 3), "f4"), True)
        assert get() in (0, 1)
        with lapack_library._ThreadLimit(before + 1):
            assert get() in (0, 1)
    assert get() == before
    with lapack_library._ThreadLimit(before + 1):
        assert get() == before
    with pytest.raises(ZeroDivisionError), lapack_library._ThreadLimit(1):
        raise ZeroDivisionError
    assert get() == before


def test_large_problems_take_the_threads_that_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    monkeypatch.setattr(lapack_library._thread_limits, "enter", limits.append)
    monkeypatch.setattr(lapack_library._thread_limits, "leave", lambda limit: None)
    a = definite((1, 520, 520), "f4")
    results = [(a.shape, a.dtype), ((1,), np.int32)]
    arguments = potrf_arguments(520, True)
    for threads in (None, 1, 3):
        Procedure(lambda: library_of(a.dtype).call("potrf", arguments, 1, results, threads))(a)  # noqa: B023
    assert limits == [1, 3]


def test_a_fork_leaves_the_limits() -> None:
    limits = lapack_library._ThreadLimits()
    before = limits.functions[0]()
    limits.enter(1)
    limits.leave_in_child()
    assert limits.functions[0]() == before and not limits.limits
    limits.enter(1)
    assert limits.functions[0]() in (0, 1)
    limits.leave(1)
    assert limits.functions[0]() == before


def test_too_many_arguments() -> None:
    with pytest.raises(ValueError, match="a routine has 17 arguments"):
        Call(0, True, 1, [np.zeros(1)] * 17, [])


def test_a_problem_beyond_the_integers_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack_library, "_in_numpy", lambda name: None)
    lapack_library._native.cache_clear()
    routine = lapack.ROUTINES["lapack_ssyevd_ffi"]
    # 2 n^2 elements of workspace: SciPy's routine ends the process when it is asked for their number.
    name, arguments = routine.describe(routine.library, {"mode": "V", "uplo": "L"}, (40000, 40000))
    with pytest.raises(ValueError, match="arrays of 268435455 elements, but not of 1600000000"):
        routine.library.call(name, arguments, 1, [])
    lapack_library._native.cache_clear()
    lapack_library._check_sizes(arguments, np.int64)


def test_too_large_an_integer() -> None:
    with pytest.raises(OverflowError):
        Call(0, False, 0, [1 << 31], [])
    Call(0, True, 0, [1 << 31], [])


@pytest.mark.parametrize("source", ["SciPy"], indirect=True)
def test_a_routine_that_no_library_has_is_named(source: str) -> None:
    with pytest.raises(UnsupportedError, match=r"nor scipy [\d.]+ has the routine dgone"):
        LIBRARIES["d"].call("gone", [], 1, [])


@pytest.mark.parametrize("source", ["SciPy"], indirect=True)
def test_routines_with_integers_of_other_sizes_are_not_called(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a SciPy whose BLAS has integers of 64 bits."""
    declaration = "void (char *, blas_int *, double *)"
    monkeypatch.setattr(lapack_library, "capsule_signature", lambda capsule: declaration)
    with pytest.raises(UnsupportedError, match="has the routine dpotrf"):
        LIBRARIES["d"].call("potrf", [], 1, [])
