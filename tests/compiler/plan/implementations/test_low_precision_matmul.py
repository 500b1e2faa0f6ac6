"""Products of narrow numbers in programs: the same bits in every way, with instructions for them or not."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options, api
from nimblehlo.compiler.lru_cache import LRUCache
from nimblehlo.kernels.matmul import low_precision_matmul
from nimblehlo.kernels.matmul.low_precision_matmul import AMX, AVX512_BF16, AVX512_BF16_AS_F32
from nimblehlo.program.ops.contraction import low_precision_matmul as operation_matmul
from nimblehlo.program.ops.contraction.low_precision_matmul import NarrowOrder
from nimblehlo.types import ELEMENT_TYPES
from tests.processors.levels import available_levels, environment
from tests.program.ops.texts import tensor
from tests.support.running import run_every_way, same_bits

BATCHED = "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
PERMUTED = "batching_dims = [2, 0] x [1, 2], contracting_dims = [3] x [0]"

needs_amx = pytest.mark.skipif(
    AMX not in low_precision_matmul.available(), reason="this processor has no matrix unit"
)
needs_way = pytest.mark.skipif(
    not low_precision_matmul.implementations("bfloat16", "bfloat16", "float32"),
    reason="this processor has no quick instructions for products of bf16",
)


def dot(
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    result: tuple[int, ...],
    types: tuple[str, str, str],
    numbers: str = "contracting_dims = [1] x [0]",
) -> str:
    a, b, c = (tensor(shape, type) for shape, type in zip((lhs, rhs, result), types, strict=True))
    return f"""func.func @main(%lhs: {a}, %rhs: {b}) -> {c} {{
  %result = stablehlo.dot_general %lhs, %rhs, {numbers} : ({a}, {b}) -> {c}
  return %result : {c}
}}
"""


def convolution(types: tuple[str, str, str], groups: int = 1, batch: int = 2) -> str:
    shapes = ((batch, 9, 10, 16), (3, 2, 16 // groups, 280), (batch, 5, 10, 280))
    a, b, c = (tensor(shape, type) for shape, type in zip(shapes, types, strict=True))
    return f"""func.func @main(%lhs: {a}, %rhs: {b}) -> {c} {{
  %result = stablehlo.convolution(%lhs, %rhs)
    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2]}}
    {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : ({a}, {b}) -> {c}
  return %result : {c}
}}
"""


def drawn(seed: int, shape: tuple[int, ...], name: str) -> Any:
    generator = np.random.default_rng(seed)
    dtype = ELEMENT_TYPES[name].dtype
    if name[0] in "iu":
        width = ELEMENT_TYPES[name].width
        low = 0 if name[0] == "u" else -(1 << (width - 1))
        return generator.integers(low, low + (1 << width), shape).astype(dtype)
    return generator.standard_normal(shape, np.float32).astype(dtype)


def reason(text: str) -> str:
    return nimblehlo.compile(text).explain()


def implementation_of(text: str) -> str | None:
    """The way that serves a program, None if it is none of these."""
    explanation = reason(text)
    return next((way for way in (AMX, AVX512_BF16) if way in explanation), None)


def simulate(monkeypatch: pytest.MonkeyPatch, *ways: str) -> None:
    """A processor quick by these ways to multiply bf16, and nothing kept of what another one prepared."""
    pairs = (AVX512_BF16_AS_F32,) if AVX512_BF16 in ways else ()
    monkeypatch.setattr(low_precision_matmul, "available", lambda: (*ways, *pairs))
    monkeypatch.setattr(low_precision_matmul, "is_fast", lambda way: True)
    monkeypatch.setattr(operation_matmul, "_prepare_cached", operation_matmul._prepare)
    monkeypatch.setattr(api, "_executed", LRUCache(1))


@pytest.fixture(params=[AMX, AVX512_BF16, None])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Each way to multiply bf16, or none: processors with less are simulated."""
    way: str | None = request.param
    if way is not None and way not in low_precision_matmul.available():
        pytest.skip(f"this processor has not {way}")
    simulate(monkeypatch, *[] if way is None else [way])
    return way


