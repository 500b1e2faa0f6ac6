"""Compiles LLVM IR to machine code for this CPU, caches it on disk, and loads it once in each process.

LLVM may neither reorder nor contract floating-point arithmetic. Machine code is cached under a key, a digest
of the caller's description of the computation (`key_of`), so that a cached function needs no IR. The name of
the cache's folder depends on everything else that the code depends on: the sources that turn descriptions
into IR (`_generator_sources`), LLVM's version, and the CPU with its features. Loaded code, and the LLVM
objects that it needs, are never unloaded.

Code reaches the constants of its module by displacements of 32 bits (the small code model), so both must lie
within 2 GB. LLVM's linker JITLink maps one block of memory for a module, and reaches functions of libraries
by addresses of 64 bits, however far away these are. The older linker, RuntimeDyld, maps each section by
itself, and ends the process if two sections are too far apart. JITLink does not support all of COFF, the
object format of Windows: there RuntimeDyld links code of the large code model, all of whose addresses have 64
bits.
"""

from __future__ import annotations

import os
import pathlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....kernels.launch import processor
from ....kernels.launch.cache_files import (
    digest,
    digest_of_sources,
    folder,
    has_folder,
    read_entry,
    write_entry,
)
from ....kernels.launch.cache_limit import GENERATED_PREFIX
from ....kernels.launch.processor import has_full_speed_avx512, llvm_target, prefers_scalar_gather
from ....kernels.launch.spans import span
from .address_space import require_address_space

Build = Callable[[], str]
"""Returns the text of the LLVM module that defines the requested function."""

_OPTIMISATION_LEVEL = 3

_USES_JIT_LINK = sys.platform != "win32"
_CODE_MODEL = "small" if _USES_JIT_LINK else "large"

_USE_512_BIT_VECTORS = "-prefer-256-bit"
_LOAD_INSTEAD_OF_GATHER = "+prefer-no-gather"


def key_of(description: str) -> str:
    """The cache key of a function: equal descriptions mean equal code.

    Args:
        description: all that the function's IR depends on besides the sources of its generator.
    """
    return digest(description.encode()).hex()[:32]


def function_address(
    key: str, name: str, build: Build, fast_compile: bool = False, symbols: Mapping[str, int] | None = None
) -> int:
    """The address of one function: see `function_addresses`."""
    return function_addresses(key, (name,), build, fast_compile, symbols)[0]


def function_addresses(
    key: str,
    names: Sequence[str],
    build: Build,
    fast_compile: bool = False,
    symbols: Mapping[str, int] | None = None,
) -> Sequence[int]:
    """The addresses of functions of one module, valid until the process ends.

    Args:
        key: from `key_of`; the same key and name mean the same function.
        names: the functions' symbols, of external linkage.
        build: called if the code is neither loaded nor on disk.
        fast_compile: optimize less and unroll no loop, since the code's loops are too short to repay it.
        symbols: the addresses of external symbols that the code refers to; None: there are none.

    Raises:
        MemoryError: the process cannot map the code.
    """
    return _machine().addresses(key, names, build, fast_compile, symbols or {})


def is_compiled(key: str) -> bool:
    """Whether the code of a key is loaded or on disk, so that using it compiles nothing."""
    return has_compiled_code() and _machine().has(key)


def has_compiled_code() -> bool:
    """Whether any code is loaded or on disk. Does not load LLVM."""
    return bool(_machines) or has_folder(GENERATED_PREFIX)


def tuning() -> str:
    """LLVM's tuning options for this processor."""
    options = (
        (_USE_512_BIT_VECTORS, has_full_speed_avx512()),
        (_LOAD_INSTEAD_OF_GATHER, prefers_scalar_gather()),
    )
    return ",".join(option for option, applies in options if applies)


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
        self, key: str, names: Sequence[str], build: Build, fast_compile: bool, symbols: Mapping[str, int]
    ) -> Sequence[int]:
        loaded = [self.loaded.get((key, name)) for name in names]
        if None not in loaded:
            return [address for address in loaded if address is not None]
        with _lock:
            if any((key, name) not in self.loaded for name in names):
                require_address_space()
                code = self.object_code(key, build, fast_compile)
                for name, address in zip(names, self.load(code, names, symbols), strict=True):
                    self.loaded.setdefault((key, name), address)
                self.keys.add(key)
            return [self.loaded[key, name] for name in names]

    def object_code(self, key: str, build: Build, fast_compile: bool) -> bytes:
        """The machine code: read from the disk, or else compiled and written there."""
        path = self.path(key)
        code = read_entry(path) if path else None
        if code is None:
            with span("compile", f"generated code {key}"):
                code = self.compile(build(), fast_compile)
            if path:
                write_entry(path, code)
        return code

    def compile(self, text: str, fast_compile: bool = False) -> bytes:
        """The machine code of a module; for `fast_compile` see `function_addresses`."""
        code: bytes = self.target_machine.emit_object(self.optimised(text, fast_compile))
        return code

    def optimised(self, text: str, fast_compile: bool = False) -> Any:
        """LLVM's module, after its passes."""
        from . import vector_variants
        from .loops import with_distinct_nodes

        llvm = self.llvm
        module = llvm.parse_assembly(with_distinct_nodes(text))
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=1 if fast_compile else _OPTIMISATION_LEVEL)
        options.loop_vectorization = True
        options.slp_vectorization = True
        options.loop_interleaving = options.loop_unrolling = not fast_compile
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


def _generator_sources() -> list[pathlib.Path]:
    """The sources that decide the IR for a description: this package, and those that it computes with."""
    package = pathlib.Path(__file__).parents[3]
    kernels = pathlib.Path(processor.__file__).parents[1]
    return [
        *(package / name for name in ("compiler/loops", "program/ir", "program/ops")),
        *(package / name for name in ("options.py", "types.py")),
        *(kernels / name for name in ("simd", "launch/processor.py")),
    ]


def _folder(target: str) -> str | None:
    """The name of the folder for this version and CPU; None if the sources cannot be read."""
    try:
        sources = digest_of_sources(*_generator_sources())
    except OSError:
        return None
    return GENERATED_PREFIX + digest(sources, target.encode()).hex()[:32]


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
