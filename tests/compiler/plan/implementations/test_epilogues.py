"""Products and convolutions joined with the fusions that follow on them: when, and the same bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.plan.implementations import epilogues
from nimblehlo.kernels.matmul import matmul
from tests.program.ops.texts import tensor
from tests.support.running import same_bits

pytestmark = pytest.mark.skipif(not matmul.is_available(), reason="no fused multiply-add here")



@pytest.fixture(autouse=True)
def joins_small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epilogues, "_MIN_RESULT_BYTES", 0)


JOINED = "epilogue of stablehlo.dot_general"
ACTIVATION = """  %shifted = stablehlo.add %product, %other : {c}
  %result = stablehlo.tanh %shifted : {c}
  return %result : {c}"""

ARITHMETIC = """  %shifted = stablehlo.add %product, %other : {c}
  %scaled = stablehlo.multiply %shifted, %product : {c}
  %result = stablehlo.maximum %scaled, %other : {c}
  return %result : {c}"""


def program(
    sizes: tuple[int, int, int],
    type: str = "f32",
    transposed: tuple[bool, bool] = (False, False),
    body: str = ACTIVATION,
    result: str | None = None,
) -> str:
    rows, k, columns = sizes
    a = tensor((k, rows) if transposed[0] else (rows, k), type)
    b = tensor((columns, k) if transposed[1] else (k, columns), type)
    c = tensor((rows, columns), type)
    contracting = f"[{0 if transposed[0] else 1}] x [{1 if transposed[1] else 0}]"
    return f"""func.func @main(%lhs: {a}, %rhs: {b}, %other: {c}) -> ({(result or "{c}").format(c=c)}) {{
  %product = stablehlo.dot_general %lhs, %rhs, contracting_dims = {contracting} : ({a}, {b}) -> {c}
{body.format(c=c)}
}}
"""


def operands(
    sizes: tuple[int, int, int], type: str = "f32", transposed: tuple[bool, bool] = (False, False)
) -> list[Any]:
    rows, k, columns = sizes
    generator = np.random.default_rng(0)
    dtype = {"f32": np.float32, "f64": np.float64}[type]
    lhs, rhs, other = (
        generator.standard_normal(shape).astype(dtype) / 8
        for shape in ((rows, k), (k, columns), (rows, columns))
    )
    lhs[0, 0], lhs[-1, -1], rhs[0, -1], other[-1, 0] = np.nan, np.inf, -0.0, -np.inf
    return [
        np.ascontiguousarray(array.T) if is_transposed else array
        for array, is_transposed in ((lhs, transposed[0]), (rhs, transposed[1]), (other, False))
    ]


def assert_same_in_every_way(
    text: str,
    inputs: list[Any],
    joined: bool | None = True,
    label: str = JOINED,
    threads: tuple[int, ...] = (1, 2, 3, 8),
) -> None:
    module = nimblehlo.load(text)
    expected = nimblehlo.execute(module, inputs, options=Options(compile="never"))
    for count in threads:
        executable = nimblehlo.compile(module, options=Options(compile="eager", threads=count))
        assert joined is None or (label in executable.explain()) == joined
        kept = [array.copy() for array in inputs]
        for _ in range(3):
            results = executable(*inputs)
            assert all(map(same_bits, results, expected))
        assert all(map(same_bits, inputs, kept))


@pytest.mark.sampled(("sizes", "type"))
@pytest.mark.parametrize("sizes", [(32, 128, 128), (33, 300, 65), (7, 515, 300), (600, 70, 515), (9, 9, 9)])
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("transposed", [*itertools.product((False, True), repeat=2)])
def test_the_same_bits_in_every_way(
    sizes: tuple[int, int, int], type: str, transposed: tuple[bool, bool]
) -> None:
    body = ACTIVATION if type == "f32" else ARITHMETIC
    text, is_joined = program(sizes, type, transposed, body), sizes != (9, 9, 9) and body is ARITHMETIC
    assert_same_in_every_way(text, operands(sizes, type, transposed), is_joined)


@pytest.mark.sampled(("sizes", "transposed"))
@pytest.mark.parametrize(
    "sizes", [(600, 40, 1100), (257, 256, 513), (1500, 23, 70), (513, 16, 64), (512, 300, 64), (1100, 1, 300)]
)
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True)])
def test_large_products(
    sizes: tuple[int, int, int], type: str, transposed: tuple[bool, bool]
) -> None:
    assert_same_in_every_way(program(sizes, type, transposed, ARITHMETIC), operands(sizes, type, transposed))
    text = program(sizes, type, transposed, ACTIVATION)
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    assert JOINED not in plan


@pytest.mark.parametrize("rows", [655, 656])
def test_small_results_stay_two_steps(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epilogues, "_MIN_RESULT_BYTES", 1 << 18)
    sizes = rows, 30, 100
    is_joined = 4 * 100 * rows >= 1 << 18
    assert_same_in_every_way(program(sizes, body=ARITHMETIC), operands(sizes), is_joined, threads=(1, 2))


def test_a_matrix_by_its_own_transpose_stays_a_step() -> None:
    text = """func.func @main(%x: tensor<600x40xf32>, %y: tensor<600x600xf32>) -> tensor<600x600xf32> {
      %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
        : (tensor<600x40xf32>, tensor<600x40xf32>) -> tensor<600x600xf32>
      %1 = stablehlo.add %0, %y : tensor<600x600xf32>
      return %1 : tensor<600x600xf32>
    }"""
    x = np.random.default_rng(0).standard_normal((600, 40)).astype(np.float32)
    assert_same_in_every_way(text, [x, np.ones((600, 600), np.float32)], joined=False)


def test_both_are_joined_where_native_code_is_used_later() -> None:
    sizes = (520, 80, 60)
    text, inputs = program(sizes, body=ARITHMETIC), operands(sizes)
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    executable = nimblehlo.compile(text)
    assert JOINED in executable.explain()
    for _ in range(1000):
        assert same_bits(executable(*inputs)[0], expected[0])


def test_an_operand_of_the_product_may_be_one_of_the_fusion() -> None:
    body = """  %sum = stablehlo.add %product, %lhs : {c}
  %result = stablehlo.multiply %sum, %lhs : {c}
  return %result : {c}"""
    assert_same_in_every_way(program((600, 90, 90), body=body), operands((600, 90, 90)))


def test_a_product_that_is_used_elsewhere_stays_a_step() -> None:
    body = ARITHMETIC.replace("return %result : {c}", "return %result, %product : {c}, {c}")
    text = program((600, 64, 64), body=body, result="{c}, {c}")
    assert_same_in_every_way(text, operands((600, 64, 64)), joined=False)


def test_a_product_that_is_read_at_other_places_stays_a_step() -> None:
    body = """  %transposed = stablehlo.transpose %product, dims = [1, 0] : ({c}) -> {c}
  %shifted = stablehlo.add %transposed, %other : {c}
  %result = stablehlo.negate %shifted : {c}
  return %result : {c}"""
    assert_same_in_every_way(program((400, 64, 400), body=body), operands((400, 64, 400)), joined=False)


@pytest.mark.parametrize("sizes", [(4, 16, 16), (1, 300, 900), (300, 900, 1), (63, 63, 63)])
def test_other_sizes_stay_two_steps(sizes: tuple[int, int, int]) -> None:
    assert_same_in_every_way(program(sizes, body=ARITHMETIC), operands(sizes), joined=False)


@pytest.mark.parametrize("rows", [176, 600])
def test_a_loop_over_time(rows: int) -> None:
    text = f"""func.func @main(
  %h: tensor<{rows}x96xf32>, %w: tensor<96x96xf32>, %xs: tensor<20x{rows}x96xf32>)
  -> tensor<{rows}x96xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %h) : tensor<i32>, tensor<{rows}x96xf32>
    cond {{
      %n = stablehlo.constant dense<20> : tensor<i32>
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %x = stablehlo.dynamic_slice %xs, %i, %zero, %zero, sizes = [1, {rows}, 96]
        : (tensor<20x{rows}x96xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{rows}x96xf32>
      %y = stablehlo.reshape %x : (tensor<1x{rows}x96xf32>) -> tensor<{rows}x96xf32>
      %p = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0]
        : (tensor<{rows}x96xf32>, tensor<96x96xf32>) -> tensor<{rows}x96xf32>
      %q = stablehlo.add %p, %y : tensor<{rows}x96xf32>
      %t = stablehlo.maximum %q, %y : tensor<{rows}x96xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t : tensor<i32>, tensor<{rows}x96xf32>
    }}
  return %r#1 : tensor<{rows}x96xf32>
}}
"""
    generator = np.random.default_rng(1)
    shapes = ((rows, 96), (96, 96), (20, rows, 96))
    inputs = [generator.standard_normal(shape, np.float32) / 9 for shape in shapes]
    # Some numbers of threads run a loop over few rows as native code.
    assert_same_in_every_way(text, inputs, joined=True if rows == 600 else None)


def test_a_product_along_no_dimension_is_not_joined() -> None:
    text = """
    func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
      %0 = stablehlo.dot_general %x, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x []
        : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      %1 = stablehlo.negate %0 : tensor<256x256xf32>
      return %1 : tensor<256x256xf32>
    }"""
    x = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert same_bits(executable(x, x.T.copy())[0], -(x * x.T))
    assert JOINED not in executable.explain("plan")


def test_constant_right_matrices_are_packed_once() -> None:
    text, (lhs, rhs, other) = program((300, 140, 70), body=ARITHMETIC), operands((300, 140, 70))
    expected = nimblehlo.compile(text, options=Options(compile="never"))
    constant = f'dense<"0x{rhs.tobytes().hex().upper()}"> : tensor<140x70xf32>'
    text = text.replace(" %rhs: tensor<140x70xf32>,", "")
    text = text.replace("  %product", f"  %rhs = stablehlo.constant {constant}\n  %product", 1)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert JOINED in executable.explain()
    for number in range(3):
        lhs[0, number] = number
        assert all(map(same_bits, executable(lhs, other), expected(lhs, rhs, other)))


@pytest.mark.parametrize("lhs", [(2, 37, 29, 33), (1, 1200, 1, 33)])
def test_products_of_several_dimensions(lhs: tuple[int, ...]) -> None:
    x, w, r = tensor(lhs, "f32"), tensor((33, 70), "f32"), tensor((*lhs[:-1], 70), "f32")
    dimension = len(lhs) - 1
    text = f"""func.func @main(%x: {x}, %w: {w}, %shift: tensor<70xf32>) -> {r} {{
  %product = stablehlo.dot_general %x, %w, contracting_dims = [{dimension}] x [0] : ({x}, {w}) -> {r}
  %shifts = stablehlo.broadcast_in_dim %shift, dims = [{dimension}] : (tensor<70xf32>) -> {r}
  %shifted = stablehlo.add %product, %shifts : {r}
  %result = stablehlo.maximum %shifted, %shifts : {r}
  return %result : {r}
}}"""
    draw = np.random.default_rng(3)
    assert_same_in_every_way(text, [draw.standard_normal(one, np.float32) for one in (lhs, (33, 70), (70,))])


def test_rows_that_are_not_affine_stay_two_steps() -> None:
    """An operand that varies along the first dimension alone has several distances from row to row."""
    x, w, r = "tensor<3x50x40xf32>", "tensor<40x70xf32>", "tensor<3x50x70xf32>"
    text = f"""func.func @main(%x: {x}, %w: {w}, %shift: tensor<3x70xf32>) -> {r} {{
  %product = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : ({x}, {w}) -> {r}
  %shifts = stablehlo.broadcast_in_dim %shift, dims = [0, 2] : (tensor<3x70xf32>) -> {r}
  %result = stablehlo.add %product, %shifts : {r}
  return %result : {r}
}}"""
    draw = np.random.default_rng(3)
    inputs = [draw.standard_normal(one, np.float32) for one in ((3, 50, 40), (40, 70), (3, 70))]
    assert_same_in_every_way(text, inputs, joined=False)


CONVOLVED = "epilogue of stablehlo.convolution"


def convolution(
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    stride: int = 1,
    padding: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    groups: int = 1,
    type: str = "f32",
) -> tuple[str, list[Any]]:
    """A convolution of NHWC by HWIO, scaled, shifted, added to a residual and rectified; and its operands.

    `dilations`: of lhs and of rhs.
    """
    low, high = padding
    sizes = [
        ((size - 1) * dilations[0] + low + high - (window - 1) * dilations[1]) // stride + 1
        for size, window in zip(lhs[1:3], rhs[:2], strict=True)
    ]
    shape = (lhs[0], *sizes, rhs[-1])
    x, w, vector, r = (tensor(one, type) for one in (lhs, rhs, rhs[-1:], shape))
    text = f"""func.func @main(%x: {x}, %w: {w}, %scale: {vector}, %shift: {vector}, %other: {r}) -> {r} {{
  %image = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [{stride}, {stride}], pad = [[{low}, {high}], [{low}, {high}]],
      lhs_dilate = [{dilations[0]}, {dilations[0]}], rhs_dilate = [{dilations[1]}, {dilations[1]}]}}
    {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : ({x}, {w}) -> {r}
  %zero = stablehlo.constant dense<0.0> : {r}
  %factors = stablehlo.broadcast_in_dim %scale, dims = [3] : ({vector}) -> {r}
  %shifts = stablehlo.broadcast_in_dim %shift, dims = [3] : ({vector}) -> {r}
  %scaled = stablehlo.multiply %image, %factors : {r}
  %shifted = stablehlo.add %scaled, %shifts : {r}
  %sum = stablehlo.add %shifted, %other : {r}
  %result = stablehlo.maximum %sum, %zero : {r}
  return %result : {r}
}}
"""
    dtype = {"f32": np.float32, "f64": np.float64}[type]
    draw = np.random.default_rng(2)
    inputs = [draw.standard_normal(one).astype(dtype) for one in (lhs, rhs, rhs[-1:], rhs[-1:], shape)]
    inputs[2][0] = inputs[3][0] = -0.0
    return text, inputs


@pytest.mark.parametrize(
    ("lhs", "rhs", "options"),
    [
        ((1, 30, 27, 170), (1, 1, 170, 48), {"padding": (0, 0)}),
        ((2, 31, 29, 3), (3, 3, 3, 50), {"stride": 2}),
        ((3, 15, 13, 20), (2, 2, 20, 70), {"padding": (0, 1)}),
        ((1, 13, 11, 9), (3, 3, 9, 80), {"type": "f64"}),
        ((2, 15, 13, 20), (3, 3, 20, 70), {}),
        ((1, 20, 20, 30), (3, 3, 30, 9), {"dilations": (1, 2)}),
        ((1, 11, 12, 30), (3, 3, 30, 20), {"dilations": (2, 1)}),
        ((1, 15, 14, 24), (3, 3, 8, 33), {"groups": 3}),
        ((2, 17, 19, 40), (3, 3, 1, 40), {"groups": 40}),
        ((2, 23, 27, 40), (3, 3, 1, 40), {"groups": 40, "stride": 2}),
        ((1, 30, 11, 17), (3, 3, 1, 17), {"groups": 17, "type": "f64"}),
        ((1, 12, 13, 21), (2, 2, 1, 21), {"groups": 21, "dilations": (2, 1)}),
        ((1, 13, 14, 20), (5, 5, 1, 20), {"groups": 20, "padding": (2, 2)}),
        ((1, 2, 1300, 18), (2, 2, 1, 18), {"groups": 18}),
    ],
)
def test_convolutions(lhs: tuple[int, ...], rhs: tuple[int, ...], options: dict[str, Any]) -> None:
    text, inputs = convolution(lhs, rhs, **options)
    assert_same_in_every_way(text, inputs, True, CONVOLVED, (1, 3))
    # Winograd's algorithm computes results again that are not finite.
    inputs[0][0, 0, 0, 0], inputs[0][-1, -1, -1, -1], inputs[4][0, 0, 0, 0] = np.nan, np.inf, -np.inf
    assert_same_in_every_way(text, inputs, True, CONVOLVED, (1, 2))
    inputs[1][0, 0, 0, 0] = np.inf
    assert_same_in_every_way(text, inputs, True, CONVOLVED, (2,))


@pytest.mark.parametrize("groups", [1, 40])
def test_convolutions_of_operands_in_other_layouts(groups: int) -> None:
    text, inputs = convolution((2, 15, 13, 40), (3, 3, 40 // groups, 40), 2, groups=groups)
    expected = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    inputs[0] = np.ascontiguousarray(inputs[0].transpose(3, 0, 1, 2)).transpose(1, 2, 3, 0)
    inputs[1], inputs[4] = np.asfortranarray(inputs[1]), np.asfortranarray(inputs[4])
    assert all(map(same_bits, executable(*inputs), expected))


def test_convolutions_by_constants_are_packed_once() -> None:
    text, inputs = convolution((1, 15, 13, 70), (2, 2, 70, 48))
    expected = nimblehlo.compile(text, options=Options(compile="never"))
    filters = f'dense<"0x{inputs[1].tobytes().hex().upper()}"> : tensor<2x2x70x48xf32>'
    text = text.replace(" %w: tensor<2x2x70x48xf32>,", "")
    text = text.replace("  %image", f"  %w = stablehlo.constant {filters}\n  %image", 1)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert CONVOLVED in executable.explain()
    for number in range(3):
        inputs[0][0, number, 0, 0] = number
        assert all(map(same_bits, executable(inputs[0], *inputs[2:]), expected(*inputs)))


def test_results_with_features_first_stay_two_steps() -> None:
    text, inputs = convolution((1, 12, 12, 20), (3, 3, 20, 12))
    inputs[4] = inputs[4].reshape(1, 12, 12, 12)
    text = text.replace("->[b, 0, 1, f]", "->[b, f, 0, 1]")
    assert_same_in_every_way(text, inputs, False, CONVOLVED, (1, 2))
