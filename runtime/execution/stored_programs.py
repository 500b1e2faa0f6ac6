"""Programs on the disk: what the front end and the passes have made of a text, for the next process.

A process that compiles a text which another one has compiled with the same options reads the fused function
and lowers it. It parses the text only if its module is asked for. `kernels/launch/cache_files.py` reads and
writes the files; a folder's name has all that decides what passes do (`_version`), a file's name the text and
the options. Only programs are stored that compiled, so that others raise the errors that they always raise.
"""

from __future__ import annotations

import functools
import os
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np

from ..compiler.specialize.scatter_granularity import ScatterGranularity
from ..errors import raised_by_signal_handler
from ..kernels.launch import processor
from ..kernels.launch.cache_files import digest, folder, read_entry, write_entry
from ..kernels.launch.cache_limit import PROGRAM_SUFFIX, PROGRAMS_PREFIX, limit
from ..kernels.launch.garbage import gc_paused
from ..kernels.launch.threads import chosen_threads
from ..options import Options
from ..program.frontend.loader import MAGIC, ProgramText
from ..program.ir import Function, Module, Operation
from ..program.ir.record import IdentityRecord
from ..program.loading import GivenProgram
from ..program.ops.framework.memory_limit import usable_bytes

if TYPE_CHECKING:
    from ..compiler.plan.implementations.native_loops import DecidedLoop
    from ..program.ir.encoding import Decision

ENVIRONMENT_VARIABLE: Final = "NIMBLEHLO_STORE_PROGRAMS"
"""0: programs are neither stored nor read; for tests that change how passes decide."""

MIN_TEXT_BYTES: Final = 1 << 13
MIN_BYTECODE_BYTES: Final = 1 << 11
MAX_TEXT_BYTES: Final = 1 << 25
"""Sizes of the texts whose programs are stored, and of bytecode. Smaller ones compile in a few milliseconds;
of larger ones most is constants, and a process would keep the text, which it may have to parse, in memory."""

MIN_OPERATIONS: Final = 250
"""Operations of the modules whose programs are stored; the key of a module is its operations as bytes."""

MIN_SECONDS: Final = 0.05
"""Seconds that the front end and the passes take for a program that is stored. Encoding takes about a
thirtieth of that, and decoding a fortieth (programs of 60 to 23,000 operations on Sapphire Rapids)."""

_DECLARED: Final = (
    "visibility",
    "attributes",
    "argument_attributes",
    "result_attributes",
    "location",
    "location_names",
)
"""What a function says besides its name, type and body."""

_DECIDING_FOLDERS: Final = ("compiler", "program")
_DECIDING_MODULES: Final = ("api.py", "options.py", "types.py", "execution/stored_programs.py")
"""What decides, with the kernels, which function the passes make of a text, and how it is stored."""

MAX_LIMIT_SHARE: Final = 1 / 16
"""Maximum share of the cache's limit that one program may take."""


class StoredProgram(IdentityRecord):
    """A program that the passes have gone through.

    Attributes:
        function: the fused function.
        native_loops: what `nimblehlo.compiler.plan.fusion_passes.with_all_loops` has returned for it.
        module_name: the name of the module.
        declared: the function of the module without its body.
        granularity: what scatters drop.
    """

    function: Function
    native_loops: Mapping[Operation, DecidedLoop]
    module_name: str | None
    declared: Function
    granularity: ScatterGranularity


