"""Loops that add updated zeros to arrays which they carry: they update a window, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.specialize.simplified import assert_same_bits, function, simplified

NAN = np.uint32(0xFF800123).view(np.float32)
WINDOWS = np.array([1.5, -0.0, 0.0, np.inf, NAN, -np.inf, 2.5, -1.5, 1e-45], np.float32)
ADD = "%t = stablehlo.add {} : tensor<7xf32>"


def loop(body: str, initial: str = "0.0", zeros: str = "0.0", window: int = 1, type: str = "f32") -> str:
    """Adds to %a, with %u being zeros with a window of %x at the counter."""
    text = function(
        f"%x: tensor<9x{type}>",
        f"tensor<7x{type}>",
        f"""%first = stablehlo.constant dense<{initial}> : tensor<7x{type}>
        %z = stablehlo.constant dense<{zeros}> : tensor<7x{type}>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %r:2 = stablehlo.while(%i = %zero, %a = %first) : tensor<i32>, tensor<7x{type}>
        cond {{
          %limit = stablehlo.constant dense<9> : tensor<i32>
          %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %go : tensor<i1>
        }} do {{
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.add %i, %one : tensor<i32>
          %w = stablehlo.dynamic_slice %x, %i, sizes = [{window}]
            : (tensor<9xf32>, tensor<i32>) -> tensor<{window}xf32>
          %u = stablehlo.dynamic_update_slice %z, %w, %i
            : (tensor<7xf32>, tensor<{window}xf32>, tensor<i32>) -> tensor<7xf32>
          {body}
          stablehlo.return %next, %t : tensor<i32>, tensor<7xf32>
        }}
        return %r#1 : tensor<7xf32>""",
    )
    return text.replace("xf32", f"x{type}")


def additions(text: str) -> list[int]:
    """The sizes of the arrays whose elements the loop's body adds."""
    body: Any = simplified(text).body
    (while_loop,) = [one for one in body.walk() if one.name == "stablehlo.while"]
    sums = [one for one in while_loop.regions[1].walk() if one.name == "stablehlo.add"]
    return [one.result.type.size for one in sums if one.result.type.size > 1 or one.result.type.rank]


TWICE = """%s = stablehlo.add %a, %u : tensor<7xf32>
          %t = stablehlo.add %u, %s : tensor<7xf32>"""
BEHIND_ANOTHER = """%s = stablehlo.add %z, %a : tensor<7xf32>
          %t = stablehlo.add %s, %u : tensor<7xf32>"""


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (loop(ADD.format("%a, %u")), [1]),
        (loop(ADD.format("%u, %a"), window=3), [3]),
        (loop(ADD.format("%u, %a"), initial="-1.0", zeros="-0.0"), [1]),
        (loop(TWICE), [1, 1]),
        (loop(BEHIND_ANOTHER), [7, 1]),
        (loop(ADD.format("%a, %u"), initial="-3", zeros="0", type="i32"), [1]),
    ],
)
def test_sums_with_an_update_of_zeros(text: str, sizes: list[int]) -> None:
    assert additions(text) == sizes
    dtype = np.int32 if "xi32" in text and "9xf32" not in text else np.float32
    with np.errstate(invalid="ignore"):
        assert_same_bits(text, WINDOWS.astype(dtype))


KEPT = {
    "of an array that may begin with -0": loop(ADD.format("%a, %u"), initial="-0.0"),
    "of some -0": loop(ADD.format("%a, %u"), initial="[0.0, -0.0, 1.0, 1.0, 1.0, 1.0, 1.0]"),
    "of an array that may become -0": loop(
        "%s = stablehlo.add %a, %u : tensor<7xf32>\n %t = stablehlo.negate %s : tensor<7xf32>"
    ),
    "of other numbers": loop(ADD.format("%a, %u"), zeros="1.0"),
    "of an update itself": loop(ADD.format("%u, %u")),
    "of windows of almost all elements": loop(ADD.format("%a, %u"), window=4),
    "by another operation": loop("%t = stablehlo.subtract %a, %u : tensor<7xf32>"),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_sums_stay(name: str) -> None:
    assert 1 not in additions(KEPT[name]) and additions(KEPT[name]) != [3]
    assert_same_bits(KEPT[name], WINDOWS)
