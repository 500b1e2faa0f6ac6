"""Native loops for operations whose regions no hand-written kernel serves, or whose operands are small."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....program.ir import Block, Builder
from ....program.ops.framework.declaration import Op
from ....program.ops.framework.facts import named_code
from ....program.ops.reduction.reduce import Layout, layout
from ....types import COMPLEX, QUANTIZED, Array, TensorType
from .native_code import KernelLaunch, LoweredKernel, divide_by_seconds, tensor
from .region_code import RegionCode, check_reducer, converters

if TYPE_CHECKING:
    from ....program.ops.chlo.scan import Scan
    from ....program.ops.indexing.scatter import Scatter
    from ....program.ops.internal.arg_reduce import ArgReduce
    from ....program.ops.reduction.reduce import Reduce
    from ....program.ops.reduction.sort import Sort


def region_loop_code(view: Op, threads: int | None, has_kernel: bool) -> RegionCode | str:
    """The generated loops of an operation with regions, or why there are none, "" where it never has any.

    They may still turn out not to be possible (`RegionCode.check_loop`).

    Args:
        view: the operation; its sizes are known.
        threads: maximum number of threads; None: all.
        has_kernel: whether a hand-written kernel can serve as well; it is better on many elements.
    """
    if not view.region_loop:
        return ""
    values = (*view.operation.operands, *view.operation.results)
    if any(value.type.category & QUANTIZED for value in values):
        return "no generated loops on quantized tensors"
    if not all(tensor(value.type).size for value in values):
        return "there are no elements"
    code: RegionCode = named_code(__package__, view.region_loop)(view, threads)
    if has_kernel and not code.is_small:
        return ""
    return code.check() or code


def has_few_updates(view: Op) -> bool:
    """Whether a loop is generated for a scatter with any body, as it has few updates."""
    return ScatterCode(cast("Scatter", view), None).is_small


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

    def lower(self) -> LoweredKernel:
        from ...codegen.reductions.reduction_tiling import region_reduction_tiling
        from .reduction_fusion import lower_reductions

        operation, sizes = self.view.operation, self.layout.sizes
        block = Block(self.operands)
        results = [TensorType((sizes[0], sizes[2]), type.element_type) for type in self.results]
        reduction = Builder(block).create(
            operation.name, block.arguments, results, operation.attributes, operation.regions
        )
        Builder(block).create("stablehlo.return", reduction.results)
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


class ScatterCode(RegionCode):
    """`scatter`, updates in lexicographic order."""

    view: Scatter

    def __init__(self, view: Scatter, threads: int | None) -> None:
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
        return [self.view.scatter_indices, *updates]

    def lower(self) -> LoweredKernel:
        from ...codegen.regions.scatter import NAME, partition_destinations, scatter_module

        seconds = self.seconds()
        min_chunk = divide_by_seconds(_MAX_TASKS, seconds).tasks
        partition = partition_destinations(self.view, min_chunk)
        return LoweredKernel(
            lambda: scatter_module(self.view, self.captured_operands, partition),
            partition.size,
            (KernelLaunch(NAME, partition.tasks, seconds),),
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
            indices, updates = operands[count], convert(operands[count + 1 : 2 * count + 1])
            native(indices, *updates, *operands[2 * count + 1 :], out=results)
            return tuple(results)

        return run


_MIN_CHUNK = 1 << 12
"""Minimum number of elements that a task sorts."""
_MAX_TASKS = 8
"""Maximum number of tasks that share the destinations, or the slices to sort."""
_DESTINATION_SECONDS = 6e-8
"""Seconds in which the reference finds an update's destination and its order among the updates of that."""


