"""Measures one program with NimbleHLO and with XLA:CPU, and compares the results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import nimblehlo
from nimblehlo.inspection.profiling.bound import WON
from tools.comparison import difference, no_telling_result

from ..measuring import seconds, side_by_side, warm_up
from .declaration import LibraryProgram

WARM_UP_SECONDS = 3.0
"""Seconds for which a program is called before it is timed, so that background compilations end."""


@dataclass(frozen=True)
class Measurement:
    """The measurements of one program; times in seconds, memory in bytes.

    Attributes:
        program: name of the program.
        operations: number of operations of the program as JAX lowers it.
        disagreement: what tells the results from those of XLA:CPU, or why nothing could; None if they agree.
        compile, xla_compile: time of compiling, nothing being compiled before.
        first, xla_first: time from the lowered program to the first results.
        warm, xla_warm: median time of a later call, the two systems being called in turn.
        ratio: median over the pairs of calls of how many times as fast as XLA:CPU a call is.
        temporaries, xla_temporaries: memory for temporary values.
        bound: the least time of a call on this machine (`nimblehlo.inspection.profiling.bound`).
    """

    program: str
    operations: int
    disagreement: str | None
    compile: float
    xla_compile: float
    first: float
    xla_first: float
    warm: float
    xla_warm: float
    ratio: float
    temporaries: int
    xla_temporaries: int
    bound: float

    @property
    def bound_share(self) -> float:
        """The share of the bound that a warm call reaches."""
        return self.bound / self.warm

    @property
    def is_won(self) -> bool:
        """Whether a warm call is not slower than XLA:CPU's, or so close to its bound that nothing can be."""
        return self.ratio >= 1 or self.bound_share >= WON

    @property
    def first_ratio(self) -> float:
        """How many times as fast as XLA:CPU the first results are there."""
        return self.xla_first / self.first


def _timed(action: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def measure(program: LibraryProgram) -> Measurement:
    """Measure a program in this process. The folder of compiled code should be empty.

    Raises:
        NimbleError: NimbleHLO refuses the program or fails to run it.
    """
    with program.precision():
        lowered, arrays = program.lowered()
        inputs = [numpy_input(array) for array in arrays]
        executable, compile_seconds = _timed(lambda: nimblehlo.compile(lowered))
        results, call_seconds = _timed(lambda: executable(*inputs))
        compiled, xla_compile_seconds = _timed(lowered.compile)
        expected, xla_call_seconds = _timed(lambda: jax.block_until_ready(compiled(*arrays)))
        disagreement = _disagreement(results, expected, program.bound)

        def ours() -> object:
            return executable(*inputs)

        def xla() -> object:
            return jax.block_until_ready(compiled(*arrays))

        warm_up(ours, WARM_UP_SECONDS)
        warm_results = executable(*inputs)
        disagreement = disagreement or _disagreement(warm_results, expected, program.bound)
        min_pairs = 3 if max(seconds(ours), xla_call_seconds) > 2 else 10
        compared = side_by_side(ours, xla, for_seconds=2.0, min_pairs=min_pairs)
        if disagreement is not None and _are_both_right(lowered, inputs, warm_results, expected):
            disagreement = None
        disagreement = no_telling_result(map(_output, expected), program.bound) or disagreement
    return Measurement(
        program.name,
        sum(1 for _ in nimblehlo.load(lowered).walk()),
        disagreement,
        compile_seconds,
        xla_compile_seconds,
        compile_seconds + call_seconds,
        xla_compile_seconds + xla_call_seconds,
        compared.ours,
        compared.other,
        compared.ratio,
        executable.memory().temporaries,
        int(compiled.memory_analysis().temp_size_in_bytes),
        executable.bound(inputs).seconds,
    )


def _are_both_right(lowered: Any, inputs: list[Any], results: list[Any], expected: list[Any]) -> bool:
    """Whether both systems' results lie within the bounds that `nimblehlo.accuracy` computes.

    It takes minutes, and decides where a result is nothing but rounding errors: an optimizer that divides a
    gradient by its size makes steps of full length of a gradient that is zero in exact arithmetic.
    """
    bounds = nimblehlo.accuracy(lowered, inputs)
    return not any(bounds.violations([*map(np.asarray, one)]) for one in (results, expected))


def numpy_input(array: Any) -> Any:
    """An array of JAX as one of NumPy; typed random keys stay what they are."""
    return array if jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key) else np.asarray(array)


def _output(array: Any) -> np.ndarray[Any, Any]:
    """A result of JAX as an array of NumPy; a typed random key as its data."""
    is_key = jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if is_key else array)


def _disagreement(results: list[Any], expected: list[Any], bound: float) -> str | None:
    """The first difference that counts, with the number of the result."""
    for number, (result, other) in enumerate(zip(results, expected, strict=True)):
        reason = difference(np.asarray(result), _output(other), bound)
        if reason is not None:
            return f"result {number}: {reason}"
    return None
