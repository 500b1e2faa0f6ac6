"""Loops over small arrays as native code: the same bits as their plans, operation by operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops.scalars.boxes import MAX_COPIED_BYTES, MAX_COPIED_VECTORS
from nimblehlo.compiler.loops.scalars.elementwise import MAX_TILE_ELEMENTS, TILE_MULTIPLE, tile_of
from nimblehlo.compiler.plan.implementations.native_loops import LoopToCompile
from nimblehlo.kernels.launch import threads
from tests.support.running import run_every_way

from .test_while_function import check, counted, loop_to_compile_of, reason_of

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45, 3e38])


def floats(*shape: int, dtype: Any = np.float32) -> Array:
    """Random values, special ones among them."""
    array = RNG.standard_normal(shape)
    places = RNG.random(shape) < 0.05
    array[places] = RNG.choice(SPECIAL, int(places.sum()))
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def type_of(array: Array) -> str:
    names = {
        "float32": "f32", "float64": "f64", "complex64": "complex<f32>", "complex128": "complex<f64>",
        "int32": "i32", "int8": "i8", "uint8": "ui8", "bool": "i1", "bfloat16": "bf16", "float16": "f16",
    }  # fmt: skip
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{names[array.dtype.name]}>"


def check_body(body: str, handed_on: str, steps: int = 10, **carried: Array) -> None:
    """A loop that carries arrays under their names, with that body."""
    types = {name: (f"{name}0", type_of(array)) for name, array in carried.items()}
    check(counted(steps, body, types, handed_on), *carried.values())


@pytest.mark.sampled(("lhs", "rhs", "numbers"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("lhs", "rhs", "numbers", "result"),
    [
        ((7, 9), (9, 21), "contracting_dims = [1] x [0]", "7x21"),
        ((9, 7), (21, 9), "contracting_dims = [0] x [1]", "7x21"),
        ((1, 40), (40, 5), "contracting_dims = [1] x [0]", "1x5"),
        ((40,), (40,), "contracting_dims = [0] x [0]", ""),
        ((60, 50), (50,), "contracting_dims = [1] x [0]", "60"),
        ((50,), (50, 45), "contracting_dims = [0] x [0]", "45"),
        ((50,), (45, 50), "contracting_dims = [0] x [1]", "45"),
        ((50, 33), (50,), "contracting_dims = [0] x [0]", "33"),
        ((9, 3, 8), (9, 8), "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "9x3"),
        ((9, 5), (9, 5, 3), "batching_dims = [0] x [0], contracting_dims = [1] x [1]", "9x3"),
        ((2, 3, 5), (5, 2, 3), "contracting_dims = [0, 1, 2] x [1, 2, 0]", ""),
        ((5,), (6,), "contracting_dims = [] x []", "5x6"),
        ((3, 300), (300, 2), "contracting_dims = [1] x [0]", "3x2"),
        ((3, 600), (600, 17), "contracting_dims = [1] x [0]", "3x17"),
        ((2, 3, 4), (4, 2, 5), "batching_dims = [0] x [1], contracting_dims = [2] x [0]", "2x3x5"),
        ((3, 4, 5), (5, 6, 4), "contracting_dims = [1, 2] x [2, 0]", "3x6"),
        # Matrices of products with vectors: columns and rows read in place, and a copy.
        ((3, 5), (5, 3, 20), "batching_dims = [0] x [1], contracting_dims = [1] x [0]", "3x20"),
        ((20, 3, 5, 4), (4, 3, 5), "batching_dims = [1] x [1], contracting_dims = [2, 3] x [2, 0]", "3x20"),
        ((2, 4), (3, 2, 4, 5), "batching_dims = [0] x [1], contracting_dims = [1] x [2]", "2x3x5"),
    ],
)
def test_products(lhs: Any, rhs: Any, numbers: str, result: str, dtype: Any) -> None:
    # Without special values: NaN would hide the order of additions.
    a, b = (RNG.standard_normal(shape).astype(dtype) for shape in (lhs, rhs))
    a.reshape(-1)[0] = -0.0
    c = np.zeros([int(size) for size in result.split("x") if size], dtype)
    body = f"""%r = stablehlo.dot_general %a, %b, {numbers}
        : ({type_of(a)}, {type_of(b)}) -> {type_of(c)}
      %half = stablehlo.constant dense<0.5> : {type_of(c)}
      %old = stablehlo.multiply %c, %half : {type_of(c)}
      %new = stablehlo.add %r, %old : {type_of(c)}
      %na = stablehlo.negate %a : {type_of(a)}"""
    check_body(body, "%na, %b, %new", a=a, b=b, c=c)


@pytest.mark.sampled(("lhs", "rhs", "numbers"))
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    ("lhs", "rhs", "numbers", "result"),
    [
        # Of at most 512 products each is rounded before it is added: exactly so many, and one row more.
        ((8, 8), (8, 8), "contracting_dims = [1] x [0]", "8x8"),
        ((9, 8), (8, 8), "contracting_dims = [1] x [0]", "9x8"),
        ((5,), (6,), "contracting_dims = [] x []", "5x6"),
        ((25,), (25,), "contracting_dims = [] x []", "25x25"),
        ((2, 3, 4), (4, 2, 5), "batching_dims = [0] x [1], contracting_dims = [2] x [0]", "2x3x5"),
        ((17, 9), (21, 9), "contracting_dims = [1] x [1]", "17x21"),
        # Products with vectors, and sums of several blocks of 256 products of components.
        ((30, 20), (20,), "contracting_dims = [1] x [0]", "30"),
        ((600,), (600,), "contracting_dims = [0] x [0]", ""),
        ((3, 300), (300, 3), "contracting_dims = [1] x [0]", "3x3"),
        ((4, 6, 5), (4, 5, 7), "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "4x6x7"),
    ],
)
def test_products_of_complex_numbers(lhs: Any, rhs: Any, numbers: str, result: str, dtype: Any) -> None:
    a, b = (
        (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype) for shape in (lhs, rhs)
    )
    a.reshape(-1)[0] = complex(-0.0, 0.0)
    c = np.zeros([int(size) for size in result.split("x") if size], dtype)
    body = f"""%r = stablehlo.dot_general %a, %b, {numbers}
        : ({type_of(a)}, {type_of(b)}) -> {type_of(c)}
      %half = stablehlo.constant dense<(0.5, 0.25)> : {type_of(c)}
      %old = stablehlo.multiply %c, %half : {type_of(c)}
      %new = stablehlo.add %r, %old : {type_of(c)}
      %na = stablehlo.negate %a : {type_of(a)}"""
    check_body(body, "%na, %b, %new", a=a, b=b, c=c)


@pytest.mark.sampled(("lhs", "rhs", "numbers"))
@pytest.mark.parametrize(
    "types", ["bf16 bf16 bf16", "bf16 bf16 f32", "f16 f16 f16", "f16 f16 f32", "f32 bf16 f32", "f32 f32 f16"]
)
@pytest.mark.parametrize(
    ("lhs", "rhs", "numbers", "result"),
    [
        ((1, 40), (40, 37), "contracting_dims = [1] x [0]", "1x37"),
        ((50,), (45, 50), "contracting_dims = [0] x [1]", "45"),
        ((9, 5), (9, 5, 3), "batching_dims = [0] x [0], contracting_dims = [1] x [1]", "9x3"),
        # Copied, and of one product each.
        ((20, 3, 5, 4), (4, 3, 5), "batching_dims = [1] x [1], contracting_dims = [2, 3] x [2, 0]", "3x20"),
        ((5,), (6,), "contracting_dims = [] x []", "5x6"),
        ((7, 9), (9, 21), "contracting_dims = [1] x [0]", "7x21"),
        # From 4096 multiplications on those of bf16 are added in two chains: of whole and partial halves of
        # tiles, and of several blocks.
        ((7, 32), (32, 21), "contracting_dims = [1] x [0]", "7x21"),
        ((13, 45), (33, 45), "contracting_dims = [1] x [1]", "13x33"),
        ((5, 70), (70, 17), "contracting_dims = [1] x [0]", "5x17"),
        ((3, 521), (521, 18), "contracting_dims = [1] x [0]", "3x18"),
        ((2, 9, 40), (2, 40, 19), "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "2x9x19"),
    ],
)
def test_products_of_narrow_floats(lhs: Any, rhs: Any, numbers: str, result: str, types: str) -> None:
    dtypes = [nimblehlo.types.ELEMENT_TYPES[name].dtype for name in types.split()]
    a, b = RNG.standard_normal(lhs).astype(dtypes[0]), RNG.standard_normal(rhs).astype(dtypes[1])
    a.reshape(-1)[0] = -0.0
    c = np.zeros([int(size) for size in result.split("x") if size], dtypes[2])
    body = f"""%r = stablehlo.dot_general %a, %b, {numbers}
        : ({type_of(a)}, {type_of(b)}) -> {type_of(c)}
      %new = stablehlo.add %r, %c : {type_of(c)}
      %na = stablehlo.negate %a : {type_of(a)}"""
    carried = {name: (f"{name}0", type_of(array)) for name, array in (("a", a), ("b", b), ("c", c))}
    text = counted(10, body, carried, "%na, %b, %new")
    loop = loop_to_compile_of(text)
    assert isinstance(loop, LoopToCompile) and not loop.launches
    run_every_way(text, a, b, c)


OUTER_PRODUCTS = {
    # The operands' shapes, the dimension numbers, the result's shape, and the operation on the product.
    "of vectors": ((5,), (6,), "contracting_dims = [] x []", "5x6", "add %r, %c"),
    "of columns": ((9, 1), (17, 1), "contracting_dims = [1] x [1]", "9x17", "subtract %c, %r"),
    "of stacked rows": ((3, 1, 5), (3, 1, 40), "batching_dims = [0] x [0], contracting_dims = [1] x [1]",
                        "3x5x40", "multiply %r, %c"),
    "of two stacks": ((2, 3, 4), (2, 3, 5), "batching_dims = [0, 1] x [0, 1], contracting_dims = [] x []",
                      "2x3x4x5", "add %c, %r"),
    "of an operand out of order": ((5, 3), (3, 6), "batching_dims = [1] x [0], contracting_dims = [] x []",
                                   "3x5x6", "add %r, %c"),
    "of operands of several dimensions": ((2, 3), (4, 2), "contracting_dims = [] x []", "2x3x4x2",
                                          "maximum %r, %c"),
    "of a column and a stacked row": ((6, 1), (3, 1), "contracting_dims = [1] x [1]", "6x3", "add %r, %c"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OUTER_PRODUCTS)
def test_outer_products(name: str, dtype: Any) -> None:
    """Products that contract one element are computed by the loop that uses them."""
    lhs, rhs, numbers, result, operation = OUTER_PRODUCTS[name]
    a, b, c = floats(*lhs, dtype=dtype), floats(*rhs, dtype=dtype), floats(*map(int, result.split("x")))
    c = c.astype(dtype)
    # A product that is -0 becomes +0, but one that rounds to -0 stays.
    a.reshape(-1)[:3] = -0.0, np.finfo(dtype).tiny, -np.finfo(dtype).tiny
    b.reshape(-1)[-3:] = np.finfo(dtype).tiny, -np.finfo(dtype).tiny, 0.0
    c.reshape(-1)[::2] = -0.0
    body = f"""%r = stablehlo.dot_general %a, %b, {numbers}
        : ({type_of(a)}, {type_of(b)}) -> {type_of(c)}
      %na = stablehlo.negate %a : {type_of(a)}
      %new = stablehlo.{operation} : {type_of(c)}"""
    check_body(body, "%na, %b, %new", a=a, b=b, c=c)


def test_outer_products_of_views_and_of_one_array() -> None:
    """The loop reads a reversed and a broadcast vector where they lie, and one array at several indices."""
    body = """%v = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
      %e = stablehlo.slice %a [3:4] : (tensor<8xf32>) -> tensor<1xf32>
      %w = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<1xf32>) -> tensor<8xf32>
      %r = stablehlo.dot_general %v, %a, contracting_dims = [] x []
        : (tensor<8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
      %q = stablehlo.dot_general %a, %w, contracting_dims = [] x []
        : (tensor<8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
      %d = stablehlo.subtract %r, %q : tensor<8x8xf32>
      %new = stablehlo.add %c, %d : tensor<8x8xf32>
      %sum = stablehlo.dot_general %new, %a, contracting_dims = [1] x [0]
        : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %y = stablehlo.tanh %sum : tensor<8xf32>"""
    check_body(body, "%y, %new", a=floats(8), c=floats(8, 8))


def test_an_outer_product_does_not_overwrite_its_factors() -> None:
    """The array that the loop reads as a factor, at other indices than it writes, has its own memory."""
    body = """%r = stablehlo.dot_general %c, %c, batching_dims = [0] x [0], contracting_dims = [2] x [2]
        : (tensor<3x4x1xf32>, tensor<3x4x1xf32>) -> tensor<3x4x4xf32>
      %s = stablehlo.negate %r : tensor<3x4x4xf32>
      %t = stablehlo.slice %s [0:3, 0:4, 1:2] : (tensor<3x4x4xf32>) -> tensor<3x4x1xf32>
      %x = stablehlo.dot_general %t, %e, batching_dims = [0] x [0], contracting_dims = [2] x [2]
        : (tensor<3x4x1xf32>, tensor<3x1x1xf32>) -> tensor<3x4x1xf32>
      %new = stablehlo.add %x, %t : tensor<3x4x1xf32>"""
    check_body(body, "%new, %e", c=floats(3, 4, 1), e=floats(3, 1, 1))


def test_attention_reads_large_caches_in_place() -> None:
    cache, row, scores = "tensor<2x40x8x32xf32>", "tensor<2x8x32xf32>", "tensor<2x8x40xf32>"
    body = f"""%s = stablehlo.dot_general %q, %keys, batching_dims = [0, 1] x [0, 2],
        contracting_dims = [2] x [3] : ({row}, {cache}) -> {scores}
      %r = stablehlo.dot_general %values, %s, batching_dims = [0, 2] x [0, 1],
        contracting_dims = [1] x [2] : ({cache}, {scores}) -> {row}
      %y = stablehlo.tanh %r : {row}"""
    text = counted(20, body, {"q": ("q0", row)}, "%y", more=f"%keys : {cache}, %values : {cache}")
    check(text, *[RNG.standard_normal(shape).astype("f4") for shape in ((2, 8, 32), *[(2, 40, 8, 32)] * 2)])


@pytest.mark.parametrize("numbers", ["[1] x [0]", "[1] x [1]"])
def test_products_of_more_than_a_tile_and_of_captured_matrices(numbers: str) -> None:
    body = f"""%r = stablehlo.dot_general %a, %m, contracting_dims = {numbers}
        : (tensor<15x90xf32>, tensor<90x90xf32>) -> tensor<15x90xf32>
      %y = stablehlo.tanh %r : tensor<15x90xf32>"""
    text = counted(20, body, {"a": ("a0", "tensor<15x90xf32>")}, "%y", more="%m : tensor<90x90xf32>")
    check(text, *(RNG.standard_normal(shape).astype("f4") for shape in ((15, 90), (90, 90))))


@pytest.mark.parametrize(("size", "operations"), [(64, 1), (104, 40)])
def test_products_of_many_terms_keep_their_plans(
    size: int, operations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many for a step's operations, and many however many operations there are, where threads share them."""
    type = f"tensor<{size}x{size}xf32>"
    lines = [f"%r = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}"]
    lines += [f"%v{number + 1} = stablehlo.tanh %v{number} : tensor<8xf32>" for number in range(operations)]
    carried = {"a": ("a0", type), "v0": ("v", "tensor<8xf32>")}
    text = counted(10, "\n".join(lines), carried, f"%r, %v{operations}")
    monkeypatch.setattr(threads, "chosen_threads", lambda most: most or 2)
    assert "multiplications" in str(reason_of(text))
    assert isinstance(loop_to_compile_of(text, threads=1), LoopToCompile)
    run_every_way(text, floats(size, size), floats(8))


MOVES = {
    "transpose": "%y = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<4x5x6xf32>) -> tensor<6x4x5xf32>",
    "reverse": "%y = stablehlo.reverse %x, dims = [0, 2] : tensor<4x5x6xf32>",
    "slice": "%y = stablehlo.slice %x [1:3, 0:5:2, 2:6:3] : (tensor<4x5x6xf32>) -> tensor<2x3x2xf32>",
    "reshape": "%y = stablehlo.reshape %x : (tensor<4x5x6xf32>) -> tensor<20x6xf32>",
    "pad": """%p = stablehlo.constant dense<7.0> : tensor<f32>
      %y = stablehlo.pad %x, %p, low = [2, -1, 1], high = [0, 3, -2], interior = [1, 0, 2]
        : (tensor<4x5x6xf32>, tensor<f32>) -> tensor<9x7x15xf32>""",
    "concatenate": """%s = stablehlo.slice %x [0:4, 1:3, 0:6] : (tensor<4x5x6xf32>) -> tensor<4x2x6xf32>
      %y = stablehlo.concatenate %s, %x, %s, dim = 1
        : (tensor<4x2x6xf32>, tensor<4x5x6xf32>, tensor<4x2x6xf32>) -> tensor<4x9x6xf32>""",
    "concatenate columns": """
      %s = stablehlo.slice %x [0:4, 0:5, 1:3] : (tensor<4x5x6xf32>) -> tensor<4x5x2xf32>
      %t = stablehlo.slice %x [0:4, 0:5, 0:1] : (tensor<4x5x6xf32>) -> tensor<4x5x1xf32>
      %y = stablehlo.concatenate %t, %s, %x, %t, %s, dim = 2
        : (tensor<4x5x1xf32>, tensor<4x5x2xf32>, tensor<4x5x6xf32>, tensor<4x5x1xf32>, tensor<4x5x2xf32>)
        -> tensor<4x5x12xf32>""",
    "pad columns": """
      %s = stablehlo.slice %x [0:4, 0:5, 1:3] : (tensor<4x5x6xf32>) -> tensor<4x5x2xf32>
      %p = stablehlo.constant dense<7.0> : tensor<f32>
      %y = stablehlo.pad %s, %p, low = [0, 0, 1], high = [0, 0, 2], interior = [0, 0, 1]
        : (tensor<4x5x2xf32>, tensor<f32>) -> tensor<4x5x6xf32>""",
    "broadcast": """%s = stablehlo.slice %x [0:1, 0:5, 0:1] : (tensor<4x5x6xf32>) -> tensor<1x5x1xf32>
      %y = stablehlo.broadcast_in_dim %s, dims = [2, 1, 0] : (tensor<1x5x1xf32>) -> tensor<3x5x2xf32>""",
}


@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str) -> None:
    """What was moved is carried, and the operand changes behind it."""
    result = MOVES[name].rpartition("tensor<")[2]
    kept = floats(*[int(size) for size in result.split("x")[:-1]])
    body = f"{MOVES[name]}\n      %n = stablehlo.negate %x : tensor<4x5x6xf32>"
    check_body(body, "%n, %y", x=floats(4, 5, 6), k=kept)


@pytest.mark.parametrize("name", ["add", "maximum"])
@pytest.mark.parametrize(
    ("dimensions", "shape"), [("0", "7x19"), ("1", "5x19"), ("2", "5x7"), ("0, 2", "7"), ("0, 1, 2", "")]
)
def test_reductions(name: str, dimensions: str, shape: str) -> None:
    kept = floats(*[int(size) for size in shape.split("x") if size])
    body = f"""%y = stablehlo.reduce(%x init: %v) applies stablehlo.{name} across dimensions = [{dimensions}]
        : (tensor<5x7x19xf32>, tensor<f32>) -> {type_of(kept)}
      %n = stablehlo.negate %x : tensor<5x7x19xf32>"""
    check_body(body, "%n, %v, %y", x=floats(5, 7, 19), v=np.float32(0.5).reshape(()), k=kept)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 50, 64, 250, 257, 530])
