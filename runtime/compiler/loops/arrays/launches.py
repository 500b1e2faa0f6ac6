"""Operations of native loops that are launched: the loop calls the operation's own code.

Inline code runs on one thread. An operation with so much work that threads could share it, or for which there
is no inline code, becomes the body of a `Launched` operation. The code of the loop calls it like a routine of
linear algebra (`library_calls`), with the addresses of its operands and results. A result of a loop nest may
overwrite an operand, others overlap nothing.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final

from llvmlite import ir

from ....kernels.launch.cache_files import digest
from ....kernels.named_tuples import NamedTuple
from ....program.ir import Block, Builder, IntegerAttribute, Operation, Value, captured_values, tensor_type
from ....program.ir.builder import CopyOperation, copy_region
from ....program.ops.custom_calls.user_functions import Registry
from ....program.ops.framework.declaration import Op, declaration_of
from ....program.ops.framework.traits import Memory, RegionRole
from ....program.ops.intermediate.fusion import LAUNCHED as LAUNCHED_NAME
from ....types import ELEMENT_TYPES, TensorType
from ...implementation import Implementation, NoCode
from ...specialize.framework.operation_classes import has_no_effect
from ...specialize.framework.rewriter import dimensions
from ..description import operations_description
from ..llvm.functions import outside_address
from ..llvm.values import I64, POINTER
from ..nests.nest_code import may_overwrite
from ..nests.nest_operations import block_of, runs_as_loop_nest
from ..scalars import Binding, Mode, Storage, is_plain
from ..scalars.elements import element_count, is_large
from ..scalars.emitter import EmitRule, check_nothing, check_operation, emit_rule_of
from ..scalars.in_place_updates import memory_of, role_of
from .control import updates_to_copy
from .emitter import ArrayEmitter
from .launched_convolutions import in_kernel_form
from .library_calls import pointer_array, solver_function

MAX_INLINE_MULTIPLICATIONS = 1 << 18
"""Maximum multiplications of an operation that is not launched: products of more are on threads."""
MAX_INLINE_BYTES = 1 << 16
"""Maximum bytes of what such an operation computes or reduces: launches of 128 KB have two tasks."""

_SOLVE_TYPE = ir.FunctionType(I64, [POINTER] * 3)
"""The type of `int64 solve(call, operands, results)`: 0, or 1 with an exception of Python's set."""

ImplementationOf = Callable[[Operation], Implementation]
"""The implementation that a loop calls for an operation."""

_calls: dict[str, Any] = {}
"""Maps symbols to prepared calls, which are never freed because loaded code has their addresses."""


def with_launches(
    loop: Operation, may_launch: Callable[[Operation], bool], threads: int | None
) -> Operation:
    """A copy of a `while` in which what its inline code should not compute is launched.

    Updates that cannot be in place follow a copy of their array.

    Args:
        may_launch: whether there is code that a loop can call.
        threads: maximum number of threads of a launch; None: all.
    """

    def copy(builder: Builder, operation: Operation, values: MutableMapping[Value, Value]) -> None:
        if role_of(operation) in (RegionRole.LOOP, RegionRole.BRANCHES):
            _copy_with_regions(builder, operation, values, copy)
        elif not _should_launch(operation) or not may_launch(operation):
            builder.copy(operation, values)
        elif len(operations := in_kernel_form(operation)) > 1:
            for one in operations:
                copy(builder, one, values)
            values[operation.result] = values[operations[-1].result]
        else:
            _launch(builder, operation, values, threads)

    copied = loop.clone(loop.operands, [copy_region(region, {}, copy) for region in loop.regions])
    _copy_updated_arrays(copied, threads)
    return copied


def _copy_with_regions(
    builder: Builder, operation: Operation, values: MutableMapping[Value, Value], copy: CopyOperation
) -> None:
    """Append the copy of an operation; a function copies the operations of its regions."""
    operands = tuple([values.get(operand, operand) for operand in operation.operands])
    copied = operation.clone(operands, [copy_region(region, values, copy) for region in operation.regions])
    builder.block.operations.append(copied)
    values.update(zip(operation.results, copied.results, strict=True))


def _copy_updated_arrays(loop: Operation, threads: int | None) -> None:
    """Copy arrays of a `while` before some updates, in place, so that its code can update all large arrays in
    place.
    """
    copying = updates_to_copy(loop)
    if not copying:
        return
    for block in [region.block for operation in loop.walk() for region in operation.regions]:
        operations: list[Operation] = []
        for operation in block.operations:
            if operation in copying:
                array = _copy_of(operation.operands[0], threads)
                operations.append(array)
                operation.operands = (array.result, *operation.operands[1:])
            operations.append(operation)
        block.operations = operations


