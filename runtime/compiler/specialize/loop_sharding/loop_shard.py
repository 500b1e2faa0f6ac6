"""Shards a `while` along a dimension whose indices do not depend on each other.

A recurrent network's loop over time is such a loop: each sequence of a batch depends on no other. A shard
runs all iterations for its rows, or those until its rows have ended (`ended_rows.py`). Shards never wait for
each other, and sharding changes no element's computation.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Final

from ....program.ir import Block, Builder, Operation, Region, Value, captured_values, tensor_type
from ....program.ir.builder import copy_region, used_values
from ....program.ir.record import Record
from ....program.ops.elementwise.conversion import converted
from ....program.ops.framework.declaration import Op
from ....types import ELEMENT_TYPES, ElementType, TensorType, Type, storage_range
from ..framework.operation_classes import has_no_effect
from ..framework.rewriter import dimensions
from .ended_rows import keeps_ended_rows, row_flags
from .operand_sharding import OperandSharding, operand_sharding

_INDEX: Final = TensorType((), ELEMENT_TYPES["i64"])


class CarriedSharding(enum.Enum):
    """The sharding of a carried value.

    Attributes:
        ROWS: only the shard's rows, which are contiguous.
        WINDOWS: the whole value; each iteration updates windows that no other shard touches, without reads.
        ALL: the whole value; each shard computes it.
    """

    ROWS, WINDOWS, ALL = range(3)


class LoopShard(Record):
    """One shard of a `while`.

    Attributes:
        operation: the `while` on the shard.
        carried: how the shard holds each carried value.
        first_row: the index of the shard's first row in its regions, a tensor<i64>.
        rows: rows of a shard.
        count: number of shards.
    """

    operation: Operation
    carried: tuple[CarriedSharding, ...]
    first_row: Value
    rows: int
    count: int


def loop_shard(operation: Operation, max_shards: int, max_ending_shards: int = 0) -> LoopShard | None:
    """Cut a `while` into the most shards of equal size; None if it cannot be cut.

    A shard has at least two rows, since a matrix-vector product sums in another order than a matrix product.

    Args:
        operation: the `while`.
        max_shards: maximum number of shards that all run the same iterations.
        max_ending_shards: maximum number of shards that each end with their own rows.
    """
    if not has_no_effect(operation):
        return None
    updates = _updates(operation)
    lengths = {k: _length(type) for k, type in _changed_arrays(operation, updates).items()}
    flags = row_flags(operation)
    choices = [(None, max_shards)] if flags is None else [(flags, max_ending_shards), (None, max_shards)]
    for length in dict.fromkeys(lengths.values()):
        numbers = [k for k in lengths if lengths[k] == length]
        for ending, most in choices:
            counts = range(min(most, length // 2), 1, -1)
            count = next((count for count in counts if length % count == 0), None)
            if count is not None:
                plan = _ShardingPlan(operation, updates, length, length // count, numbers, ending)
                shard = _emitted_shard(plan) if plan.solve() else None
                if shard is not None and (ending is None or keeps_ended_rows(shard.operation)):
                    return shard
    return None


def _changed_arrays(operation: Operation, updates: Mapping[int, Operation]) -> dict[int, TensorType]:
    """The types of the arrays that the body replaces, by their numbers, except for those of `updates`."""
    body = operation.regions[1].block
    pairs = enumerate(zip(body.arguments, body.terminator.operands, strict=True))
    changed = {k: tensor_type(old) for k, (old, new) in pairs if new is not old and k not in updates}
    return {k: type for k, type in changed.items() if type.size > 1}


def _updates(operation: Operation) -> dict[int, Operation]:
    """The window updates of carried arrays that an iteration does not use otherwise, by their numbers."""
    cond, body = (region.block for region in operation.regions)
    used = [value for region in operation.regions for inner in region.walk() for value in inner.operands]
    updates: dict[int, Operation] = {}
    for k, (argument, value) in enumerate(zip(body.arguments, body.terminator.operands, strict=True)):
        owner = value.owner
        if not isinstance(owner, Operation) or owner.name != "stablehlo.dynamic_update_slice":
            continue
        is_used_once = used.count(argument) == used.count(value) == 1 and cond.arguments[k] not in used
        if is_used_once and owner.operands[0] is argument:
            updates[k] = owner
    return updates


def _dimension(type: TensorType) -> int:
    """The outermost dimension of a size above 1: shards along it are contiguous."""
    return next(d for d, size in enumerate(type.shape) if size > 1)


def _length(type: TensorType) -> int:
    return type.shape[_dimension(type)]


class _ShardingPlan:
    """The values that a shard of a `while` needs, some carried arrays being sharded.

    Args:
        updates: the result of `_updates`.
        rows, size: rows of the whole, and of a shard.
        numbers: the numbers of the carried arrays that are sharded.
        flags: the flags of the rows, the only use of rows in `cond`; None: it uses none.

    Attributes:
        dims: the dimension along which each sharded array is cut.
        demands: for each value the dimensions along which shards of it are needed; None for the whole value.
        needs: operand shardings of the operations that are computed on shards, by operation and dimension.
    """

    def __init__(
        self,
        operation: Operation,
        updates: Mapping[int, Operation],
        rows: int,
        size: int,
        numbers: Sequence[int],
        flags: Value | None,
    ) -> None:
        self.operation, self.updates, self.rows, self.size = operation, updates, rows, size
        self.flags = flags
        self.cond, self.body = (region.block for region in operation.regions)
        self.dims = {k: _dimension(tensor_type(self.body.arguments[k])) for k in numbers}
        self.demands: dict[Value, dict[int | None, None]] = {}
        self.needs: dict[tuple[Operation, int], OperandSharding] = {}

    def type(self, type: TensorType, dim: int | None) -> TensorType:
        sizes = [self.size if d == dim else size for d, size in enumerate(type.shape)]
        return type.with_shape(sizes)

    def solve(self) -> bool:
        """Find what each shard needs; False if a shard needs the results of another."""
        for k, value in enumerate(self.body.terminator.operands):
            if k not in self.updates:
                self.demand(value, self.dims.get(k))
        for operation in reversed(self.body.operations[:-1]):
            if operation not in self.updates.values():
                self.demand_operands(operation)
            elif not self.demand_update(operation):
                return False
        self.demand_condition()
        return all(
            {dim}.issuperset(self.demands.get(block.arguments[k], ()))
            for block in (self.cond, self.body)
            for k, dim in self.dims.items()
        )

    def demand_condition(self) -> None:
        """Record what a shard's `cond` needs, of the rows only their flags."""
        if self.flags is None:
            self.demand(self.cond.terminator.operands[0], None)
        else:
            self.demand(self.flags, self.flags_dimension)
            for initial in self.flags_reduction.operands[1:]:
                self.demand(initial, None)
        for operation in reversed(self.cond.operations[:-1]):
            self.demand_operands(operation)

    @property
    def flags_dimension(self) -> int | None:
        """The dimension of the flags along which they are sharded; None for those of other rows."""
        shape = tensor_type(self.flags).shape if self.flags is not None else ()
        return shape.index(self.rows) if self.rows in shape else None

    @property
    def flags_reduction(self) -> Operation:
        """The operation of `cond` that returns the disjunction of the flags."""
        reduction = self.cond.terminator.operands[0].owner
        assert isinstance(reduction, Operation)
        return reduction

    def demand(self, value: Value, dim: int | None) -> None:
        self.demands.setdefault(value, {})[dim] = None

    def demand_update(self, operation: Operation) -> bool:
        """Record the needs of a window update; False unless it updates all rows along some dimension."""
        dim = self.update_dimension(operation)
        if dim is not None:
            self.demand(operation.operands[1], dim)
            for start in operation.operands[2:]:
                self.demand(start, None)
        return dim is not None

    def update_dimension(self, operation: Operation) -> int | None:
        """The dimension along which a window update is sharded."""
        shape, window = (tensor_type(operand).shape for operand in operation.operands[:2])
        dims = [d for d, size in enumerate(shape) if size == window[d] == self.rows]
        return dims[0] if dims and self.are_numbered(operation.operands[2]) else None

    def are_numbered(self, index: Value) -> bool:
        """Whether the type of an index can hold all row numbers."""
        element_type = tensor_type(index).element_type
        return isinstance(element_type, ElementType) and self.rows <= storage_range(element_type)[1]

    def demand_operands(self, operation: Operation) -> None:
        """Record the needs of the operands that follow from those of the results."""
        needs_full_value = False
        for dim in self.demanded(operation):
            sharding = None if dim is None else self.rule(operation, dim)
            if dim is None or sharding is None:
                needs_full_value = True
                continue
            self.needs[operation, dim] = sharding
            for operand, along in zip(operation.operands, sharding.dims, strict=True):
                self.demand(operand, along)
        if needs_full_value:
            for value in (*operation.results, *used_values(operation)):
                self.demand(value, None)

    def demanded(self, operation: Operation) -> list[int | None]:
        """The dimensions along which shards of the results are needed; None for the whole results."""
        return list({dim: None for result in operation.results for dim in self.demands.get(result, ())})

    def rule(self, operation: Operation, dim: int) -> OperandSharding | None:
        """The operand sharding for a shard of the results; None if it is sliced from the whole result."""
        shape, *others = {tensor_type(result).shape for result in operation.results}
        if others or shape[dim] != self.rows or captured_values(operation.regions):
            return None
        sharding = operand_sharding(Op.of(operation), dim, self.size)
        if sharding is None or operation.name != "stablehlo.dynamic_slice":
            return sharding
        # A window of the whole array is more often contiguous than a window of a shard.
        is_cut = operation.operands[0] in {self.body.arguments[k] for k in self.dims}
        if is_cut or not self.are_numbered(operation.operands[1]):
            return sharding
        return OperandSharding((None,) * len(sharding.dims), sharding.attributes)


