"""The process that compiles kernels for this one, so that this one need not hold Numba.

Numba takes 60 MB, and threads that run Python wait for it while it compiles. `KernelProcess` starts a process
at the first kernel whose code is not on the disk, and ends it once none is compiled for a while. Where it
cannot be started, or fails, this process compiles.

A request is a pickled `Request`, an answer pickled bytes of machine code or the text of an error, each after
its number of bytes. The process begins with an answer: why Numba cannot compile kernels, or an empty text.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import threading
from contextlib import suppress
from io import FileIO
from subprocess import Popen
from typing import Any, cast

from ..launch import library_pages
from . import child_process
from .child_process import is_readable
from .worker import read_exactly, write_all, yield_to_calls

_SIZE = struct.Struct("<Q")
_IDLE_SECONDS = 0.5
"""Seconds after which a process that has nothing to compile ends. To start one takes as long."""
_ANSWER_SECONDS = 300.0
"""Seconds without an answer after which a process counts as stopped: a kernel takes up to 5 s, and many times
as long where other processes are busy."""


class KernelProcess:
    """The process, while there is one. Threads use it one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None
        self._timer: threading.Timer | None = None
        self._has_failed = False
        self._problem = ""

    def problem(self) -> str | None:
        """Why Numba cannot compile kernels, or None; None as well where the process fails."""
        with self._lock:
            self._ask(None)
            return self._problem or None

    def compile(self, request: Any) -> bytes | None:
        """The machine code of a task, or None where this process must compile it.

        Args:
            request: pickled, it names the kernel and its arguments (`serve`).
        """
        with self._lock:
            return self._ask(request)

    def _ask(self, request: Any) -> bytes | None:
        if not self.may_run():
            return None
        answer = None
        is_complete = False
        try:
            if self._timer is not None:
                self._timer.cancel()
            if self._process is None:
                self._process = child_process.start(__name__)
                self._problem = str(self._answer())
            if request is not None and not self._problem:
                data = pickle.dumps(request)
                write_all(self._pipes[0], _SIZE.pack(len(data)) + data)
                answer = self._answer()
            is_complete = True
        except (EOFError, OSError, ValueError, pickle.PickleError):
            # Another one would fail in the same way, such as where memory is short.
            self._has_failed = True
        finally:
            if is_complete:
                self._timer = threading.Timer(_IDLE_SECONDS, self.close)
                self._timer.daemon = True
                self._timer.start()
            else:
                # Part of an answer may have been read.
                self._end()
        return answer if isinstance(answer, bytes) else None

    def may_run(self) -> bool:
        """Whether a process should compile: not where Numba is in this one already."""
        return not self._has_failed and "numba" not in sys.modules and child_process.may_start()

    @property
    def _pipes(self) -> tuple[FileIO, FileIO]:
        assert self._process is not None
        return cast(FileIO, self._process.stdin), cast(FileIO, self._process.stdout)

    def _answer(self) -> Any:
        pipe = self._pipes[1]
        (size,) = _SIZE.unpack(read_exactly(pipe, _SIZE.size, lambda: is_readable(pipe, _ANSWER_SECONDS)))
        return pickle.loads(read_exactly(pipe, size, lambda: is_readable(pipe, _ANSWER_SECONDS)))

    def close(self) -> None:
        """End the process, unless a thread has it compile."""
        if self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def _end(self) -> None:
        if self._process is not None:
            child_process.kill(self._process)
            child_process.close_pipes(self._process)
            self._process = None

    def after_fork_in_child(self) -> None:
        """Leave the process to the parent."""
        self._lock = threading.Lock()
        if self._process is not None:
            child_process.abandon(self._process)
            self._process = self._timer = None


KERNEL_PROCESS = KernelProcess()
"""The process that compiles this process's kernels."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KERNEL_PROCESS.after_fork_in_child)


def serve() -> None:
    """Compile what the standard input asks for until it ends. Does not return."""
    from ..launch.private_names import problem

    library_pages.keep()
    requests, answers = FileIO(0, "r"), FileIO(1, "w")
    answer: bytes | str = problem() or ""
    yield_to_calls()
    with suppress(EOFError, OSError):
        while True:
            data = pickle.dumps(answer)
            write_all(answers, _SIZE.pack(len(data)) + data)
            (size,) = _SIZE.unpack(read_exactly(requests, _SIZE.size))
            kernel, arguments = pickle.loads(read_exactly(requests, size))
            try:
                answer = kernel.machine_code(arguments)
            except Exception as error:
                # The parent compiles it again, and has the error.
                answer = str(error)
    os._exit(0)
