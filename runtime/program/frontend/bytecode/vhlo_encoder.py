"""Encode attributes and types of StableHLO and of the builtin dialect as those of VHLO.

What VHLO has no counterpart for stays an attribute or a type of its own dialect, which artifacts may have
since `OTHER_DIALECTS_SINCE`.

Source: StableHLO, ``StablehloLegalizeToVhlo.cpp`` for the meaning, ``VhloBytecode.cpp`` for the encodings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....errors import UnsupportedError
from ....types import (
    BOOLEAN,
    COMPLEX,
    INDEX,
    BufferType,
    ElementType,
    FunctionType,
    FutureType,
    QuantizedType,
    TensorType,
    TokenType,
    TupleType,
    Type,
    UnrankedTensorType,
    element_type,
)
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FloatAttribute,
    IntegerAttribute,
    OpaqueAttribute,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
)
from ...ir.printer import Printer
from . import values
from .container_writer import ContainerWriter
from .encoder import (
    BuiltinEncoder,
    Encoder,
    EntryWriter,
    component_type,
    dense_bytes,
    encoded_sizes,
    scalar_bits,
)
from .vhlo import ELEMENT_TYPES, ENUMS, NONE, WITNESS, AttributeCode, TypeCode
from .vhlo_defaults import I64, tensor_of
from .vhlo_versions import OTHER_DIALECTS_SINCE, Version, attribute_since, type_since, version_text

VHLO: Final = "vhlo"

_ELEMENT_CODES: Final = {name: code for code, name in ELEMENT_TYPES.items()}
_SUB_AXIS: Final = re.compile(r"\((\d{1,18})\)(\d{1,18})")


class VhloEncoder(Encoder):
    """Encodes attributes and types for one version of StableHLO.

    Args:
        container: takes the encodings.
        others: encodes what VHLO has no counterpart for.
        version: the version of StableHLO.
    """

    def __init__(self, container: ContainerWriter, others: BuiltinEncoder, version: Version) -> None:
        super().__init__(container)
        self._others = others
        self.version: Final = version

    def require(self, what: str, since: Version) -> None:
        """Raise if the version does not have something.

        Raises:
            UnsupportedError: it was introduced by a later version.
        """
        if since > self.version:
            raise UnsupportedError(
                f"{what} needs StableHLO {version_text(since)}, but the artifact is to be of "
                f"{version_text(self.version)}"
            )

    def encode_attribute(self, attribute: Attribute) -> int:
        """Encode an attribute; its number.

        Raises:
            UnsupportedError: the version has no such attribute.
        """
        write = _WRITERS.get(type(attribute))
        writer = write(self, attribute) if write is not None else None
        if writer is not None:
            return self.container.attribute(VHLO, writer.content)
        text = Printer().attribute(attribute)
        shown = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
        self.require(f"the attribute {shown} of another dialect", OTHER_DIALECTS_SINCE)
        return self._others.attribute(attribute)

    def encode_type(self, type: Type) -> int:
        """Encode a type; its number.

        Raises:
            UnsupportedError: the version has no such type.
        """
        writer = self._type_entry(type)
        if writer is not None:
            return self.container.type(VHLO, writer.content)
        self.require(f"the type {type} of another dialect", OTHER_DIALECTS_SINCE)
        return self._others.type(type)

    def string_entry(self, text: str) -> EntryWriter:
        """Encode a string."""
        writer = self.entry(AttributeCode.STRING)
        writer.string(text)
        return writer

    def tensor_entry(self, attribute: DenseElementsAttribute) -> EntryWriter:
        """Encode a constant."""
        writer = self.entry(AttributeCode.TENSOR)
        writer.type(attribute.type)
        writer.blob(dense_bytes(attribute))
        return writer

    def array_entry(self, attribute: DenseArrayAttribute) -> EntryWriter | None:
        """Encode an array of integers or booleans as a tensor; None for other arrays."""
        is_boolean = attribute.element_type.category == BOOLEAN
        if not is_boolean and attribute.element_type != I64:
            return None
        return self.tensor_entry(tensor_of(attribute.values, is_boolean=is_boolean))

    def list_entry(self, attribute: ArrayAttribute) -> EntryWriter:
        """Encode a list of attributes."""
        writer = self.entry(AttributeCode.ARRAY)
        writer.list(writer.attribute, attribute.values)
        return writer

    def dictionary_entry(self, attribute: DictionaryAttribute) -> EntryWriter:
        """Encode a dictionary, sorted by name."""
        writer = self.entry(AttributeCode.DICTIONARY)
        names = sorted(attribute.values, key=lambda name: name.encode("utf-8", "surrogateescape"))
        writer.varint(len(names))
        for name in names:
            writer.attribute(StringAttribute(name))
            writer.attribute(attribute.values[name])
        return writer

    def number_entry(self, attribute: IntegerAttribute | FloatAttribute) -> EntryWriter:
        """Encode an integer or a float."""
        is_float = isinstance(attribute, FloatAttribute)
        writer = self.entry(AttributeCode.FLOAT if is_float else AttributeCode.INTEGER)
        writer.type(attribute.type)
        writer.integer_bits(scalar_bits(attribute.value, attribute.type), attribute.type.width)
        return writer

    def boolean_entry(self, attribute: BoolAttribute) -> EntryWriter:
        """Encode a boolean."""
        writer = self.entry(AttributeCode.BOOL)
        writer.varint(int(attribute.value))
        return writer

    def type_entry(self, attribute: TypeAttribute) -> EntryWriter:
        """Encode a type that is an attribute."""
        writer = self.entry(AttributeCode.TYPE)
        writer.type(attribute.type)
        return writer

    def enum_entry(self, attribute: EnumAttribute) -> EntryWriter | None:
        """Encode a value of an enumeration of StableHLO; None for those of other dialects."""
        mnemonic, names = attribute.mnemonic, ENUMS.get(attribute.mnemonic, ())
        if attribute.dialect != "stablehlo" or attribute.value not in names:
            return None
        self.require(f"the attribute {Printer().attribute(attribute)}", attribute_since(mnemonic))
        writer = self.entry(AttributeCode[mnemonic.upper()])
        writer.varint(names.index(attribute.value))
        return writer

    def struct_entry(self, attribute: StructAttribute) -> EntryWriter | None:
        """Encode a struct of StableHLO; None for those of other dialects."""
        write = _STRUCTS.get(attribute.mnemonic)
        if attribute.dialect != "stablehlo" or write is None:
            return None
        self.require(f"the attribute {Printer().attribute(attribute)}", attribute_since(attribute.mnemonic))
        writer = self.entry(AttributeCode[attribute.mnemonic.upper()])
        write(self, writer, attribute)
        return writer

    def write_alias(self, writer: EntryWriter, attribute: StructAttribute) -> None:
        """Encode an alias of a custom call's output."""
        writer.signed_list(values.integers_field(attribute, "output_tuple_indices"))
        writer.signed(values.integer_field(attribute, "operand_index"))
        writer.signed_list(values.integers_field(attribute, "operand_tuple_indices"))

    def write_accuracy(self, writer: EntryWriter, attribute: StructAttribute) -> None:
        """Encode the accuracy that the result of a function must have."""
        for name in ("atol", "rtol"):
            tolerance = attribute.fields.get(name, 0.0)
            values.write_double(writer, tolerance if isinstance(tolerance, (int, float)) else 0.0)
        writer.signed(values.integer_field(attribute, "ulps"))
        writer.attribute(_field(attribute, "mode"))

    def write_axis_ref(self, writer: EntryWriter, attribute: StructAttribute) -> None:
        """Encode a reference to a mesh's axis, or to a part of it."""
        writer.attribute(StringAttribute(_name(attribute)))
        part = attribute.fields.get("sub_axis_info")
        writer.varint(int(part is not None))
        match = _SUB_AXIS.fullmatch(part.text) if isinstance(part, OpaqueAttribute) else None
        if match is not None:
            entry = self.entry(AttributeCode.SUB_AXIS_INFO)
            entry.signed(int(match[1]))
            entry.signed(int(match[2]))
            writer.varint(self.container.attribute(VHLO, entry.content))
        elif part is not None:
            raise UnsupportedError("sub_axis_info is not of the form (pre_size)size")

    def write_mesh_axes(self, writer: EntryWriter, attribute: StructAttribute) -> None:
        """Encode groups of replicas that are stated by axes of a mesh."""
        mesh = _field(attribute, "mesh")
        writer.attribute(StringAttribute(mesh.root) if isinstance(mesh, SymbolAttribute) else mesh)
        writer.attribute(_list(attribute, "axes"))

    def write_mesh_axis(self, writer: EntryWriter, attribute: StructAttribute) -> None:
        """Encode an axis of a mesh."""
        writer.attribute(StringAttribute(_name(attribute)))
        writer.signed(values.integer_field(attribute, "size"))

    def write_mesh(self, writer: EntryWriter, attribute: StructAttribute) -> None:
        """Encode a mesh."""
        writer.attribute(_list(attribute, "axes"))
        if "device_ids" in attribute.fields:
            writer.varint_with_flag(self.attribute(_field(attribute, "device_ids")), True)
        else:
            writer.varint_with_flag(0, False)

    def _type_entry(self, type: Type) -> EntryWriter | None:
        """The encoding of a type; None if VHLO has no counterpart."""
        if isinstance(type, ElementType):
            return self._element_entry(type)
        if isinstance(type, TensorType):
            return self._tensor_type_entry(type)
        if isinstance(type, QuantizedType):
            return self._quantized_entry(type)
        if type == NONE.type or type == WITNESS:
            return self._named_entry(TypeCode.NONE if type == NONE.type else TypeCode.WITNESS, str(type))
        if isinstance(type, TokenType):
            return self.entry(TypeCode.TOKEN)
        if isinstance(type, FunctionType):
            writer = self.entry(TypeCode.FUNCTION)
            writer.list(writer.type, type.inputs)
            writer.list(writer.type, type.results)
        elif isinstance(type, (TupleType, FutureType)):
            is_tuple = isinstance(type, TupleType)
            writer = self.entry(TypeCode.TUPLE) if is_tuple else self._named_entry(TypeCode.FUTURE, "future")
            writer.list(writer.type, type.types)
        elif isinstance(type, UnrankedTensorType):
            writer = self.entry(TypeCode.UNRANKED_TENSOR)
            writer.type(type.element_type)
        elif isinstance(type, BufferType):
            writer = self._named_entry(TypeCode.BUFFER, "buffer")
            writer.signed_list(encoded_sizes(type.shape))
            writer.type(type.element_type)
        else:
            return None
        return writer

    def _named_entry(self, code: int, name: str) -> EntryWriter:
        """A writer for a type that earlier versions may not have."""
        self.require(f"the type {name}", type_since(name))
        return self.entry(code)

    def _element_entry(self, type: ElementType) -> EntryWriter | None:
        if type is INDEX:
            return self.entry(TypeCode.INDEX)
        if type.category == COMPLEX:
            writer = self.entry(TypeCode.COMPLEX)
            writer.type(component_type(type))
            return writer
        code = _ELEMENT_CODES.get(type.name)
        return None if code is None else self._named_entry(code, type.name)

    def _tensor_type_entry(self, type: TensorType) -> EntryWriter:
        if type.bounds is None:
            writer = self.entry(TypeCode.TENSOR)
        else:
            writer = self.entry(TypeCode.TENSOR_WITH_ENCODING)
            encoding = self.entry(AttributeCode.TYPE_EXTENSIONS)
            encoding.signed_list(encoded_sizes(type.bounds))
            writer.varint(self.container.attribute(VHLO, encoding.content))
        writer.signed_list(encoded_sizes(type.shape))
        writer.type(type.element_type)
        return writer

    def _quantized_entry(self, type: QuantizedType) -> EntryWriter:
        """Encode a quantized type, as `values.quantized_type` reads it."""
        axis = type.quantization_dimension
        if axis is None:
            writer = self.entry(TypeCode.QUANTIZED)
        else:
            writer = self._named_entry(TypeCode.QUANTIZED_PER_AXIS, "quantized per axis")
        writer.varint(int(not type.storage.name.startswith("u")))
        writer.type(element_type(f"i{type.storage.width}"))
        writer.type(type.expressed)
        if axis is None:
            values.write_double(writer, type.scales[0])
            writer.signed(type.zero_points[0])
        else:
            writer.varint(axis)
        writer.signed(type.storage_min)
        writer.signed(type.storage_max)
        if axis is not None:
            writer.list(lambda scale: values.write_double(writer, scale), type.scales)
            writer.signed_list(type.zero_points)
        return writer


