"""Reinterpreted bits of rounded numbers: as floats of another type, or integers of another width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...program.ops.elementwise.conversion import BitcastConvert
from ...program.ops.framework.declaration import Op
from ...types import FLOAT, Array
from .open_values import OpenMasks


class BitcastRule:
    """Marks the results of a `bitcast_convert` that depend on how its operand is rounded.

    A change by one unit in the last place may become any distance, or NaN, in another type. If the bits of a
    number are split among several elements, a change may affect all lower elements.
    """

    def __init__(self) -> None:
        self._exact: list[Array] = []
        self._calls = 0

    def restart(self) -> None:
        """Begin another run."""
        self._calls = 0

    def record(self, result: Array) -> None:
        """Record the result of the next call in a run without errors."""
        self._exact[self._calls : self._calls + 1] = [result]
        self._calls += 1

    def __call__(self, operands: Sequence[Array], results: Sequence[Array]) -> OpenMasks:
        call, self._calls = self._calls, self._calls + 1
        (result,) = results
        if call >= len(self._exact) or self._exact[call].shape != result.shape:
            return [np.ones(result.shape, np.bool_)]
        changes = (_bytes(self._exact[call]) != _bytes(result)).any(axis=-1)
        if result.ndim > operands[0].ndim:
            # The least significant digits come first.
            changes = np.logical_or.accumulate(changes[..., ::-1], axis=-1)[..., ::-1]
        return [changes]


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array)[..., np.newaxis].view(np.uint8)


def bitcast_rule(view: Op) -> BitcastRule | None:
    """The rule of a conversion from floats to another float type or width; None for other operations."""
    if not isinstance(view, BitcastConvert):
        return None
    operand, result = view.operand, view.result
    is_other_float = result.category & FLOAT and operand.element_type != result.element_type
    is_split = operand.rank != result.rank
    return BitcastRule() if operand.category & FLOAT and (is_other_float or is_split) else None
