"""Partition each operation into operations of one device.

A rule asks for its operands in the shardings that the sharding of the result needs. The declaration of an
operation names its rule. By default each device computes all of an operation, from replicated operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ...program.ir import (
    Attribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    IntegerAttribute,
    Operation,
    StructAttribute,
    Value,
)
from ...program.ir.builder import captured_values, copy_region
from ...program.ops.elementwise.conversion import Convert
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.reduction.bodies import identity, monoid
from ...types import ElementType, TensorType, element_type
from ..specialize.inline import without_shardings
from .axis_shardings import AxisSharding, CannotPartition, replicated
from .context import COMBINATION, Context, i64_array, i64_attribute, replicated_region, static_tensor_type
from .custom_calls import partition_custom_call

Rule = Callable[[Operation, Context], None]

_REDUCTIONS: Final = {operation: reduction for reduction, operation in COMBINATION.items()}
"""The reduction of unreduced axes, by the operation that combines two partial results."""


def apply(operation: Operation, context: Context) -> None:
    """Append the local operations of an operation, and enter its results.

    Raises:
        CannotPartition: there is no rule for the operation.
    """
    RULES[declaration_of(operation).partition](operation, context)


def _elementwise(reduction: str) -> Rule:
    """The rule of an elementwise operation which, on partial results of a reduction, gives partial results.

    Args:
        reduction: the reduction of unreduced axes; empty: there is none.
    """

    def rule(operation: Operation, context: Context) -> None:
        sharding = context.sharding(operation.result)
        _sharded_elementwise(operation, context, sharding, sharding.reduction == reduction)

    return rule


def _convert(operation: Operation, context: Context) -> None:
    """An exact conversion gives partial results of any reduction."""
    is_exact = Convert.of(operation).is_exact_between_floats
    _sharded_elementwise(operation, context, context.sharding(operation.result), is_exact)


def _sharded_elementwise(
    operation: Operation, context: Context, sharding: AxisSharding, keeps_partial_results: bool
) -> None:
    shape = static_tensor_type(operation.result).shape
    if sharding.unreduced and not keeps_partial_results:
        sharding = AxisSharding(sharding.dimensions)
    operands = []
    for operand in operation.operands:
        own = static_tensor_type(operand).shape
        if own != shape and own:
            _replicate(operation, context)
            return
        operands.append(context.operand(operand, sharding if own == shape else replicated(operand.type)))
    _finish(operation, context, operands, sharding)


def _finish(
    operation: Operation,
    context: Context,
    operands: Sequence[Value],
    sharding: AxisSharding,
    **changed: Attribute,
) -> None:
    """Append an operation on local operands, whose results then have that sharding."""
    attributes = without_shardings(operation.attributes) | changed
    types = [context.devices.local_type(result.type, sharding) for result in operation.results]
    regions = [copy_region(region, {}) for region in operation.regions]
    created = context.create(operation.name, operands, types, attributes, regions)
    for result, local in zip(operation.results, created.results, strict=True):
        context.set_local(result, local, sharding)


def _replicate(operation: Operation, context: Context) -> None:
    """Compute the operation on each device, from replicated operands."""
    nested = [inner for region in operation.regions for inner in region.walk()]
    if any(declaration_of(inner).partition in _NOT_REPEATED for inner in nested):
        raise CannotPartition(f"there is no rule for {operation.name} with such a region")
    operands = [context.operand(operand, replicated(operand.type)) for operand in operation.operands]
    captured = captured_values(operation.regions)
    regions = [replicated_region(context, region, captured) for region in operation.regions]
    attributes = without_shardings(operation.attributes)
    types = [result.type for result in operation.results]
    created = context.create(operation.name, operands, types, attributes, regions)
    for result, local in zip(operation.results, created.results, strict=True):
        context.set_local(result, local, replicated(result.type))


def _refuse(operation: Operation, context: Context) -> None:
    """Devices must not repeat the operation, or its values have no sharding."""
    raise CannotPartition(f"there is no rule for {operation.name}")


def _constant(operation: Operation, context: Context) -> None:
    value = operation.attributes["value"]
    type = static_tensor_type(operation.result)
    sharding = AxisSharding(context.sharding(operation.result).dimensions)
    if isinstance(value, DenseElementsAttribute) and value.is_splat:
        local = context.devices.local_type(type, sharding)
        assert isinstance(local, TensorType)
        value = DenseElementsAttribute(local, np.broadcast_to(value.array.flat[0], local.shape))
    else:
        sharding = replicated(type)
    _finish(operation, context, (), sharding, value=value)


def _iota(operation: Operation, context: Context) -> None:
    type = static_tensor_type(operation.result)
    sharding = AxisSharding(context.sharding(operation.result).dimensions)
    dimension = _integer(operation, "iota_dimension")
    axes = sharding.dimensions[dimension]
    local = context.devices.local_type(type, sharding)
    assert isinstance(local, TensorType)
    if not axes:
        _finish(operation, context, (), sharding)
        return
    # In i64, since sums of rounded numbers would differ from the rounded sum.
    wide = local.with_element_type(element_type("i64"))
    counted = context.create(
        "stablehlo.iota", (), [wide], {"iota_dimension": i64_attribute(dimension)}
    ).result
    first = context.device_entry(context.devices.positions(axes) * local.shape[dimension])
    offset = _broadcast(context, first, wide)
    total = context.create("stablehlo.add", [counted, offset], [wide]).result
    result = context.create("stablehlo.convert", [total], [local]).result
    context.set_local(operation.result, result, sharding)


def _broadcast(context: Context, scalar: Value, type: TensorType) -> Value:
    return context.create(
        "stablehlo.broadcast_in_dim", [scalar], [type], {"broadcast_dimensions": i64_array(())}
    ).result


def _broadcast_in_dim(operation: Operation, context: Context) -> None:
    (operand,) = operation.operands
    sharding = context.sharding(operation.result)
    shape, result_shape = static_tensor_type(operand).shape, static_tensor_type(operation.result).shape
    dimensions = [
        sharding.dimensions[target] if size == result_shape[target] else ()
        for size, target in zip(shape, _integers(operation, "broadcast_dimensions"), strict=True)
    ]
    local = context.operand(operand, sharding.with_dimensions(dimensions))
    _finish(operation, context, [local], sharding)


def _transpose(operation: Operation, context: Context) -> None:
    (operand,) = operation.operands
    sharding = context.sharding(operation.result)
    permutation = _integers(operation, "permutation")
    dimensions: list[tuple[str, ...]] = [()] * len(permutation)
    for target, source in enumerate(permutation):
        dimensions[source] = sharding.dimensions[target]
    local = context.operand(operand, sharding.with_dimensions(dimensions))
    _finish(operation, context, [local], sharding)


def _reshape(operation: Operation, context: Context) -> None:
    """Dimensions may be split and joined where the divided one is the major one before and after."""
    (operand,) = operation.operands
    sharding = context.sharding(operation.result)
    shape, result_shape = static_tensor_type(operand).shape, static_tensor_type(operation.result).shape
    dimensions: list[tuple[str, ...]] = [()] * len(shape)
    for target, axes in enumerate(sharding.dimensions):
        before = math.prod(result_shape[:target])
        count = context.devices.size(axes)
        sources = [
            source
            for source, size in enumerate(shape)
            if math.prod(shape[:source]) == before and size % count == 0 and not dimensions[source]
        ]
        if axes and not sources:
            _replicate(operation, context)
            return
        if axes:
            dimensions[sources[-1]] = axes
    local = context.operand(operand, sharding.with_dimensions(dimensions))
    _finish(operation, context, [local], sharding)


def _slice(operation: Operation, context: Context) -> None:
    """Dimensions in which the slice has the full size may be divided."""
    (operand,) = operation.operands
    target = context.sharding(operation.result)
    sharding = _divided_where_equal(target, operand, operation.result)
    local = context.operand(operand, sharding)
    limits = [
        local_size if axes else limit
        for axes, local_size, limit in zip(
            sharding.dimensions,
            static_tensor_type(local).shape,
            _integers(operation, "limit_indices"),
            strict=True,
        )
    ]
    _finish(operation, context, [local], sharding, limit_indices=i64_array(limits))


def _dynamic_slice(operation: Operation, context: Context) -> None:
    """Dimensions in which the slice has the full size may be divided."""
    operand, *starts = operation.operands
    target = context.sharding(operation.result)
    sharding = _divided_where_equal(target, operand, operation.result)
    locals = [
        context.operand(operand, sharding),
        *(context.operand(start, AxisSharding(())) for start in starts),
    ]
    sizes = static_tensor_type(operation.result).shape
    counts = map(context.devices.size, sharding.dimensions)
    local_sizes = [size // count for size, count in zip(sizes, counts, strict=True)]
    _finish(operation, context, locals, sharding, slice_sizes=i64_array(local_sizes))


def _dynamic_update_slice(operation: Operation, context: Context) -> None:
    """Dimensions in which the update has the full size may be divided."""
    operand, update, *starts = operation.operands
    target = context.sharding(operation.result)
    sharding = _divided_where_equal(target, update, operation.result)
    locals = [context.operand(value, sharding) for value in (operand, update)]
    _finish(
        operation,
        context,
        [*locals, *(context.operand(start, AxisSharding(())) for start in starts)],
        sharding,
    )


def _divided_where_equal(target: AxisSharding, value: Value, other: Value) -> AxisSharding:
    """The sharding, divided only in the dimensions in which two tensors have the same size."""
    pairs = zip(
        target.dimensions, static_tensor_type(value).shape, static_tensor_type(other).shape, strict=True
    )
    dimensions = [axes if size == other_size else () for axes, size, other_size in pairs]
    return target.with_dimensions(dimensions)


def _scatter(operation: Operation, context: Context) -> None:
    """Each device adds its own shard of updates that are divided along scattered dimensions: partial sums."""
    dimensions_of = operation.attributes["scatter_dimension_numbers"]
    assert isinstance(dimensions_of, StructAttribute)
    is_sum = len(operation.operands) == 3 and _combination(operation) == "stablehlo.add"
    is_batched = bool(dimensions_of.integers("input_batching_dims"))
    if not is_sum or is_batched or captured_values(operation.regions):
        _replicate(operation, context)
        return
    operand, indices, updates = operation.operands
    target = context.sharding(operation.result)
    _, current = context.values[updates]
    windows = dimensions_of.integers("update_window_dims")
    vector = dimensions_of.integer("index_vector_dim")
    dimensions = [() if index in windows else axes for index, axes in enumerate(current.dimensions)]
    of_indices = [axes for index, axes in enumerate(dimensions) if index not in windows]
    if vector < static_tensor_type(indices).rank:
        of_indices.insert(vector, ())
    summed_axes = [axis for axes in dimensions for axis in axes]
    sharding = replicated(operation.result.type).with_unreduced(summed_axes, "sum")
    locals = [
        context.operand(operand, sharding),
        context.operand(indices, AxisSharding(tuple(of_indices))),
        context.operand(updates, AxisSharding(tuple(dimensions))),
    ]
    result_sharding = sharding.with_unreduced(
        [axis for axis in summed_axes if axis in target.unreduced_by("sum")], "sum"
    )
    created = context.create(
        operation.name,
        locals,
        [operation.result.type],
        without_shardings(operation.attributes),
        [copy_region(operation.regions[0], {})],
    )
    context.set_local(
        operation.result, context.resharded(created.result, sharding, result_sharding), result_sharding
    )


def _concatenate(operation: Operation, context: Context) -> None:
    target = context.sharding(operation.result)
    joined = _integer(operation, "dimension")
    dimensions = [() if index == joined else axes for index, axes in enumerate(target.dimensions)]
    sharding = target.with_dimensions(dimensions)
    _finish(operation, context, [context.operand(each, sharding) for each in operation.operands], sharding)


def _whole_dimension(operation: Operation, context: Context) -> None:
    """Slices along one dimension are computed whole, those along others by the devices that have them."""
    if captured_values(operation.regions):
        _replicate(operation, context)
        return
    view = Op.of(operation)
    whole = getattr(view, view.whole_dimension)
    target = context.sharding(operation.results[0])
    dimensions = [() if index == whole else axes for index, axes in enumerate(target.dimensions)]
    sharding = AxisSharding(tuple(dimensions))
    _finish(operation, context, [context.operand(each, sharding) for each in operation.operands], sharding)


def _reduce(operation: Operation, context: Context) -> None:
    """Each device reduces its shard; then devices along sharded dimensions combine their values."""
    count = len(operation.operands) // 2
    inputs, initial = operation.operands[:count], operation.operands[count:]
    if captured_values(operation.regions):
        raise CannotPartition("a reduction uses values from outside")
    target = context.sharding(operation.results[0])
    reduction = _REDUCTIONS.get(_combination(operation), "")
    sharding, reduced_axes = _reduced_sharding(operation, context, target, reduction)
    operands = [context.operand(each, sharding) for each in inputs]
    operands += [context.operand(each, replicated(each.type)) for each in initial]
    kept_axes = [axis for axis in reduced_axes if axis in target.unreduced_by(reduction)]
    unreduced = {*sharding.unreduced, *kept_axes}
    types = [
        context.devices.local_type(each.type, AxisSharding(target.dimensions)) for each in operation.results
    ]
    regions = [copy_region(region, {}) for region in operation.regions]
    attributes = without_shardings(operation.attributes)
    created = context.create(operation.name, operands, types, attributes, regions)
    joined = [axis for axis in reduced_axes if axis not in kept_axes]
    for result, local in zip(operation.results, created.results, strict=True):
        value = local
        if joined:
            value = context.all_reduced(local, joined, copy_region(operation.regions[0], {}))
        context.set_local(result, value, target.with_unreduced(unreduced, reduction))


def _reduced_sharding(
    operation: Operation, context: Context, target: AxisSharding, reduction: str
) -> tuple[AxisSharding, list[str]]:
    """The sharding of the inputs of a reduction, and the axes that divide dimensions that it reduces."""
    reduced = _integers(operation, "dimensions")
    _, current = context.values[operation.operands[0]]
    neutral = len(operation.operands) == 2 and _is_reduction_identity(operation, operation.operands[1])
    remaining = iter(target.dimensions)
    dimensions: list[tuple[str, ...]] = []
    reduced_axes: list[str] = []
    for index, axes in enumerate(current.dimensions):
        if index not in reduced:
            dimensions.append(next(remaining))
            continue
        free = [axis for axis in axes if neutral and axis not in target.used()]
        dimensions.append(tuple(free))
        reduced_axes += free
    kept = [axis for axis in current.unreduced_by(reduction) if axis in target.unreduced_by(reduction)]
    return AxisSharding(tuple(dimensions)).with_unreduced(kept if neutral else (), reduction), reduced_axes


def _combination(operation: Operation) -> str:
    """The name of a region's only operation besides its return; "" where there are several."""
    operations = operation.regions[0].block.operations
    return operations[0].name if len(operations) == 2 else ""