def _emitted_shard(plan: _ShardingPlan) -> LoopShard:
    """The shard of a loop for which there is a plan."""
    operation = plan.operation
    types = [
        plan.type(tensor_type(operand), plan.dims.get(k)) for k, operand in enumerate(operation.operands)
    ]
    # The arguments of a block around the loop: its initial carried values and the index of the first row.
    *operands, first_row = Block([*types, _INDEX]).arguments
    regions = [_Emission(plan, block, types, first_row).region() for block in (plan.cond, plan.body)]
    attributes, location = operation.attributes, operation.location
    loop = Operation(operation.name, operands, types, attributes, regions, location)
    carried = tuple([_carried_sharding(plan, k) for k in range(len(operands))])
    return LoopShard(loop, carried, first_row, plan.size, plan.rows // plan.size)


def _carried_sharding(plan: _ShardingPlan, number: int) -> CarriedSharding:
    if number in plan.dims:
        return CarriedSharding.ROWS
    return CarriedSharding.WINDOWS if number in plan.updates else CarriedSharding.ALL


class _Emission:
    """Emits a region of the loop of a shard.

    Args:
        plan: what the shard needs.
        block: that of the region in the whole loop.
        types: of the carried values of the shard.
        first_row: the index of the shard's first row.

    Attributes:
        emitted: the shard along a dimension, or None for the whole, of each value.
    """

    def __init__(self, plan: _ShardingPlan, block: Block, types: Sequence[Type], first_row: Value) -> None:
        self.plan, self.block, self.first_row = plan, block, first_row
        self.builder = Builder(Block(types))
        self.emitted: dict[tuple[Value, int | None], Value] = {
            (old, plan.dims.get(k)): new
            for k, (old, new) in enumerate(zip(block.arguments, self.builder.block.arguments, strict=True))
        }

    def region(self) -> Region:
        plan, terminator = self.plan, self.block.terminator
        for operation in self.block.operations[:-1]:
            if operation in plan.updates.values():
                self.emit_update(operation)
            elif plan.flags is not None and operation is plan.flags_reduction:
                self.emit_disjunction(operation)
            else:
                self.emit_demanded(operation)
        is_cond = self.block is plan.cond
        dims = [None if is_cond else plan.dims.get(k) for k in range(len(terminator.operands))]
        returned = [self.get(value, dim) for value, dim in zip(terminator.operands, dims, strict=True)]
        self.builder.create(terminator.name, returned)
        return Region([self.builder.block])

    def emit_demanded(self, operation: Operation) -> None:
        for dim in self.plan.demanded(operation):
            if dim is None:
                self.emit_full(operation)
            elif (operation, dim) in self.plan.needs:
                self.emit_shard(operation, dim)

    def emit_disjunction(self, operation: Operation) -> None:
        """Emit the disjunction of the flags of the shard's rows."""
        flags, initial = operation.operands
        values = {flags: self.get(flags, self.plan.flags_dimension), initial: self.get(initial, None)}
        self.record(operation, self.builder.copy(operation, values), None)

    def get(self, value: Value, dim: int | None) -> Value:
        """The shard of a value along a dimension, or the whole value for None."""
        value_and_dim = value, dim
        if value_and_dim not in self.emitted:
            self.emitted[value_and_dim] = value if dim is None else self.window(self.get(value, None), dim)
        return self.emitted[value_and_dim]

    def window(self, full: Value, dim: int) -> Value:
        """The shard's window of a whole value."""
        type = tensor_type(full)
        emitted = self.plan.type(type, dim)
        # Along the other dimensions the start is clamped to 0, since the window has the size of the array.
        starts = [self.first_row] * type.rank
        sizes = dimensions(slice_sizes=emitted.shape)
        return self.builder.create("stablehlo.dynamic_slice", [full, *starts], [emitted], sizes).result

    def emit_full(self, operation: Operation) -> None:
        values = {value: self.get(value, None) for value in used_values(operation)}
        emitted = self.builder.copy(operation, values)
        self.record(operation, emitted, None)

    def emit_shard(self, operation: Operation, dim: int) -> None:
        sharding = self.plan.needs[operation, dim]
        pairs = zip(operation.operands, sharding.dims, strict=True)
        operands = [self.get(value, along) for value, along in pairs]
        if operation.name == "stablehlo.dynamic_slice" and sharding.dims[0] is None:
            operands[1 + dim] = self.first_as(operands[1 + dim])
        emitted = self.builder.create(
            operation.name,
            operands,
            [self.plan.type(tensor_type(result), dim) for result in operation.results],
            {**operation.attributes, **sharding.attributes},
            [copy_region(region, {}) for region in operation.regions],
            operation.location,
        )
        self.record(operation, emitted, dim)

    def emit_update(self, operation: Operation) -> None:
        """Emit the update of the shard's window."""
        dim = self.plan.update_dimension(operation)
        assert dim is not None
        operand, update, *starts = operation.operands
        indices = [self.get(start, None) for start in starts]
        indices[dim] = self.first_as(indices[dim])
        operands = [self.get(operand, None), self.get(update, dim), *indices]
        emitted = operation.clone(tuple(operands))
        self.builder.block.operations.append(emitted)
        self.record(operation, emitted, None)

    def first_as(self, index: Value) -> Value:
        """The index of the shard's first row, in the type of another index."""
        return converted(self.builder, self.first_row, index.type)

    def record(self, operation: Operation, emitted: Operation, dim: int | None) -> None:
        for old, new in zip(operation.results, emitted.results, strict=True):
            self.emitted[old, dim] = new