def test_reductions_of_rows(length: int, dtype: Any) -> None:
    """Rows of fewer and more elements than vectors have, of which some begin at no multiple of a vector."""
    rows, one_row = floats(3, length, dtype=dtype), RNG.standard_normal(length).astype(dtype)
    # Numbers whose sums and products are numbers, in different orders different ones.
    rows[1:] = 1 + 0.1 * RNG.standard_normal((2, length))
    kept = {f"k{k}": floats(*shape, dtype=dtype) for k, shape in enumerate([(3,), (3,), (3,), ()])}
    reduced = [("x", "add", "1"), ("x", "maximum", "1"), ("x", "multiply", "1"), ("z", "add", "0")]
    lines = [
        f"""%y{k} = stablehlo.reduce(%{name} init: %v) applies stablehlo.{by} across dimensions = [{d}]
        : ({type_of(rows if name == "x" else one_row)}, {type_of(dtype(0))}) -> {type_of(kept[f"k{k}"])}"""
        for k, (name, by, d) in enumerate(reduced)
    ]
    lines += [f"%n = stablehlo.negate %x : {type_of(rows)}", f"%m = stablehlo.negate %z : {type_of(one_row)}"]
    carried = {"x": rows, "z": one_row, "v": np.array(0.5, dtype), **kept}
    check_body("\n      ".join(lines), "%n, %m, %v, %y0, %y1, %y2, %y3", **carried)


