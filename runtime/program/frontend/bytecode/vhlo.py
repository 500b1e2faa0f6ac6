"""Decode the attributes and types of VHLO, as the ones of StableHLO that they stand for.

VHLO is the versioned form of StableHLO in portable artifacts. Its signless and signed integers are one type.

Source: StableHLO, ``VhloBytecode.cpp`` for the codes, ``VhloLegalizeToStablehlo.cpp`` for the meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from ....types import INDEX, FunctionType, FutureType, OpaqueType, TokenType, TupleType, Type, element_type
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    EnumAttribute,
    OpaqueAttribute,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
)
from ...ir.attributes import FieldValue
from . import values
from .program_reader import EntryReader

NONE: Final = TypeAttribute(OpaqueType("none"))
"""Stands for an attribute that is absent."""


class AttributeCode(IntEnum):
    """The codes of VHLO's attributes."""

    ARRAY, BOOL, COMPARISON_DIRECTION, COMPARISON_TYPE, CUSTOM_CALL_API_VERSION = 1, 2, 3, 4, 5
    DICTIONARY, FFT_TYPE, FLOAT, INTEGER, OUTPUT_OPERAND_ALIAS, PRECISION = 6, 7, 8, 9, 10, 11
    RNG_ALGORITHM, RNG_DISTRIBUTION, STRING, TENSOR, TRANSPOSE, TYPE = 12, 13, 14, 15, 16, 17
    TYPE_EXTENSIONS, RESULT_ACCURACY_MODE, RESULT_ACCURACY, SUB_AXIS_INFO = 18, 19, 20, 21
    AXIS_REF, REPLICA_GROUP_MESH_AXES, MESH_AXIS, MESH = 22, 23, 24, 25


class TypeCode(IntEnum):
    """The codes of VHLO's types that are no element types."""

    COMPLEX, FUNCTION, INDEX, TENSOR, TENSOR_WITH_ENCODING, TOKEN, TUPLE = 1, 8, 9, 20, 21, 22, 23
    QUANTIZED, UNRANKED_TENSOR, WITNESS, QUANTIZED_PER_AXIS, NONE, BUFFER, FUTURE = 24, 25, 26, 30, 33, 41, 42


ELEMENT_TYPES: Final = {
    0: "i1", 2: "bf16", 3: "f16", 4: "f32", 5: "f64", 6: "f8E4M3FN", 7: "f8E5M2",
    10: "i4", 11: "i8", 12: "i16", 13: "i32", 14: "i64",
    15: "ui4", 16: "ui8", 17: "ui16", 18: "ui32", 19: "ui64",
    27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ", 29: "f8E4M3B11FNUZ", 31: "i2", 32: "ui2", 34: "tf32", 35: "f8E4M3",
    36: "f8E3M4", 37: "f4E2M1FN", 38: "f6E2M3FN", 39: "f6E3M2FN", 40: "f8E8M0FNU",
}  # fmt: skip
"""The element types by their codes."""

WITNESS: Final = OpaqueType("!shape.witness")

