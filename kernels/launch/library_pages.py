"""Returns the pages of LLVM's library to the system, which a process needs only while it compiles.

The library has 150 MB. Loading it touches 40 MB, and each of LLVM's optimizer and code generator about as
much again, because the kernel maps 16 pages where a process touches one. The kernel keeps these pages of the
file anyway, but they count as memory of the process. A process that has returned them gets them again by page
faults, without reading the file: 1 to 2 ms for all that compiling a module touches.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

_LIBRARY: Final = "libllvmlite"
_PROCESS: Final = Path("/proc/self")
OPTIMIZER_BYTES: Final = 32 << 20
CODE_GENERATOR_BYTES: Final = 40 << 20
LINKER_BYTES: Final = 7 << 20
"""Bytes of the library that a phase touches if none of its pages is mapped before: measured with llvmlite
0.50 and Linux 6.18."""
_MADV_DONTNEED: Final = 4
_SEGMENT_LOAD, _SEGMENT_WRITABLE = 1, 2


class _Mapping(NamedTuple):
    """Pages of a file at an address; `offset` is theirs in the file."""

    start: int
    end: int
    offset: int
    path: str


def release() -> None:
    """Return all pages of the library that no one can write to."""
    for mapping in _unwritable():
        _madvise()(mapping.start, mapping.end - mapping.start, _MADV_DONTNEED)


def release_before(bytes: int) -> None:
    """Return the pages if a phase that touches `bytes` would take the process beyond its peak so far."""
    with suppress(OSError, StopIteration, ValueError):
        # The name of the process may be any bytes.
        lines = (_PROCESS / "status").read_text(encoding="utf-8", errors="replace").splitlines()
        resident, peak = [
            next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))
            for field in ("VmRSS:", "VmHWM:")
        ]
        if resident + bytes > peak:
            release()


@functools.cache
def _unwritable() -> tuple[_Mapping, ...]:
    """The mappings of the library, once it is loaded, that have the bytes of the file: no relocated pages."""
    if sys.platform != "linux":
        return ()
    with suppress(OSError, ValueError, struct.error):
        mappings = list(_mappings())
        written = _writable_ranges(Path(mappings[0].path)) if mappings else []
        return tuple(
            one
            for one in mappings
            if all(one.offset + one.end - one.start <= first or one.offset >= last for first, last in written)
        )
    return ()


def _mappings() -> Iterator[_Mapping]:
    for line in (_PROCESS / "maps").read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, access, offset, _, _, *path = line.split(maxsplit=5)
        if path and Path(path[0]).name.startswith(_LIBRARY) and access.startswith("r"):
            start, end = (int(address, 16) for address in addresses.split("-"))
            yield _Mapping(start, end, int(offset, 16), path[0])


def _writable_ranges(path: Path) -> list[tuple[int, int]]:
    """The ranges of an ELF file that are mapped as writable, even if only until they are relocated."""
    page = os.sysconf("SC_PAGE_SIZE")
    with path.open("rb") as file:
        header = file.read(64)
        if header[:5] != b"\x7fELF\x02":
            raise ValueError("no ELF file of 64 bits")
        (first,), (size, count) = struct.unpack_from("=Q", header, 32), struct.unpack_from("=HH", header, 54)
        file.seek(first)
        table = file.read(size * count)
    ranges = []
    for number in range(count):
        type, flags, offset, _, _, file_size = struct.unpack_from("=IIQQQQ", table, number * size)
        if type == _SEGMENT_LOAD and flags & _SEGMENT_WRITABLE:
            ranges.append((offset // page * page, -(-(offset + file_size) // page) * page))
    return ranges


@functools.cache
def _madvise() -> Any:
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
