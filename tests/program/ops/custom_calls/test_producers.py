"""Custom calls in the forms of XLA and PyTorch/XLA, and the page that lists all targets."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo import UnsupportedError, execute, load
from nimblehlo.program.ops.custom_calls.targets import BUILT_IN
from nimblehlo.program.ops.custom_calls.unsupported_targets import UNSUPPORTED
from tools.custom_call_targets import DOCUMENT, document, served

MARKED = """
module @IrToHlo.1 attributes {mhlo.cross_program_prefetches = [], mhlo.is_dynamic = false} {
  func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.custom_call @xla_mark_tensor(%arg0) {backend_config =
      "{\\22name\\22: \\22sample\\22, \\22pos\\22: 0, \\22id\\22: \\220\\22, \\22is_input\\22: true}"
    } : (tensor<3xf32>) -> tensor<3xf32>
    %1 = stablehlo.add %0, %0 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
"""


def test_a_mark_of_pytorch_xla_is_its_operand() -> None:
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(execute(MARKED, [x])[0], x + x)


@pytest.mark.parametrize("target", ["AssumeGatherIndicesInBound", "PinToDevice", "PinToDeviceSram"])
def test_marks_of_xla_are_their_operand(target: str) -> None:
    text = f"""
    func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {{
      %0 = stablehlo.custom_call @{target}(%x) : (tensor<2x3xi32>) -> tensor<2x3xi32>
      return %0 : tensor<2x3xi32>
    }}
    """
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(execute(text, [x])[0], x)
    other = text.replace("-> tensor<2x3xi32>", "-> tensor<3x2xi32>").replace(
        "%0 : tensor<2x3", "%0 : tensor<3x2"
    )
    with pytest.raises(UnsupportedError, match="changes the type of a value"):
        load(other)


@pytest.mark.parametrize("target", ["SparseDenseMatmulWithMinibatchingOp", "X64Combine", "PadToStatic"])
def test_what_other_platforms_and_passes_need_is_told(target: str) -> None:
    text = f"""
    func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {{
      %0 = stablehlo.custom_call @{target}(%x) : (tensor<2xi32>) -> tensor<2xi32>
      return %0 : tensor<2xi32>
    }}
    """
    with pytest.raises(UnsupportedError, match=f"no target @{target}: it "):
        execute(text, [np.zeros(2, np.int32)])


def test_the_page_lists_every_target_once() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run python tools/custom_call_targets.py"
    names = [name for group in served().values() for name in group]
    assert sorted(names) == sorted(BUILT_IN)
    assert not set(names) & set(UNSUPPORTED)
