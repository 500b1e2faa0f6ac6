"""Operations whose regions are no known form: native loops around them give the references' bits."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.plan.tiering.tiers import tierings
from nimblehlo.program.ops.reduction.window_geometry import Window
from tests.support.running import Array, run_every_way, same_bits

RNG = np.random.default_rng(20)


def implementation_of(text: str, name: str, **options: Any) -> str:
    """How the only operation of that name runs when everything is compiled at once."""
    plan = nimblehlo.compile(text, options=Options(compile="eager", **options)).explain()
    (line,) = [
        line for line in plan.rpartition("Plan of")[2].splitlines() if f"{name} " in line.split("[")[0]
    ]
    return line[line.rindex("[") :]


def check(text: str, name: str, *inputs: Any) -> list[Array]:
    """The operation becomes native loops, and gives the same bits in every way of running."""
    assert "[generated: one loop around" in implementation_of(text, name)
    return run_every_way(text, *inputs)


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def values(shape: Sequence[int], element: str) -> Array:
    """Random values of an element type, with those that matter among them."""
    kind = nimblehlo.types.element_type(element)
    dtype = kind.dtype
    if element == "i1":
        return RNG.random(shape) < 0.5
    if element[0] in "iu":
        least, most = (0, 15) if element == "ui4" else (-8, 7) if element == "i4" else (0, 0)
        if most == 0:
            bounds = np.iinfo(dtype)
            least, most = bounds.min, bounds.max
            array = RNG.integers(least, most, shape, dtype, endpoint=True)
            small = RNG.integers(max(least, -3), 3, shape).astype(dtype)
            return np.where(RNG.random(shape) < 0.5, array, small)
        return RNG.integers(least, most, shape, endpoint=True).astype(dtype)
    array = RNG.standard_normal(shape)
    special = RNG.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40], shape)
    array = np.where(RNG.random(shape) < 0.05, special, array)
    if element[0] == "c":
        return (array + 1j * RNG.standard_normal(shape)).astype(dtype)
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def body(arguments: dict[str, str], lines: str, returned: dict[str, str]) -> str:
    """A region of scalars; both dictionaries hold names and element types."""
    named = ", ".join(f"%{name}: tensor<{element}>" for name, element in arguments.items())
    names = ", ".join(f"%{name}" for name in returned)
    types = ", ".join(f"tensor<{element}>" for element in returned.values())
    return f"({{\n^bb0({named}):\n{lines}\nstablehlo.return {names} : {types}\n}})"


def function(operands: dict[str, str], operation: str, results: Sequence[str], before: str = "") -> str:
    """A program of one operation with the given operands (names and types); `operation` lacks its types."""
    arguments = ", ".join(f"%{name}: {type}" for name, type in operands.items())
    taken = ", ".join(type for name, type in operands.items() if not name.startswith("outside"))
    given = ", ".join(results)
    numbers = ", ".join(f"%all#{k}" for k in range(len(results)))
    return f"""func.func @main({arguments}) -> ({given}) {{
      {before}
      %all:{len(results)} = {operation} : ({taken}) -> ({given})
      return {numbers} : {given}
    }}"""


# For each body the element types of a value, and the lines that combine %a0, %a1, ... with %b0, %b1, ...
BODIES: dict[str, tuple[tuple[str, ...], str]] = {
    "steps of a recurrence": (
        ("f32", "f32"),
        """%r0 = stablehlo.multiply %a0, %b0 : tensor<f32>
        %m = stablehlo.multiply %b0, %a1 : tensor<f32>
        %r1 = stablehlo.add %m, %b1 : tensor<f32>""",
    ),
    "complex recurrence": (
        ("complex<f32>", "complex<f32>"),
        """%r0 = stablehlo.multiply %a0, %b0 : tensor<complex<f32>>
        %m = stablehlo.multiply %b0, %a1 : tensor<complex<f32>>
        %r1 = stablehlo.add %m, %b1 : tensor<complex<f32>>""",
    ),
    "last of the greatest": (
        ("f32", "i32"),
        """%g = stablehlo.compare GT, %a0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %r0 = stablehlo.select %g, %a0, %b0 : tensor<i1>, tensor<f32>
        %r1 = stablehlo.select %g, %a1, %b1 : tensor<i1>, tensor<i32>""",
    ),
    "logarithm of a sum of exponentials": (
        ("f32", "f32"),
        """%r0 = stablehlo.maximum %a0, %b0 : tensor<f32>
        %d = stablehlo.subtract %a0, %r0 : tensor<f32>
        %e = stablehlo.subtract %b0, %r0 : tensor<f32>
        %f = stablehlo.exponential %d : tensor<f32>
        %g = stablehlo.exponential %e : tensor<f32>
        %h = stablehlo.multiply %a1, %f : tensor<f32>
        %i = stablehlo.multiply %b1, %g : tensor<f32>
        %r1 = stablehlo.add %h, %i : tensor<f32>""",
    ),
    "saturating sum": (
        ("i8",),
        """%s = stablehlo.add %a0, %b0 : tensor<i8>
        %z = stablehlo.constant dense<0> : tensor<i8>
        %l = stablehlo.constant dense<-128> : tensor<i8>
        %m = stablehlo.constant dense<127> : tensor<i8>
        %n = stablehlo.compare LT, %b0, %z : (tensor<i8>, tensor<i8>) -> tensor<i1>
        %o = stablehlo.compare LT, %s, %a0 : (tensor<i8>, tensor<i8>) -> tensor<i1>
        %w = stablehlo.compare NE, %n, %o : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %e = stablehlo.select %n, %l, %m : tensor<i1>, tensor<i8>
        %r0 = stablehlo.select %w, %e, %s : tensor<i1>, tensor<i8>""",
    ),
    "division and remainder": (
        ("i32", "ui64"),
        """%r0 = stablehlo.divide %a0, %b0 : tensor<i32>
        %r1 = stablehlo.remainder %b1, %a1 : tensor<ui64>""",
    ),
    "swapped": (("f64", "f64"), "%r0 = stablehlo.add %a1, %b1 : tensor<f64>"),
    "first": (("i16",), ""),
    "half": (
        ("bf16",),
        """%k = stablehlo.constant dense<0.5> : tensor<bf16>
        %m = stablehlo.multiply %a0, %k : tensor<bf16>
        %r0 = stablehlo.add %m, %b0 : tensor<bf16>""",
    ),
    "f16": (("f16",), "%r0 = stablehlo.subtract %a0, %b0 : tensor<f16>"),
    "f8": (("f8E4M3FN",), "%r0 = stablehlo.subtract %a0, %b0 : tensor<f8E4M3FN>"),
    "implies": (
        ("i1",),
        "%n = stablehlo.not %a0 : tensor<i1>\n%r0 = stablehlo.or %n, %b0 : tensor<i1>",
    ),
    "narrow": (("i4", "ui4"), """%r0 = stablehlo.subtract %a0, %b0 : tensor<i4>
        %r1 = stablehlo.subtract %b1, %a1 : tensor<ui4>"""),
    "a branch": (
        ("i32",),
        """%z = stablehlo.constant dense<0> : tensor<i32>
        %c = stablehlo.compare LT, %a0, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %r0 = "stablehlo.if"(%c) ({
          %s = stablehlo.add %a0, %b0 : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }, {
          stablehlo.return %b0 : tensor<i32>
        }) : (tensor<i1>) -> tensor<i32>""",
    ),
}  # fmt: skip


def region_of(name: str) -> tuple[tuple[str, ...], str]:
    """The element types of a body, and the body with the arguments a0, a1, ..., b0, b1, ..."""
    elements, lines = BODIES[name]
    arguments = {f"{side}{k}": element for side in "ab" for k, element in enumerate(elements)}
    names = {"first": ["a0"], "swapped": ["r0", "a0"]}.get(name, [f"r{k}" for k in range(len(elements))])
    return elements, body(arguments, lines, dict(zip(names, elements, strict=True)))


def reduction(name: str, shape: Sequence[int], dimensions: Sequence[int]) -> str:
    elements, region = region_of(name)
    kept = [size for d, size in enumerate(shape) if d not in dimensions]
    operands = {f"x{k}": tensor(shape, element) for k, element in enumerate(elements)}
    operands |= {f"i{k}": tensor((), element) for k, element in enumerate(elements)}
    operation = (
        f'"stablehlo.reduce"({", ".join(f"%{name}" for name in operands)}) {region} '
        f"{{dimensions = {sizes(dimensions)}}}"
    )
    return function(operands, operation, [tensor(kept, element) for element in elements])


def reduction_inputs(name: str, shape: Sequence[int]) -> list[Array]:
    elements = BODIES[name][0]
    return [values(shape, element) for element in elements] + [values((), element) for element in elements]


@pytest.mark.parametrize("name", BODIES)
def test_reductions_by_any_body(name: str) -> None:
    check(reduction(name, (3, 301), [1]), "reduce", *reduction_inputs(name, (3, 301)))


SHAPES = [
    ((1,), [0]),
    ((2,), [0]),
    ((255,), [0]),
    ((256,), [0]),
    ((257,), [0]),
    ((70_001,), [0]),
    ((5, 1), [0]),
    ((7, 3), [0]),
    ((129, 700), [0]),
    ((5, 6, 7), [0, 2]),
    ((5, 6, 7), [1]),
    ((5, 6, 7), [2, 1, 0]),
    ((4, 5), []),
    ((), []),
    ((2, 5000, 3), [1]),
    ((9, 2100), [0, 1]),
]


@pytest.mark.parametrize(("shape", "dimensions"), SHAPES, ids=str)
def test_reductions_of_any_shape(shape: tuple[int, ...], dimensions: list[int]) -> None:
    """Short and long trees, results side by side, dimensions that lie apart."""
    name = "steps of a recurrence"
    inputs = reduction_inputs(name, shape)
    inputs = [np.nan_to_num(array).astype(array.dtype) for array in inputs]
    check(reduction(name, shape, dimensions), "reduce", *inputs)


def test_reductions_without_values_give_initial_values() -> None:
    text = reduction("first", (3, 0), [1])
    (found,) = run_every_way(text, np.zeros((3, 0), np.int16), np.int16(7))
    assert found.tolist() == [7, 7, 7]


@pytest.mark.parametrize("tree", ["left", "balanced", ("random", 3)])
def test_other_trees_stay_references(tree: Any) -> None:
    text = reduction("half", (50,), [0])
    assert "numpy" in implementation_of(text, "reduce", reduction_tree=tree)


def test_values_from_outside() -> None:
    """Constants are part of the code, other values are handed to it, arrays are indexed."""
    region = body(
        {"a": "f32", "b": "f32"},
        """%m = stablehlo.multiply %a, %outside : tensor<f32>
        %n = stablehlo.add %m, %b : tensor<f32>
        %o = stablehlo.add %n, %k : tensor<f32>
        %s = stablehlo.dynamic_slice %outside_table, %i, sizes = [1]
            : (tensor<40xf32>, tensor<i32>) -> tensor<1xf32>
        %t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
        %u = stablehlo.add %o, %t : tensor<f32>""",
        {"u": "f32"},
    )
    operands = {"x": "tensor<600xf32>", "y": "tensor<f32>", "outside": "tensor<f32>"}
    operands |= {"outside_table": "tensor<40xf32>", "outside_at": "tensor<i32>"}
    before = "%k = stablehlo.constant dense<0.25> : tensor<f32>"
    text = function(
        operands,
        f'"stablehlo.reduce"(%x, %y) {region.replace("%i,", "%outside_at,")} {{dimensions = array<i64: 0>}}',
        ["tensor<f32>"],
        before,
    )
    inputs = [values((600,), "f32"), np.float32(0.5), np.float32(0.75)]
    inputs += [np.arange(40, dtype=np.float32), np.int32(3)]
    check(text, "reduce", *inputs)


def test_equal_bodies_with_other_constants_share_no_code() -> None:
    """What a body uses from outside is part of what names its code."""
    texts = [
        function(
            {"x": "tensor<9xf32>", "y": "tensor<f32>"},
            '"stablehlo.reduce"(%x, %y) '
            + body(
                {"a": "f32", "b": "f32"},
                "%m = stablehlo.multiply %a, %k : tensor<f32>\n%n = stablehlo.add %m, %b : tensor<f32>",
                {"n": "f32"},
            )
            + " {dimensions = array<i64: 0>}",
            ["tensor<f32>"],
            f"%k = stablehlo.constant dense<{constant}> : tensor<f32>",
        )
        for constant in (0.5, 2.0)
    ]
    inputs = [np.arange(9, dtype=np.float32), np.float32(1)]
    assert check(texts[0], "reduce", *inputs)[0] != check(texts[1], "reduce", *inputs)[0]


def scatter(
    name: str,
    shapes: Sequence[Sequence[int]],
    numbers: str,
    index: str = "i32",
) -> str:
    """A scatter; shapes of inputs, indices and updates."""
    elements, region = region_of(name)
    operands = {f"x{k}": tensor(shapes[0], element) for k, element in enumerate(elements)}
    operands["at"] = tensor(shapes[1], index)
    operands |= {f"u{k}": tensor(shapes[2], element) for k, element in enumerate(elements)}
    operation = (
        f'"stablehlo.scatter"({", ".join(f"%{name}" for name in operands)}) {region} '
        f"{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}"
    )
    return function(operands, operation, [tensor(shapes[0], element) for element in elements])


POINTS = "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"


@pytest.mark.parametrize("name", BODIES)
def test_scatters_by_any_body(name: str) -> None:
    elements = BODIES[name][0]
    text = scatter(name, [(20,), (300, 1), (300,)], POINTS)
    inputs = [values((20,), element) for element in elements]
    updates = [values((300,), element) for element in elements]
    check(text, "scatter", *inputs, RNG.integers(-3, 23, (300, 1)).astype(np.int32), *updates)


SCATTERS = {
    "one": ((7,), (1,), (), "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]"),
    "rows": (
        (30, 40),
        (500, 1),
        (500, 40),
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1",
    ),
    "windows stand first": (
        (30, 40),
        (500, 1),
        (40, 500),
        "update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1",
    ),
    "windows move": (
        (15, 16),
        (2, 90),
        (90, 4, 5),
        "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0",
    ),
    "windows move before the indices": (
        (30,),
        (50, 1),
        (4, 50),
        "update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
    ),
    "windows move before the indices and behind them": (
        (15, 16),
        (90, 2),
        (4, 90, 5),
        "update_window_dims = [0, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1",
    ),
    "batches": (
        (6, 50, 3),
        (80, 6, 1),
        (80, 6, 3),
        "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
        "scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2",
    ),
    "many points": ((5000,), (60_000, 1), (60_000,), POINTS),
}


@pytest.mark.parametrize("case", SCATTERS)
def test_scatters_of_any_shape(case: str) -> None:
    shape, indices, updates, numbers = SCATTERS[case]
    text = scatter("half", [shape, indices, updates], numbers)
    at = RNG.integers(-4, max(shape) + 2, indices).astype(np.int32)
    check(text, "scatter", values(shape, "bf16"), at, values(updates, "bf16"))


@pytest.mark.parametrize("index", ["i8", "ui8", "i64", "ui64"])
def test_indices_far_outside(index: str) -> None:
    bounds = np.iinfo(nimblehlo.types.element_type(index).dtype)
    at = np.array([bounds.min, bounds.max, 0, bounds.max - 1, 3, 4, 5], bounds.dtype).reshape(7, 1)
    numbers = "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    text = scatter("half", [(8,), (7, 1), (7, 3)], numbers, index)
    check(text, "scatter", values((8,), "bf16"), at, values((7, 3), "bf16"))


def test_inputs_that_die_are_overwritten() -> None:
    text = scatter("half", [(5000,), (50, 1), (50,)], POINTS)
    inner = text.replace("func.func @main", "func.func private @inner")
    main = """func.func @main(%x: tensor<5000xbf16>, %at: tensor<50x1xi32>, %u: tensor<50xbf16>)
        -> tensor<5000xbf16> {
      %n = stablehlo.negate %x : tensor<5000xbf16>
      %r = func.call @inner(%n, %at, %u) : (tensor<5000xbf16>, tensor<50x1xi32>, tensor<50xbf16>)
          -> tensor<5000xbf16>
      return %r : tensor<5000xbf16>
    }"""
    at = RNG.integers(0, 5000, (50, 1)).astype(np.int32)
    run_every_way(main + inner, values((5000,), "bf16"), at, values((50,), "bf16"))


COMPARATORS = {
    "by absolute value": """%p = stablehlo.abs %a : tensor<f32>
      %q = stablehlo.abs %b : tensor<f32>
      %r = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>""",
    "two keys, the second descending": """%k = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.remainder %c, %k : tensor<i32>
      %q = stablehlo.remainder %d, %k : tensor<i32>
      %e = stablehlo.compare NE, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %f = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %g = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %r = stablehlo.select %e, %f, %g : tensor<i1>, tensor<i1>""",
    "never": "%r = stablehlo.constant dense<false> : tensor<i1>",
    "always": "%r = stablehlo.constant dense<true> : tensor<i1>",
    "not strict": "%r = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    "no order": """%s = stablehlo.subtract %c, %d : tensor<i32>
      %k = stablehlo.constant dense<3> : tensor<i32>
      %m = stablehlo.remainder %s, %k : tensor<i32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r = stablehlo.compare GT, %m, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>""",
}


def sort(name: str, shape: Sequence[int], dimension: int) -> str:
    region = body({"a": "f32", "b": "f32", "c": "i32", "d": "i32"}, COMPARATORS[name], {"r": "i1"})
    operands = {"x": tensor(shape, "f32"), "y": tensor(shape, "i32")}
    operation = f'"stablehlo.sort"(%x, %y) {region} {{dimension = {dimension} : i64}}'
    return function(operands, operation, list(operands.values()))


@pytest.mark.parametrize("name", COMPARATORS)
@pytest.mark.parametrize("length", [2, 3, 16, 1000])
def test_sorts_by_any_comparator(name: str, length: int) -> None:
    x, y = values((length,), "f32"), RNG.integers(-50, 50, length).astype(np.int32)
    (_, moved) = check(sort(name, (length,), 0), "sort", x, y)
    assert sorted(moved) == sorted(y)


@pytest.mark.parametrize(
    ("shape", "dimension"), [((30, 40), 1), ((30, 40), 0), ((5, 70, 3), 1), ((30_000,), -1)]
)
def test_sorts_of_any_shape(shape: tuple[int, ...], dimension: int) -> None:
    x, y = values(shape, "f32"), RNG.integers(-9, 9, shape).astype(np.int32)
    check(sort("two keys, the second descending", shape, dimension), "sort", x, y)


def test_sorts_are_stable() -> None:
    x = RNG.integers(-3, 4, 5000).astype(np.float32)
    y = np.arange(5000, dtype=np.int32)
    (sorted_x, order) = check(sort("by absolute value", (5000,), 0), "sort", x, y)
    assert (order == np.argsort(np.abs(x), kind="stable")).all()
    assert (sorted_x == x[order]).all()


WINDOWS = [
    ((30,), [Window(3)]),
    ((30,), [Window(3, 2, 4, 3, 1, 2)]),
    ((30,), [Window(4, 2, -2, 5, 3, 2)]),
    ((6, 30, 17), [Window(1), Window(3, 2, 1, 2), Window(4, 1, 7, 9, 1, 2)]),
    ((5, 6, 7), [Window(2, 1, 1, 0, 2), Window(3, 2, -1, 2), Window(3, 3, 0, 9, 3)]),
    ((3, 600), [Window(2, 1, 1, 0), Window(5, 1, 2, 2)]),
    ((8,), [Window(3, 1, 20, 0)]),
]


def pairs(padding: Sequence[Window]) -> str:
    listed = [[window.low, window.high] for window in padding]
    return f"dense<{listed}> : tensor<{len(listed)}x2xi64>"


def sizes(numbers: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


@pytest.mark.parametrize(("shape", "windows"), WINDOWS, ids=str)
@pytest.mark.parametrize("name", ["steps of a recurrence", "division and remainder"])
def test_windows_by_any_body(name: str, shape: tuple[int, ...], windows: list[Window]) -> None:
    elements, region = region_of(name)
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    operands = {f"x{k}": tensor(shape, element) for k, element in enumerate(elements)}
    operands |= {f"i{k}": tensor((), element) for k, element in enumerate(elements)}
    operation = f""""stablehlo.reduce_window"({", ".join(f"%{name}" for name in operands)}) {region} {{
      window_dimensions = {sizes([window.size for window in windows])},
      window_strides = {sizes([window.stride for window in windows])},
      base_dilations = {sizes([window.base_dilation for window in windows])},
      window_dilations = {sizes([window.window_dilation for window in windows])},
      padding = {pairs(windows)}}}"""
    text = function(operands, operation, [tensor(counts, element) for element in elements])
    check(text, "reduce_window", *reduction_inputs(name, shape))


SELECTED = [
    ((30,), [Window(3, 2)]),
    ((4, 20, 30), [Window(1), Window(3, 2, 1, 1), Window(3, 1, 3, 5)]),
    ((20, 12, 4), [Window(2, 1, 5, 5), Window(3, 2, -2, 1), Window(1)]),
]


@pytest.mark.parametrize(("shape", "windows"), SELECTED, ids=str)
def test_selections_and_scatters_by_any_body(shape: tuple[int, ...], windows: list[Window]) -> None:
    counts = [window.count(size) for window, size in zip(windows, shape, strict=True)]
    select = body(
        {"a": "f32", "b": "f32"},
        """%p = stablehlo.abs %a : tensor<f32>
        %q = stablehlo.abs %b : tensor<f32>
        %r = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>""",
        {"r": "i1"},
    )
    combine = body(
        {"a": "f32", "b": "f32"},
        "%m = stablehlo.multiply %a, %outside : tensor<f32>\n%n = stablehlo.add %m, %b : tensor<f32>",
        {"n": "f32"},
    )
    operands = {"x": tensor(shape, "f32"), "u": tensor(counts, "f32"), "i": "tensor<f32>"}
    operation = f""""stablehlo.select_and_scatter"(%x, %u, %i) ({select[1:-1]}, {combine[1:-1]}) {{
      window_dimensions = {sizes([window.size for window in windows])},
      window_strides = {sizes([window.stride for window in windows])},
      padding = {pairs(windows)}}}"""
    text = function(operands | {"outside": "tensor<f32>"}, operation, [tensor(shape, "f32")])
    inputs = [np.round(values(shape, "f32") * 2), values(counts, "f32"), np.float32(0.5), np.float32(0.75)]
    check(text, "select_and_scatter", *inputs)


def test_native_loops_take_over_once_they_pay() -> None:
    """Of many calls the later ones are native, those of a small program are not."""
    text = reduction("last of the greatest", (400_000,), [0])
    inputs = reduction_inputs("last of the greatest", (400_000,))
    executable = nimblehlo.compile(text)
    first = executable(*inputs)
    (step,) = [step for step in executable._static_program.plan.steps if step.operation == "stablehlo.reduce"]
    limit = time.perf_counter() + 120
    while step.implementation.native is None and time.perf_counter() < limit:
        last = executable(*inputs)
    assert step.implementation.native is not None
    last = executable(*inputs)
    assert all(same_bits(a, b) for a, b in zip(first, last, strict=True))


def test_scalars_that_are_computed_before() -> None:
    """Init values and values from outside may come from other steps, and be used in nested regions."""
    text = """func.func @main(%x: tensor<500xf32>, %a: tensor<f32>, %b: tensor<i1>) -> tensor<f32> {
      %init = stablehlo.sine %a : tensor<f32>
      %outside = stablehlo.cosine %init : tensor<f32>
      %all = "stablehlo.reduce"(%x, %init) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = "stablehlo.if"(%b) ({
          %t = stablehlo.multiply %q, %outside : tensor<f32>
          stablehlo.return %t : tensor<f32>
        }, {
          stablehlo.return %q : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        %u = stablehlo.subtract %s, %p : tensor<f32>
        stablehlo.return %u : tensor<f32>
      }) {dimensions = array<i64: 0>} : (tensor<500xf32>, tensor<f32>) -> tensor<f32>
      return %all : tensor<f32>
    }"""
    for flag in (True, False):
        check(text, "reduce", values((500,), "f32"), np.float32(0.5), np.bool_(flag))


@pytest.mark.parametrize("destinations", [1, 3, 1000])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 700])
def test_long_bodies_of_scatters(destinations: int, count: int) -> None:
    """Updates are made side by side only where their destinations differ."""
    region = body(
        {"a": "f32", "b": "f32"},
        """%t = stablehlo.tanh %a : tensor<f32>
        %m = stablehlo.multiply %t, %outside : tensor<f32>
        %r = stablehlo.add %m, %b : tensor<f32>""",
        {"r": "f32"},
    )
    operands = {"x": tensor((destinations,), "f32"), "at": tensor((count, 1), "i64")}
    operands |= {"u": tensor((count,), "f32"), "outside": "tensor<f32>"}
    numbers = f"{{scatter_dimension_numbers = #stablehlo.scatter<{POINTS}>}}"
    text = function(
        operands, f'"stablehlo.scatter"(%x, %at, %u) {region} {numbers}', [tensor((destinations,), "f32")]
    )
    at = RNG.integers(-1, destinations + 1, (count, 1))
    check(text, "scatter", values((destinations,), "f32"), at, values((count,), "f32"), np.float32(0.75))


SCANS = {
    "scalars": ((300,), (), 0),
    "slices": ((4, 50), (4,), 1),
    "slices within": ((2, 30, 3), (2, 3), 1),
    "first": ((30, 5), (5,), 0),
    "one": ((1,), (), 0),
}


@pytest.mark.parametrize("case", SCANS)
@pytest.mark.parametrize("is_reverse", [False, True])
def test_scans_of_small_slices(case: str, is_reverse: bool) -> None:
    """Inputs and carried values of several types; a value from outside."""
    shape, rest, dimension = SCANS[case]
    f, i = tensor(rest, "f32"), tensor(rest, "i16")
    floats, integers = tensor(shape, "f32"), tensor(shape, "i16")
    text = f"""func.func @main(%x: {floats}, %y: {integers}, %a: {f}, %b: {i}, %outside: {f})
        -> ({integers}, {f}, {i}) {{
      %all:3 = chlo.scan(%x, %y) inits(%a, %b) dimension={dimension}
          attributes {{is_reverse = {str(is_reverse).lower()}}} {{
      ^bb0(%p: {f}, %q: {i}, %c: {f}, %d: {i}):
        %m = stablehlo.multiply %c, %outside : {f}
        %n = stablehlo.add %m, %p : {f}
        %s = stablehlo.subtract %q, %d : {i}
        stablehlo.return %s, %n, %s : {i}, {f}, {i}
      }} : ({floats}, {integers}, {f}, {i}) -> ({integers}, {f}, {i})
      return %all#0, %all#1, %all#2 : {integers}, {f}, {i}
    }}"""
    inputs = [values(size, kind) for size in (shape, rest) for kind in ("f32", "i16")]
    check(text, "chlo.scan", *inputs, values(rest, "f32"))


@pytest.mark.usefixtures("unverified")
def test_small_programs_do_not_load_the_compiler() -> None:
    """A first result by the reference does not wait for what could make native loops."""
    text = reduction("last of the greatest", (20,), [0])
    program = f"""
