"""Has LLVM IR compiled for this CPU, caches machine code on disk, and loads it once in each process.

LLVM is loaded where this process compiles (`compiling.py`), and where it must load a file that only LLVM can.

Machine code is cached under a key, a digest of the caller's description of the computation (`key_of`), so
that a cached function needs no IR. The name of the cache's folder depends on everything else that the code
depends on: the sources that turn descriptions into IR (`_generator_sources`), LLVM's version, and the CPU
with its features.

Loaded code is never unloaded. Functions, launches and the jumps of quick code hold plain addresses, a thread
may be in the code, and programs with equal keys share it, so nothing tells when the last user has gone. For
the same reason what code refers to by its address stays, too: large constants and prepared calls
(`arrays/library_calls.py`, `arrays/launches.py`). A process that compiles ever new programs grows by their
code.
"""

from __future__ import annotations

import functools
import os
import pathlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ....kernels.compiling import object_code
from ....kernels.launch import library_pages, processor
from ....kernels.launch.cache_files import (
    digest,
    digest_of_sources,
    folder,
    read_entry,
    write_entry,
)
from ....kernels.launch.cache_limit import GENERATED_PREFIX
from ....kernels.launch.garbage import gc_paused
from ....kernels.launch.spans import span
from .compiling import Compiler
from .expected_code import has_compiled_code, note_loaded_code
from .quick_code import QuickCode, target_symbol

if TYPE_CHECKING:
    from .compiler_processes import Compilation

_MIN_RELEASE_SECONDS = 0.02
"""Seconds between two releases of the library's pages. Compiling a module takes longer, loading one 1 ms."""

_QUICK, _ROUGH = ".quick", ".rough"
"""Stages of code before the last one, as in the names of files: not optimized, and without unrolling."""

Build = Callable[[], str]
"""Returns the text of the LLVM module that defines the requested function."""


def key_of(description: str) -> str:
    """The cache key of a function: equal descriptions mean equal code.

    Args:
        description: all that the function's IR depends on besides the sources of its generator.
    """
    return digest(description.encode()).hex()[:32]


def function_address(
    key: str,
    name: str,
    build: Build,
    fast_compile: bool = False,
    symbols: Mapping[str, int] | None = None,
    quickly: bool = False,
) -> int:
    """The address of one function: see `function_addresses`."""
    return function_addresses(key, (name,), build, fast_compile, symbols, quickly)[0]


def function_addresses(
    key: str,
    names: Sequence[str],
    build: Build,
    fast_compile: bool = False,
    symbols: Mapping[str, int] | None = None,
    quickly: bool = False,
    unrolls_late: bool = False,
) -> Sequence[int]:
    """The addresses of functions of one module, valid until the process ends.

    Args:
        key: from `key_of`; the same key and name mean the same function.
        names: the functions' symbols, of external linkage.
        build: called if the code is neither loaded nor on disk.
        fast_compile: optimize less and unroll no loop, since the code's loops are too short to repay it.
        symbols: the addresses of external symbols that the code refers to; None: there are none.
        quickly: whether the code is not optimized at first. The caller then has it optimized
            (`quick_codes`).
        unrolls_late: whether quick code is first optimized roughly, because unrolling takes LLVM long.

    Raises:
        MemoryError: the process cannot map the code.
    """
    return _machine().addresses(key, names, build, fast_compile, symbols or {}, quickly, unrolls_late)


def quick_codes() -> dict[str, QuickCode]:
    """The quick code that this thread has loaded since its last call, by the keys."""
    return _machines[0].take_quick() if _machines else {}


def optimize_ahead(key: str, roughly: bool = False) -> None:
    """Have another process optimize quick code, for which `optimize` then waits."""
    _machine().optimize_ahead(key, roughly)


def is_ahead(key: str, roughly: bool = False) -> bool:
    """Whether another process optimizes the code of a key, or has done so, and the code is not loaded yet."""
    return _key_ahead(key, _ROUGH if roughly else "") in _machine().ahead


def is_there(key: str, roughly: bool = False) -> bool:
    """Whether no other process optimizes the code of a key, or its answer is there; and no other thread loads
    the code."""
    machine = _machine()
    return not machine.is_pending(key, roughly) and not machine.is_in_work(key)


def optimize(key: str, roughly: bool = False) -> None:
    """Put optimized code in the place of quick code.

    Args:
        key: see `function_addresses`.
        roughly: whether that is code as of `fast_compile`, until a second call optimizes it.
    """
    _machine().optimize(key, roughly)


