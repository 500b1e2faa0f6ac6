"""A backend in a process of its own: what ends that process, or takes too long, becomes an error here."""

from __future__ import annotations

import os
import pickle
import re
import selectors
import struct
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from typing import IO, Any, Final

from ..ir import Module
from .backend import Array, Backend, BackendError

DEFAULT_TIMEOUT: Final = 300.0
"""Seconds that a program may take."""
LENGTH: Final = struct.Struct("<q")
"""Precedes each message."""


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

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        process = self._running()
        assert process.stdin is not None
        try:
            send(process.stdin, (str(module), list(inputs)))
        except BrokenPipeError:
            raise self._ended(process) from None
        answer = self._answer(process)
        if isinstance(answer, str):
            raise BackendError(answer)
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._log = tempfile.TemporaryFile()  # noqa: SIM115
            command = [sys.executable, "-m", f"{__package__}.server", self.name]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
            )
            weakref.finalize(self, self._process.kill)
        return self._process

    def _answer(self, process: subprocess.Popen[bytes]) -> list[Array] | str:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._timeout):
                process.kill()
                process.wait()
                raise BackendError(f"{self.name} took more than {self._timeout:g} seconds")
        answer: Any = receive(process.stdout)
        if answer is None:
            raise self._ended(process)
        received: list[Array] | str = answer
        return received

    def _ended(self, process: subprocess.Popen[bytes]) -> BackendError:
        status = process.wait()
        assert self._log is not None
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").splitlines()
        fatal = [line for line in lines if re.match(r"F\d{4} |LLVM ERROR|Fatal|.*error:", line)]
        reason = (fatal or lines or [""])[0].partition("] ")
        return BackendError(f"{self.name} ended its process (status {status}): {reason[2] or reason[0]}")


def send(stream: IO[bytes], message: object) -> None:
    """Write a message."""
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


def serve(target: Backend) -> None:
    """Answer the programs on the standard input until it ends.

    Args:
        target: runs them.
    """
    from ..api import load
    from ..errors import NimbleError

    # What libraries print must not get between the messages.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (request := receive(sys.stdin.buffer)) is not None:
        text, inputs = request
        try:
            answer: list[Array] | str = target.run(load(text), inputs)
        except NimbleError as error:
            answer = str(error)
        send(answers, answer)
