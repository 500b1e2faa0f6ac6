"""Operations whose sizes are operands: equal to the static ones, and judged while running."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo.errors import ExecutionError
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.shape import dynamic_shapes
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import array, declaration, elements, per_axis, tensor

T23 = tensor([2, 3])
ANY_TWO = tensor(["?", "?"])
TWO_SIZES = "tensor<2xi64>"


def sizes(*values: int, element_type: str = "i64") -> str:
    """A constant operand."""
    return f"dense<{list(values)}> : tensor<{len(values)}x{element_type}>"


def dynamic_broadcast_in_dim(
    operand: str, output: str, dimensions: list[int], result: str, expanding: Any = (), nonexpanding: Any = ()
) -> str:
    attributes = (
        f"broadcast_dimensions = {array(*dimensions)}, "
        f"known_expanding_dimensions = {array(*expanding)}, "
        f"known_nonexpanding_dimensions = {array(*nonexpanding)}"
    )
    return program("stablehlo.dynamic_broadcast_in_dim", [operand, output], [result], attributes)


def dynamic_reshape(operand: str, output: str, result: str) -> str:
    return program("stablehlo.dynamic_reshape", [operand, output], [result])


def dynamic_iota(output: str, dimension: int, result: str) -> str:
    return program("stablehlo.dynamic_iota", [output], [result], f"iota_dimension = {dimension} : i64")


def dynamic_pad(
    operand: str, low: str, high: str, interior: str, result: str, value: str = "tensor<f32>"
) -> str:
    return program("stablehlo.dynamic_pad", [operand, value, low, high, interior], [result])


def real_dynamic_slice(operand: str, start: str, limit: str, strides: str, result: str) -> str:
    return program("stablehlo.real_dynamic_slice", [operand, start, limit, strides], [result])


def get_dimension_size(operand: str, dimension: int, result: str = "tensor<i32>") -> str:
    return program("stablehlo.get_dimension_size", [operand], [result], f"dimension = {dimension} : i64")


def set_dimension_size(operand: str, size: str, dimension: int, result: str) -> str:
    return program(
        "stablehlo.set_dimension_size", [operand, size], [result], f"dimension = {dimension} : i64"
    )


REJECTED = {
    declaration("dynamic_broadcast_in_dim"): {
        "C1": dynamic_broadcast_in_dim(T23, TWO_SIZES, [0, 1], tensor(["?", "?"], "f64")),
        "C2": dynamic_broadcast_in_dim(T23, TWO_SIZES, [0], ANY_TWO),
        "C3": dynamic_broadcast_in_dim(T23, TWO_SIZES, [0, 2], ANY_TWO),
        "C4": dynamic_broadcast_in_dim(T23, TWO_SIZES, [0, 0], ANY_TWO),
        "C5": dynamic_broadcast_in_dim(T23, sizes(2, 4), [0, 1], ANY_TWO),
        "C6": dynamic_broadcast_in_dim(
            tensor([2, 3], per_axis(0)), TWO_SIZES, [1, 0], tensor(["?", "?"], per_axis(0))
        ),
        "C7": dynamic_broadcast_in_dim(T23, sizes(2, 3), [0, 1], tensor([2, 3, "?"])),
        "C8": dynamic_broadcast_in_dim(T23, TWO_SIZES, [0, 1], ANY_TWO, [0], [0]),
        "C9": dynamic_broadcast_in_dim(T23, TWO_SIZES, [0, 1], ANY_TWO, [2]),
        "C10": dynamic_broadcast_in_dim(T23, TWO_SIZES, [0, 1], ANY_TWO, [], [2]),
    },
    declaration("dynamic_reshape"): {
        "C1": dynamic_reshape(T23, TWO_SIZES, tensor(["?", "?"], "f64")),
        "C2": dynamic_reshape(T23, sizes(2, 4), ANY_TWO),
        "C3": dynamic_reshape(tensor([2, 6], per_axis(0)), sizes(6, 2), tensor(["?", "?"], per_axis(1))),
        "C4": dynamic_reshape(T23, sizes(6), ANY_TWO),
    },
    declaration("dynamic_iota"): {
        "C1": dynamic_iota(TWO_SIZES, 2, ANY_TWO),
        "C2": dynamic_iota(sizes(2, 3), 0, tensor([2, 4])),
    },
    declaration("dynamic_pad"): {
        "C1": dynamic_pad(T23, TWO_SIZES, TWO_SIZES, TWO_SIZES, ANY_TWO, value="tensor<f64>"),
        "C2": dynamic_pad(T23, "tensor<3xi64>", TWO_SIZES, TWO_SIZES, ANY_TWO),
        "C3": dynamic_pad(T23, sizes(0, 0), sizes(0, 0), sizes(0, -1), ANY_TWO),
        "C4": dynamic_pad(T23, sizes(0, 0), sizes(0, 0), sizes(0, 1), tensor(["?", 3])),
    },
    declaration("real_dynamic_slice"): {
        "C1": real_dynamic_slice(T23, TWO_SIZES, TWO_SIZES, TWO_SIZES, tensor(["?", "?"], "f64")),
        "C2": real_dynamic_slice(T23, TWO_SIZES, "tensor<1xi64>", TWO_SIZES, ANY_TWO),
        "C3": real_dynamic_slice(T23, sizes(0, 0), sizes(2, 4), sizes(1, 1), ANY_TWO),
        "C4": real_dynamic_slice(T23, sizes(0, 0), sizes(2, 3), sizes(1, 0), ANY_TWO),
        "C5": real_dynamic_slice(T23, sizes(0, 0), sizes(2, 3), sizes(1, 2), tensor([2, 3])),
    },
    declaration("get_dimension_size"): {"C1": get_dimension_size(T23, 2)},
    declaration("set_dimension_size"): {
        "C1": set_dimension_size(T23, "tensor<i32>", 1, tensor([2, "?"], "f64")),
        "C2": set_dimension_size(T23, "tensor<i32>", 2, T23),
        "C3": set_dimension_size(T23, "tensor<i64>", 1, tensor([2, "?"])),
        "C4": set_dimension_size(T23, "tensor<i32>", 1, tensor([3, "?"])),
        "C5": set_dimension_size(T23, "dense<4> : tensor<i32>", 1, tensor([2, "?"])),
    },
}

ACCEPTED = [
    dynamic_broadcast_in_dim(T23, sizes(4, 2, 3), [1, 2], tensor(["?", 2, 3]), [], [0, 1]),
    dynamic_broadcast_in_dim(tensor(["?", 1]), TWO_SIZES, [1, 0], ANY_TWO, [1], [0]),
    dynamic_reshape(T23, TWO_SIZES, ANY_TWO),
    dynamic_iota("tensor<?xi64>", 0, ANY_TWO),
    dynamic_pad(tensor(["?", 3]), TWO_SIZES, TWO_SIZES, sizes(0, 1), ANY_TWO),
    real_dynamic_slice(T23, sizes(0, 1), TWO_SIZES, sizes(1, 1), ANY_TWO),
    get_dimension_size(ANY_TWO, 1),
    set_dimension_size(T23, "tensor<i32>", 1, "tensor<2x?xf32, #stablehlo.bounds<?, 3>>"),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, dynamic_shapes)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs_of_another_kind_are_rejected(text: str) -> None:
    assert_inputs_rejected(text)


def int64(*values: int) -> np.ndarray[Any, Any]:
    """A shape operand's value."""
    return np.array(values, np.int64)


