"""Tensors that no memory can hold end in an ExecutionError, however they come about."""

from __future__ import annotations

import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, ParseError
from nimblehlo.ops.framework.memory_limit import MAX_ELEMENTS, is_addressable
from nimblehlo.types import TensorType, element_type

BODIES = {
    "broadcast_in_dim": "%c = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "%r = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> TYPE",
    "iota": "%r = stablehlo.iota dim = 0 : TYPE",
    "dynamic_iota": "%s = stablehlo.constant dense<SIZES> : tensor<RANKxi64>\n"
    "%r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<RANKxi64>) -> TYPE",
    "argument": "%r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<RANKxi64>) -> DYNAMIC",
}
SHAPES = [(0, 2**62), (0, 2**63 - 1, 16), (2**62,), (2**61, 16), (2**63 - 1, 2**63 - 1), (MAX_ELEMENTS + 1,)]


@pytest.mark.parametrize("mode", ["never", "auto", "eager"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("body", BODIES)
def test_tensors_that_no_address_reaches_are_refused(body: str, shape: tuple[int, ...], mode: str) -> None:
    rank = str(len(shape))
    type = "?x" * len(shape) + "f32" if body == "argument" else "x".join(map(str, shape)) + "xf32"
    argument = f"%s: tensor<{rank}xi64>" if body == "argument" else ""
    text = f"func.func @main({argument}) -> tensor<{type}> {{ {BODIES[body]} return %r : tensor<{type}> }}"
    text = text.replace("TYPE", f"tensor<{type}>").replace("DYNAMIC", f"tensor<{type}>")
    text = text.replace("SIZES", str(list(shape))).replace("RANK", rank)
    inputs = [list(shape)] if body == "argument" else []
    with pytest.raises(ExecutionError, match="has more elements than can be addressed"):
        nimblehlo.execute(text, inputs, options=Options(compile=mode))  # type: ignore[arg-type]


def test_constants_that_no_address_reaches_are_refused() -> None:
    text = "func.func @main() { %c = stablehlo.constant dense<1> : tensor<0x4611686018427387904xi8> return }"
    with pytest.raises(ParseError, match="has more elements than can be addressed"):
        nimblehlo.load(text)


def test_sizes_of_zero_do_not_hide_others() -> None:
    kind = element_type("i8")
    assert is_addressable(TensorType((MAX_ELEMENTS,), kind))
    assert is_addressable(TensorType((0, MAX_ELEMENTS), kind))
    assert not is_addressable(TensorType((MAX_ELEMENTS + 1,), kind))
    assert not is_addressable(TensorType((0, MAX_ELEMENTS, 2), kind))