def compile_ahead(
    key: str,
    build: Build,
    fast_compile: bool = False,
    names: Sequence[str] = (),
    unrolls_late: bool | None = None,
) -> None:
    """Have another process compile the code of a key, for which `function_addresses` then waits.

    Nothing happens where there is no such process (`compiler_processes`), or nothing to compile. For the
    arguments see `function_addresses`. One thread at a time may call this without names.

    Args:
        names: of quick code; none: of code that is optimized.
        unrolls_late: of quick code that an idle process optimizes meanwhile; None: none does.
    """
    if names:
        _machine().compile_quickly_ahead(key, build, names, fast_compile, unrolls_late)
    else:
        _machine().compile_ahead(key, build, fast_compile)


def is_compiled(key: str, quickly: bool = False) -> bool:
    """Whether the code of a key is loaded or on disk, so that using it compiles nothing.

    Args:
        key: see `function_addresses`.
        quickly: whether quick code will do.
    """
    return has_compiled_code() and _machine().has(key, quickly)


def find_cache() -> None:
    """Find the folder of the cache on disk.

    That reads all sources of the code generator. A thread that reads files beside calls waits for the GIL
    after each of them, up to 70 ms in all, so the thread of a call does it before.
    """
    _own_folder()


def compile_here() -> None:
    """Compile in this process from now on, for callers that wait for all code; but see `compile_ahead`."""
    _machine().compiler.is_here = True


