"""Measures the figures of a `machine.Machine`, by the loops of `kernels/rates`.

Each loop is so short that it often runs undisturbed, and is repeated: the best run counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...kernels.launch.native import Launch, NativeFunction, run_in_order, run_independent
from ...kernels.matmul import low_precision_matmul
from ...kernels.rates import rates
from ...program.ops.framework.costs import FunctionClass
from .machine import LEVELS, MULTIPLIED, TRAFFIC, WIDTHS

_RUNS: Final = 8
"""Runs of a loop, if all threads take part in them."""
_MAX_RUN_SECONDS: Final = 0.06
"""Seconds after which a loop is not repeated any more."""
_INSTRUCTIONS: Final = 6000
"""Repetitions of a loop of instructions: about 20 us for each instruction of a cycle."""
_MOVED_BYTES: Final = 1 << 20
"""Bytes that a run moves in the L1 and L2 cache, by each thread: some 10 us."""
_UNCACHED: Final = 3
"""The multiple of the L3 cache that no cache holds."""
_FUNCTION_BYTES: Final = 1 << 13
_FUNCTION_REPEATS: Final = 64
_INDICES: Final = 1 << 14
"""Loads of a gather."""
_CALLS, _BATCHES, _TASKS, _WAKES = 50, 40, 2000, 15
_ASLEEP_SECONDS: Final = 0.004
"""Workers sleep after a pause of so long."""
_PRODUCT_SIZE: Final = 512
"""Rows and columns of a product of narrow elements."""


def thread_counts(threads: int) -> tuple[int, ...]:
    """1, 2, 4, 8 and so on, and all threads."""
    most = min(threads, rates.MAX_THREADS)
    return tuple(sorted({*[1 << n for n in range(most.bit_length()) if 1 << n <= most], most}))


def figures_of(counts: Sequence[int], caches: tuple[int, int, int]) -> dict[str, float]:
    """All figures, by name and number of threads.

    Args:
        counts: the numbers of threads.
        caches: bytes of the caches.
    """
    found: dict[str, float] = {}
    memory = _touched(_memory_bytes(counts, caches))
    for threads in counts:
        measured = [
            *_traffic(memory, caches, threads),
            *_gathers(memory, caches, threads),
            *_instructions(threads),
            *_functions(threads),
            *_times(threads),
        ]
        found.update({f"{name} {threads}": value for name, value in measured if 0 < value < math.inf})
    _fill_gaps(found, counts)
    return found


def sharing_figures(threads: int, caches: tuple[int, int, int]) -> dict[str, float]:
    """The figures on which the simulation of some threads depends (`thread_simulation.py`): what launches and
    tasks cost, and how fast these threads copy.

    Args:
        threads: at least 2.
        caches: bytes of the caches.
    """
    memory = _touched(_memory_bytes((1, threads), caches))
    copies = _traffic(memory, caches, threads, ("copy",))
    measured = {f"{name} {threads}": value for name, value in [*_times(threads), *copies]}
    measured.update({f"{name} 1": value for name, value in _times(1)})
    return {name: value for name, value in measured.items() if 0 < value < math.inf}


def _memory_bytes(counts: Sequence[int], caches: tuple[int, int, int]) -> int:
    """Bytes that no cache holds, and that suffice for the L1 and L2 cache of each thread."""
    return max(_UNCACHED * max(caches[2], caches[1]), max(counts) * max(caches[0], caches[1]))


def _fill_gaps(found: dict[str, float], counts: Sequence[int]) -> None:
    """Where threads never ran at the same time, rates are those of fewer threads."""
    for name, value in list(found.items()):
        figure, _, threads = name.rpartition(" ")
        for more in counts:
            if more > int(threads):
                found.setdefault(f"{figure} {more}", value)


def _touched(size: int) -> Any:
    """Zeros whose pages are there, and which begin at a page."""
    memory = np.empty(size + 4096, np.uint8)
    memory.fill(0)
    return memory[-memory.ctypes.data % 4096 :][:size]


def best_seconds(run: Callable[[], float]) -> float:
    """The least seconds of a few runs; infinity if none succeeded."""
    best, runs, end = math.inf, 0, time.perf_counter() + _MAX_RUN_SECONDS
    while runs < _RUNS and time.perf_counter() < end:
        seconds = run()
        if not math.isnan(seconds):
            best, runs = min(best, seconds), runs + 1
    return best


def _traffic(
    memory: Any, caches: tuple[int, int, int], threads: int, kinds: Iterable[str] = TRAFFIC
) -> Iterator[tuple[str, float]]:
    """Bytes a second of each mix of reads and writes, from and to each cache and memory.

    Arrays fill half of a cache. Those in the L1 and L2 cache are each thread's own.
    """
    sizes = (caches[0] // 2, caches[1] // 2, caches[2] // 2 // threads, memory.size // threads)
    for level, size in zip(LEVELS, sizes, strict=True):
        is_private = level in ("L1", "L2")
        for kind in kinds:
            moved = size // rates.ARRAYS[kind] // rates.STEP_BYTES * rates.STEP_BYTES
            thread_bytes = moved * rates.ARRAYS[kind]
            repeats = max(1, _MOVED_BYTES // max(thread_bytes, 1)) if is_private else 1
            settings = {
                "width": rates.vector_bytes(), "memory": memory[: threads * thread_bytes],
                "moved_bytes": moved, "repeats": repeats, "threads": threads,
            }  # fmt: skip
            seconds = _best_variant(kind, settings, range(1) if is_private else range(4))
            yield f"{kind} {level}", threads * repeats * thread_bytes / seconds


def _best_variant(kind: str, settings: dict[str, Any], variants: range) -> float:
    """The least seconds over variants of a loop that moves bytes."""

    def of_variant(variant: int) -> float:
        return best_seconds(lambda: rates.seconds_of(kind, variant=variant, **settings))

    return min(map(of_variant, variants))


def _gathers(memory: Any, caches: tuple[int, int, int], threads: int) -> Iterator[tuple[str, float]]:
    """Loads a second at random indices of arrays that fill half of a cache, or no cache."""
    sizes = (caches[0] // 2, caches[1] // 2, caches[2] // 2 // threads, memory.size // threads)
    generator = np.random.default_rng(0)
    for level, size in zip(LEVELS, sizes, strict=True):
        indices = generator.integers(0, size // 4, _INDICES, np.int32)
        part = memory[: size // 4 * 4 * threads]
        seconds = best_seconds(
            lambda: rates.seconds_of("gather", memory=part, indices=indices, threads=threads)  # noqa: B023
        )
        yield f"gather {level}", threads * _INDICES / seconds


def _instructions(threads: int) -> Iterator[tuple[str, float]]:
    """Multiply-adds a second by element type and vector width, and bytes of other instructions' vectors."""
    per_thread = _INSTRUCTIONS * rates.CHAINS

    def vectors(element: str, width: int) -> float:
        settings = {"width": width, "repeats": _INSTRUCTIONS, "threads": threads}
        return (
            threads * per_thread / best_seconds(lambda: rates.seconds_of("instructions", element, **settings))
        )

    widths = [width for width in (16, 32, 64) if width <= rates.vector_bytes()]
    fused = [width for width in widths if width > 16] or widths  # narrow ones are emulated on x86-64
    best = {}
    for element, size in (("f32", 4), ("f64", 8)):
        by_width = {width: vectors(element, width) * width / size for width in fused}
        for width, rate in by_width.items():
            yield f"multiply-adds {element} {8 * width} bits", rate
        best[element] = max(by_width.values())
    best["bf16"], best["i8"] = best["f32"], 2 * best["f32"]  # by conversion; by words of 16 bits
    for element, size in (("bf16", 2), ("i8", 1)):
        if rates.has_dots(element):
            best[element] = max(best[element], vectors(element, 64) * 64 / size)
        best[element] = max(best[element], product_rate(element, threads))
    yield from [(f"multiply-adds {element}", best[element]) for element in MULTIPLIED]
    yield "instructions", vectors("i32", rates.vector_bytes()) * rates.vector_bytes()


