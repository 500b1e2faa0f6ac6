"""The examples and the tests' models beside XLA:CPU, warm or to the first result.

    python -m benchmarks.models [--first] [--below 1] [NAME ...]

Small programs of many kinds: here counts what a call and each of its steps cost beside the elements. XLA:CPU
gets the same text, its arguments in its own memory; the two are called in turn once NimbleHLO has been called
for a second. With `--first` each compiles and calls once, with an empty cache of code. Results are compared
in the tests.
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
from nimblehlo.plan.tiering.background import BACKGROUND

from .measuring import Action, Array, Comparison, seconds, side_by_side, warm_up

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Text(NamedTuple):
    """A program as text, and what it is called with."""

    name: str
    text: str
    inputs: list[Array]


def examples() -> Iterator[Text]:
    """The programs in `examples`."""
    for path in sorted(EXAMPLES.glob("*.mlir")):
        inputs = sorted(EXAMPLES.glob(f"{path.stem}.input*.npy"))
        yield Text(f"examples/{path.stem}", path.read_text(), [np.load(one) for one in inputs])


def models() -> Iterator[Text]:
    """The tests' models that XLA:CPU runs."""
    # asv imports each module of this folder where there are no tests.
    from tests.models import MODELS

    for name, model in MODELS.items():
        if model.reference is None:
            yield Text(name, model.lowered().as_text(), model.inputs())


def xla_call(program: Text) -> Callable[[], Action]:
    """What lets XLA:CPU compile a text; it gives the call, which returns once the results are ready."""
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


def our_call(program: Text) -> Action:
    """The call of what NimbleHLO makes of a text."""
    executable = nimblehlo.compile(program.text)
    return lambda: executable(*program.inputs)


def compared(program: Text) -> Comparison:
    """Both, in turn."""
    ours = our_call(program)
    warm_up(ours)
    return side_by_side(ours, xla_call(program)(), max_pairs=1000)


def compared_first(program: Text) -> Comparison:
    """The first result of each, from the text on."""
    compile = xla_call(program)
    # What earlier programs left is nobody's time.
    BACKGROUND.wait()
    gc.collect()
    ours = seconds(lambda: our_call(program)())
    BACKGROUND.wait()
    gc.collect()
    other = seconds(lambda: compile()())
    return Comparison(ours, other, other / ours)


def report(options: argparse.Namespace) -> int:
    """Compare the programs asked for, and print it; 1 where one failed."""
    compare = compared_first if options.first else compared
    ratios: dict[str, float] = {}
    failed = []
    for program in [*examples(), *models()]:
        if options.names and program.name not in options.names:
            continue
        try:
            found = compare(program)
        except Exception as error:
            print(f"{program.name:40} FAILED {type(error).__name__}: {str(error)[:160]}", flush=True)
            failed.append(program.name)
            continue
        ratios[program.name] = found.ratio
        if found.ratio < options.below:
            print(
                f"{program.name:40} XLA:CPU {found.other * 1e6:10.1f} µs, "
                f"NimbleHLO {found.ours * 1e6:10.1f} µs, {found.ratio:6.2f} times as fast",
                flush=True,
            )
    if ratios:
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        slower = sum(ratio < 1 for ratio in ratios.values())
        print(f"{len(ratios)} programs: geometric mean {mean:.2f}, {slower} below 1, {len(failed)} failed")
    return bool(failed)


def main() -> int:
    """1 where a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of programs; all where there are none")
    parser.add_argument("--below", type=float, default=math.inf, help="list only those of a lower ratio")
    parser.add_argument("--first", action="store_true", help="compare first results")
    options = parser.parse_args()
    if not options.first:
        return report(options)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NIMBLEHLO_CACHE_DIR"] = folder
        return report(options)


if __name__ == "__main__":
    sys.exit(main())
