"""`sort`, against Python's sort with the comparator spelled out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.sorting import sort as sorting
from nimblehlo.program.ops.sorting import sort_numpy
from nimblehlo.program.ops.sorting.sort import Sort, merge_sort
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.bodies import canonical, combining, comparing, region
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, elements, tensor
from tests.support.running import run_every_way

Array = np.ndarray[Any, Any]
F32 = "tensor<f32>"
EDGES = [1.0, -0.0, np.nan, 0.0, -1.0, np.inf, -np.nan, 0.0, -np.inf, -0.0, 1.0, np.nan, 1e-45]
FLOAT_NAMES = ["f8E5M2", "bf16", "f16", "f32", "f64"]
NANS = {"f8E5M2": "0x7E", "bf16": "0x7FC0", "f16": "0x7E00", "f32": "0x7FC00000", "f64": "0x7FF8000000000000"}


def sort(inputs: Sequence[str], results: Sequence[str], comparator: str, dimension: int = -1) -> str:
    attributes = f"dimension = {dimension} : i64, is_stable = true"
    return program("stablehlo.sort", inputs, results, attributes, comparator)


def sort_with_positions(values: Array, name: str, comparator: str) -> tuple[list[int], Array]:
    """The order of a vector, by a second input that holds positions, and the sorted values."""
    types = [tensor(values.shape, name), tensor(values.shape, "i32")]
    found, order = evaluate(sort(types, types, comparator), values, np.arange(len(values), dtype="i"))
    assert found.tobytes() == values[order].tobytes()
    return order.tolist(), found


def stable_order(count: int, less: Callable[[int, int], bool]) -> list[int]:
    """Positions in the order of a comparator of positions."""
    return sorted(range(count), key=functools.cmp_to_key(lambda i, j: less(j, i) - less(i, j)))


def by_number(values: Array, descending: bool) -> list[int]:
    """The order by number: NaN last."""
    numbers = [float(value) for value in values]
    return sorted(
        range(len(numbers)),
        key=lambda i: (
            numbers[i] != numbers[i],
            0 if numbers[i] != numbers[i] else numbers[i] * (1 - 2 * descending),
        ),
    )


def total_key(value: Any) -> tuple[Any, ...]:
    """Compares as TOTALORDER does, where NaNs differ in their sign only."""
    number, negative = float(value), bool(np.signbit(float(value)))
    rank = (-1 if negative else 1) * (number != number)
    return rank, 0.0 if rank else number, not negative


@pytest.mark.parametrize("name", FLOAT_NAMES)
@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_floats_by_number(name: str, direction: str) -> None:
    values = np.array(EDGES).astype(ELEMENT_TYPES[name].dtype)
    order, _ = sort_with_positions(values, name, comparing(direction, name, ["i32"]))
    assert order == by_number(values, direction == "GT")


@pytest.mark.parametrize("name", FLOAT_NAMES)
@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_floats_by_total_order(name: str, direction: str) -> None:
    values = np.array(EDGES).astype(ELEMENT_TYPES[name].dtype)
    order, _ = sort_with_positions(values, name, comparing(direction, name, ["i32"], "TOTALORDER"))
    keys = [total_key(value) for value in values]
    wanted = stable_order(
        len(keys), lambda i, j: keys[i] < keys[j] if direction == "LT" else keys[i] > keys[j]
    )
    assert order == wanted


def canonical_comparator(name: str, direction: str) -> str:
    scalar = f"tensor<{name}>"
    return region(
        [scalar, scalar, "tensor<i32>", "tensor<i32>"],
        canonical("l", "%a", name, NANS[name])
        + canonical("r", "%b", name, NANS[name])
        + f"%p = stablehlo.compare {direction}, %l, %r, TOTALORDER : ({scalar}, {scalar}) -> tensor<i1>",
        ["%p : tensor<i1>"],
    )


@pytest.mark.parametrize("name", FLOAT_NAMES)
@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_floats_by_canonical_order(name: str, direction: str) -> None:
    values = np.array(EDGES).astype(ELEMENT_TYPES[name].dtype)
    order, _ = sort_with_positions(values, name, canonical_comparator(name, direction))
    numbers = [(float(v) != float(v), 0 if float(v) != float(v) else float(v)) for v in values]
    less = (
        (lambda i, j: numbers[i] < numbers[j])
        if direction == "LT"
        else (lambda i, j: numbers[i] > numbers[j])
    )
    assert order == stable_order(len(numbers), less)


@given(st.lists(st.floats(width=32), max_size=40), st.sampled_from(["LT", "GT"]), st.booleans())
def test_one_input(values: list[float], direction: str, total: bool) -> None:
    operand = np.array(values, "f")
    comparator = comparing(direction, compare_type="TOTALORDER" if total else "FLOAT")
    (found,) = evaluate(sort([tensor(operand.shape)], [tensor(operand.shape)], comparator), operand)
    with_positions = comparing(direction, "f32", ["i32"], "TOTALORDER" if total else "FLOAT")
    _, wanted = sort_with_positions(operand, "f32", with_positions)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["i1", "i2", "i4", "i8", "i32", "i64", "ui4", "ui8", "ui32", "ui64"])
@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_integers(name: str, direction: str) -> None:
    element_type = ELEMENT_TYPES[name]
    low = -(1 << (element_type.width - 1)) if name[0] == "i" and name != "i1" else 0
    span = 1 << element_type.width
    numbers = [low + span * k // 6 % span for k in (3, 5, 0, 1, 3, 2, 4, 5)] + [low, low + span - 1]
    wide = np.array(numbers, np.uint64 if low == 0 else np.int64)
    values = wide.astype(element_type.dtype)
    order, _ = sort_with_positions(values, name, comparing(direction, name, ["i32"]))
    assert order == sorted(
        range(len(numbers)), key=lambda i: -numbers[i] if direction == "GT" else numbers[i]
    )
    (alone,) = evaluate(
        sort([tensor(values.shape, name)] * 1, [tensor(values.shape, name)], comparing(direction, name)),
        values,
    )
    assert alone.tobytes() == values[order].tobytes()


@pytest.mark.parametrize("dimension", [0, 1, 2, -1, -2, -3])
def test_dimensions(dimension: int) -> None:
    operand = np.random.default_rng(6).permutation(60).reshape(3, 4, 5).astype("f")
    text = sort([tensor(operand.shape)], [tensor(operand.shape)], comparing("LT"), dimension)
    np.testing.assert_array_equal(evaluate(text, operand)[0], np.sort(operand, axis=dimension))


@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("name", ["i8", "ui16", "i32", "ui32", "f32", "i64"])
def test_equal_elements_keep_their_order_along_a_dimension(name: str, dimension: int) -> None:
    dtype = ELEMENT_TYPES[name].dtype
    values = np.random.default_rng(7).integers(-2, 2, (3, 40, 5)).astype(dtype)
    positions = np.arange(values.size, dtype="i").reshape(values.shape)
    types = [tensor(values.shape, name), tensor(values.shape, "i32")]
    _, order = evaluate(sort(types, types, comparing("LT", name, ["i32"]), dimension), values, positions)
    wanted = np.take_along_axis(positions, np.argsort(values, dimension, "stable"), dimension)
    np.testing.assert_array_equal(order, wanted)


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (0, 3)])
def test_nothing_to_sort(shape: tuple[int, ...]) -> None:
    operand = np.ones(shape, "f")
    for comparator in (comparing("LT"), comparing("LE")):
        (found,) = evaluate(sort([tensor(shape)], [tensor(shape)], comparator), operand)
        assert found.shape == shape


LEXICOGRAPHIC = region(
    ["tensor<i8>", "tensor<i8>", F32, F32, "tensor<i32>", "tensor<i32>"],
    f"""%lt = stablehlo.compare LT, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %gt = stablehlo.compare GT, %c, %d : ({F32}, {F32}) -> tensor<i1>
    %both = stablehlo.and %eq, %gt : tensor<i1>
    %r = stablehlo.or %lt, %both : tensor<i1>""",
    ["%r : tensor<i1>"],
)
"""Ascending by the first input, then descending by the second; the third is only moved."""

BY_MAGNITUDE = region(
    ["tensor<i8>", "tensor<i8>", F32, F32, "tensor<i32>", "tensor<i32>"],
    """%l = stablehlo.abs %a : tensor<i8>
    %m = stablehlo.abs %b : tensor<i8>
    %r = stablehlo.compare LT, %l, %m : (tensor<i8>, tensor<i8>) -> tensor<i1>""",
    ["%r : tensor<i1>"],
)

AT_LENGTH = region(
    ["tensor<i8>", "tensor<i8>", F32, F32, "tensor<i32>", "tensor<i32>"],
    """%l = stablehlo.reshape %a : (tensor<i8>) -> tensor<1xi8>
    %m = stablehlo.reshape %b : (tensor<i8>) -> tensor<1xi8>
    %s = stablehlo.compare LT, %l, %m : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi1>
    %r = stablehlo.reshape %s : (tensor<1xi1>) -> tensor<i1>""",
    ["%r : tensor<i1>"],
)


@pytest.mark.parametrize(
    ("comparator", "key"),
    [
        (LEXICOGRAPHIC, lambda first, second: (first, -second)),
        (BY_MAGNITUDE, lambda first, second: abs(first)),
        (AT_LENGTH, lambda first, second: first),
    ],
    ids=["lexicographic", "by magnitude", "not elementwise"],
)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-2, 2)), max_size=20))
def test_comparators_of_several_inputs(comparator: str, key: Any, pairs: list[tuple[int, int]]) -> None:
    first = np.array([pair[0] for pair in pairs], np.int8)
    second = np.array([pair[1] for pair in pairs], "f")
    types = [tensor(first.shape, name) for name in ("i8", "f32", "i32")]
    text = sort(types, types, comparator)
    *_, order = evaluate(text, first, second, np.arange(len(pairs), dtype="i"))
    assert order.tolist() == sorted(range(len(pairs)), key=lambda i: key(*pairs[i]))


def test_complex_by_imaginary_part() -> None:
    scalar = "tensor<complex<f32>>"
    comparator = region(
        [scalar, scalar],
        f"""%l = stablehlo.imag %a : ({scalar}) -> {F32}
        %m = stablehlo.imag %b : ({scalar}) -> {F32}
        %r = stablehlo.compare GT, %l, %m : ({F32}, {F32}) -> tensor<i1>""",
        ["%r : tensor<i1>"],
    )
    values = np.array([1 + 2j, 3 - 1j, -2 + 2j, 0 + 5j], np.complex64)
    type = "tensor<4xcomplex<f32>>"
    assert evaluate(sort([type], [type], comparator), values)[0].tolist() == [5j, 1 + 2j, -2 + 2j, 3 - 1j]


@pytest.mark.parametrize("count", [1, 2, 3, 31, 32, 33, 1000])
def test_merge_sort(count: int) -> None:
    values = np.random.default_rng(count).integers(0, count, (3, count))
    order = sort_numpy.merge_sort((values,), lambda left, right: left[0] < right[0])
    np.testing.assert_array_equal(order, np.argsort(values, axis=1, kind="stable"))
    for row, sorted_row in zip(values.tolist(), order.tolist(), strict=True):
        assert merge_sort(count, lambda left, right, row=row: row[left] < row[right]) == sorted_row


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_a_comparator_without_order_gives_a_permutation(count: int, seed: int) -> None:
    is_less = np.random.default_rng(seed).random((count, count)) < 0.5
    values = np.broadcast_to(np.arange(count), (2, count))
    order = sort_numpy.merge_sort((values,), lambda left, right: is_less[left[0], right[0]])
    np.testing.assert_array_equal(np.sort(order, axis=1), values)
    assert [merge_sort(count, lambda left, right: bool(is_less[left, right]))] * 2 == order.tolist()


LESS = comparing("LT")
REJECTED: dict[type[Op], dict[str, str]] = {
    Sort: {
        "C1": sort([], [], LESS),
        "C2": sort(["tensor<3xf32>"], ["tensor<3xf64>"], LESS),
        "C3": sort(["tensor<3xf32>"], ["tensor<4xf32>"], LESS),
        "C4": sort(["tensor<3xf32>"], ["tensor<3xf32>"], LESS, 1),
        "C5": sort(["tensor<3xf32>"], ["tensor<3xf32>"], combining("add")),
    }
}
QUANTIZED = tensor((3,), PER_TENSOR)
ACCEPTED = [
    sort(["tensor<3xf32>"], ["tensor<3xf32>"], LESS),
    sort(["tensor<?xf32>"], ["tensor<?xf32>"], LESS),
    sort([QUANTIZED], [QUANTIZED], comparing("LT", PER_TENSOR)),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, sorting)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        sort(["tensor<3xf32>", "tensor<4xf32>"], ["tensor<3xf32>", "tensor<4xf32>"], LESS),
        sort(["tensor<f32>"], ["tensor<f32>"], LESS, 0),
        sort(["tensor<3xf32>"], ["tensor<3xf32>"], LESS, -2),
    ],
)
def test_shapes_and_dimensions_are_checked(text: str) -> None:
    label = "C3" if "4xf32" in text else "C4"
    assert_rejected(Sort, label, text)


def test_elements_are_moved_together() -> None:
    keys, values = elements((4, 5)), np.arange(20, dtype="f").reshape(4, 5)
    types = ["tensor<4x5xi32>", "tensor<4x5xf32>"]
    found, moved = evaluate(sort(types, types, comparing("LT", "i32", ["f32"]), 0), keys, values)
    order = np.argsort(keys, axis=0, kind="stable")
    np.testing.assert_array_equal(found, np.take_along_axis(keys, order, 0))
    np.testing.assert_array_equal(moved, np.take_along_axis(values, order, 0))


@pytest.mark.parametrize("direction", ["LT", "GT"])
def test_complex_numbers_are_ordered_by_real_then_imaginary_parts(direction: str) -> None:
    """Parts that differ by less than one; NaN in a part is behind all others, in either direction."""
    parts = [0.5, 0.25, -np.inf, 1.0, np.nan]
    numbers = [complex(real, imag) for real in parts for imag in parts]
    text = (
        f"func.func @main(%a: tensor<25xcomplex<f32>>) -> tensor<25xcomplex<f32>> {{\n"
        f'  %0 = "stablehlo.sort"(%a) ({{\n'
        f"  ^bb0(%l: tensor<complex<f32>>, %r: tensor<complex<f32>>):\n"
        f"    %1 = stablehlo.compare {direction}, %l, %r : (tensor<complex<f32>>, tensor<complex<f32>>)"
        f" -> tensor<i1>\n"
        f"    stablehlo.return %1 : tensor<i1>\n"
        f"  }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<25xcomplex<f32>>)"
        f" -> tensor<25xcomplex<f32>>\n"
        f"  return %0 : tensor<25xcomplex<f32>>\n}}"
    )
    array = np.array(numbers, np.complex64)
    (result,) = run_every_way(text, array)
    ordered = [one for one in numbers if not np.isnan(one)]
    ordered.sort(key=lambda one: (one.real, one.imag), reverse=direction == "GT")
    assert np.array_equal(result[: len(ordered)], np.array(ordered, np.complex64))
    assert np.isnan(result[len(ordered) :]).all()
