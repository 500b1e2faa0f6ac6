"""Infers the result types of operations from their operands and regions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...program.ir import Operation
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.elementwise.conversion import BitcastConvert
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.framework.traits import RegionRole
from ...program.ops.shape.broadcasting import BroadcastInDim
from ...program.ops.shape.layout import Reshape
from ...types import DYNAMIC, TensorType, Type


def result_types(operation: Operation) -> Sequence[Type]:
    """The result types that follow from the operands and regions; empty if they do not follow."""
    role = declaration_of(operation).region_role
    if role is RegionRole.LOOP:
        return [argument.type for argument in operation.regions[0].block.arguments]
    if role is RegionRole.BRANCHES:
        branches = [region.type.results for region in operation.regions]
        return branches[0] if all(branch == branches[0] for branch in branches) else ()
    view = Op.of(operation)
    return view.infer() or _with_operands_shapes(view)


def _with_operands_shapes(view: Op) -> Sequence[Type]:
    """The declared result types with the shapes of operands."""
    if all(isinstance(one.type, TensorType) and one.type.is_static for one in view.operation.results):
        return ()
    results = [result.type for result in view.operation.results]
    tensors = [operand.type for operand in view.operation.operands if isinstance(operand.type, TensorType)]
    if isinstance(view, Reshape):
        return [_shaped(results[0], _reshaped_shape(view))]
    if isinstance(view, BroadcastInDim):
        return [_shaped(results[0], _broadcast_shape(view))]
    if isinstance(view, BitcastConvert):
        return [_shaped(results[0], _bitcast_shape(view))]
    if isinstance(view, Elementwise):
        shape = max((type.shape for type in tensors), key=len)
        return [_shaped(type, shape) for type in results]
    if view.shaped_like:
        names = {part.name: index for index, part in enumerate(view.declared_results)}
        like = {names[result]: getattr(view, operand) for result, operand in view.shaped_like}
        return [_shaped(type, like[index].shape) for index, type in enumerate(results)]
    return ()


def _shaped(type: Type, shape: tuple[int, ...]) -> Type:
    return type.with_shape(shape) if isinstance(type, TensorType) else type


def _reshaped_shape(view: Reshape) -> tuple[int, ...]:
    """The declared shape; one unknown size follows from the number of elements."""
    shape: tuple[int, ...] = view.result.shape
    rest = math.prod(size for size in shape if size != DYNAMIC)
    if shape.count(DYNAMIC) != 1 or not view.operand.is_static or not rest or view.operand.size % rest:
        return shape
    return tuple([view.operand.size // rest if size == DYNAMIC else size for size in shape])


def _broadcast_shape(view: BroadcastInDim) -> tuple[int, ...]:
    """The declared shape; unknown sizes are those of the operand's dimensions, or else their bounds."""
    shape = list(view.result.shape)
    bounds = view.result.bounds or (DYNAMIC,) * len(shape)
    sizes = dict(zip(view.broadcast_dimensions, view.operand.shape, strict=True))
    return tuple([sizes.get(d, bounds[d]) if size == DYNAMIC else size for d, size in enumerate(shape)])


def _bitcast_shape(view: BitcastConvert) -> tuple[int, ...]:
    """The operand's shape, with a dimension more or fewer where the widths of elements differ."""
    shape, declared = view.operand.shape, view.result.shape
    if len(declared) == len(shape):
        return tuple(shape)
    if len(declared) < len(shape):
        return tuple(shape[:-1])
    return (*shape, declared[-1])


def more_static(declared: Type, inferred: Type) -> Type:
    """The declared type with its unknown sizes replaced by inferred ones."""
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType) or declared.is_static:
        return declared
    if declared.rank != inferred.rank:
        return declared
    shape = [b if a == DYNAMIC else a for a, b in zip(declared.shape, inferred.shape, strict=True)]
    bounds = None if DYNAMIC not in shape else declared.bounds
    return TensorType(shape, declared.element_type, bounds)
