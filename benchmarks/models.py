"""Compares calls, or first results, of the examples and the tests' models with XLA:CPU.

    python -m benchmarks.models [--first] [--below 1] [NAME ...]

The programs are small, so the constant costs of a call and of each step dominate. XLA:CPU compiles the same
text, and its arguments are already on its device. Calls of both alternate after NimbleHLO has been called for
a second. With `--first`, the time from the text to the first result is measured, with an empty cache of
compiled code. Tests compare the results.
"""

import argparse
import gc
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import nimblehlo
from nimblehlo.compiler.plan.tiering.background import BACKGROUND

from .measuring import Action, Array, Comparison, report, seconds, side_by_side, warm_up

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Model(NamedTuple):
    """A program as text, and its inputs."""

    name: str
    text: str
    inputs: list[Array]


def examples() -> Iterator[Model]:
    """The programs in `examples`."""
    for path in sorted(EXAMPLES.glob("*.mlir")):
        inputs = sorted(EXAMPLES.glob(f"{path.stem}.input*.npy"))
        yield Model(f"examples/{path.stem}", path.read_text(), [np.load(one) for one in inputs])


def models() -> Iterator[Model]:
    """The tests' models that XLA:CPU runs."""
    # asv imports each module of this folder where there are no tests.
    from tests.models import MODELS

    for name, model in MODELS.items():
        if model.reference is None:
            yield Model(name, model.lowered().as_text(), model.inputs())


def xla_compilation(program: Model) -> Callable[[], Action]:
    """A function that compiles a program with XLA:CPU, and returns a call that waits for the results."""
    from jax.extend.backend import get_backend
    from jaxlib import xla_client

    backend = get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.devices()[:1]))
    with jax.enable_x64(True):
        arrays = [jax.device_put(array).block_until_ready() for array in program.inputs]

    def compile() -> Action:
        compiled = backend.compile_and_load(program.text, devices, xla_client.CompileOptions())

        def call() -> None:
            for result in compiled.execute_sharded(arrays).disassemble_into_single_device_arrays():
                result[0].block_until_ready()

        return call

    return compile


def compiled_call(program: Model) -> Action:
    """Compile a program with NimbleHLO, and return a call."""
    executable = nimblehlo.compile(program.text)
    return lambda: executable(*program.inputs)


def compare_calls(program: Model) -> Comparison:
    """Compare warm calls."""
    ours = compiled_call(program)
    warm_up(ours)
    return side_by_side(ours, xla_compilation(program)(), max_pairs=1000)


def compare_first_results(program: Model) -> Comparison:
    """Compare the times from the text to the first result."""
    compile = xla_compilation(program)
    # Earlier programs' compilations and garbage must not count.
    BACKGROUND.wait()
    gc.collect()
    ours = seconds(lambda: compiled_call(program)())
    BACKGROUND.wait()
    gc.collect()
    other = seconds(lambda: compile()())
    return Comparison(ours, other, other / ours)


def main() -> int:
    """1 where a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of programs; all where there are none")
    parser.add_argument("--below", type=float, default=math.inf, help="list only those of a lower ratio")
    parser.add_argument("--first", action="store_true", help="compare first results")
    options = parser.parse_args()
    chosen = [one for one in (*examples(), *models()) if not options.names or one.name in options.names]
    compare = compare_first_results if options.first else compare_calls

    def print_slow(name: str, times: Comparison) -> None:
        if times.ratio < options.below:
            print(f"{name:40} {times.ratio:7.2f} times as fast", flush=True)

    print_figures = print_slow if options.below < math.inf else None
    with tempfile.TemporaryDirectory() as folder:
        if options.first:
            os.environ["NIMBLEHLO_CACHE_DIR"] = folder
        return report(chosen, compare, "XLA:CPU", print_figures)


if __name__ == "__main__":
    sys.exit(main())