class ProgramFile:
    """The file of a program that is compiled with some options, which may not exist."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    @functools.cached_property
    def stored(self) -> StoredProgram | None:
        """The program, which may be lowered once; None if it is not there, or the file is damaged."""
        content = read_entry(self._path)
        if content is None:
            return None
        try:
            return _decoded(content)
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            # Another version's or another program's bytes count as missing.
            return None

    def write(self, stored: StoredProgram, seconds: float) -> None:
        """Write the program if that pays, unless it has a function of this process, or is too large.

        Args:
            stored: the program, before it is lowered.
            seconds: the processor time that it took to make it.
        """
        if seconds < MIN_SECONDS:
            return
        from ..program.ir.encoding import NotEncodable

        try:
            content = _encoded(stored)
        except NotEncodable:
            return
        if len(content) <= MAX_LIMIT_SHARE * limit():
            write_entry(self._path, content)


def _text_of_module(module: Module) -> ProgramText | None:
    """What tells a module from others; None for small modules, and for those that are not to be stored."""
    functions = [item for item in module.body if isinstance(item, Function)]
    if len(functions) < len(module.body) or sum(1 for _ in module.walk()) < MIN_OPERATIONS:
        return None
    from ..program.ir.encoding import NotEncodable, encode

    described = (module.name, module.attributes, module.producer)
    try:
        content = b"".join([encode(each, (), described) for each in functions])
    except NotEncodable:
        return None
    return ProgramText(content, "<module>")


def file_of(given: GivenProgram, entry: str, options: Options, kind: str = "") -> ProgramFile | None:
    """The file of a program; None if it is not to be stored.

    Args:
        given: the program.
        entry: the function that is compiled.
        options: those with which it is compiled.
        kind: what else decides which program the text becomes.
    """
    if options.sanitize or os.environ.get(ENVIRONMENT_VARIABLE) == "0":
        return None
    text = given.text or _text_of_module(given.module)
    if text is None or not _min_bytes(text.content) <= len(text.content) <= MAX_TEXT_BYTES:
        return None
    version = None if _has_user_functions() else _folder()
    if version is None:
        return None
    content = text.content
    chunk = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    threads = chosen_threads(options.threads)
    # Passes do not ask for the other two.
    decisive = replace(options, cache_bytes=None, donate=())
    described = (type(content).__name__, text.name, entry, kind, threads, decisive)
    name = digest(repr(described).encode("utf-8", "surrogatepass"), b"\0", chunk).hex()[:32]
    return ProgramFile(version / f"{name}{PROGRAM_SUFFIX}")


def _has_user_functions() -> bool:
    """Whether functions of this process replace custom calls, or did."""
    from ..program.ops.custom_calls.user_functions import Registry

    return bool(Registry.changes)


def _min_bytes(content: str | bytes) -> int:
    """The size from which the program of a text or of bytecode is stored."""
    return MIN_TEXT_BYTES if isinstance(content, str) or not content.startswith(MAGIC) else MIN_BYTECODE_BYTES


def _encoded(stored: StoredProgram) -> bytes:
    from ..program.ir.encoding import encode

    declared = stored.declared
    settings = {name: getattr(declared, name) for name in _DECLARED}
    described = (stored.module_name, (declared.name, declared.type, settings), stored.granularity)
    if not stored.native_loops:
        return encode(stored.function, (), described)
    from ..compiler.plan.implementations.native_loops import encodable_decisions

    return encode(stored.function, encodable_decisions(stored.native_loops), described)


@gc_paused
def _decoded(content: bytes) -> StoredProgram:
    from ..program.ir.encoding import decode

    function, decisions, described = decode(content)
    module_name, (name, type, settings), granularity = described
    declared = Function(name, type, **settings)
    return StoredProgram(function, _native_loops(decisions), module_name, declared, granularity)


def _native_loops(decisions: Sequence[Decision]) -> Mapping[Operation, DecidedLoop]:
    """The decisions as `encodable_decisions` has found them."""
    if not decisions:
        return {}
    from ..compiler.plan.implementations.native_loops import DecidedLoop, LoopToCompile, RefusedLoop

    return {
        operation: DecidedLoop(operation, loop)
        for operation, loop in decisions
        if isinstance(loop, (LoopToCompile, RefusedLoop))
    }


def _folder() -> pathlib.Path | None:
    """The folder of the programs of this version; None if the cache must be neither read nor written."""
    try:
        name = _version()
    except (OSError, ValueError):
        return None
    return folder(f"{PROGRAMS_PREFIX}{name}")


@functools.cache
def _version() -> str:
    """A digest of all that decides what the passes do with a text.

    Like Python, which keeps compiled modules by it, it takes a source whose size and time are the same as the
    same: to read all sources takes ten times as long.

    Raises:
        OSError: they cannot be read.
        ValueError: NIMBLEHLO_CPU is no level.
    """
    package, kernels = pathlib.Path(__file__).parents[1], pathlib.Path(processor.__file__).parents[1]
    folders = [kernels, *(package / name for name in _DECIDING_FOLDERS)]
    sources = sorted(each for path in folders for each in _sources(os.fspath(path)))
    sources += [_source(package / name) for name in _DECIDING_MODULES]
    versions = (sys.version, np.__version__, find_spec("numba") is None)
    described = (sources, versions, processor.level(), _processor(), usable_bytes())
    return digest(repr(described).encode("utf-8", "surrogatepass")).hex()[:32]


def _sources(path: str) -> Iterator[tuple[str, int, int]]:
    """The path, size and time of each source and library of a package."""
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _sources(entry.path)
            elif entry.name.endswith((".py", ".so", ".pyd")):
                yield _source(entry)


def _source(entry: pathlib.Path | os.DirEntry[str]) -> tuple[str, int, int]:
    """The path, size and time of a file."""
    status = entry.stat()
    return os.fspath(entry), status.st_size, status.st_mtime_ns


def _processor() -> object:
    """What tells processors of different features apart; LLVM, which knows them, takes longer to load."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = file.read(1 << 13).split(b"\n\n", 1)[0].split(b"\n")
    except OSError:
        return processor.llvm_target()
    names = (b"model", b"flags", b"vendor_id", b"CPU", b"Features")
    return [line for line in lines if line.startswith(names)]
