"""Rewrites of reshape, broadcast_in_dim, transpose, reverse and iota."""

from __future__ import annotations

from collections.abc import Sequence

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.shape.broadcasting import BroadcastInDim
from ....program.ops.shape.layout import Reverse, Transpose
from ....program.ops.shape.movement import dims_through_reshape
from ....types import TensorType
from ..framework.rewriter import Rewriter, constant_array, defined_by, defining_operation, dimensions


def reshape_twice(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A reshape of a reshape is one, or nothing if it has the first operand's shape."""
    inner = defined_by(operation.operands[0], "stablehlo.reshape")
    return None if inner is None else reshaped(inner.operands[0], operation.result, rewriter)


def reshaped(value: Value, like: Value, rewriter: Rewriter) -> Value:
    """A value in the shape of another."""
    if value.type == like.type:
        return value
    return rewriter.create("stablehlo.reshape", [value], like.type)


def reshape_of_constant(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A reshape of a constant is a constant in the same memory, whatever its size."""
    array = constant_array(operation.operands[0])
    if array is None:
        return None
    type = tensor_type(operation.result)
    return rewriter.constant(type, array.reshape(type.shape))


def reshape_of_broadcast(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A reshape that adds or drops dimensions of size 1 of a broadcast is a broadcast.

    Of a broadcast of one element any reshape is one.
    """
    inner = defined_by(operation.operands[0], "stablehlo.broadcast_in_dim")
    if inner is None:
        return None
    (operand,), type = inner.operands, tensor_type(operation.result)
    if tensor_type(operand).rank == 0:
        return broadcast(operand, (), type, rewriter)
    result_dims = dims_through_reshape(tensor_type(inner.result).shape, type.shape)
    if result_dims is None:
        return None
    source, to = tensor_type(operand), BroadcastInDim.of(inner).broadcast_dimensions
    surviving_dims = [d for d in range(source.rank) if to[d] in result_dims]
    if len(surviving_dims) < source.rank:
        narrow = source.with_shape([source.shape[d] for d in surviving_dims])
        operand = rewriter.create("stablehlo.reshape", [operand], narrow)
    return broadcast(operand, [result_dims[to[d]] for d in surviving_dims], type, rewriter)


def broadcast(value: Value, to: Sequence[int], type: TensorType, rewriter: Rewriter) -> Value:
    """The broadcast of a value whose dimension d goes to dimension ``to[d]``."""
    attributes = dimensions(broadcast_dimensions=to)
    return rewriter.create("stablehlo.broadcast_in_dim", [value], type, attributes)


def broadcast_of_broadcast(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A broadcast of a broadcast is one; so is that of a reshape that adds dimensions of size 1."""
    (operand,) = operation.operands
    inner, type = defining_operation(operand), tensor_type(operation.result)
    to = BroadcastInDim.of(operation).broadcast_dimensions
    if inner is None or not inner.operands:
        return None
    if inner.name == "stablehlo.broadcast_in_dim":
        between = BroadcastInDim.of(inner).broadcast_dimensions
        return broadcast(inner.operands[0], [to[d] for d in between], type, rewriter)
    if inner.name != "stablehlo.reshape":
        return None
    (source,) = inner.operands
    result_dims = dims_through_reshape(tensor_type(source).shape, tensor_type(operand).shape)
    if result_dims is None or len(result_dims) < tensor_type(source).rank:
        return None
    return broadcast(source, [to[result_dims[d]] for d in range(len(result_dims))], type, rewriter)


def broadcast_to_same(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A broadcast that repeats nothing is its operand, a transpose or a reshape."""
    (operand,) = operation.operands
    type = tensor_type(operation.result)
    if tensor_type(operand).size != type.size:
        return None
    to = BroadcastInDim.of(operation).broadcast_dimensions
    if list(to) == sorted(to):
        return reshaped(operand, operation.result, rewriter)
    order = sorted(range(len(to)), key=to.__getitem__)
    if tuple([tensor_type(operand).shape[d] for d in order]) != type.shape:
        return None
    return rewriter.create("stablehlo.transpose", [operand], type, dimensions(permutation=order))


def identity_transpose(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A transpose that moves no dimension, or only dimensions of size 1: a reshape."""
    (operand,) = operation.operands
    permutation = Transpose.of(operation).permutation
    shape = tensor_type(operand).shape
    moved_dims = [d for d in permutation if shape[d] != 1]
    if moved_dims != sorted(moved_dims) and tensor_type(operand).size:
        return None
    return reshaped(operand, operation.result, rewriter)


def transpose_of_layout_op(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A transpose of a transpose is one; of a broadcast it is a broadcast."""
    inner = defining_operation(operation.operands[0])
    if inner is None:
        return None
    permutation = Transpose.of(operation).permutation
    type = tensor_type(operation.result)
    result_dims = [permutation.index(d) for d in range(len(permutation))]
    if inner.name == "stablehlo.transpose":
        before = Transpose.of(inner).permutation
        attributes = dimensions(permutation=[before[d] for d in permutation])
        return rewriter.create(operation.name, inner.operands, type, attributes)
    if inner.name == "stablehlo.broadcast_in_dim":
        to = BroadcastInDim.of(inner).broadcast_dimensions
        return broadcast(inner.operands[0], [result_dims[d] for d in to], type, rewriter)
    return None


def identity_reverse(operation: Operation, rewriter: Rewriter) -> Value | None:
    """Dimensions of size 1, and those along which all elements are the same, need no reversing."""
    (operand,) = operation.operands
    reversed = Reverse.of(operation).dimensions
    type = tensor_type(operand)
    needed = [d for d in reversed if type.shape[d] > 1 and not _repeats(operand, d)]
    if not needed:
        return operand
    if len(needed) == len(reversed):
        return None
    return rewriter.create(operation.name, [operand], type, dimensions(dimensions=needed))


def _repeats(value: Value, dimension: int) -> bool:
    """Whether a broadcast repeats its operand along a dimension."""
    inner = defined_by(value, "stablehlo.broadcast_in_dim")
    if inner is None:
        return False
    to = BroadcastInDim.of(inner).broadcast_dimensions
    return dimension not in to or tensor_type(inner.operands[0]).shape[to.index(dimension)] == 1
