"""Computes cheap values again in the fusion that uses them, where keeping them would set a block's peak.

A training step keeps values of its forward pass for the backward pass. Where such values follow by a few
cheap operations from fewer values, or from values that are alive anyway, the fusion of the backward pass
computes them again instead of reading them (Chen et al., Training Deep Nets with Sublinear Memory Cost,
2016). The operations are the same, so the bits are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...program.ir import Block, Builder, Operation, Region, Value, tensor_type, used_values
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.memory_limit import bytes_of
from ...program.ops.intermediate.fusion import FUSION
from ...types import TensorType
from ..specialize.framework.operation_classes import (
    is_broadcast,
    is_control_flow,
    is_fusion,
    is_reduction,
    is_reshape,
)
from .elementwise import MAX_ARRAYS, MIN_LARGE_SIZE
from .grouping import MAX_MEMBERS, TilingPredicate
from .groups import OperationPredicate, fusion_operation, is_rematerializable

MAX_OPERATIONS_PER_VALUE: Final = 4
"""Elementwise operations that take less time than to write a large array and to read it again."""
MAX_GROWTH: Final = 17 / 16
"""Bytes of the values that are kept instead of a recomputed one, relative to it: row means are small."""
MAX_ROUNDS: Final = 4
"""Maximum rounds that lower the peak of a block: each round may have the peak at another operation."""


def rematerialize(
    region: Region,
    has_emitter: OperationPredicate,
    has_tiling: Mapping[str, TilingPredicate],
    stays_unfused: OperationPredicate = lambda _: False,
) -> None:
    """Shorten the lifetimes of large values that fusions of a region can compute again, in place.

    Args:
        has_emitter: whether native code can be generated for an elementwise operation.
        has_tiling: by the name of a fusion, whether code can be generated for a body. Fusions of other
            names are loop nests, whose results have one shape.
        stays_unfused: tells which control flow keeps its regions as they are.
    """
    for operation in region.block.operations:
        if is_control_flow(operation) and not stays_unfused(operation):
            for inner in operation.regions:
                rematerialize(inner, has_emitter, has_tiling, stays_unfused)
    if any(
        is_fusion(operation) and any(map(_is_large, operation.results))
        for operation in region.block.operations
    ):
        rewriter = _Rewriter(has_emitter, has_tiling)
        for _ in range(MAX_ROUNDS):
            if not rewriter.lower_peak(region.block):
                break


def _is_large(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static and value.type.size >= MIN_LARGE_SIZE


class _Lifetimes:
    """The live range of each value of a block.

    Attributes:
        position: of each operation.
        users: the operations that use a value, themselves or in their regions.
        last_use: position of the last operation that uses a value or a reshaped value of its elements.
    """

    def __init__(self, block: Block) -> None:
        self.operations = block.operations
        self.position = {operation: index for index, operation in enumerate(block.operations)}
        self.users: dict[Value, set[Operation]] = {}
        self.last_use: dict[Value, int] = {}
        self.reshaped: dict[Value, Value] = {}
        for index, operation in enumerate(block.operations):
            for value in used_values(operation):
                self.use(value, operation, index)
            if is_reshape(operation):
                source = operation.operands[0]
                self.reshaped[operation.result] = self.reshaped.get(source, source)

    def use(self, value: Value, operation: Operation, index: int) -> None:
        self.users.setdefault(value, set()).add(operation)
        source = self.reshaped.get(value, value)
        self.last_use[source] = max(self.last_use.get(source, 0), index)

    def bytes_to_keep(self, value: Value, position: int) -> int:
        """Bytes by which memory grows where a value has to be alive up to a position."""
        source = self.reshaped.get(value, value)
        producer = source.owner
        if not isinstance(producer, Operation) or producer not in self.position:
            return 0
        if producer.is_constant:
            return 0
        return 0 if self.last_use.get(source, -1) >= position else bytes_of(value.type)

    def peak(self) -> int:
        """The position of the operation at which most bytes are alive."""
        changes = [0] * (len(self.operations) + 1)
        for index, operation in enumerate(self.operations):
            for value in operation.results:
                if value not in self.reshaped and not operation.is_constant:
                    size = bytes_of(value.type)
                    changes[index] += size
                    changes[max(index, self.last_use.get(value, index)) + 1] -= size
        live_bytes = peak_bytes = peak = 0
        for index, change in enumerate(changes):
            live_bytes += change
            if live_bytes > peak_bytes:
                peak_bytes, peak = live_bytes, index
        return peak

    def pairs_around(self, position: int) -> Iterator[tuple[Operation, Operation]]:
        """The pairs of a fusion before a position and one that uses a large result of it, there or later."""
        for consumer in self.operations[position:]:
            if is_fusion(consumer):
                producers = dict.fromkeys(value.owner for value in consumer.operands if _is_large(value))
                for producer in producers:
                    if not isinstance(producer, Operation) or not is_fusion(producer):
                        continue
                    if self.position.get(producer, position) < position:
                        yield producer, consumer


class _Rewriter:
    """Rewrites pairs of fusions; see `rematerialize` for the arguments."""

    def __init__(self, has_emitter: OperationPredicate, has_tiling: Mapping[str, TilingPredicate]) -> None:
        self.has_emitter = has_emitter
        self.has_tiling = has_tiling

    def lower_peak(self, block: Block) -> bool:
        """Rematerialize values that are alive at the peak of a block; tell whether there were any."""
        lifetimes = _Lifetimes(block)
        peak = lifetimes.peak()
        pairs = list(lifetimes.pairs_around(peak))
        rewritten = [self.try_recompute(producer, consumer, lifetimes, peak) for producer, consumer in pairs]
        if any(rewritten):
            block.operations = [one for one in block.operations if one.results or not is_fusion(one)]
        return any(rewritten)

    def try_recompute(
        self, producer: Operation, consumer: Operation, lifetimes: _Lifetimes, peak: int
    ) -> bool:
        """Let a consumer compute values of a producer again, if that takes less memory at the peak."""
        plan = self.recomputation(producer, consumer, lifetimes, peak) if producer.results else None
        if plan is None:
            return False
        new_values = {
            value: Value(value.type, producer, 0) for value in plan.leaves_inside if value not in plan.outside
        }
        outside = {**plan.outside, **new_values}
        new_consumer = _with_recomputed(producer, consumer, plan, outside)
        results = [value for value in producer.results if value not in plan.dropped] + [*new_values.values()]
        inside = {value: inner for inner, value in outside.items()}
        new_producer = _with_results(producer, [inside[value] for value in results]) if results else None
        if not self.has_code(new_consumer) or not (
            new_producer is None or self.has_code(new_producer)
        ):
            return False
        consumer.operands, consumer.regions = new_consumer.operands, new_consumer.regions
        if new_producer is not None:
            producer.operands, producer.regions = new_producer.operands, new_producer.regions
        else:
            producer.operands = ()
        producer.results = tuple(results)
        for index, value in enumerate(results):
            value.index = index
        position = lifetimes.position[consumer]
        for value in consumer.operands:
            lifetimes.use(value, consumer, position)
        return True

    def has_code(self, fusion: Operation) -> bool:
        """Whether native code can be generated for a fusion."""
        body = fusion.regions[0].block
        if fusion.name == FUSION:
            shapes = {tensor_type(result).shape for result in fusion.results}
            return len(shapes) == 1 and len(fusion.operands) + len(fusion.results) <= MAX_ARRAYS
        return len(body.operations) <= MAX_MEMBERS and self.has_tiling[fusion.name](body)

    def recomputation(
        self, producer: Operation, consumer: Operation, lifetimes: _Lifetimes, peak: int
    ) -> _Recomputation | None:
        """The operations that a consumer recomputes; None if that saves no memory or takes too much time.

        Up to the consumer, no value takes much less memory than those that replace it, and all together take
        more at the peak.
        """
        position = lifetimes.position[consumer]
        body = producer.regions[0].block
        plan = _Recomputation(dict(zip(body.terminator.operands, producer.results, strict=True)))
        readable = self.elementwise_operands(consumer)
        saved = added = count = 0
        for inner, value in plan.outside.items():
            if value not in readable or lifetimes.users[value] != {consumer}:
                continue
            leaves, operations = self.cone(inner, tensor_type(value).shape)
            if inner in leaves:
                plan.leaves[inner] = None
                continue
            new_leaves = [leaf for leaf in leaves if leaf not in plan.leaves]
            needed = sum(
                _bytes_of_leaf(leaf, producer, plan, lifetimes, position, position) for leaf in new_leaves
            )
            if needed <= MAX_GROWTH * bytes_of(value.type):
                saved += bytes_of(value.type)
                added += sum(
                    _bytes_of_leaf(leaf, producer, plan, lifetimes, position, peak) for leaf in new_leaves
                )
                plan.leaves.update(dict.fromkeys(new_leaves))
                plan.operations.update(dict.fromkeys(operations))
                plan.dropped.add(value)
                count += 1
        if saved <= added:
            return None
        plan.dropped -= {plan.outside[leaf] for leaf in plan.leaves if leaf in plan.outside}
        computed = sum(
            not is_rematerializable(one) and not is_broadcast(one) for one in plan.operations
        )
        return plan if computed * saved <= MAX_OPERATIONS_PER_VALUE * count * (saved - added) else None

    def elementwise_operands(self, consumer: Operation) -> set[Value]:
        """The large operands of a fusion whose elements it reads in the order of its loops only."""
        body = consumer.regions[0].block
        spaces = (
            {tensor_type(result).shape for result in consumer.results}
            if consumer.name == FUSION
            else {tensor_type(one.operands[0]).shape for one in body.operations if is_reduction(one)}
        )
        read_otherwise: set[Value] = set()
        for operation in body.operations:
            shapes = {tensor_type(value).shape for value in (*operation.operands, *operation.results)}
            is_elementwise = not operation.regions and operation.results and self.has_emitter(operation)
            if not (is_reduction(operation) or (is_elementwise and shapes <= {*spaces, ()})):
                read_otherwise.update(operation.operands)
        return {
            value
            for value, argument in zip(consumer.operands, body.arguments, strict=True)
            if _is_large(value) and tensor_type(value).shape in spaces and argument not in read_otherwise
        }

    def cone(self, value: Value, shape: tuple[int, ...]) -> tuple[list[Value], list[Operation]]:
        """The values from which cheap operations compute a value of a body, and these operations."""
        leaves: dict[Value, None] = {}
        operations: dict[Operation, None] = {}
        pending = [value]
        while pending:
            current = pending.pop()
            producer = current.owner
            if not isinstance(producer, Operation) or not self.is_cheap(producer, shape):
                leaves[current] = None
            elif producer not in operations:
                operations[producer] = None
                pending += producer.operands
        return list(leaves), list(operations)

    def is_cheap(self, operation: Operation, shape: tuple[int, ...]) -> bool:
        """Whether computing an operation's result, of that shape or a scalar, again costs next to nothing."""
        if operation.regions or len(operation.results) != 1:
            return False
        if tensor_type(operation.result).shape not in (shape, ()):
            return False
        if is_rematerializable(operation):
            return True
        if is_broadcast(operation):
            return tensor_type(operation.result).shape == shape
        has_shapes = all(tensor_type(value).shape in (shape, ()) for value in operation.operands)
        is_recomputed = declaration_of(operation).cost.is_recomputed
        return is_recomputed and has_shapes and self.has_emitter(operation)


