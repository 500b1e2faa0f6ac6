"""Reads MLIR bytecode and portable artifacts of StableHLO (VHLO).

`cursor.py` has the primitive encodings and `container.py` the sections; `program.py` reads operations. The
dialects decode their attributes and types: `builtin.py` (and quant), `hlo.py`, `sdy.py`, `vhlo.py`.
`operations.py` knows the native properties, and `vhlo_operations.py` upgrades the operations of VHLO.
"""

from .reader import read_bytecode

__all__ = ["read_bytecode"]
