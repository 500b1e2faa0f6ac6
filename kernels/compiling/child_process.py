"""Processes of Python that compile for this one: whether they may be started, and pipes to them."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from io import FileIO
from typing import IO, cast

from ..launch import processor
from ..launch.mpi_launcher import launched_ranks
from ..launch.threads import available_threads

END_SECONDS = 5.0
"""Seconds in which a process ends before it is left alone."""
_WORKERS_END_SECONDS = 0.5
"""Seconds in which a process ends with its workers, which takes 1 ms, before it is killed."""


def may_start() -> bool:
    """Whether this process may start others: not where Python is embedded in a program, or where the ranks of
    a program share the processors."""
    is_python = "python" in os.path.basename(sys.executable or "").lower()
    return is_python and available_threads() > 1 and launched_ranks() == 1


def start(module: str) -> subprocess.Popen[bytes]:
    """Start a process that runs the function `serve` of a module of this package, with pipes to it.

    Raises:
        OSError: no process can be started, such as for want of memory.
    """
    package = module.partition(".")[0]
    script = (
        # What the package imports for its users takes 0.1 s and 12 MB.
        "from importlib.util import find_spec, module_from_spec; "
        f"sys.modules[{package!r}] = module_from_spec(find_spec({package!r})); "
        f"from {module} import serve; serve()"
    )
    return _started([], script)


def start_workers(module: str, count: int) -> tuple[subprocess.Popen[bytes], list[tuple[FileIO, FileIO]]]:
    """Start a process that runs `serve` of a module of this package, for some workers (`worker.forked`).

    It imports no more than the module does: Python's module `site` alone takes 0.06 s.

    Args:
        count: of the workers; one where processes do not fork (`worker.FORKS`).

    Returns:
        The process, and for each worker the pipes to it and from it.

    Raises:
        OSError: no process can be started, such as for want of memory.
    """
    package = module.partition(".")[0]
    packages = {name: list(sys.modules[name].__path__) for name in (package, f"{package}.kernels")}
    with ExitStack() as ours, ExitStack() as theirs:
        others = [_pipes(ours, theirs) for _ in range(count - 1)]
        numbers = [(0, 1), *[numbers for numbers, _ in others]]
        script = (
            f"packages = {packages!r}\n"
            "for name in packages: sys.modules[name] = type(sys)(name); "
            "sys.modules[name].__path__ = packages[name]\n"
            f"from {module} import serve; serve({numbers!r})"
        )
        process = _started(["-S"], script, [number for pair in numbers[1:] for number in pair])
        ours.pop_all()
    first = cast(FileIO, process.stdin), cast(FileIO, process.stdout)
    return process, [first, *[pipes for _, pipes in others]]


def _pipes(ours: ExitStack, theirs: ExitStack) -> tuple[tuple[int, int], tuple[FileIO, FileIO]]:
    """Pipes to another process and from it.

    Args:
        ours, theirs: they close the ends of this process, and those of the other one.

    Returns:
        The numbers of the files that the other process reads and writes, and the ends of this one.
    """
    read, written = os.pipe()
    theirs.callback(os.close, read)
    requests = ours.enter_context(FileIO(written, "w"))
    read_back, written_back = os.pipe()
    theirs.callback(os.close, written_back)
    return (read, written_back), (requests, ours.enter_context(FileIO(read_back, "r")))


def _started(arguments: list[str], script: str, files: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start Python with a script, which finds `sys.path` as here, pipes to it, and files that stay open."""
    path = [folder for folder in sys.path if isinstance(folder, str) and folder]
    # An interrupt from the terminal is meant for the parent, from the child's start on.
    begin = f"import _signal, sys; _signal.signal(_signal.SIGINT, _signal.SIG_IGN); sys.path[:] = {path!r}\n"
    environment = {**os.environ, processor.ENVIRONMENT_VARIABLE: processor.level()}
    # It multiplies no matrices.
    environment["OPENBLAS_NUM_THREADS"] = "1"
    # -P: a file of the current folder, such as types.py, must not stand for a module of Python.
    return subprocess.Popen(
        [sys.executable, "-P", *arguments, "-c", begin + script],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=files,
        # A child that is forked meanwhile must find nothing in a buffer.
        bufsize=0,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, and wait for its end. Its pipes stay open."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)


def end_workers(process: subprocess.Popen[bytes]) -> None:
    """End a process and the workers that it has forked, for whose ends it waits (`worker.end_when_told`)."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_WORKERS_END_SECONDS)
    # One that has been stopped is not told anything; the system ends its workers.
    kill(process)


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close this process's ends of the pipes to another one."""
    assert process.stdin is not None and process.stdout is not None
    close((process.stdin, process.stdout))


def close(pipes: Iterable[IO[bytes]]) -> None:
    """Close this process's ends of pipes, of which another thread may have closed some."""
    for pipe in pipes:
        with suppress(OSError, ValueError):
            pipe.close()


def abandon(process: subprocess.Popen[bytes]) -> None:
    """Leave a process to the parent of this one, which was forked."""
    close_pipes(process)
    # Otherwise the end of the object would ask for the status of a process that is no child.
    process.returncode = 0


def is_readable(pipe: FileIO, seconds: float) -> bool:
    """Wait until a pipe can be read, or its other end is closed; whether it is."""
    return _is_ready(pipe, selectors.EVENT_READ, seconds)


def is_writable(pipe: FileIO, seconds: float) -> bool:
    """Wait until a pipe can be written, or its other end is closed; whether it is."""
    return _is_ready(pipe, selectors.EVENT_WRITE, seconds)


def _is_ready(pipe: FileIO, event: int, seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, event)
        return bool(selector.select(seconds))