def product_rate(element: str, threads: int) -> float:
    """Multiply-adds a second of a large product of bf16 or i8, by the matrix unit if there is one; 0 if no
    instructions of this processor multiply such elements."""
    import ml_dtypes

    dtype, result = (ml_dtypes.bfloat16, np.float32) if element == "bf16" else (np.int8, np.int32)
    if not low_precision_matmul.implementations(*(np.dtype(one).name for one in (dtype, dtype, result))):
        return 0.0
    shape = (1, _PRODUCT_SIZE, _PRODUCT_SIZE)
    product = low_precision_matmul.Product(shape, shape, dtype, dtype, result, threads)
    ones = np.ones(shape, dtype)
    return _PRODUCT_SIZE**3 / best_seconds(lambda: _seconds(lambda: product(ones, ones)))


def _functions(threads: int) -> Iterator[tuple[str, float]]:
    """Functions a second by class and element type: of elements in the L1 cache, with the fewest
    multiply-adds.

    Narrow elements are computed in f32.
    """
    memory = _touched(threads * _FUNCTION_BYTES)
    for function in FunctionClass:
        for width, number in WIDTHS.items():
            element, size = ("f64", 8) if width == "f64" else ("f32", 4)
            settings = {
                "width": rates.vector_bytes(), "memory": memory, "moved_bytes": _FUNCTION_BYTES,
                "degree": function.value[number], "repeats": _FUNCTION_REPEATS, "threads": threads,
            }  # fmt: skip
            seconds = best_seconds(lambda: rates.seconds_of("functions", element, **settings))  # noqa: B023
            elements = threads * _FUNCTION_REPEATS * _FUNCTION_BYTES // size
            yield f"functions {function.label} {width}", elements / seconds