def _is_reduction_identity(operation: Operation, initial: Value) -> bool:
    """Whether the initial value of a reduction is its identity, so that each device may start with it."""
    owner = initial.owner
    if not isinstance(owner, Operation) or declaration_of(owner).partition != "constant":
        return False
    value = owner.attributes["value"]
    type = static_tensor_type(initial)
    if not isinstance(value, DenseElementsAttribute):
        return False
    combination = monoid(operation.regions[0])
    if combination is None or not isinstance(type.element_type, ElementType):
        return False
    neutral = identity(combination, type.element_type)
    return neutral is not None and bool(np.asarray(value.array).reshape(()) == neutral)


def _dot_general(operation: Operation, context: Context) -> None:
    """Devices along divided contracting dimensions have partial sums of the product."""
    dimension_numbers = operation.attributes["dot_dimension_numbers"]
    assert isinstance(dimension_numbers, StructAttribute)
    batching = [dimension_numbers.integers(f"{side}_batching_dimensions") for side in ("lhs", "rhs")]
    contracting = [dimension_numbers.integers(f"{side}_contracting_dimensions") for side in ("lhs", "rhs")]
    target = context.sharding(operation.result)
    contracted = _contracted_axes(operation, context, contracting, target)
    results = list(target.dimensions)
    batch = [results.pop(0) for _ in batching[0]]
    operands = []
    for value, batched, summed_axes in zip(operation.operands, batching, contracting, strict=True):
        dimensions: list[tuple[str, ...]] = [()] * static_tensor_type(value).rank
        for index, axes in [*zip(batched, batch, strict=True), *zip(summed_axes, contracted, strict=True)]:
            dimensions[index] = axes
        for index in range(len(dimensions)):
            if index not in batched and index not in summed_axes:
                dimensions[index] = results.pop(0)
        operands.append(context.operand(value, AxisSharding(tuple(dimensions))))
    reduced_axes = [axis for axes in contracted for axis in axes]
    unreduced = [axis for axis in reduced_axes if axis in target.unreduced_by("sum")]
    sharding = target.with_unreduced(unreduced, "sum")
    type = context.devices.local_type(operation.result.type, sharding)
    value = context.create(operation.name, operands, [type], without_shardings(operation.attributes)).result
    joined = [axis for axis in reduced_axes if axis not in unreduced]
    if joined:
        value = context.all_reduced(value, joined, "sum")
    context.set_local(operation.result, value, sharding)


