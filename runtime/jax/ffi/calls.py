"""Runs handlers as steps of programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...program.ops.custom_calls.view import CustomCallView
from ...types import TensorType, Type
from .attributes import element_type_number, encoded_items
from .errors import HandlerError
from .handlers import OLDEST, STAGES, VERSION, HandlerCall, HandlerFailure, address_of, version_of


@dataclass(frozen=True)
class Handlers:
    """The handlers registered under a name. Called with an operation, they return a function of its inputs.

    Attributes:
        stages: the address of the handler of each stage, 0 where there is none; empty where the typed
            interface is not used.
    """

    stages: tuple[int, ...]

    def __call__(self, view: CustomCallView) -> Callable[..., tuple[Any, ...]]:
        """Call the first stage, and return a function that calls the others.

        Raises:
            UnsupportedError: it is for another version of the interface, or takes values that the interface
                or this package does not have.
            HandlerError: the first stage failed.
        """
        if not self.stages:
            raise view.unsupported(
                f"@{view.call_target_name} was registered without a version of XLA's FFI; handlers of the "
                "typed interface (api_version=1) are offered"
            )
        try:
            for major, minor in [version_of(address) for address in self.stages if address]:
                if not OLDEST <= (major, minor) <= VERSION:
                    oldest, newest = ("{}.{}".format(*version) for version in (OLDEST, VERSION))
                    raise view.unsupported(
                        f"@{view.call_target_name} was compiled for version {major}.{minor} of XLA's FFI; "
                        f"versions {oldest} to {newest} are offered"
                    )
            return _bind_handlers(view, self.stages)
        except HandlerFailure as failure:
            raise _error(view, failure) from None


def handlers_of(registered: object) -> Handlers:
    """The handlers of a capsule, or of a dictionary of capsules by stage; no handlers for None, which
    stands for a function that is not of the typed interface.
    """
    if isinstance(registered, Mapping):
        return Handlers(tuple([address_of(registered[one]) if one in registered else 0 for one in STAGES]))
    if registered is None:
        return Handlers(())
    return Handlers((*[0] * (len(STAGES) - 1), address_of(registered)))


def _bind_handlers(view: CustomCallView, stages: tuple[int, ...]) -> Callable[..., tuple[Any, ...]]:
    """A function that calls the handlers of an operation, with arrays in the order of their layouts."""
    if any(view.result_tilings):
        raise view.unsupported(f"@{view.call_target_name} has results in tiled layouts")
    operand_orders = _dimension_orders(view.operand_layouts, len(view.inputs))
    result_orders = _dimension_orders(view.result_layouts, len(view.results))
    operands = [_value_description(view, type) for type in view.inputs]
    results = [_value_description(view, type) for type in view.results]
    aliases = {outputs[0] if outputs else 0: operand for outputs, operand, _ in view.output_operand_aliases}
    for result, operand in aliases.items():
        if operand_orders[operand] != result_orders[result]:
            raise view.unsupported(f"@{view.call_target_name} aliases values of different layouts")
    call = HandlerCall(
        stages,
        operands,
        results,
        [
            (shape if order is None else [shape[d] for d in order], type.dtype)
            for (_, shape), order, type in zip(results, result_orders, view.results, strict=True)
        ],
        encoded_items(view),
        aliases,
    )

    def run(*inputs: Any) -> tuple[Any, ...]:
        ordered = [
            array if order is None else array.transpose(order)
            for array, order in zip(inputs, operand_orders, strict=True)
        ]
        try:
            arrays = call(*ordered)
        except HandlerFailure as failure:
            raise _error(view, failure) from None
        return tuple(
            [
                array if order is None else array.transpose(np.argsort(order))
                for array, order in zip(arrays, result_orders, strict=True)
            ]
        )

    return run


def _value_description(view: CustomCallView, type: Type) -> tuple[int, tuple[int, ...]]:
    """The number of a value's element type, and its shape."""
    if not isinstance(type, TensorType) or not type.is_static:
        raise view.unsupported(f"the handler @{view.call_target_name} cannot take values of type {type}")
    return element_type_number(view, type.element_type), type.shape


def _dimension_orders(layouts: Sequence[Sequence[int]] | None, count: int) -> list[tuple[int, ...] | None]:
    """The dimensions of each value from the major to the minor one; None: in row-major order."""
    orders = [tuple(reversed(layout)) for layout in layouts or ()] or [()] * count
    return [None if order == tuple(range(len(order))) else order for order in orders]


def _error(view: CustomCallView, failure: HandlerFailure) -> HandlerError:
    code, message = failure.args
    error = HandlerError(
        f"@{view.call_target_name} failed: {message}",
        operation=view.operation.name,
        location=view.operation.location,
    )
    error.code = code
    return error
