"""Turns the ids of a process into arguments, so that all processes of a grid share one program."""

from __future__ import annotations

from ...program.ir import Block, BoolAttribute, Function, Operation, Region, Value
from ...program.ops.collectives.channels import PROCESS_ID
from ...program.ops.framework.op_registry import MANUAL_COMPUTATION, PROCESS_IDS, RUN_PARALLEL
from ...types import FunctionType


def bind_process_ids(function: Function) -> None:
    """Add two arguments, replica id and partition id, to a function that reads the ids of its process.

    Each region of `interpreter.run_parallel` and of an outermost `nimblehlo.manual_computation` is a separate
    program, which gets these two arguments, too.
    """
    assert function.body is not None
    if _bind(function.body) is not None:
        inputs = (*function.type.inputs, PROCESS_ID, PROCESS_ID)
        function.type = FunctionType(inputs, function.type.results)


def _bind(region: Region) -> tuple[Value, Value] | None:
    """The added arguments of a program; None if nothing reads the ids."""
    operations: list[Operation] = []
    programs: list[Region] = []
    _collect(region, operations, programs)
    for program in programs:
        if _bind(program) is None:
            _add_arguments(program.block)
    if not any(operation.name in PROCESS_IDS for operation in operations):
        return None
    ids = _add_arguments(region.block)
    values: dict[Value, Value] = {}
    for operation in operations:
        if operation.name in PROCESS_IDS:
            values[operation.result] = ids[PROCESS_IDS.index(operation.name)]
    for operation in operations:
        operation.replace_operands(values)
    _remove_ids(region)
    return ids


def _collect(region: Region, operations: list[Operation], programs: list[Region]) -> None:
    """The operations of a program in all of its regions, and the programs that it runs in parallel."""
    for operation in region.block.operations:
        operations.append(operation)
        for inner in operation.regions:
            if _has_programs(operation):
                programs.append(inner)
            else:
                _collect(inner, operations, programs)


def _add_arguments(block: Block) -> tuple[Value, Value]:
    first = len(block.arguments)
    replica, partition = (Value(PROCESS_ID, block, first + index) for index in range(2))
    block.arguments = (*block.arguments, replica, partition)
    return replica, partition


def _remove_ids(region: Region) -> None:
    block = region.block
    block.operations = [operation for operation in block.operations if operation.name not in PROCESS_IDS]
    for operation in block.operations:
        if not _has_programs(operation):
            for inner in operation.regions:
                _remove_ids(inner)


def _has_programs(operation: Operation) -> bool:
    """Whether the regions of an operation are programs of separate processes."""
    return operation.name == RUN_PARALLEL or (
        operation.name == MANUAL_COMPUTATION and operation.attributes["is_nested"] != BoolAttribute(True)
    )
