"""Processes of Python that compile for this one: whether they may be started, and pipes to them."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO

from ..launch import processor
from ..launch.mpi_launcher import launched_ranks
from ..launch.threads import available_threads

_NICENESS = 5
"""Added to the niceness of a process: calls that go on meanwhile have precedence on the processors. A call
that waits for code leaves a processor to it."""
END_SECONDS = 5.0
"""Seconds in which a process ends before it is left alone."""


def may_start() -> bool:
    """Whether this process may start others: not where Python is embedded in a program, or where the ranks of
    a program share the processors."""
    is_python = "python" in os.path.basename(sys.executable or "").lower()
    return is_python and available_threads() > 1 and launched_ranks() == 1


def yield_to_calls() -> None:
    """Give the calls of the parent precedence on the processors: once this process has loaded what it needs,
    which takes twice as long while calls and their threads precede it."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


def start(module: str) -> subprocess.Popen[bytes]:
    """Start a process that runs the function `serve` of a module of this package, with pipes to it.

    Raises:
        OSError: no process can be started, such as for want of memory.
    """
    path = [folder for folder in sys.path if isinstance(folder, str) and folder]
    package = module.partition(".")[0]
    # An interrupt from the terminal is meant for the parent, from the child's start on.
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        f"import sys; sys.path[:] = {path!r}; "
        # What the package imports for its users takes 0.1 s and 12 MB.
        "from importlib.util import find_spec, module_from_spec; "
        f"sys.modules[{package!r}] = module_from_spec(find_spec({package!r})); "
        f"from {module} import serve; serve()"
    )
    environment = {**os.environ, processor.ENVIRONMENT_VARIABLE: processor.level()}
    # It multiplies no matrices.
    environment["OPENBLAS_NUM_THREADS"] = "1"
    # -P: a file of the current folder, such as types.py, must not stand for a module of Python.
    return subprocess.Popen(
        [sys.executable, "-P", "-c", script],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # A child that is forked meanwhile must find nothing in a buffer.
        bufsize=0,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, and wait for its end. Its pipes stay open."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close this process's ends of the pipes to another one."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
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


def read_exactly(stream: FileIO, size: int, can_read: Callable[[], bool] = lambda: True) -> bytes:
    """The next bytes of a pipe without a buffer.

    Args:
        stream: the pipe.
        size: the number of bytes.
        can_read: waits for bytes; whether there are some.

    Raises:
        EOFError: it ends before.
        TimeoutError: there are none.
    """
    data = bytearray()
    while len(data) < size:
        if not can_read():
            raise TimeoutError
        read = stream.read(size - len(data))
        if not read:
            raise EOFError
        data += read
    return bytes(data)


def write_all(stream: FileIO, data: bytes, can_write: Callable[[], bool] = lambda: True) -> None:
    """Write to a pipe without a buffer.

    Args:
        stream: the pipe; if its writes do not block, `can_write` must wait.
        data: what is written.
        can_write: waits until bytes can be written; whether some can.

    Raises:
        TimeoutError: none can.
    """
    rest = memoryview(data)
    while rest:
        if not can_write():
            raise TimeoutError
        # None: the pipe is full, and its writes do not block.
        rest = rest[stream.write(rest) or 0 :]