@pytest.mark.parametrize(
    ("dimensions", "is_native"), [("0", False), ("1", True), ("2", True), ("0, 2", False)]
)
def test_reductions_row_by_row(dimensions: str, is_native: bool) -> None:
    """The levels of all rows together are more than the stack may hold."""
    shape = [size for d, size in enumerate((3, 91, 90)) if str(d) not in dimensions]
    kept = floats(*shape)
    body = f"""%y = stablehlo.reduce(%x init: %v) applies stablehlo.add across dimensions = [{dimensions}]
        : (tensor<3x91x90xf32>, tensor<f32>) -> {type_of(kept)}
      %n = stablehlo.negate %x : tensor<3x91x90xf32>"""
    # A loop of few operations would be faster as steps, whose threads share large arrays.
    many = "".join(f"\n%m{k + 1} = stablehlo.xor %m{k}, %i : tensor<i32>" for k in range(25))
    types = {
        "x": ("x0", "tensor<3x91x90xf32>"), "v": ("v0", "tensor<f32>"), "k": ("k0", type_of(kept)),
        "m0": ("m", "tensor<i32>"),
    }  # fmt: skip
    text = counted(9, body + many, types, "%n, %v, %y, %m25")
    assert ("reduces more than" in str(reason_of(text))) != is_native, reason_of(text)
    run_every_way(text, floats(3, 91, 90), np.float32(0.5), kept, np.int32(1))