def _copy_of(value: Value, threads: int | None) -> Operation:
    """An operation that copies an array, which threads share if it is large."""
    type = tensor_type(value)
    builder = Builder(Block([]))
    every = dimensions(broadcast_dimensions=range(type.rank))
    copied = builder.create("stablehlo.broadcast_in_dim", [value], [type], every)
    if is_large(type):
        _launch(builder, copied, {}, threads)
    return builder.block.operations[-1]


def _launch(
    builder: Builder, operation: Operation, values: MutableMapping[Value, Value], threads: int | None
) -> None:
    """Append a `Launched` operation that runs `operation`."""
    operands = list(dict.fromkeys(operation.operands))
    inner = Builder(Block([operand.type for operand in operands]))
    copied = inner.copy(operation, dict(zip(operands, inner.block.arguments, strict=True)))
    launched = builder.create(
        LAUNCHED_NAME,
        [values.get(operand, operand) for operand in operands],
        [result.type for result in operation.results],
        {
            "threads": IntegerAttribute(threads or 0, ELEMENT_TYPES["i64"]),
            "registrations": _registrations(operation),
        },
        [inner.region(copied.results)],
        operation.location,
    )
    values.update(zip(operation.results, launched.results, strict=True))


def _registrations(operation: Operation) -> IntegerAttribute:
    """How often users have registered functions, for an operation that calls one of these; 0 for others.

    Programs share prepared calls, but not those of two functions that were registered under one name.
    """
    changes = Registry.changes if declaration_of(operation).is_pure_by_call else 0
    return IntegerAttribute(changes, ELEMENT_TYPES["i64"])


def _should_launch(operation: Operation) -> bool:
    """Whether inline code cannot compute an operation, or threads could share its work."""
    declaration = declaration_of(operation)
    if declaration.is_terminator or memory_of(operation) is Memory.CREATES:
        return False
    tensors = [value.type for value in (*operation.operands, *operation.results)]
    if not all(is_plain(type) and element_count(type) for type in tensors):
        return False
    if role_of(operation) is RegionRole.PROCESSES or not (has_no_effect(operation) or is_call(operation)):
        return False
    if captured_values(operation.regions):
        return False
    if check_operation(operation, Mode.ARRAYS, updates_in_place=True) is not None:
        return True
    inner = list(_operations_on_tensors(operation))
    if any(memory_of(one) is Memory.UPDATES for one in inner):
        # Inline code updates an array in place, whatever its size.
        return False
    multiplications = sum(emit_rule_of(one).multiplications(one) for one in inner)
    return multiplications > MAX_INLINE_MULTIPLICATIONS or max(map(_bytes, inner)) > MAX_INLINE_BYTES


def is_call(operation: Operation) -> bool:
    """Whether an operation calls a function that users or JAX provide, which may have effects."""
    return not operation.regions and declaration_of(operation).is_pure_by_call


def has_calls_as_effects(operation: Operation) -> bool:
    """Whether an operation, with those in its regions, has no effects but those of functions that it calls.

    Native code calls these in the order of the program.
    """
    if not operation.regions:
        return has_no_effect(operation) or is_call(operation)
    inner = [each for region in operation.regions for each in region.block.operations]
    return declaration_of(operation).pure and all(map(has_calls_as_effects, inner))


def _operations_on_tensors(operation: Operation) -> Sequence[Operation]:
    """The operations of a fusion; another operation itself."""
    if role_of(operation).runs_once:
        return operation.regions[0].block.operations[:-1]
    return [operation]


def _bytes(operation: Operation) -> int:
    """The bytes of the largest array that an operation computes, or reduces."""
    if memory_of(operation).keeps_order or memory_of(operation) is Memory.CREATES:
        return 0
    values = operation.results if not declaration_of(operation).reduces else operation.operands
    types = [value.type for value in values if isinstance(value.type, TensorType)]
    return max([type.size * type.dtype.itemsize for type in types], default=0)


def launched_operations(operations: Sequence[Operation]) -> list[Operation]:
    """The `Launched` operations among operations and in their regions."""
    walked = [inner for operation in operations for inner in operation.walk()]
    return [operation for operation in walked if emit_rule_of(operation) is LAUNCHED]


def launched_work(operation: Operation) -> int:
    """The approximate work of the launches in the regions of an operation, in multiplications and bytes."""
    total = 0
    for launched in launched_operations([operation]):
        inner = launched.regions[0].block.operations[0]
        total += sum(emit_rule_of(one).multiplications(one) for one in _operations_on_tensors(inner))
        values = (*launched.operands, *launched.results)
        types = [value.type for value in values if isinstance(value.type, TensorType)]
        total += sum(type.size * type.dtype.itemsize for type in types)
    return total


