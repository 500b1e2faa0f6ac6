"""`reduce` and `map`, against the tree of nimblehlo.program.ops.reduction.reduction_tree one value at a
time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.reduction import reduce as reduction
from nimblehlo.program.ops.reduction import reduction_tree_numpy
from nimblehlo.program.ops.reduction.reduce import Map, Reduce
from nimblehlo.types import ELEMENT_TYPES, INTEGER
from tests.program.ops.bodies import combining, region
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, array, elements, tensor

Array = np.ndarray[Any, Any]

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
INTEGER_NAMES = [name for name, element_type in ELEMENT_TYPES.items() if element_type.category & INTEGER]
FLOAT_NAMES = [name for name in ELEMENT_TYPES if name.startswith(("f", "bf"))]


def reduce(
    inputs: Sequence[str], init_values: Sequence[str], dimensions: Any, results: Any, body: str
) -> str:
    attributes = f"dimensions = {array(*dimensions)}"
    return program("stablehlo.reduce", [*inputs, *init_values], results, attributes, body)


def reduce_one(operand: Array, init_value: Any, dimensions: Sequence[int], body: str, name: str) -> Array:
    """`reduce` of one input of the element type `name`."""
    kept = [size for axis, size in enumerate(operand.shape) if axis not in dimensions]
    text = reduce([tensor(operand.shape, name)], [tensor((), name)], dimensions, [tensor(kept, name)], body)
    (result,) = evaluate(text, operand, np.asarray(init_value, operand.dtype))
    return result


def map_of(inputs: Sequence[str], dimensions: Any, result: str, computation: str) -> str:
    attributes = f"dimensions = {array(*dimensions)}"
    return program("stablehlo.map", inputs, [result], attributes, computation)


def fold_by_tree(values: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """THE TREE on a list of values that is not empty."""
    while len(values) > 1:
        pairs = [combine(values[i], values[i + 1]) for i in range(0, len(values) - 1, 2)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def expected(operand: Array, init_value: Any, dimensions: Sequence[int], combine: Any) -> Array:
    """`reduce` element by element, in the operand's type."""
    kept = [axis for axis in range(operand.ndim) if axis not in dimensions]
    result = np.empty([operand.shape[axis] for axis in kept], operand.dtype)
    for index in np.ndindex(result.shape):
        places = dict(zip(kept, index, strict=True))
        reduced = [range(operand.shape[axis]) for axis in sorted(dimensions)]
        values = []
        for inner in itertools.product(*reduced):
            places.update(zip(sorted(dimensions), inner, strict=True))
            values.append(operand[tuple(places[axis] for axis in range(operand.ndim))])
        result[index] = combine(init_value, fold_by_tree(values, combine)) if values else init_value
    return result