def test_windows_at_indices() -> None:
    body = """%s = stablehlo.dynamic_slice %x, %j, %j, sizes = [3, 4]
        : (tensor<9x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
      %t = stablehlo.multiply %s, %s : tensor<3x4xf32>
      %y = stablehlo.dynamic_update_slice %x, %t, %i, %j
        : (tensor<9x8xf32>, tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<9x8xf32>
      %z = stablehlo.subtract %y, %x : tensor<9x8xf32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %k = stablehlo.add %j, %three : tensor<i32>"""
    check_body(body, "%z, %k", x=floats(9, 8), j=np.array(-4, np.int32))


def test_elements_are_gathered_by_vectors_that_stand_first() -> None:
    body = """%y = "stablehlo.gather"(%x, %at) <{slice_sizes = array<i64: 1, 3>, dimension_numbers =
        #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [1, 0],
        index_vector_dim = 0>}> : (tensor<9x8xf32>, tensor<2x6xi32>) -> tensor<3x6xf32>
      %w = stablehlo.add %at, %at : tensor<2x6xi32>"""
    at = RNG.integers(-3, 10, (2, 6)).astype(np.int32)
    check_body(body, "%x, %w, %y", x=floats(9, 8), at=at, k=floats(3, 6))


def test_rows_are_gathered_and_scattered() -> None:
    body = """%g = "stablehlo.gather"(%x, %at) <{slice_sizes = array<i64: 1, 8>, dimension_numbers =
        #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = 1>}> : (tensor<9x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
      %y = "stablehlo.scatter"(%x, %at, %g) <{scatter_dimension_numbers = #stablehlo.scatter<
        update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.subtract %b, %a : tensor<f32>
          stablehlo.return %c : tensor<f32>
      }) : (tensor<9x8xf32>, tensor<6x1xi32>, tensor<6x8xf32>) -> tensor<9x8xf32>
      %z = stablehlo.add %y, %x : tensor<9x8xf32>"""
    at = np.array([3, -1, 3, 9, 2**31 - 1, 0], np.int32).reshape(6, 1)
    check_body(body, "%z, %at", x=floats(9, 8), at=at)


def test_arrays_change_places() -> None:
    a, b, c = floats(30), floats(30), floats(5, 6)
    body = "%d = stablehlo.reshape %c : (tensor<5x6xf32>) -> tensor<30xf32>\n" + (
        "      %e = stablehlo.reshape %a : (tensor<30xf32>) -> tensor<5x6xf32>"
    )
    check_body(body, "%b, %d, %e", a=a, b=b, c=c)


def test_branches_hand_on_arrays() -> None:
    body = """%two = stablehlo.constant dense<2> : tensor<i32>
      %r = stablehlo.remainder %i, %two : tensor<i32>
      %y:2 = "stablehlo.case"(%r) ({
        %p = stablehlo.negate %a : tensor<30xf32>
        stablehlo.return %p, %b : tensor<30xf32>, tensor<30xf32>
      }, {
        stablehlo.return %b, %a : tensor<30xf32>, tensor<30xf32>
      }) : (tensor<i32>) -> (tensor<30xf32>, tensor<30xf32>)"""
    check_body(body, "%y#0, %y#1", a=floats(30), b=floats(30))


def test_inner_loops_leave_their_arrays_alone() -> None:
    body = """%n:2 = stablehlo.while(%j = %zero, %v = %a) : tensor<i32>, tensor<30xf32>
      cond {
        %g = stablehlo.compare LT, %j, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %g : tensor<i1>
      } do {
        %w = stablehlo.multiply %v, %b : tensor<30xf32>
        %k = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %k, %w : tensor<i32>, tensor<30xf32>
      }
      %y = stablehlo.subtract %n#1, %a : tensor<30xf32>"""
    check_body(body, "%b, %y", steps=11, a=floats(30), b=floats(30))


@pytest.mark.parametrize("size", [30, 6000])
def test_arrays_are_not_updated_while_another_name_of_theirs_is_read(size: int) -> None:
    body = f"""%r = stablehlo.reshape %a : (tensor<{size}xf32>) -> tensor<2x{size // 2}xf32>
      %s = stablehlo.slice %a [3:7] : (tensor<{size}xf32>) -> tensor<4xf32>
      %y = stablehlo.dynamic_update_slice %a, %s, %i
        : (tensor<{size}xf32>, tensor<4xf32>, tensor<i32>) -> tensor<{size}xf32>
      %t = stablehlo.reshape %r : (tensor<2x{size // 2}xf32>) -> tensor<{size}xf32>
      %z = stablehlo.add %y, %t : tensor<{size}xf32>"""
    text = counted(10, body, {"a": ("a0", f"tensor<{size}xf32>")}, "%z")
    assert ("used after its update" in str(reason_of(text))) == (size > 4096)
    run_every_way(text, floats(size))


@pytest.mark.parametrize("size", [30, 6000, 20_000])
def test_arrays_are_not_scattered_into_while_they_say_where_to(size: int) -> None:
    body = f"""%n = stablehlo.reshape %a : (tensor<{size}xi32>) -> tensor<{size}x1xi32>
      %u = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<{size}xi32>
      %y = "stablehlo.scatter"(%a, %n, %u) ({{
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %sum = stablehlo.add %p, %q : tensor<i32>
        stablehlo.return %sum : tensor<i32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : (tensor<{size}xi32>, tensor<{size}x1xi32>, tensor<{size}xi32>) -> tensor<{size}xi32>"""
    text = counted(5, body, {"a": ("a0", f"tensor<{size}xi32>")}, "%y")
    run_every_way(text, RNG.integers(-2, size + 2, size).astype("i4"))


