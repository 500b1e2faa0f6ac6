"""Finds the kernels that serve operations with recognized bodies, such as reductions and sorts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....program.ops.reduction.bodies import SortKey, arg_reducer, comparator, monoid, overwrites, selection
from ....types import DType, TensorType
from ...implementation import Runnable
from .kernel import KernelImplementation, KernelMatch

if TYPE_CHECKING:
    from ....program.ops.indexing.scatter_rules import ScatterRules
    from ....program.ops.intermediate.arg_reduce import ArgReduce
    from ....program.ops.intermediate.arg_sort import ArgSort
    from ....program.ops.reduction.reduce import Reduce
    from ....program.ops.reduction.reduce_window import ReduceWindow, SelectAndScatter
    from ....program.ops.sorting.sort import Sort



def reduce_kernel(view: Reduce, threads: int | None) -> KernelMatch:
    """The search for a maximum or minimum; reductions by other bodies are generated."""
    return _search(view, view.inputs[0], view.inputs[1].dtype if len(view.inputs) == 2 else None, threads)


def _search(
    view: Reduce | ArgReduce, operand: TensorType, index_dtype: DType | None, threads: int | None
) -> KernelMatch:
    """The search for the maximum or minimum and where it is."""
    direction, tree = arg_reducer(view.body), view.ordering.reduction_tree
    if not direction:
        return "the body does not search for a maximum or minimum"
    if tree not in ("blocked", "balanced", "left"):
        return f"no kernel for the tree {tree!r}"
    from ....kernels.reduction import arg_reduce

    if arg_reduce.supports_arg(operand.shape, operand.dtype, index_dtype, view.dimensions):
        arguments = (operand.shape, operand.dtype, index_dtype, view.dimensions, direction)
        return KernelImplementation(
            lambda: arg_reduce.prepare_arg(*arguments, threads=threads), f"index of the {direction}"
        )
    return f"no kernel on {operand.element_type}, or along these dimensions"


def arg_reduce_kernel(view: ArgReduce, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.reduction.arg_reduce`: positions are counted, not read."""
    match = _search(view, view.operand, view.positions_type.dtype, threads)
    if isinstance(match, str):
        return match

    def prepare() -> Runnable:
        kernel = match.prepare()
        return lambda operand, init_value, init_position: kernel(operand, None, init_value, init_position)

    return KernelImplementation(prepare, match.reason)


def _single(prepare: Callable[[], Runnable]) -> Callable[[], Runnable]:
    """Turns a kernel with one result into one whose results are a tuple, as variadic operations have it."""

    def prepared() -> Runnable:
        kernel = prepare()
        return lambda *operands: (kernel(*operands),)

    return prepared


