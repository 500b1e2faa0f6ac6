"""A process that compiles LLVM IR for another one, which `compiler_processes` starts.

Requests come on the standard input: `REQUEST`, then the text in UTF-8. Answers go to the standard output, in
the order of the requests: `ANSWER`, then the machine code, which is empty where compiling failed. Before them
the process says by an empty answer that it has loaded LLVM. It ends with its standard input, which is with
its parent at the latest.
"""

from __future__ import annotations

import os
import queue
import struct
import threading
from io import FileIO

from ....kernels.compiling.child_process import read_exactly, write_all, yield_to_calls
from .codegen import CodeGenerator

REQUEST = struct.Struct("<Q?")
"""The bytes of the text; whether it is compiled fast."""
ANSWER = struct.Struct("<Q")
"""The bytes of the machine code."""


def serve() -> None:
    """Compile what the standard input asks for until it ends. Does not return."""
    requests, answers = FileIO(0, "r"), FileIO(1, "w")
    texts: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
    # The parent never waits for a place in the pipe while this process compiles.
    threading.Thread(target=_read, args=(requests, texts), daemon=True).start()
    generator = CodeGenerator()
    yield_to_calls()
    code = b""
    while True:
        try:
            write_all(answers, ANSWER.pack(len(code)) + code)
        except OSError:
            os._exit(0)
        text, fast_compile = texts.get()
        try:
            code = generator.compile(text, fast_compile)
        except Exception:
            # The parent compiles it again, and has the error.
            code = b""


def _read(requests: FileIO, texts: queue.SimpleQueue[tuple[str, bool]]) -> None:
    try:
        while True:
            size, fast_compile = REQUEST.unpack(read_exactly(requests, REQUEST.size))
            texts.put((read_exactly(requests, size).decode(), fast_compile))
    except (EOFError, OSError):
        os._exit(0)
