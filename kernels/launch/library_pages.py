"""Returns the pages of LLVM's library to the system, which a process needs only while it compiles.

The library has 150 MB. Loading it touches 63 MB, and each of LLVM's optimizer and code generator more than
40, because the kernel maps 16 pages where a process touches one. The kernel keeps these pages of the
file anyway, but they count as memory of the process. A process that has returned them gets them again by page
faults, without reading the file: 1 to 2 ms for all that compiling a module touches, up to 8 on a virtual
machine. So a process that compiles one module after another soon keeps them, until it has compiled all.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ..named_tuples import NamedTuple

_LIBRARY: Final = "libllvmlite"
_PROCESS: Final = Path("/proc/self")
OPTIMIZER_BYTES: Final = 42 << 20
CODE_GENERATOR_BYTES: Final = 46 << 20
LINKER_BYTES: Final = 12 << 20
"""Bytes of the library that a phase touches if none of its pages is mapped before: measured with llvmlite
0.50 and Linux 6.18, all of the file being in the kernel's cache. Less of it is mapped otherwise."""
_RELEASE_SECONDS: Final = 0.05
"""Seconds between two releases in a phase."""
_PROMPT_RELEASES: Final = 24
"""Prompt releases after which `_LATER_SECONDS` must be between two: compiling a module takes up to three."""
_LATER_SECONDS: Final = 0.5
_MADV_DONTNEED: Final = 4
_SEGMENT_LOAD, _SEGMENT_WRITABLE = 1, 2


class _Mapping(NamedTuple):
    """Pages of a file at an address; `offset` is theirs in the file."""

    start: int
    end: int
    offset: int
    path: str


def is_loaded() -> bool:
    """Whether the process has the library."""
    return "llvmlite.binding" in sys.modules


def load() -> None:
    """Load the library, and return the pages that only this touches: more than a phase of compiling does.

    Raises:
        ImportError: llvmlite cannot be imported.
    """
    if not is_loaded():
        import llvmlite.binding  # noqa: F401

        release()


class _Releases:
    """How many prompt releases there have been, and when the last release and the last idle one were."""

    count = 0
    last = 0.0
    last_idle = 0.0


class _Kept:
    """Whether the pages stay."""

    is_set = False


class _Beside:
    """The bytes that the processes take which compile for this one."""

    bytes = 0


def count_beside(bytes: int) -> None:
    """Note what the processes take which compile for this one: their memory has its peak with this one's."""
    _Beside.bytes = bytes


def keep() -> None:
    """Keep the pages from now on: for a process that only compiles, and soon ends."""
    _Kept.is_set = True


def is_due() -> bool:
    """Whether a prompt release may pay: there have been few, or none for some time."""
    is_due = _Releases.count < _PROMPT_RELEASES or time.monotonic() - _Releases.last > _LATER_SECONDS
    return is_due and not _Kept.is_set


def release() -> None:
    """Return all pages of the library that no one can write to."""
    _Releases.last = time.monotonic()
    _return_pages()


def _return_pages() -> None:
    for mapping in () if _Kept.is_set else _unwritable():
        _madvise()(mapping.start, mapping.end - mapping.start, _MADV_DONTNEED)


def release_promptly() -> None:
    """Return the pages between phases of compiling, which soon touch them again: see `is_due`."""
    if is_loaded():
        _Releases.count += 1
        release()


def release_after_loading() -> None:
    """Return the pages that only loading code has touched, 9 MB, if other processes compile: they will not be
    touched again before the next answer.
    """
    if _Beside.bytes:
        _return_pages()


def release_while_idle() -> None:
    """Return the pages that were touched since the last release, unless that was just now.

    A thread calls it again and again while it waits for other processes that compile.
    """
    now = time.monotonic()
    if now - max(_Releases.last, _Releases.last_idle) > _LATER_SECONDS:
        _Releases.last_idle = now
        _return_pages()


def release_before(bytes: int) -> None:
    """Return the pages if a phase that touches `bytes` would raise the peak of the process, or that of it and
    the processes beside it.
    """
    if _may_raise_peak(bytes):
        release_promptly()


def _may_raise_peak(bytes: int) -> bool:
    """Whether a phase that touches `bytes` of the library may take the process, with those beside it, beyond
    its peak so far, and a release is due.
    """
    if not is_due():
        return False
    with suppress(OSError, StopIteration, ValueError):
        # The name of the process may be any bytes.
        lines = (_PROCESS / "status").read_text(encoding="utf-8", errors="replace").splitlines()
        resident, peak = [
            next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))
            for field in ("VmRSS:", "VmHWM:")
        ]
        return resident + bytes + _Beside.bytes > peak
    return False


@contextmanager
def released_during(bytes: int) -> Iterator[None]:
    """Return the pages before a phase, and again and again in it, if it would raise the peak of the process.

    Args:
        bytes: what the phase touches at least.
    """
    if not _may_raise_peak(bytes):
        yield
        return
    release_promptly()
    has_ended = threading.Event()
    thread = threading.Thread(target=_release_until, args=(has_ended,))
    try:
        # A process may have as many threads as the system lets it have.
        with suppress(RuntimeError):
            thread.start()
        yield
    finally:
        has_ended.set()
        if thread.ident is not None:
            thread.join()


def _release_until(has_ended: threading.Event) -> None:
    while not has_ended.wait(_RELEASE_SECONDS):
        release()


class _Library:
    """The mappings of the library that can be returned, once it is loaded."""

    mappings: tuple[_Mapping, ...] = ()


def _unwritable() -> tuple[_Mapping, ...]:
    """The mappings of the library, once it is loaded, that have the bytes of the file: no relocated pages."""
    # The package has this name once its library is loaded, which another thread may be doing now.
    if not _Library.mappings and hasattr(sys.modules.get("llvmlite.binding"), "initialize_native_target"):
        _Library.mappings = _unwritable_of_process()
    return _Library.mappings


def _unwritable_of_process() -> tuple[_Mapping, ...]:
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
