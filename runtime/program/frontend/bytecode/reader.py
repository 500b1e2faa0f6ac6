"""Read a module from bytecode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ....errors import NimbleError, ParseError, UnsupportedError
from ...ir import Module, Operation, Value
from ..module_items import module_item, module_of
from . import builtin, hlo, operations, sdy, vhlo
from .container import Container, Decoder
from .program_reader import ProgramReader
from .vhlo_versions import LATEST_VERSION, version_text

_PRODUCER: Final = re.compile(r"StableHLO_v(\d{1,9})\.(\d{1,9})\.(\d{1,9})")

_LEGACY: Final = frozenset({"stablehlo.cross-replica-sum", "vhlo.cross-replica-sum_v1"})
"""Operations that StableHLO no longer has; others are not looked for."""

_CAST: Final = "builtin.unrealized_conversion_cast"

_DECODERS: Final[Mapping[str, Decoder]] = {
    "builtin": builtin,
    "chlo": hlo.Chlo(),
    "quant": builtin.Quant(),
    "sdy": sdy.Sdy(),
    "stablehlo": hlo.StableHlo(),
    "vhlo": vhlo,
}


def read_bytecode(content: bytes, name: str) -> Module:
    """The module of MLIR bytecode or of a portable artifact. Operations of VHLO become those of StableHLO.

    Args:
        content: the bytecode.
        name: its name in errors.

    Raises:
        ParseError: the bytecode is malformed; the error names the offset of a byte.
        UnsupportedError: it uses something that this package does not know, such as a later version of the
            container or a dialect with an encoding of its own.

    Source: MLIR's document "Bytecode Format".
    """
    try:
        container = Container(content, name, _DECODERS.get)
        try:
            container.read_sections()
            reader = ProgramReader(container, operations)
            items = reader.operations()
        except NimbleError:
            _require_known_version(container)
            raise
    except RecursionError:
        raise ParseError(f"{name}: nested too deeply for the depth of the calling code") from None
    names = {each.name for each in container.operation_names}
    is_artifact = any(dialect.name == "vhlo" for dialect in container.dialects)
    for item in items:
        if names & _LEGACY:
            _replace_legacy(item, name)
        if is_artifact and _CAST in names:
            _remove_casts(item)
        if is_artifact:
            _return_from_functions(item)
    return module_of([module_item(item, reader.argument_names) for item in items])


def _require_known_version(container: Container) -> None:
    """Raise if an artifact cannot be read because its version is a later one.

    Raises:
        UnsupportedError: the producer says that the artifact is of a version later than `LATEST_VERSION`.
    """
    match = _PRODUCER.match(container.producer)
    if match is not None and tuple(map(int, match.groups())) > LATEST_VERSION:
        raise UnsupportedError(
            f"{container.name}: the artifact is of StableHLO {'.'.join(match.groups())}, but versions up to "
            f"{version_text(LATEST_VERSION)} are supported"
        )


def _replace_legacy(operation: Operation, file: str) -> None:
    """Replace operations that StableHLO no longer has by those that they stand for."""
    from ..legacy_operations import EXPECTED, LEGACY

    for nested in operation.walk():
        if nested.name not in LEGACY:
            continue
        name, make_region = LEGACY[nested.name]
        region = make_region([operand.type for operand in nested.operands], nested.location)
        if nested.regions or region is None:
            raise ParseError(f"{file}: expected {EXPECTED}", operation=nested.name, location=nested.location)
        nested.name, nested.regions = name, (region,)


def _remove_casts(operation: Operation) -> None:
    """Remove the casts between the types of VHLO and of other dialects, which are the same types here."""
    originals: dict[Value, Value] = {}
    for nested in operation.walk():
        for block in [block for region in nested.regions for block in region.blocks]:
            casts = [each for each in block.operations if each.name == _CAST and _keeps_types(each)]
            for cast in casts:
                for operand, result in zip(cast.operands, cast.results, strict=True):
                    originals[result] = originals.get(operand, operand)
            if casts:
                removed = set(casts)
                block.operations = [each for each in block.operations if each not in removed]
    if originals:
        for nested in operation.walk():
            nested.replace_operands(originals)


def _keeps_types(cast: Operation) -> bool:
    return [each.type for each in cast.operands] == [each.type for each in cast.results]


def _return_from_functions(operation: Operation) -> None:
    """Give functions the terminator of the func dialect: VHLO has one for functions and regions."""
    is_function = operation.name == "func.func"
    if not is_function and operation.name != "builtin.module":
        return
    for block in [block for region in operation.regions for block in region.blocks]:
        if not is_function:
            for nested in block.operations:
                _return_from_functions(nested)
        elif block.operations and block.terminator.name == "stablehlo.return":
            block.terminator.name = "func.return"
