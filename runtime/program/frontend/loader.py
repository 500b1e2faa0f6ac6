"""Load programs from text, paths, bytes, and objects of jaxlib and JAX."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from ...errors import ParseError, UnsupportedError
from ..ir import Module
from ..ir.record import Record
from .parser import parse

if TYPE_CHECKING:
    from .torch.conversion import ExportedProgram

MAGIC: Final = b"ML\xefR"
"""The first bytes of MLIR bytecode."""
_IN_PROGRAMS: Final = '{}%@"'
"""Characters that programs have, and seldom names of files."""


class ProgramText(Record):
    """The text or the bytecode of a program.

    Attributes:
        content: the text, or the bytes of either.
        name: its name in errors and locations.
    """

    content: str | bytes
    name: str


def text_of(module: object) -> ProgramText | None:
    """What `load_ir` parses of a text, of bytes or of the path of a file; None for other sources.

    Raises:
        ParseError: the file cannot be read.
    """
    if isinstance(module, (bytes, bytearray, memoryview)):
        return ProgramText(bytes(module), "<bytes>")
    if isinstance(module, os.PathLike) or (isinstance(module, str) and _is_file_path(module)):
        path = os.fspath(module)
        return ProgramText(_content(path), os.fsdecode(path))
    return ProgramText(module, "<text>") if isinstance(module, str) else None


def load_text(text: ProgramText) -> Module:
    """Parse a text or bytecode.

    Raises:
        ParseError, UnsupportedError: as by `load_ir`.
    """
    content = text.content
    return _parse_text(content) if isinstance(content, str) else _parse_bytes(content, text.name)


def load_ir(module: object) -> Module:
    """Load a program from any supported source.

    Args:
        module: text, the path of a file (as ``str`` or ``os.PathLike``) with text or bytecode, bytes of
            either, a jaxlib ``ir.Module``, a ``jax.stages.Lowered``, a ``jax.export.Exported`` or a
            ``torch.export.ExportedProgram``.

    Raises:
        ParseError: text or bytecode is malformed, or a file cannot be read.
        UnsupportedError: bytecode is of a later version, or the argument has another type.
    """
    if isinstance(module, str):
        return _read(module) if _is_file_path(module) else _parse_text(module)
    if isinstance(module, os.PathLike):
        return _read(os.fspath(module))
    if isinstance(module, (bytes, bytearray, memoryview)):
        return _parse_bytes(bytes(module), "<bytes>")
    return _parse_object(module)


def _is_file_path(text: str) -> bool:
    try:
        return "\n" not in text and os.path.isfile(text)
    except (OSError, ValueError):
        return False


def _parse_text(text: str) -> Module:
    if not any(character in text for character in _IN_PROGRAMS) and text.split() == [text]:
        raise ParseError(f"{text[:200]!r} is neither a program nor the path of a file that exists")
    return parse(text)


def _read(path: str | bytes) -> Module:
    return _parse_bytes(_content(path), os.fsdecode(path))


def _content(path: str | bytes) -> bytes:
    """The bytes of a file.

    Raises:
        ParseError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ParseError(f"cannot read {os.fsdecode(path)}: {error.strerror}") from error


def _parse_bytes(content: bytes, name: str) -> Module:
    if content.startswith(MAGIC):
        from .bytecode import read_bytecode

        return read_bytecode(content, name)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError(f"{name}: neither MLIR bytecode nor UTF-8 text: byte {error.start}") from None
    del content
    return parse(text, name)


def _parse_object(module: Any) -> Module:
    """Load from an object of JAX or jaxlib, recognized by its methods so that JAX need not be imported."""
    functions: Sequence[Callable[..., Any]] = ()
    if callable(getattr(module, "compiler_ir", None)):
        functions = _host_functions(module)
        module = module.compiler_ir("stablehlo")
    elif callable(getattr(module, "mlir_module", None)):
        from .platforms import choose_platform

        parsed = parse(module.mlir_module(), "<exported>")
        choose_platform(parsed, tuple(getattr(module, "platforms", ())))
        return _mark_jax_producer(parsed)
    elif is_exported(module):
        from .torch.conversion import exported_module

        return exported_module(module)
    operation = getattr(module, "operation", module)
    if not callable(getattr(operation, "get_asm", None)):
        raise UnsupportedError(
            f"cannot load a program from an object of type {type(module).__qualname__}; expected text, a "
            "path, bytes, a jaxlib ir.Module, a jax.stages.Lowered, a jax.export.Exported or a "
            "torch.export.ExportedProgram"
        )
    text = operation.get_asm(enable_debug_info=True, print_generic_op_form=True, assume_verified=True)
    parsed = parse(text, "<module>")
    if functions:
        from ..ops.custom_calls.host_functions import attach_functions

        attach_functions(parsed, dict(enumerate(functions)).get)
    return _mark_jax_producer(parsed)


def is_exported(module: object) -> TypeGuard[ExportedProgram]:
    """Whether an object is a ``torch.export.ExportedProgram``; torch need not be imported."""
    return callable(getattr(module, "run_decompositions", None)) and hasattr(module, "graph_signature")


def _mark_jax_producer(module: Module) -> Module:
    module.producer = "JAX"
    return module


def _host_functions(lowered: object) -> Sequence[Callable[..., Any]]:
    """The Python functions that a ``jax.stages.Lowered`` calls back, by index.

    JAX has no public access to them.
    """
    arguments = getattr(getattr(lowered, "_lowering", None), "compile_args", None)
    return (arguments.get("host_callbacks") if isinstance(arguments, Mapping) else None) or ()
