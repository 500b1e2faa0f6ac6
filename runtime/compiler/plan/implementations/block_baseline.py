"""Runs a block of operations one by one, each by its NumPy implementation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....errors import ExecutionError, NimbleError, failure_reason, raised_by_signal_handler
from ....kernels.launch.native import LaunchStopped
from ....program.ir import Block, Operation, Value
from ....program.ops.framework.declaration import Op
from ....types import Array
from ...implementation import ImplementationKind, Prepared, Runnable

EXACT_UFUNCS: Final = frozenset({
    np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.sqrt, np.rint, np.floor,
    np.ceil, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert,
})  # fmt: skip
"""Ufuncs whose results do not depend on the address of `out`, by which NumPy chooses a loop for others."""


def block_baseline(block: Block, function_for: Callable[[Op], Runnable]) -> Prepared:
    """The implementation of a block that runs the functions of its operations."""
    results = block.terminator.operands
    pairs = [
        (operand_number, result_number)
        for operand_number, argument in enumerate(block.arguments)
        if argument not in results
        for result_number, result in enumerate(results)
        if argument.type == result.type
    ]
    run = lazy_block_baseline(block, function_for)
    return Prepared(run, ImplementationKind.NUMPY, takes_regions=False, may_overwrite=tuple(pairs))


def lazy_block_baseline(block: Block, function_for: Callable[[Op], Runnable]) -> Runnable:
    """A function that runs the functions of a block's operations in order.

    It is built at its first call, which never happens if native code is ready earlier. Its argument `out`
    has, for each result, None or an operand of its type that may be overwritten.

    Args:
        block: its operations have one result each; only reductions have a region.
        function_for: returns the function for the view of an operation.
    """
    created = functools.cache(lambda: _build_runner(block, function_for))
    return lambda *operands, out=(): created()(*operands, out=out)


_Steps = Sequence[tuple[Runnable, tuple[int, ...], Operation]]


def _build_runner(block: Block, function_for: Callable[[Op], Runnable]) -> Runnable:
    slots: dict[Value, int] = {}
    for argument in block.arguments:
        slots[argument] = len(slots)
    steps: list[tuple[Runnable, tuple[int, ...], Operation]] = []
    last_use: dict[int, int] = {}
    for operation in block.operations[:-1]:
        operands = tuple([slots[operand] for operand in operation.operands])
        for slot in operands:
            last_use[slot] = len(steps)
        slots[operation.result] = len(slots)
        steps.append((_function_of(operation, function_for), operands, operation))
    results = [slots[value] for value in block.terminator.operands]
    releases: list[list[int]] = [[] for _ in steps]
    for slot, step_number in last_use.items():
        if slot not in results:
            releases[step_number].append(slot)
    targets_of = _Targets(steps, len(block.arguments), results)

    def run(*operands: Any, out: Sequence[Any] = ()) -> Any:
        values = list(operands)
        targets = targets_of(operands, out) if out else {}
        for step_number, (function, operand_slots, operation) in enumerate(steps):
            keywords = {"out": targets[step_number]} if step_number in targets else {}
            try:
                value = function(*[values[slot] for slot in operand_slots], **keywords)
            except (NimbleError, LaunchStopped):
                raise
            except Exception as error:
                if raised_by_signal_handler(error):
                    raise
                reason = failure_reason(error)
                raise ExecutionError(reason, operation=operation.name, location=operation.location) from error
            values.append(np.asarray(value[0] if type(value) is tuple else value))
            for slot in releases[step_number]:
                values[slot] = None
        outputs = [_contiguous(values[slot]) for slot in results]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return run


class _Targets:
    """The steps that may write their results to operands of the block.

    Args:
        steps: the function, the slots of the operands and the operation of each; the slots of the results
            follow those of the arguments.
        arguments: the number of the block's arguments, which have the first slots.
        results: slots of the block's results.
    """

    def __init__(self, steps: _Steps, arguments: int, results: Sequence[int]) -> None:
        last_read = dict.fromkeys(results, len(steps))
        for number in reversed(range(len(steps))):
            function, operands, _ = steps[number]
            # A function that is not a ufunc may return a view of its operands.
            is_new = isinstance(function, np.ufunc)
            last = number if is_new else max(number, last_read.get(arguments + number, number))
            for slot in operands:
                last_read[slot] = max(last, last_read.get(slot, last))
        self._last_read = last_read
        self._writers: dict[int, int] = {
            index: slot - arguments
            for index, slot in enumerate(results)
            if slot >= arguments and steps[slot - arguments][0] in EXACT_UFUNCS
        }

    def __call__(self, operands: Sequence[Any], out: Sequence[Any]) -> Mapping[int, Array]:
        """For each step that writes to an operand, the operand's array, which no later step reads."""
        targets: dict[int, Array] = {}
        for index, step_number in self._writers.items():
            array = out[index]
            if array is not None and all(
                self._last_read.get(number, 0) <= step_number
                for number, operand in enumerate(operands)
                if operand is array
            ):
                targets[step_number] = array
        return targets


def _function_of(operation: Operation, function_for: Callable[[Op], Runnable]) -> Runnable:
    """An operation's function; that of a reduction gets the reduction's body."""
    view = Op.of(operation)
    if not operation.regions:
        return function_for(view)
    body = lazy_block_baseline(operation.regions[0].block, function_for)
    return functools.partial(function_for(view), body=lambda *values: (body(*values),))


def _contiguous(array: Array) -> Array:
    """The array, C-contiguous like a result of native code; later steps would have to copy a view."""
    return array if array.flags.c_contiguous else array.copy()
