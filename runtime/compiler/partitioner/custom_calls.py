"""Partitions custom calls on batches: each device calls the target on its own part of the batch.

Source: xla/python/custom_call_batch_partitioner.cc of openxla/xla, which reads the same frontend attribute.
"""

from __future__ import annotations

from ...program.ir import Operation, Value
from ...program.ops.custom_calls.view import batch_rank
from ..specialize.framework.operation_classes import has_no_effect
from ..specialize.inline import without_shardings
from .axis_shardings import Axes, AxisSharding, CannotPartition, replicated
from .context import Context, static_tensor_type


def partition_custom_call(operation: Operation, context: Context) -> None:
    """Append the custom call of a device, whose batch dimensions are divided as those of its values are.

    Raises:
        CannotPartition: the call has no batch dimensions, or it has effects.
    """
    rank = batch_rank(operation)
    if not rank or not has_no_effect(operation):
        raise CannotPartition("there is no rule for a custom call without batch dimensions, or with effects")
    shardings = [
        *map(context.sharding, operation.results),
        *(context.values[operand][1] for operand in operation.operands),
    ]
    batches = [each.dimensions[:rank] for each in shardings if len(each.dimensions) >= rank]
    batch = next((axes for axes in batches if any(axes)), ())
    operands = [context.operand(operand, _divided(operand, rank, batch)) for operand in operation.operands]
    result_shardings = [_divided(result, rank, batch) for result in operation.results]
    types = [
        context.devices.local_type(result.type, sharding)
        for result, sharding in zip(operation.results, result_shardings, strict=True)
    ]
    created = context.create(operation.name, operands, types, without_shardings(operation.attributes))
    for result, local, sharding in zip(operation.results, created.results, result_shardings, strict=True):
        context.set_local(result, local, sharding)


def _divided(value: Value, rank: int, batch: tuple[Axes, ...]) -> AxisSharding:
    """The sharding of a value whose batch dimensions are divided; a value of lower rank has none of them."""
    whole = replicated(value.type)
    if static_tensor_type(value).rank < rank:
        return whole
    return whole.with_dimensions([*batch, *whole.dimensions[len(batch) :]])
