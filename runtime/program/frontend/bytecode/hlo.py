"""Decode the attributes and types of the StableHLO and CHLO dialects.

Source: StableHLO, ``StablehloBytecode.cpp`` and ``ChloBytecode.cpp``, for the codes and the orders of fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ....types import FutureType, TokenType, Type
from ...ir import ArrayAttribute, Attribute, EnumAttribute, StructAttribute
from ...ir.attributes import FieldValue
from . import values
from .program_reader import EntryReader
from .vhlo import enum_reader, output_operand_alias, result_accuracy, struct, sub_axis

_Fields = Mapping[str, Callable[[EntryReader], FieldValue]]

_GATHER: Final[_Fields] = {
    "offset_dims": EntryReader.signed_list,
    "collapsed_slice_dims": EntryReader.signed_list,
    "operand_batching_dims": EntryReader.signed_list,
    "start_indices_batching_dims": EntryReader.signed_list,
    "start_index_map": EntryReader.signed_list,
    "index_vector_dim": EntryReader.signed,
}
_SCATTER: Final[_Fields] = {
    "update_window_dims": EntryReader.signed_list,
    "inserted_window_dims": EntryReader.signed_list,
    "input_batching_dims": EntryReader.signed_list,
    "scatter_indices_batching_dims": EntryReader.signed_list,
    "scatter_dims_to_operand_dims": EntryReader.signed_list,
    "index_vector_dim": EntryReader.signed,
}
_DOT: Final[_Fields] = {
    "lhs_batching_dimensions": EntryReader.signed_list,
    "rhs_batching_dimensions": EntryReader.signed_list,
    "lhs_contracting_dimensions": EntryReader.signed_list,
    "rhs_contracting_dimensions": EntryReader.signed_list,
}
_CONVOLUTION: Final[_Fields] = {
    "input_batch_dimension": EntryReader.signed,
    "input_feature_dimension": EntryReader.signed,
    "input_spatial_dimensions": EntryReader.signed_list,
    "kernel_input_feature_dimension": EntryReader.signed,
    "kernel_output_feature_dimension": EntryReader.signed,
    "kernel_spatial_dimensions": EntryReader.signed_list,
    "output_batch_dimension": EntryReader.signed,
    "output_feature_dimension": EntryReader.signed,
    "output_spatial_dimensions": EntryReader.signed_list,
}
_DOT_ALGORITHM: Final[_Fields] = {
    "lhs_precision_type": EntryReader.type,
    "rhs_precision_type": EntryReader.type,
    "accumulation_type": EntryReader.type,
    "lhs_component_count": EntryReader.signed,
    "rhs_component_count": EntryReader.signed,
    "num_primitive_operations": EntryReader.signed,
    "allow_imprecise_accumulation": EntryReader.boolean,
}
_CHANNEL: Final[_Fields] = {"handle": EntryReader.signed, "type": EntryReader.signed}


def struct_reader(mnemonic: str, fields: _Fields) -> Callable[[EntryReader], StructAttribute]:
    """A function that consumes the fields of a struct attribute in their order."""
    return lambda reader: struct(mnemonic, **{name: read(reader) for name, read in fields.items()})


class StableHlo:
    """The StableHLO dialect."""

    @staticmethod
    def attribute(reader: EntryReader) -> Attribute:
        """Consume an attribute."""
        code = reader.varint()
        read = _ATTRIBUTES.get(code)
        if read is None:
            reader.fail(f"attribute {code} of StableHLO is not known")
        return read(reader)

    @staticmethod
    def type(reader: EntryReader) -> Type:
        """Consume a type."""
        code = reader.varint()
        if code > 1:
            reader.fail(f"type {code} of StableHLO is not known")
        return FutureType(reader.types()) if code else TokenType()


class Chlo:
    """The CHLO dialect."""

    @staticmethod
    def attribute(reader: EntryReader) -> Attribute:
        """Consume an attribute."""
        code = reader.varint()
        if code > 1:
            reader.fail(f"attribute {code} of CHLO is not known")
        value = enum_reader(("comparison_direction", "comparison_type")[code])(reader)
        return EnumAttribute("chlo", value.mnemonic, value.value)

    @staticmethod
    def type(reader: EntryReader) -> Type:
        """CHLO has no types."""
        reader.fail("CHLO has no types")


def _axis_ref(reader: EntryReader) -> StructAttribute:
    name = reader.string()
    return struct(
        "axis_ref", name=name, **({"sub_axis_info": reader.attribute()} if reader.boolean() else {})
    )


def _mesh_axes(reader: EntryReader) -> StructAttribute:
    mesh = reader.attribute()
    return StructAttribute(
        "stablehlo", "replica_group_mesh_axes", {"mesh": mesh, "axes": ArrayAttribute(reader.attributes())}
    )


def _mesh(reader: EntryReader) -> StructAttribute:
    axes = reader.attribute()
    return struct("mesh", axes=axes, **({"device_ids": reader.attribute()} if reader.boolean() else {}))


_ATTRIBUTES: Final[dict[int, Callable[[EntryReader], Attribute]]] = {
    1: struct_reader("channel_handle", _CHANNEL),
    2: enum_reader("comparison_direction"),
    3: enum_reader("comparison_type"),
    4: struct_reader("conv", _CONVOLUTION),
    5: struct_reader("dot", _DOT),
    6: enum_reader("fft_type"),
    7: struct_reader("gather", _GATHER),
    8: enum_reader("precision"),
    9: enum_reader("rng_algorithm"),
    10: enum_reader("rng_distribution"),
    11: struct_reader("scatter", _SCATTER),
    12: enum_reader("transpose"),
    13: lambda reader: values.bounds_encoding(reader.signed_list()),
    14: output_operand_alias,
    15: struct_reader("dot_algorithm", _DOT_ALGORITHM),
    16: enum_reader("result_accuracy_mode"),
    17: result_accuracy,
    18: _mesh_axes,
    19: sub_axis,
    20: _axis_ref,
    21: lambda reader: struct("mesh_axis", name=reader.string(), size=reader.signed()),
    22: _mesh,
}