INTEGERS = [
    ("i8", "i8", "i32"),
    ("ui8", "ui8", "i32"),
    ("i8", "ui8", "i32"),
    ("ui8", "i4", "ui32"),
    ("i4", "i2", "i8"),
    ("i8", "i8", "i64"),
    ("i8", "i8", "i4"),
]


@pytest.mark.parametrize("types", INTEGERS)
def test_integers_are_exact(types: tuple[str, str, str], way: str | None) -> None:
    text = dot((70, 130), (130, 40), (70, 40), types)
    lhs, rhs = drawn(0, (70, 130), types[0]), drawn(1, (130, 40), types[1])
    (got,) = run_every_way(text, lhs, rhs)
    exact = np.matmul(lhs.astype(np.int64), rhs.astype(np.int64))
    width = ELEMENT_TYPES[types[2]].width
    assert not ((got.astype(np.int64) - exact) << np.int64(64 - width)).any()
    assert implementation_of(text) == (way if way == AMX else None)


@pytest.mark.parametrize(
    "types",
    [
        ("bf16", "bf16", "bf16"),
        ("bf16", "bf16", "f32"),
        ("bf16", "bf16", "f16"),
        ("f8E4M3FN", "f8E5M2", "f32"),
        ("f4E2M1FN", "bf16", "bf16"),
        ("f8E8M0FNU", "f8E3M4", "bf16"),
    ],
)
def test_narrow_floats(types: tuple[str, str, str], way: str | None) -> None:
    text = dot((40, 600), (600, 50), (40, 50), types)
    lhs, rhs = drawn(0, (40, 600), types[0]), drawn(1, (600, 50), types[1])
    if types[0] == "f8E8M0FNU":
        lhs = np.exp2(drawn(2, (40, 600), "i2")).astype(lhs.dtype)
    (got,) = run_every_way(text, lhs, rhs)
    exact = np.matmul(lhs.astype(np.float64), rhs.astype(np.float64))
    bound = np.abs(exact).max() * max(float(2.0**-20), {"bf16": 2.0**-8, "f16": 2.0**-10}.get(types[2], 0.0))
    assert np.abs(got.astype(np.float64) - exact).max() <= bound
    assert implementation_of(text) == way


@needs_way
@pytest.mark.parametrize("number", [1e-39, 2.0**-126, 1e-25, -1e-30])
def test_small_numbers_are_kept_in_every_way(number: float) -> None:
    text = dot((2, 20, 64), (2, 64, 20), (2, 20, 20), ("bf16", "bf16", "f32"), BATCHED)
    lhs, rhs = drawn(0, (2, 20, 64), "bf16"), drawn(1, (2, 64, 20), "bf16")
    lhs[1, 3], lhs[1, 3, 7], rhs[1, 7, 5] = 0, number, -(2.0**-110)
    (got,) = run_every_way(text, lhs, rhs)
    expected = np.float32(np.float64(lhs[1, 3, 7]) * 2.0**-110 * -1)
    assert got[1, 3, 5] == expected
    assert got[1, 3, 6] == np.float32(np.float64(lhs[1, 3, 7]) * np.float64(rhs[1, 7, 6])) != 0


@needs_way
def test_not_finite_numbers_in_every_way() -> None:
    lhs, rhs = drawn(0, (40, 64), "bf16"), drawn(1, (64, 40), "bf16")
    lhs[3, 4], lhs[5, 6], rhs[7, 8], lhs[9, 7] = np.nan, np.inf, -np.inf, 0.0
    (got,) = run_every_way(dot((40, 64), (64, 40), (40, 40), ("bf16", "bf16", "bf16")), lhs, rhs)
    assert np.isnan(got[3].astype(np.float32)).all() and np.isnan(got[9, 8].astype(np.float32))
    assert np.isinf(got[5, :8].astype(np.float32)).all()


