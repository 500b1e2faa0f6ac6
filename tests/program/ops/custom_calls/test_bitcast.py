"""The custom call by which XLA writes HLO's bitcasts, which depend on layouts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nimblehlo
from nimblehlo import UnsupportedError, VerifyError
from tests.support.running import assert_same_bits, run_every_way


def program(source: str, result: str, attributes: str = "") -> str:
    return f"""func.func @main(%x: {source}) -> {result} {{
      %0 = stablehlo.custom_call @mhlo.bitcast(%x)
        {{mhlo.attributes = {{{attributes}}}, mhlo.version = 1 : i64}} : ({source}) -> {result}
      return %0 : {result}
    }}"""


def layouts(source: str, result: str) -> str:
    names = {"source_layout": source, "result_layout": result}
    return ", ".join(
        f"{name} = dense<[{order}]> : tensor<{len(order.split(','))}xindex>" for name, order in names.items()
    )


@pytest.mark.parametrize("source", list(itertools.permutations(range(2))))
@pytest.mark.parametrize("result", list(itertools.permutations(range(3))))
def test_elements_keep_their_offsets(source: tuple[int, ...], result: tuple[int, ...]) -> None:
    operand = np.arange(24, dtype=np.int32).reshape(4, 6)
    text = program(
        "tensor<4x6xi32>",
        "tensor<2x3x4xi32>",
        layouts(str(source).strip("()"), str(result).strip("()")),
    )
    (got,) = run_every_way(text, operand)
    assert [_offset(index, (2, 3, 4), result) for index in np.ndindex(2, 3, 4)] == [
        _offset(divmod(int(value), 6), (4, 6), source) for value in got.ravel()
    ]


def _offset(index: tuple[int, ...], shape: tuple[int, ...], layout: tuple[int, ...]) -> int:
    """Where an element lies whose layout lists dimensions from minor to major."""
    offset, stride = 0, 1
    for dimension in layout:
        offset += index[dimension] * stride
        stride *= shape[dimension]
    return offset


def test_bits_are_read_as_another_type_in_row_major_order() -> None:
    operand = np.arange(6, dtype=np.float32).reshape(2, 3)
    (got,) = run_every_way(program("tensor<2x3xf32>", "tensor<3x2xi32>"), operand)
    assert_same_bits(got, operand.reshape(3, 2).view(np.int32))


def test_bytes_are_the_narrowest_elements_that_change_their_type() -> None:
    operand = np.array([-1, 5], np.int8)
    (got,) = run_every_way(program("tensor<2xi8>", "tensor<2xui8>"), operand)
    assert_same_bits(got, operand.view(np.uint8))
    with pytest.raises(UnsupportedError, match="from elements i4 to ui4"):
        nimblehlo.load(program("tensor<2xi4>", "tensor<2xui4>"))


REJECTED = {
    "a layout of another rank": (
        ("tensor<2x3xf32>", "tensor<3x2xf32>", layouts("1, 0", "0")),
        VerifyError,
        r"result_layout is \[0\], but must be a permutation",
    ),
    "a layout of other attributes": (
        ("tensor<2x3xf32>", "tensor<3x2xf32>", "source_layout = 1 : i64"),
        VerifyError,
        "source_layout must be a one-dimensional constant",
    ),
    "other numbers of elements": (("tensor<2x3xf32>", "tensor<2x2xf32>"), VerifyError, "elements differ"),
    "other widths": (("tensor<2xf32>", "tensor<2xf64>"), UnsupportedError, "from elements f32 to f64"),
    "unknown sizes": (("tensor<?xf32>", "tensor<?xf32>"), UnsupportedError, "unknown sizes"),
}


@pytest.mark.parametrize(("arguments", "error", "message"), REJECTED.values(), ids=list(REJECTED))
def test_malformed_calls_are_rejected(
    arguments: tuple[str, ...], error: type[nimblehlo.NimbleError], message: str
) -> None:
    with pytest.raises(error, match=message):
        nimblehlo.load(program(*arguments))