class PreparedLaunch(NamedTuple):
    """What the code of a loop calls for an operation.

    Attributes:
        call: a `LoopCall`.
        symbols: maps the symbols that the code needs to addresses.
    """

    call: Any
    symbols: dict[str, int]


def prepared_launches(
    loop: Operation, implementation_of: ImplementationOf, quickly: bool = False
) -> dict[Operation, PreparedLaunch]:
    """The launches of a loop, by the `Launched` operations.

    Args:
        quickly: whether the code that it launches is not optimized at first, as in
            `machine.function_addresses`.

    Raises:
        NoCode: the code of an operation cannot be generated.
    """
    from ....kernels.launch.native import LoopCall

    launches: dict[Operation, PreparedLaunch] = {}
    for launched in launched_operations([loop]):
        symbol, solve = _symbols(launched)
        call = _calls.get(symbol)
        if call is None:
            operation = launched.regions[0].block.operations[0]
            if launched.attributes["registrations"] != _registrations(operation):
                raise NoCode("a function was registered after the program was compiled")
            implementation = implementation_of(operation)
            types = [_arrays(launched.operands), _arrays(launched.results)]
            positions = [launched.regions[0].block.arguments.index(value) for value in operation.operands]
            is_quick = quickly and implementation.has_quick_code
            function = implementation.prepare_soon() if is_quick else None
            function = function or implementation.prepare_for_loops() or implementation.function
            if not has_no_effect(operation):
                function = _called_with_copies(function)
            prepared = LoopCall(function, positions, *types)
            # Another thread may have prepared the same call meanwhile.
            call = _calls.setdefault(symbol, prepared)
        launches[launched] = PreparedLaunch(call, {symbol: id(call), solve: call.solver})
    return launches


def _called_with_copies(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of copies of its arguments, which it may keep: the loop writes to their memory again."""
    return lambda *arrays: function(*[array.copy() for array in arrays])


def _arrays(values: Sequence[Value]) -> list[tuple[tuple[int, ...], Any]]:
    """The shape and the element type of each value."""
    types = [value.type for value in values]
    return [(type.shape, type.dtype) for type in types if isinstance(type, TensorType)]


def _symbols(launched: Operation) -> tuple[str, str]:
    """The symbols of a call and of its solver, which equal operations share."""
    name = digest(operations_description([launched]).encode()).hex()[:32]
    return f"launched_{name}", f"launch_{name}"


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    builder = emitter.builder
    sources = [emitter.storage(operand).pointer for operand in operation.operands]
    targets = [emitter.allocate_result(result) for result in operation.results]
    symbol, solve_symbol = _symbols(operation)
    solve = solver_function(builder.module, _SOLVE_TYPE, solve_symbol)
    arguments = [pointer_array(builder, sources), pointer_array(builder, [one.pointer for one in targets])]
    outcome = builder.call(solve, [outside_address(builder, symbol), *arguments])
    assert emitter.interruption is not None
    emitter.interruption.emit_stop(builder.icmp_signed("!=", outcome, I64(0)))
    return [emitter.result(target) for target in targets]


def _alias(emitter: ArrayEmitter, launched: Operation) -> Storage | None:
    """The memory of a result that is a view of an operand, so that nothing is launched."""
    block = launched.regions[0].block
    operation = block.operations[0]
    for argument, operand in zip(block.arguments, launched.operands, strict=True):
        emitter.bindings[argument] = emitter.bindings[operand]
        if operand in emitter.read_only_values:
            emitter.read_only_values.add(argument)
    view: Storage | None = emit_rule_of(operation).alias(emitter, operation)
    if view is not None:
        emitter.read_only_values.add(launched.results[0])
    return view


def _overwritable(launched: Operation, number: int) -> Sequence[Value]:
    """The operands that a result may overwrite: a loop nest reads each element where it writes one."""
    block = launched.regions[0].block
    view = Op.of(block.operations[0])
    if not runs_as_loop_nest(view):
        return ()
    operands = list(view.operation.operands)
    read = [operands[operand] for operand, result in may_overwrite(block_of(view)) if result == number]
    # The loop may read elsewhere what is an operand twice.
    return [launched.operands[block.arguments.index(value)] for value in read if operands.count(value) == 1]


LAUNCHED: Final = EmitRule(
    check_nothing, _emit, is_outlined=False, takes_any_size=True, alias=_alias, overwritable=_overwritable
)
