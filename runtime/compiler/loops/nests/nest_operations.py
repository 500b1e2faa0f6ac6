"""Elementwise operations and gathers for which loop nests are generated."""

from __future__ import annotations

from ....program.ir import Block, Builder, Operation, Value, tensor_type
from ....program.ops.elementwise.base import Elementwise, is_elementwise
from ....program.ops.framework.declaration import Op
from ....program.ops.intermediate.fusion import Fusion
from ...cost_model import MIN_SAVED_SECONDS, native_saving_seconds
from ...fusion.elementwise import MIN_LARGE_SIZE
from ...fusion.gather_index_map import has_gather_map
from ...specialize.framework.rewriter import has_static_unquantized_types


def is_worth_compiling_alone(operation: Operation) -> bool:
    """Whether native code for one elementwise operation saves more time than its call takes."""
    if not has_static_unquantized_types(operation):
        return False
    return native_saving_seconds(operation) >= MIN_SAVED_SECONDS and has_emitter(operation)


def has_emitter(operation: Operation) -> bool:
    """Whether native code can be generated for an elementwise operation."""
    if not is_elementwise(operation):
        return False
    from ..elementwise.emitted_operations import emits

    return emits(operation)


def runs_as_loop_nest(view: Op) -> bool:
    """Whether a loop nest is generated for an operation.

    It is for a fusion, a gather, and an elementwise operation on enough elements. It is not for scalars: the
    reference of a region on scalars may be applied to arrays, but native code serves one size.
    """
    operation = view.operation
    if isinstance(view, Fusion) or has_gather_map(operation):
        return True
    if not isinstance(view, Elementwise) or not has_static_unquantized_types(operation):
        return False
    result_type = tensor_type(operation.result)
    shape, size = result_type.shape, result_type.size
    if not shape:
        return False
    has_one_shape = all(tensor_type(value).shape in (shape, ()) for value in operation.operands)
    is_worth = is_worth_compiling_alone(operation) or (size >= MIN_LARGE_SIZE and has_emitter(operation))
    return has_one_shape and is_worth


def block_of(view: Op) -> Block:
    """The body of a fusion; for another operation a block of that operation."""
    if isinstance(view, Fusion):
        return view.body.block
    operation = view.operation
    block = Block([operand.type for operand in operation.operands])
    builder = Builder(block)
    values: dict[Value, Value] = {}
    arguments = [
        values.setdefault(operand, argument)
        for operand, argument in zip(operation.operands, block.arguments, strict=True)
    ]
    created = builder.create(
        operation.name,
        arguments,
        [result.type for result in operation.results],
        operation.attributes,
        location=operation.location,
    )
    builder.region(created.results)
    return block
