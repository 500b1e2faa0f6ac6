"""The custom call targets that an operation replaces: its declaration verifies the call.

The verifier checks the operation with the computations that the call names as its regions, and the
specializer puts it in the call's place.

Source: JAX, "jax.export" (guaranteed custom call targets), and `jax.lax.ragged_all_to_all`; XLA's @TopK; and
see `encoded_operations`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...ir import Attribute, DictionaryAttribute, Operation, Region, Value
from ...ir.record import Record
from ..framework.declaration import lookup
from ..framework.rules import call_target
from .collective_calls import ASYNC_COLLECTIVES
from .encoded_operations import (
    DICTIONARIES,
    ENCODED,
    LAPACK_ROUTINES,
    encoded_attributes,
    lapack_attributes,
    result_types,
)
from .shape_operands import shape_operands, with_operand_sizes
from .text_configurations import broadcast_attributes, partial_reduce_attributes


def declared_attributes(call: Operation, name: str) -> dict[str, Attribute]:
    """The attributes of a call, or in one of its DICTIONARIES, that the operation `name` declares too."""
    declaration = lookup(name)
    assert declaration is not None
    declared = {attribute.key or attribute.name for attribute in declaration.declared_attributes}
    entries: dict[str, Attribute] = {}
    for key in DICTIONARIES:
        dictionary = call.attributes.get(key)
        if isinstance(dictionary, DictionaryAttribute):
            entries.update(dictionary.values)
    entries.update(call.attributes)
    return {key: value for key, value in entries.items() if key in declared}


class ReplacedTarget(Record):
    """A custom call target that an operation replaces.

    Attributes:
        operation: name of the operation.
        attributes: gives the operation's attributes for a call and the operation's name.
    """

    operation: str
    attributes: Callable[[Operation, str], Mapping[str, Attribute]] = declared_attributes

    def replacement(self, call: Operation, operands: Sequence[Value], regions: Sequence[Region]) -> Operation:
        """The operation that replaces a call.

        Operands that say the results' shapes are left out: the shapes follow from the others.

        Args:
            call: the call.
            operands: its operands, or the values that replace these.
            regions: the computations that it calls.

        Raises:
            VerifyError: the operands that say shapes are malformed.
        """
        shapes = set(shape_operands(call))
        types = result_types(call)
        operation = Operation(
            self.operation,
            [operand for position, operand in enumerate(operands) if position not in shapes],
            with_operand_sizes(types, call) or types,
            self.attributes(call, self.operation),
            regions,
            call.location,
        )
        # A call of MHLO may hold a call of such a target.
        further = replaced_target(operation)
        return operation if further is None else further.replacement(operation, operation.operands, regions)


REPLACED_TARGETS: Final = {
    "ragged_all_to_all": ReplacedTarget("nimblehlo.ragged_all_to_all"),
    "stablehlo.dynamic_reduce_window": ReplacedTarget("nimblehlo.dynamic_reduce_window"),
    "stablehlo.dynamic_top_k": ReplacedTarget("nimblehlo.dynamic_top_k"),
    "stablehlo.dynamic_rng_bit_generator": ReplacedTarget("nimblehlo.dynamic_rng_bit_generator"),
    "stablehlo.dynamic_approx_top_k": ReplacedTarget("nimblehlo.dynamic_approx_top_k"),
    "ApproxTopK": ReplacedTarget("nimblehlo.approx_top_k"),
    **{
        f"{name}-start": ReplacedTarget(collective.operation, collective.attributes)
        for name, collective in ASYNC_COLLECTIVES.items()
    },
    "TopK": ReplacedTarget("nimblehlo.compared_top_k"),
    "PartialReduce": ReplacedTarget("nimblehlo.approx_top_k", partial_reduce_attributes),
    "mhlo.dynamic_broadcast_in_dim": ReplacedTarget(
        "stablehlo.dynamic_broadcast_in_dim", broadcast_attributes
    ),
    **{name: ReplacedTarget(operation, encoded_attributes) for name, operation in ENCODED.items()},
    **{name: ReplacedTarget("stablehlo.custom_call", lapack_attributes) for name in LAPACK_ROUTINES},
}
"""The replaced targets by name."""


def replaced_target(call: Operation) -> ReplacedTarget | None:
    """The target of a custom call that an operation replaces; None for other operations."""
    return REPLACED_TARGETS.get(call_target(call) or "")
