"""Compiles LLVM IR to machine code for this CPU, caches it on disk, and loads it once a process.

LLVM may neither reorder nor contract floating-point arithmetic. Machine code is cached under a key of the IR,
in a folder whose name depends on this package's sources, LLVM's version, and the CPU with its features.
Loaded code is never unloaded, nor the objects of LLVM that it needs.

Code reaches the constants of its module by displacements of 32 bits (the small code model), so both must lie
within 2 GB. LLVM's linker JITLink maps one block of memory for a module, and reaches functions of libraries
by addresses of 64 bits, however far away these are. The older linker, RuntimeDyld, maps each section where
there is space, and ends the process where two of them come to lie too far apart. Of object files for Windows
JITLink knows but a part: there RuntimeDyld links code of the large code model, all of whose addresses have
64 bits.
"""

from __future__ import annotations

import os
import pathlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...kernels.launch.cache_files import digest, digest_of_sources, folder, has_folder, keep, read
from ...kernels.launch.processor import has_full_speed_avx512, llvm_target, prefers_scalar_gather
from ...kernels.launch.spans import span
from .address_space import require_address_space

Build = Callable[[], str]
"""Returns the text of the LLVM module that defines the requested function."""

_OPTIMISATION_LEVEL = 3

_USES_JIT_LINK = sys.platform != "win32"
_CODE_MODEL = "small" if _USES_JIT_LINK else "large"

_FOLDERS = "generated-"
"""Prefix of the names of folders with machine code."""

_WIDE = "-prefer-256-bit"
_ONE_BY_ONE = "+prefer-no-gather"


def key_of(description: str) -> str:
    """A key for code that a text describes fully: equal texts, equal code."""
    return digest(description.encode()).hex()[:32]


def function_address(
    key: str, name: str, build: Build, is_brief: bool = False, symbols: Mapping[str, int] | None = None
) -> int:
    """The address of one function: see `function_addresses`."""
    return function_addresses(key, (name,), build, is_brief, symbols)[0]


def function_addresses(
    key: str,
    names: Sequence[str],
    build: Build,
    is_brief: bool = False,
    symbols: Mapping[str, int] | None = None,
) -> Sequence[int]:
    """The addresses of functions of one module, valid as long as the process lives.

    Args:
        key: from `key_of`; the same key and name mean the same function.
        names: the functions' symbols, of external linkage.
        build: called where neither this process nor the disk has the code.
        is_brief: the code's loops are short, so that LLVM should not take long over them.
        symbols: the addresses of what the code uses from outside; None: nothing.

    Raises:
        MemoryError: the process cannot map the code.
    """
    return _machine().addresses(key, names, build, is_brief, symbols or {})


def is_quick(key: str) -> bool:
    """Whether the code of that key is loaded, or is on disk, so that it need not be compiled."""
    return may_be_quick() and _machine().has(key)


def may_be_quick() -> bool:
    """Whether any code is loaded, or is on disk. No compiler is loaded to answer."""
    return bool(_machines) or has_folder(_FOLDERS)


def tuning() -> str:
    """LLVM's tuning options for this processor."""
    wishes = ((_WIDE, has_full_speed_avx512()), (_ONE_BY_ONE, prefers_scalar_gather()))
    return ",".join(text for text, applies in wishes if applies)


class _Machine:
    """This process's compiler and the code that it has loaded."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        cpu, features = llvm_target()
        features = ",".join(part for part in (features, tuning()) if part)
        target = llvm.Target.from_default_triple()
        self.target_machine = target.create_target_machine(
            cpu=cpu, features=features, opt=_OPTIMISATION_LEVEL, reloc="pic", codemodel=_CODE_MODEL
        )
        self.compiler = llvm.create_lljit_compiler(self.target_machine, use_jit_link=_USES_JIT_LINK)
        self.loaded: dict[tuple[str, str], int] = {}
        self.keys: set[str] = set()
        self.libraries: list[Any] = []
        target_description = (llvm.get_default_triple(), cpu, features, _CODE_MODEL)
        self.folder = _folder(repr((llvm.llvm_version_info, *target_description)))

    def has(self, key: str) -> bool:
        if key in self.keys:
            return True
        path = self.path(key)
        return path is not None and path.exists()

    def path(self, key: str) -> pathlib.Path | None:
        version = folder(self.folder) if self.folder else None
        return version / f"{key}.o" if version else None

    def addresses(
        self, key: str, names: Sequence[str], build: Build, is_brief: bool, symbols: Mapping[str, int]
    ) -> Sequence[int]:
        loaded = [self.loaded.get((key, name)) for name in names]
        if None not in loaded:
            return [address for address in loaded if address is not None]
        with _lock:
            if any((key, name) not in self.loaded for name in names):
                require_address_space()
                code = self.object_code(key, build, is_brief)
                for name, address in zip(names, self.load(code, names, symbols), strict=True):
                    self.loaded.setdefault((key, name), address)
                self.keys.add(key)
            return [self.loaded[key, name] for name in names]

    def object_code(self, key: str, build: Build, is_brief: bool) -> bytes:
        """The machine code from the disk, or else compiled and kept there."""
        path = self.path(key)
        code = read(path) if path else None
        if code is None:
            with span("compile", f"generated code {key}"):
                code = self.compile(build(), is_brief)
            if path:
                keep(path, code)
        return code

    def compile(self, text: str, is_brief: bool = False) -> bytes:
        """Machine code of a module; `is_brief`: its loops are short, so that unrolling them gains nothing."""
        code: bytes = self.target_machine.emit_object(self.optimised(text, is_brief))
        return code

    def optimised(self, text: str, is_brief: bool = False) -> Any:
        """LLVM's module, after its passes."""
        from . import vector_variants
        from .loops import with_distinct_loops

        llvm = self.llvm
        module = llvm.parse_assembly(with_distinct_loops(text))
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=1 if is_brief else _OPTIMISATION_LEVEL)
        options.loop_vectorization = True
        options.slp_vectorization = True
        options.loop_interleaving = options.loop_unrolling = not is_brief
        builder = llvm.create_pass_builder(self.target_machine, options)
        builder.getModulePassManager().run(module, builder)
        vector_variants.define(llvm, module, builder)
        return module

    def load(self, code: bytes, names: Sequence[str], symbols: Mapping[str, int]) -> Sequence[int]:
        """Load machine code; returns the addresses of its functions."""
        from .vector_variants import library_symbols

        loading = self.llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            loading.export_symbol(name)
        for symbol, address in {**symbols, **library_symbols(code)}.items():
            loading.import_symbol(symbol, address)
        library = loading.link(self.compiler, f"library{len(self.libraries)}")
        self.libraries.append(library)
        return [int(library[name]) for name in names]


def _folder(target: str) -> str | None:
    """The name of the folder for this version and CPU; None if the sources cannot be read."""
    try:
        sources = digest_of_sources(pathlib.Path(__file__).parents[1])
    except OSError:
        return None
    return _FOLDERS + digest(sources, target.encode()).hex()[:32]


_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    # A child must find neither this lock nor LLVM's own held by a thread that it does not have.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
_machines: list[_Machine] = []


def _machine() -> _Machine:
    if not _machines:
        with _lock:
            if not _machines:
                _machines.append(_Machine())
    return _machines[0]
