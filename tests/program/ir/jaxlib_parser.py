"""MLIR's own parser, where jaxlib is installed."""

from __future__ import annotations

from typing import Any

import pytest


def mlir_context() -> Any:
    """A context that knows StableHLO, CHLO, sdy, quantized types and functions; skips without jaxlib."""
    ir = pytest.importorskip("jaxlib.mlir.ir")
    stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")
    chlo = pytest.importorskip("jaxlib.mlir.dialects.chlo")
    sdy = pytest.importorskip("jaxlib.mlir.dialects.sdy")
    extension = pytest.importorskip("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    passes = pytest.importorskip("jaxlib.mlir.passmanager")
    context = ir.Context()
    context.allow_unregistered_dialects = True
    registry = ir.DialectRegistry()
    extension.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    sdy.register_dialect(context)
    stablehlo.register_stablehlo_passes()
    # The pass brings the dialect of quantized types with it.
    with context:
        manager = passes.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)")
        manager.run(ir.Module.parse("module {}").operation)
    return context


def mlir_parse(text: str, context: Any) -> Any:
    """The module that MLIR makes of `text`, verified."""
    ir = pytest.importorskip("jaxlib.mlir.ir")
    return ir.Module.parse(text, context)