@pytest.mark.parametrize("size", [30, 6000, 20_000])
def test_arrays_are_scattered_into_in_place(size: int) -> None:
    body = f"""%k = stablehlo.convert %i : (tensor<i32>) -> tensor<i32>
      %n = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
      %u = stablehlo.dynamic_slice %a, %i, sizes = [7] : (tensor<{size}xf32>, tensor<i32>) -> tensor<7xf32>
      %y = "stablehlo.scatter"(%a, %n, %u) ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %sum = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %sum : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
        scatter_dims_to_operand_dims = [0]>}}
        : (tensor<{size}xf32>, tensor<1xi32>, tensor<7xf32>) -> tensor<{size}xf32>"""
    check_body(body, "%y", steps=28, a=floats(size))


def test_arrays_of_many_elements_are_made_anew_and_handed_on() -> None:
    body = """%y = stablehlo.transpose %a, dims = [1, 0] : (tensor<70x70xf32>) -> tensor<70x70xf32>
      %z = stablehlo.add %y, %b : tensor<70x70xf32>
      %s = stablehlo.slice %z [0:1, 0:70] : (tensor<70x70xf32>) -> tensor<1x70xf32>
      %t = stablehlo.dynamic_update_slice %b, %s, %i, %zero
        : (tensor<70x70xf32>, tensor<1x70xf32>, tensor<i32>, tensor<i32>) -> tensor<70x70xf32>"""
    check_body(body, "%z, %t", a=floats(70, 70), b=floats(70, 70))


def test_large_arrays_are_read_and_updated_in_place() -> None:
    body = """%s = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 100]
        : (tensor<60x100xf32>, tensor<i32>, tensor<i32>) -> tensor<1x100xf32>
      %t = stablehlo.add %s, %h : tensor<1x100xf32>
      %y = stablehlo.dynamic_update_slice %x, %t, %i, %zero
        : (tensor<60x100xf32>, tensor<1x100xf32>, tensor<i32>, tensor<i32>) -> tensor<60x100xf32>"""
    check_body(body, "%y, %t", steps=60, x=floats(60, 100), h=floats(1, 100))


_WIDER_SCATTER = """"stablehlo.scatter"({array}, {at}, {update}) ({{
      ^bb0(%p: tensor<i64>, %q: tensor<i64>):
        %s = stablehlo.subtract %q, %p : tensor<i64>
        stablehlo.return %s : tensor<i64>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<{window}inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = {vector}>}}"""


@pytest.mark.parametrize("count", [1, 3])
def test_scatters_whose_body_has_a_wider_type(count: int) -> None:
    scatter = _WIDER_SCATTER.format(
        array="%1", at="%at", update="%u", window="update_window_dims = [1], ", vector=1
    )
    (got,) = run_every_way(
        f"""func.func @main(%x: tensor<3x9xi16>, %at: tensor<{count}x1xi32>, %u: tensor<{count}x9xi16>)
            -> tensor<3x9xi64> {{
          %1 = stablehlo.multiply %x, %x : tensor<3x9xi16>
          %2 = {scatter} : (tensor<3x9xi16>, tensor<{count}x1xi32>, tensor<{count}x9xi16>) -> tensor<3x9xi64>
          return %2 : tensor<3x9xi64>
        }}""",
        np.full((3, 9), 100, np.int16),
        np.array([[1], [5], [1]], np.int32)[:count],
        np.full((count, 9), -32768, np.int16),
    )
    assert got[0].tolist() == [10000] * 9
    assert got[1].tolist() == [-42768 if count == 1 else 10000] * 9


def test_scatters_in_loops_whose_body_has_a_wider_type() -> None:
    scatter = _WIDER_SCATTER.format(array="%n", at="%at", update="%u", window="", vector=0)
    text = f"""func.func @main(%x: tensor<4xi16>, %u: tensor<i16>) -> tensor<4xi16> {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xi16> cond {{
        %limit = stablehlo.constant dense<6> : tensor<i32>
        %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %go : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.add %i, %one : tensor<i32>
        %n = stablehlo.negate %a : tensor<4xi16>
        %at = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
        %w = {scatter} : (tensor<4xi16>, tensor<1xi32>, tensor<i16>) -> tensor<4xi64>
        %b = stablehlo.convert %w : (tensor<4xi64>) -> tensor<4xi16>
        stablehlo.return %next, %b : tensor<i32>, tensor<4xi16>
      }}
      return %r#1 : tensor<4xi16>
    }}"""
    x, u = np.array([1, 2, -3, 32767], np.int16), np.array(1000, np.int16)
    (got,) = run_every_way(text, x, u)
    expected = [int(value) for value in x]
    for i in range(6):
        expected = [-value for value in expected]
        if i < 4:
            expected[i] = 1000 - expected[i]
    assert got.tolist() == np.array(expected).astype(np.int16).tolist()


CHAINS = {
    "one after the other": """%y = stablehlo.multiply %x, %x : tensor<3x7xf32>
      %z = stablehlo.tanh %y : tensor<3x7xf32>
      %out = stablehlo.add %z, %x : tensor<3x7xf32>""",
    "of other element types": """%small = stablehlo.convert %x : (tensor<3x7xf32>) -> tensor<3x7xbf16>
      %is = stablehlo.compare GT, %x, %w : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xi1>
      %sum = stablehlo.add %small, %small : tensor<3x7xbf16>
      %large = stablehlo.convert %sum : (tensor<3x7xbf16>) -> tensor<3x7xf32>
      %out = stablehlo.select %is, %large, %w : tensor<3x7xi1>, tensor<3x7xf32>""",
    "used twice": """%y = stablehlo.sine %x : tensor<3x7xf32>
      %a = stablehlo.add %y, %w : tensor<3x7xf32>
      %b = stablehlo.subtract %y, %w : tensor<3x7xf32>
      %out = stablehlo.multiply %a, %b : tensor<3x7xf32>""",
    "of other shapes": """%y = stablehlo.negate %x : tensor<3x7xf32>
      %r = stablehlo.reshape %y : (tensor<3x7xf32>) -> tensor<21xf32>
      %e = stablehlo.exponential %r : tensor<21xf32>
      %s = stablehlo.reshape %e : (tensor<21xf32>) -> tensor<3x7xf32>
      %out = stablehlo.logistic %s : tensor<3x7xf32>""",
    "used in a region": """%y = stablehlo.negate %x : tensor<3x7xf32>
      %is = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %out = "stablehlo.if"(%is) ({
        "stablehlo.return"(%y) : (tensor<3x7xf32>) -> ()
      }, {
        %z = stablehlo.add %y, %w : tensor<3x7xf32>
        "stablehlo.return"(%z) : (tensor<3x7xf32>) -> ()
      }) : (tensor<i1>) -> tensor<3x7xf32>""",
    "longer than one": "%y0 = stablehlo.sine %x : tensor<3x7xf32>\n"
    + "\n".join([f"%y{k + 1} = stablehlo.add %y{k}, %w : tensor<3x7xf32>" for k in range(60)])
    + "%out = stablehlo.negate %y60 : tensor<3x7xf32>",
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name: str) -> None:
    body = CHAINS[name]
    check_body(body, "%out, %w", x=floats(3, 7), w=floats(3, 7))


