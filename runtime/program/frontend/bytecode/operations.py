"""The native properties of operations: which attributes they are, in which order.

MLIR generates the encoding from an operation's definition: its attributes in alphabetical order, then the
numbers of operands in each segment. Declarations here have the same attributes, optional in the same cases;
for other operations a table states them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from ....errors import UnsupportedError
from ....types import element_type
from ...ir import Attribute, DenseArrayAttribute
from ...ops.framework.declaration import lookup
from ...ops.framework.fields import REQUIRED
from . import vhlo_operations
from .program_reader import EntryReader

_MAX_INDEX_BITS: Final = 8

_UNDECLARED: Final = {
    "arith.addi": "overflowFlags?",
    "arith.divsi": "isExact?",
    "arith.muli": "overflowFlags?",
    "arith.subi": "overflowFlags?",
    "builtin.module": "sym_name? sym_visibility?",
    "stablehlo.cross-replica-sum": "replica_groups",
    "stablehlo.custom_call": (
        "api_version? backend_config? call_target_name called_computations? has_side_effect? "
        "operand_layouts? output_operand_aliases? result_layouts? result_tilings?"
    ),
    "func.call": "arg_attrs? callee no_inline? res_attrs?",
    "func.func": "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?",
}
"""The properties of operations without a declaration of all their attributes; ``?`` marks optional ones."""


def segment_sizes(name: str, reader: EntryReader) -> Mapping[str, Attribute]:
    """Consume the number of operands in each segment, if the operation has segments; an attribute."""
    declaration = lookup(name)
    if declaration is None:
        return {}
    sizes = _segment_sizes(reader, len(declaration.declared_operands))
    return {"operandSegmentSizes": DenseArrayAttribute(element_type("i32"), sizes)}


@functools.cache
def property_names(name: str) -> tuple[tuple[str, bool], ...]:
    """The attributes among an operation's native properties in their order, and whether each is optional.

    Raises:
        UnsupportedError: which properties the operation has is not known.
    """
    if name.startswith("vhlo."):
        return tuple([(each, False) for each in sorted(vhlo_operations.attributes_of(name))])
    stated = _UNDECLARED.get(name)
    if stated is not None:
        names = sorted(stated.split())
        return tuple([(each.removesuffix("?"), each.endswith("?")) for each in names])
    declaration = lookup(name)
    if declaration is None:
        raise UnsupportedError("which properties the operation has in bytecode is not known", operation=name)
    is_optional: dict[str, bool] = {}
    for attribute in declaration.declared_attributes:
        if attribute.of is None:
            is_optional[attribute.key or attribute.name] = attribute.default is not REQUIRED
        else:
            # A struct may be absent where none of its fields has a value then.
            is_optional[attribute.of] = is_optional.get(attribute.of, True) and attribute.default is None
    return tuple(sorted(is_optional.items()))


def _segment_sizes(reader: EntryReader, segments: int) -> tuple[int, ...]:
    """Consume the number of operands in each segment: those that are not 0 by position, or the first."""
    sizes = [0] * segments
    count, is_sparse = reader.varint_with_flag()
    if not count:
        return tuple(sizes)
    bits = reader.varint() if is_sparse else 0
    if count > segments or bits > _MAX_INDEX_BITS:
        reader.fail(f"{count} sizes for {segments} segments of operands")
    for position in range(count):
        value = reader.varint()
        index = value & (1 << bits) - 1 if is_sparse else position
        if index >= segments:
            reader.fail(f"a size for segment {index} of {segments}")
        sizes[index] = value >> bits
    return tuple(sizes)


def upgrade(name: str, attributes: Mapping[str, Attribute]) -> tuple[str, Mapping[str, Attribute]]:
    """The present name and attributes of an operation; those of VHLO become StableHLO's."""
    return vhlo_operations.upgrade(name, attributes) if name.startswith("vhlo.") else (name, attributes)
