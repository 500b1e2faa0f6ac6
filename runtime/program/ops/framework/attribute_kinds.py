"""Kinds of declared attributes: each decodes an attribute of the ir and encodes a value."""

from __future__ import annotations

import enum
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

import numpy as np

from ....types import ELEMENT_TYPES, FLOAT, Array, DType, ElementType, TensorType
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DenseResourceAttribute,
    DialectAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FloatAttribute,
    IntegerAttribute,
    StringAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from ...ir.description import describe_attribute, missing_values

_MAX_ELEMENTS: Final = 1 << 16
"""Maximum number of elements of a constant that is read as a list."""


Padding = tuple[tuple[int, ...], ...]
"""Pairs (low, high)."""
Value = TypeVar("Value")
"""A decoded attribute."""
Member = TypeVar("Member", bound=enum.StrEnum)
NumberedMember = TypeVar("NumberedMember", bound=enum.IntEnum)
Data = TypeVar("Data", bound=DialectAttribute)


class AttributeKind(ABC, Generic[Value]):
    """A kind of attribute: its name in words, and its conversion from the ir to Python values and back."""

    description: str

    @abstractmethod
    def decode(self, attribute: Attribute) -> Value:
        """The Python value; ValueError where the attribute is of another kind."""

    @abstractmethod
    def encode(self, value: Value) -> Attribute:
        """The attribute that decodes to `value`."""

    def is_present(self, value: Value) -> bool:
        """Whether an operation has the attribute if it has a value."""
        return True

    def from_field(self, value: Any) -> Value:
        """The Python value of a field of a struct attribute; ValueError where it is of another kind."""
        return self.decode(value)

    def mismatch(self, attribute: object) -> ValueError:
        """The error for an attribute of another kind."""
        if isinstance(attribute, DenseResourceAttribute):
            actual = missing_values(attribute)
        else:
            actual = f"is {describe_attribute(attribute)}"
        return ValueError(f"must be {self.description}, but {actual}")


def array_of(attribute: Attribute, rank: int, dtype: DType | type[np.generic]) -> Array | None:
    """The array of a ``dense`` attribute of that rank and element type, None for any other attribute.

    ValueError where it is far longer than any list of dimensions: a splat can have any size.
    """
    if not isinstance(attribute, DenseElementsAttribute) or attribute.array.ndim != rank:
        return None
    if attribute.array.size > _MAX_ELEMENTS:
        raise ValueError(f"has {attribute.array.size} elements, but may have at most {_MAX_ELEMENTS}")
    return attribute.array if attribute.array.dtype == dtype else None


