"""Parses and verifies programs in any form."""

from __future__ import annotations

from ..errors import VerifyError
from ..kernels.launch.garbage import gc_paused
from .frontend.loader import load_ir
from .ir import Module
from .ops.framework.memory_limit import typed_shortage
from .ops.framework.verify import verify as verify_module


@gc_paused
def load(module: object, *, verify: bool = True) -> Module:
    """Parse and verify a program.

    Args:
        module: text in any form that MLIR prints, a path, MLIR bytecode or a VHLO portable artifact as
            bytes, a jaxlib ``ir.Module``, a ``jax.stages.Lowered``, a ``jax.export.Exported`` or a
            ``torch.export.ExportedProgram`` of static sizes. A `Module` that `load` returned is returned as
            it is, verified if it was not yet.
        verify: whether to check the constraints of the specification now. A program that was loaded without
            can be printed, compared, serialized and converted; whatever runs or transforms it verifies it
            first, and raises the errors that are missing here.

    Returns:
        The program; ``str()`` prints it as generic MLIR.

    Raises:
        ParseError: the text or bytecode is malformed.
        VerifyError: a constraint of the specification does not hold.
        UnsupportedError: the program uses something that is not supported.
        ExecutionError: there is too little memory.
    """
    with typed_shortage("the module cannot be loaded"):
        if not isinstance(module, Module):
            module = load_ir(module)
            module.is_unverified = True
        if verify and module.is_unverified:
            _verify(module)
    return module


def _verify(module: Module) -> None:
    try:
        verify_module(module)
    except RecursionError:
        raise VerifyError("regions or types are nested too deeply") from None
    module.is_unverified = False