class _Machine:
    """This process's compiler and the code that it has loaded.

    Attributes:
        compiler: has texts compiled.
        in_work: for each key, what the thread holds that compiles or loads its code.
        ahead: the compilations of other processes, by key and `_key_ahead`, until they are loaded.
        texts: those of quick code that other processes generate ahead, by key.
        quick: the loaded quick code, by key, until it is optimized.
        new_quick: the keys of those that `take_quick` has not returned, and the threads that loaded them.
    """

    def __init__(self) -> None:
        # Here the lock is held: a child would wait for ever for a module that another thread was importing.
        from .vector_variants import library_symbols

        self.library_symbols = library_symbols
        self.compiler = Compiler(_lock)
        self.loaded: dict[tuple[str, str], int] = {}
        self.in_work: dict[str, threading.RLock] = {}
        self.keys: set[str] = set()
        self.ahead: dict[str, Compilation] = {}
        self.texts: dict[str, Build] = {}
        self.released = time.monotonic()
        self.quick: dict[str, QuickCode] = {}
        self.new_quick: dict[str, int] = {}
        self.folder = _own_folder()

    def has(self, key: str, counts_quick: bool) -> bool:
        """Whether code of a key is loaded or on disk; quick code does if `counts_quick`."""
        if key in self.keys and (counts_quick or key not in self.quick):
            return True
        paths = (self.path(key), self.path(key, _QUICK) if counts_quick else None)
        return any(path is not None and path.exists() for path in paths)

    def path(self, key: str, stage: str = "") -> pathlib.Path | None:
        """The file of a key's machine code, or of that of an earlier stage."""
        version = folder(self.folder) if self.folder else None
        return version / f"{key}{stage}.o" if version else None

    def addresses(
        self,
        key: str,
        names: Sequence[str],
        build: Build,
        fast_compile: bool,
        symbols: Mapping[str, int],
        quickly: bool = False,
        unrolls_late: bool = False,
    ) -> Sequence[int]:
        if not quickly and key in self.quick:
            # Another program has loaded quick code, but this caller waits for optimized code.
            self.optimize(key, roughly=False)
        loaded = [self.loaded.get((key, name)) for name in names]
        if None not in loaded:
            return [address for address in loaded if address is not None]
        # Other threads compile other code meanwhile.
        with self.in_work.setdefault(key, threading.RLock()):
            if any((key, name) not in self.loaded for name in names):
                addresses = self.loaded_addresses(
                    key, names, build, fast_compile, symbols, quickly, unrolls_late
                )
                for name, address in zip(names, addresses, strict=True):
                    self.loaded.setdefault((key, name), address)
                self.keys.add(key)
        return [self.loaded[key, name] for name in names]

    def loaded_addresses(
        self,
        key: str,
        names: Sequence[str],
        build: Build,
        fast_compile: bool,
        symbols: Mapping[str, int],
        quickly: bool,
        unrolls_late: bool,
    ) -> Sequence[int]:
        """Load code, and return the addresses of its functions; the arguments are those of `addresses`."""
        # Quick code need not wait for what another process optimizes already.
        code = None if quickly and self.is_pending(key) else self.code_compiled_ahead(key)
        code = code or self.cached_code(key)
        quick_code = self.cached_code(key, _QUICK) if code is None and quickly else None
        text = self.texts.pop(key, None) or _cached_text(build)
        size = 0 if quick_code is None else len(quick_code)
        if code is None and quick_code is None:
            self.compiler.start()
            size = len(text())
            if quickly:
                quick_code = self.compiled_quickly(key, text, names)
            else:
                code = self.compiled_code(key, text(), fast_compile)
        if code is None:
            assert quick_code is not None
            addresses = self.load(quick_code, [*names, *map(target_symbol, names)], symbols)
            targets = dict(zip(names, addresses[len(names) :], strict=True))
            rough = self.cached_code(key, _ROUGH) if unrolls_late else None
            quick = QuickCode(text, size, fast_compile, symbols, targets, unrolls_late, rough is not None)
            if rough is not None:
                quick.replace(dict(zip(names, self.load(rough, names, symbols), strict=True)))
            self.note_quick(key, quick)
        else:
            addresses = self.load(code, names, symbols)
            # They may have been submitted while this thread compiled.
            for stage in ("", _QUICK, _ROUGH):
                self.ahead.pop(_key_ahead(key, stage), None)
        self.release_pages()
        return addresses[: len(names)]

    def release_pages(self) -> None:
        """Return the pages of LLVM's library, except where another module may need them at once."""
        if time.monotonic() - self.released > _MIN_RELEASE_SECONDS and library_pages.is_due():
            library_pages.release_promptly()
            self.released = time.monotonic()
        else:
            library_pages.release_after_loading()

    def compile_ahead(self, key: str, build: Build, fast_compile: bool) -> None:
        """See `compile_ahead`."""
        from .compiler_processes import PROCESSES

        if PROCESSES and key not in self.ahead and not self.has(key, counts_quick=False):
            compilation = PROCESSES.submit(gc_paused(build)(), fast_compile)
            if compilation is not None:
                self.ahead[key] = compilation

    def is_pending(self, key: str, roughly: bool = False) -> bool:
        """Whether another process optimizes the code of a key, and its answer has not been read."""
        compilation = self.ahead.get(_key_ahead(key, _ROUGH if roughly else ""))
        return compilation is not None and compilation.is_pending

    def is_in_work(self, key: str) -> bool:
        """Whether another thread compiles or loads the code of a key."""
        lock = self.in_work.setdefault(key, threading.RLock())
        if not lock.acquire(blocking=False):
            return True
        lock.release()
        return False

    def code_compiled_ahead(self, key: str, roughly: bool = False) -> bytes | None:
        """The machine code from another process, once it is there; None if none has compiled it."""
        key_ahead = _key_ahead(key, _ROUGH if roughly else "")
        compilation = self.ahead.get(key_ahead)
        if compilation is None:
            return None
        with span("wait", f"generated code {key}"):
            code = compilation.result()
        is_new = self.ahead.pop(key_ahead, None) is not None
        if is_new and code is not None:
            self.store(key, code, _ROUGH if roughly else "")
        return code

    def note_quick(self, key: str, quick: QuickCode) -> None:
        """Note quick code that is loaded; of a key that has some, other functions."""
        if key in self.quick:
            self.quick[key].targets.update(quick.targets)
        else:
            self.quick[key] = quick
            self.new_quick[key] = threading.get_ident()

    def take_quick(self) -> dict[str, QuickCode]:
        """See `quick_codes`."""
        # Without the lock, which may be held for seconds by a thread that optimizes.
        keys = [key for key, thread in tuple(self.new_quick.items()) if thread == threading.get_ident()]
        for key in keys:
            del self.new_quick[key]
        quick = [(key, self.quick.get(key)) for key in keys]
        return {key: code for key, code in quick if code is not None}

    def optimize_ahead(self, key: str, roughly: bool) -> None:
        """See `optimize_ahead`."""
        from .compiler_processes import PROCESSES

        quick, key_ahead = self.quick.get(key), _key_ahead(key, _ROUGH if roughly else "")
        if PROCESSES and quick is not None and key_ahead not in self.ahead:
            compilation = PROCESSES.submit(quick.text(), roughly or quick.fast_compile)
            if compilation is not None:
                self.ahead[key_ahead] = compilation

    def optimize(self, key: str, roughly: bool) -> None:
        """See `optimize`."""
        code = self.code_compiled_ahead(key, roughly)
        with self.in_work.setdefault(key, threading.RLock()):
            quick = self.quick.get(key)
            if quick is None:
                return
            if code is None:
                stage = _ROUGH if roughly else ""
                code = self.compiled_code(key, quick.text(), roughly or quick.fast_compile, stage)
            names = list(quick.targets)
            addresses = dict(zip(names, self.load(code, names, quick.symbols), strict=True))
            quick.replace(addresses)
            if not roughly:
                # Until then callers get the functions that jump.
                self.loaded.update({(key, name): address for name, address in addresses.items()})
                del self.quick[key]
            self.release_pages()

    def cached_code(self, key: str, stage: str = "") -> bytes | None:
        """The machine code on the disk, or that of an earlier stage; None if there is none."""
        path = self.path(key, stage)
        return read_entry(path) if path else None

    def compiled_code(self, key: str, text: str, fast_compile: bool, stage: str = "") -> bytes:
        """The machine code of a text, which is written to the disk."""
        with span("compile", f"generated code {key}"):
            code = self.compiler.compile(text, fast_compile)
        self.store(key, code, stage)
        return code

    def compile_quickly_ahead(
        self, key: str, build: Build, names: Sequence[str], fast_compile: bool, unrolls_late: bool | None
    ) -> None:
        """See `compile_ahead`; for quick code."""
        lock = self.in_work.setdefault(key, threading.RLock())
        # Another thread that has the lock compiles the code, and may wait for that of this thread.
        if not self.compiler.is_here and lock.acquire(blocking=False):
            try:
                if _key_ahead(key, _QUICK) not in self.ahead and not self.has(key, counts_quick=True):
                    self.texts[key] = _cached_text(build)
                    self.submit_quickly(key, self.texts[key](), names)
                    if unrolls_late is not None:
                        self.optimize_meanwhile(key, self.texts[key](), fast_compile, unrolls_late)
            finally:
                lock.release()

    def optimize_meanwhile(self, key: str, text: str, fast_compile: bool, roughly: bool) -> None:
        """Have another process that is idle optimize a text whose quick code is not there yet."""
        from .compiler_processes import PROCESSES

        if PROCESSES.has_idle:
            compilation = PROCESSES.submit(text, roughly or fast_compile)
            if compilation is not None:
                self.ahead[_key_ahead(key, _ROUGH if roughly else "")] = compilation

    def submit_quickly(self, key: str, text: str, names: Sequence[str]) -> None:
        """Have another process generate quick code, where one can."""
        compilation = self.compiler.submit_quickly(text, names)
        if compilation is not None:
            self.ahead[_key_ahead(key, _QUICK)] = compilation

    def compiled_quickly(self, key: str, text: Build, names: Sequence[str]) -> bytes:
        """The quick code of a text, which is written to the disk."""
        key_ahead = _key_ahead(key, _QUICK)
        with span("compile", f"quick code {key}"):
            if key_ahead not in self.ahead:
                self.submit_quickly(key, text(), names)
            code = self.compiler.compile_quickly(text(), names, self.ahead.get(key_ahead))
            self.ahead.pop(key_ahead, None)
        self.store(key, code, _QUICK)
        return code

    def store(self, key: str, code: bytes, stage: str = "") -> None:
        """Write machine code to the disk, that of the last stage in the place of earlier ones."""
        path = self.path(key, stage)
        if path is None:
            return
        write_entry(path, code)
        for earlier in () if stage else (_QUICK, _ROUGH):
            with suppress(OSError):
                path.with_name(f"{key}{earlier}.o").unlink()

    def load(self, code: bytes, names: Sequence[str], symbols: Mapping[str, int]) -> Sequence[int]:
        """Load machine code; returns the addresses of its functions."""
        return object_code.load(code, names, {**symbols, **self.library_symbols(code)})


