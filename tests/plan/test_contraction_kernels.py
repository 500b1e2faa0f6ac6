"""The kernels of `dot_general` on floats: the reference's bits, and which operands they are tried with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.kernels import dot
from nimblehlo.ops.contraction_base import PART
from nimblehlo.ops.verify import view_of
from nimblehlo.plan import contraction_kernels
from tests.ops.rejections import parse_and_verify
from tests.ops.texts import tensor
from tests.running import same_bits

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
    return view_of(parse_and_verify(text).functions["main"].body.block.operations[0])


def operands_of(text: str, special: bool) -> list[Any]:
    view = view_of_product(text)
    arrays = [contraction_kernels._random(type, seed) for seed, type in enumerate((view.lhs, view.rhs))]
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
    for special in (False, True):
        operands = operands_of(text, special)
        one, *others = [
            nimblehlo.execute(text, operands, options=Options(compile="eager", threads=threads))[0]
            for threads in (1, 2, 3, 8)
        ]
        reference = nimblehlo.execute(text, operands, options=Options(compile="never"))[0]
        assert all(same_bits(other, reference) for other in (one, *others))


@pytest.mark.parametrize("shape", [(1, 1024, 1024, 1024), (4, 1000, 3001, 5000), (1, 64, 100000, 64)])
def test_what_is_tried_is_small_but_has_the_same_rests(shape: tuple[int, ...]) -> None:
    view = view_of_product(text_of(shape, "f32", "rhs"))
    (batch, rows, terms), (_, columns, _) = [type.shape for type in contraction_kernels._tried(view)]
    assert batch <= 2
    assert terms == min(shape[2], 2 * PART + shape[2] % PART)
    assert (rows % 192, columns % 192) == (shape[1] % 192, shape[3] % 192) or (rows, columns) == shape[1::2]
    last = terms % PART or PART
    assert rows * columns * last >= min(contraction_kernels._LARGE, shape[1] * shape[3] * last)
    assert rows * columns * terms < math.prod(shape[1:]) / 8


def test_the_kernel_serves_large_products() -> None:
    view = view_of_product(text_of((1, 512, 600, 520), "f32", ""))
    prepare, _ = contraction_kernels.contraction(view, None)
    assert prepare is not None
    if dot.kind_of(*[np.dtype(np.float32)] * 3, 600) is None:
        pytest.skip("this processor has no fused multiply-add")
    kernel = prepare()
    assert kernel is not view.bind()
    assert kernel.__module__ == contraction_kernels.__name__


@pytest.mark.parametrize("transposed", ["", "lhs", "rhs", "lhs rhs"])
def test_operands_with_gaps_between_rows_are_served(
    transposed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interleaved slices of one array, as those of queries and keys are."""
    text = text_of((4, 192, 192, 192), "f32", transposed)
    whole = np.random.default_rng(3).standard_normal((4, 192, 3 * 192)).astype(np.float32)
    lhs, rhs, other = whole[..., :192], whole[..., 192:384], whole[..., ::3]
    kernel = contraction_kernels.contraction(view_of_product(text), None)[0]()
    reference = view_of_product(text).bind()
    for operands in ((lhs, rhs), (rhs, rhs), (lhs, other), (whole[:, ::-1, :192], rhs)):
        assert same_bits(np.asarray(kernel(*operands)), np.asarray(reference(*operands)))
    calls = []
    monkeypatch.setattr(type(view_of_product(text)), "as_stacks", lambda *arrays: calls.append(arrays))
    with pytest.raises(TypeError):
        kernel(lhs, rhs)
    assert calls, "the reference served"