ENUMS: Final = {
    "comparison_direction": ("EQ", "NE", "GE", "GT", "LE", "LT"),
    "comparison_type": ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    "custom_call_api_version": (
        "API_VERSION_UNSPECIFIED",
        "API_VERSION_ORIGINAL",
        "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ),
    "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "precision": ("DEFAULT", "HIGH", "HIGHEST"),
    "rng_algorithm": ("DEFAULT", "THREE_FRY", "PHILOX"),
    "rng_distribution": ("", "UNIFORM", "NORMAL"),
    "transpose": ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
    "result_accuracy_mode": ("DEFAULT", "HIGHEST", "TOLERANCE"),
}
"""The values of StableHLO's enumerations by their numbers in bytecode."""


def attribute(reader: EntryReader) -> Attribute:
    """Consume an attribute of VHLO; the attribute of StableHLO or of the builtin dialect."""
    code = reader.varint()
    read = _ATTRIBUTES.get(code)
    if read is None:
        reader.fail(f"attribute {code} of VHLO is not known")
    return read(reader)


def type(reader: EntryReader) -> Type:
    """Consume a type of VHLO; the type of StableHLO or of the builtin dialect."""
    code = reader.varint()
    read = _TYPES.get(code)
    if read is None:
        reader.fail(f"type {code} of VHLO is not known")
    return read(reader)


def enum_reader(mnemonic: str) -> Callable[[EntryReader], EnumAttribute]:
    """A function that consumes the number of a value of an enumeration."""
    names = ENUMS[mnemonic]

    def read(reader: EntryReader) -> EnumAttribute:
        number = reader.varint()
        if number >= len(names) or not names[number]:
            reader.fail(f"{mnemonic} has no value {number}")
        return EnumAttribute("stablehlo", mnemonic, names[number])

    return read


def struct(mnemonic: str, **fields: FieldValue) -> StructAttribute:
    """An attribute of StableHLO with those fields.

    As in text, empty lists and an index_vector_dim of 0 are left out, except that a convolution states all.
    """
    stated = {
        name: value
        for name, value in fields.items()
        if mnemonic == "conv" or (value != () and (name != "index_vector_dim" or value))
    }
    return StructAttribute("stablehlo", mnemonic, stated)


def output_operand_alias(reader: EntryReader) -> StructAttribute:
    """Consume an alias of a custom call's output."""
    return StructAttribute(
        "stablehlo",
        "output_operand_alias",
        {
            "output_tuple_indices": reader.signed_list(),
            "operand_index": reader.signed(),
            "operand_tuple_indices": reader.signed_list(),
        },
    )


def result_accuracy(reader: EntryReader) -> StructAttribute:
    """Consume the accuracy that the result of a function must have; text leaves tolerances of 0 out."""
    tolerances = {"atol": values.double(reader), "rtol": values.double(reader), "ulps": reader.signed()}
    stated = {name: value for name, value in tolerances.items() if value}
    return struct("result_accuracy", **stated, mode=reader.attribute())


def sub_axis(reader: EntryReader) -> OpaqueAttribute:
    """Consume a part of a mesh's axis, whose text has no names."""
    return OpaqueAttribute(f"({reader.signed()}){reader.signed()}")


def _dictionary(reader: EntryReader) -> DictionaryAttribute:
    return DictionaryAttribute(reader.named_attributes())


def string(reader: EntryReader, value: Attribute) -> str:
    """The text of an attribute, which must be a string."""
    if not isinstance(value, StringAttribute):
        reader.fail("expected a string")
    return value.value


def _axis_ref(reader: EntryReader) -> StructAttribute:
    name = string(reader, reader.attribute())
    sub_axis_info: tuple[Attribute, ...] = (reader.attribute(),) if reader.varint() else ()
    return struct("axis_ref", name=name, **({"sub_axis_info": sub_axis_info[0]} if sub_axis_info else {}))


def _mesh_axes(reader: EntryReader) -> StructAttribute:
    mesh, axes = reader.attribute(), reader.attribute()
    name = SymbolAttribute(mesh.value) if isinstance(mesh, StringAttribute) else mesh
    return StructAttribute("stablehlo", "replica_group_mesh_axes", {"mesh": name, "axes": axes})


def _mesh_axis(reader: EntryReader) -> StructAttribute:
    return struct("mesh_axis", name=string(reader, reader.attribute()), size=reader.signed())


def _mesh(reader: EntryReader) -> StructAttribute:
    axes = reader.attribute()
    devices = reader.optional_attribute()
    return struct("mesh", axes=axes, **({} if devices is None else {"device_ids": devices}))


def _tensor(reader: EntryReader) -> DenseElementsAttribute:
    return values.dense_elements(reader, reader.type(), reader.blob())


_ATTRIBUTES: Final[dict[int, Callable[[EntryReader], Attribute]]] = {
    AttributeCode.ARRAY: lambda reader: ArrayAttribute(reader.attributes()),
    AttributeCode.BOOL: lambda reader: BoolAttribute(reader.varint() != 0),
    AttributeCode.DICTIONARY: _dictionary,
    AttributeCode.FLOAT: lambda reader: values.float_attribute(reader, reader.type()),
    AttributeCode.INTEGER: lambda reader: values.integer_attribute(reader, reader.type()),
    AttributeCode.OUTPUT_OPERAND_ALIAS: output_operand_alias,
    AttributeCode.STRING: lambda reader: StringAttribute(reader.string()),
    AttributeCode.TENSOR: _tensor,
    AttributeCode.TYPE: lambda reader: TypeAttribute(reader.type()),
    AttributeCode.TYPE_EXTENSIONS: lambda reader: values.bounds_encoding(reader.signed_list()),
    AttributeCode.RESULT_ACCURACY: result_accuracy,
    AttributeCode.SUB_AXIS_INFO: sub_axis,
    AttributeCode.AXIS_REF: _axis_ref,
    AttributeCode.REPLICA_GROUP_MESH_AXES: _mesh_axes,
    AttributeCode.MESH_AXIS: _mesh_axis,
    AttributeCode.MESH: _mesh,
    **{AttributeCode[mnemonic.upper()]: enum_reader(mnemonic) for mnemonic in ENUMS},
}


def _ranked_tensor(reader: EntryReader) -> Type:
    return values.ranked_tensor(reader, values.sizes(reader), reader.type())


def _ranked_tensor_with_encoding(reader: EntryReader) -> Type:
    encoding = reader.attribute()
    return values.ranked_tensor(reader, values.sizes(reader), reader.type(), encoding)


def _constant_type(type: Type) -> Callable[[EntryReader], Type]:
    return lambda reader: type


_TYPES: Final[dict[int, Callable[[EntryReader], Type]]] = {
    **{code: _constant_type(element_type(name)) for code, name in ELEMENT_TYPES.items()},
    TypeCode.COMPLEX: values.complex_type,
    TypeCode.FUNCTION: lambda reader: FunctionType(reader.types(), reader.types()),
    TypeCode.INDEX: _constant_type(INDEX),
    TypeCode.TENSOR: _ranked_tensor,
    TypeCode.TENSOR_WITH_ENCODING: _ranked_tensor_with_encoding,
    TypeCode.TOKEN: _constant_type(TokenType()),
    TypeCode.TUPLE: lambda reader: TupleType(reader.types()),
    TypeCode.QUANTIZED: lambda reader: values.quantized_type(reader, per_axis=False),
    TypeCode.UNRANKED_TENSOR: values.unranked_tensor,
    TypeCode.WITNESS: _constant_type(WITNESS),
    TypeCode.QUANTIZED_PER_AXIS: lambda reader: values.quantized_type(reader, per_axis=True),
    TypeCode.NONE: _constant_type(OpaqueType("none")),
    TypeCode.BUFFER: lambda reader: values.buffer(reader, values.sizes(reader), reader.type()),
    TypeCode.FUTURE: lambda reader: FutureType(reader.types()),
}