def _generator_sources() -> list[pathlib.Path]:
    """The sources that decide the IR for a description: this package, and those that it computes with."""
    package = pathlib.Path(__file__).parents[3]
    kernels = pathlib.Path(processor.__file__).parents[1]
    return [
        *(package / name for name in ("compiler/loops", "program/ir", "program/ops")),
        *(package / name for name in ("options.py", "types.py")),
        *(kernels / name for name in ("convolution", "simd")),
        *(kernels / "compiling" / name for name in ("object_code.py", "target.py")),
        *(kernels / "launch" / name for name in ("processor.py", "processor_features.py")),
    ]


@functools.cache
def _own_folder() -> str | None:
    """The name of the folder of this process's code; None: see `_folder`."""
    return _folder(object_code.compiler_identity())


def _folder(target: str) -> str | None:
    """The name of the folder for this version and CPU; None if the sources cannot be read."""
    try:
        sources = digest_of_sources(*_generator_sources())
    except OSError:
        return None
    return GENERATED_PREFIX + digest(sources, target.encode()).hex()[:32]


def _key_ahead(key: str, stage: str = "") -> str:
    """The key in `_Machine.ahead` of the code of a key, or of an earlier stage."""
    return key + stage


def _cached_text(build: Build) -> Build:
    """Makes a text once. Its objects live until it is there; to look at them takes a third of the time."""
    return functools.cache(gc_paused(build))


_lock = threading.RLock()
_machines: list[_Machine] = []


def _after_fork_in_child() -> None:
    """Forget what the threads are doing that the child does not have."""
    for machine in _machines:
        machine.in_work.clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    # A child must find neither this lock nor LLVM's own held by a thread that it does not have.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork_in_child
    )


def _machine() -> _Machine:
    if not _machines:
        with _lock:
            if not _machines:
                _machines.append(_Machine())
                note_loaded_code()
    return _machines[0]
