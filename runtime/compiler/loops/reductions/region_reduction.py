"""The generated loops of `reduce` and arg-reductions with any body."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....program.ir import Block, Builder
from ....program.ops.reduction.reduce import Layout, layout
from ....types import COMPLEX, Array, TensorType
from ..native_code import LoweredLoop
from ..regions.region_code import RegionCode, check_reducer, converters

if TYPE_CHECKING:
    from ....program.ops.intermediate.arg_reduce import ArgReduce
    from ....program.ops.reduction.reduce import Reduce


class ReduceCode(RegionCode):
    """`reduce`, in its own order."""

    view: Reduce

    def check(self) -> str | None:
        view, ordering = self.view, self.view.ordering
        is_any_order = view.analysis.is_exact and not isinstance(ordering.reduction_tree, tuple)
        if ordering.reduction_tree != "blocked" and not is_any_order:
            return f"no generated loops for the tree {ordering.reduction_tree!r}"
        is_complex = any(result.element_type.category & COMPLEX for result in view.results)
        if ordering.accumulate == "float64" and is_complex:
            return check_reducer(view.analysis, ordering.accumulate, view.results)
        return None

    @functools.cached_property
    def layout(self) -> Layout:
        """The layout of the inputs as [outer, n, inner]."""
        return layout(self.view.inputs[0].shape, self.view.dimensions)

    @property
    def operands(self) -> list[TensorType]:
        types = [result.element_type for result in self.results]
        shapes = [self.layout.sizes] * len(types) + [()] * len(types)
        return [TensorType(shape, type) for shape, type in zip(shapes, types * 2, strict=True)]

    def lower(self) -> LoweredLoop:
        from .reduction_code import lower_reductions
        from .reduction_tiling import region_reduction_tiling

        operation, sizes = self.view.operation, self.layout.sizes
        block = Block(self.operands)
        results = [TensorType((sizes[0], sizes[2]), type.element_type) for type in self.results]
        builder = Builder(block)
        reduction = builder.create(
            operation.name, block.arguments, results, operation.attributes, operation.regions
        )
        builder.region(reduction.results)
        tiling = region_reduction_tiling(block, sizes)
        accumulate = self.view.ordering.accumulate
        return lower_reductions(block, tiling, self.seconds(), accumulate, self.captured_operands)

    def operations_on_elements(self) -> float:
        return float(self.view.inputs[0].size)

    def passes(self) -> float:
        _, count, _ = self.layout.sizes
        return float(count.bit_length() * max(1, self.view.inputs[0].size >> 16))

    def native_calls(self) -> float:
        return float(self.view.inputs[0].size)

    def adapt_operands(self, native: Callable[..., Any]) -> Callable[..., Any]:
        analysis, types, input_layout = self.view.analysis, self.view.inputs, self.layout
        count = len(types)
        is_as_given = [type.element_type for type in types] == list(analysis.element_types)
        if is_as_given and input_layout.permutation is None:
            return native
        shapes = [result.shape for result in self.results]
        convert = converters(types, analysis.element_types)

        def run(*operands: Any) -> tuple[Any, ...]:
            inputs = convert(operands[:count])
            if input_layout.permutation is not None:
                inputs = [array.transpose(input_layout.permutation) for array in inputs]
            results = native(*inputs, *convert(operands[count : 2 * count]), *operands[2 * count :])
            arrays = results if isinstance(results, tuple) else (results,)
            return tuple([array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)])

        return run


class ArgReduceCode(ReduceCode):
    """`reduce` of values and their positions, which are computed instead of read."""

    def __init__(self, view: ArgReduce, threads: int | None) -> None:
        super().__init__(view.reduction, threads)
        self.view.ordering = view.ordering
        self.arg_reduce = view

    def adapt_operands(self, native: Callable[..., object]) -> Callable[..., Any]:
        reduced = super().adapt_operands(native)

        @functools.cache
        def positions() -> Array:
            """As many positions as the operand has elements: a program that never runs takes none."""
            return np.ascontiguousarray(self.arg_reduce.positions)

        return lambda operand, *init_values: reduced(operand, positions(), *init_values)