OPERAND = np.arange(6, dtype=np.float32).reshape(2, 3)
UNDEFINED = [
    ("C5", dynamic_broadcast_in_dim(T23, TWO_SIZES, [0, 1], ANY_TWO), (OPERAND, int64(2, 4))),
    (
        "C7",
        dynamic_broadcast_in_dim(tensor([]), TWO_SIZES, [], tensor([3, "?"])),
        (OPERAND[0, 0], int64(4, 2)),
    ),
    ("C7", dynamic_broadcast_in_dim(tensor([]), TWO_SIZES, [], ANY_TWO), (OPERAND[0, 0], int64(-1, 2))),
    ("C2", dynamic_reshape(T23, TWO_SIZES, ANY_TWO), (OPERAND, int64(2, 4))),
    ("C4", dynamic_reshape(T23, TWO_SIZES, ANY_TWO), (OPERAND, int64(2, -3))),
    ("C4", dynamic_reshape(T23, TWO_SIZES, tensor([3, "?"])), (OPERAND, int64(2, 3))),
    ("C2", dynamic_iota(TWO_SIZES, 0, tensor([2, "?"])), (int64(3, 3),)),
    ("C2", dynamic_iota(TWO_SIZES, 0, "tensor<?x?xf32, #stablehlo.bounds<2, ?>>"), (int64(3, 3),)),
    (
        "C3",
        dynamic_pad(T23, TWO_SIZES, TWO_SIZES, TWO_SIZES, ANY_TWO),
        (OPERAND, np.float32(0), int64(0, 0), int64(0, 0), int64(0, -1)),
    ),
    (
        "C4",
        dynamic_pad(T23, TWO_SIZES, TWO_SIZES, TWO_SIZES, ANY_TWO),
        (OPERAND, np.float32(0), int64(-3, 0), int64(0, 0), int64(0, 0)),
    ),
    (
        "C3",
        real_dynamic_slice(T23, TWO_SIZES, TWO_SIZES, TWO_SIZES, ANY_TWO),
        (OPERAND, int64(0, 2), int64(2, 1), int64(1, 1)),
    ),
    (
        "C4",
        real_dynamic_slice(T23, TWO_SIZES, TWO_SIZES, TWO_SIZES, ANY_TWO),
        (OPERAND, int64(0, 0), int64(2, 3), int64(1, 0)),
    ),
    (
        "C5",
        real_dynamic_slice(T23, TWO_SIZES, TWO_SIZES, TWO_SIZES, tensor([2, "?"])),
        (OPERAND, int64(0, 0), int64(1, 3), int64(1, 1)),
    ),
]