class _Recomputation:
    """The operations that a consumer recomputes.

    Args:
        outside: the results of the producer by the values of its body.

    Attributes:
        leaves: values of the producer's body from which the consumer computes, its arguments included.
        operations: the operations of the producer's body that are copied.
        dropped: results of the producer that nothing uses any more.
    """

    def __init__(self, outside: Mapping[Value, Value]) -> None:
        self.outside = outside
        self.leaves: dict[Value, None] = {}
        self.operations: dict[Operation, None] = {}
        self.dropped: set[Value] = set()

    @property
    def leaves_inside(self) -> list[Value]:
        """The leaves that operations of the producer compute."""
        return [value for value in self.leaves if isinstance(value.owner, Operation)]


def _bytes_of_leaf(
    leaf: Value,
    producer: Operation,
    plan: _Recomputation,
    lifetimes: _Lifetimes,
    consumer: int,
    position: int,
) -> int:
    """Bytes by which memory grows at a position where a consumer reads a value of a producer's body.

    Args:
        consumer: its position.
    """
    body = producer.regions[0].block
    if not isinstance(leaf.owner, Operation):
        return lifetimes.bytes_to_keep(producer.operands[body.arguments.index(leaf)], position)
    value = plan.outside.get(leaf)
    if value is None or lifetimes.users[value] == {lifetimes.operations[consumer]}:
        return bytes_of(leaf.type)
    return lifetimes.bytes_to_keep(value, position)


