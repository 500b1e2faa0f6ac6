"""Loads machine code into this process: that of kernels, and of generated loops.

Loaded code, and the LLVM objects that it needs, are never unloaded: callers keep plain addresses.

Code reaches the constants of its module by displacements of 32 bits (the small code model), so both must lie
within 2 GB. `object_loader` loads what LLVM writes for Linux, so that a process need not have LLVM. Other
files are linked by LLVM. Its linker JITLink maps one block of memory for a module, and reaches functions of
libraries by addresses of 64 bits, however far away these are. The older linker, RuntimeDyld, maps each
section by itself, and ends the process if two sections are too far apart. JITLink does not support all of
COFF, the object format of Windows: there RuntimeDyld links code of the large code model, all of whose
addresses have 64 bits.
"""

from __future__ import annotations

import functools
import os
import pathlib
import platform
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..launch import library_pages
from ..launch.processor import identity, llvm_target
from .address_space import require_address_space
from .object_loader import UnsupportedObject, load_object
from .target import CODE_MODEL, USES_JIT_LINK, target_machine

TASK_SYMBOL = "task"
"""The symbol of a kernel's task in its machine code."""

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A child must not find LLVM's own lock held by a thread that it does not have.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

_libraries: list[Any] = []


@functools.cache
def compiler_identity() -> str:
    """All that decides the machine code of a text in LLVM IR, besides the sources of this package.

    LLVM is not loaded where that is possible (`processor_features`).
    """
    import llvmlite

    binding = pathlib.Path(llvmlite.__file__).parent / "binding"
    # Builds of a version may have different versions of LLVM.
    libraries = sorted((path.name, path.stat().st_size) for path in binding.glob("*llvmlite.*"))
    target = (sys.platform, platform.machine(), identity(), CODE_MODEL)
    return repr((llvmlite.__version__, libraries, target))


def load(code: bytes, names: Sequence[str], symbols: Mapping[str, int]) -> list[int]:
    """Load machine code; returns the addresses of its functions, which are valid until the process ends.

    Args:
        code: an object file.
        names: the functions' symbols.
        symbols: the addresses of external symbols that are not those of a library in the process.

    Raises:
        RuntimeError: a symbol is missing, or LLVM cannot map the code.
        MemoryError: the process cannot map the code.
    """
    with suppress(UnsupportedObject):
        return load_object(code, names, dict(symbols))
    return _link(code, names, symbols)


def _link(code: bytes, names: Sequence[str], symbols: Mapping[str, int]) -> list[int]:
    """See `load`: by LLVM."""
    with _lock:
        require_address_space()
        library_pages.load()
        import llvmlite.binding as llvm

        linker = _linker()
        library_pages.release_before(library_pages.LINKER_BYTES)
        loading = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            loading.export_symbol(name)
        for symbol, address in symbols.items():
            loading.import_symbol(symbol, address)
        library = loading.link(linker, f"library{len(_libraries)}")
        _libraries.append(library)
        return [int(library[name]) for name in names]


@functools.cache
def _linker() -> Any:
    import llvmlite.binding as llvm

    return llvm.create_lljit_compiler(target_machine(*llvm_target(), level=0), use_jit_link=USES_JIT_LINK)