@pytest.mark.parametrize(("label", "text", "inputs"), UNDEFINED)
def test_sizes_that_do_not_fit_are_errors(label: str, text: str, inputs: Any) -> None:
    with pytest.raises(ExecutionError) as caught:
        evaluate(text, *inputs)
    assert caught.value.label == label, str(caught.value)
    assert caught.value.location


@pytest.mark.parametrize(
    ("name", "label", "text", "inputs"),
    [
        (
            "slice",
            "C3",
            '"stablehlo.slice"(%0) {start_indices = array<i64: 0>, limit_indices = array<i64: 3>, '
            "strides = array<i64: 1>} : (tensor<?xf32>) -> tensor<3xf32>",
            (np.zeros(2, np.float32),),
        ),
        (
            "concatenate",
            "C2",
            "stablehlo.concatenate %0, %1, dim = 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>",
            (np.zeros((1, 2), np.float32), np.zeros((1, 3), np.float32)),
        ),
        (
            "dynamic_update_slice",
            "C6",
            "stablehlo.dynamic_update_slice %0, %1, %2 : "
            "(tensor<?xf32>, tensor<?xf32>, tensor<i32>) -> tensor<?xf32>",
            (np.zeros(2, np.float32), np.zeros(3, np.float32), np.int32(0)),
        ),
        (
            "reshape",
            "C2",
            "stablehlo.reshape %0 : (tensor<?xf32>) -> tensor<3xf32>",
            (np.zeros(2, np.float32),),
        ),
        (
            "broadcast_in_dim",
            "C5",
            "stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<?xf32>) -> tensor<3xf32>",
            (np.zeros(2, np.float32),),
        ),
    ],
)
def test_static_operations_judge_sizes_that_turn_out(name: str, label: str, text: str, inputs: Any) -> None:
    signature = text[text.rindex("(", 0, text.rindex("->")) + 1 : text.rindex(") ->")]
    types = [part.strip() for part in signature.split(",")]
    arguments = ", ".join(f"%{index}: {type}" for index, type in enumerate(types))
    with pytest.raises(ExecutionError) as caught:
        evaluate(f"func.func @main({arguments}) {{\n  %r = {text}\n  return\n}}\n", *inputs)
    assert (caught.value.operation, caught.value.label) == (f"stablehlo.{name}", label)


SIZE_TYPES = st.sampled_from(["i8", "i32", "i64", "ui8", "index"])


@given(st.data(), SIZE_TYPES, st.sampled_from(["i32", "bf16", "complex<f32>", "i4"]))
def test_equal_to_the_static_operations(data: st.DataObject, size_type: str, element_type: str) -> None:
    shape = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    rank = len(shape)
    unknown = tensor(["?"] * rank, element_type)
    vector = f"tensor<{rank}x{size_type}>"
    dtype = np.int64 if size_type == "index" else ELEMENT_TYPES[size_type].dtype
    operand = elements(shape, element_type)

    def value(numbers: Any) -> np.ndarray[Any, Any]:
        return np.array(list(numbers), dtype)

    (broadcast,) = evaluate(
        dynamic_broadcast_in_dim(tensor([], element_type), vector, [], unknown),
        operand.flat[:1].reshape(()) if operand.size else np.ones((), operand.dtype),
        value(shape),
    )
    assert list(broadcast.shape) == shape
    (reshaped,) = evaluate(dynamic_reshape(unknown, vector, unknown), operand, value(shape[::-1]))
    assert reshaped.tolist() == operand.reshape(shape[::-1]).tolist()
    dimension = data.draw(st.integers(0, rank - 1))
    (counted,) = evaluate(dynamic_iota(vector, dimension, unknown), value(shape))
    assert counted.shape == tuple(shape)
    for index in np.ndindex(*shape):
        assert counted[index] == np.array(index[dimension]).astype(counted.dtype)
    start = [data.draw(st.integers(0, size)) for size in shape]
    strides = [data.draw(st.integers(1, 2)) for _ in shape]
    text = real_dynamic_slice(unknown, vector, vector, vector, unknown)
    (sliced,) = evaluate(text, operand, value(start), value(shape), value(strides))
    assert sliced.tolist() == operand[tuple(map(slice, start, shape, strides))].tolist()
    text = dynamic_pad(unknown, vector, vector, vector, unknown, value=tensor([], element_type))
    padding = np.ones((), operand.dtype)
    (padded,) = evaluate(text, operand, padding, value(start), value(strides), value([0] * rank))
    assert (
        padded.tolist() == np.pad(operand, list(zip(start, strides, strict=True)), constant_values=1).tolist()
    )


