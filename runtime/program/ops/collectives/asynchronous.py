"""Operations that start and end others which run meanwhile.

Source: specification, sections "async_start", "async_done".
"""

from __future__ import annotations

from typing import Any, Final

from ....errors import counted
from ....types import FUTURE, TENSOR, FutureType, Type
from ..framework import rules
from ..framework.declaration import Evaluate, Operand, Region, Result, constraint
from .base import CommunicatingOp
from .movement import types_are

_MAY_BE_ASYNCHRONOUS: Final = frozenset(
    {
        "stablehlo.all_gather",
        "stablehlo.all_reduce",
        "stablehlo.all_to_all",
        "stablehlo.collective_broadcast",
        "stablehlo.collective_permute",
        "stablehlo.reduce_scatter",
        "stablehlo.slice",
        "stablehlo.dynamic_slice",
        "stablehlo.dynamic_update_slice",
    }
)


class AsyncStart(CommunicatingOp, name="stablehlo.async_start"):
    """Starts an operation; its results come with `async_done`."""

    source_constraints = ("C1", "C2", "C3")  # the body is simplified like any other

    operands = Operand(TENSOR, variadic=True)
    body = Region()
    result: Result[FutureType] = Result(FUTURE)  # type: ignore[assignment]

    @constraint
    def C1(self) -> str | None:
        """body must contain a single operation and a return"""
        count = len(self.body.block.operations)
        return None if count == 2 else f"body has {counted(count - 1, 'operation')} and a return"

    @constraint
    def C2(self) -> str | None:
        """The operation in body can only be a collective or a slice"""
        name = self.body.block.operations[0].name
        return None if name in _MAY_BE_ASYNCHRONOUS else f"the operation in body is {name}"

    @constraint
    def C3(self) -> str | None:
        """The arguments to async_start must match the ones passed to the operation in body"""
        block = self.body.block
        inner = block.operations[0]
        passed = block.arguments or self.operation.operands
        if block.arguments and not rules.all_types_agree([value.type for value in passed], self.operands):
            inputs, operands = rules.types_text(self.body.type.inputs), rules.types_text(self.operands)
            return f"body takes {inputs}, but the operands are {operands}"
        if tuple(inner.operands) == tuple(passed):
            return None
        return f"{inner.name} does not take the {counted(len(passed), 'argument')} in their order"

    @constraint
    def C4(self) -> str | None:
        """If the op in body returns type T, then async_start returns future<T>"""
        returned = self.body.type.results
        if rules.all_types_agree(self.result.types, returned):
            return None
        return f"the result is {self.result}, but body returns {rules.types_text(returned)}"

    def reference(self, *operands: Any, body: Evaluate) -> Any:
        return Future(body(*operands) if self.body.block.arguments else body())


class AsyncDone(CommunicatingOp, name="stablehlo.async_done"):
    """Waits for an operation that `async_start` started, and returns its results."""

    operand: Operand[FutureType] = Operand(FUTURE)  # type: ignore[assignment]
    results = Result(TENSOR, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """If async_done receives a future<T>, then async_done returns T"""
        return types_are(self.results, self.operand.types)

    def infer(self) -> list[Type]:
        return list(self.operand.types)

    def reference(self, operand: Any) -> tuple[Any, ...]:
        results: tuple[Any, ...] = operand.results
        return results


class Future:
    """The value of a future whose results are available."""

    def __init__(self, results: tuple[Any, ...]) -> None:
        self.results = results
