"""The kernels of `dot_general` on floats: the reference's bits, with any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.plan.implementations import contraction_kernels
from nimblehlo.kernels.matmul import matmul
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.rejections import parse_and_verify
from tests.program.ops.texts import tensor
from tests.support.running import same_bits

SHAPES = [
    # batch, rows, terms, columns
    (1, 192, 512, 320),
    (1, 257, 513, 129),
    (1, 100, 769, 65),
    (1, 64, 3000, 64),
    (1, 7, 300, 500),
    (1, 500, 40, 133),
    (3, 150, 260, 70),
    (9, 40, 300, 48),
]


def text_of(shape: tuple[int, ...], element_type: str, transposed: str) -> str:
    """A program; of the operands named, the last two dimensions are exchanged."""
    batch, rows, terms, columns = shape
    lhs = (batch, terms, rows) if "lhs" in transposed else (batch, rows, terms)
    rhs = (batch, columns, terms) if "rhs" in transposed else (batch, terms, columns)
    contracting = f"[{1 if 'lhs' in transposed else 2}] x [{2 if 'rhs' in transposed else 1}]"
    types = [tensor(sizes, element_type) for sizes in (lhs, rhs, (batch, rows, columns))]
    return f"""func.func @main(%lhs: {types[0]}, %rhs: {types[1]}) -> {types[2]} {{
  %result = stablehlo.dot_general %lhs, %rhs, batching_dims = [0] x [0], contracting_dims = {contracting}
    : ({types[0]}, {types[1]}) -> {types[2]}
  return %result : {types[2]}
}}
"""


def view_of_product(text: str) -> Any:
    return Op.of(parse_and_verify(text).functions["main"].body.block.operations[0])


def operands_of(text: str, special: bool) -> list[Any]:
    view = view_of_product(text)
    generator = np.random.default_rng(0)
    arrays = [
        generator.standard_normal(type.shape, np.float32).astype(type.dtype) for type in (view.lhs, view.rhs)
    ]
    if special:
        for array, values in zip(arrays, ([np.nan, np.inf, -0.0], [-np.inf, 0.0, 1e-40]), strict=True):
            array.reshape(-1)[[5, array.size // 2, array.size - 1]] = values
    return arrays


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("element_type", "transposed"),
    [
        *[("f32", transposed) for transposed in ("", "lhs", "rhs", "lhs and rhs")],
        ("f64", "lhs"),
        ("f64", "rhs"),
        ("bf16", ""),
        ("bf16", "lhs and rhs"),
        ("f16", "rhs"),
    ],
)
def test_products_have_the_same_bits_in_every_way(
    shape: tuple[int, ...], element_type: str, transposed: str
) -> None:
    text = text_of(shape, element_type, transposed)
    module = nimblehlo.load(text)
    reference = nimblehlo.compile(module, options=Options(compile="never"))
    executables = [
        nimblehlo.compile(module, options=Options(compile="eager", threads=threads))
        for threads in (1, 2, 3, 8)
    ]
    for special in (False, True):
        operands = operands_of(text, special)
        (expected,) = reference(*operands)
        assert all(same_bits(executable(*operands)[0], expected) for executable in executables)


def test_the_kernel_serves_from_the_first_call_on() -> None:
    explained = nimblehlo.compile(text_of((1, 512, 600, 520), "f32", "")).explain()
    if not matmul.is_available():
        pytest.skip("this processor has no fused multiply-add")
    assert "[kernel: blocked GEMM]" in explained


@pytest.mark.parametrize("transposed", ["", "lhs", "rhs", "lhs rhs"])
def test_operands_with_gaps_between_rows(transposed: str) -> None:
    """Interleaved slices of one array, as those of queries and keys are."""
    text = text_of((4, 192, 192, 192), "f32", transposed)
    whole = np.random.default_rng(3).standard_normal((4, 192, 3 * 192)).astype(np.float32)
    lhs, rhs, other = whole[..., :192], whole[..., 192:384], whole[..., ::3]
    match = contraction_kernels.contraction(view_of_product(text), 2)
    if isinstance(match, str):
        pytest.skip(match)
    kernel, reference = match.prepare(), view_of_product(text).bind()
    for operands in ((lhs, rhs), (rhs, rhs), (lhs, other), (whole[:, ::-1, :192], rhs)):
        assert same_bits(np.asarray(kernel(*operands)), np.asarray(reference(*operands)))
