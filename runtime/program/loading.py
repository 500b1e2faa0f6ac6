"""Parses and verifies programs in any form."""

from __future__ import annotations

from ..errors import VerifyError
from .frontend.loader import load_ir
from .ir import Module
from .ops.framework.memory_limit import typed_shortage
from .ops.framework.verify import verify


def load(module: object) -> Module:
    """Parse and verify a program.

    Args:
        module: text in any form that MLIR prints, a path, MLIR bytecode or a VHLO portable artifact as
            bytes, a jaxlib ``ir.Module``, a ``jax.stages.Lowered`` or a ``jax.export.Exported``. A `Module`
            that `load` returned is returned as it is.

    Returns:
        The verified program; ``str()`` prints it as generic MLIR.

    Raises:
        ParseError: the text or bytecode is malformed.
        VerifyError: a constraint of the specification does not hold.
        UnsupportedError: the program uses something that is not supported.
        ExecutionError: there is too little memory.
    """
    if isinstance(module, Module):
        return module
    with typed_shortage("the module cannot be loaded"):
        loaded = load_ir(module)
        try:
            verify(loaded)
        except RecursionError:
            raise VerifyError("regions or types are nested too deeply") from None
    return loaded
