"""What the fingerprint depends on, and what not."""

import pytest

from nimblehlo.program.frontend import parse
from nimblehlo.program.ir.fingerprint import fingerprint

BASE = """module @m {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %c = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf32>
    %0 = stablehlo.add %a, %c {x.y = 1, x.z} : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%a", "%other"),
        ("%0", "%sum"),
        ("dense<[1.0, 1.0]>", "dense<1.0>"),
        ("dense<[1.0, 1.0]>", 'dense<"0x0000803F0000803F">'),
        ("dense<[1.0, 1.0]>", "dense<[1.0e0, 0x3F800000]>"),
        ("{x.y = 1, x.z}", "{x.z, x.y = 1 : i64}"),
        (" : tensor<2xf32>\n    return", ' : tensor<2xf32> loc("here")\n    return'),
        ("func.func @main", "func.func public @main"),
        (
            "stablehlo.add %a, %c {x.y = 1, x.z} : tensor<2xf32>",
            '"stablehlo.add"(%a, %c) <{x.y = 1}> {x.z} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>',
        ),
        ("module @m {", "#one = 1\n!t = tensor<2xf32>\nmodule @m {"),
    ],
)
def test_the_same(old: str, new: str) -> None:
    changed = BASE.replace(old, new)
    assert changed != BASE
    assert fingerprint(parse(changed)) == fingerprint(parse(BASE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@m", "@n"),
        ("@main", "@other"),
        ("@main", '@"main "'),
        ("func.func", "func.func private"),
        ("[1.0, 1.0]", "[1.0, -1.0]"),
        ("[1.0, 1.0]", "[1.0, 1.0000001]"),
        ("stablehlo.add %a, %c", "stablehlo.add %c, %a"),
        ("stablehlo.add", "stablehlo.subtract"),
        ("x.y = 1", "x.y = 2"),
        ("x.y = 1", "x.y = 1 : i32"),
        (", x.z", ""),
        ("tensor<2xf32>) ->", "tensor<2xf32> {x.y}) ->"),
        ("f32", "f64"),
    ],
)
def test_another(old: str, new: str) -> None:
    changed = BASE.replace(old, new)
    assert changed != BASE
    assert fingerprint(parse(changed)) != fingerprint(parse(BASE))


def test_zeros_and_nans_differ_by_their_bits() -> None:
    digests = {
        fingerprint(parse(f"module attributes {{a.b = dense<{value}> : tensor<3xf32>}} {{}}"))
        for value in ("0.0", "-0.0", "0x7FC00000", "0x7FC00001", "0xFFC00000")
    }
    assert len(digests) == 5


def test_huge_splats_take_no_memory() -> None:
    text = "module attributes {a.b = dense<1.0> : tensor<1000000x1000000xf32>} {}"
    assert fingerprint(parse(text)) == fingerprint(parse(text))
