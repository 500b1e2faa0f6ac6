"""The view of `custom_call` that its targets get: operands, attributes and results.

Source: specification, section "custom_call"; attributes that it lacks are those of the StableHLO dialect.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np

from ....types import ANY, INDEX, TensorType
from ...ir import Attribute as IrAttribute
from ...ir import DenseElementsAttribute, DictionaryAttribute, Operation, StringAttribute, StructAttribute
from ..framework.attribute_kinds import (
    BOOL,
    DIMENSIONS,
    I32,
    I64,
    STRING,
    SYMBOL,
    ArrayOf,
    AttributeKind,
    array_of,
    plain_value,
)
from ..framework.declaration import Attribute, Op, Operand, Result

BackendConfig = str | dict[str, Any]
Alias = tuple[tuple[int, ...], int, tuple[int, ...]]

TYPED_FFI: Final = 4
"""The api_version whose backend_config is a dictionary."""


class _BackendConfig(AttributeKind[BackendConfig]):
    """A string, or a dictionary of Python values."""

    description = "a string or a dictionary"

    def decode(self, attribute: IrAttribute) -> BackendConfig:
        if isinstance(attribute, (StringAttribute, DictionaryAttribute)):
            value: BackendConfig = plain_value(attribute)
            return value
        raise self.mismatch(attribute)

    def encode(self, value: BackendConfig) -> IrAttribute:
        raise NotImplementedError("a decoded backend_config has lost the types of its values")


class _Indices(AttributeKind[tuple[int, ...]]):
    """A layout, which is a tuple of dimensions in minor-to-major order, or the sizes of a tile:
    ``dense<[0, 1]> : tensor<2xindex>``.
    """

    description = "a one-dimensional constant of index"

    def decode(self, attribute: IrAttribute) -> tuple[int, ...]:
        array = array_of(attribute, 1, INDEX.dtype)
        if array is not None:
            return tuple(array.tolist())
        raise self.mismatch(attribute)

    def encode(self, value: tuple[int, ...]) -> IrAttribute:
        array = np.array(value, np.int64)
        return DenseElementsAttribute(TensorType(array.shape, INDEX), array)


LAYOUT: Final = _Indices()


class _Alias(AttributeKind[Alias]):
    """A tuple (output_tuple_indices, operand_index, operand_tuple_indices)."""

    description = "an output_operand_alias"

    def decode(self, attribute: IrAttribute) -> Alias:
        if isinstance(attribute, StructAttribute) and attribute.mnemonic == "output_operand_alias":
            fields = attribute.fields
            return (
                DIMENSIONS.from_field(fields.get("output_tuple_indices", ())),
                I64.from_field(fields.get("operand_index", 0)),
                DIMENSIONS.from_field(fields.get("operand_tuple_indices", ())),
            )
        raise self.mismatch(attribute)

    def encode(self, value: Alias) -> IrAttribute:
        names = ("output_tuple_indices", "operand_index", "operand_tuple_indices")
        return StructAttribute("stablehlo", "output_operand_alias", dict(zip(names, value, strict=True)))


def frontend_attribute(call: Operation, name: str) -> str | None:
    """The text of a frontend attribute of XLA that a custom call has; None if it does not have it."""
    attributes = call.attributes.get("mhlo.frontend_attributes")
    text = attributes.values.get(name) if isinstance(attributes, DictionaryAttribute) else None
    return text.value if isinstance(text, StringAttribute) else None


def batch_rank(call: Operation) -> int:
    """The number of leading dimensions along which a custom call is a batch of independent calls.

    JAX states it in the frontend attribute ``num_batch_dims``; without it the number is 0.
    """
    text = frontend_attribute(call, "num_batch_dims") or ""
    return int(text) if text.isascii() and text.isdigit() else 0


class CustomCallView(Op):
    """The view of a custom call that its target gets.

    Attributes:
        inputs: those that the target takes; not those that say the results' shapes.
        shape_operands: which operands these are (JAX's attribute `indices_of_shape_operands`).
        configuration: backend_config, or JAX's ``mhlo.backend_config`` where that is there.
    """

    inputs = Operand(ANY, variadic=True)
    call_target_name = Attribute(STRING)
    has_side_effect = Attribute(BOOL, False)
    backend_config = Attribute(_BackendConfig(), "")
    api_version = Attribute(I32, 1)
    called_computations = Attribute(ArrayOf(SYMBOL), ())
    output_operand_aliases = Attribute(ArrayOf(_Alias()), ())
    operand_layouts = Attribute(ArrayOf(LAYOUT), None)
    result_layouts = Attribute(ArrayOf(LAYOUT), None)
    result_tilings = Attribute(ArrayOf(ArrayOf(LAYOUT)), ())
    results = Result(ANY, variadic=True)

    shape_operands: Collection[int]
    configuration: BackendConfig