def test_get_dimension_size() -> None:
    (size,) = evaluate(get_dimension_size(ANY_TWO, 1), OPERAND)
    assert size.dtype == np.int32
    assert size == 3


def test_get_dimension_size_of_more_than_its_result_can_hold() -> None:
    operand = np.zeros((2**31, 0), np.float32)
    with pytest.raises(ExecutionError, match="2147483648 there, which i32 cannot hold"):
        evaluate(get_dimension_size(tensor(operand.shape), 0), operand)
    (size,) = evaluate(get_dimension_size(tensor([2**31 - 1, 0]), 0), operand[1:])
    assert size == 2**31 - 1


def test_set_dimension_size() -> None:
    text = set_dimension_size(T23, "tensor<i32>", 1, "tensor<2x?xf32, #stablehlo.bounds<?, 3>>")
    (cut,) = evaluate(text, OPERAND, np.int32(2))
    assert cut.tolist() == OPERAND[:, :2].tolist()
    for size in (-1, 4):
        with pytest.raises(ExecutionError, match=f"size is {size}"):
            evaluate(text, OPERAND, np.int32(size))


def test_set_dimension_size_grows_up_to_the_bound() -> None:
    bounded = "tensor<2x?xf32, #stablehlo.bounds<?, 5>>"
    text = set_dimension_size(bounded, "tensor<i32>", 1, bounded)
    (grown,) = evaluate(text, OPERAND, np.int32(5))
    assert grown.tolist() == [[0, 1, 2, 0, 0], [3, 4, 5, 0, 0]]
    with pytest.raises(ExecutionError, match=r"must be in \[0, 5\]"):
        evaluate(text, OPERAND, np.int32(6))


def test_no_more_is_allocated_than_there_is() -> None:
    for text, inputs in (
        (dynamic_iota("tensor<1xi64>", 0, tensor(["?"])), (int64(1 << 50),)),
        (
            dynamic_broadcast_in_dim(tensor([]), "tensor<1xi64>", [], tensor(["?"])),
            (OPERAND[0, 0], int64(1 << 50)),
        ),
    ):
        with pytest.raises(ExecutionError, match="but the process may have"):
            evaluate(text, *inputs)


def test_known_sizes_give_result_types() -> None:
    module = parse_and_verify(dynamic_pad(T23, sizes(0, -1), sizes(1, 0), sizes(2, 0), ANY_TWO))
    operation = module.functions["main"].body.block.operations[-2]
    (type,) = declaration("dynamic_pad")(operation).infer()
    assert str(type) == tensor([5, 2])


@pytest.mark.parametrize(
    ("start", "limit", "strides", "label"),
    [
        ("0, 0", "2, 3", "1, 0", "C4"),
        ("0, 0", "2, 3", "1, -1", "C4"),
        ("0, 3", "2, 0", "1, 1", "C3"),
        ("0, 3", "2, 2", "1, 1", "C3"),
        ("-1, 0", "2, 3", "1, 1", "C3"),
    ],
)
def test_sizes_that_the_verifier_does_not_see(start: str, limit: str, strides: str, label: str) -> None:
    """Constants of other dialects are known when the program is specialized, not when it is verified."""
    values = [f"dense<[{text}]> : tensor<2xi64>" for text in (start, limit, strides)]
    text = program("stablehlo.real_dynamic_slice", [T23, *values], [ANY_TWO])
    text = text.replace("stablehlo.constant", "arith.constant")
    with pytest.raises(ExecutionError) as caught:
        nimblehlo.execute(text, [np.zeros((2, 3), np.float32)])
    assert (caught.value.operation, caught.value.label) == ("stablehlo.real_dynamic_slice", label)


def test_padding_that_the_verifier_does_not_see() -> None:
    values = [f"dense<{text}> : tensor<2xi64>" for text in ("[0, -9]", "0", "0")]
    text = program("stablehlo.dynamic_pad", [T23, "tensor<f32>", *values], [ANY_TWO])
    text = text.replace("stablehlo.constant", "arith.constant")
    with pytest.raises(ExecutionError) as caught:
        nimblehlo.execute(text, [np.zeros((2, 3), np.float32), np.float32(0)])
    assert caught.value.operation == "stablehlo.dynamic_pad"
