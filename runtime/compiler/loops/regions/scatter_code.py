"""The generated loop of `scatter`, with index vectors or their components."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....program.ops.framework.declaration import Op
from ....types import TensorType
from ..native_code import LoweredLoop, TaskLaunch, divide_by_seconds, tensor
from .region_code import MAX_TASKS, RegionCode, converters

if TYPE_CHECKING:
    from ....program.ops.indexing.scatter_rules import ScatterRules

_DESTINATION_SECONDS = 6e-8
"""Seconds in which the baseline finds an update's destination and its order among the updates of that."""


def is_small_scatter(view: Op) -> bool:
    """Whether all arrays of a scatter are small (`RegionCode.is_small`), so that a loop is generated for any
    body, and no kernel is called.
    """
    return ScatterCode(cast("ScatterRules", view), None).is_small


class ScatterCode(RegionCode):
    """`scatter`, updates in lexicographic order."""

    view: ScatterRules

    def __init__(self, view: ScatterRules, threads: int | None) -> None:
        super().__init__(view, threads)
        self.may_overwrite = tuple([(k, k) for k in range(len(view.inputs))])

    def check(self) -> str | None:
        view = self.view
        if view.ordering.scatter_schedule != "lexicographic":
            return f"no generated loops for the schedule {view.ordering.scatter_schedule!r}"
        if view.combine is not None:
            return "its body accumulates in a wider type"
        return None

    @property
    def operands(self) -> list[TensorType]:
        pairs = zip(self.view.updates, self.results, strict=True)
        updates = [update.with_element_type(result.element_type) for update, result in pairs]
        count = len(self.view.inputs)
        return [*[tensor(value.type) for value in self.view.operation.operands[count:-count]], *updates]

    def lower(self) -> LoweredLoop:
        from .scatter import NAME, partition_destinations, scatter_module

        seconds = self.seconds()
        min_chunk = divide_by_seconds(MAX_TASKS, seconds).tasks
        partition = partition_destinations(self.view, min_chunk)
        return LoweredLoop(
            lambda: scatter_module(self.view, self.captured_operands, partition),
            partition.size,
            (TaskLaunch(NAME, partition.tasks, seconds),),
        )

    def operations_on_elements(self) -> float:
        return float(self.view.updates[0].size)

    def gather_seconds(self) -> float:
        return float(self.view.updates[0].size) * _DESTINATION_SECONDS

    def passes(self) -> float:
        return float(self.view.updates[0].size / self.view.inputs[0].size + 1)

    def native_calls(self) -> float:
        return float(self.view.updates[0].size) * 2

    def adapt_operands(self, native: Callable[..., Any]) -> Callable[..., Any]:
        inputs, count = self.view.inputs, len(self.view.inputs)
        end = len(self.view.operation.operands) - count
        targets = [result.element_type for result in self.results]
        dtypes = [result.dtype for result in self.results]
        convert = converters(inputs, targets)

        def run_in_place(operand: Any, *others: object, out: Any = (None,)) -> Any:
            result = np.array(operand, order="C") if out[0] is None else out[0]
            return native(*others, out=(result,))

        if count == 1 and inputs[0].element_type == targets[0]:
            return run_in_place

        def run(*operands: Any, out: Any = (None,) * count) -> tuple[Any, ...]:
            results = [
                np.array(array, dtype, order="C") if target is None else target
                for array, dtype, target in zip(convert(operands[:count]), dtypes, out, strict=True)
            ]
            indices, updates = operands[count:end], convert(operands[end : end + count])
            native(*indices, *updates, *operands[end + count :], out=results)
            return tuple(results)

        return run