import sys
import numpy as np
import nimblehlo
nimblehlo.execute({text!r}, [np.ones(20, np.float32), np.ones(20, np.int32), np.float32(0), np.int32(0)])
assert "llvmlite" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_expensive_operations_on_scalars_are_applied_to_whole_arrays() -> None:
    """`reduce_precision` takes NumPy so many calls that native code for a single scalar would pay.

    Such code cannot stand in the function of a region, which references apply to whole arrays.
    """
    text = """func.func @main(%a: tensor<40x300xf32>, %z: tensor<f32>, %u: tensor<40x60xf32>)
        -> tensor<40x300xf32> {
      %0 = "stablehlo.select_and_scatter"(%a, %u, %z) ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %p = stablehlo.reduce_precision %x, format = e5m4 : tensor<f32>
          %q = stablehlo.reduce_precision %y, format = e5m4 : tensor<f32>
          %t = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %t : tensor<i1>
        }, {
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          %t = stablehlo.reduce_precision %s, format = e5m4 : tensor<f32>
          stablehlo.return %t : tensor<f32>
        }) {window_dimensions = array<i64: 1, 5>, window_strides = array<i64: 1, 5>}
        : (tensor<40x300xf32>, tensor<40x60xf32>, tensor<f32>) -> tensor<40x300xf32>
      return %0 : tensor<40x300xf32>
    }"""
    operand, source = RNG.standard_normal((40, 300)), RNG.standard_normal((40, 60))
    inputs = operand.astype(np.float32), np.float32(0), source.astype(np.float32)
    run_every_way(text, *inputs)
    executable = nimblehlo.compile(text)
    executable(*inputs)
    steps = [line for line in executable.explain().splitlines() if "  stablehlo.reduce_precision (" in line]
    assert len(steps) == 3 and all("[numpy" in line for line in steps)


def test_steps_that_get_captured_values_are_steps_of_their_program() -> None:
    """The program's profile knows them, so that their code is compiled with that of other steps."""
    less = """
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.remainder %p, %outside : tensor<f32>
      %s = stablehlo.remainder %q, %outside : tensor<f32>
      %c = stablehlo.compare LT, %r, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>"""
    sort = f'"stablehlo.sort"(%x) ({{{less}\n}}) {{dimension = 0 : i64}}'
    text = function({"x": "tensor<64xf32>", "outside": "tensor<f32>"}, sort, ["tensor<64xf32>"])
    (program,) = nimblehlo.compile(text)._cached_programs()
    (step,) = program.plan.steps
    (tiering,) = tierings([step.implementation])
    assert tiering.program is not None and step.implementation.is_settled == tiering.is_settled
