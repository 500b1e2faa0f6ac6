"""Processes that compile LLVM IR beside this one, while much code waits to be compiled.

LLVM's Python binding lets one thread of a process into LLVM at a time. `CompilerProcesses` starts other
processes, which give the same machine code for a text, so that as many processors compile as the process may
use. The background thread starts them when much code waits, and ends them when none does. Where they cannot
be started, or fail, `Compilation.result` is None and this process compiles.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from io import FileIO
from typing import cast

from ....kernels.compiling import child_process
from ....kernels.compiling.child_process import is_readable, is_writable, read_exactly, write_all
from ....kernels.launch import library_pages
from ....kernels.launch.free_memory import shortage_of
from ....kernels.launch.native import leave_processors
from ....kernels.launch.threads import available_threads
from .compiler_process import ANSWER, REQUEST

MAX_PROCESSES = 4
"""Maximum processes: making the texts takes a fifth of the time of compiling them, in this process."""
_PROCESS_BYTES = 1 << 27
"""Bytes that a process takes."""
_COMPILING_BYTES = 20 << 20
"""Bytes that a process shares with no other while it compiles: 15 MB for a small module, 17 to 21 MB at the
peak of the programs of `benchmarks/libraries` (Python 3.13, llvmlite 0.50, Linux)."""
_WAITING_BYTES = 1 << 15
"""Bytes of the texts that wait for a process, so that it need not wait for the next one: LLVM takes some
0.1 s for them."""
_ANSWER_SECONDS = 60.0
"""Seconds without an answer, or in which it takes no bytes of a request, after which a process counts as
stopped: LLVM takes some 2 s for 1 MB of text."""


class Compilation:
    """A text that a process compiles.

    Attributes:
        size: bytes of the text.
    """

    __slots__ = ("_code", "_process", "has_ended", "size")

    def __init__(self, size: int, process: _CompilerProcess) -> None:
        self.size = size
        self.has_ended = False
        self._process = process
        self._code: bytes | None = None

    @property
    def is_pending(self) -> bool:
        """Whether its answer has not been read, and may come."""
        return not self.has_ended and self._process.is_usable

    def end(self, code: bytes | None) -> None:
        """Note the machine code; None if there is none."""
        self._code = code
        self.has_ended = True

    def result(self) -> bytes | None:
        """The machine code, once it is there; None where this process must compile the text."""
        self._process.wait_for(self)
        return self._code


class _CompilerProcess:
    """One process. Several threads may wait for its compilations.

    Args:
        on_answers: called when answers have been read.
    """

    def __init__(self, on_answers: Callable[[], None]) -> None:
        self._on_answers = on_answers
        self._process = child_process.start(f"{__package__}.compiler_process")
        # A process that is stopped takes no more bytes, for which nobody may wait without limit.
        os.set_blocking(self._pipes[0].fileno(), False)
        self._start = Compilation(0, self)
        self.submitted = deque([self._start])
        self.is_usable = True
        self._lock = threading.Lock()

    @property
    def _pipes(self) -> tuple[FileIO, FileIO]:
        return cast(FileIO, self._process.stdin), cast(FileIO, self._process.stdout)

    def submit(self, text: str, fast_compile: bool) -> Compilation:
        """Have a text compiled, with the options of `CodeGenerator.compile`."""
        data = text.encode()
        compilation = Compilation(len(data), self)
        self.submitted.append(compilation)
        try:
            write_all(self._pipes[0], REQUEST.pack(len(data), fast_compile) + data, self._can_write)
        except (OSError, ValueError):
            self.end()
        return compilation

    @property
    def has_started(self) -> bool:
        """Whether it can begin to compile at once."""
        return self._start.has_ended

    @property
    def is_compiling(self) -> bool:
        """Whether it starts, or compiles a text."""
        return self.is_usable and bool(self.submitted)

    @property
    def has_answer(self) -> bool:
        """Whether an answer, or the end of the process, can be read, unless another thread reads it."""
        return not self._lock.locked() and (not self.is_usable or self._can_read(0.0))

    def waiting_bytes(self) -> int:
        """The bytes of the texts of which no answer has been read."""
        return sum(one.size for one in tuple(self.submitted))

    def wait_for(self, compilation: Compilation) -> None:
        """Read answers until that of `compilation`."""
        with self._lock:
            self._read_answers(lambda: not compilation.has_ended)
        if not compilation.has_ended:
            compilation.end(None)

    def read_available(self) -> None:
        """Read the answers that are there, unless another thread waits for one."""
        if self._lock.acquire(blocking=False):
            try:
                self._read_answers(lambda: bool(self.submitted) and self._can_read(0.0))
            finally:
                self._lock.release()

    def _read_answers(self, continues: Callable[[], bool]) -> None:
        """Read answers while a condition holds, and the process gives some. The thread has the lock."""
        is_complete = False
        try:
            while self.is_usable and continues():
                (size,) = ANSWER.unpack(self._read(ANSWER.size))
                code = self._read(size)
                self.submitted.popleft().end(code or None)
            is_complete = True
        except (EOFError, OSError, ValueError):
            pass
        finally:
            if not is_complete:
                # Part of an answer may have been read.
                self._kill()
                self.close_pipes()
            self._on_answers()

    def _read(self, size: int) -> bytes:
        """The next bytes of the answers.

        Raises:
            EOFError: the process has ended.
            OSError: it gives no answer, such as when it has been stopped.
        """
        return read_exactly(self._pipes[1], size, lambda: self._can_read(_ANSWER_SECONDS))

    def _can_write(self) -> bool:
        """Wait until the process takes bytes of a request; whether it takes some, or has ended."""
        return is_writable(self._pipes[0], _ANSWER_SECONDS)

    def _can_read(self, seconds: float) -> bool:
        """Wait for bytes of an answer; whether there are some, or the process has ended."""
        return is_readable(self._pipes[1], seconds)

    def end(self) -> None:
        """End the process; its compilations have no results."""
        self._kill()
        # A thread that waits for an answer, and has the lock, notices that the process has ended, but not
        # that the pipe is closed on its own side.
        if self._lock.acquire(timeout=child_process.END_SECONDS):
            try:
                self.close_pipes()
            finally:
                self._lock.release()

    def _kill(self) -> None:
        """Kill the process. Its pipes stay open."""
        self.is_usable = False
        child_process.kill(self._process)

    def close_pipes(self) -> None:
        """Close this process's ends of the pipes."""
        child_process.close_pipes(self._process)

    def abandon(self) -> None:
        """Leave the process to the parent of this one, which was forked."""
        self.is_usable = False
        self._lock = threading.Lock()
        child_process.abandon(self._process)


