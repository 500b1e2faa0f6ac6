"""Command: the time of reading bytecode, of parsing the same text, and of jaxlib in a process of its own.

The programs are chains of elementwise and layout operations with constants, of 100, 5,000 and 30,000
operations. Each time is the least of several runs. An artifact has the location of each operation, so that it
is the text with locations that says the same.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from nimblehlo import load
from nimblehlo.program.frontend.bytecode import write_artifact, write_bytecode
from nimblehlo.program.ir.printer import print_module

SIZES: Final = (100, 5_000, 30_000)
_STEPS: Final = (
    "%{n} = stablehlo.add %{a}, %{b} : tensor<4x6xf32>",
    "%{n} = stablehlo.constant dense<{n}.0> : tensor<4x6xf32>",
    "%{n} = stablehlo.exponential %{a} : tensor<4x6xf32>",
    "%{n} = stablehlo.multiply %{a}, %{b} : tensor<4x6xf32>",
    "%{n} = stablehlo.pad %{a}, %z, low = [1, 0], high = [-1, 0], interior = [0, 0] "
    ": (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>",
    "%{n} = stablehlo.maximum %{a}, %{b} : tensor<4x6xf32>",
)

_JAXLIB: Final = """
import sys
from nimblehlo.program.frontend.jaxlib_modules import read_module
module = read_module(open(sys.argv[1], "rb").read())
print(len(module.operation.get_asm(print_generic_op_form=True, assume_verified=True)))
"""


def program(operations: int) -> str:
    """The text of a program."""
    lines = ["%z = stablehlo.constant dense<0.0> : tensor<f32>"]
    names = ["x", "y"]
    for number in range(operations):
        step = _STEPS[number % len(_STEPS)]
        lines.append(step.format(n=number, a=names[-1], b=names[-2]))
        names.append(str(number))
    body = "\n".join(lines)
    return (
        "func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {\n"
        f"{body}\nreturn %{names[-1]} : tensor<4x6xf32>\n}}"
    )


def least(function: Callable[[], object], runs: int) -> float:
    """The least time in seconds of several runs."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def _jaxlib(path: Path) -> None:
    subprocess.run([sys.executable, "-c", _JAXLIB, path], check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    columns = "artifact | bytecode | text | generic text | with locations | jaxlib"
    print(f"| operations | {columns} | with locations / artifact | jaxlib / artifact |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size in SIZES:
        times = _times(program(size), options.runs)
        cells = [f"{1000 * each:.2f} ms" for each in times]
        ratios = [f"{times[4] / times[0]:.1f}", f"{times[5] / times[0]:.1f}"]
        print("|", " | ".join([str(size), *cells, *ratios]), "|")
    return 0


def _times(text: str, runs: int) -> list[float]:
    """The times of an artifact, of bytecode, of three forms of text, and of jaxlib with the artifact."""
    module = load(text, verify=False)
    artifact = write_artifact(module)
    times = [
        least(partial(load, content, verify=False), runs) for content in (artifact, write_bytecode(module))
    ]
    texts = (text, print_module(module), print_module(module, locations=True))
    times += [least(partial(load, content, verify=False), runs) for content in texts]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "artifact"
        path.write_bytes(artifact)
        return [*times, least(partial(_jaxlib, path), runs)]


if __name__ == "__main__":
    sys.exit(main())
