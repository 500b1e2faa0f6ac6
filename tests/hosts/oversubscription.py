"""How much slower programs are with more threads than the process has processors.

Two processes run the programs of benchmarks/, one with as many threads as processors, the other with
`THREADS`. They take turns call by call, so that other load slows both, and the ratio is the median over all
pairs.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from benchmarks.measuring import Comparison, seconds, side_by_side, warm_up
from benchmarks.programs import PROGRAMS

from .host import Failed

THREADS = 64
MAX_SLOWDOWN = 1.3
SIZES = ("small", "medium")

TIMED_SECONDS = 0.002
"""The shortest measured time; the answer of a process takes a tenth of it. Shorter calls are repeated."""

ROUNDS = 3
"""How often a ratio above the limit is measured again, in new processes; the smallest counts.

A disturbance passes, and where the kernel and the loader place arrays and code makes some loops of a process
up to twice as fast as those of another one with as many threads.
"""


class Worker:
    """A process that runs programs of benchmarks/ on a number of threads."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hosts.oversubscription"],
            env={**os.environ, "NUMBA_NUM_THREADS": str(threads), "NIMBLEHLO_VERIFY": "off"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: str) -> str:
        """The worker's answer to a request: see `serve`.

        Raises:
            Failed: the worker has ended.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise ValueError("the worker has no pipes")
        try:
            print(request, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            status = self._process.wait()
            raise Failed(f"the process with {self._threads} threads ended with status {status} at: {request}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()


def slowdowns(
    names: Sequence[str], sizes: Sequence[str], for_seconds: float, processors: int
) -> Iterator[tuple[str, Comparison]]:
    """The times of a call of each program on few threads (`ours`) and on many (`other`), in seconds."""
    with Worker(processors) as few, Worker(THREADS) as many:
        for name in names:
            for size in sizes:
                program = f"{name} {size}"
                comparison = _compared(few, many, program, for_seconds)
                yield program, _smallest(comparison, program, 3 * for_seconds, processors)


def _smallest(first: Comparison, program: str, for_seconds: float, processors: int) -> Comparison:
    """The comparison, or that of `ROUNDS` more with the smallest ratio if its own is above the limit."""
    best = first
    for _ in range(ROUNDS):
        if best.ratio <= MAX_SLOWDOWN:
            break
        with Worker(processors) as few, Worker(THREADS) as many:
            again = _compared(few, many, program, for_seconds)
        best = min(best, again, key=lambda comparison: comparison.ratio)
    return best


def _compared(few: Worker, many: Worker, program: str, for_seconds: float) -> Comparison:
    call_seconds = float(few.ask(f"compile {program}"))
    many.ask(f"compile {program}")
    calls = max(1, round(TIMED_SECONDS / call_seconds))
    run = [functools.partial(worker.ask, f"call {calls}") for worker in (few, many)]
    times = side_by_side(*run, for_seconds=for_seconds)
    return Comparison(times.ours / calls, times.other / calls, times.ratio)


def serve() -> None:
    """Answer each line of the standard input.

    `compile PROGRAM SIZE` compiles a program, and answers the seconds of a call; `call N` calls it N times.
    """
    import nimblehlo

    options = nimblehlo.Options(compile="eager")
    call: Callable[[], object] = list
    for request in sys.stdin:
        kind, argument, *rest = request.split()
        if kind == "compile":
            program = PROGRAMS[argument]
            inputs = program.inputs(rest[0])
            call = functools.partial(nimblehlo.compile(program.lowered(inputs), options=options), *inputs)
            warm_up(call, for_seconds=0.1, max_calls=1000)
            print(min([seconds(call) for _ in range(5)]), flush=True)
        else:
            for _ in range(int(argument)):
                call()
            print(flush=True)


if __name__ == "__main__":
    serve()