def _times(threads: int) -> Iterator[tuple[str, float]]:
    """Seconds of a call of native code, of a launch on awake threads, to wake a thread, and of a task."""
    if threads == 1:
        ones = np.ones(1, np.float32)
        empty = NativeFunction(
            [4], [((1,), np.float32)], [Launch(rates.NO_TASK, 1, ((0, 0), (1, 0)), (), 1e-7)], 1
        )
        yield "seconds call", min([_seconds(lambda: _repeat(empty, ones)) for _ in range(_BATCHES)]) / _CALLS
        alone = best_seconds(lambda: _seconds(lambda: run_independent(rates.NO_TASK, 0, _TASKS, 1.0, 1)))
        yield "seconds task", alone / _TASKS
        return

    def launch() -> float:
        return _seconds(lambda: run_independent(rates.NO_TASK, 0, threads, 1.0, threads))

    launches = [launch() for _ in range(_BATCHES * _CALLS // threads)]
    yield "seconds launch", min(launches)
    shared = best_seconds(lambda: _seconds(lambda: run_in_order(rates.NO_TASK, 0, _TASKS, 1.0, threads)))
    yield "seconds steal", threads * shared / _TASKS
    wakes = []
    for _ in range(_WAKES):
        time.sleep(_ASLEEP_SECONDS)
        start = time.perf_counter()
        seconds = rates.seconds_of("instructions", "f32", width=16, repeats=0, threads=threads)
        wakes.append(time.perf_counter() - start - seconds)
    together = [seconds for seconds in wakes if not math.isnan(seconds)]
    if together:
        yield "seconds wake", min(together)


def _repeat(function: Callable[[Any], object], operand: Any) -> None:
    for _ in range(_CALLS):
        function(operand)


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
