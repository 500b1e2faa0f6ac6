"""Processes that compile LLVM IR beside this one, while much code waits to be compiled.

LLVM's Python binding lets one thread of a process into LLVM at a time. `CompilerProcesses` starts other
processes, which give the same machine code for a text, so that as many processors compile as the process may
use. One compiles what threads of this process wait for, so that this process need not load LLVM
(`compiling.py`) and no thread waits for code that nobody needs yet. The others compile ahead where much code
waits. Where they cannot be started, or fail, `Compilation.result` is None and this process compiles.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import FileIO
from subprocess import Popen

from ....errors import raised_by_signal_handler
from ....kernels.compiling import child_process, worker
from ....kernels.compiling.child_process import is_readable, is_writable
from ....kernels.compiling.worker import read_exactly, write_all
from ....kernels.launch import library_pages
from ....kernels.launch.free_memory import shortage_of
from ....kernels.launch.native import leave_processors
from ....kernels.launch.threads import available_threads
from .compiler_process import ANSWER, REQUEST

MAX_PROCESSES = 4
"""Maximum processes that compile ahead: making the texts takes a fifth of the time of compiling them, in this
process."""
_PROCESS_BYTES = 1 << 27
"""Bytes that a process takes."""
_COMPILING_BYTES = 10 << 20
"""Bytes that a process takes while it compiles, of what processes share its share: two take 19 to 30 MB at
the peak of most programs of `benchmarks/libraries` (Python 3.13, llvmlite 0.50, Linux)."""
_WAITING_BYTES = 1 << 15
"""Bytes of the texts that wait for a process, so that it need not wait for the next one: LLVM takes some
0.1 s for them."""
_MAX_AWAITED_BYTES = 1 << 20
"""Bytes of the texts that wait for the process for which threads wait, and are in its memory."""
_ANSWER_SECONDS = 60.0
"""Seconds after which a process counts as stopped that takes no bytes of a request, or gives no answer; to
answer it has as many for each MiB of its texts, for which LLVM takes some 2 s."""

_IDLE_SECONDS = 3.0
"""Seconds after which processes end for which a thread has waited, unless they have got more to compile."""


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

    def is_there(self) -> bool:
        """Whether nobody need wait for its answer: that has been read, or none will come."""
        # The answer that can be read may be that of an earlier text.
        self._process.read_available()
        return not self.is_pending

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
        started: it, or the process that forks it, with which it ends.
        requests, answers: the pipes to it and from it.
        is_ahead: whether it compiles ahead; otherwise what threads wait for.
        on_answers: called when answers have been read.

    Attributes:
        has_compiled: whether it has answered a text.
    """

    def __init__(
        self,
        started: Popen[bytes],
        requests: FileIO,
        answers: FileIO,
        is_ahead: bool,
        on_answers: Callable[[], None],
    ) -> None:
        self._on_answers = on_answers
        self.is_ahead = is_ahead
        self._process = started
        self._pipes = requests, answers
        # A process that is stopped takes no more bytes, for which nobody may wait without limit.
        os.set_blocking(requests.fileno(), False)
        self._start = Compilation(0, self)
        self.submitted = deque([self._start])
        self.is_usable = True
        self.has_compiled = False
        self._lock = threading.Lock()

    def submit(self, text: str, fast_compile: bool, names: Sequence[str]) -> Compilation:
        """Have a text compiled: see `CompilerProcesses.compile`."""
        data, lines = text.encode(), "\n".join(names).encode()
        compilation = Compilation(len(data), self)
        self.submitted.append(compilation)
        is_complete = False
        try:
            request = REQUEST.pack(len(data), len(lines), fast_compile, self.is_ahead) + data + lines
            write_all(self._pipes[0], request, self._can_write)
            is_complete = True
        except (OSError, ValueError) as error:
            if raised_by_signal_handler(error):
                raise
        finally:
            if not is_complete:
                # It may have got a part.
                self.end()
        return compilation

    @property
    def has_started(self) -> bool:
        """Whether it can begin to compile at once."""
        return self._start.has_ended

    @property
    def is_compiling(self) -> bool:
        """Whether it compiles a text, or will once it has started."""
        return self.is_usable and self.waiting_bytes() > 0

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
                compilation = self.submitted.popleft()
                compilation.end(code or None)
                self.has_compiled |= compilation is not self._start
            is_complete = True
        except (EOFError, OSError, ValueError) as error:
            if raised_by_signal_handler(error):
                raise
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
        seconds = _ANSWER_SECONDS * (1 + (self.waiting_bytes() >> 20))
        return read_exactly(self._pipes[1], size, lambda: self._can_read(seconds))

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
        """Kill the process, and those that end with it. Its pipes stay open."""
        self.is_usable = False
        child_process.end_workers(self._process)

    def close_pipes(self) -> None:
        """Close this process's ends of the pipes."""
        child_process.close(self._pipes)

    def abandon(self) -> None:
        """Leave the process to the parent of this one, which was forked."""
        self.is_usable = False
        self._lock = threading.Lock()
        self.close_pipes()
        child_process.abandon(self._process)


