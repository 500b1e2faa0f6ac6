"""Groups operations of a block into fusions, each of which can become one native loop nest.

A fusion is built around *cores*: elementwise operations on tensors of one shape, and gathers of single
elements. Two cores join if one uses the other's result, or if both use the same value, and if no other
operation has to run between them (see `levels`).

A fusion then absorbs the producers of its operands if computing them again costs nothing: constants, iotas
and movement operations. It also absorbs elementwise operations of other shapes and gathers that nothing else
uses. The array that a gather indexes is an operand of the fusion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ...ir import Block, Builder, DenseElementsAttribute, Operation, Region, Value, tensor_type, used_values
from ...ops.framework.op_registry import ARG_REDUCE, COMPONENT_SCATTER
from ...ops.framework.verify import TERMINATORS
from ...ops.internal.fusion import FUSION, REDUCTION_FUSION, ROW_FUSION
from ...types import PLAIN
from ..utils.cleanup import remove_dead_code
from ..utils.effects import CONTROL_FLOW
from ..utils.rewriter import has_static_unquantized_types, is_static_unquantized
from .gather_index_map import (
    MIN_CONTIGUOUS,
    READ_THROUGH_VIEWS,
    contiguous_length,
    gathers_elements,
    has_gather_map,
)
from .levels import LevelGrouping
from .movement_index_map import JOINING_OPS, is_movement_op
from .scheduling import canonical_order, topological_order
from .shapes import drop_other_shapes

OperationPredicate = Callable[[Operation], bool]
"""A property of an operation, such as whether native code can be generated for it."""

MAX_FUSION_OPERATIONS: Final = 200
MAX_ARRAYS: Final = 40
MIN_LARGE_SIZE: Final = 1 << 15
"""Elements of a result from which on one operation gains from threads and from fewer passes over memory."""
MIN_SMALL_OPERATIONS: Final = 3
"""Elementwise operations on small tensors that cost as much as one call of native code."""
MAX_COPIED: Final = 16
"""Operations on single elements that a fusion may compute although another operation computes them too."""

_NEEDS_CONTIGUOUS_OPERAND: Final = frozenset(
    {"chlo.top_k", COMPONENT_SCATTER, ARG_REDUCE, REDUCTION_FUSION, ROW_FUSION}
) | frozenset(
    f"stablehlo.{name}" for name in ("reduce", "reduce_window", "scatter", "select_and_scatter", "sort")
)
"""Operations whose implementations copy a transposed operand first, on one thread and with long strides."""

EXPENSIVE: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        "atan2", "cbrt", "cosine", "divide", "exponential", "exponential_minus_one", "log", "log_plus_one",
        "logistic", "power", "remainder", "rsqrt", "sine", "sqrt", "tan", "tanh",
    )
)  # fmt: skip

(
    _ELEMENTWISE, _MOVEMENT, _REMATERIALIZABLE, _GATHER, _CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER, _OTHER,
) = range(7)  # fmt: skip
"""`_GATHER` gathers single elements. The other two kinds gather contiguous slices; short slices are copied
fastest by a loop nest of their own."""
_CORES: Final = (_ELEMENTWISE, _GATHER)
_INDEXED: Final = (_GATHER, _CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER)


def form_fusions(
    region: Region,
    generates: OperationPredicate,
    stays_unfused: OperationPredicate = lambda _: False,
    group_first: Callable[[Block], None] = lambda _: None,
    pays_alone: OperationPredicate = lambda _: False,
) -> None:
    """Group the operations of a region and of the control flow in it, in place.

    Args:
        generates: whether native code can be generated for an operation, by its name and element types.
        stays_unfused: tells which control flow keeps its regions unfused.
        group_first: forms other fusions of a block before.
        pays_alone: tells which operations are worth a call of native code by themselves.
    """
    _form(region, generates, stays_unfused, group_first, pays_alone)
    remove_dead_code(region)


def _form(
    region: Region, generates: OperationPredicate, stays_unfused: OperationPredicate, group_first: Callable[
        [Block], None
    ], pays_alone: OperationPredicate
) -> None:
    for operation in region.block.operations:
        if operation.name in CONTROL_FLOW and not stays_unfused(operation):
            for inner in operation.regions:
                _form(inner, generates, stays_unfused, group_first, pays_alone)
    if not _may_pay(region.block, pays_alone):
        return
    group_first(region.block)
    grouping = _Grouping(region.block, generates, pays_alone)
    fusions = grouping.fusions()
    if fusions:
        replace(region.block, fusions, grouping.users)


def _may_pay(block: Block, pays_alone: OperationPredicate) -> bool:
    """Whether a block has enough work for any fusion; if not, no code generator is loaded."""
    return len(block.operations) > MIN_SMALL_OPERATIONS or any(
        pays_alone(operation)
        or any(
            is_static_unquantized(value) and tensor_type(value).size >= MIN_LARGE_SIZE
            for value in _written_or_reduced(operation)
        )
        for operation in block.operations
        if operation.name not in TERMINATORS
    )


def _written_or_reduced(operation: Operation) -> Sequence[Value]:
    """The values whose sizes estimate the work of an operation."""
    return operation.operands if operation.name == "stablehlo.reduce" else operation.results


class FusionGroup:
    """Some operations of a block, by their positions.

    Attributes:
        size: elements of its results.
        level: that of its operations (see `levels`).
        owned: operations that only this group computes; other operations may use their results.
        copied: operations that are computed outside of the group too.
        built: the results, and the fusion operation that computes them, if it was built already.
    """

    def __init__(self, size: int, level: int, owned: Iterable[int]) -> None:
        self.size = size
        self.level = level
        self.owned = set(owned)
        self.copied: set[int] = set()
        self.built: tuple[list[Value], Operation] | None = None

    @property
    def members(self) -> list[int]:
        """All operations in order."""
        return sorted(self.owned | self.copied)


class _Grouping(LevelGrouping):
    """Finds the fusions of one block."""

    def __init__(self, block: Block, generates: OperationPredicate, pays_alone: OperationPredicate) -> None:
        super().__init__(block, MAX_FUSION_OPERATIONS)
        self.pays_alone = pays_alone
        self.users = users_of(block)
        self.kinds = [self.kind(operation, generates) for operation in self.operations]
        self.separable: set[int] = set()
        self.readers: dict[tuple[Value, int], int] = {}

    def kind(self, operation: Operation, generates: OperationPredicate) -> int:
        """The role of an operation in fusions, such as `_ELEMENTWISE`."""
        if len(operation.results) != 1 or operation.regions or operation.name in TERMINATORS:
            return _OTHER
        if not has_static_unquantized_types(operation) or tensor_type(operation.result).size == 0:
            return _OTHER
        if operation.name == "stablehlo.constant":
            value = operation.attributes.get("value")
            return (
                _REMATERIALIZABLE
                if isinstance(value, DenseElementsAttribute) and is_splat_constant(value)
                else _OTHER
            )
        if operation.name == "stablehlo.iota":
            return _REMATERIALIZABLE
        if is_movement_op(operation):
            return _MOVEMENT
        if operation.name == "stablehlo.gather":
            return self.kind_of_gather(operation)
        shapes = (tensor_type(operation.result).shape, ())
        if all(tensor_type(value).shape in shapes for value in operation.operands) and generates(operation):
            return _ELEMENTWISE
        return _OTHER

    def kind_of_gather(self, operation: Operation) -> int:
        """Whether a gather reads single elements, or contiguous slices and how long ones."""
        if not has_gather_map(operation):
            return _OTHER
        if gathers_elements(operation):
            return _GATHER
        length = contiguous_length(operation)
        return _CONTIGUOUS_GATHER if length >= MIN_CONTIGUOUS else _SHORT_CONTIGUOUS_GATHER

    def fusions(self) -> list[FusionGroup]:
        """The fusions that are faster than their operations one by one.

        Operations that share only a constant form one fusion, which saves calls. They are separated if that
        fusion has too many arrays, as in an optimizer that updates many parameters of one shape.
        """
        candidates = self.candidates()
        self.separable = {
            index for group in candidates if self.has_too_many_arrays(group) for index in group.owned
        }
        if self.separable:
            candidates = self.candidates()
        return self.with_one_shape([group for group in candidates if self.pays(group)])

    def candidates(self) -> list[FusionGroup]:
        """All possible fusions, with the operations that each absorbs."""
        self.readers = {}
        self.find_levels()
        cores: dict[int, FusionGroup] = {}
        for index, kind in enumerate(self.kinds):
            if kind in _CORES:
                root = self.groups.root(index)
                if root not in cores:
                    size = tensor_type(self.operations[index].result).size
                    cores[root] = FusionGroup(size, self.levels[index], ())
                cores[root].owned.add(index)
        candidates = [*cores.values(), *self.lone_movement_ops(), *self.lone_contiguous_gathers()]
        candidates.sort(key=lambda group: (group.level, max(group.owned)), reverse=True)
        fusion_of = {index: group for group in candidates for index in group.owned}
        formed_around = [(group, frozenset(group.owned)) for group in candidates]
        for group in candidates:
            self.absorb_producers(group, fusion_of)
        for group, initial_cores in formed_around:
            drop_other_shapes(group, initial_cores, self.operations, self.position, self.users)
        return candidates

    def with_one_shape(self, fusions: list[FusionGroup]) -> list[FusionGroup]:
        """The fusions that still pay once all results of each have one shape, as a loop nest requires.

        An operation that a fusion copies may read a value inside another fusion, which makes that value a
        result of the other fusion. If the value's shape differs from the other results', the operation is
        not copied, and its own result becomes a result of the other fusion instead.
        """
        result_shapes: dict[int, tuple[FusionGroup, tuple[int, ...]]] = {}
        for group in fusions:
            results = boundary(self.operations, group.owned, group.copied, self.users)[1]
            result_shapes.update(dict.fromkeys(group.owned, (group, tensor_type(results[0]).shape)))
        for group in fusions:
            while rejected := {
                index for index in group.copied if self.reads_inside(index, group, result_shapes)
            }:
                group.copied = self.needed_copies(group, group.copied - rejected)
        return [group for group in fusions if self.pays(group)]

    def reads_inside(
        self, index: int, group: FusionGroup, result_shapes: dict[int, tuple[FusionGroup, tuple[int, ...]]]
    ) -> bool:
        """Whether an operation reads a value inside another fusion whose results have another shape."""
        for operand in self.operations[index].operands:
            producer = self.producer(operand)
            if producer is not None and producer in result_shapes:
                other, shape = result_shapes[producer]
                if other is not group and tensor_type(operand).shape != shape:
                    return True
        return False

    def needed_copies(self, group: FusionGroup, copied: set[int]) -> set[int]:
        """The copied operations on which the owned operations of a fusion depend, directly or indirectly."""
        needed: set[int] = set()
        pending = list(group.owned)
        while pending:
            for producer in self.producers(pending.pop()):
                if producer in copied and producer not in needed:
                    needed.add(producer)
                    pending.append(producer)
        return needed

    def lone_movement_ops(self) -> list[FusionGroup]:
        """Movement operations on many elements whose users need the result contiguous in memory."""
        candidates = []
        for index, kind in enumerate(self.kinds):
            operation = self.operations[index]
            if kind != _MOVEMENT or tensor_type(operation.result).size < MIN_LARGE_SIZE:
                continue
            users = self.users.get(operation.result, [])
            if operation.name == "stablehlo.reshape":
                continue
            transposes = operation.name == "stablehlo.transpose"
            needed = any(self.needs_in_order(user, operation.result, transposes) for user in users)
            if operation.name in JOINING_OPS or needed:
                size = tensor_type(operation.result).size
                candidates.append(FusionGroup(size, self.levels[index], [index]))
        return candidates

    def needs_in_order(self, user: int, value: Value, is_transposed: bool) -> bool:
        """Whether a user of a value needs it contiguous in memory; for a reshape, whether its users do."""
        operation = self.operations[user]
        if operation.name == "stablehlo.reshape":
            users = self.users.get(operation.result, [])
            return any(self.needs_in_order(one, operation.result, is_transposed) for one in users)
        is_array = operation.name == "stablehlo.gather" and operation.operands[0] is value
        copies = is_transposed and operation.name in _NEEDS_CONTIGUOUS_OPERAND
        return is_array or copies or operation.name in TERMINATORS

    def lone_contiguous_gathers(self) -> list[FusionGroup]:
        """Gathers of contiguous slices, each a fusion of its own unless another fusion absorbs it."""
        return [
            FusionGroup(tensor_type(operation.result).size, self.levels[index], [index])
            for index, operation in enumerate(self.operations)
            if self.kinds[index] in (_CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER)
        ]

    def is_groupable(self, index: int) -> bool:
        return self.kinds[index] in _CORES

    def costs_nothing(self, index: int) -> bool:
        return self.kinds[index] == _REMATERIALIZABLE

    def may_join(self, index: int, operand: Value, producer: int) -> bool:
        is_elementwise_input = operand is not self.array_of(index)
        has_shape = tensor_type(operand).shape == tensor_type(self.operations[index].result).shape
        return is_elementwise_input and has_shape and self.kinds[producer] in _CORES

    def join(self, index: int) -> None:
        """Join a core with the cores of its level that it uses, or that use one of its operands."""
        super().join(index)
        operation, level, array = self.operations[index], self.levels[index], self.array_of(index)
        shape = tensor_type(operation.result).shape
        for operand in operation.operands:
            if tensor_type(operand).shape == shape and shape and operand is not array:
                if index in self.separable and self.is_uniform(operand):
                    continue
                other = self.readers.setdefault((operand, level), index)
                if tensor_type(self.operations[other].result).shape == shape:
                    self.groups.unite(index, other)

    def is_uniform(self, value: Value) -> bool:
        """Whether all elements of a value are equal, so that each fusion can read the element again."""
        producer = self.producer(value)
        if producer is None:
            return False
        operation = self.operations[producer]
        if operation.name == "stablehlo.constant":
            return self.kinds[producer] == _REMATERIALIZABLE
        return self.kinds[producer] == _MOVEMENT and tensor_type(operation.operands[0]).size == 1

    def absorb_producers(self, group: FusionGroup, fusion_of: dict[int, FusionGroup]) -> None:
        """Absorb the producers of a fusion's operands, last first: by then all users are decided."""
        pending = [-p for index in group.owned for p in self.producers(index)]
        if not pending:
            return
        import heapq  # few programs need it

        heapq.heapify(pending)
        visited = set(group.owned)
        while pending:
            index = -heapq.heappop(pending)
            if index in visited or self.kinds[index] == _OTHER:
                continue
            visited.add(index)
            is_sole_user = group.owned.issuperset(self.users[self.operations[index].result])
            if not self.fits(index, group, is_sole_user):
                continue
            if is_sole_user:
                group.owned.add(index)
                former = fusion_of.get(index)
                if former is not None and former is not group:
                    former.owned.discard(index)
                fusion_of[index] = group
            else:
                group.copied.add(index)
            for producer in self.producers(index):
                heapq.heappush(pending, -producer)

    def array_of(self, index: int) -> Value | None:
        """The array that an operation indexes, in memory or a view; None if it indexes none."""
        return self.operations[index].operands[0] if self.kinds[index] in _INDEXED else None

    def is_view(self, value: Value) -> bool:
        """Whether a value is a view, which is indexed through its operand."""
        producer = self.producer(value)
        if producer is None or self.kinds[producer] != _MOVEMENT:
            return False
        return self.operations[producer].name in READ_THROUGH_VIEWS

    def is_read_at_indices(self, value: Value, members: set[int]) -> bool:
        """Whether members of a fusion index a value or a view of it."""
        for user in members.intersection(self.users.get(value, ())):
            result = self.operations[user].result
            if self.array_of(user) is value:
                return True
            if self.is_view(result) and self.is_read_at_indices(result, members):
                return True
        return False

    def producers(self, index: int) -> list[int]:
        """The producers of the operands of an operation, except of an array that must be in memory."""
        array = self.array_of(index)
        operands = self.operations[index].operands
        candidates = [self.producer(one) for one in operands if one is not array or self.is_view(one)]
        return [producer for producer in candidates if producer is not None]

    def fits(self, index: int, group: FusionGroup, is_sole_user: bool) -> bool:
        """Whether a fusion may compute an operation.

        Args:
            is_sole_user: whether only members of the fusion use its result.
        """
        kind, operation = self.kinds[index], self.operations[index]
        members = group.owned | group.copied
        if self.is_read_at_indices(operation.result, members):
            return self.is_view(operation.result)
        if kind == _REMATERIALIZABLE:
            return True
        if len(members) >= MAX_FUSION_OPERATIONS:
            return False
        if kind == _MOVEMENT:
            return is_sole_user or operation.name not in JOINING_OPS
        size = tensor_type(operation.result).size
        if kind in _INDEXED:
            return is_sole_user and size >= group.size and kind != _SHORT_CONTIGUOUS_GATHER
        if is_sole_user:
            return size >= group.size or size == 1 or operation.name not in EXPENSIVE
        return size == 1 and operation.name not in EXPENSIVE and len(group.copied) < MAX_COPIED

    def pays(self, group: FusionGroup) -> bool:
        """Whether a fusion is faster than its operations one by one."""
        members = group.owned | group.copied
        if not group.owned or (len(members) == 1 and self.kinds[max(members)] == _ELEMENTWISE):
            return False
        operands, results = boundary(self.operations, group.owned, group.copied, self.users)
        if len(operands) + len(results) > MAX_ARRAYS or not results:
            return False
        computed = sum(self.kinds[index] in _CORES for index in group.owned)
        if group.size >= MIN_LARGE_SIZE:
            return computed > 0 or self.kinds[max(group.owned)] in (_MOVEMENT, *_INDEXED)
        if any(self.kinds[index] in _INDEXED for index in group.owned):
            return True
        return (
            computed >= MIN_SMALL_OPERATIONS
            or any(map(self.pays_alone, [self.operations[k] for k in group.owned]))
        )

    def has_too_many_arrays(self, group: FusionGroup) -> bool:
        """Whether a fusion has more operands and results than a loop nest may have arrays."""
        operands, results = boundary(self.operations, group.owned, group.copied, self.users)
        return len(operands) + len(results) > MAX_ARRAYS