@pytest.mark.parametrize(
    ("lhs", "rhs", "result", "numbers"),
    [
        ((3, 40, 50), (3, 50, 17), (3, 40, 17), BATCHED),
        ((50, 40), (60, 50), (40, 60), "contracting_dims = [0] x [1]"),
        ((4, 5, 6, 7), (7, 5, 3, 9), (4, 6, 3, 9), "contracting_dims = [1, 3] x [1, 0]"),
        ((6, 3, 2, 40), (40, 2, 6, 33), (2, 6, 3, 33), PERMUTED),
        ((1, 300), (300, 40), (1, 40), "contracting_dims = [1] x [0]"),
        ((300, 40), (300,), (40,), "contracting_dims = [0] x [0]"),
        ((30, 0), (0, 40), (30, 40), "contracting_dims = [1] x [0]"),
        ((0, 40, 50), (0, 50, 60), (0, 40, 60), BATCHED),
    ],
)
@pytest.mark.parametrize("types", [("bf16", "bf16", "bf16"), ("i8", "i8", "i32")])
def test_dimension_numbers(
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    result: tuple[int, ...],
    numbers: str,
    types: tuple[str, str, str],
) -> None:
    a, b = drawn(2, lhs, types[0]), drawn(3, rhs, types[1])
    (got,) = run_every_way(dot(lhs, rhs, result, types, numbers), a, b)
    letters, batch, contracting = "abcdefgh", [], []
    for part, pairs in (("batching_dims", batch), ("contracting_dims", contracting)):
        if part in numbers:
            left, right = numbers.split(f"{part} = ")[1].split("]", 2)[:2]
            pairs += zip(
                map(int, left.strip("[ ").split(", ")), map(int, right.split("[")[1].split(", ")), strict=True
            )
    names = {i: letters[number] for number, (i, _) in enumerate(batch + contracting)}
    others = {j: letters[number] for number, (_, j) in enumerate(batch + contracting)}
    left_names = [names.get(i, f"{'ijkl'[i]}") for i in range(len(lhs))]
    right_names = [others.get(j, f"{'mnop'[j]}") for j in range(len(rhs))]
    out = [names[i] for i, _ in batch]
    out += [name for name in left_names + right_names if name in "ijklmnop"]
    equation = f"{''.join(left_names)},{''.join(right_names)}->{''.join(out)}"
    wide = np.float64 if types[0] == "bf16" else np.int64
    expected = np.einsum(equation, a.astype(wide), b.astype(wide))
    if types[0] == "bf16":
        np.testing.assert_allclose(got.astype(wide), expected, rtol=2.0**-8, atol=2.0**-8 * 30)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("types", [("bf16", "bf16", "bf16"), ("i8", "i8", "i32"), ("ui8", "i4", "i32")])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(types: tuple[str, str, str], groups: int, way: str | None) -> None:
    text = convolution(types, groups)
    lhs, rhs = drawn(4, (2, 9, 10, 16), types[0]), drawn(5, (3, 2, 16 // groups, 280), types[1])
    (got,) = run_every_way(text, lhs, rhs)
    wide = "f32" if types[0] == "bf16" else "i32"
    wide_dtype = ELEMENT_TYPES[wide].dtype
    (expected,) = nimblehlo.execute(
        convolution((wide,) * 3, groups), [lhs.astype(wide_dtype), rhs.astype(wide_dtype)]
    )
    if types[0] == "bf16":
        np.testing.assert_allclose(got.astype(np.float32), expected, rtol=2.0**-7, atol=1e-4)
    else:
        np.testing.assert_array_equal(got, expected)
    assert implementation_of(text) == (way if (types[0] == "bf16") == (way == AVX512_BF16) else None)


def test_small_convolutions_are_left_to_loops(way: str | None) -> None:
    types = ("bf16", "bf16", "bf16")
    pairs = way if way == AVX512_BF16 else None
    for batch, groups, expected in ((1, 1, pairs), (2, 2, pairs), (1, 2, None)):
        assert implementation_of(convolution(types, groups, batch)) == expected


@pytest.mark.parametrize("types", [("bf16", "bf16", "f32"), ("i8", "i8", "i32")])
def test_any_number_of_threads_gives_the_same_bits(types: tuple[str, str, str]) -> None:
    text = dot((300, 1000), (1000, 280), (300, 280), types)
    operands = [drawn(6, (300, 1000), types[0]), drawn(7, (1000, 280), types[1])]
    one, *others = [
        nimblehlo.execute(text, operands, options=Options(compile=way, threads=threads))[0]
        for way, threads in (("never", None), ("eager", 1), ("eager", 2), ("auto", 3), ("eager", 8))
    ]
    assert all(same_bits(one, other) for other in others)


def test_more_precision_is_left_to_products_of_f32(way: str | None) -> None:
    operands = [drawn(8, (40, 50), "bf16"), drawn(9, (50, 60), "bf16")]
    for precision in ("[HIGHEST, HIGHEST]", "[DEFAULT, HIGH]"):
        numbers = f"contracting_dims = [1] x [0], precision = {precision}"
        text = dot((40, 50), (50, 60), (40, 60), ("bf16", "bf16", "f32"), numbers)
        run_every_way(text, *operands)
        assert implementation_of(text) == (way if way == AVX512_BF16 else None)


@pytest.mark.parametrize("shape", [(40, 600, 50), (2, 50, 60), (300, 700, 1), (1, 70, 80)])
@pytest.mark.parametrize("number", [1.0, 1e-39, 2.0**-126])
def test_instructions_change_no_bits(
    shape: tuple[int, int, int], number: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, terms, columns = shape
    text = dot((rows, terms), (terms, columns), (rows, columns), ("bf16", "bf16", "f32"))
    operands = [drawn(10, (rows, terms), "bf16"), drawn(11, (terms, columns), "bf16")]
    operands[0][0, :2] = number
    kept = f"""func.func @main(%lhs: {tensor((rows, terms), "bf16")}) -> {tensor((rows, columns), "f32")} {{
  %rhs = stablehlo.constant dense<"0x{operands[1].tobytes().hex()}"> : {tensor((terms, columns), "bf16")}
  {text.split("{", 1)[1]}"""
    ways = [[way] for way in (AMX, AVX512_BF16) if way in low_precision_matmul.available()]
    results = []
    for one in ([], *ways):
        with monkeypatch.context() as patch:
            simulate(patch, *one)
            results += run_every_way(text, *operands)
            results += run_every_way(kept, operands[0])
    assert all(same_bits(results[0], other) for other in results[1:])


@pytest.mark.parametrize("level", available_levels())
def test_levels_have_the_same_bits(level: str) -> None:
    module = __name__
    command = [sys.executable, "-c", f"from {module} import digest; print(digest())"]
    done = subprocess.run(command, env=environment(level), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest()


def digest() -> str:
    """The hash of some products: with and without subnormal numbers, batched, with few rows, and of f8."""
    results = hashlib.sha256()
    for lhs, rhs, types, numbers, scale in (
        ((40, 600), (600, 50), ("bf16", "bf16", "f32"), "contracting_dims = [1] x [0]", 1.0),
        ((40, 100), (100, 50), ("bf16", "bf16", "bf16"), "contracting_dims = [1] x [0]", 2.0**-120),
        ((3, 9, 70), (3, 70, 33), ("bf16", "bf16", "f32"), BATCHED, 1.0),
        ((2, 300), (300, 40), ("f8E4M3FN", "bf16", "f32"), "contracting_dims = [1] x [0]", 1.0),
        ((1, 300), (300, 40), ("bf16", "bf16", "f32"), "contracting_dims = [1] x [0]", 1.0),
    ):
        shape = (*lhs[:-1], rhs[-1])
        left, right = drawn(15, lhs, types[0]), drawn(16, rhs, types[1])
        left = (left.astype(np.float32) * np.float32(scale)).astype(left.dtype)
        (got,) = nimblehlo.execute(dot(lhs, rhs, shape, types, numbers), [left, right])
        results.update(got.tobytes())
    return results.hexdigest()


def test_the_order_depends_on_sizes_types_and_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of 2^12 multiplications and more have another order than those of f32, but by a vector."""
    simulate(monkeypatch)
    for shape, precision, is_other in (
        ((8, 64, 8), "DEFAULT", True),
        ((7, 64, 9), "DEFAULT", False),
        ((8, 64, 8), "HIGHEST", False),
        ((8, 64, 8), "HIGH", False),
        ((1, 64, 64), "DEFAULT", False),
        ((64, 64, 1), "DEFAULT", False),
        ((32, 16, 32), "DEFAULT", False),
        ((32, 18, 32), "DEFAULT", True),
    ):
        rows, terms, columns = shape
        numbers = f"contracting_dims = [1] x [0], precision = [{precision}, {precision}]"
        sizes = (rows, terms), (terms, columns), (rows, columns)
        left, right = drawn(17, sizes[0], "bf16"), drawn(18, sizes[1], "bf16")
        (got,) = run_every_way(dot(*sizes, ("bf16", "bf16", "f32"), numbers), left, right)
        wide = left.astype(np.float32), right.astype(np.float32)
        (expected,) = run_every_way(dot(*sizes, ("f32", "f32", "f32"), numbers), *wide)
        assert same_bits(got, expected) != is_other


@pytest.mark.parametrize(
    ("lhs", "rhs", "result", "numbers"),
    [
        ((1, 700), (700, 300), (1, 300), "contracting_dims = [1] x [0]"),
        ((300, 700), (700, 1), (300, 1), "contracting_dims = [1] x [0]"),
        ((700,), (300, 700), (300,), "contracting_dims = [0] x [1]"),
        ((700, 300), (700,), (300,), "contracting_dims = [0] x [0]"),
        ((3, 1, 70), (3, 70, 40), (3, 1, 40), BATCHED),
        ((3, 1, 4), (3, 4, 2), (3, 1, 2), BATCHED),
    ],
)
@pytest.mark.parametrize("other", ["bf16", "f32", "f16"])
def test_vectors_have_the_bits_of_products_of_f32(
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    result: tuple[int, ...],
    numbers: str,
    other: str,
) -> None:
    for types in (("bf16", other, "f32"), (other, "bf16", "bf16")):
        operands = [drawn(12, lhs, types[0]), drawn(13, rhs, types[1])]
        (got,) = run_every_way(dot(lhs, rhs, result, types, numbers), *operands)
        wide = [operand.astype(np.float32) for operand in operands]
        (expected,) = run_every_way(dot(lhs, rhs, result, ("f32", "f32", "f32"), numbers), *wide)
        assert same_bits(got, expected.astype(got.dtype))


@pytest.mark.parametrize(("lhs", "rhs"), [((8, 16), (16, 1)), ((1, 16), (16, 8)), ((1, 16), (16, 1))])
@pytest.mark.parametrize("types", [("bf16", "bf16", "f64"), ("bf16", "f64", "f64"), ("f64", "bf16", "f64")])
def test_vectors_whose_products_are_of_f64(
    lhs: tuple[int, int], rhs: tuple[int, int], types: tuple[str, str, str]
) -> None:
    operands = [drawn(14, lhs, types[0]), drawn(15, rhs, types[1])]
    (got,) = run_every_way(dot(lhs, rhs, (lhs[0], rhs[1]), types), *operands)
    exact = np.matmul(*[operand.astype(np.float64) for operand in operands])
    np.testing.assert_allclose(got, exact, rtol=1e-13)


def test_slow_instructions_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, AMX, AVX512_BF16)
    orders = NarrowOrder.TWO_CHAINS, NarrowOrder.F32
    assert list(map(operation_matmul.implementation_of, orders)) == [AMX, AVX512_BF16_AS_F32]
    monkeypatch.setattr(low_precision_matmul, "is_fast", lambda way: way != AMX)
    assert list(map(operation_matmul.implementation_of, orders)) == [AVX512_BF16, AVX512_BF16_AS_F32]
    monkeypatch.setattr(low_precision_matmul, "is_fast", lambda way: False)
    assert list(map(operation_matmul.implementation_of, orders)) == [None, None]
    operands = [drawn(8, (40, 50), "bf16"), drawn(9, (50, 60), "bf16")]
    assert implementation_of(dot((40, 50), (50, 60), (40, 60), ("bf16", "bf16", "f32"))) not in (
        AMX,
        AVX512_BF16,
    )
    monkeypatch.setattr(operation_matmul, "_prepare_cached", None)
    nimblehlo.execute(dot((40, 50), (50, 60), (40, 60), ("bf16", "bf16", "f32")), operands)


@needs_way
def test_the_instructions_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_matmul, "_prepare_cached", None)
    operands = [drawn(8, (40, 50), "bf16"), drawn(9, (50, 60), "bf16")]
    with pytest.raises(nimblehlo.ExecutionError, match="NoneType"):
        nimblehlo.execute(dot((40, 50), (50, 60), (40, 60), ("bf16", "bf16", "f32")), operands)