class _Integer(AttributeKind[int]):
    """A Python int from an integer attribute of any width."""

    description = "an integer"

    def __init__(self, width: int) -> None:
        self.type = ELEMENT_TYPES[f"i{width}"]

    def decode(self, attribute: Attribute) -> int:
        if isinstance(attribute, IntegerAttribute):
            return attribute.value
        raise self.mismatch(attribute)

    def from_field(self, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.mismatch(value)

    def encode(self, value: int) -> Attribute:
        return IntegerAttribute(value, self.type)


class _Unsigned(_Integer):
    """A Python int that is not negative, from an attribute whose type has no sign."""

    description = "an unsigned integer"

    def decode(self, attribute: Attribute) -> int:
        return super().decode(attribute) % (1 << self.type.width)


class _Boolean(AttributeKind[bool]):
    description = "a boolean"

    def decode(self, attribute: Attribute) -> bool:
        if isinstance(attribute, BoolAttribute):
            return attribute.value
        if isinstance(attribute, UnitAttribute):
            return True
        raise self.mismatch(attribute)

    def from_field(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise self.mismatch(value)

    def encode(self, value: bool) -> Attribute:
        return BoolAttribute(value)


class _Flag(_Boolean):
    """A unit attribute, whose presence is true; absence is false."""

    description = "a unit attribute"

    def is_present(self, value: bool) -> bool:
        return value

    def encode(self, value: bool) -> Attribute:
        return UnitAttribute()


class _Plain(AttributeKind[Value]):
    """Attributes of one class, decoded by a function.

    Args:
        description: the kind in words.
        attribute: the class.
        value: gives the Python value of an attribute; by default, the attribute itself.
        make: makes the attribute of a value.
    """

    def __init__(
        self,
        description: str,
        attribute: type,
        value: Callable[[Any], Value] = lambda attribute: attribute,
        make: Callable[[Any], Attribute] = lambda value: value,
    ) -> None:
        self.description = description
        self._attribute = attribute
        self._value = value
        self._make = make

    def decode(self, attribute: Attribute) -> Value:
        if not isinstance(attribute, self._attribute):
            raise self.mismatch(attribute)
        return self._value(attribute)

    def encode(self, value: Value) -> Attribute:
        return self._make(value)


class _Float(_Plain[float]):
    """A Python float."""

    def __init__(self, width: int) -> None:
        self.type = ELEMENT_TYPES[f"f{width}"]
        super().__init__(
            "a float", FloatAttribute, lambda it: it.value, lambda value: FloatAttribute(value, self.type)
        )


class Dimensions(AttributeKind[tuple[int, ...]]):
    """A tuple of int or bool: ``array<i64: ...>``, and ``dense<...> : tensor<Nxi64>`` in older programs."""

    def __init__(self, element_type: str) -> None:
        self.element_type = ELEMENT_TYPES[element_type]
        self.description = f"a one-dimensional list of {element_type}"
        self._item = bool if element_type == "i1" else int

    def decode(self, attribute: Attribute) -> tuple[int, ...]:
        if isinstance(attribute, DenseArrayAttribute) and attribute.element_type is self.element_type:
            return tuple(map(self._item, attribute.values))
        array = array_of(attribute, 1, self.element_type.dtype)
        if array is not None:
            return tuple(array.tolist())
        raise self.mismatch(attribute)

    def from_field(self, value: object) -> tuple[int, ...]:
        if isinstance(value, tuple) and all(type(item) is self._item for item in value):
            return value
        raise self.mismatch(value)

    def encode(self, value: tuple[int, ...]) -> Attribute:
        return DenseArrayAttribute(self.element_type, tuple(value))


class _Padding(AttributeKind[Padding]):
    """A tuple of (low, high) pairs: ``dense<...> : tensor<Nx2xi64>``."""

    description = "a two-dimensional constant of i64"

    def decode(self, attribute: Attribute) -> Padding:
        array = array_of(attribute, 2, np.int64)
        if array is not None:
            return tuple(map(tuple, array.tolist()))
        raise self.mismatch(attribute)

    def encode(self, value: Padding) -> Attribute:
        array = np.array(value, np.int64).reshape(len(value), -1 if value else 2)
        return DenseElementsAttribute(TensorType(array.shape, ELEMENT_TYPES["i64"]), array)


class _ChannelPairs(_Padding):
    """A tuple of (source, target) pairs; exporters write none of them as ``dense<> : tensor<0xi64>`` too."""

    def decode(self, attribute: Attribute) -> Padding:
        array = attribute.array if isinstance(attribute, DenseElementsAttribute) else None
        if array is not None and not array.size and array.dtype == np.int64:
            return ()
        return super().decode(attribute)


class _FloatType(AttributeKind[ElementType]):
    description = "a floating-point element type"

    def decode(self, attribute: Attribute) -> ElementType:
        if isinstance(attribute, TypeAttribute):
            return self.from_field(attribute.type)
        raise self.mismatch(attribute)

    def from_field(self, value: object) -> ElementType:
        if isinstance(value, ElementType) and value.category == FLOAT:
            return value
        raise self.mismatch(value)

    def encode(self, value: ElementType) -> Attribute:
        return TypeAttribute(value)


class Enum(AttributeKind[Member]):
    """An enumeration of a dialect, decoded to a member of `members`.

    Args:
        mnemonic: the dialect's name for it, such as ``"comparison_direction"``.
        members: a `enum.StrEnum` with the specification's values.
        dialect: which dialect declares it.
    """

    def __init__(self, mnemonic: str, members: type[Member], dialect: str = "stablehlo") -> None:
        self.mnemonic = mnemonic
        self.members = members
        self.dialect = dialect
        self.description = f"one of {', '.join(members)}"

    def decode(self, attribute: Attribute) -> Member:
        if isinstance(attribute, EnumAttribute) and attribute.mnemonic == self.mnemonic:
            if attribute.value in self.members.__members__:
                return self.members[attribute.value]
            raise ValueError(f"must be {self.description}, but is {attribute.value}")
        raise self.mismatch(attribute)

    def encode(self, value: Member | str) -> Attribute:
        return EnumAttribute(self.dialect, self.mnemonic, self.members(value).value)


class NumberedEnum(AttributeKind[NumberedMember]):
    """An enumeration that the generic form shows as an integer, decoded to a member of `members`.

    Args:
        members: an `enum.IntEnum` with MLIR's numbers.
        element_type: the type of that integer.
    """

    def __init__(self, members: type[NumberedMember], element_type: str = "i32") -> None:
        self.members = members
        self.type = ELEMENT_TYPES[element_type]
        listed = ", ".join(f"{member.value} ({member.name})" for member in members)
        self.description = f"one of the {element_type} numbers {listed}"

    def decode(self, attribute: Attribute) -> NumberedMember:
        if not isinstance(attribute, IntegerAttribute) or attribute.type is not self.type:
            raise self.mismatch(attribute)
        if attribute.value not in self.members.__members__.values():
            raise ValueError(f"must be {self.description}, but is {attribute.value}")
        return self.members(attribute.value)

    def encode(self, value: NumberedMember) -> Attribute:
        return IntegerAttribute(value.value, self.type)


class DialectData(_Plain[Data]):
    """An attribute of another dialect, which is its own value.

    Args:
        kind: the class of the attribute.
    """

    def __init__(self, kind: type[Data]) -> None:
        super().__init__(f"an attribute #{kind.dialect}.{kind.mnemonic}", kind)
        self.kind = kind


class ArrayOf(AttributeKind[tuple[Value, ...]]):
    """A tuple of values of another kind: ``[a, b]``."""

    def __init__(self, kind: AttributeKind[Value]) -> None:
        self.kind = kind
        self.description = f"a list whose elements are each {kind.description}"

    def decode(self, attribute: Attribute) -> tuple[Value, ...]:
        if isinstance(attribute, ArrayAttribute):
            return tuple(map(self.kind.decode, attribute.values))
        raise self.mismatch(attribute)

    def encode(self, value: tuple[Value, ...]) -> Attribute:
        return ArrayAttribute(tuple(map(self.kind.encode, value)))


I32 = _Integer(32)
I64 = _Integer(64)
UI64 = _Unsigned(64)
F32 = _Float(32)
F64 = _Float(64)
BOOL = _Boolean()
FLAG = _Flag()
STRING = _Plain[str]("a string", StringAttribute, operator.attrgetter("value"), StringAttribute)
DIMENSIONS = Dimensions("i64")
SEGMENT_SIZES = Dimensions("i32")
BOOLEANS = cast(AttributeKind[tuple[bool, ...]], Dimensions("i1"))
PADDING = _Padding()
CHANNEL_PAIRS = _ChannelPairs()
CONSTANT = _Plain[DenseElementsAttribute]("a constant", DenseElementsAttribute)
"""The attribute itself, whose type may differ from that of its array."""
SYMBOL = _Plain[str]("a symbol", SymbolAttribute, str, SymbolAttribute)
FLOAT_TYPE = _FloatType()
DICTIONARY = _Plain[dict[str, Attribute]](
    "a dictionary",
    DictionaryAttribute,
    lambda attribute: dict(attribute.values),
    lambda value: DictionaryAttribute(dict(value)),
)
ATTRIBUTE = _Plain[Attribute]("an attribute", object)
"""Any attribute."""


def plain_value(attribute: Attribute) -> Any:
    """An attribute as a Python value: a number, string, tuple, dictionary or array, or itself."""
    if isinstance(attribute, ArrayAttribute):
        return tuple(map(plain_value, attribute.values))
    if isinstance(attribute, DictionaryAttribute):
        return {name: plain_value(value) for name, value in attribute.values.items()}
    if isinstance(attribute, DenseArrayAttribute):
        return attribute.values
    if isinstance(attribute, DenseElementsAttribute):
        return attribute.array
    return getattr(attribute, "value", attribute)
