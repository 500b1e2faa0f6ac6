"""The section on `sn_zipmapreduce`: zips and maps, each reduction, each constraint; what lambdas use."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nimblehlo import NimbleError, Options, VerifyError, patterns
from nimblehlo.patterns import sn_gather, sn_imm, sn_iteridx, sn_select, sn_zipmapreduce
from nimblehlo.types import BOOLEAN, ELEMENT_TYPES, INTEGER, storage_range
from tests.support.running import run_every_way, same_bits

X = np.arange(6, dtype=np.float32).reshape(2, 3)
EDGES = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -3.5, 7.0], np.float32)


def identity(attrs: Any, x: Any) -> Any:
    return x


def test_one_map() -> None:
    assert sn_zipmapreduce(lambda attrs, x: x * 2 + 1, [X]).tolist() == (X * 2 + 1).tolist()
    assert sn_zipmapreduce(lambda attrs, x: x * 2 + 1, X).tolist() == (X * 2 + 1).tolist()


def test_operands_broadcast() -> None:
    row, column = np.float32([1, 2, 3]), np.float32([[10], [20]])
    out = sn_zipmapreduce(lambda attrs, x, r, c: x * r + c, [X, row, column])
    assert same_bits(out, X * row + column)


def test_a_result_that_is_smaller_fills_the_space() -> None:
    assert sn_zipmapreduce(lambda attrs, x: sn_imm(3, np.int8), [X]).tolist() == [[3] * 3] * 2
    assert sn_zipmapreduce(lambda attrs, x: 1, [X], "sum") == 6


def test_several_results() -> None:
    small, large = sn_zipmapreduce(lambda attrs, x: (x - 1, x + 1), [X])
    assert same_bits(small, X - 1) and same_bits(large, X + 1)
    totals = sn_zipmapreduce(lambda attrs, x: (x, x * x), [X], "sum", 1)
    assert [total.tolist() for total in totals] == [[3, 12], [5, 50]]


def test_numbers_among_the_operands() -> None:
    out = sn_zipmapreduce(lambda attrs, x, factor: x * factor, [X, 2.5])
    assert out.dtype == np.float32 and same_bits(out, X * np.float32(2.5))


def test_what_the_lambda_reads_may_change() -> None:
    factor, bias = 2.0, np.ones(3, np.float32)

    def shifted(attrs: Any, x: Any) -> Any:
        return x * factor + bias

    assert same_bits(sn_zipmapreduce(shifted, [X]), X * 2 + 1)
    factor = 3.0
    assert same_bits(sn_zipmapreduce(shifted, [X]), X * 3 + 1)
    bias[:] = 5
    assert same_bits(sn_zipmapreduce(shifted, [X]), X * 3 + 5)
    bias = np.float32([0, 1, 2])
    assert same_bits(sn_zipmapreduce(shifted, [X]), X * 3 + bias)


def test_patterns_within_patterns_are_one_program() -> None:
    def softmax(attrs: Any, x: Any) -> Any:
        shifted = np.exp(x - sn_zipmapreduce(identity, [x], "max", -1, keep_dims=True))
        return shifted / sn_zipmapreduce(identity, [shifted], "sum", -1, keep_dims=True)

    def program(x: Any) -> Any:
        return sn_zipmapreduce(softmax, [x])

    x = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
    module = patterns.trace(program, x)
    (result,) = run_every_way(str(module), x)
    shifted = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(result, shifted / shifted.sum(-1, keepdims=True), rtol=1e-6)
    assert same_bits(sn_zipmapreduce(softmax, [x]), result)
    assert len(module.functions) == 1 and "call" not in str(module)


REDUCTIONS = {
    "sum": np.sum,
    "product": np.prod,
    "min": np.min,
    "max": np.max,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
}


@pytest.mark.parametrize("reduce_op", REDUCTIONS)
def test_reduction(reduce_op: str) -> None:
    x = np.array([[3, 5, 6], [7, 9, 2]], np.int32)
    for dims, axis in ((1, 1), ([0], 0), ((-1,), 1), ([1, 0], (0, 1)), (None, (0, 1)), ([], ())):
        for keep in (False, True):
            out = sn_zipmapreduce(identity, [x], reduce_op, dims, keep_dims=keep)
            assert out.dtype == np.int32
            assert out.tolist() == REDUCTIONS[reduce_op](x, axis=axis, keepdims=keep).tolist()


@pytest.mark.parametrize("reduce_op", REDUCTIONS)
def test_reduction_of_booleans(reduce_op: str) -> None:
    for x in (np.array([True, False, True]), np.ones(3, bool), np.zeros(3, bool), np.zeros(0, bool)):
        out = sn_zipmapreduce(identity, [x], reduce_op)
        of_none = reduce_op in ("product", "min", "and")
        assert out == (REDUCTIONS[reduce_op](x, axis=0) if x.size else of_none)
        assert out.dtype == (np.int64 if reduce_op in ("sum", "product") else bool)


@pytest.mark.parametrize("reduce_op", ["sum", "product", "min", "max"])
def test_reduction_of_nothing(reduce_op: str) -> None:
    expected = {"sum": 0, "product": 1, "min": np.inf, "max": -np.inf}[reduce_op]
    out = sn_zipmapreduce(identity, [np.zeros((2, 0), np.float32)], reduce_op, 1)
    assert out.tolist() == [expected] * 2


@pytest.mark.sampled
@pytest.mark.parametrize("reduce_op", REDUCTIONS)
@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_reduction_of_every_element_type(name: str, reduce_op: str) -> None:
    element = ELEMENT_TYPES[name]
    ones = np.ones(3).astype(element.dtype)
    has_bits = element.category & (BOOLEAN | INTEGER)
    if (reduce_op in ("and", "or") and not has_bits) or (name, reduce_op) == ("f8E8M0FNU", "sum"):
        with pytest.raises(VerifyError) as error:
            sn_zipmapreduce(identity, [ones], reduce_op)
        assert error.value.label == "Z7"
        return
    out = sn_zipmapreduce(identity, [ones], reduce_op)
    if reduce_op == "sum":
        assert out == {"i1": 3, "i2": -1}.get(name, np.array(3).astype(element.dtype))
    else:
        assert out == ones[0]


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_extremes_start_below_and_above_all(name: str) -> None:
    element = ELEMENT_TYPES[name]
    if element.category & INTEGER:
        values = storage_range(element)
    elif element.category & BOOLEAN:
        values = (0, 1)
    else:
        infinity = np.array(np.inf).astype(element.dtype).astype(np.complex128).real
        values = (1, infinity) if infinity == np.inf else (1, float(ml_dtypes.finfo(element.dtype).max))
    for value in values:
        array = np.array([value]).astype(element.dtype)
        for reduce_op in ("min", "max"):
            assert same_bits(sn_zipmapreduce(identity, [array], reduce_op), array.reshape(()))


@pytest.mark.parametrize("reduce_op", ["min", "max"])
def test_a_nan_is_the_extreme(reduce_op: str) -> None:
    assert np.isnan(sn_zipmapreduce(identity, [EDGES], reduce_op))


def test_a_reduction_in_all_execution_modes() -> None:
    x = np.random.default_rng(1).standard_normal((7, 300)).astype(np.float32)

    def program(x: Any) -> Any:
        return sn_zipmapreduce(lambda attrs, x: x * x - 1, [x], "sum", 1)

    (result,) = run_every_way(str(patterns.trace(program, x)), x)
    assert same_bits(result, sn_zipmapreduce(lambda attrs, x: x * x - 1, [x], "sum", 1))
    np.testing.assert_allclose(result, (x * x - 1).sum(1), rtol=1e-4)


def test_options() -> None:
    x = np.float32([1e8, 1, -1e8, 1])
    left = Options(reduction_tree="left", accumulate="declared")
    right = Options(reduction_tree="right", accumulate="declared")
    assert sn_zipmapreduce(identity, [x], "sum", options=left) == 1
    assert sn_zipmapreduce(identity, [x], "sum", options=right) == 0


@given(
    arrays.arrays(np.float32, arrays.array_shapes(max_dims=3, max_side=4), elements=st.floats(width=32)),
    st.data(),
)
def test_any_zip(x: Any, data: Any) -> None:
    keep = data.draw(st.lists(st.booleans(), min_size=x.ndim, max_size=x.ndim))
    y = x[tuple(slice(None) if one else slice(0, 1) for one in keep)]
    with np.errstate(all="ignore"):
        expected = np.where(x > y, x * y - y, -x / y)
    out = sn_zipmapreduce(lambda attrs, x, y: np.where(x > y, x * y - y, -x / y), [x, y])
    assert same_bits(out, expected)


def test_iteridx() -> None:
    def indices(attrs: Any, x: Any) -> Any:
        return tuple([sn_iteridx(dim, attrs) for dim in (0, 1, -1)])

    first, second, last = sn_zipmapreduce(indices, [X])
    assert first.dtype == np.int32
    assert first.tolist() == [[0] * 3, [1] * 3] and second.tolist() == [[0, 1, 2]] * 2
    assert last.tolist() == second.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, ml_dtypes.bfloat16, ml_dtypes.int4])
def test_iteridx_of_an_element_type(dtype: Any) -> None:
    out = sn_zipmapreduce(lambda attrs, x: sn_iteridx(dim=1, attrs=attrs, dtype=dtype), [X])
    assert same_bits(out, np.array([[0, 1, 2]] * 2).astype(dtype))


def test_iteridx_is_of_the_lambda_whose_attrs_it_takes() -> None:
    def outer(attrs: Any, x: Any) -> Any:
        inner = sn_zipmapreduce(lambda inner, y: sn_iteridx(0, inner) * 10 + y, [np.arange(3)])
        return inner + sn_iteridx(1, attrs) + sn_zipmapreduce(lambda _, y: sn_iteridx(0, attrs), [x])

    assert sn_zipmapreduce(outer, [X]).tolist() == [[0, 12, 24], [1, 13, 25]]


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_imm(name: str) -> None:
    dtype = ELEMENT_TYPES[name].dtype
    one = np.ones(()).astype(dtype)
    assert same_bits(sn_imm(True if name == "i1" else 1, dtype), one)
    out = sn_zipmapreduce(lambda attrs, x: sn_imm(one, dtype), [np.zeros(2)])
    assert same_bits(out, np.ones(2).astype(dtype))


def test_imm_of_edges() -> None:
    for value in (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45):
        out = sn_zipmapreduce(lambda attrs, x, value=value: sn_imm(value, np.float32), [X])
        assert same_bits(out, np.full((2, 3), value, np.float32))
    assert sn_imm(2**64 - 1, np.uint64) == 2**64 - 1


@pytest.mark.parametrize("condition", [np.bool_, np.int8, np.uint64, np.float32, ml_dtypes.bfloat16])
def test_select(condition: Any) -> None:
    chosen = np.array([[1], [0]]).astype(condition)
    assert sn_select(chosen, X, np.float32(-1)).tolist() == [[0, 1, 2], [-1, -1, -1]]
    out = sn_zipmapreduce(lambda attrs, x, c: sn_select(c, x, -1), [X, chosen])
    assert out.dtype == np.float32 and out.tolist() == [[0, 1, 2], [-1, -1, -1]]


def test_select_of_numbers_counts_all_but_zero_as_true() -> None:
    out = sn_select(EDGES, 1, 0)
    assert out.tolist() == [1, 1, 1, 0, 0, 1, 1, 1]


def leaked() -> Any:
    held: list[Any] = []
    sn_zipmapreduce(lambda attrs, x: held.append((attrs, x)) or x, [X])
    return held[0]


BROKEN: dict[str, tuple[Any, str, str]] = {
    "Z1": (lambda: sn_zipmapreduce(identity, []), "sn_zipmapreduce", "operands has no array"),
    "Z2": (lambda: sn_zipmapreduce(identity, [X, np.ones(2)]), "sn_zipmapreduce", "(2, 3), (2,)"),
    "Z3": (lambda: sn_zipmapreduce(lambda attrs, x: None, [X]), "sn_zipmapreduce", "returns None"),
    "Z4": (
        lambda: sn_zipmapreduce(lambda attrs, x: x + np.ones((4, 2, 3)), [X]),
        "sn_zipmapreduce",
        "function returns shape (4, 2, 3)",
    ),
    "Z4, other": (
        lambda: sn_zipmapreduce(lambda attrs, x: np.ones(2), [X]),
        "sn_zipmapreduce",
        "do not broadcast",
    ),
    "Z5": (lambda: sn_zipmapreduce(identity, [X], "mean"), "sn_zipmapreduce", "reduce_op is 'mean'"),
    "Z5, missing": (
        lambda: sn_zipmapreduce(identity, [X], reduce_dims=[0]),
        "sn_zipmapreduce",
        "without reduce_op",
    ),
    "Z6": (lambda: sn_zipmapreduce(identity, [X], "sum", [2]), "sn_zipmapreduce", "reduce_dims[0] is 2"),
    "Z6, repeated": (lambda: sn_zipmapreduce(identity, [X], "sum", [1, -1]), "sn_zipmapreduce", "not repeat"),
    "Z7": (lambda: sn_zipmapreduce(identity, [X], "and"), "sn_zipmapreduce", "'and' needs"),
    "I1": (lambda: sn_iteridx(0, None), "sn_iteridx", "attrs is None"),
    "I1, ended": (lambda: sn_iteridx(0, leaked()[0]), "sn_iteridx", "belongs to another call"),
    "I2": (
        lambda: sn_zipmapreduce(lambda attrs, x: sn_iteridx(2, attrs), [X]),
        "sn_iteridx",
        "dim is 2, but must be from -2 to 1",
    ),
    "I3": (lambda: sn_zipmapreduce(lambda attrs, x: sn_iteridx(0, attrs, bool), [X]), "sn_iteridx", "is i1"),
    "I3, narrow": (
        lambda: sn_zipmapreduce(lambda attrs, x: sn_iteridx(0, attrs, np.int8), [np.ones(129)]),
        "sn_iteridx",
        "cannot hold the index 128",
    ),
    "M1": (lambda: sn_imm(300, np.int8), "sn_imm", "i8 cannot represent 300"),
    "M1, part": (lambda: sn_imm(0.5, np.int8), "sn_imm", "0.5"),
    "M1, array": (lambda: sn_imm([1], np.int8), "sn_imm", "must be a number"),
    "E1": (lambda: sn_select(X > 0, X, np.ones(2)), "sn_select", "do not broadcast"),
}


@pytest.mark.parametrize("constraint", BROKEN)
def test_constraint(constraint: str) -> None:
    call, pattern, told = BROKEN[constraint]
    with pytest.raises(VerifyError) as error:
        call()
    assert told in error.value.reason
    assert (error.value.operation, error.value.label) == (pattern, constraint.partition(",")[0])
    assert "test_sn_zipmapreduce.py:" in str(error.value.location)


def test_imm_of_an_unknown_type() -> None:
    for dtype in ("text", np.dtype("U3"), object(), "float128"):
        with pytest.raises(VerifyError, match="is not an element type of StableHLO"):
            sn_imm(1, dtype)


def test_values_that_outlive_their_lambda() -> None:
    _, value = leaked()
    with pytest.raises(VerifyError, match="belongs to another call"):
        sn_zipmapreduce(lambda attrs, x: x + value, [X])
    with pytest.raises(NimbleError, match="belongs to another call"):
        value + 1
    with pytest.raises(VerifyError, match="belongs to another call"):
        sn_gather(value, [[0]], [0], [1])


def test_an_error_in_the_lambda_comes_as_it_is() -> None:
    def broken(attrs: Any, x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sn_zipmapreduce(broken, [X])
    assert same_bits(sn_zipmapreduce(identity, [X]), X)


def test_patterns_on_arrays_alone_within_a_lambda() -> None:
    table, places = np.float32([10, 20, 30]), np.array([[2], [0], [1]])
    out = sn_zipmapreduce(lambda attrs, x: x + sn_gather(table, places, [0], [1])[:, 0], [X])
    assert same_bits(out, X + table[[2, 0, 1]])
