"""Attributes: the compile-time values of operations. Each class documents its text in MLIR."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...types import FLOAT, Array, ElementType, TensorType, Type
from .location import Location
from .record import Record


def _have_equal_signs(numbers: Sequence[float], others: Sequence[float]) -> bool:
    """Whether equal floats have equal bits: zeros of both signs are equal."""
    pairs = zip(numbers, others, strict=True)
    return all(math.copysign(1, number) == math.copysign(1, other) for number, other in pairs)


class BoolAttribute(Record):
    """``true`` or ``false``."""

    value: bool


class IntegerAttribute(Record):
    """``3 : i64``."""

    value: int
    type: ElementType


class FloatAttribute(Record):
    """``1.0 : f32``; the value has the precision of f64. 0.0 and -0.0 differ."""

    value: float
    type: ElementType

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FloatAttribute) or not Record.__eq__(self, other):
            return False
        return _have_equal_signs([self.value], [other.value])

    __hash__ = Record.__hash__


class StringAttribute(Record):
    """``"text"``; bytes that are not UTF-8 become surrogate escapes."""

    value: str


class UnitAttribute(Record):
    """``unit``: an attribute whose presence is its value."""


class TypeAttribute(Record):
    """A type used as an attribute."""

    type: Type


class SymbolAttribute(Record):
    """``@root::@nested``."""

    root: str
    nested: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "::".join((self.root, *self.nested))


class ArrayAttribute(Record):
    """``[a, b]``."""

    values: tuple[Attribute, ...]

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


class DenseArrayAttribute(Record):
    """``array<i64: 1, 2>``; 0.0 and -0.0 differ."""

    element_type: ElementType
    values: tuple[bool | int | float, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DenseArrayAttribute) or not Record.__eq__(self, other):
            return False
        return self.element_type.category != FLOAT or _have_equal_signs(self.values, other.values)

    __hash__ = Record.__hash__


class DictionaryAttribute(Record):
    """``{name = value}``, in the order of the text."""

    values: Mapping[str, Attribute]

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.values)))


class DenseElementsAttribute:
    """``dense<...> : tensor<...>``.

    Attributes:
        type: static tensor type.
        array: the values in the type's NumPy form and shape, read-only. A splat is held as one element,
            broadcast without memory of its own.
    """

    __slots__ = ("array", "type")

    def __init__(self, type: TensorType, array: Array) -> None:
        self.type = type
        self.array = array
        if array.flags.writeable:
            array.flags.writeable = False

    @property
    def is_splat(self) -> bool:
        """Whether all values are held as one element."""
        return self.array.size > 1 and not any(self.array.strides)

    @property
    def has_one_value(self) -> bool:
        """Whether it is a splat or has one element."""
        return self.array.size == 1 or self.is_splat

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DenseElementsAttribute) or self.type != other.type:
            return False
        if self.is_splat and other.is_splat:
            return bool(self.array.flat[0].tobytes() == other.array.flat[0].tobytes())
        return self.array.tobytes() == other.array.tobytes()

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return f"DenseElementsAttribute({self.type})"


class DenseStringsAttribute(Record):
    """``dense<["a", "b"]> : tensor<2x!tf_type.string>``: strings of bytes, in row-major order."""

    type: Type
    values: tuple[str, ...]


class DenseResourceAttribute(Record):
    """``dense_resource<name> : tensor<...>`` whose blob is not in the text."""

    name: str
    type: Type


class EnumAttribute(Record):
    """``#dialect<mnemonic VALUE>``, such as ``#stablehlo<comparison_direction LT>``."""

    dialect: str
    mnemonic: str
    value: str


class StructAttribute(Record):
    """``#dialect.mnemonic<field = value, ...>``, such as ``#stablehlo.gather<offset_dims = [1], ...>``.

    Fields that the text omits are not in `fields`.
    """

    dialect: str
    mnemonic: str
    fields: Mapping[str, FieldValue]

    def integer(self, name: str, default: int = 0) -> int:
        """The field `name` of type i64; `default` if the text omits it."""
        value = self.fields.get(name, default)
        assert isinstance(value, int), value
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        """The field `name`, a list of i64; empty if the text omits it."""
        values = self.fields.get(name, ())
        assert isinstance(values, tuple), values
        return tuple([value for value in values if isinstance(value, int)])

    def __hash__(self) -> int:
        return hash((self.dialect, self.mnemonic, tuple(sorted(self.fields))))


class LocationAttribute(Record):
    """A location used as an attribute."""

    location: Location


class OpaqueAttribute(Record):
    """An attribute of another dialect, kept as its text."""

    text: str


class DialectAttribute(Record):
    """Base of the attributes of other dialects that have a class, such as the shardings of sdy.

    Class attributes:
        dialect, mnemonic: its names in the text.
    """

    dialect = ""
    mnemonic = ""

    def body(self) -> str:
        """The text after the mnemonic."""
        raise NotImplementedError

    def __str__(self) -> str:
        body = self.body()
        if body.startswith("<"):
            return f"#{self.dialect}.{self.mnemonic}{body}"
        return f"#{self.dialect}<{self.mnemonic}{body}>"


class FunctionAttribute(Record):
    """A Python function that a JAX program calls back; the text shows only that there is one."""

    function: Callable[..., Any]


Attribute = (
    BoolAttribute
    | IntegerAttribute
    | FloatAttribute
    | StringAttribute
    | UnitAttribute
    | TypeAttribute
    | SymbolAttribute
    | ArrayAttribute
    | DenseArrayAttribute
    | DictionaryAttribute
    | DenseElementsAttribute
    | DenseStringsAttribute
    | DenseResourceAttribute
    | EnumAttribute
    | StructAttribute
    | LocationAttribute
    | OpaqueAttribute
    | DialectAttribute
    | FunctionAttribute
)

FieldValue = bool | int | float | str | Type | Attribute | tuple["FieldValue", ...]
"""The value of a struct attribute's field: a plain value for types i64, f64 and i1, else an attribute."""
