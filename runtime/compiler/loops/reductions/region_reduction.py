"""The generated loops of `reduce` and arg-reductions with any body."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....program.ir import Block, Builder, Value
from ....program.ops.framework.attribute_kinds import I64
from ....program.ops.reduction.reduce import Layout, layout
from ....program.ops.shape.creation import Iota
from ....types import COMPLEX, TensorType
from ..native_code import LoweredLoop
from ..regions.region_code import RegionCode, check_reducer, converters

if TYPE_CHECKING:
    from ....program.ops.intermediate.arg_reduce import ArgReduce
    from ....program.ops.reduction.reduce import Reduce
    from .reduction_tiling import Runs


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
        own = layout(self.view.inputs[0].shape, self.view.dimensions)
        return own if self.runs is None else Layout(None, self.runs.sizes, own.result_shape)

    @functools.cached_property
    def runs(self) -> Runs | None:
        """Where the inputs' values lie if these would be transposed else; None if they are."""
        from .reduction_tiling import runs_of

        shape, dimensions = self.view.inputs[0].shape, self.view.dimensions
        is_transposed = layout(shape, dimensions).permutation is not None
        return runs_of(shape, dimensions) if is_transposed else None

    @property
    def read_inputs(self) -> list[TensorType]:
        """The types of the inputs that are operands of the native code."""
        return self.view.inputs

    @property
    def operands(self) -> list[TensorType]:
        types = [result.element_type for result in self.results]
        read = [TensorType(self.layout.sizes, type) for type in types[: len(self.read_inputs)]]
        return [*read, *(TensorType((), type) for type in types)]

    def reduced(self, builder: Builder) -> Sequence[Value]:
        """The operands of the reduction in the block of the native code."""
        return builder.block.arguments

    def lower(self) -> LoweredLoop:
        from .reduction_code import lower_reductions
        from .reduction_tiling import region_reduction_tiling

        operation, sizes = self.view.operation, self.layout.sizes
        block = Block(self.operands)
        results = [TensorType((sizes[0], sizes[2]), type.element_type) for type in self.results]
        builder = Builder(block)
        reduction = builder.create(
            operation.name, self.reduced(builder), results, operation.attributes, operation.regions
        )
        builder.region(reduction.results)
        tiling = region_reduction_tiling(block, sizes, self.runs)
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
        count = len(self.read_inputs)
        is_as_given = [type.element_type for type in types] == list(analysis.element_types)
        if is_as_given and input_layout.permutation is None:
            return native
        shapes = [result.shape for result in self.results]
        end, targets = count + len(types), analysis.element_types
        convert = converters([*types[:count], *types], [*targets[:count], *targets])

        def run(*operands: Any) -> tuple[Any, ...]:
            converted = convert(operands[:end])
            if input_layout.permutation is not None:
                converted[:count] = [array.transpose(input_layout.permutation) for array in converted[:count]]
            results = native(*converted, *operands[end:])
            arrays = results if isinstance(results, tuple) else (results,)
            return tuple([array.reshape(shape) for array, shape in zip(arrays, shapes, strict=True)])

        return run


class ArgReduceCode(ReduceCode):
    """`reduce` of values and their positions, which are computed instead of read."""

    def __init__(self, view: ArgReduce, threads: int | None) -> None:
        super().__init__(view.reduction, threads)
        self.view.ordering = view.ordering
        self.arg_reduce = view

    @property
    def read_inputs(self) -> list[TensorType]:
        return [self.arg_reduce.operand]

    def reduced(self, builder: Builder) -> Sequence[Value]:
        operand, *init_values = builder.block.arguments
        type = TensorType(self.layout.sizes, self.results[1].element_type)
        positions = builder.create(Iota.name, (), [type], {"iota_dimension": I64.encode(1)}).result
        return [operand, positions, *init_values]
