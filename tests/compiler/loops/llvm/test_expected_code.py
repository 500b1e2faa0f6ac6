"""Whether there is generated code is seen at any time, without what compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

IMPORTED_BY_ANOTHER_THREAD = """
import importlib, sys, threading
import nimblehlo
from nimblehlo.compiler.loops.llvm.expected_code import has_compiled_code

PACKAGE = "nimblehlo.compiler.loops.llvm"
has_begun, may_end = threading.Event(), threading.Event()

class Delay:
    def find_spec(self, name, path=None, target=None):
        if name == f"{PACKAGE}.compiling":
            has_begun.set()
            may_end.wait()

sys.meta_path.insert(0, Delay())
thread = threading.Thread(target=importlib.import_module, args=(f"{PACKAGE}.machine",))
thread.start()
has_begun.wait()
threading.Timer(0.1, may_end.set).start()
print(has_compiled_code())
thread.join()
"""


def test_another_thread_imports_what_compiles(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", IMPORTED_BY_ANOTHER_THREAD],
        env={**os.environ, "NIMBLEHLO_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.stdout.strip() == "False", child.stderr
