"""LLVM code for software prefetches. Needs neither NumPy nor Numba."""

from llvmlite import ir

__all__ = ["prefetch_address"]

_I32 = ir.IntType(32)


def prefetch_address(
    builder: ir.IRBuilder, address: ir.Value, locality: int = 3, is_write: bool = False
) -> None:
    """Prefetch the cache line of an address, which may lie outside of all arrays.

    `locality`: 3 for L1, almost free if the line is there already; 2 for L2.
    """
    address = builder.bitcast(address, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [address.type, _I32, _I32, _I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
    builder.call(function, [address, _I32(int(is_write)), _I32(locality), _I32(1)])
