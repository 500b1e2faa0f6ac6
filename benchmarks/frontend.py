"""The parser and the printer: operations a second, memory for a large module, hexadecimal digits a second.

Run as a program, it prints the figures that the project promises: ``python -m benchmarks.frontend``.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from nimblehlo.program.frontend import parse
from nimblehlo.program.ir.fingerprint import fingerprint
from nimblehlo.program.ir.printer import print_module

LAYER = """\
    %{a} = stablehlo.add %{x}, %arg1 : tensor<4x4xf32>{at}
    %{b} = stablehlo.constant dense<{value}> : tensor<f32>{at}
    %{c} = stablehlo.broadcast_in_dim %{b}, dims = [] : (tensor<f32>) -> tensor<4x4xf32>{at}
    %{d} = stablehlo.compare  LT, %{a}, %{c},  FLOAT : \
(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>{at}
    %{e} = stablehlo.select %{d}, %{a}, %{c} : tensor<4x4xi1>, tensor<4x4xf32>{at}
    %{f} = stablehlo.dot_general %{e}, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : \
(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>{at}
    %{g} = stablehlo.reduce(%{f} init: %{b}) applies stablehlo.add across dimensions = [1] : \
(tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>{at}
    %{h} = stablehlo.broadcast_in_dim %{g}, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>{at}
    %{i} = "stablehlo.gather"(%{h}, %arg2) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], \
collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, \
slice_sizes = array<i64: 1, 4>}}> : (tensor<4x4xf32>, tensor<4x1xi32>) -> tensor<4x4xf32>{at}
    %{j} = stablehlo.multiply %{i}, %{e} : tensor<4x4xf32>{at}
"""
"""Ten statements as JAX writes them."""


def module_text(operations: int, locations: bool = True) -> str:
    """A program of about this number of operations, with the locations that exporters print."""
    texts = ["module @jit_f {\n  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>, "]
    texts.append("%arg2: tensor<4x1xi32>) -> tensor<4x4xf32> {\n")
    last = "arg0"
    for layer in range(operations // 10):
        names = {letter: 10 * layer + index for index, letter in enumerate("abcdefghij")}
        at = f" loc(#loc{layer % 500})" if locations else ""
        texts.append(LAYER.format(x=last, value=f"1.{layer % 97}", at=at, **names))
        last = str(names["j"])
    texts.append(f"    return %{last} : tensor<4x4xf32>\n  }}\n}}\n")
    texts += [f'#loc{n} = loc("jit(f)/op{n}"("model.py":{n}:10 to :20))\n' for n in range(500) if locations]
    return "".join(texts)


def hexadecimal_text(megabytes: int) -> str:
    """A program with one constant of this number of megabytes of digits."""
    digits = np.random.default_rng(0).bytes(megabytes * 500_000).hex().upper()
    type = f"tensor<{megabytes * 125_000}xf32>"
    constant = f'stablehlo.constant dense<"0x{digits}"> : {type}'
    return f"func.func @main() -> {type} {{\n  %0 = {constant}\n  return %0 : {type}\n}}\n"


class Text:
    """Texts of 10,000 operations, with and without locations."""

    params = (True, False)
    param_names = ("locations",)

    def setup(self, locations: bool) -> None:
        """Make the text and its module."""
        self.text = module_text(10_000, locations)
        self.module = parse(self.text)

    def time_parse(self, locations: bool) -> None:
        """Text to ir."""
        parse(self.text)

    def time_print(self, locations: bool) -> None:
        """Ir to text."""
        print_module(self.module, locations)

    def time_fingerprint(self, locations: bool) -> None:
        """Ir to digest."""
        fingerprint(self.module)


class Hexadecimal:
    """A constant of 100 MB of digits."""

    def setup(self) -> None:
        """Make the text."""
        self.text = hexadecimal_text(100)

    def time_parse(self) -> None:
        """Text to ir."""
        parse(self.text)

    def peakmem_parse(self) -> None:
        """Text and array: three bytes for two digits."""
        parse(self.text)


class Large:
    """A module of 100,000 operations."""

    def setup(self) -> None:
        """Make the text."""
        self.text = module_text(100_000)

    def peakmem_parse(self) -> None:
        """Text and ir."""
        parse(self.text)


def seconds(function: Callable[[], object], repetitions: int = 5) -> float:
    """The shortest of several runs."""
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def peak_megabytes(statement: str) -> float:
    """The peak memory of a fresh process that runs `statement` on this module's definitions (Linux)."""
    # The figure of getrusage would count what this process had when it made the other.
    script = f"import runpy; names = runpy.run_path({__file__!r}); {statement}; "
    script += "print(open('/proc/self/status').read())"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    (line,) = [line for line in finished.stdout.splitlines() if line.startswith("VmHWM")]
    return float(line.split()[1]) / 1e3


def main() -> None:
    """Print the figures."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for locations in (True, False):
        text = module_text(20_000, locations)
        rate = 20_000 / seconds(lambda text=text: parse(text))  # type: ignore[misc]
        print(f"parse, {'with' if locations else 'without'} locations: {rate:,.0f} operations/s")
    text = hexadecimal_text(100)
    print(f"parse, hexadecimal digits: {len(text) / 1e6 / seconds(lambda: parse(text)):,.0f} MB/s of text")
    module = parse(module_text(20_000))
    print(f"print: {20_000 / seconds(lambda: print_module(module)):,.0f} operations/s")
    print(f"fingerprint: {20_000 / seconds(lambda: fingerprint(module)):,.0f} operations/s")
    empty = peak_megabytes("text = names['module_text'](100_000)")
    full = peak_megabytes("module = names['parse'](names['module_text'](100_000))")
    print(f"100,000 operations: peak {full:,.0f} MB, of which {full - empty:,.0f} MB for the module")


if __name__ == "__main__":
    main()
