"""A process that compiles LLVM IR for another one, which `compiler_processes` starts.

Once it has loaded LLVM, it forks others that do the same. Requests come by a pipe: `REQUEST`, then the text
and the names in UTF-8. Answers go to another pipe, in the order of the requests: `ANSWER`, then the machine
code, which is empty where compiling failed. Before them the process says by an empty answer that it has
loaded LLVM. It ends with the pipe of requests, which is with its parent at the latest.
"""

from __future__ import annotations

import gc
import queue
import struct
import sys
import threading
from collections.abc import Sequence
from io import FileIO
from types import ModuleType, TracebackType

from ....kernels.compiling import worker
from ....kernels.compiling.worker import read_exactly, write_all

REQUEST = struct.Struct("<QQ??")
"""The bytes of the text; those of the names of the functions that are replaced, in lines, if quick code is
asked for; whether the text is compiled fast; whether that is ahead, so that calls have precedence."""
ANSWER = struct.Struct("<Q")
"""The bytes of the machine code."""

_Request = tuple[str, Sequence[str], bool, bool]
"""A text, the names of quick code, whether it is compiled fast, and whether ahead."""


def serve(pipes: Sequence[tuple[int, int]]) -> None:
    """Compile what requests ask for until they end. Does not return.

    Args:
        pipes: see `worker.forked`.
    """
    _load_binding()
    from . import loops, quick_code, vector_loops, vector_variants  # noqa: F401
    from .codegen import CodeGenerator

    generator = CodeGenerator()
    # Objects that stay need not be looked at, which would copy pages that processes share.
    gc.freeze()
    requests, answers = worker.forked(pipes)
    worker.end_when_told()
    texts: queue.SimpleQueue[_Request] = queue.SimpleQueue()
    # The parent never waits for a place in the pipe while this process compiles.
    threading.Thread(target=_read, args=(requests, texts), daemon=True).start()
    code, has_precedence = b"", True
    while True:
        try:
            write_all(answers, ANSWER.pack(len(code)) + code)
        except OSError:
            worker.end()
        text, names, fast_compile, is_ahead = texts.get()
        if has_precedence and is_ahead:
            has_precedence = False
            worker.yield_to_calls()
        try:
            code = generator.compile_quickly(text, names) if names else generator.compile(text, fast_compile)
        except Exception:
            # The parent compiles it again, and has the error.
            code = b""


def _read(requests: FileIO, texts: queue.SimpleQueue[_Request]) -> None:
    try:
        while True:
            text_size, names_size, *options = REQUEST.unpack(read_exactly(requests, REQUEST.size))
            text = read_exactly(requests, text_size).decode()
            names = read_exactly(requests, names_size).decode().splitlines()
            texts.put((text, names, *options))
    except (EOFError, OSError):
        worker.end()


class _Folder(str):
    """The folder of a package, and the path of a file in it, as `importlib.resources` has them."""

    def __new__(cls, package: str) -> _Folder:
        return super().__new__(cls, sys.modules[package].__path__[0])

    def __truediv__(self, name: str) -> _Path:
        return _Path(f"{self}/{name}")


class _Path(str):
    """A path that is a context, too."""

    def __enter__(self) -> str:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def _load_binding() -> None:
    """Import LLVM's binding, without 50 modules of Python that take half of the time and 3 MB.

    The binding asks `importlib.resources` for the path of its library alone.
    """
    name = "importlib.resources"
    resources = ModuleType(name)
    vars(resources).update(files=_Folder, as_file=lambda path: path)
    sys.modules[name] = resources
    try:
        import llvmlite.binding

        llvmlite.binding.llvm_version_info  # noqa: B018
    except Exception:
        for module in [each for each in sys.modules if each.startswith("llvmlite.binding")]:
            del sys.modules[module]
    finally:
        del sys.modules[name]
