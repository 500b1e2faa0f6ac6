"""Prints which source files running programs enters, as JSON by the headings of ARCHITECTURE.md."""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

# Where Numba is loaded, this process compiles the kernels.
import numba  # noqa: F401
import numpy as np

import nimblehlo
import nimblehlo.kernels
from nimblehlo import Module, Options

PACKAGES: Final = {"runtime": nimblehlo, "kernels": nimblehlo.kernels}
"""The packages by the folders of their sources."""

SOFTMAX: Final = """
func.func @main(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %low = stablehlo.constant dense<LOWEST> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
      : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x512xf32>
  %d = stablehlo.subtract %x, %b : tensor<64x512xf32>
  %e = stablehlo.exponential %d : tensor<64x512xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
  %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x512xf32>
  %r = stablehlo.divide %e, %t : tensor<64x512xf32>
  return %r : tensor<64x512xf32>
}
"""
SCATTER: Final = """
func.func @main(%x: tensor<1000xf32>, %i: tensor<50000x1xi32>, %u: tensor<50000xf32>) -> tensor<1000xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<1000xf32>, tensor<50000x1xi32>, tensor<50000xf32>) -> tensor<1000xf32>
  return %r : tensor<1000xf32>
}
"""
PRODUCT: Final = """
func.func @main(%a: tensor<256x512xf32>, %b: tensor<512x384xf32>) -> tensor<256x384xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<256x512xf32>, tensor<512x384xf32>) -> tensor<256x384xf32>
  return %r : tensor<256x384xf32>
}
"""
CALLED: Final = """
func.func @main(%x: tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
  %c = stablehlo.constant dense<LOWEST> : tensor<1000x1000xf32>
  %m = stablehlo.maximum %x, %c : tensor<1000x1000xf32>
  %r = stablehlo.multiply %m, %x : tensor<1000x1000xf32>
  return %r : tensor<1000x1000xf32>
}
"""
CALLS: Final = 1000
"""Maximum calls until native code has replaced the steps of a program."""
PROGRAMS: Final = {"A softmax": SOFTMAX, "A scatter": SCATTER, "A matrix product": PRODUCT}
"""The programs by the headings of ARCHITECTURE.md that follow how they are compiled."""


def files_entered(run: Callable[[Module], None], text: str) -> list[str]:
    """The Python files of which running a program calls a function, on any thread."""
    folders = {str(Path(module.__path__[0])): name for name, module in PACKAGES.items()}
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        is_new = event == "call" and file not in entered and file.startswith((*folders,))
        if is_new and not _is_imported(frame):
            entered[file] = None

    # Another constant than ever before, of which no code is cached.
    module = nimblehlo.load(text.replace("LOWEST", str(-1e30 * (1 + random.random()))))
    threading.setprofile(note)
    sys.setprofile(note)
    run(module)
    sys.setprofile(None)
    threading.setprofile(None)
    return [
        file.replace(folder, name)
        for file in entered
        for folder, name in folders.items()
        if file.startswith(folder + "/")
    ]


def compile_and_call(module: Module) -> None:
    """Compile all code of a program, and call it."""
    executable = nimblehlo.compile(module, options=Options(compile="eager", threads=2))
    executable(*zeros(executable))


def call_until_native(module: Module) -> None:
    """Call a program until native code has replaced its steps."""
    executable = nimblehlo.compile(module)
    inputs = zeros(executable)
    for _ in range(CALLS):
        executable(*inputs)


def zeros(executable: nimblehlo.Executable) -> list[Any]:
    """Its inputs."""
    return [np.zeros(type.shape, type.dtype) for type in executable.input_types]


def _is_imported(frame: FrameType | None) -> bool:
    """Whether a frame runs because a module is imported, as the bodies of classes do."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename != __file__:
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    followed = {name: files_entered(compile_and_call, text) for name, text in PROGRAMS.items()}
    print(json.dumps(followed | {"A call": files_entered(call_until_native, CALLED)}))
