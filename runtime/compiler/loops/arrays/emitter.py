"""Generates blocks of operations on small arrays, by the rules of `loops.scalars` and of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from llvmlite import ir

from ....program.ir import Block, Operation, captured_values, tensor_type
from ....program.ir import Value as IrValue
from ....program.ops.framework.costs import FUNCTION_COST
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.traits import Memory, RegionRole
from ....program.ops.intermediate.fusion import Launched
from ....program.ops.shape.movement import MovementOp
from ....types import TensorType, Type
from .. import scalars
from ..description import operations_description
from ..llvm.functions import aligned_scratch, begin_function, opaque
from ..llvm.loops import Loop
from ..llvm.values import I64, POINTER, Value, stored_type
from ..llvm.vector_loops import add_vectors
from ..scalars import Binding, Emitter, Mode, Storage, check_interruption, is_plain
from ..scalars.boxes import copy_all
from ..scalars.elements import MAX_ALLOCATED_ELEMENTS, element_count, flat, is_large
from ..scalars.elementwise import ELEMENTWISE, is_view
from ..scalars.emitter import (
    Target,
    check_operation,
    emit_rule_of,
)
from ..scalars.in_place_updates import memory_of, role_of
from ..scalars.movement import is_splat
from .chains import chain, fused_into_users
from .liveness import Liveness
from .memory_schedule import order_by_memory
from .row_totals import row_totals
from .statements import Phase, Statements
from .workspace import Workspace, scratch_bytes

MAX_COPIED_ELEMENTS = 1 << 12
"""Maximum elements of arrays that may be copied; larger ones must be updated in place."""
MAX_BLOCK_STACK_BYTES = 1 << 17
"""Maximum bytes on the stack for the arrays of a block."""
MAX_BLOCK_MULTIPLICATIONS = 1 << 15
"""Maximum multiplications of a block; more are better shared among threads."""
MAX_STEP_MULTIPLICATIONS = 1 << 17
"""Maximum multiplications of an operation in a fusion of small steps: one thread takes some 3 us."""
MAX_STEP_ELEMENTS = 1 << 14
"""Elements of an array from which on it counts as large in a loop: threads could share the work on it."""
MAX_BLOCK_OPS = 4000
"""Maximum operations of a block and its regions, which LLVM compiles in about 3 s."""


def _is_array_elementwise(operation: Operation) -> bool:
    """Whether an operation computes an array element by element."""
    is_one = emit_rule_of(operation) is ELEMENTWISE and len(operation.results) == 1
    return is_one and is_in_memory(operation.result.type)


def _has_layout(type: Type, other: Type) -> bool:
    """Whether tensors of two types have elements of the same size at the same addresses."""
    if not is_plain(type) or not is_plain(other):
        return False
    return type.shape == other.shape and type.dtype.itemsize == other.dtype.itemsize


def must_update_in_place(type: Type) -> bool:
    """Whether tensors of a type are too large to be copied, and must be updated in place."""
    return is_plain(type) and element_count(type) > MAX_COPIED_ELEMENTS


def is_in_memory(type: Type) -> bool:
    """Whether tensors of a type have several elements, and are therefore in memory."""
    return is_plain(type) and element_count(type) > 1


def check_block(
    block: Block,
    updates_in_place: bool = False,
    max_bytes: int | None = MAX_BLOCK_STACK_BYTES,
    max_multiplications: int = MAX_BLOCK_MULTIPLICATIONS,
) -> str | None:
    """Why a block of operations cannot be generated, or None if it can.

    Args:
        updates_in_place: whether operations may update large operands and return them.
        max_bytes: maximum bytes of the block's arrays; None: any.
        max_multiplications: maximum number of multiplications of the block.
    """
    if operation_count(block) > MAX_BLOCK_OPS:
        return f"has more than {MAX_BLOCK_OPS} operations"
    if max_bytes is not None and array_bytes(block) > max_bytes:
        return f"computes arrays of more than {max_bytes} bytes"
    reason = scalars.check_block(block, Mode.ARRAYS, updates_in_place)
    if reason is None and multiplication_count(block) > max_multiplications:
        return f"has more than {max_multiplications} multiplications"
    return reason


def operation_count(block: Block) -> int:
    """The number of operations of a block and of its regions."""
    return sum(1 for _ in _walk(block))


def multiplication_count(block: Block) -> int:
    """The approximate number of multiplications of a block that `check_block` accepts."""
    return sum(emit_rule_of(operation).multiplications(operation) for operation in _walk(block))


def large_array_work(block: Block) -> int:
    """The approximate number of elements of a block's large arrays, which threads could share.

    An element of a mathematical function counts as many times as it takes instructions.
    """
    return sum(
        element_count(result.type) * (FUNCTION_COST if declaration_of(operation).emit.function else 1)
        for operation in _walk(block)
        if memory_of(operation) is not Memory.UPDATES
        for result in operation.results
        if is_plain(result.type)
        and not is_large(result.type)
        and element_count(result.type) > MAX_STEP_ELEMENTS
    )


def check_step(operation: Operation) -> str | None:
    """Why an operation cannot be generated in a block of several steps; None if it can."""
    reason = check_interruption([operation]) or check_operation(operation, Mode.ARRAYS)
    if reason is not None:
        return reason
    multiplications = sum(emit_rule_of(inner).multiplications(inner) for inner in operation.walk())
    if multiplications > MAX_STEP_MULTIPLICATIONS:
        return f"has more than {MAX_STEP_MULTIPLICATIONS} multiplications"
    return None


def _walk(block: Block) -> Iterator[Operation]:
    """The operations of a block and of its regions, without those that are launched."""
    for operation in block.operations:
        if declaration_of(operation) is not Launched:
            yield operation
            for region in operation.regions:
                yield from _walk(region.block)


def array_bytes(
    block: Block, is_in_place: Callable[[Type], bool] = is_large, includes_large: bool = False
) -> int:
    """Bytes of the arrays that a block and its regions write.

    Constants are part of the code, and of arrays that are updated in place a part is written.

    Args:
        is_in_place: whether tensors of a type are updated in place.
        includes_large: whether large arrays count, which the code of a block does not write otherwise.
    """
    writing = [
        operation
        for operation in _walk(block)
        if (memory := memory_of(operation)) is not Memory.CREATES
        and not memory.keeps_order
        and not (memory is Memory.UPDATES and is_in_place(operation.operands[0].type))
    ]
    computed = [value.type for operation in writing for value in operation.results]
    tensors = [type for type in computed if isinstance(type, TensorType)]
    return sum(scratch_bytes(type) for type in tensors if includes_large or not is_large(type))


class ArrayEmitter(Emitter):
    """Generates blocks of work on small arrays, in a function whose entry block ends in a branch.

    Args:
        workspace: the memory of computed arrays; None: each is on the stack by itself.
        is_in_place: whether a tensor is updated in place.
        max_allocated: maximum elements of an array that operations allocate.

    Attributes:
        read_only_values: values in memory that the function never writes.
        fused_operations: operations that the loops of their users compute.
        liveness: that of the block being generated; None if arrays do not share a workspace.
        written: the requested result memory that has been written.
    """

    mode = Mode.ARRAYS

    def __init__(
        self,
        builder: ir.IRBuilder,
        workspace: Workspace | None = None,
        is_in_place: Callable[[Type], bool] = is_large,
        max_allocated: int = MAX_ALLOCATED_ELEMENTS,
    ) -> None:
        super().__init__(builder)
        self.workspace = workspace
        self.is_in_place = is_in_place
        self.max_allocated = max_allocated
        self.functions: dict[str, ir.Function] = {}
        self.read_only_values: set[IrValue] = set()
        self.fused_operations: set[Operation] = set()
        self.liveness: Liveness | None = None
        self._emitted: dict[Block, list[Operation]] = {}
        self._liveness: dict[Block, Liveness] = {}
        self.phases: dict[Block, list[Phase]] = {}
        self.written: set[ir.Value] = set()

    def emitted(self, block: Block) -> Sequence[Operation]:
        operations = self._emitted.get(block)
        if operations is None:
            later = fused_into_users(block, _is_array_elementwise, self._has_elements, self._is_view)
            self.fused_operations |= later
            operations = [operation for operation in block.operations[:-1] if operation not in later]
            if self.workspace is not None and self.workspace.is_argument:
                operations = self._ordered(block, operations)
            self._emitted[block] = operations
        return operations

    def _ordered(self, block: Block, operations: list[Operation]) -> list[Operation]:
        """The operations of a block in an order with few live bytes."""
        statements = Statements(self, block, operations)
        order, live_bytes = order_by_memory(statements.statements, statements.sizes, statements.returned)
        self.phases[block] = statements.phases(order, live_bytes)
        return [operations[number] for number in order]

    def _is_view(self, operation: Operation) -> bool:
        """Whether loops can read an operation's result from the memory of its operand.

        A reshape shares its operand's memory anyway, so it counts as a view only if its operand is one. A
        view of a carried array is materialized, because it would keep the next array from overwriting the
        previous.
        """
        if not is_view(operation) or not is_in_memory(operation.result.type):
            return False
        owner = operation.operands[0].owner
        if element_count(operation.operands[0].type) < element_count(operation.result.type):
            return True
        if not isinstance(owner, Operation):
            return False
        if memory_of(operation) is Memory.FLAT_VIEW:
            return self._is_view(owner) and MovementOp.of(operation).movement_maps() is not None
        return True

    def _has_elements(self, operation: Operation) -> bool:
        """Whether the loop of another operation can compute the elements of an operation's result."""
        if len(operation.results) != 1 or not is_in_memory(operation.result.type):
            return False
        return emit_rule_of(operation).element(operation) is not None

    def liveness_of(self, block: Block) -> Liveness | None:
        """The last uses of a block's values; None if arrays do not share a workspace."""
        if self.workspace is None:
            return None
        liveness = self._liveness.get(block)
        if liveness is None:
            operations = self.emitted(block)
            liveness = Liveness(block, operations, self.values_read, self.updates_in_place)
            self._liveness[block] = liveness
        return liveness

    def updates_in_place(self, operation: Operation) -> bool:
        return memory_of(operation) is Memory.UPDATES and self.is_in_place(operation.operands[0].type)

    def emit_block(self, block: Block, arguments: Sequence[Binding]) -> list[Binding]:
        outer, self.liveness = self.liveness, self.liveness_of(block)
        results = super().emit_block(block, arguments)
        self.begin_statement(results)
        self.liveness = outer
        return results

    def emit_operation(self, operation: Operation) -> Sequence[Binding]:
        self.begin_statement(self.bindings.get(value) for value in self.values_read(operation))
        results = self._emit(operation)
        self._use(results)
        return results

    def begin_statement(self, bindings: Iterable[Binding | Target | None]) -> None:
        if self.workspace is not None:
            self.workspace.statement += 1
            self._use(bindings)

    def _use(self, bindings: Iterable[Binding | Target | None]) -> None:
        if self.workspace is not None:
            self.workspace.use(binding.pointer for binding in bindings if isinstance(binding, Storage))

    def enter_loop(self) -> int:
        return 0 if self.workspace is None else self.workspace.statement

    def leave_loop(self, first: int, carried: Sequence[Storage]) -> None:
        if self.workspace is not None:
            self.workspace.end_loop(first)
            self._use(carried)

    def may_replace(self, body: Block, argument: IrValue, value: IrValue) -> bool:
        liveness, operation = self.liveness_of(body), value.owner
        if liveness is None or not isinstance(operation, Operation):
            return False
        if operation not in liveness.positions or not liveness.is_last(operation, argument):
            return False
        read = {other for other in liveness.read(operation) if liveness.root(other) is argument}
        if not read:
            return True
        if role_of(operation) is RegionRole.BRANCHES:
            return self._branches_return_only_at(operation, argument, operation.results.index(value))
        if role_of(operation) is RegionRole.LOOP:
            captured = captured_values(operation.regions)
            is_captured = any(liveness.root(other) is argument for other in captured)
            initial = operation.operands[operation.results.index(value)]
            return liveness.root(initial) is argument and not is_captured
        number = operation.results.index(value)
        return read <= {
            *self.overwritable(operation, liveness),
            *emit_rule_of(operation).overwritable(operation, number),
        }

    def _branches_return_only_at(self, operation: Operation, value: IrValue, number: int) -> bool:
        """Whether no branch returns the memory of a value at another position than `number`.

        The branches' results are copied in sequence where each branch ends.
        """
        for region in operation.regions:
            liveness = self.liveness_of(region.block)
            assert liveness is not None
            for position, returned in enumerate(region.block.terminator.operands):
                if position != number and liveness.root(returned) is value:
                    return False
        return True

    def _emit(self, operation: Operation) -> Sequence[Binding]:
        rule = emit_rule_of(operation)
        if memory_of(operation) is Memory.CREATES:
            self.read_only_values.add(operation.result)
        alias = rule.alias(self, operation)
        if alias is not None:
            return [alias]
        allocates = any(self.allocates(result.type) for result in operation.results)
        if rule.is_outlined and allocates and not self.updates_in_place(operation):
            return self.emit_outlined(operation)
        return rule.emit(self, operation)

    def chain(self, operation: Operation) -> list[Operation]:
        takes_splats = emit_rule_of(operation) is ELEMENTWISE
        return chain(
            operation, lambda owner: owner in self.fused_operations or (takes_splats and is_splat(owner))
        )

    def emit_outlined(self, operation: Operation) -> list[Binding]:
        """Generate an operation and its chain as a call of an outlined function.

        Returns:
            The bindings of its results.
        """
        operations = self.chain(operation)
        # A region may use constants, which become part of its function.
        owners = [value.owner for value in captured_values(operation.regions)]
        constants = [owner for owner in owners if isinstance(owner, Operation)]
        computed = {fused.result for fused in operations[:-1]}
        used = [operand for fused in operations for operand in fused.operands if operand not in computed]
        operands = list(dict.fromkeys(used))
        self._reuse_operand(operation)
        result_storages = [self.allocate_result(result) for result in operation.results]
        components = [component for value in operands for component in flat(self.bindings[value])]
        components += [storage.pointer for storage in result_storages]
        arguments = list(dict.fromkeys(components))
        positions = [arguments.index(component) for component in components]
        key = f"{positions}\n{operations_description([*constants, *operations])}"
        function = self.functions.get(key)
        if function is None:
            function = self.functions[key] = self.outlined_function(operation, operands, arguments, positions)
        self.builder.call(function, arguments)
        return [self.result(storage) for storage in result_storages]

    def _reuse_operand(self, operation: Operation) -> None:
        """Store an operation's result in the memory of a dead operand, if there is one."""
        liveness, workspace = self.liveness, self.workspace
        if liveness is None or workspace is None or operation.results[0] in self.result_storage:
            return
        for value in self.overwritable(operation, liveness):
            binding = self.bindings[value]
            if not isinstance(binding, Storage) or binding.pointer not in workspace.buffers:
                continue
            if liveness.is_own(value) and liveness.is_last(operation, value):
                self.result_storage[operation.result] = Storage(
                    tensor_type(operation.result), binding.pointer
                )
                return

    def overwritable(self, operation: Operation, liveness: Liveness) -> Sequence[IrValue]:
        """The operands that a result may overwrite: each element is read before it is written."""
        if memory_of(operation) is Memory.UPDATES:
            operand, *others = operation.operands
            root = liveness.root(operand)
            return [] if any(liveness.root(other) is root for other in others) else [operand]
        if not _is_array_elementwise(operation):
            return []
        type = operation.result.type
        strided = {
            liveness.root(value)
            for fused in self.chain(operation)
            if is_view(fused) or not _is_array_elementwise(fused)
            for value in fused.operands
        }
        return [
            value
            for value in self.values_read(operation)
            if _has_layout(value.type, type) and liveness.root(value) not in strided
        ]

    def outlined_function(
        self,
        operation: Operation,
        operands: Sequence[IrValue],
        arguments: Sequence[ir.Value],
        positions: Sequence[int],
    ) -> ir.Function:
        """The function that computes an operation from its operands' components into its results' memory.

        Args:
            arguments: the distinct components and result addresses.
            positions: the index in `arguments` of each component, then of each result address.
        """
        module = self.builder.module
        types = [
            POINTER if isinstance(argument.type, ir.PointerType) else argument.type for argument in arguments
        ]
        type = ir.FunctionType(ir.VoidType(), types)
        function = ir.Function(module, type, module.get_unique_name("step"))
        function.linkage = "internal"
        function.attributes.add("noinline")
        builder = begin_function(function)
        function_args = [function.args[position] for position in positions]
        emitter = ArrayEmitter(builder)
        emitter.fused_operations = self.fused_operations
        for value in operands:
            emitter.bindings[value] = self.mode.bind(tensor_type(value), function_args)
        for result, pointer in zip(operation.results, function_args, strict=True):
            # Results do not overlap operands or each other.
            pointer.add_attribute("noalias")
            emitter.result_storage[result] = Storage(tensor_type(result), pointer)
        emit_rule_of(operation).emit(emitter, operation)
        builder.ret_void()
        return function

    def updated(self, operation: Operation) -> Storage:
        operand = operation.operands[0]
        binding = self.bindings[operand]
        if self.is_in_place(operand.type):
            assert isinstance(binding, Storage)
            return binding
        target = self.allocate_result(operation.result)
        copy_all(self, target, binding)
        return target

    def allocate_scratch(self, type: TensorType) -> Storage:
        if self.workspace is not None:
            return Storage(type, self.workspace.allocate(self.builder, type))
        stored = stored_type(type.plain_element_type)
        with self.builder.goto_entry_block():
            pointer = opaque(aligned_scratch(self.builder, stored, max(element_count(type), 1)))
        return Storage(type, pointer)

    def release_unwritten(self, storage: Storage, alias: Storage) -> None:
        if self.workspace is not None and alias.pointer not in self.written:
            self.workspace.release(storage.pointer)

    def allocate_result(self, value: IrValue) -> Storage:
        result_storage = self.result_storage.get(value)
        if result_storage is None:
            return self.allocate_scratch(tensor_type(value))
        self.written.add(result_storage.pointer)
        return result_storage

    def allocates(self, type: Type) -> bool:
        return is_in_memory(type) and not is_large(type, self.max_allocated)

    def allocates_result(self, value: IrValue) -> bool:
        owner = value.owner
        if not isinstance(owner, Operation) or not is_in_memory(value.type):
            return False
        return self.allocates(value.type) or declaration_of(owner) is Launched

    def row_totals(self, reduction: Operation, values: Storage, rows: int, length: int) -> Target | None:
        return row_totals(self, reduction, values, rows, length)

    def apply_scalar_body(self, block: Block, items: Sequence[Value]) -> list[Value]:
        return Emitter(self.builder).apply_scalar_body(block, items)

    def loop(self, count: int) -> Iterator[ir.Value]:
        """A loop over the nonempty range [0, count); its body is generated once."""
        with Loop(self.builder, I64(0), I64(count)) as index:
            yield index

    def independent_loop(self, count: int) -> Iterator[ir.Value]:
        loop = Loop(self.builder, I64(0), I64(count))
        with loop as index:
            yield index
            is_one_block = self.builder.block is loop.body
        if is_one_block:
            add_vectors(loop, count)
