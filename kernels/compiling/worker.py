"""What a process needs that compiles for another one: its priority, pipes, and copies of itself.

Such a process imports as little as it can: each module takes 1 to 20 ms of the time that a first call waits.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from io import FileIO

FORKS = sys.platform == "linux"
"""Whether such a process starts others by forking itself: Linux ends them with it."""

_NICENESS = 5
"""Added to the niceness of a process: calls that go on meanwhile have precedence on the processors. A call
that waits for code leaves a processor to it."""
_PR_SET_PDEATHSIG = 1

_forked: list[int] = []
"""The processes that this one has forked. It waits for none before it ends, so their numbers stay theirs."""


def yield_to_calls() -> None:
    """Give the calls of the parent precedence on the processors: once this process has loaded what it needs,
    which takes twice as long while calls and their threads precede it."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


def forked(pipes: Sequence[tuple[int, int]]) -> tuple[FileIO, FileIO]:
    """Fork this process, whose only thread calls this, until there is one for each pair of pipes.

    They share what this process has loaded, and end with it.

    Args:
        pipes: for each process the numbers of the files that it reads and writes; the first are this one's.

    Returns:
        The pipes of the process that goes on.
    """
    parent, own = os.getpid(), 0
    for position in range(1, len(pipes)):
        try:
            child = os.fork()
        except OSError:
            # Its pipes are closed below, which says that it has failed.
            break
        if child == 0:
            _end_with(parent)
            own = position
            _forked.clear()
            break
        _forked.append(child)
    for position, numbers in enumerate(pipes):
        for number in numbers if position != own else ():
            os.close(number)
    return FileIO(pipes[own][0], "r"), FileIO(pipes[own][1], "w")


def _end_with(parent: int) -> None:
    """Have the system kill this process when its parent ends."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(0)


def end() -> None:
    """End this process and those that it has forked, of which none stays a zombie. Does not return."""
    for process in _forked:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    os._exit(0)


def end_when_told() -> None:
    """End this process when it gets SIGTERM, even while it compiles, and Python handles no signals."""
    if not hasattr(signal, "pthread_sigmask"):
        return
    signals = {signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    def wait() -> None:
        signal.sigwait(signals)
        end()

    threading.Thread(target=wait, daemon=True).start()


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
