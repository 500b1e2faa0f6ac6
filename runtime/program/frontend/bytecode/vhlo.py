"""Decode the attributes and types of VHLO, as the ones of StableHLO that they stand for.

VHLO is the versioned form of StableHLO in portable artifacts. Its signless and signed integers are one type.

Source: StableHLO, ``VhloBytecode.cpp`` for the codes, ``VhloLegalizeToStablehlo.cpp`` for the meaning.
"""

from __future__ import annotations

from collections.abc import Callable
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
from .container import EntryReader

NONE: Final = TypeAttribute(OpaqueType("none"))
"""Stands for an attribute that is absent."""

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

    As in text, empty lists and an index_vector_dim of 0 are left out.
    """
    stated = {
        name: value for name, value in fields.items() if value != () and (name != "index_vector_dim" or value)
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
    entries = reader.list(lambda: (string(reader, reader.attribute()), reader.attribute()))
    return DictionaryAttribute(dict(entries))


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
    1: lambda reader: ArrayAttribute(reader.attributes()),
    2: lambda reader: BoolAttribute(reader.varint() != 0),
    3: enum_reader("comparison_direction"),
    4: enum_reader("comparison_type"),
    5: enum_reader("custom_call_api_version"),
    6: _dictionary,
    7: enum_reader("fft_type"),
    8: lambda reader: values.float_attribute(reader, reader.type()),
    9: lambda reader: values.integer_attribute(reader, reader.type()),
    10: output_operand_alias,
    11: enum_reader("precision"),
    12: enum_reader("rng_algorithm"),
    13: enum_reader("rng_distribution"),
    14: lambda reader: StringAttribute(reader.string()),
    15: _tensor,
    16: enum_reader("transpose"),
    17: lambda reader: TypeAttribute(reader.type()),
    18: lambda reader: values.bounds_encoding(reader.signed_list()),
    19: enum_reader("result_accuracy_mode"),
    20: result_accuracy,
    21: sub_axis,
    22: _axis_ref,
    23: _mesh_axes,
    24: _mesh_axis,
    25: _mesh,
}


def _ranked_tensor(reader: EntryReader) -> Type:
    return values.ranked_tensor(reader, values.sizes(reader), reader.type())


def _ranked_tensor_with_encoding(reader: EntryReader) -> Type:
    encoding = reader.attribute()
    return values.ranked_tensor(reader, values.sizes(reader), reader.type(), encoding)


def _constant_type(type: Type) -> Callable[[EntryReader], Type]:
    return lambda reader: type


_ELEMENT_TYPES: Final = {
    0: "i1", 2: "bf16", 3: "f16", 4: "f32", 5: "f64", 6: "f8E4M3FN", 7: "f8E5M2",
    10: "i4", 11: "i8", 12: "i16", 13: "i32", 14: "i64",
    15: "ui4", 16: "ui8", 17: "ui16", 18: "ui32", 19: "ui64",
    27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ", 29: "f8E4M3B11FNUZ", 31: "i2", 32: "ui2", 34: "tf32", 35: "f8E4M3",
    36: "f8E3M4", 37: "f4E2M1FN", 38: "f6E2M3FN", 39: "f6E3M2FN", 40: "f8E8M0FNU",
}  # fmt: skip

_TYPES: Final[dict[int, Callable[[EntryReader], Type]]] = {
    **{code: _constant_type(element_type(name)) for code, name in _ELEMENT_TYPES.items()},
    1: values.complex_type,
    8: lambda reader: FunctionType(reader.types(), reader.types()),
    9: _constant_type(INDEX),
    20: _ranked_tensor,
    21: _ranked_tensor_with_encoding,
    22: _constant_type(TokenType()),
    23: lambda reader: TupleType(reader.types()),
    24: lambda reader: values.quantized_type(reader, per_axis=False),
    25: values.unranked_tensor,
    26: _constant_type(OpaqueType("!shape.witness")),
    30: lambda reader: values.quantized_type(reader, per_axis=True),
    33: _constant_type(OpaqueType("none")),
    41: lambda reader: values.buffer(reader, values.sizes(reader), reader.type()),
    42: lambda reader: FutureType(reader.types()),
}