@given(st.data(), SHAPES, st.sampled_from([np.add, np.multiply, np.subtract]))
def test_tree(data: st.DataObject, shape: tuple[int, ...], function: Any) -> None:
    dimensions = data.draw(
        st.permutations(range(len(shape))).flatmap(lambda p: st.just(p[: len(p) // 2 + 1]))
    )
    operand = (np.arange(np.prod(shape, dtype=int)) % 13 / 7 + 0.3).astype("f").reshape(shape)
    result = reduce_one(operand, np.float32(0.7), dimensions, combining(function.__name__), "f32")
    wanted = expected(operand, np.float32(0.7), dimensions, function)
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("shape", "dimensions"),
    [
        ((4096,), [0]),
        ((2, 3 * 4096 + 37), [1]),
        ((2 * reduction_tree_numpy.MAX_VALUES + 4095,), [0]),
        ((5 * 256 + 3, 2), [0]),
        ((2, 300, 3), [1]),
        ((700, 3, 60), [1]),
        ((20, reduction_tree_numpy.MAX_INNER_SIZE + 5), [0]),
        ((3, 20, 3, 30), [1, 3]),
        ((20, 3, 30, 2), [0, 2]),
        ((2, 33, 1), [1]),
        ((2, 33, 1), [1, 2]),
    ],
)
@pytest.mark.parametrize("name", ["f32", "f64", "complex<f32>"])
def test_tree_of_many_values(shape: tuple[int, ...], dimensions: list[int], name: str) -> None:
    values = np.random.default_rng(1).standard_normal(shape)
    operand = (values + 0.25j * values[::-1] if name.startswith("c") else values).astype(
        ELEMENT_TYPES[name].dtype
    )
    zero = operand.dtype.type(0)
    with_ufunc = reduce_one(operand, zero, dimensions, combining("add", name), name)
    assert with_ufunc.tobytes() == expected(operand, zero, dimensions, np.add).tobytes()


def test_tree_does_not_depend_on_the_layout_in_memory() -> None:
    values = np.random.default_rng(2).standard_normal((40, 50)).astype("f")
    text = reduce(["tensor<40x50xf32>"], ["tensor<f32>"], [0], ["tensor<50xf32>"], combining("add"))
    one = evaluate(text, values, np.float32(0))[0]
    view = reduction.Reduce(_operation(text))
    (other,) = view.reference(np.asfortranarray(values), np.zeros((), "f"), body=lambda a, b: (a + b,))
    assert one.tobytes() == other.tobytes()


def _operation(text: str) -> Any:
    from tests.program.ops.rejections import parse_and_verify

    return parse_and_verify(text).functions["main"].body.block.operations[-2]


@pytest.mark.parametrize("name", ["bf16", "f16", "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f4E2M1FN"])
@pytest.mark.parametrize("operation", ["add", "multiply"])
def test_narrow_floats_are_summed_in_f32(name: str, operation: str) -> None:
    dtype = ELEMENT_TYPES[name].dtype
    operand = (np.random.default_rng(3).random(40) + 0.5).astype(dtype)
    result = reduce_one(operand, 1, [0], combining(operation, name), name)
    wide = expected(operand.astype("f"), np.float32(1), [0], getattr(np, operation))
    assert result.tobytes() == wide.astype(dtype).tobytes()


def test_other_bodies_round_each_step() -> None:
    scalar = "tensor<bf16>"
    body = region(
        [scalar, scalar],
        f"%s = stablehlo.add %a, %b : {scalar}\n%r = stablehlo.abs %s : {scalar}",
        [f"%r : {scalar}"],
    )
    operand = np.array([256, 1, 1, 1] * 8, ml_dtypes.bfloat16)
    result = reduce_one(operand, 0, [0], body, "bf16")
    assert result.tobytes() == expected(operand, ml_dtypes.bfloat16(0), [0], np.add).tobytes()


@pytest.mark.parametrize("name", INTEGER_NAMES)
@pytest.mark.parametrize("operation", ["add", "multiply", "minimum", "maximum", "and", "or", "xor"])
def test_integers_wrap(name: str, operation: str) -> None:
    element_type = ELEMENT_TYPES[name]
    signed = name.startswith("i")
    low = -(1 << (element_type.width - 1)) if signed else 0
    values = [low + ((37 * k + k * k) % (1 << min(element_type.width, 20))) for k in range(23)]
    operand = np.array(values, np.int64 if signed else np.uint64).astype(element_type.dtype)
    python = {
        "add": lambda a, b: a + b,
        "multiply": lambda a, b: a * b,
        "minimum": min,
        "maximum": max,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }[operation]
    total = int(operand[0])
    for value in operand:
        total = python(total, int(value))
    wrapped = (total - low) % (1 << element_type.width) + low
    assert int(reduce_one(operand, operand[0], [0], combining(operation, name), name)) == wrapped


@pytest.mark.parametrize(
    ("operation", "function"),
    [("add", any), ("multiply", all), ("maximum", any), ("minimum", all), ("or", any), ("and", all)],
)
def test_booleans(operation: str, function: Any) -> None:
    operand = np.array([[False, False], [True, False], [True, True]])
    init_value = function is all
    result = reduce_one(operand, init_value, [1], combining(operation, "i1"), "i1")
    assert result.tolist() == [function(row) for row in operand.tolist()]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_extremes_order_zeros_and_let_nan_win(name: str) -> None:
    rows_ = [[-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0], [1.0, np.nan], [-np.inf, -1.0], [np.inf, 1.0]]
    operand = np.array(rows_).astype(ELEMENT_TYPES[name].dtype)
    greatest = reduce_one(operand, -np.inf, [1], combining("maximum", name), name).astype(np.float64)
    least = reduce_one(operand, np.inf, [1], combining("minimum", name), name).astype(np.float64)
    np.testing.assert_array_equal(greatest, [0, 0, 0, np.nan, -1, np.inf])
    np.testing.assert_array_equal(least, [0, 0, 0, np.nan, -np.inf, 1])
    assert np.signbit(greatest[:3]).tolist() == [False, False, True]
    assert np.signbit(least[:3]).tolist() == [True, True, True]


def test_complex_extremes_are_lexicographic() -> None:
    operand = np.array([1 + 2j, 1 - 1j, 0 + 9j], np.complex64)
    assert reduce_one(operand, -9, [0], combining("maximum", "complex<f32>"), "complex<f32>") == 1 + 2j


@pytest.mark.parametrize("name", FLOAT_NAMES)
def test_no_values_give_the_init_value(name: str) -> None:
    operand = np.zeros((2, 0), ELEMENT_TYPES[name].dtype)
    result = reduce_one(operand, 1.0, [1], combining("add", name), name)
    assert result.tobytes() == np.ones(2, operand.dtype).tobytes()


def test_several_inputs_and_a_captured_value() -> None:
    scalar = "tensor<f32>"
    body = region(
        [scalar, "tensor<i32>", scalar, "tensor<i32>"],
        f"""%p = stablehlo.compare GE, %a, %c : ({scalar}, {scalar}) -> tensor<i1>
        %v = stablehlo.select %p, %a, %c : tensor<i1>, {scalar}
        %i = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i32>
        %w = stablehlo.add %v, %2 : {scalar}""",
        [f"%w : {scalar}", "%i : tensor<i32>"],
    )
    operands = ["tensor<3x40xf32>", "tensor<3x40xi32>"]
    init_values = ["dense<0.0> : tensor<f32>", "tensor<i32>"]
    text = reduce(operands, init_values, [1], ["tensor<3xf32>", "tensor<3xi32>"], body)
    values = np.random.default_rng(4).random((3, 40)).astype("f")
    indices = np.broadcast_to(np.arange(40, dtype="i"), (3, 40))
    found, where = evaluate(text, values, indices, np.int32(-1))
    assert found.tolist() == values.max(1).tolist()
    assert where.tolist() == values.argmax(1).tolist()


def test_operands_are_promoted_to_the_types_of_the_body() -> None:
    text = reduce(["tensor<9xi8>"], ["tensor<i8>"], [0], ["tensor<i32>"], combining("add", "i32"))
    (result,) = evaluate(text, np.full(9, 100, np.int8), np.int8(-100))
    assert (result, result.dtype) == (800, np.int32)
    text = reduce(["tensor<9xf16>"], ["tensor<f16>"], [0], ["tensor<f32>"], combining("maximum", "f32"))
    assert evaluate(text, np.full(9, 2, np.float16), np.float16(-1))[0] == np.float32(2)


def test_a_body_that_is_not_elementwise() -> None:
    body = region(
        ["tensor<i32>", "tensor<i32>"],
        """%x = stablehlo.reshape %a : (tensor<i32>) -> tensor<1xi32>
        %y = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
        %z = stablehlo.add %x, %y : tensor<1xi32>
        %r = stablehlo.reshape %z : (tensor<1xi32>) -> tensor<i32>""",
        ["%r : tensor<i32>"],
    )
    assert (
        reduce_one(elements((3, 7)), 5, [1], body, "i32").tolist() == (elements((3, 7)).sum(1) + 5).tolist()
    )


@given(SHAPES)
def test_map(shape: tuple[int, ...]) -> None:
    computation = region(
        ["tensor<i32>", "tensor<f32>"],
        """%x = stablehlo.convert %a : (tensor<i32>) -> tensor<f32>
        %y = stablehlo.multiply %x, %b : tensor<f32>
        %r = stablehlo.negate %y : tensor<f32>""",
        ["%r : tensor<f32>"],
    )
    text = map_of([tensor(shape, "i32"), tensor(shape)], range(len(shape)), tensor(shape), computation)
    integers, floats = elements(shape), elements(shape, "f32") / 4
    (result,) = evaluate(text, integers, floats)
    assert result.tobytes() == np.asarray(-(integers.astype("f") * floats)).tobytes()


def test_map_to_a_constant() -> None:
    computation = region(
        ["tensor<f32>"], "%c = stablehlo.constant dense<7> : tensor<i8>", ["%c : tensor<i8>"]
    )
    (result,) = evaluate(
        map_of(["tensor<2x3xf32>"], [0, 1], "tensor<2x3xi8>", computation), np.ones((2, 3), "f")
    )
    assert result.tolist() == [[7] * 3] * 2


ONE = ["tensor<2x3xf32>"]
INIT = ["tensor<f32>"]
ADD = combining("add")
TWO_BODY = region(
    ["tensor<f32>"] * 4, "%r = stablehlo.add %a, %c : tensor<f32>", ["%r : tensor<f32>", "%b : tensor<f32>"]
)
NEGATE = region(["tensor<f32>"], "%r = stablehlo.negate %a : tensor<f32>", ["%r : tensor<f32>"])

REJECTED: dict[type[Op], dict[str, str]] = {
    Reduce: {
        "C1": reduce(["tensor<2xf32>", "tensor<3xf32>"], INIT * 2, [0], INIT * 2, TWO_BODY),
        "C2": reduce(ONE, ["tensor<f64>"], [0], ["tensor<3xf32>"], ADD),
        "C3": reduce(["tensor<2xf32>"] * 2, INIT * 2, [0], INIT, TWO_BODY),
        "C4": reduce(ONE, INIT, [2], ["tensor<2xf32>"], ADD),
        "C5": reduce(ONE, INIT, [1, 1], ["tensor<2xf32>"], ADD),
        "C6": reduce(ONE, INIT, [1], ["tensor<2xf32>"], combining("add", "f16")),
        "C7": reduce(ONE, INIT, [1], ["tensor<3xf32>"], ADD),
        "C8": reduce(ONE, INIT, [1], ["tensor<2xbf16>"], combining("add", "f64")),
    },
    Map: {
        "C1": map_of(["tensor<2xf32>"], [0], "tensor<3xf32>", NEGATE),
        "C2": map_of([], [], "tensor<f32>", NEGATE),
        "C3": map_of(["tensor<2x3xf32>"], [1, 0], "tensor<2x3xf32>", NEGATE),
        "C4": map_of(["tensor<2xf32>"], [0], "tensor<2xf64>", NEGATE),
    },
}

ACCEPTED = [
    reduce(ONE, INIT, [1], ["tensor<2xf32>"], ADD),
    reduce(["tensor<?x3xf32>"], INIT, [0], ["tensor<3xf32>"], ADD),
    reduce(
        [tensor((4,), PER_TENSOR)],
        [tensor((), PER_TENSOR)],
        [0],
        [tensor((), PER_TENSOR)],
        combining("add", PER_TENSOR),
    ),
    map_of(["tensor<2xf32>"], [0], "tensor<2xf32>", NEGATE),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, reduction)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


@pytest.mark.parametrize("body", [region([], "", ["%0 : tensor<2x3xf32>"]), TWO_BODY, combining("or", "i1")])
def test_bodies_of_other_types_are_rejected(body: str) -> None:
    assert_rejected(Reduce, "C6", reduce(ONE, INIT, [1], ["tensor<2xf32>"], body))
