"""Calls of a program by NimbleHLO and by its peers: XLA:CPU, the reference interpreter, NumPy, memory copies.

`PEERS` maps the name of each to a function that makes its call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax
import numpy as np

import nimblehlo

from .measuring import (
    COPIED_BYTES,
    Action,
    figures,
    fresh_process,
    memory_copy,
    rounded,
    seconds,
    side_by_side,
    warm_up,
)
from .programs import Program

Array = np.ndarray[Any, Any]


def our_call(program: Program, inputs: list[Array]) -> Callable[[], list[Array]]:
    """A call of a warm executable."""
    executable = nimblehlo.compile(program.lowered(inputs).as_text())
    warm_up(lambda: executable(*inputs))
    return lambda: executable(*inputs)


@contextmanager
def xla_call(program: Program, inputs: list[Array]) -> Iterator[Action]:
    """A call of XLA:CPU with the same StableHLO and device arrays, until the results are ready."""
    with program.precision():
        compiled = program.lowered(inputs).compile()
        arrays = [jax.device_put(array) for array in inputs]
        jax.block_until_ready(compiled(*arrays))
        yield lambda: jax.block_until_ready(compiled(*arrays))


@contextmanager
def interpreter_call(program: Program, inputs: list[Array]) -> Iterator[Action | None]:
    """StableHLO's reference interpreter, that of jaxlib, with a parsed program.

    It ends the process for what it does not support.
    """
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    from jaxlib.mlir.passmanager import PassManager

    if not program.interpreted:
        yield None
        return
    stablehlo.register_stablehlo_passes()
    with mlir.make_ir_context():
        module = ir.Module.parse(program.lowered(inputs).as_text())
        PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
        attributes = [mlir.ir_attribute(array) for array in inputs]
        yield lambda: stablehlo.eval_module(module, attributes)


@contextmanager
def numpy_call(program: Program, inputs: list[Array]) -> Iterator[Action | None]:
    """A call of the program's NumPy version."""
    function = program.numpy
    yield None if function is None else lambda: function(*inputs)


@contextmanager
def copy_call(program: Program, inputs: list[Array]) -> Iterator[Action | None]:
    """A copy of memory by all processors."""
    if program.streams:
        with memory_copy() as copy:
            yield copy
    else:
        yield None


PEERS: dict[str, Callable[[Program, list[Array]], AbstractContextManager[Action | None]]] = {
    "xla": xla_call,
    "numpy": numpy_call,
    "memory": copy_call,
    "interpreter": interpreter_call,
}


def ratios(peers: Iterable[str], program: Program, size: str) -> dict[str, float | None]:
    """How many times as fast as each of these peers we are; None for one that does not run the program.

    For memory: the bytes that we move a second over those that the copy moves. Counted is what cannot be
    saved: each argument read once, each result written once. In caches, more than 1 is possible.
    """
    inputs = program.inputs(size)
    ours = our_call(program, inputs)
    moved = sum(array.nbytes for array in (*inputs, *ours()))
    found: dict[str, float | None] = {}
    for peer in peers:
        with PEERS[peer](program, inputs) as other:
            min_pairs = 1 if peer == "interpreter" else 5  # its calls may take seconds
            value = None if other is None else side_by_side(ours, other, min_pairs=min_pairs).ratio
        if value is not None:
            value = rounded(value * moved / (2 * COPIED_BYTES) if peer == "memory" else value)
        found[peer] = value
    return found


def bound_share(program: Program, size: str) -> float:
    """The share of the bound (`nimblehlo.inspection.profiling.bound`) that the fastest of some calls
    reaches."""
    inputs = program.inputs(size)
    executable = nimblehlo.compile(program.lowered(inputs).as_text())
    warm_up(lambda: executable(*inputs))
    times: list[float] = []
    warm_up(lambda: times.append(seconds(lambda: executable(*inputs))), 0.4, 10)
    return rounded(executable.bound(inputs).share(min(times)))


def ratio(peer: str, program: Program, size: str) -> float | None:
    """`ratios` of one peer."""
    return ratios([peer], program, size)[peer]


FIRST_OF_XLA = """
import sys, time
started = time.perf_counter()
import jax
times = [time.perf_counter() - started]
from benchmarks.programs import PROGRAMS
program = PROGRAMS[sys.argv[1]]
inputs = program.inputs(sys.argv[2])
with program.precision():
    lowered = program.lowered(inputs)
    started = time.perf_counter()
    jax.block_until_ready(lowered.compile()(*inputs))
    times.append(time.perf_counter() - started)
print("FIGURES", sum(times))
"""
"""Counted are importing JAX, compiling and a call; not tracing and lowering: they make the text for both."""


def first_result_ratio(program: Program, size: str, pairs: int = 3) -> float:
    """XLA:CPU's time to a first result divided by NimbleHLO's, in new processes with empty caches."""
    inputs = program.inputs(size)
    text = program.lowered(inputs).as_text()
    found = []
    for _ in range(pairs):
        ours = fresh_process(text, inputs, calls=1).first_result
        other: float = figures([sys.executable, "-c", FIRST_OF_XLA, program.name, size], {})
        found.append(other / ours)
    return rounded(float(np.median(found)))