_MAX_SHOWN: Final = 80
"""Characters of an attribute that an error shows."""

_WRITERS: Final[Mapping[type, Callable[[VhloEncoder, Any], EntryWriter | None]]] = {
    ArrayAttribute: VhloEncoder.list_entry,
    BoolAttribute: VhloEncoder.boolean_entry,
    DenseArrayAttribute: VhloEncoder.array_entry,
    DenseElementsAttribute: VhloEncoder.tensor_entry,
    DictionaryAttribute: VhloEncoder.dictionary_entry,
    EnumAttribute: VhloEncoder.enum_entry,
    FloatAttribute: VhloEncoder.number_entry,
    IntegerAttribute: VhloEncoder.number_entry,
    StringAttribute: lambda encoder, attribute: encoder.string_entry(attribute.value),
    StructAttribute: VhloEncoder.struct_entry,
    TypeAttribute: VhloEncoder.type_entry,
}

_STRUCTS: Final[Mapping[str, Callable[[VhloEncoder, EntryWriter, StructAttribute], None]]] = {
    "axis_ref": VhloEncoder.write_axis_ref,
    "mesh": VhloEncoder.write_mesh,
    "mesh_axis": VhloEncoder.write_mesh_axis,
    "output_operand_alias": VhloEncoder.write_alias,
    "replica_group_mesh_axes": VhloEncoder.write_mesh_axes,
    "result_accuracy": VhloEncoder.write_accuracy,
}


def _field(attribute: StructAttribute, name: str) -> Attribute:
    """A field that is an attribute.

    Raises:
        UnsupportedError: it is missing or not an attribute.
    """
    value = attribute.fields.get(name)
    if value is None or isinstance(value, (bool, int, float, str, tuple, Type)):
        raise UnsupportedError(f"{attribute.mnemonic} has no attribute {name}")
    return value


def _name(attribute: StructAttribute) -> str:
    value = attribute.fields.get("name")
    if not isinstance(value, str):
        raise UnsupportedError(f"{attribute.mnemonic} has no name")
    return value


def _list(attribute: StructAttribute, name: str) -> ArrayAttribute:
    """A field that is a list of attributes; an empty one if it is absent."""
    value = attribute.fields.get(name, ())
    if isinstance(value, ArrayAttribute):
        return value
    items: Sequence[object] = value if isinstance(value, tuple) else (None,)
    if not all(isinstance(item, StructAttribute) for item in items):
        raise UnsupportedError(f"{attribute.mnemonic} has no list {name}")
    return ArrayAttribute(tuple([item for item in items if isinstance(item, StructAttribute)]))
