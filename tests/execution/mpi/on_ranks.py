"""What the tests of MPI run on each rank: ``mpiexec -n N python -m tests.execution.mpi.on_ranks CASE FILE``.

Each case writes what it has to say to FILE with the rank for its ending; ``test_mpi.py`` judges it.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Grid, HostQueues, NimbleError, mpi
from nimblehlo.execution.mpi import halved_exchange, idle_reports
from tests.execution.grid.programs import groups
from tests.execution.mpi.programs import FAILING, MANY_RANKS, PROGRAMS, inputs_of


def rank() -> int:
    """The rank of this process."""
    from mpi4py import MPI

    return MPI.COMM_WORLD.Get_rank()


def every_program() -> Any:
    """The results of each program for the processes of this rank, twice in turn."""
    told = {}
    for name, program in PROGRAMS.items():
        executable = mpi.compile(program.text, grid=program.grid)
        inputs = [inputs_of(program, process) for process in executable.processes]
        runs = [executable(inputs), executable(inputs)]
        told[name] = [[(r.dtype.name, r.tobytes()) for r in of_process] for run in runs for of_process in run]
    return told


def models() -> Any:
    """The results of models for the devices of this rank; their programs stand beside the file to write."""
    told = {}
    stored = pickle.loads(Path(sys.argv[2]).with_name("models").read_bytes())
    for name, (text, _, inputs) in stored.items():
        executable = mpi.compile(text)
        told[name] = executable([inputs] * len(executable.processes))
    return told


def halving() -> Any:
    """The results of programs by direct messages and by halving, and what a deadlock's error says.

    Reports of idle ranks go along a tree of several levels.
    """
    idle_reports.FAN_OUT = 2  # type: ignore[misc]
    told: dict[str, Any] = {}
    for limit in (1000, 1):
        halved_exchange.MAX_DIRECT_RANKS = limit  # type: ignore[misc]
        for name, program in MANY_RANKS.items():
            executable = mpi.compile(program.text, grid=program.grid)
            results = executable([inputs_of(program, process) for process in executable.processes])
            told[f"{name} {limit}"] = [[r.tobytes() for r in of_process] for of_process in results]
    start = time.monotonic()
    try:
        everyone = groups([list(range(16))])
        mpi.execute(
            FAILING["deadlock"].replace(groups([[0, 1]]), everyone), [[np.ones(5, np.float32)]], grid=Grid(16)
        )
    except NimbleError as error:
        told["deadlock"] = str(error), time.monotonic() - start
    return told


def failures() -> Any:
    """For each program that must fail, the error's text and the seconds that it took."""
    told = {}
    for name in ("deadlock", "check", "unreceived", "inputs", "mismatch", "full disk"):
        start = time.monotonic()
        try:
            _fail(name)
            told[name] = "no error", 0.0
        except NimbleError as error:
            told[name] = f"{type(error).__name__}: {error}", time.monotonic() - start
    (result,), *_ = mpi.execute(PROGRAMS["all_reduce"].text, _inputs("all_reduce"), grid=Grid(8))
    told["afterwards"] = result.tobytes(), 0.0
    return told


def _inputs(name: str) -> list[Any]:
    program = PROGRAMS[name]
    return [inputs_of(program, process) for process in mpi.compile(program.text, grid=program.grid).processes]


def _fail(name: str) -> None:
    from tests.execution.mpi.programs import FAILING

    inputs = [[np.ones(5, np.float32)]]
    if name == "inputs" and rank() == 1:
        inputs = [[np.ones(4, np.float32)]]
    text = FAILING[name]
    if name == "mismatch" and rank() == 1:
        text = text.replace("stablehlo.add", "stablehlo.maximum").replace("5xf32", "6xf32")
        inputs = [[np.ones(6, np.float32)]]
    mpi.execute(text, inputs, host=HostQueues(outfeed=_FullDisk()))


def interrupted() -> Any:
    """Interrupts one rank while the other waits for it: what each raises, and what they compute then."""
    from tests.execution.mpi.programs import FAILING

    text, inputs = FAILING["full disk"], [[np.ones(5, np.float32)]]
    told: list[Any] = []
    for queues in (HostQueues(outfeed=_Interrupt()), HostQueues(outfeed=queue.Queue())):
        try:
            told.append(mpi.execute(text, inputs, host=queues)[0][0].tolist())
        except (KeyboardInterrupt, NimbleError) as error:
            told.append(f"{type(error).__name__}: {error}")
    return told


class _Interrupt:
    """An outfeed during which a user interrupts one rank."""

    def put(self, item: Any, /) -> None:
        if rank() == 1:
            raise KeyboardInterrupt

    def get_nowait(self) -> Any:
        raise queue.Empty


class _FullDisk:
    """An outfeed that writes to a disk without space; one rank's is enough."""

    def put(self, item: Any, /) -> None:
        if rank() == 1:
            with open("/dev/full", "wb", buffering=0) as file:
                file.write(item[0].tobytes())

    def get_nowait(self) -> Any:
        raise queue.Empty


def killed() -> Any:
    """Ends one rank without a word while the others wait for it: their error, and the seconds until it."""
    executable = mpi.compile(PROGRAMS["all_reduce"].text, grid=Grid(8))
    inputs = _inputs("all_reduce")
    executable(inputs)
    for each in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)  # a launcher may end the others with them
    executable.communicator.Barrier()
    if rank() == 1:
        os.kill(os.getpid(), 9)
    start = time.monotonic()
    texts = []
    for _ in range(2):
        try:
            executable(inputs)
            texts.append("no error")
        except NimbleError as error:
            texts.append(f"{type(error).__name__}: {error}")
    return texts, time.monotonic() - start


def left_alone() -> Any:
    """Ends one rank without a word while the others compute: their processes must end all the same."""
    executable = mpi.compile(PROGRAMS["all_reduce"].text, grid=Grid(8))
    executable(_inputs("all_reduce"))
    for each in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)
    executable.communicator.Barrier()
    if rank() == 1:
        time.sleep(0.5)
        os.kill(os.getpid(), 9)
    return rank()


def speed() -> Any:
    """Median seconds of an all_reduce of 64 MB here and of mpi4py's own, in turn."""
    from mpi4py import MPI

    size = 1 << 24
    text = (
        PROGRAMS["all_reduce"]
        .text.replace("5xf32", f"{size}xf32")
        .replace("[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8", "[[0, 1, 2, 3]]> : tensor<1x4")
    )
    executable = mpi.compile(text)
    values = np.random.default_rng(rank()).random(size, np.float32)
    total = np.empty_like(values)
    times: list[tuple[float, float]] = []
    for _ in range(5):
        MPI.COMM_WORLD.Barrier()
        start = time.perf_counter()
        executable([[values]])
        middle = time.perf_counter()
        MPI.COMM_WORLD.Barrier()
        begin = time.perf_counter()
        MPI.COMM_WORLD.Allreduce(values, total)
        times.append((middle - start, time.perf_counter() - begin))
    return [float(np.median(each)) for each in zip(*times[1:], strict=True)]


CASES: dict[str, Callable[[], Any]] = {
    case.__name__: case
    for case in (every_program, models, halving, failures, interrupted, killed, left_alone, speed)
}

if __name__ == "__main__":
    nimblehlo.Options()
    told = CASES[sys.argv[1]]()
    Path(f"{sys.argv[2]}.{rank()}").write_bytes(pickle.dumps(told))