def _contracted_axes(
    operation: Operation, context: Context, contracting: Sequence[Sequence[int]], target: AxisSharding
) -> list[tuple[str, ...]]:
    """The axes that divide each contracted dimension: those of an operand that the result does not use."""
    used = target.used()
    shardings = [context.values[value][1] for value in operation.operands]
    contracted = []
    for pair in zip(*contracting, strict=True):
        candidates = [sharding.dimensions[index] for sharding, index in zip(shardings, pair, strict=True)]
        axes = next((axes for axes in candidates if axes), ())
        free = tuple([axis for axis in axes if axis not in used])
        used |= set(free)
        contracted.append(free)
    return contracted


def _barrier(operation: Operation, context: Context) -> None:
    operands = [
        context.operand(operand, context.sharding(result))
        for operand, result in zip(operation.operands, operation.results, strict=True)
    ]
    context.create_local(operation, operands)


def _identity(operation: Operation, context: Context) -> None:
    """Return the operand, converted to the sharding of the result."""
    local, sharding = context.values[operation.operands[0]]
    context.set_local(operation.result, local, sharding)


def _integers(operation: Operation, name: str) -> tuple[int, ...]:
    attribute = operation.attributes[name]
    assert isinstance(attribute, DenseArrayAttribute)
    return tuple(map(int, attribute.values))


def _integer(operation: Operation, name: str) -> int:
    attribute = operation.attributes[name]
    assert isinstance(attribute, IntegerAttribute)
    return attribute.value


RULES: Final[dict[str, Rule]] = {
    "barrier": _barrier,
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "constant": _constant,
    "convert": _convert,
    "custom_call": partition_custom_call,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "elementwise": _elementwise(""),
    "identity": _identity,
    "iota": _iota,
    "linear": _elementwise("sum"),
    "maximum": _elementwise("max"),
    "minimum": _elementwise("min"),
    "reduce": _reduce,
    "refuse": _refuse,
    "replicate": _replicate,
    "reshape": _reshape,
    "scatter": _scatter,
    "slice": _slice,
    "transpose": _transpose,
    "whole_dimension": _whole_dimension,
}
"""The rules by the names under which declarations state them."""

_NOT_REPEATED: Final = frozenset({"custom_call", "refuse"})
"""The rules of operations that devices must not repeat."""
