"""Compiles programs while the free address space consists of holes of few pages, 4 GB apart.

This is what a process with many large arrays may look like. Sections of one module that a linker maps one by
one then lie further apart than a displacement of 32 bits reaches.

    python -m tests.support.scattered_memory --count 1000

compiles 1,000 programs that share no code, a kernel of Numba's, and a program of 30,000 operations, with 8 GB
of arrays alive before, between and after the compilations. All results must be those of references. Linux
only.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Options
from tests.support.running import same_bits

PAGE = 1 << 12
GAP = 1 << 32
MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE = 0x02, 0x20, 0x4000
MAP_FAILED = ctypes.c_void_p(-1).value


def library() -> Any:
    """The process's functions that map memory."""
    functions = ctypes.CDLL(None, use_errno=True)
    functions.mmap.restype = ctypes.c_void_p
    functions.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    functions.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    functions.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return functions


def reserve(functions: Any, size: int) -> int:
    """The address of so many bytes of address space without memory."""
    flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    address: int | None = functions.mmap(None, size, 0, flags, -1, 0)
    if address is None or address == MAP_FAILED:
        raise OSError(ctypes.get_errno(), "mmap failed")
    return address


def scatter(holes: int, pages: Sequence[int] = (1, 2, 3)) -> None:
    """Reserve address space so that the highest free ranges are holes, `GAP` bytes apart.

    Linux maps memory at the highest range that is large enough. Address space below the holes stays free.

    Args:
        holes: how many.
        pages: the sizes of the holes in pages, repeated.
    """
    functions = library()
    first = reserve(functions, holes * GAP)
    size = GAP
    while size >= PAGE:
        address = reserve(functions, size)
        if address < first:
            functions.munmap(address, size)
            size //= 2
    for hole, count in zip(range(holes), itertools.cycle(pages)):
        functions.munmap(first + hole * GAP + GAP // 2, count * PAGE)


def program(number: int) -> str:
    """A program whose code is that of no other number: a fused loop over rows with constants in memory."""
    operations = ["exponential", "sine", "tanh", "logistic", "cosine", "negate", "abs", "log"]
    chosen = [operations[number // 8**digit % 8] for digit in range(4)]
    chain = "\n".join(
        f"  %{index + 1} = stablehlo.{name} %{index} : tensor<32x8xf32>" for index, name in enumerate(chosen)
    )
    return f"""
func.func @main(%a: tensor<32x8xf32>) -> tensor<32xf32> {{
  %c = stablehlo.constant dense<{1.5 + number}> : tensor<32x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %a, %c : tensor<32x8xf32>
{chain}
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<32x8xf32>, tensor<f32>) -> tensor<32xf32>
  return %5 : tensor<32xf32>
}}
"""


CUMULATIVE_SUM = """
func.func @main(%a: tensor<64x400xf32>) -> tensor<64x400xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %z) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 400>, padding = dense<[[0, 0], [399, 0]]> : tensor<2x2xi64>}
      : (tensor<64x400xf32>, tensor<f32>) -> tensor<64x400xf32>
  return %r : tensor<64x400xf32>
}
"""
"""It is computed by a kernel that Numba compiles, with code of the large code model."""


def large_program(operations: int) -> str:
    """A program of at least so many operations, in layers of several shapes."""
    lines: list[str] = []
    names = [f"%v{number}" for number in range(operations + 16)]
    value, made = "%a", 0
    for layer in itertools.count():
        if made >= operations:
            break
        columns = 8 + 4 * (layer % 4)

        def emit(text: str) -> str:
            nonlocal made
            lines.append(f"  {names[made]} = {text}")
            made += 1
            return names[made - 1]

        square, wide = "tensor<16x16xf32>", f"tensor<16x{columns}xf32>"
        scale = emit(f"stablehlo.constant dense<{0.5 / (1 + layer % 2)}> : {wide}")
        zero = emit("stablehlo.constant dense<0.0> : tensor<f32>")
        weights = emit(f"stablehlo.iota dim = 1 : {wide}")
        wave = emit(f"stablehlo.sine {weights} : {wide}")
        hidden = emit(f"stablehlo.dot_general {value}, {wave}, contracting_dims = [1] x [0]"
                      f" : ({square}, {wide}) -> {wide}")  # fmt: skip
        scaled = emit(f"stablehlo.multiply {hidden}, {scale} : {wide}")
        active = emit(f"stablehlo.{('tanh', 'sine')[layer % 2]} {scaled} : {wide}")
        total = emit(f"stablehlo.reduce({active} init: {zero}) applies stablehlo.add across dimensions = [1]"
                     f" : ({wide}, tensor<f32>) -> tensor<16xf32>")  # fmt: skip
        spread = emit(f"stablehlo.broadcast_in_dim {total}, dims = [0] : (tensor<16xf32>) -> {square}")
        turned = emit(f"stablehlo.transpose {value}, dims = [1, 0] : ({square}) -> {square}")
        joined = emit(f"stablehlo.add {spread}, {turned} : {square}")
        value = emit(f"stablehlo.cosine {joined} : {square}")
    body = "\n".join(lines)
    return f"func.func @main(%a: {square}) -> {square} {{\n{body}\n  return {value} : {square}\n}}\n"


def check(text: str, operand: Any, mode: str) -> None:
    """Raises AssertionError where compiled code and references give different bits."""
    (compiled,) = nimblehlo.execute(text, [operand], options=Options(compile=mode))
    (reference,) = nimblehlo.execute(text, [operand], options=Options(compile="never"))
    assert same_bits(np.asarray(compiled), np.asarray(reference))


def arrays(gigabytes: int) -> Iterator[Any]:
    """Arrays of 256 MB, of which no page is touched."""
    return (np.empty(1 << 28, np.uint8) for _ in range(4 * gigabytes))


def run(count: int, gigabytes: int, operations: int) -> None:
    """Compile `count` programs, a kernel, and then one program of so many operations, if there are any.

    Args:
        count: how many programs.
        gigabytes: of arrays that are made before the programs, between them, and after them.
        operations: of the large program.
    """
    operand = np.random.default_rng(0).random((32, 8), dtype=np.float32)
    alive = list(arrays(gigabytes))
    scatter(4 * count + 100)
    between = arrays(gigabytes)
    for number in range(count):
        check(program(number), operand, "eager")
        alive += itertools.islice(between, -(-4 * gigabytes // count))
    check(CUMULATIVE_SUM, np.random.default_rng(0).random((64, 400), dtype=np.float32), "eager")
    if operations:
        square = np.random.default_rng(0).random((16, 16), dtype=np.float32)
        for mode in ("auto", "eager"):
            check(large_program(operations), square, mode)
    alive += arrays(gigabytes)
    print(f"compiled {count} programs with {sum(array.nbytes for array in alive) >> 30} GB of arrays alive")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--gigabytes", type=int, default=8)
    parser.add_argument("--operations", type=int, default=30_000)
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("only Linux")
    run(options.count, options.gigabytes, options.operations)


if __name__ == "__main__":
    main()