def _with_recomputed(
    producer: Operation, consumer: Operation, plan: _Recomputation, outside: Mapping[Value, Value]
) -> Operation:
    """The consumer that computes the dropped values itself."""
    source, target = producer.regions[0].block, consumer.regions[0].block
    copies = Block()
    builder = Builder(copies)
    values: dict[Value, Value] = dict(zip(source.arguments, producer.operands, strict=True))
    values.update({leaf: outside[leaf] for leaf in plan.leaves_inside})
    for operation in source.operations:
        if operation in plan.operations:
            builder.copy(operation, values)
    recomputed = {outside[inner]: values[inner] for inner in plan.outside if outside[inner] in plan.dropped}
    values = {
        argument: recomputed.get(operand, operand)
        for argument, operand in zip(target.arguments, consumer.operands, strict=True)
    }
    for operation in target.operations[:-1]:
        builder.copy(operation, values)
    return _fusion(copies, [values[result] for result in target.terminator.operands], consumer.name)


def _with_results(producer: Operation, results: Sequence[Value]) -> Operation:
    """The producer whose results are these values of its body."""
    body = producer.regions[0].block
    needed = set(results)
    members = []
    for operation in reversed(body.operations[:-1]):
        if not needed.isdisjoint(operation.results):
            members.append(operation)
            needed.update(used_values(operation))
    copies = Block()
    values: dict[Value, Value] = dict(zip(body.arguments, producer.operands, strict=True))
    for operation in reversed(members):
        Builder(copies).copy(operation, values)
    return _fusion(copies, [values[result] for result in results], producer.name)


def _fusion(copies: Block, results: list[Value], name: str) -> Operation:
    """A fusion of the operations of a block, whose operands are the values from outside of it."""
    inside = {result for operation in copies.operations for result in operation.results}
    used = [value for operation in copies.operations for value in used_values(operation)]
    operands = list(dict.fromkeys(value for value in used if value not in inside))
    return fusion_operation(copies.operations, operands, results, name)