@pytest.mark.parametrize(
    "nbytes",
    [9, 12, 24, 64, (2 << MAX_COPIED_VECTORS) - 1, 96, 112, MAX_COPIED_BYTES, MAX_COPIED_BYTES + 1],
)
def test_rows_of_few_bytes_are_copied_by_vectors(nbytes: int) -> None:
    size = nbytes + 10
    body = f"""
      %a = stablehlo.slice %x [0:5, {nbytes}:{size}] : (tensor<5x{size}xi8>) -> tensor<5x10xi8>
      %b = stablehlo.slice %x [0:5, 0:{nbytes}] : (tensor<5x{size}xi8>) -> tensor<5x{nbytes}xi8>
      %out = stablehlo.concatenate %a, %b, dim = 1
        : (tensor<5x10xi8>, tensor<5x{nbytes}xi8>) -> tensor<5x{size}xi8>"""
    check_body(body, "%out", x=RNG.integers(-128, 128, (5, size)).astype(np.int8))


VIEWS = {
    "of columns, in rows of few elements": """
      %b = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<36x1xf32>) -> tensor<36x3xf32>
      %y = stablehlo.multiply %b, %x : tensor<36x3xf32>
      %out = stablehlo.subtract %y, %b : tensor<36x3xf32>""",
    "of rows, read by two loops": """
      %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<3xf32>) -> tensor<36x3xf32>
      %y = stablehlo.multiply %b, %x : tensor<36x3xf32>
      %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<36x3xf32>) -> tensor<3x36xf32>
      %u = stablehlo.reshape %t : (tensor<3x36xf32>) -> tensor<36x3xf32>
      %out = stablehlo.subtract %u, %b : tensor<36x3xf32>""",
    "of one element": """
      %e = stablehlo.slice %r [1:2] : (tensor<3xf32>) -> tensor<1xf32>
      %b = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<1xf32>) -> tensor<36x3xf32>
      %out = stablehlo.multiply %b, %x : tensor<36x3xf32>""",
    "of views": """
      %b = stablehlo.broadcast_in_dim %r, dims = [2] : (tensor<3xf32>) -> tensor<4x9x3xf32>
      %v = stablehlo.reverse %b, dims = [1, 2] : tensor<4x9x3xf32>
      %d = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<36x1xf32>) -> tensor<36x3xf32>
      %e = stablehlo.reshape %d : (tensor<36x3xf32>) -> tensor<4x9x3xf32>
      %y = stablehlo.add %v, %e : tensor<4x9x3xf32>
      %z = stablehlo.reshape %y : (tensor<4x9x3xf32>) -> tensor<36x3xf32>
      %out = stablehlo.multiply %z, %x : tensor<36x3xf32>""",
    "of an array that the loop reads, too": """
      %s = stablehlo.sine %x : tensor<36x3xf32>
      %v = stablehlo.reverse %s, dims = [0] : tensor<36x3xf32>
      %out = stablehlo.add %s, %v : tensor<36x3xf32>""",
    "of an array that becomes another shape": """
      %s = stablehlo.sine %x : tensor<36x3xf32>
      %v = stablehlo.reverse %s, dims = [0, 1] : tensor<36x3xf32>
      %m = stablehlo.negate %v : tensor<36x3xf32>
      %w = stablehlo.reverse %m, dims = [1] : tensor<36x3xf32>
      %out = stablehlo.cosine %w : tensor<36x3xf32>""",
    "of an array that is updated later": """
      %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<3xf32>) -> tensor<36x3xf32>
      %u = stablehlo.slice %r [2:3] : (tensor<3xf32>) -> tensor<1xf32>
      %q = stablehlo.dynamic_update_slice %r, %u, %zero
        : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
      %y = stablehlo.multiply %b, %x : tensor<36x3xf32>
      %f = stablehlo.broadcast_in_dim %q, dims = [1] : (tensor<3xf32>) -> tensor<36x3xf32>
      %out = stablehlo.add %y, %f : tensor<36x3xf32>""",
    "in rows of many elements": """
      %b = stablehlo.broadcast_in_dim %c, dims = [1, 0] : (tensor<36x1xf32>) -> tensor<3x36xf32>
      %w = stablehlo.reshape %x : (tensor<36x3xf32>) -> tensor<3x36xf32>
      %y = stablehlo.multiply %b, %w : tensor<3x36xf32>
      %out = stablehlo.reshape %y : (tensor<3x36xf32>) -> tensor<36x3xf32>""",
}


@pytest.mark.parametrize("rows", [36, 700])
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str, rows: int) -> None:
    """700 rows of three elements are several tiles, and some rows are left."""
    body = f"{VIEWS[name]}\n      %n = stablehlo.negate %c : tensor<36x1xf32>"
    body = body.replace("36", str(rows)).replace("x9x", f"x{rows // 4}x")
    check_body(body, "%out, %n, %r", x=floats(rows, 3), c=floats(rows, 1), r=floats(3))


def test_branches_and_inner_loops_leave_arrays_where_they_were() -> None:
    body = """%two = stablehlo.constant dense<2> : tensor<i32>
      %r = stablehlo.remainder %i, %two : tensor<i32>
      %y:2 = "stablehlo.case"(%r) ({
        %p = stablehlo.reverse %a, dims = [0] : tensor<30xf32>
        %s = stablehlo.sine %p : tensor<30xf32>
        stablehlo.return %s, %b : tensor<30xf32>, tensor<30xf32>
      }, {
        %q = stablehlo.add %a, %b : tensor<30xf32>
        stablehlo.return %a, %q : tensor<30xf32>, tensor<30xf32>
      }) : (tensor<i32>) -> (tensor<30xf32>, tensor<30xf32>)
      %n:2 = stablehlo.while(%j = %zero, %v = %c) : tensor<i32>, tensor<30xf32>
      cond {
        %g = stablehlo.compare LT, %j, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %g : tensor<i1>
      } do {
        %k = stablehlo.add %j, %one : tensor<i32>
        %o = stablehlo.subtract %v, %y#0 : tensor<30xf32>
        stablehlo.return %k, %o : tensor<i32>, tensor<30xf32>
      }"""
    for handed_on in ("%y#0, %y#1, %n#1", "%y#1, %y#0, %n#1", "%n#1, %y#1, %y#0"):
        check_body(body, handed_on, a=floats(30), b=floats(30), c=floats(30))


@pytest.mark.parametrize("divisor", [2, 7, -1, 0, -(2**31)])
def test_constants_of_equal_elements(divisor: int) -> None:
    """Loops of the same operations with other constants are other loops."""
    body = f"""%d = stablehlo.constant dense<{divisor}> : tensor<3x7xi32>
      %e = stablehlo.constant dense<5> : tensor<3x7xi32>
      %q = stablehlo.divide %x, %d : tensor<3x7xi32>
      %r = stablehlo.remainder %x, %d : tensor<3x7xi32>
      %p = stablehlo.divide %w, %e : tensor<3x7xi32>
      %t = stablehlo.transpose %d, dims = [1, 0] : (tensor<3x7xi32>) -> tensor<7x3xi32>
      %s = stablehlo.reshape %t : (tensor<7x3xi32>) -> tensor<3x7xi32>
      %a = stablehlo.add %q, %s : tensor<3x7xi32>
      %b = stablehlo.add %r, %p : tensor<3x7xi32>"""
    x = RNG.integers(-100, 100, (3, 7)).astype(np.int32)
    x[0, :3] = -(2**31), 2**31 - 1, 0
    check_body(body, "%a, %b", x=x, w=x[::-1].copy())


