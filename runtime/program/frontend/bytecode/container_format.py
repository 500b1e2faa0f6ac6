"""The numbers of MLIR's bytecode: versions of the container, sections, parts of an operation.

Source: MLIR's document "Bytecode Format".
"""

from __future__ import annotations

from typing import Final

MAGIC: Final = b"ML\xefR"
"""The first bytes of bytecode."""
MAX_VERSION: Final = 6
"""The latest version of the container that this package reads and writes."""

# The versions since which the container has these properties.
DIALECT_VERSIONS: Final = 1
LAZY_REGIONS: Final = 2
USE_LIST_ORDERS: Final = 3
OPTIONAL_ARGUMENT_LOCATIONS: Final = 4
NATIVE_PROPERTIES: Final = 5
NATIVE_SEGMENT_SIZES: Final = 6

FILE_LOCATION: Final = 11
"""The code of the builtin dialect's location of a file, a line and a column."""


class Section:
    """The numbers of the sections."""

    STRINGS, DIALECTS, ATTRIBUTES, ATTRIBUTE_OFFSETS, PROGRAM = range(5)
    RESOURCES, RESOURCE_OFFSETS = 5, 6
    DIALECT_VERSION, PROPERTIES = 7, 8
    REQUIRED = range(5)


class OperationMask:
    """The bits that say which parts of an operation are there."""

    ATTRIBUTES, RESULTS, OPERANDS, SUCCESSORS, REGIONS, USE_LIST_ORDERS, PROPERTIES = (
        1 << bit for bit in range(7)
    )