def scatter_kernel(view: ScatterRules, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.indexing.scatter`: overwriting, and monoids on one input."""
    from ....kernels.indexing import scatter

    inputs: list[TensorType] = view.inputs
    body = view.update_computation
    combiner = "overwrite" if overwrites(body) else monoid(body)
    scalars = [type.with_shape(()) for type in inputs]
    if combiner is None or list(body.type.results) != scalars:
        return "the body is not a recognized monoid"
    if not all(scatter.supports(type.dtype, combiner) for type in inputs):
        return f"no kernel on {inputs[0].element_type}"
    if view.combine is not None:
        return "no kernel accumulates in a type wider than that of the result"
    if view.ordering.scatter_schedule[:1] == ("shuffled",):
        return "no kernel shuffles updates"
    count = len(inputs)
    nowhere = (None,) * count

    def prepare() -> Runnable:
        prepared = scatter.prepare(
            inputs[0].shape,
            view.index_type.shape,
            view.updates[0].shape,
            [type.dtype for type in inputs],
            view.index_type.dtype,
            combiner,
            scatter.DimensionNumbers(
                view.update_window_dims,
                view.inserted_window_dims,
                view.input_batching_dims,
                view.scatter_indices_batching_dims,
                view.scatter_dims_to_operand_dims,
                view.index_vector_dim,
            ),
            added_to_negative=view.added_to_negative,
            promises=scatter.Promises(view.indices_are_sorted, view.unique_indices),
            schedule=view.schedule(view.updates[0].size),
            threads=threads,
        )

        def run(*operands: Any, out: Any = nowhere) -> tuple[Any, ...]:
            inputs, columns, updates = operands[:count], operands[count:-count], operands[-count:]
            return tuple(prepared(inputs, columns, updates, in_place=all(one is not None for one in out)))

        return run

    pairs = tuple([(index, index) for index in range(count)])
    return KernelImplementation(prepare, f"{combiner} is known", may_overwrite=pairs)


def reduce_window_kernel(view: ReduceWindow, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.reduction.reduce_window`: monoids on one input."""
    from ....kernels.reduction import reduce_window

    operand: TensorType = view.inputs[0]
    name = monoid(view.body)
    if name is None or view.body.type.results[0] != operand.with_shape(()):
        return "the body is not a recognized monoid"
    if not reduce_window.supports(operand.dtype, name):
        return f"no kernel on {operand.element_type}"
    windows = (
        view.window_dimensions,
        view.window_strides,
        view.base_dilations,
        view.window_dilations,
        view.padding,
    )
    tree = view.ordering.reduction_tree
    axes = reduce_window.axes_of(operand.shape, *windows)
    if not reduce_window.supports_tree(axes, operand.dtype, name, tree):
        return f"no kernel for the tree {tree!r}"
    if tree == "blocked" and not reduce_window.is_faster(axes, operand.dtype, name):
        return "the kernel is slow on these windows"
    return KernelImplementation(
        _single(
            lambda: reduce_window.prepare(
                operand.shape,
                operand.dtype,
                name,
                *windows,
                accumulate=view.ordering.accumulate,
                threads=threads,
            )
        ),
        f"{name} is a recognized monoid",
    )


def sort_kernel(view: Sort, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.sorting.sort`: recognised comparators of real keys."""
    keys = comparator(view.comparator)
    shape = view.inputs[0].shape
    dimension = view.dimension % len(shape) if shape else 0
    return _sort_by(keys, view.inputs, dimension, None, None, threads)


def arg_sort_kernel(view: ArgSort, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.sorting.sort`: positions are counted, not read."""
    return _sort_by(view.keys, view.inputs, view.dimension, view.returned, view.results[-1].dtype, threads)


def _sort_by(
    keys: Sequence[SortKey] | None,
    inputs: Sequence[TensorType],
    dimension: int,
    returned: Sequence[int] | None,
    positions: DType | None,
    threads: int | None,
) -> KernelMatch:
    from ....kernels.sorting import sort

    if keys is None or any(key.component != "value" for key in keys):
        return "the comparator is not recognized"
    order = [sort.Key(key.operand, key.descending, key.order.value) for key in keys]
    dtypes = [type.dtype for type in inputs]
    if not sort.supports(dtypes, order):
        return "no kernel for these element types"
    shape = inputs[0].shape
    if shape[dimension] >= sort.MAX_POSITIONS:
        return "positions need more than 32 bits"
    return KernelImplementation(
        lambda: sort.prepare(
            shape, dtypes, dimension, order, returned=returned, positions=positions, threads=threads
        ),
        "the comparator is recognized",
        is_compiled_ahead=True,
    )


def select_and_scatter_kernel(view: SelectAndScatter, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.reduction.select_and_scatter`: comparisons and monoids."""
    from ....kernels.reduction import select_and_scatter

    operand: TensorType = view.operand
    direction, name = selection(view.select), monoid(view.scatter)
    if direction is None or name is None or view.scatter.type.results[0] != operand.with_shape(()):
        return "select is not a comparison, or scatter is not a recognized monoid"
    if not select_and_scatter.supports(operand.dtype, direction, name):
        return f"no kernel on {operand.element_type}"
    if not select_and_scatter.supports_tree(operand.dtype, name, view.ordering.reduction_tree):
        return f"no kernel for the tree {view.ordering.reduction_tree!r}"
    return KernelImplementation(
        lambda: select_and_scatter.prepare(
            operand.shape,
            operand.dtype,
            direction,
            name,
            view.window_dimensions or (1,) * operand.rank,
            view.window_strides,
            view.padding,
            accumulate=view.ordering.accumulate,
            threads=threads,
        ),
        f"selects by {direction}, {name} is a recognized monoid",
    )