def test_elements_of_an_array_that_is_updated_later_are_made_before() -> None:
    body = """%y = stablehlo.negate %x : tensor<40xf32>
      %u = stablehlo.slice %x [3:7] : (tensor<40xf32>) -> tensor<4xf32>
      %x2 = stablehlo.dynamic_update_slice %x, %u, %i
        : (tensor<40xf32>, tensor<4xf32>, tensor<i32>) -> tensor<40xf32>
      %z = stablehlo.add %y, %w : tensor<40xf32>"""
    check_body(body, "%x2, %z", x=floats(40), w=floats(40))


@pytest.mark.parametrize(("sizes", "is_turned"), [("1, 4, 6", False), ("2, 5, 6", True), ("1, 1, 4", False)])
def test_contiguous_windows_are_read_without_copies(sizes: str, is_turned: bool) -> None:
    """Of an array that nothing changes, and of one that the loop makes anew; one window lies in pieces."""
    window = f"tensor<{sizes.replace(', ', 'x')}xf32>"
    body = f"""%a = stablehlo.dynamic_slice %m, %i, %one, %i, sizes = [{sizes}]
        : (tensor<7x5x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> {window}
      %b = stablehlo.dynamic_slice %x, %one, %i, %one, sizes = [{sizes}]
        : (tensor<7x5x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> {window}
      %c = stablehlo.subtract %a, %b : {window}
      %y = stablehlo.dynamic_update_slice %x, %c, %i, %i, %one
        : (tensor<7x5x6xf32>, {window}, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<7x5x6xf32>
      %z = stablehlo.add %{"a" if is_turned else "b"}, %w : {window}"""
    carried = {"x": ("x0", "tensor<7x5x6xf32>"), "w": ("w0", window)}
    text = counted(9, body, carried, "%y, %z", more="%m : tensor<7x5x6xf32>")
    shape = [int(size) for size in sizes.split(", ")]
    check(text, floats(7, 5, 6), floats(*shape), floats(7, 5, 6))


def test_arrays_that_a_step_makes_take_turns() -> None:
    """One is handed on twice, one under its old name elsewhere, one in another shape."""
    body = """%p = stablehlo.add %x, %y : tensor<4x5xf32>
      %q = stablehlo.multiply %p, %y : tensor<4x5xf32>
      %r = stablehlo.reshape %q : (tensor<4x5xf32>) -> tensor<5x4xf32>
      %s = stablehlo.subtract %t, %r : tensor<5x4xf32>"""
    arrays = {"x": floats(4, 5), "y": floats(4, 5), "z": floats(4, 5), "t": floats(5, 4)}
    for steps in (9, 10, 25):
        check_body(body, "%p, %p, %x, %s", steps, **arrays)
        check_body(body, "%y, %p, %q, %r", steps, **arrays)


@pytest.mark.parametrize(
    ("shape", "side", "body"),
    [
        ((3, 16), "low", "add"),
        ((3, 5), "high", "maximum"),
        ((2, 70), "high", "subtract"),
        ((33, 2), "low", "subtract"),
        ((256,), "high", "add"),
        ((2, 523), "low", "subtract"),
    ],
)
def test_scans(shape: tuple[int, ...], side: str, body: str) -> None:
    """Cumulative windows along the longest dimension, of a body that is not associative too."""
    axis = int(np.argmax(shape))
    window = [size if d == axis else 1 for d, size in enumerate(shape)]
    pads = [[0, 0] for _ in shape]
    pads[axis][side == "high"] = shape[axis] - 1
    type = type_of(np.zeros(shape, np.float32))
    text = f"""%init = stablehlo.constant dense<0.3> : tensor<f32>
      %s = "stablehlo.reduce_window"(%x, %init) ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %r = stablehlo.{body} %p, %q : tensor<f32>
        stablehlo.return %r : tensor<f32>
      }}) {{window_dimensions = array<i64: {", ".join(map(str, window))}>,
        padding = dense<{pads}> : tensor<{len(shape)}x2xi64>}} : ({type}, tensor<f32>) -> {type}
      %y = stablehlo.tanh %s : {type}"""
    check_body(text, "%y", x=floats(*shape))


_STACKING = """%z = stablehlo.constant dense<0.5> : tensor<{size}xf32>
      %n:3 = stablehlo.while(%j = %zero, %t = {initial}, %v = %k)
          : tensor<i32>, tensor<{size}xf32>, tensor<f32>
      cond {{
        %twelve = stablehlo.constant dense<12> : tensor<i32>
        %g = stablehlo.compare LT, %j, %twelve : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %g : tensor<i1>
      }} do {{
        %e = stablehlo.dynamic_slice %a, %j, sizes = [1] : (tensor<{size}xf32>, tensor<i32>) -> tensor<1xf32>
        %f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
        %w = stablehlo.add %v, %f : tensor<f32>
        %p = stablehlo.reshape %w : (tensor<f32>) -> tensor<1xf32>
        %u = stablehlo.dynamic_update_slice %t, %p, %j
            : (tensor<{size}xf32>, tensor<1xf32>, tensor<i32>) -> tensor<{size}xf32>
        %l = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %l, %u, %w : tensor<i32>, tensor<{size}xf32>, tensor<f32>
      }}"""


@pytest.mark.parametrize("size", [30, 6000, 70_000])
@pytest.mark.parametrize("initial", ["%z", "%c", "%y", "%a"])
def test_inner_loops_stack_values_in_arrays_of_their_own(initial: str, size: int) -> None:
    """An inner loop starts with a constant, what the outer loop captures, computes, or carries and reads."""
    body = f"""%y = stablehlo.negate %a : tensor<{size}xf32>
      {_STACKING.format(initial=initial, size=size)}
      %s = stablehlo.dynamic_slice %n#1, %i, sizes = [4] : (tensor<{size}xf32>, tensor<i32>) -> tensor<4xf32>
      %b = stablehlo.dynamic_update_slice %a, %s, %i
          : (tensor<{size}xf32>, tensor<4xf32>, tensor<i32>) -> tensor<{size}xf32>"""
    carried = {"a": ("a0", f"tensor<{size}xf32>"), "k": ("k0", "tensor<f32>")}
    text = counted(11, body, carried, "%b, %n#2", more=f"%c : tensor<{size}xf32>")
    assert (reason_of(text) is None) == (size < 70_000), reason_of(text)
    run_every_way(text, RNG.standard_normal(size).astype("f4"), np.float32(1), floats(size))


