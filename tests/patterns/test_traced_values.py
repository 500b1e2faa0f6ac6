"""What lambdas may do with their values: operators, NumPy's functions, element types that meet, shapes."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nimblehlo import NimbleError, UnsupportedError, VerifyError, patterns
from nimblehlo.patterns import sn_zipmapreduce
from nimblehlo.patterns.ufuncs import FUNCTIONS
from tests.support.running import run_every_way, same_bits

NUMBERS = [0, -0.0, 1, -1, 2, 3, -3, 7, 0.5, -2.5, 100, -100, np.inf, -np.inf, np.nan, 1e-40]
DTYPES = [
    *(bool, np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn),
]
X = np.arange(-6, 18, dtype=np.float32).reshape(2, 3, 4)


def evaluated(function: Callable[..., Any], *operands: Any) -> Any:
    return sn_zipmapreduce(lambda attrs, *values: function(*values), list(operands))


def traced(function: Callable[..., Any], *operands: Any) -> Any:
    """The result of a function of any shape, the same bits in every way of running."""
    (result,) = run_every_way(str(patterns.trace(function, *operands)), *operands)
    return result


def edges(dtype: Any, count: int) -> list[Any]:
    """Operands that hold each number with each other one."""
    with np.errstate(all="ignore"):
        values = np.array(NUMBERS).astype(dtype)
    return [part.ravel() for part in np.meshgrid(*[values] * count)]


def agree(got: Any, want: Any) -> Any:
    """Where results are equal, or within a few ulps: NumPy's own functions are not exact either."""
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    g, w = got.astype(wide), want.astype(wide)
    scale = 0.0 if got.dtype.kind in "biu" else 4 * float(ml_dtypes.finfo(got.dtype).eps)
    with np.errstate(all="ignore"):
        return (g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= scale * np.abs(w))


# Complex elements of these have infinite or tiny parts for which StableHLO and NumPy differ.
_COMPLEX_EDGES = {"divide", "power", "sign", "expm1", "log1p", "reciprocal"}
# NumPy divides integers by zero to zero, or the least one, and refuses negative powers; StableHLO does not.
_INTEGER_EDGES = {"floor_divide", "remainder", "fmod", "reciprocal", "power"}
_OF_FLOATS_ALONE = {"rint", "exp2", "log2", "log10"}
# NumPy takes shorter floats to float32 first.
_WIDER_IN_NUMPY = {"deg2rad", "radians", "rad2deg", "degrees"}


@pytest.mark.parametrize("ufunc", FUNCTIONS, ids=lambda ufunc: ufunc.__name__)
def test_universal_function(ufunc: np.ufunc) -> None:
    for dtype in map(np.dtype, DTYPES):
        if ufunc.__name__ in _WIDER_IN_NUMPY and dtype.kind == "V":
            continue
        operands = edges(dtype, ufunc.nin)
        if dtype.kind in "biu" and ufunc.__name__ in _INTEGER_EDGES:
            operands = [part[operands[-1] > 0] for part in operands]
        elif dtype.kind == "c" and ufunc.__name__ in _COMPLEX_EDGES:
            operands = [part[np.all([abs(one) < 4 for one in operands], 0)] for part in operands]
            operands = [part[np.all([abs(one) > 1e-30 for one in operands], 0)] for part in operands]
        try:
            if dtype.kind == "c" and ufunc.__name__ in _OF_FLOATS_ALONE:
                raise TypeError
            with np.errstate(all="ignore"):
                want = ufunc(*operands)
        except TypeError:
            with pytest.raises(NimbleError):
                evaluated(ufunc, *operands)
            continue
        got = evaluated(ufunc, *operands)
        assert got.dtype == want.dtype, dtype
        assert agree(got, want).all(), dtype


OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]


@pytest.mark.parametrize("apply", OPERATORS, ids=lambda one: one.__name__)
def test_operator(apply: Callable[[Any, Any], Any]) -> None:
    for other in (2, -1.5, np.float32(3), np.array([1, 2, 3, 4], np.float32), [1.0, 2.0, 3.0, 4.0]):
        with np.errstate(all="ignore"):
            behind, before = apply(X, other), apply(other, X)
        assert same_bits(evaluated(lambda x, other=other: apply(x, other), X), behind)
        assert same_bits(evaluated(lambda x, other=other: apply(other, x), X), before)


