"""`reduce` with bodies that are associative but do not commute: only the order of the values can give the
result of a left fold. Every way of running, and any number of threads, gives the same bits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.program.ops.bodies import combining, region
from tests.program.ops.texts import array, tensor

Array = np.ndarray[Any, Any]

LAST = region(["tensor<i32>"] * 2, "", ["%b : tensor<i32>"])
MATRICES = region(
    ["tensor<i32>"] * 8,
    """%ae = stablehlo.multiply %a, %e : tensor<i32>
    %bg = stablehlo.multiply %b, %g : tensor<i32>
    %af = stablehlo.multiply %a, %f : tensor<i32>
    %bh = stablehlo.multiply %b, %h : tensor<i32>
    %ce = stablehlo.multiply %c, %e : tensor<i32>
    %dg = stablehlo.multiply %d, %g : tensor<i32>
    %cf = stablehlo.multiply %c, %f : tensor<i32>
    %dh = stablehlo.multiply %d, %h : tensor<i32>
    %w = stablehlo.add %ae, %bg : tensor<i32>
    %x = stablehlo.add %af, %bh : tensor<i32>
    %y = stablehlo.add %ce, %dg : tensor<i32>
    %z = stablehlo.add %cf, %dh : tensor<i32>""",
    [f"%{name} : tensor<i32>" for name in "wxyz"],
)
AFFINE = region(
    ["tensor<i32>"] * 4,
    """%slope = stablehlo.multiply %a, %c : tensor<i32>
    %scaled = stablehlo.multiply %b, %c : tensor<i32>
    %offset = stablehlo.add %scaled, %d : tensor<i32>""",
    ["%slope : tensor<i32>", "%offset : tensor<i32>"],
)
AFFINE_BY_MATRICES = region(
    ["tensor<i32>"] * 4,
    """%s = stablehlo.multiply %a, %c : tensor<i32>
    %one = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
    %two = stablehlo.reshape %c : (tensor<i32>) -> tensor<1xi32>
    %product = stablehlo.multiply %one, %two : tensor<1xi32>
    %scaled = stablehlo.reshape %product : (tensor<1xi32>) -> tensor<i32>
    %offset = stablehlo.add %scaled, %d : tensor<i32>""",
    ["%s : tensor<i32>", "%offset : tensor<i32>"],
)


def last(left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(right)


def matrices(left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, ...]:
    (a, b, c, d), (e, f, g, h) = left, right
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


def affine(left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, ...]:
    (a, b), (c, d) = left, right
    return a * c, b * c + d


BODIES = {
    "last value": (1, LAST, last),
    "2x2 matrices": (4, MATRICES, matrices),
    "affine functions": (2, AFFINE, affine),
    "a body that is not elementwise": (2, AFFINE_BY_MATRICES, affine),
}
SHAPES = [
    ((1,), [0]),
    ((37,), [0]),
    ((3, 17), [1]),
    ((33, 3), [0]),
    ((2, 9, 2), [1]),
    ((3, 5, 2, 3), [1, 3]),
    ((5, 2, 7, 2), [0, 2]),
]


def from_left(operands: Sequence[Array], init_values: Sequence[Any], dimensions: list[int], body: Any) -> Any:
    """The left fold in lexicographic order of the reduced dimensions."""
    reduced: Sequence[Any] = init_values
    for index in itertools.product(*[range(operands[0].shape[axis]) for axis in dimensions]):
        place: list[Any] = [slice(None)] * operands[0].ndim
        for axis, position in zip(dimensions, index, strict=True):
            place[axis] = position
        reduced = body(reduced, [operand[tuple(place)] for operand in operands])
    return reduced


def every_way(text: str, operands: Sequence[Any]) -> list[Array]:
    """The results, whose bits hang neither on the way of running nor on the number of threads."""
    options = [Options(compile="never"), *[Options(compile="eager", threads=n) for n in (1, 2, 3, 8)]]
    first, *others = [nimblehlo.execute(text, operands, options=chosen) for chosen in options]
    for results in others:
        for a, b in zip(first, results, strict=True):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
    return first


def reduce_text(shape: Sequence[int], dimensions: list[int], names: list[str], body: str) -> str:
    kept = [size for axis, size in enumerate(shape) if axis not in dimensions]
    types = [tensor(shape, name) for name in names] + [tensor((), name) for name in names]
    results = ", ".join(tensor(kept, name) for name in names)
    arguments = ", ".join(f"%arg{number}: {type}" for number, type in enumerate(types))
    operands = ", ".join(f"%arg{number}" for number in range(len(types)))
    returned = ", ".join(f"%0#{number}" for number in range(len(names)))
    return f"""func.func @main({arguments}) -> ({results}) {{
      %0:{len(names)} = "stablehlo.reduce"({operands}) ({{{body}}}) {{dimensions = {array(*dimensions)}}}
        : ({", ".join(types)}) -> ({results})
      return {returned} : {results}
    }}"""


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("shape", "dimensions"), SHAPES)
def test_values_stay_in_order(name: str, shape: tuple[int, ...], dimensions: list[int]) -> None:
    count, body, function = BODIES[name]
    rng = np.random.default_rng(len(shape))
    operands = [rng.integers(-9, 9, shape, np.int32) for _ in range(count)]
    init_values = [np.int32(3 + number) for number in range(count)]
    results = every_way(reduce_text(shape, dimensions, ["i32"] * count, body), [*operands, *init_values])
    with np.errstate(over="ignore"):
        wanted = from_left(operands, init_values, dimensions, function)
    for result, value in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(result, value)


def test_the_last_of_many_values() -> None:
    operand = np.arange(200_001, dtype=np.int32)
    text = reduce_text(operand.shape, [0], ["i32"], LAST)
    assert every_way(text, [operand, np.int32(-1)])[0] == 200_000


@pytest.mark.parametrize(("name", "dtype"), [("f32", np.float32), ("bf16", ml_dtypes.bfloat16)])
@pytest.mark.parametrize(("shape", "dimensions"), [((70_001,), [0]), ((300, 230), [0]), ((40, 3000), [1])])
@pytest.mark.parametrize("operation", ["add", "multiply"])
def test_sums_and_products_are_reduced_pairwise(
    name: str, dtype: Any, shape: tuple[int, ...], dimensions: list[int], operation: str
) -> None:
    spread = 0.001 if operation == "multiply" else 1
    values = 1 + spread * np.random.default_rng(1).standard_normal(shape)
    operand = values.astype(dtype)
    text = reduce_text(shape, dimensions, [name], combining(operation, name))
    (result,) = every_way(text, [operand, dtype(1)])
    function = getattr(np, operation)
    level = list(np.moveaxis(operand.astype(np.float32), dimensions[0], 0))
    while len(level) > 1:
        pairs = [function(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    assert result.tobytes() == np.asarray(function(np.float32(1), level[0])).astype(dtype).tobytes()


CUMULATIVE = """
func.func @main(%operand: tensor<3x300xcomplex<f32>>, %init: tensor<complex<f32>>)
    -> tensor<3x300xcomplex<f32>> {{
  %0 = "stablehlo.reduce_window"(%operand, %init) ({{{body}}}) {{
    window_dimensions = array<i64: 1, 300>, padding = dense<[[0, 0], {padding}]> : tensor<2x2xi64>
  }} : (tensor<3x300xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3x300xcomplex<f32>>
  return %0 : tensor<3x300xcomplex<f32>>
}}
"""


@pytest.mark.parametrize("choice", [[0.0, -0.0], [1.0, np.nan]])
@pytest.mark.parametrize("operation", ["minimum", "maximum"])
def test_extremes_of_complex_numbers_depend_on_their_order(operation: str, choice: list[float]) -> None:
    """Of equal numbers, and of NaNs, the first one wins; so it does in `stablehlo.maximum` itself."""
    parts = np.random.default_rng(2).choice(np.array(choice, np.float32), (2, 3, 300))
    operand = np.empty((3, 300), np.complex64)
    operand.real, operand.imag = parts
    name, init_value = "complex<f32>", np.complex64(0)
    body = combining(operation, name)
    (result,) = every_way(reduce_text((3, 300), [1], [name], body), [operand, init_value])
    function = getattr(np, operation)
    wanted = init_value
    for position in range(300):
        wanted = function(wanted, operand[:, position])
    np.testing.assert_array_equal(result.view(np.int32), np.asarray(wanted).view(np.int32))
    for padding in ("[299, 0]", "[0, 299]"):
        every_way(CUMULATIVE.format(body=body, padding=padding), [operand, init_value])
