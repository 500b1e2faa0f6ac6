"""Asynchronous collectives that JAX emits as custom calls, one that starts and one that ends each.

A call ``@all-gather-start`` has the attributes of the collective as JSON in its frontend attribute
`async_collective_config`, and a result of the collective's type; ``@all-gather-done`` returns its operand.
The collective runs where it starts, as the operation in the body of an `async_start` does.
Every program with a custom call imports this module. So it imports what belongs to collectives only for them.

Source: JAX since version 0.11, "jax/_src/lax/parallel.py"; XLA rewrites the calls to its own operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....errors import VerifyError
from ....kernels.named_tuples import NamedTuple
from ....types import ELEMENT_TYPES, TensorType
from ...ir import (
    Attribute,
    BoolAttribute,
    DenseElementsAttribute,
    IntegerAttribute,
    Operation,
    StructAttribute,
)
from .view import frontend_attribute

_CONFIG: Final = "async_collective_config"
_I64: Final = ELEMENT_TYPES["i64"]
Attributes = dict[str, Attribute]


class _Field(NamedTuple):
    """A field of the configuration: the attribute that it becomes, and how."""

    attribute: str
    encode: Callable[[Any], Attribute]


def _integer(value: object) -> int:
    try:
        if type(value) is int:
            return int(np.int64(value))
    except OverflowError:
        pass
    raise ValueError("must be an integer of 64 bits")


def _boolean(value: object) -> BoolAttribute:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return BoolAttribute(value)


def _rows(value: object) -> list[list[int]]:
    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise ValueError("must be a list of lists of integers")
    return [[_integer(number) for number in row] for row in value]


def _pairs(value: object) -> DenseElementsAttribute:
    rows = _rows(value)
    if any(len(row) != 2 for row in rows):
        raise ValueError("must be a list of pairs")
    array = np.array(rows, np.int64).reshape(-1, 2)
    return DenseElementsAttribute(TensorType(array.shape, _I64), array)


def _groups(value: object) -> Attribute:
    from ..collectives.replica_groups import dense_groups

    return dense_groups(_rows(value))


def _channel(value: object) -> StructAttribute:
    from ..collectives.channels import ChannelType

    fields = {"handle": _integer(value), "type": int(ChannelType.DEVICE_TO_DEVICE)}
    return StructAttribute("stablehlo", "channel_handle", fields)


def _dimension(value: object) -> IntegerAttribute:
    return IntegerAttribute(_integer(value), _I64)


_CHANNEL: Final = {"channel_id": _Field("channel_handle", _channel)}
_GROUPS: Final = {"replica_groups": _Field("replica_groups", _groups)}
_GLOBAL: Final = {"use_global_device_ids": _Field("use_global_device_ids", _boolean)}


class AsyncCollective(NamedTuple):
    """A collective that may be asynchronous.

    Attributes:
        operation: its name in StableHLO.
        fields: the required fields of the configuration by name.
        optional: the others.
    """

    operation: str
    fields: dict[str, _Field]
    optional: dict[str, _Field]

    def attributes(self, call: Operation, name: str) -> Attributes:
        """The attributes of the collective that a call starts.

        Args:
            call: the call.
            name: the collective's name.

        Raises:
            VerifyError: the call does not have them.
        """
        try:
            return self._encoded(_configuration(call))
        except ValueError as error:
            raise VerifyError(
                f"a call that starts {name} {error}", operation=call.name, location=call.location
            ) from None

    def _encoded(self, configuration: dict[str, Any]) -> Attributes:
        """The attributes that a configuration states; ValueError where it lacks one."""
        missing = self.fields.keys() - configuration.keys()
        if missing:
            raise ValueError(f"lacks {min(missing)} in {_CONFIG}")
        encoded: Attributes = {}
        for key, field in {**self.fields, **self.optional}.items():
            if key in configuration:
                try:
                    encoded[field.attribute] = field.encode(configuration[key])
                except ValueError as error:
                    raise ValueError(f"has {_CONFIG} whose {key} {error}") from None
        return encoded


ASYNC_COLLECTIVES: Final = {
    "all-gather": AsyncCollective(
        "stablehlo.all_gather",
        {"all_gather_dimension": _Field("all_gather_dim", _dimension), **_GROUPS},
        {**_CHANNEL, **_GLOBAL},
    ),
    "all-reduce": AsyncCollective("stablehlo.all_reduce", _GROUPS, {**_CHANNEL, **_GLOBAL}),
    "reduce-scatter": AsyncCollective(
        "stablehlo.reduce_scatter",
        {"scatter_dimension": _Field("scatter_dimension", _dimension), **_GROUPS},
        {**_CHANNEL, **_GLOBAL},
    ),
    "all-to-all": AsyncCollective(
        "stablehlo.all_to_all",
        {
            **{name: _Field(name, _dimension) for name in ("split_dimension", "concat_dimension")},
            "split_count": _Field("split_count", _dimension),
            **_GROUPS,
        },
        _CHANNEL,
    ),
    "collective-permute": AsyncCollective(
        "stablehlo.collective_permute", {"permutation": _Field("source_target_pairs", _pairs)}, _CHANNEL
    ),
}
"""The collectives by the names of their targets without ``-start`` and ``-done``."""


def _configuration(call: Operation) -> dict[str, Any]:
    """The JSON object that says what a call starts; ValueError without one."""
    import json

    text = frontend_attribute(call, _CONFIG)
    if text is None:
        raise ValueError(f"must have the frontend attribute {_CONFIG}")
    try:
        configuration = json.loads(text)
    except (ValueError, RecursionError):
        configuration = None
    if not isinstance(configuration, dict):
        raise ValueError(f"must have a JSON object in {_CONFIG}")
    return configuration
