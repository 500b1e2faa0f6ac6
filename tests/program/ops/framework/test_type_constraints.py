"""Types that no value may have."""

import pytest

from nimblehlo import NimbleError, VerifyError, load

QUANTIZED = {
    "C3": [
        "!quant.uniform<i4<-70:7>:f32, 1.0:0>",
        "!quant.uniform<i8<7:-7>:f32, 1.0:0>",
        "!quant.uniform<u8<0:256>:f32, 1.0:0>",
    ],
    "C5": ["!quant.uniform<i8:f32, 0.0:0>", "!quant.uniform<i8:f32, -1.0:0>"],
    "C6": ["!quant.uniform<i8:f32, 1.0e400:0>"],
    "C7": ["!quant.uniform<i8:f32, 1.0:-129>", "!quant.uniform<i8<-7:7>:f32, 1.0:8>"],
    "C11": ["!quant.uniform<i8:f32:-1, {1.0:0, 1.0:0}>"],
    "C12": ["!quant.uniform<i8:f32:2, {1.0:0, 1.0:0}>"],
    "C13": ["!quant.uniform<i8:f32:0, {1.0:0}>", "!quant.uniform<i8:f32:1, {1.0:0, 1.0:0}>"],
}
PLACES = {
    "input": "func.func @main(%a: TYPE) { return }",
    "part of an input": "func.func @main(%a: tuple<tensor<f32>, TYPE>) { return }",
    "result of a function": 'func.func @main() -> TYPE { %0 = "test.op"() : () -> TYPE return %0 : TYPE }',
    "result": "func.func @main(%a: tensor<2x3xf32>) {"
    ' %0 = "stablehlo.custom_call"(%a) {call_target_name = "f"} : (tensor<2x3xf32>) -> TYPE return }',
    "argument of a region": """func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %0 = "stablehlo.map"(%a) ({
      ^bb0(%x: TYPE):
        %s = stablehlo.constant dense<0.0> : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }""",
}


@pytest.mark.parametrize(
    ("label", "type"), [(label, type) for label, types in QUANTIZED.items() for type in types]
)
def test_quantized_types(label: str, type: str) -> None:
    with pytest.raises(VerifyError) as caught:
        load(PLACES["input"].replace("TYPE", f"tensor<2x3x{type}>"))
    assert caught.value.label == label, str(caught.value)


@pytest.mark.parametrize("place", PLACES)
def test_types_are_judged_wherever_they_stand(place: str) -> None:
    with pytest.raises(VerifyError, match="tensors cannot have"):
        load(PLACES[place].replace("TYPE", "tensor<2x3xtf32>"))


@pytest.mark.parametrize(
    "type",
    [
        "tensor<2x3x!quant.uniform<i8:f32:0, {1.0:0, 2.0:1}>>",
        "tensor<?x3x!quant.uniform<i8:f32:0, {1.0:0}>>",
        "tensor<!quant.uniform<i8<-7:7>:f32, 1.0:-7>>",
        "tensor<index>",
    ],
)
def test_legal_types(type: str) -> None:
    load(f"func.func @main(%a: {type}) {{ return }}")


def test_expressed_types() -> None:
    with pytest.raises(NimbleError):
        load("func.func @main(%a: tensor<!quant.uniform<i8:tf32, 1.0:0>>) { return }")