@pytest.mark.parametrize("size", [30, 70_000])
def test_inner_loops_and_branches_update_arrays_of_any_size(size: int) -> None:
    body = f"""{_STACKING.format(initial="%a", size=size).replace("dynamic_slice %a", "dynamic_slice %t")}
      %two = stablehlo.constant dense<2> : tensor<i32>
      %r = stablehlo.remainder %i, %two : tensor<i32>
      %b = "stablehlo.case"(%r) ({{
        %p = stablehlo.reshape %n#2 : (tensor<f32>) -> tensor<1xf32>
        %u = stablehlo.dynamic_update_slice %n#1, %p, %i
            : (tensor<{size}xf32>, tensor<1xf32>, tensor<i32>) -> tensor<{size}xf32>
        stablehlo.return %u : tensor<{size}xf32>
      }}, {{
        stablehlo.return %n#1 : tensor<{size}xf32>
      }}) : (tensor<i32>) -> tensor<{size}xf32>"""
    check_body(body, "%b, %n#2", steps=11, a=floats(size), k=np.array(1, np.float32))


@pytest.mark.parametrize("size", [40, 5000, 70_000])
def test_scatters_by_components_of_index_vectors(size: int) -> None:
    """JAX wraps negative indices; these and others out of bounds are among them."""
    body = f"""%negative = stablehlo.compare LT, %at, %zeros : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
      %moved = stablehlo.add %at, %sizes : tensor<6xi32>
      %row = stablehlo.select %negative, %moved, %at : tensor<6xi1>, tensor<6xi32>
      %n = stablehlo.reshape %row : (tensor<6xi32>) -> tensor<6x1xi32>
      %y = "stablehlo.scatter"(%a, %n, %u) ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %sum = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %sum : tensor<f32>
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : (tensor<{size}xf32>, tensor<6x1xi32>, tensor<6xf32>) -> tensor<{size}xf32>
      %next_at = stablehlo.add %at, %threes : tensor<6xi32>"""
    before = f"""%zeros = stablehlo.constant dense<0> : tensor<6xi32>
      %threes = stablehlo.constant dense<3> : tensor<6xi32>
      %sizes = stablehlo.constant dense<{size}> : tensor<6xi32>"""
    types = {"a": ("a0", f"tensor<{size}xf32>"), "at": ("at0", "tensor<6xi32>")}
    text = counted(9, body, types, "%y, %next_at", before, more="%u : tensor<6xf32>")
    at = np.array([-9, size - 20, -size - 4, 0, 7, 7], np.int32)
    run_every_way(text, floats(size), at, floats(6))
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    assert ("component_scatter" in plan) == (size > 1 << 15) and "no native loop" not in plan


@pytest.mark.parametrize(("operations", "is_native"), [(20, False), (120, True)])
@pytest.mark.parametrize("is_inner", [False, True])
def test_loops_may_write_more_bytes_the_more_operations_they_have(
    operations: int, is_native: bool, is_inner: bool
) -> None:
    """1.3 MB are too much for a loop of 20 operations, though not for the loop around it."""
    arrays = "".join(
        f"\n%p{k} = stablehlo.reverse %a{k}, dims = [0] : tensor<16000xf32>"
        f"\n%a{k + 1} = stablehlo.add %p{k}, %a{k} : tensor<16000xf32>"
        for k in range(10)
    )
    many = "".join(f"\n%m{k + 1} = stablehlo.xor %m{k}, %i : tensor<i32>" for k in range(operations - 20))
    carried = {"a0": ("a", "tensor<16000xf32>"), "m0": ("m", "tensor<i32>")}
    handed_on = f"%a10, %m{operations - 20}"
    text = counted(20, arrays + many, carried, handed_on)
    if is_inner:
        more = "".join(f"\n%n{k + 1} = stablehlo.xor %n{k}, %i : tensor<i32>" for k in range(100))
        loop = text[text.index("%all") : text.index("return %all")].replace("%m0 = %m", "%m0 = %n100")
        outer = {"a": ("b", "tensor<16000xf32>"), "n0": ("n", "tensor<i32>")}
        text = counted(20, more + loop.replace("%i", "%j"), outer, "%all#1, %all#2")
    assert ("bytes" in str(reason_of(text))) != is_native, reason_of(text)
    run_every_way(text, floats(16000) * np.float32(1e-9), np.int32(3))


def test_stacked_results_do_not_count_as_written() -> None:
    """A scan of 10,000 steps stacks 1.2 MB, of which an iteration writes 120 bytes."""
    body = """%e = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<1x30xf32>
      %y = stablehlo.dynamic_update_slice %x, %e, %i, %zero
          : (tensor<2000x30xf32>, tensor<1x30xf32>, tensor<i32>, tensor<i32>) -> tensor<2000x30xf32>
      %z = stablehlo.dynamic_update_slice %w, %e, %i, %zero
          : (tensor<2000x30xf32>, tensor<1x30xf32>, tensor<i32>, tensor<i32>) -> tensor<2000x30xf32>
      %v = stablehlo.dynamic_update_slice %u, %e, %i, %zero
          : (tensor<2000x30xf32>, tensor<1x30xf32>, tensor<i32>, tensor<i32>) -> tensor<2000x30xf32>
      %d = stablehlo.dynamic_update_slice %c, %e, %i, %zero
          : (tensor<2000x30xf32>, tensor<1x30xf32>, tensor<i32>, tensor<i32>) -> tensor<2000x30xf32>
      %f = stablehlo.dynamic_update_slice %g, %e, %i, %zero
          : (tensor<2000x30xf32>, tensor<1x30xf32>, tensor<i32>, tensor<i32>) -> tensor<2000x30xf32>
      %t = stablehlo.add %s, %s : tensor<f32>"""
    arrays = {name: floats(2000, 30) for name in "xwucg"}
    check_body(body, "%y, %z, %v, %d, %f, %t", steps=90, **arrays, s=np.array(1e-20, np.float32))


@pytest.mark.parametrize(
    ("sizes", "tile"),
    [
        ((896, 3), (0, MAX_TILE_ELEMENTS // 3 // TILE_MULTIPLE * TILE_MULTIPLE)),
        ((128, 7, 3), (0, MAX_TILE_ELEMENTS // 21)),
        ((40, 3), (0, 40)),
        ((5, 896, 3), (1, MAX_TILE_ELEMENTS // 3 // TILE_MULTIPLE * TILE_MULTIPLE)),
        ((6, 40, 3), (0, 6)),
    ],
)
def test_a_tile_has_as_many_short_rows_as_fit(sizes: tuple[int, ...], tile: tuple[int, int]) -> None:
    assert tile_of(sizes) == tile


@pytest.mark.parametrize("shape", [(901, 3), (131, 7, 3), (3, 400, 3), (70, 15)])
def test_views_of_short_rows(shape: tuple[int, ...]) -> None:
    """Rows are broadcast along their elements, and tiles do not divide the array."""
    x, row, number = floats(*shape), floats(shape[-1]), floats(*shape[:-1])
    type = type_of(x)
    inner, *outer = reversed(range(len(shape)))
    body = f"""%r = stablehlo.broadcast_in_dim %row, dims = [{inner}] : ({type_of(row)}) -> {type}
      %n = stablehlo.broadcast_in_dim %number, dims = {outer[::-1]} : ({type_of(number)}) -> {type}
      %p = stablehlo.multiply %x, %r : {type}
      %y = stablehlo.subtract %p, %n : {type}"""
    check_body(body, "%y, %row, %number", x=x, row=row, number=number)
