"""Products whose element types are of several kinds: XLA:CPU's results, with the same bits in all modes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import nimblehlo
from nimblehlo import Options
from tests.support.running import assert_close, run_every_way, run_xla, same_bits

Array = np.ndarray[Any, Any]

DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "ui8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "ui32": np.uint32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}
PREFERRED = {
    "i1": ("i8", "i32", "ui32", "bf16", "f32", "f64", "complex<f32>"),
    "i8": ("i1", "f16", "bf16", "f32", "f64", "complex<f64>"),
    "ui8": ("f16", "f32"),
    "i16": ("f16", "f32"),
    "i32": ("i1", "f16", "bf16", "f32", "f64", "complex<f32>"),
    "ui32": ("f32", "f64"),
    "i64": ("f32", "f64"),
    "bf16": ("complex<f32>", "i32"),
    "f32": ("complex<f32>", "complex<f64>", "i1", "i8", "ui8", "i32"),
    "f16": ("i64",),
    "f64": ("i64",),
    "complex<f32>": ("f32", "f64"),
    "complex<f64>": ("f64", "i32"),
}
"""Element types of results by the operands'. JAX's `dot_general` also takes results of lower kinds."""
OPERANDS_OF_TWO_KINDS = [
    ("i8", "f32", ("f32", "i32", "f64")),
    ("i32", "f64", ("f32",)),
    ("i16", "f32", ("bf16",)),
    ("i1", "i8", ("i32",)),
    ("i1", "f32", ("f32",)),
    ("f32", "complex<f32>", ("complex<f32>",)),
]


def values(element_type: str, shape: tuple[int, ...], seed: int) -> Array:
    """Integers up to half of their range; floats whose sums of products f32 holds."""
    dtype, generator = np.dtype(DTYPES[element_type]), np.random.default_rng(seed)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min // 2, limits.max // 2, shape, dtype)
    real, imaginary = np.round(24 * generator.normal(size=(2, *shape))) / 4
    return (real + 1j * imaginary if dtype.kind == "c" else real).astype(dtype)


def dot(lhs: str, rhs: str, *results: str, sizes: tuple[int, int, int] = (4, 5, 3)) -> str:
    """The product of two matrices as each of the result's element types."""
    m, k, n = sizes
    a, b = f"tensor<{m}x{k}x{lhs}>", f"tensor<{k}x{n}x{rhs}>"
    return program(
        a, b, "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]", f"tensor<{m}x{n}x{{}}>", results
    )


def convolution(operand: str, *results: str, groups: int = 1) -> str:
    """The same of a convolution."""
    a, b = f"tensor<2x9x4x{operand}>", f"tensor<3x{4 // groups}x4x{operand}>"
    call = f"""stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}}
        {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}"""
    return program(a, b, call, "tensor<2x7x4x{}>", results)


def program(lhs: str, rhs: str, call: str, result: str, element_types: tuple[str, ...]) -> str:
    types = [result.format(element_type) for element_type in element_types]
    calls = [f"%{index} = {call} : ({lhs}, {rhs}) -> {type}" for index, type in enumerate(types)]
    values, signature = ", ".join(f"%{index}" for index in range(len(types))), ", ".join(types)
    body = "\n".join(calls)
    return f"""func.func @main(%a: {lhs}, %b: {rhs}) -> ({signature}) {{
      {body}
      return {values} : {signature}
    }}"""


def agrees(text: str, *inputs: Array, roundings: int = 4) -> None:
    """XLA's results within some roundings of their types; the unspecialized reference has the same bits."""
    with jax.enable_x64(True):
        want = run_xla(text, *inputs)
    got = run_every_way(text, *inputs)
    unspecialized = Options(sanitize="non_finite", sanitize_action="collect")
    checked = nimblehlo.execute(text, inputs, options=unspecialized)
    for a, b, c in zip(got, want, checked, strict=True):
        assert same_bits(np.asarray(a), np.asarray(c))
        bound = 0.0 if b.dtype.kind in "biu" else roundings * float(ml_dtypes.finfo(b.real.dtype).eps)
        assert_close([a], [b], bound)


@pytest.mark.parametrize("operand", PREFERRED)
def test_operands_of_one_type(operand: str) -> None:
    results = PREFERRED[operand]
    agrees(dot(operand, operand, *results), values(operand, (4, 5), 1), values(operand, (5, 3), 2))
    lhs = values(operand, (2, 9, 4), 3)
    for groups in (1, 4):
        rhs = values(operand, (3, 4 // groups, 4), 4)
        agrees(convolution(operand, *results, groups=groups), lhs, rhs)


@pytest.mark.parametrize(("lhs", "rhs", "results"), OPERANDS_OF_TWO_KINDS)
def test_operands_of_two_kinds(lhs: str, rhs: str, results: tuple[str, ...]) -> None:
    agrees(dot(lhs, rhs, *results), values(lhs, (4, 5), 1), values(rhs, (5, 3), 2))


@pytest.mark.parametrize(
    ("operand", "result"), [("i8", "f32"), ("i32", "f64"), ("i8", "bf16"), ("f32", "i32")]
)
@pytest.mark.parametrize("sizes", [(64, 96, 80), (1, 4096, 80), (3, 0, 2)])
def test_sizes_of_kernels(operand: str, result: str, sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    text = dot(operand, operand, result, sizes=sizes)
    agrees(text, values(operand, (m, k), 1), values(operand, (k, n), 2), roundings=64)


def test_products_that_cancel_to_false() -> None:
    """A boolean result says whether the product is not zero, not whether a pair of operands is."""
    lhs, rhs = np.array([[1, -1, 0], [2, 2, 2]], np.int8), np.array([[3], [3], [5]], np.int8)
    agrees(dot("i8", "i8", "i1", sizes=(2, 3, 1)), lhs, rhs)
    agrees(dot("f32", "f32", "i1", sizes=(2, 3, 1)), lhs.astype(np.float32), rhs.astype(np.float32))


@pytest.mark.parametrize("operand", [jnp.int8, jnp.uint8, jnp.int16, jnp.int32])
@pytest.mark.parametrize("shape", [(2, 8, 8, 6), (1, 20, 20, 32)])
def test_what_jax_lowers(operand: Any, shape: tuple[int, ...]) -> None:
    """`preferred_element_type`, in each layout and grouping that JAX's convolutions have."""
    features = shape[-1]
    lhs = np.random.default_rng(1).integers(0, 100, shape).astype(operand)
    rhs = np.random.default_rng(2).integers(0, 100, (3, 3, features, 8)).astype(operand)
    depthwise = rhs[:, :, :1].repeat(features // 2, -1)[..., :features]

    def convolved(a: Any, b: Any, groups: int) -> Any:
        return lax.conv_general_dilated(
            a,
            b,
            (1, 2),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
            preferred_element_type=jnp.float32,
        )

    def function(a: Any, b: Any, c: Any) -> Any:
        matrices = a.reshape(-1, features), b[0, 0]
        return (
            convolved(a, b, 1),
            convolved(a, c, features),
            lax.dot(*matrices, preferred_element_type=jnp.float32),
        )

    lowered = jax.jit(function).lower(lhs, rhs, depthwise)
    want = [np.asarray(value) for value in lowered.compile()(lhs, rhs, depthwise)]
    assert_close(run_every_way(lowered.as_text(), lhs, rhs, depthwise), want, 1e-6)
