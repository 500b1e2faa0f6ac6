"""Runs a program through its operations' references and NumPy implementations alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nimblehlo.program.ir import Block, Region, Value
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.traits import Memory
from nimblehlo.types import TensorType
from tests.program.ops.rejections import parse_and_verify

Array = np.ndarray[Any, Any]

MAX_ELEMENTS = 200
"""Elements of operands and results up to which references run: they go through tensors element by element."""


def evaluate(text: str, *inputs: Any) -> list[Array]:
    """The operands of `@main`'s last operation before its return, that is the results of the last operation.

    Each operation runs through `bind()` and, on at most MAX_ELEMENTS elements, through `reference`, which
    must give the same bits, results of the declared types, and leave the operands as they were. Operations in
    regions run through `bind()` alone.
    """
    block = parse_and_verify(text).functions["main"].body.block
    values = dict(zip(block.arguments, map(_read_only, inputs), strict=True))
    last = block.operations[-2]
    _run(block, values, check=True)
    return [values[result] for result in last.results]


def _read_only(value: Any) -> Array:
    array = np.array(value)
    array.flags.writeable = False
    return array


def _run(block: Block, values: dict[Value, Any], check: bool) -> tuple[Any, ...]:
    """Run a block's operations; the values that it returns."""
    for operation in block.operations[:-1]:
        view = Op.of(operation)
        operands = [values[operand] for operand in operation.operands]
        regions = {part.name: _function(getattr(view, part.name), values) for part in view.declared_regions}
        with np.errstate(all="ignore"):
            results = _as_tuple(view.bind()(*operands, **regions))
            if check and sum(map(np.size, (*operands, *results))) <= MAX_ELEMENTS:
                reference = _as_tuple(view.reference(*operands, **regions))
                for result, other in zip(results, reference, strict=True):
                    assert np.asarray(result).tobytes() == np.asarray(other).tobytes()
        _check_memory(view, operands, results)
        for value, result in zip(operation.results, results, strict=True):
            if check:
                _check_type(value.type, np.asarray(result))
            values[value] = result
    return tuple([values[operand] for operand in block.terminator.operands])


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _check_memory(view: Op, operands: Sequence[Any], results: Sequence[Any]) -> None:
    """Results must share no memory with an operand unless the declaration says that they may (`Memory`)."""
    if view.memory in (Memory.FORWARDS, Memory.MAY_FORWARD):
        return
    is_view = view.memory in (Memory.FLAT_VIEW, Memory.STRIDED_VIEW)
    others = [each for each in operands[is_view:] if isinstance(each, np.ndarray)]
    arrays = [result for result in results if isinstance(result, np.ndarray)]
    shared = [other.shape for other in others for result in arrays if np.shares_memory(result, other)]
    assert not shared, f"{view.name} is {view.memory}, but shares memory with operands of {shared}"


def _check_type(type: Any, array: Array) -> None:
    assert isinstance(type, TensorType)
    assert array.dtype == type.dtype
    assert array.ndim == type.rank
    assert all(size in (-1, actual) for size, actual in zip(type.shape, array.shape, strict=True))


def _function(region: Region, values: dict[Value, Any]) -> Any:
    def call(*arguments: Any) -> tuple[Any, ...]:
        block = region.block
        return _run(block, {**values, **dict(zip(block.arguments, arguments, strict=True))}, check=False)

    return call
