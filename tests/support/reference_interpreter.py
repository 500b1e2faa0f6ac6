"""StableHLO's reference interpreter (of jaxlib) in child processes, because some programs abort it.

Run as a module this is the server: it reads pickled batches of programs, and forks a process for each batch
(and another one for the rest of a batch, where a program has ended it).
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]

SECONDS = 20
"""Maximum time of a batch."""

_Answer = list[str] | tuple[str, bool]
"""The message about a program: its results as MLIR text, or the fields of `NoAnswer`."""


@dataclass(frozen=True)
class NoAnswer:
    """The interpreter rejected the program, or ended its process.

    Attributes:
        reason: its message.
        rejected: whether it rejected the program as invalid.
    """

    reason: str
    rejected: bool = False


class ReferenceInterpreter:
    """Evaluates programs in a server process, which is started at the first request."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None

    def evaluate(self, texts: Sequence[str]) -> list[list[Array] | NoAnswer]:
        """The results of programs whose @main has no arguments and no complex results.

        CHLO operations are first expanded by StableHLO's own pass.
        """
        if self._server is None:
            command = [sys.executable, "-m", "tests.support.reference_interpreter"]
            self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._server.stdin is not None and self._server.stdout is not None
        pickle.dump(list(texts), self._server.stdin)
        self._server.stdin.flush()
        answers: list[_Answer] = pickle.load(self._server.stdout)
        return [NoAnswer(*answer) if isinstance(answer, tuple) else _arrays(answer) for answer in answers]

    def stop(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.communicate()
            self._server = None


def _arrays(attributes: Sequence[str]) -> list[Array]:
    """Arrays from constants as MLIR prints them, every bit of a NaN included."""
    import nimblehlo

    constants = "".join(f"%{index} = stablehlo.constant {text}\n" for index, text in enumerate(attributes))
    module = nimblehlo.load(f"func.func @main() {{\n{constants}return\n}}")
    (function,) = module.functions.values()
    assert function.body is not None
    values: list[Any] = [operation.attributes["value"] for operation in function.body.block.operations[:-1]]
    return [value.array for value in values]


def _evaluate(text: str) -> _Answer:
    """The results of one program, as MLIR prints them; within an MLIR context."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    from jaxlib.mlir.passmanager import PassManager

    try:
        module = ir.Module.parse(text)
        if "chlo." in text:
            passes = PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))")
            passes.run(module.operation)
    except ir.MLIRError as error:
        return str(error), True
    return list(map(str, stablehlo.eval_module(module, [])))


def _work(texts: Sequence[str], results: IO[bytes], log: int) -> None:
    """Evaluate programs up to the first that fails, and write each result at once."""
    from jax._src.interpreters import mlir

    os.dup2(log, 2)
    signal.alarm(SECONDS)
    with mlir.make_ir_context() as context:
        context.enable_multithreading(False)
        for text in texts:
            pickle.dump(_evaluate(text), results)
            results.flush()


def _batch(texts: Sequence[str]) -> list[_Answer]:
    answers: list[_Answer] = []
    while len(answers) < len(texts):
        with tempfile.TemporaryFile() as log:
            reader, writer = os.pipe()
            process = os.fork()
            if process == 0:
                os.close(reader)
                try:
                    with os.fdopen(writer, "wb") as results:
                        _work(texts[len(answers) :], results, log.fileno())
                except Exception:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            os.close(writer)
            with os.fdopen(reader, "rb") as results:
                try:
                    while True:
                        answers.append(pickle.load(results))
                except (EOFError, pickle.UnpicklingError):
                    pass
            _, status = os.waitpid(process, 0)
            if len(answers) < len(texts):
                log.seek(0)
                answers.append((_ending(status, log.read().decode(errors="replace")), False))
    return answers


def _ending(status: int, log: str) -> str:
    """Why a process ended: its signal, and the first line of its output that names an error."""
    lines = [line for line in log.splitlines() if "error" in line.lower()]
    ending = signal.Signals(status & 127).name if status & 127 else "ended"
    return f"{ending}: {lines[0][:200] if lines else log[:200]}"


def _serve() -> None:
    """Answer batches until the standard input ends."""
    from jax._src.interpreters import mlir  # noqa: F401  (before forking, so that it is done once)
    from jaxlib.mlir.dialects import stablehlo

    stablehlo.register_stablehlo_passes()

    while True:
        try:
            texts = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_batch(texts), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
