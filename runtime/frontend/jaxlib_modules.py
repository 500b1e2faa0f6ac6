"""Convert MLIR text or bytecode to a module of jaxlib.

`bytecode.py` runs this file as a script, in a process that does not import this package. The script reads
bytecode from the standard input and writes the module's text to the standard output. Its exit status is 0,
`NOT_INSTALLED` or `MALFORMED`.
"""

from __future__ import annotations

import sys
from typing import Any

PORTABLE = b"StableHLO_v"
"""First bytes of the name that a portable artifact's producer has since its versions have numbers."""
NOT_INSTALLED = 3
MALFORMED = 4


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


def main() -> int:
    """Convert the bytecode on the standard input to text; the exit status."""
    content = sys.stdin.buffer.read()
    try:
        module = read_module(content)
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_INSTALLED
    except ValueError:
        print("reads " + latest_version(), file=sys.stderr)
        return MALFORMED
    # The parser verifies the module, so jaxlib need not.
    text = module.operation.get_asm(
        binary=True, enable_debug_info=True, print_generic_op_form=True, assume_verified=True
    )
    sys.stdout.buffer.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