class CompilerProcesses:
    """The processes that compile for this one. One thread at a time may use it."""

    def __init__(self) -> None:
        self._processes: list[_CompilerProcess] = []
        self._has_failed = False

    def __len__(self) -> int:
        return len(self._processes)

    def start(self) -> bool:
        """Start processes where that is possible, unless there are some; whether there are."""
        if self._processes or self._has_failed or not child_process.may_start():
            return bool(self)
        # Calls go on, or this process makes texts: two processes on one processor would finish the code that
        # calls need most when they finish all other code.
        count = min(available_threads() - 1, MAX_PROCESSES)
        if shortage_of(count * _PROCESS_BYTES) is not None:
            return False
        try:
            for _ in range(count):
                self._processes.append(_CompilerProcess(self._leave_processors))
        except Exception:
            # No process can be started here, such as for want of memory.
            self._has_failed = True
        self._count()
        return bool(self)

    def read_available(self) -> None:
        """Read the answers that are there."""
        for process in self._processes:
            process.read_available()
        self._remove_failed()

    @property
    def have_answers(self) -> bool:
        """Whether the answer of a process can be read, or a process has ended."""
        return any(process.has_answer for process in self._processes)

    def want_more(self, is_urgent: bool = True) -> bool:
        """Whether a process should get another text now.

        Args:
            is_urgent: whether a process that has not started yet will do. If not, it is decided then what it
                compiles first.
        """
        self.read_available()
        processes = [process for process in self._processes if is_urgent or process.has_started]
        return any(process.waiting_bytes() < _WAITING_BYTES for process in processes)

    def submit(self, text: str, fast_compile: bool) -> Compilation | None:
        """Have a text compiled by the process with the least to do; None if there is no process."""
        self._remove_failed()
        if not self._processes:
            return None
        process = min(self._processes, key=lambda one: (one.waiting_bytes(), not one.has_started))
        compilation = process.submit(text, fast_compile)
        self._leave_processors()
        return compilation

    def close(self) -> None:
        """End all processes."""
        while self._processes:
            self._processes.pop().end()
        self._count()

    def after_fork_in_child(self) -> None:
        """Leave all processes to the parent."""
        while self._processes:
            self._processes.pop().abandon()
        self._count()

    def _count(self) -> None:
        """Have LLVM's pages returned sooner while there are processes."""
        library_pages.count_beside(len(self._processes) * _COMPILING_BYTES)
        self._leave_processors()

    def _leave_processors(self) -> None:
        """Have launches leave a processor to each process that compiles.

        Each thread of a launch precedes it on the processors, so it would get a quarter of one.
        """
        leave_processors(__name__, sum(process.is_compiling for process in tuple(self._processes)))

    def _remove_failed(self) -> None:
        if all(process.is_usable for process in self._processes):
            return
        self._processes = [process for process in self._processes if process.is_usable]
        self._count()
        # Starting more would fail in the same way, such as where memory is short.
        self._has_failed = True


PROCESSES = CompilerProcesses()
"""The compiler processes of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PROCESSES.after_fork_in_child)