@pytest.mark.parametrize(
    "apply", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
)
def test_operator_of_integers(apply: Callable[[Any, Any], Any]) -> None:
    for dtype in (np.int8, np.uint16, np.int64):
        x = np.arange(12, dtype=dtype)
        assert same_bits(evaluated(lambda x: apply(x, 3), x), apply(x, 3))
        assert same_bits(evaluated(lambda x: apply(3, x), x), apply(3, x))
    assert same_bits(evaluated(lambda x: ~x, np.arange(3)), ~np.arange(3))


def test_unary_operators_powers_and_divmod() -> None:
    assert same_bits(evaluated(lambda x: -abs(+x), X), -abs(+X))
    assert same_bits(evaluated(lambda x: x**2, X), X**2)
    assert "multiply" in str(patterns.trace(lambda x: x**2, X))
    np.testing.assert_allclose(evaluated(lambda x: abs(x) ** 0.5, X), abs(X) ** 0.5, rtol=1e-6)
    np.testing.assert_allclose(evaluated(lambda x: 2**x, X), 2**X, rtol=1e-6)
    for got, want in zip(evaluated(lambda x: divmod(x, 3), X), divmod(X, 3), strict=True):
        assert same_bits(got, want)
    for got, want in zip(evaluated(lambda x: np.divmod(7, x + 0.5), X), np.divmod(7, X + 0.5), strict=True):
        assert same_bits(got, want)


def test_augmented_assignment_leaves_the_value() -> None:
    def lambda_(x: Any) -> Any:
        y = x
        y += 1
        return x * 100 + y

    assert same_bits(evaluated(lambda_, X), X * 100 + X + 1)


@pytest.mark.parametrize("pair", list(itertools.combinations(DTYPES, 2)), ids=str)
def test_two_element_types_meet_as_in_numpy(pair: tuple[Any, Any]) -> None:
    a, b = (np.array([1, 2]).astype(dtype) for dtype in pair)
    try:
        want = np.result_type(a.dtype, b.dtype)
    except TypeError:
        with pytest.raises(VerifyError, match="no common type"):
            evaluated(np.add, a, b)
        return
    got = evaluated(np.add, a, b)
    assert got.dtype == want
    assert got.tolist() == (a.astype(want) + b.astype(want)).tolist()


@pytest.mark.parametrize("dtype", [*DTYPES, ml_dtypes.int4], ids=str)
def test_numbers_take_the_type_that_they_meet(dtype: Any) -> None:
    x = np.array([1, 0]).astype(dtype)
    kinds = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3, "V": 1 if dtype is ml_dtypes.int4 else 2}
    for kind, number in enumerate((True, 2, 2.5, 2j)):
        got = evaluated(lambda x, number=number: x * number, x)
        if kind <= kinds[x.dtype.kind]:
            assert got.dtype == x.dtype
        else:
            assert got.dtype == np.result_type(x.dtype, number)
        assert got[0] == np.array(number).astype(got.dtype)


def test_numpy_scalars_keep_their_type() -> None:
    assert evaluated(lambda x: x * np.float64(2), X).dtype == np.float64
    assert evaluated(lambda x: np.float64(2) * x, X).dtype == np.float64


def test_numbers_that_do_not_fit() -> None:
    with pytest.raises(VerifyError, match="i8 cannot represent 300"):
        evaluated(lambda x: x + 300, np.zeros(2, np.int8))
    with pytest.raises(VerifyError, match="does not support elements of type i1"):
        evaluated(lambda x: -x, np.zeros(2, bool))