def boundary(
    operations: list[Operation], owned: set[int], copied: set[int], users: dict[Value, list[int]]
) -> tuple[list[Value], list[Value]]:
    """The operands and the results of a fusion, in the order of the block."""
    members = sorted(owned | copied)
    inside = {result for index in members for result in operations[index].results}
    operands: dict[Value, None] = {}
    results = []
    for index in members:
        for operand in used_values(operations[index]):
            if operand not in inside:
                operands[operand] = None
        if index in owned:
            for result in operations[index].results:
                if not owned.issuperset(users.get(result, ())):
                    results.append(result)
    return list(operands), results


def users_of(block: Block) -> dict[Value, list[int]]:
    """The positions of the operations that use each value, themselves or in their regions."""
    users: dict[Value, list[int]] = {}
    for index, operation in enumerate(block.operations):
        for value in used_values(operation):
            users.setdefault(value, []).append(index)
    return users


def replace(
    block: Block, fusions: list[FusionGroup], users: dict[Value, list[int]], name: str = FUSION
) -> None:
    """Replace the operations that fusions own by fusion operations.

    Args:
        block: changed in place.
        users: see `users_of`; updated.
        name: of the fusion operations.
    """
    operations = block.operations
    # The operands of an operation that one fusion copies may be results of another fusion.
    for group in fusions:
        for value in boundary(operations, group.owned, group.copied, users)[0]:
            users[value].append(max(group.owned))
    replaced: dict[Value, Value] = {}
    inserted: dict[int, Operation] = {}
    removed: set[int] = set()
    for group in fusions:
        operands, results = boundary(operations, group.owned, group.copied, users)
        if group.built is not None and group.built[0] == results:
            fusion = group.built[1]
        else:
            fusion = fusion_operation([operations[index] for index in group.members], operands, results, name)
        replaced.update(zip(results, fusion.results, strict=True))
        inserted[max(group.owned)] = fusion
        removed |= group.owned
    remaining = []
    for index, operation in enumerate(operations):
        if index in inserted:
            remaining.append(inserted[index])
        elif index not in removed:
            remaining.append(operation)
    for operation in remaining:
        for nested in operation.walk() if operation.regions else (operation,):
            if not replaced.keys().isdisjoint(nested.operands):
                nested.operands = tuple([replaced.get(operand, operand) for operand in nested.operands])
    block.operations = topological_order(remaining)


