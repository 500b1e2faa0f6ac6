"""A backend in a process of its own: what ends that process, or takes too long, becomes an error here."""

from __future__ import annotations

import os
import pickle
import re
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Final

from ...program.ir import Module
from ...program.ops.collectives.process_grid import Grid
from ...types import Array
from .backend import Backend, BackendError, BackendExit, BackendTimeout, Description

DEFAULT_TIMEOUT: Final = 300.0
"""Seconds that a program may take."""
MAX_LOG_BYTES: Final = 1 << 20
"""Bytes that are read of what a process printed before it ended."""
LENGTH: Final = struct.Struct("<q")
"""Precedes each message."""


@dataclass(frozen=True)
class Request:
    """A program to run.

    Attributes:
        text: the program.
        inputs: an array for each argument; on a grid a sequence of arrays for each process.
        grid: the processes that run it at the same time; None: one.
    """

    text: str
    inputs: Sequence[Any]
    grid: Grid | None = None


@dataclass(frozen=True)
class DescriptionRequest:
    """Asks for the backend's description."""


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    Attributes:
        value: the results, the description, the text of an error, or how the process has ended that ran the
            program.
        seconds: the processor time that the process has spent so far, with those that it has started.
    """

    value: Any
    seconds: float


@dataclass(frozen=True)
class ProcessExit:
    """The answer if the process that ran a program has ended.

    Attributes:
        status: its exit status, or minus the number of the signal that ended it.
    """

    status: int


class IsolatedBackend(Backend):
    """Sends programs to a process, which is started at the first one, and again after it ended.

    Args:
        name: what `backend` takes.
        timeout: seconds that a program may take.
    """

    def __init__(self, name: str, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.name = name
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._logged = 0
        self.processor_seconds = self._former_seconds = 0.0
        self._description: Description | None = None

    @property
    def description(self) -> Description:
        """See `Backend.description`; the process is asked once."""
        if self._description is None:
            self._description = self._answer(DescriptionRequest())
        assert self._description is not None
        return self._description

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        return self.run_text(str(module), inputs)

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run_text`.

        Raises:
            BackendExit: the process ended.
            BackendTimeout: the program took too long; the process has been ended.
        """
        results: list[Array] = self._answer(Request(text, list(inputs)))
        return results

    def run_on_grid(
        self, text: str, inputs: Sequence[Sequence[Array]], grid: Grid
    ) -> Sequence[Sequence[Array]]:
        """See `Backend.run_on_grid`, and `run_text` for what is raised."""
        results: list[list[Array]] = self._answer(Request(text, [list(one) for one in inputs], grid))
        return results

    def _answer(self, request: Request | DescriptionRequest) -> Any:
        """The results of a program, or the description."""
        process = self._started_process()
        assert process.stdin is not None
        try:
            send(process.stdin, request)
        except BrokenPipeError:
            raise self._exit_error(process.wait()) from None
        answer = self._received_answer(process)
        self.processor_seconds = self._former_seconds + answer.seconds
        if isinstance(answer.value, ProcessExit):
            raise self._exit_error(answer.value.status)
        if isinstance(answer.value, str):
            raise BackendError(answer.value)
        return answer.value

    def _started_process(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._log, self._logged = tempfile.TemporaryFile(), 0  # noqa: SIM115
            self._former_seconds = self.processor_seconds
            # -P: a file of the current folder, such as types.py, must not stand for a module of Python.
            command = [sys.executable, "-P", "-m", f"{__package__}.server", self.name]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
            )
            weakref.finalize(self, _kill, self._process)
        return self._process

    def _received_answer(self, process: subprocess.Popen[bytes]) -> Answer:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._timeout):
                _kill(process)
                process.wait()
                raise BackendTimeout(f"{self.name} took more than {self._timeout:g} seconds")
        answer: Answer | None = receive(process.stdout)
        if answer is None:
            raise self._exit_error(process.wait())
        return answer

    def _exit_error(self, status: int) -> BackendExit:
        """The error that says how a process ended, and what it printed last."""
        assert self._log is not None
        # The processes share this file's position, which reading must not move.
        file = self._log.fileno()
        data = os.pread(file, MAX_LOG_BYTES, self._logged)
        self._logged = os.fstat(file).st_size
        lines = data.decode(errors="replace").splitlines()
        fatal = [line for line in lines if re.match(r"F\d{4} |LLVM ERROR|Fatal|.*error:", line)]
        others = [line for line in lines if not re.match(r"[IW]\d{4} ", line)]
        reason = (fatal or others or lines or [""])[0].partition("] ")
        return BackendExit(f"{self.name} ended its process (status {status}): {reason[2] or reason[0]}")


def send(stream: IO[bytes], message: object) -> None:
    data = pickle.dumps(message)
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message; None at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return pickle.loads(data) if len(data) == length else None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it has forked."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def serve(target: Backend, answers: IO[bytes], former_seconds: float) -> None:
    """Answer the programs on the standard input until it ends.

    Args:
        target: runs them.
        answers: where the answers go.
        former_seconds: the processor time of the processes before this one.
    """
    from ...errors import NimbleError

    while (request := receive(sys.stdin.buffer)) is not None:
        try:
            value: Any = _value(target, request)
        except NimbleError as error:
            value = str(error)
        send(answers, Answer(value, former_seconds + time.process_time()))


def _value(target: Backend, request: Request | DescriptionRequest) -> Any:
    if isinstance(request, DescriptionRequest):
        return target.description
    if request.grid is None:
        return target.run_text(request.text, request.inputs)
    return target.run_on_grid(request.text, request.inputs, request.grid)