FUNCTIONS_OF_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "where": lambda x: np.where(x > 2, x, -1),
    "clip": lambda x: np.clip(x, -2, 5.5),
    "clip below": lambda x: np.clip(x, None, 5),
    "clip by name": lambda x: np.clip(x, min=-1, max=3),
    "clip beyond the type": lambda x: np.clip(x.astype(np.int8), -1000, 1000),
    "clip of bounds": lambda x: np.clip(x, x - 1, x[:, :1]),
    "astype": lambda x: np.astype(x, np.int8) + x.astype("int16"),
    "max": lambda x: np.max(x, axis=(0, 2)),
    "amax": lambda x: np.amax(x, 1, keepdims=True),
    "min": lambda x: np.min(x),
    "amin": lambda x: x.min(-1) + np.amin(x, -1),
    "sum of integers": lambda x: np.sum(x.astype(np.int32), 0),
    "sum of booleans": lambda x: (x > 1).sum(),
    "prod": lambda x: np.prod(x.astype(np.int8), axis=1),
    "any": lambda x: np.any(x, 2),
    "all": lambda x: np.all(x > 0, 2, keepdims=True),
    "methods": lambda x: x.max(0) + x.any(0) + x.all(0) + x.astype(np.int32).prod(0),
    "mean": lambda x: np.mean(x, (0, 1)),
    "mean of integers": lambda x: x.astype(np.int16).mean(),
    "full_like": lambda x: np.full_like(x, 3) + np.zeros_like(x, np.int8) + np.ones_like(x),
    "shape": lambda x: np.reshape(x, np.shape(x)[::-1]) + np.ndim(x) + np.size(x) + x.size + x.ndim + len(x),
    "reshape": lambda x: x.reshape(-1, 8) + x.reshape((3, 8)),
    "transpose": lambda x: x.T + np.transpose(x, (2, 1, 0)) + x.transpose(2, 1, 0) + x.transpose(),
    "swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "broadcast_to": lambda x: np.broadcast_to(x[:, :1], (2, 5, 4)),
    "expand_dims": lambda x: np.expand_dims(x, (0, 2)),
    "squeeze": lambda x: np.squeeze(x[:, :1, None], 1) + np.squeeze(x[:, :1]),
    "concatenate": lambda x: np.concatenate([x, x[:, :1], np.ones((2, 1, 4), np.int8)], axis=1),
    "stack": lambda x: np.stack([x, -x], axis=1) + np.stack([x, 2 * x], -1).transpose(0, 3, 1, 2),
    "roll": lambda x: np.roll(x, 1, axis=-1) + np.roll(x, -7, axis=1) + np.roll(x, 4, axis=2),
    "real": lambda x: np.real(x) + np.imag(x) + x.real + x.imag,
    "index": lambda x: x[1, ..., -1],
    "slices": lambda x: x[:, 1:, ::2],
    "slices backwards": lambda x: x[::-1, :0:-1, -1::-3],
    "new axes": lambda x: x[None, :, 0, None],
    "empty slice": lambda x: x[5:, :, 1:1],
    "whole": lambda x: x[...] + x[()],
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_ARRAYS)
def test_function(name: str) -> None:
    function = FUNCTIONS_OF_ARRAYS[name]
    got, want = traced(function, X), np.asarray(function(X))
    assert same_bits(got, want)


def test_function_of_complex_components() -> None:
    z = np.array([1 + 2j, np.inf - 1j, -0.0 + 0j], np.complex64)
    got = evaluated(lambda z: (np.real(z), z.imag, np.conj(z), abs(z), np.isfinite(z), np.isinf(z)), z)
    want = (z.real, z.imag, z.conj(), abs(z), np.isfinite(z), np.isinf(z))
    assert all(map(same_bits, got, want))


def test_functions_of_scipy() -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    x = np.linspace(-0.9, 3, 9).astype(np.float32)
    for function in (special.expit, special.erf, special.erfc, special.gammaln, special.psi):
        np.testing.assert_allclose(evaluated(function, x), function(x), rtol=2e-5)
    y = np.linspace(-0.9, 0.9, 9).astype(np.float32)
    np.testing.assert_allclose(evaluated(special.erfinv, y), special.erfinv(y), rtol=2e-5)
    with pytest.raises(UnsupportedError, match=r"numpy\.j0"):
        evaluated(special.j0, x)


UNSUPPORTED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an unknown function": (lambda x: np.sort(x), "numpy.sort"),
    "an unknown universal function": (lambda x: np.heaviside(x, 1), "numpy.heaviside"),
    "matrices": (lambda x: np.matmul(x, x), "numpy.matmul"),
    "a method": (lambda x: np.add.reduce(x), "reduce is not supported"),
    "an output": (lambda x: np.add(x, 1, out=np.zeros(3)), "out is not supported"),
    "an argument": (lambda x: np.sum(x, where=x > 0), "numpy.sum: is not supported with these"),
    "if": (lambda x: x if x > 0 else -x, "has no elements yet"),
    "float": (lambda x: float(x), "has no elements yet"),
    "iteration": (lambda x: list(x), "has no elements yet"),
    "an array": (lambda x: np.asarray(x), "has no elements yet"),
    "an assignment": (lambda x: x.__setitem__(0, 1), "has no elements yet"),
    "an index": (lambda x: [1, 2][x], "has no elements yet"),
    "indexing by an array": (lambda x: x[np.array([0])], "sn_gather"),
    "indexing by a value": (lambda x: x[x], "sn_gather"),
    "indexing by a boolean": (lambda x: x[True], "sn_gather"),
}


