"""Convert MLIR text or bytecode to a module of jaxlib."""

from __future__ import annotations

from typing import Any


def read_module(content: bytes) -> Any:
    """jaxlib's ``ir.Module`` of MLIR text, of bytecode or of a VHLO portable artifact. It is not verified.

    The operations of an artifact are VHLO's; its producer's name may be any.

    Raises:
        ImportError: jaxlib is not installed.
        ValueError: the content is malformed, or an artifact of a later version than jaxlib reads.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, sdy, stablehlo

    context = ir.Context()
    context.allow_unregistered_dialects = True
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in (chlo, sdy, stablehlo):
        dialect.register_dialect(context)
    try:
        module = ir.Module.parse(content, context=context)
        if any(each.operation.name.startswith("vhlo.") for each in module.body.operations):
            return stablehlo.deserialize_portable_artifact(context, content)
        return module
    except ir.MLIRError as error:
        raise ValueError(str(error)) from None


def latest_version() -> str:
    """The latest version of StableHLO whose portable artifacts jaxlib reads, such as ``"1.16.1"``.

    Raises:
        ImportError: jaxlib is not installed.
    """
    from jaxlib.mlir.dialects import stablehlo

    version: str = stablehlo.get_current_version()
    return version
