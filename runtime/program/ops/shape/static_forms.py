"""The static forms of dynamic operations whose sizes are known.

Source: specification, section "Dynamism in StableHLO", and the dynamic operations' own sections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ....types import Array, TensorType, Type
from ...ir import Operation, Value
from ...ir.record import Record
from ..framework.declaration import Op, lookup
from ..framework.rules import constant_operand

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class StaticForm(Record):
    """The static form of a dynamic operation.

    Attributes:
        name: the static operation.
        attributes: its attribute for each operand that says one.
        shapes: for each operand that says a result's shape, the number of that result.
        dropped: attributes of the dynamic operation that the static one lacks.
    """

    name: str
    attributes: Mapping[str, str] = _NONE
    shapes: Mapping[str, int] = _NONE
    dropped: Sequence[str] = ()


def _same_names(*names: str) -> dict[str, str]:
    return {name: name for name in names}


STATIC_FORMS: Final = {
    "stablehlo.dynamic_broadcast_in_dim": StaticForm(
        "stablehlo.broadcast_in_dim",
        shapes={"output_dimensions": 0},
        dropped=("known_expanding_dimensions", "known_nonexpanding_dimensions"),
    ),
    "stablehlo.dynamic_reshape": StaticForm("stablehlo.reshape", shapes={"output_shape": 0}),
    "stablehlo.dynamic_iota": StaticForm("stablehlo.iota", shapes={"output_shape": 0}),
    "stablehlo.dynamic_pad": StaticForm(
        "stablehlo.pad", _same_names("edge_padding_low", "edge_padding_high", "interior_padding")
    ),
    "stablehlo.real_dynamic_slice": StaticForm(
        "stablehlo.slice", _same_names("start_indices", "limit_indices", "strides")
    ),
    "stablehlo.dynamic_gather": StaticForm("stablehlo.gather", _same_names("slice_sizes")),
    "stablehlo.dynamic_conv": StaticForm("stablehlo.convolution", _same_names("padding")),
    "nimblehlo.dynamic_reduce_window": StaticForm(
        "stablehlo.reduce_window",
        _same_names("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"),
    ),
    "nimblehlo.dynamic_top_k": StaticForm("chlo.top_k", _same_names("k")),
    "nimblehlo.dynamic_approx_top_k": StaticForm("nimblehlo.approx_top_k", _same_names("top_k")),
    "nimblehlo.dynamic_rng_bit_generator": StaticForm(
        "stablehlo.rng_bit_generator", shapes={"output_shape": 1}
    ),
}


def operand_positions(view: Op) -> dict[str, int]:
    """The index of each declared operand's first value in an operation's operands."""
    positions, position = {}, 0
    for field in view.declared_operands:
        positions[field.name] = position
        group = view.__dict__[field.name]
        position += len(group) if field.variadic else int(group is not None)
    return positions


def constant_sizes(view: Op) -> dict[str, Array] | None:
    """The values of all operands for sizes, if constants define all of them; else None.

    Args:
        view: of an operation in STATIC_FORMS.
    """
    static_form, positions = STATIC_FORMS[view.name], operand_positions(view)
    values = {}
    for name in (*static_form.attributes, *static_form.shapes):
        value = constant_operand(view.operation, positions[name])
        if value is None:
            return None
        values[name] = value
    return values


def static_operation(
    view: Op, values: Mapping[str, Array], operands: Sequence[Value] | None = None
) -> Operation:
    """The static operation for a dynamic one; its result types have the shapes in `values`.

    Args:
        view: of an operation in STATIC_FORMS.
        values: those of the operands that say sizes, by name.
        operands: values that replace the operation's operands; None: the operands.
    """
    operation, static_form = view.operation, STATIC_FORMS[view.name]
    declaration = lookup(static_form.name)
    assert declaration is not None
    positions = operand_positions(view)
    size_positions = {positions[name] for name in values}
    attributes = {
        name: value for name, value in operation.attributes.items() if name not in static_form.dropped
    }
    kinds = {field.name: field for field in declaration.declared_attributes}
    for name, attribute in static_form.attributes.items():
        kind = kinds[attribute].kind
        assert kind is not None
        attributes[attribute] = kind.encode(_plain(values[name]))
    types: list[Type] = [result.type for result in operation.results]
    for name, index in static_form.shapes.items():
        type = types[index]
        assert isinstance(type, TensorType)
        types[index] = type.with_shape(_plain(values[name]))
    data_operands = [
        operand
        for position, operand in enumerate(operation.operands if operands is None else operands)
        if position not in size_positions
    ]
    return Operation(
        static_form.name, data_operands, types, attributes, operation.regions, operation.location
    )


def _plain(array: Array) -> Any:
    """Integers as nested tuples of Python's own."""
    values = np.asarray(array).astype(object).tolist()
    if isinstance(values, list):
        return tuple([tuple(value) if isinstance(value, list) else value for value in values])
    return values