@pytest.mark.parametrize("what", UNSUPPORTED)
def test_what_is_not_supported(what: str) -> None:
    function, told = UNSUPPORTED[what]
    with pytest.raises(UnsupportedError) as error:
        evaluated(function, X)
    assert told in str(error.value)
    assert "test_traced_values.py:" in str(error.value)


BROKEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "shapes": (lambda x: x + np.ones(3, np.float32), "do not broadcast"),
    "axis": (lambda x: np.sum(x, 3), "axis[0] is 3"),
    "repeated axis": (lambda x: np.max(x, (1, 1)), "must not repeat"),
    "reshape": (lambda x: x.reshape(5, -1), "shape is (5, -1)"),
    "transpose": (lambda x: np.transpose(x, (0, 1)), "must name all 3"),
    "broadcast": (lambda x: np.broadcast_to(x, (3, 4)), "does not broadcast"),
    "squeeze": (lambda x: np.squeeze(x, 1), "dimension 1 has size 3"),
    "concatenate": (lambda x: np.concatenate([x, x[0]]), "may differ in dimension 0 alone"),
    "index": (lambda x: x[2], "index of dimension 0 is 2"),
    "too many indices": (lambda x: x[0, 0, 0, 0], "does not index"),
    "bits of floats": (lambda x: x & x, "does not support elements of type f32"),
    "no array": (lambda x: np.add(x, None), "is not an array"),
    "dtype": (lambda x: x.astype("U3"), "is not an element type"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_does_not_fit(what: str) -> None:
    function, told = BROKEN[what]
    with pytest.raises(VerifyError) as error:
        traced(function, X)
    assert told in str(error.value)
    assert "test_traced_values.py:" in str(error.value)


def test_len_of_rank_0() -> None:
    with pytest.raises(UnsupportedError, match="rank 0"):
        evaluated(lambda x: len(x), np.float32(1))


def test_a_value_shows_what_it_is() -> None:
    held: list[Any] = []
    evaluated(lambda x: held.append((repr(x), x.dtype, x.shape)) or x, X)
    assert held == [("Traced(f32, shape=(2, 3, 4))", np.dtype(np.float32), (2, 3, 4))]


def test_long_compositions_in_all_execution_modes() -> None:
    def program(x: Any) -> Any:
        return np.logaddexp(x, x // 3) + np.trunc(x / 7) % 2 + np.fmax(x, np.nan) * np.isfinite(x)

    x = np.float32([-1e30, -3.5, -0.0, 0.0, 1e-45, 2.5, 88.0, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        want = program(x)
    assert agree(traced(program, x), want).all()


# Each gives the same numbers in NumPy: nothing here is rounded in different ways.
STEPS: list[Callable[[Any, Any], Any]] = [
    operator.add,
    operator.sub,
    operator.mul,
    np.maximum,
    np.minimum,
    lambda a, b: np.where(a > b, a, 1) - b,
    lambda a, b: abs(a) + np.sign(b),
    lambda a, b: -a * (b >= a),
    lambda a, b: np.clip(a, -5, 3) + b[::-1],
    lambda a, b: np.roll(a, 1, 0) - b[:, :1],
    lambda a, b: np.concatenate([b, a], 1)[:, 2:5],
    lambda a, b: np.max(a, 0) + np.min(b, 1, keepdims=True),
    lambda a, b: np.stack([a, b]).any(0) + a,
    lambda a, b: (a == b).sum(1).reshape(3, 1).astype(np.int8) + a,
]


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from(STEPS), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=8
    ),
    st.sampled_from([np.int8, np.int32, np.float32, np.float64]),
    st.integers(0, 1000),
)
def test_any_composition(steps: list[Any], dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [rng.choice(NUMBERS[:10], (3, 3)).astype(dtype) for _ in range(2)]

    def program(*values: Any) -> Any:
        made = list(values)
        for step, a, b in steps:
            made.append(step(made[a % len(made)], made[b % len(made)]))
        return made[-1]

    with np.errstate(all="ignore"):
        want = program(*operands)
    got = evaluated(program, *operands)
    # Which zero is the greater one NumPy leaves open.
    assert got.dtype == want.dtype and np.array_equal(got, want, equal_nan=True)
    assert same_bits(traced(program, *operands), got)