class CompilerProcesses:
    """The processes that compile for this one. Threads use them one after the other.

    Attributes:
        meanwhile: has a text compiled that will be waited for, and returns whether there was one; called by
            a thread that waits for another text.
    """

    def __init__(self) -> None:
        self._processes: list[_CompilerProcess] = []
        self._has_failed = False
        self._lock = threading.RLock()
        self._awaited = 0
        self.meanwhile: Callable[[], bool] = lambda: False
        self._timer: threading.Timer | None = None
        self._last_use = 0.0

    def __len__(self) -> int:
        return len(self._processes)

    def start(self) -> bool:
        """Start processes where that is possible, unless there are some; whether there are."""
        with self._lock:
            if self._processes or self._has_failed or not child_process.may_start():
                return bool(self)
            # Calls go on, or this process makes texts: two processes on one processor would finish the code
            # that calls need most when they finish all other code.
            count = 1 + min(available_threads() - 1, MAX_PROCESSES)
            if shortage_of(count * _PROCESS_BYTES) is not None:
                return False
            try:
                for workers in [count] if worker.FORKS else [1] * count:
                    self._add(*child_process.start_workers(f"{__package__}.compiler_process", workers))
            except Exception as error:
                # No process can be started here, such as for want of memory.
                self._has_failed = True
                if raised_by_signal_handler(error):
                    raise
            self._count()
            return bool(self)

    def _add(self, started: Popen[bytes], workers: Sequence[tuple[FileIO, FileIO]]) -> None:
        for requests, answers in workers:
            is_ahead = bool(self._processes)
            process = _CompilerProcess(started, requests, answers, is_ahead, self._leave_processors)
            self._processes.append(process)

    def start_for_caller(self) -> None:
        """Start processes for a thread that is about to call `compile`."""
        with self._lock:
            if self.start():
                self._end_later()

    def read_available(self) -> None:
        """Read the answers that are there."""
        with self._lock:
            for process in self._processes:
                process.read_available()
            self._remove_failed()

    @property
    def have_compiled(self) -> bool:
        """Whether a process has loaded all of LLVM that a text needs."""
        return any(process.has_compiled for process in tuple(self._processes))

    @property
    def have_answers(self) -> bool:
        """Whether the answer of a process can be read, or a process has ended."""
        return any(process.has_answer for process in tuple(self._processes))

    def want_more(self, is_urgent: bool = True) -> bool:
        """Whether a process that compiles ahead should get another text now.

        Args:
            is_urgent: whether a process that has not started yet will do. If not, it is decided then what it
                compiles first.
        """
        with self._lock:
            self.read_available()
            processes = [process for process in self._of(True) if is_urgent or process.has_started]
            return any(process.waiting_bytes() < _WAITING_BYTES for process in processes)

    @property
    def has_idle(self) -> bool:
        """Whether a process that compiles ahead has nothing to compile."""
        with self._lock:
            self.read_available()
            return any(process.is_usable and not process.is_compiling for process in self._of(True))

    @property
    def takes_more(self) -> bool:
        """Whether the process for which threads wait should get more texts now."""
        return all(process.waiting_bytes() < _MAX_AWAITED_BYTES for process in self._of(False))

    def submit(self, text: str, fast_compile: bool) -> Compilation | None:
        """Have a text compiled ahead, by the process with the least to do; None if there is no process.

        Args:
            text, fast_compile: see `CodeGenerator.compile`.
        """
        return self._submit(True, text, fast_compile, ())

    def submit_awaited(self, text: str, fast_compile: bool, names: Sequence[str] = ()) -> Compilation | None:
        """Have a text compiled by the process for which threads wait; None where none can be started.

        Args:
            text, fast_compile: see `CodeGenerator.compile`.
            names: as of `CodeGenerator.compile_quickly`, if quick code is asked for.
        """
        with self._lock:
            return self._submit(False, text, fast_compile, names) if self.start() else None

    def compile(self, text: str, fast_compile: bool, names: Sequence[str] = ()) -> bytes | None:
        """The machine code of a text; None where this process must compile it: see `submit_awaited`."""
        with self._lock:
            compilation = self.submit_awaited(text, fast_compile, names)
            # They must not end before the answer is there.
            self._awaited += compilation is not None
        return None if compilation is None else self._counted_result(compilation)

    def result(self, compilation: Compilation) -> bytes | None:
        """The machine code from `submit_awaited`, for which this thread waits; None if there is none.

        The thread makes texts meanwhile. Processes that have compiled for threads end after some time.
        """
        with self._lock:
            self._awaited += 1
        return self._counted_result(compilation)

    def _counted_result(self, compilation: Compilation) -> bytes | None:
        """See `result`; the thread is counted among those that wait."""
        try:
            while not compilation.is_there() and self.takes_more and self.meanwhile():
                pass
            return compilation.result()
        finally:
            with self._lock:
                self._awaited -= 1
                self._end_later()

    def _submit(
        self, is_ahead: bool, text: str, fast_compile: bool, names: Sequence[str]
    ) -> Compilation | None:
        with self._lock:
            self._remove_failed()
            processes = self._of(is_ahead)
            if not processes:
                return None
            process = min(processes, key=lambda one: (one.waiting_bytes(), not one.has_started))
            compilation = process.submit(text, fast_compile, names)
            self._leave_processors()
            return compilation

    def _of(self, is_ahead: bool) -> list[_CompilerProcess]:
        """The processes that compile ahead, or the one that compiles what threads wait for."""
        return [process for process in self._processes if process.is_ahead == is_ahead]

    def _end_later(self) -> None:
        """End the processes after some time in which they have compiled nothing."""
        self._last_use = time.monotonic()
        if self._timer is None:
            self._start_timer()

    def _start_timer(self) -> None:
        self._timer = threading.Timer(_IDLE_SECONDS, self._end_if_idle)
        self._timer.daemon = True
        # Where no thread can be started, they end with this process.
        with suppress(RuntimeError):
            self._timer.start()

    def _end_if_idle(self) -> None:
        with self._lock:
            self._timer = None
            self.read_available()
            is_used = time.monotonic() - self._last_use < _IDLE_SECONDS
            if is_used or any(process.is_compiling for process in self._processes):
                self._start_timer()
            else:
                self.close()

    def close(self) -> None:
        """End all processes, unless a thread waits in `compile`."""
        with self._lock:
            while self._processes and not self._awaited:
                self._processes.pop().end()
            self._count()

    def after_fork_in_child(self) -> None:
        """Leave all processes to the parent."""
        self._lock, self._awaited, self._timer = threading.RLock(), 0, None
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
        # The others end with it, or would fail in the same way, such as where memory is short.
        while self._processes:
            self._processes.pop().end()
        self._count()
        self._has_failed = True


PROCESSES = CompilerProcesses()
"""The compiler processes of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PROCESSES.after_fork_in_child)
