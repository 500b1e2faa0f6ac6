"""Write a module as MLIR bytecode or as a portable artifact."""

from __future__ import annotations

from typing import Final

from ....errors import UnsupportedError
from ...ir import Module, Operation
from ..module_items import operation_of
from .container_format import MAX_VERSION, NATIVE_PROPERTIES
from .container_writer import ContainerWriter
from .encoder import BuiltinEncoder, Encoder
from .ir_section_writer import EncodedOperation, ProgramWriter
from .vhlo_downgrade import downgrade, kind_of
from .vhlo_encoder import VhloEncoder
from .vhlo_versions import (
    FILE_RANGES_SINCE,
    LATEST_VERSION,
    OTHER_DIALECTS_SINCE,
    container_version,
    parse_version,
    version_text,
)

_PRODUCER: Final = "NimbleHLO"
_MODULE: Final = "builtin.module"


def write_bytecode(module: Module) -> bytes:
    """MLIR bytecode of a module in its own dialects; equal modules give equal bytes.

    MLIR makes no promise that later versions of the dialects read it: `write_artifact` does.

    Raises:
        UnsupportedError: the module refers to functions of this process.
    """
    container = ContainerWriter(MAX_VERSION, _PRODUCER)
    builtin = BuiltinEncoder(container)
    return _written(module, container, builtin, _Bytecode(builtin))


def write_artifact(module: Module, version: str | None = None) -> bytes:
    """A portable artifact of a module: bytecode of VHLO; equal modules give equal bytes.

    Args:
        module: the module.
        version: the version of StableHLO whose readers, and later ones, read the artifact, such as
            ``"1.9.0"``; None: the latest one.

    Raises:
        UnsupportedError: the version has no VHLO, or it does not have what the module uses; the error names
            the operation, attribute or type, and the version that introduced it.

    Source: StableHLO, "VHLO: versioned StableHLO" and the version log of ``VhloDialect.td``.
    """
    text = version_text(LATEST_VERSION) if version is None else version
    major, minor, _ = parse_version(text)
    # Operations change with minor versions only.
    target = (major, minor, 0)
    container = ContainerWriter(container_version(target), f"StableHLO_v{text}")
    builtin = BuiltinEncoder(container, has_file_ranges=target >= FILE_RANGES_SINCE)
    encoder = VhloEncoder(container, builtin, target)
    return _written(module, container, builtin, _Artifact(builtin, encoder))


def _written(
    module: Module, container: ContainerWriter, builtin: BuiltinEncoder, target: _Bytecode | _Artifact
) -> bytes:
    try:
        return container.finish(ProgramWriter(container, builtin, target).program(operation_of(module)))
    except RecursionError:
        raise UnsupportedError("the module is nested too deeply for the depth of the calling code") from None


class _Bytecode:
    """Operations as they are, with all attributes in dictionaries, which MLIR reads for any operation."""

    def __init__(self, builtin: BuiltinEncoder) -> None:
        self._builtin = builtin

    def encoder(self, name: str) -> Encoder:
        """The encoder of the builtin dialect, for operations of any name."""
        return self._builtin

    def encode(self, operation: Operation) -> EncodedOperation:
        """The operation's own name and attributes."""
        return EncodedOperation(operation.name, None, operation.attributes)


class _Artifact:
    """Operations of StableHLO and of the func dialect as those of VHLO, others as they are."""

    def __init__(self, builtin: BuiltinEncoder, vhlo: VhloEncoder) -> None:
        self._builtin = builtin
        self._vhlo = vhlo

    def encoder(self, name: str) -> Encoder:
        """The encoder of VHLO, or that of the builtin dialect for operations of other dialects."""
        return self._builtin if kind_of(name) is None else self._vhlo

    def encode(self, operation: Operation) -> EncodedOperation:
        """The name and the attributes of an operation.

        Raises:
            UnsupportedError: the version does not have it.
        """
        if kind_of(operation.name) is None:
            if operation.name != _MODULE:
                self._vhlo.require("an operation of another dialect", OTHER_DIALECTS_SINCE)
            return EncodedOperation(operation.name, None, operation.attributes)
        name, properties, others = downgrade(operation, self._vhlo.version, self._vhlo.require)
        if self._vhlo.container.version < NATIVE_PROPERTIES:
            return EncodedOperation(name, None, {**properties, **others})
        return EncodedOperation(name, tuple(properties.values()), others)
