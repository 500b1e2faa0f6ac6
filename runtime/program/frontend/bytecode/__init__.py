"""Reads and writes MLIR bytecode and portable artifacts of StableHLO (VHLO).

`container.py` reads the sections, whose numbers `container_format.py` has. The extension
`program_reader.pyx` reads what a program has many of: primitive encodings (`byte_cursor.pxi`), attributes and
types (`entry_tables.pxi`), operations and values. The dialects decode their attributes and types:
`builtin.py` (and quant), `hlo.py`, `sdy.py`, `vhlo.py`. `operations.py` knows the native properties, and
`vhlo_operations.py` upgrades the operations of VHLO.

The writer mirrors it: `byte_writer.py`, `container_writer.py`, `ir_section_writer.py`; `encoder.py` (builtin)
and `vhlo_encoder.py` encode attributes and types, and `vhlo_downgrade.py` downgrades operations. Both
directions share `vhlo_versions.py`, what VHLO has in which version, and `vhlo_defaults.py`, how attributes
correspond.
"""

from .reader import read_bytecode
from .writer import write_artifact, write_bytecode

__all__ = ["read_bytecode", "write_artifact", "write_bytecode"]
