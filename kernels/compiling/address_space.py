"""Checks that the process can still map memory, because LLVM's linker aborts a process that cannot."""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from typing import Any

_MAPPINGS = 24
"""Mappings that must be left: the linker makes four for a module, and other threads make some meanwhile."""
_BYTES = 1 << 26
"""Bytes that must be left: the code of a module takes less than 1 MB, and compiling it some 10 MB."""


@functools.cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


def require_address_space() -> None:
    """Raise where the process is about to reach a limit of its address space.

    Linux limits the number of mappings (`vm.max_map_count`, 65,530 unless it was set), and what is loaded
    stays loaded.

    Raises:
        MemoryError: the process can map too little memory, or has too many mappings.
    """
    if sys.platform == "win32":
        return
    try:
        memory = mmap.mmap(-1, _BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no address space for compiled code: {error}") from error
    with memory:
        # Neighbouring pages of different protection are mappings of their own.
        protect, page = _mprotect(), mmap.PAGESIZE
        first = ctypes.c_char.from_buffer(memory)
        address = ctypes.addressof(first)
        pages = range(address + page, address + _MAPPINGS * page, 2 * page)
        failed = any(protect(address, page, mmap.PROT_READ) for address in pages)
        del first
        if failed:
            raise MemoryError("the process has as many mappings as it may have, and none for compiled code")
