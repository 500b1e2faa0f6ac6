"""Bytecode to a module of jaxlib, in a process that has jaxlib.

`bytecode.py` also runs this file in a process of its own, which does not import this package.
"""

from __future__ import annotations

from typing import Any

PORTABLE = b"StableHLO_v"
"""How the producer's name begins in a portable artifact, after the bytecode's first bytes."""


def read_module(content: bytes) -> Any:
    """jaxlib's ``ir.Module`` of MLIR text, of bytecode or of a VHLO portable artifact. It is not verified.

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
        if PORTABLE in content[:32]:
            return stablehlo.deserialize_portable_artifact(context, content)
        return ir.Module.parse(content, context=context)
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
