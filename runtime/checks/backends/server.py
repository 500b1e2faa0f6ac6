"""The process of an isolated backend: ``python -m nimblehlo.checks.backends.server NAME``.

It imports what the backend needs once, and forks a process that runs programs. If that one ends, it reports
its status and forks the next one, so that a program which ends its process costs no imports.
"""

from __future__ import annotations

import importlib
import os
import resource
import select
import sys
import time
import traceback
import warnings
from typing import IO, Final

from .backend import Backend
from .isolation import Answer, ProcessExit, send, serve
from .names import backend

_HOST_DEVICES: Final = "8"
"""Devices of JAX's platform cpu: as many as the largest grid of the conformance suite has processes."""
_IMPORTS: Final = {
    "jax": f"{__package__}.pjrt",
    "pjrt": f"{__package__}.pjrt",
    "interpreter": f"{__package__}.reference_interpreter",
    "iree": f"{__package__}.iree_backend",
}
"""The module to import in advance, by the prefix of the backend's name; importing it starts no thread."""


def main(name: str) -> None:
    """Run programs until the standard input ends.

    Args:
        name: of the backend.
    """
    # Output of libraries must not be mixed with the messages.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # JAX's, and Python's since 3.12: this process starts no thread that could hold a lock of the child's.
    for category in (DeprecationWarning, RuntimeWarning):
        warnings.filterwarnings("ignore", message=".*fork", category=category)
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", _HOST_DEVICES)
    module = _IMPORTS.get(name.partition(":")[0])
    if module is not None:
        importlib.import_module(module)
    while True:
        # The next process begins with the next program, so that one that cannot begin answers this.
        select.select([sys.stdin], [], [])
        seconds = _processor_seconds()
        child = os.fork()
        if not child:
            _run_programs(name, answers, seconds)
        _, status = os.waitpid(child, 0)
        if not status:
            return
        send(answers, Answer(ProcessExit(os.waitstatus_to_exitcode(status)), _processor_seconds()))


def _processor_seconds() -> float:
    """The processor time of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _backend_in_process(name: str) -> Backend:
    """The backend that runs programs in this process; only the reference interpreter needs jaxlib."""
    if name != "interpreter":
        return backend(name)
    from .reference_interpreter import InProcessInterpreter

    return InProcessInterpreter()


def _run_programs(name: str, answers: IO[bytes], former_seconds: float) -> None:
    """Run programs in a forked process, and end it; `former_seconds`: see `serve`."""
    status = 1
    try:
        serve(_backend_in_process(name), answers, former_seconds)
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1])