def fusion_operation(
    members: list[Operation], operands: list[Value], results: list[Value], name: str
) -> Operation:
    """The operation that computes what `members` compute; equal members give equal bodies."""
    members = canonical_order(members, results)
    outside = set(operands)
    inputs = _inputs(members, outside, separate_broadcasts=name != FUSION)
    operands = [value for value, _ in inputs]
    body = Block([operand.type for operand in operands])
    values: dict[Value, Value] = {}
    argument_of: dict[Operation, Value] = {}
    for (value, reader), argument in zip(inputs, body.arguments, strict=True):
        if reader is None:
            values[value] = argument
        else:
            argument_of[reader] = argument
    builder = Builder(body)
    for operation in members:
        if operation in argument_of:
            copied = builder.copy(operation, {operation.operands[0]: argument_of[operation]})
            values[operation.result] = copied.result
        else:
            builder.copy(operation, values)
    builder.create("stablehlo.return", [values[result] for result in results])
    return Operation(
        name,
        operands,
        [result.type for result in results],
        regions=[Region([body], is_isolated=True)],
        location=members[-1].location,
    )


def _inputs(
    members: list[Operation], outside: set[Value], separate_broadcasts: bool
) -> list[tuple[Value, Operation | None]]:
    """The arguments of a fusion's body: a value from outside, and the only member that reads it, or None.

    Args:
        separate_broadcasts: whether each of several broadcasts of one value gets an argument of its own,
            since their dimensions may differ.
    """
    used = [(value, member) for member in members for value in used_values(member) if value in outside]
    if not separate_broadcasts:
        return list(dict.fromkeys([(value, None) for value, _ in used]))
    uses = Counter([value for value, _ in used])
    separated = [member.name == "stablehlo.broadcast_in_dim" and uses[value] > 1 for value, member in used]
    pairs = zip(used, separated, strict=True)
    return list(dict.fromkeys([(value, member if separate else None) for (value, member), separate in pairs]))


def is_splat_constant(value: DenseElementsAttribute) -> bool:
    """Whether all elements of a constant are held as one."""
    return value.type.category & PLAIN != 0 and (value.is_splat or value.array.size == 1)