class SortCode(RegionCode):
    """`sort` by merging."""

    view: Sort

    max_small_calls = 1 << 13

    def check(self) -> str | None:
        if self.view.keys is not None and not (self.is_small and self.view.follows_comparator):
            return "a kernel sorts by these keys"
        return None if 1 < self.count < 1 << 31 else "there is nothing to sort"

    @property
    def count(self) -> int:
        """The elements of a slice."""
        return int(self.view.length)

    @property
    def rows(self) -> int:
        """The number of slices."""
        return int(self.view.inputs[0].size // self.count)

    @property
    def results(self) -> list[TensorType]:
        return [type.with_shape((self.rows, self.count)) for type in self.view.inputs]

    @property
    def operands(self) -> list[TensorType]:
        return self.results

    def lower(self) -> LoweredKernel:
        from ...codegen.regions.sort import CHUNKS, MERGES, SortPlan, sort_module

        chunk = 1 << (self.count - 1).bit_length()
        while chunk > _MIN_CHUNK and self.rows * self.count // chunk < _MAX_TASKS:
            chunk //= 2
        tiling = SortPlan(self.rows, self.count, chunk)
        seconds = self.seconds()
        launches = [KernelLaunch(CHUNKS, tiling.rows * tiling.chunks, seconds)]
        for width in tiling.widths:
            tasks = tiling.rows * tiling.pairs(width)
            launches.append(KernelLaunch(MERGES.format(width), tasks, seconds / tiling.levels))
        scratch = [((type.shape), type.dtype) for type in self.results]
        scratch.append(((self.rows, self.count + 1), np.dtype(np.int32)))
        comparator = self.view.comparator
        return LoweredKernel(
            lambda: sort_module(comparator, self.captured_operands, tiling),
            chunk,
            tuple(launches),
            tuple(scratch),
        )

    def operations_on_elements(self) -> float:
        # Each probe gathers elements, and takes about a dozen operations on arrays.
        return self.native_calls() * _OPERATIONS_PER_PROBE

    def passes(self) -> float:
        levels = self.count.bit_length()
        return float(levels * (levels + 1))

    def native_calls(self) -> float:
        return float(self.view.comparisons)

    def adapt_operands(self, native: Callable[..., Any]) -> Callable[..., Any]:
        count, axis, shape = len(self.results), self.view.adjusted_dimension, self.view.inputs[0].shape
        moved_shape = (*shape[:axis], *shape[axis + 1 :], shape[axis])

        def sorted_rows(*operands: Any) -> list[Any]:
            results = native(*operands)
            return [array.reshape(moved_shape) for array in (results if count > 1 else (results,))]

        def run(*operands: Any) -> tuple[Any, ...]:
            inputs = [np.moveaxis(array, axis, -1) for array in operands[:count]]
            return tuple([np.moveaxis(array, -1, axis) for array in sorted_rows(*inputs, *operands[count:])])

        return run if axis < len(shape) - 1 else lambda *operands: tuple(sorted_rows(*operands))


_OPERATIONS_PER_PROBE = 12
"""Operations on arrays of a step of the reference's binary search."""


class ScanCode(RegionCode):
    """`chlo.scan` of small slices."""

    view: Scan

    applies_per_element = True

    def check(self) -> str | None:
        return None

    @property
    def length(self) -> int:
        """The size of the scanned dimension."""
        scanned = (*self.view.inputs, *self.view.outputs)[0]
        return int(scanned.shape[self.view.dimension])

    def lower(self) -> LoweredKernel:
        from ...codegen.regions.chlo_scan import NAME, scan_module

        launches = (KernelLaunch(NAME, 1, self.seconds()),)
        return LoweredKernel(
            lambda: scan_module(self.view, self.captured_operands, self.length), 1, launches
        )

    def operations_on_elements(self) -> float:
        return float(self.length)

    def passes(self) -> float:
        return float(self.length)

    def native_calls(self) -> float:
        return float(self.length)

    def adapt_operands(self, native: Callable[..., object]) -> Callable[..., Any]:
        if len(self.results) > 1:
            return native
        return lambda *operands: (native(*operands),)
