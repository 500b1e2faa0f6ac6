"""Groups operations of a block into fusions, each of which can become one native loop nest.

Elementwise operations on tensors of one shape are the cores, and gathers of single elements. Two of them may
be in one fusion where the one uses the other's result, or both use the same value, and no other operation
has to run between them: for this each gets a *level*, which grows along every way from one fusion to
another. A fusion then takes in what its operands come from, where that costs nothing again: constants,
iotas, moves, and elementwise operations of other shapes and gathers that nothing else needs. What a gather
reads at indices is an operand of its fusion.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ...ir import Block, Builder, DenseElementsAttribute, Operation, Region, Value, used_values
from ...ops.framework.op_registry import ARG_REDUCE, COMPONENT_SCATTER
from ...ops.framework.verify import TERMINATORS
from ...ops.internal.fusion import FUSION, REDUCTION_FUSION, ROW_FUSION
from ...types import PLAIN, TensorType
from ..utils.cleanup import remove_dead_code
from ..utils.effects import CONTROL_FLOW, has_no_effect
from ..utils.rewriter import is_plain, is_plain_value
from .disjoint_set import DisjointSet
from .gather_index_map import (
    MIN_CONTIGUOUS,
    TRACEABLE_VIEWS,
    contiguous_length,
    copies_contiguous_rows,
    is_traceable,
)
from .movement_index_map import is_movement_op
from .scheduling import order_by_use, topological_order
from .shapes import drop_other_shapes

Generates = Callable[[Operation], bool]
"""Whether native code can be generated for an operation, by its name and element types."""

MAX_OPERATIONS: Final = 200
MAX_ARRAYS: Final = 40
LARGE: Final = 1 << 15
"""Elements from which on a single operation gains by all threads and by fewer passes over memory."""
MIN_SMALL_OPERATIONS: Final = 3
"""How many elementwise operations on small tensors make up for the call of native code."""
MAX_COPIED: Final = 16
"""How many operations on single elements a fusion may compute once more."""

_JOINING_OPS: Final = frozenset({"stablehlo.concatenate", "stablehlo.pad"})

_NEEDS_CONTIGUOUS_OPERAND: Final = frozenset(
    {"chlo.top_k", COMPONENT_SCATTER, ARG_REDUCE, REDUCTION_FUSION, ROW_FUSION}
) | frozenset(
    f"stablehlo.{name}" for name in ("reduce", "reduce_window", "scatter", "select_and_scatter", "sort")
)
"""What would itself copy a transpose that is not in order, on one thread, and far from each to the next."""

_EXPENSIVE: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        "atan2", "cbrt", "cosine", "divide", "exponential", "exponential_minus_one", "log", "log_plus_one",
        "logistic", "power", "remainder", "rsqrt", "sine", "sqrt", "tan", "tanh",
    )
)  # fmt: skip

(
    _ELEMENTWISE, _MOVEMENT, _REMATERIALIZABLE, _GATHER, _CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER, _OTHER,
) = range(7)  # fmt: skip
"""`_GATHER` takes neighbours in the result from different slices; the next two take lines of elements, of
which short ones are best copied by themselves."""
_CORES: Final = (_ELEMENTWISE, _GATHER)
_INDEXED: Final = (_GATHER, _CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER)


def form_fusions(
    region: Region,
    generates: Generates,
    leaves_alone: Generates = lambda _: False,
    group_first: Callable[[Block], None] = lambda _: None,
    pays_alone: Generates = lambda _: False,
) -> None:
    """Group the operations of a region and of the control flow in it, in place.

    Args:
        generates: see `Generates`.
        leaves_alone: which control flow to leave as it is.
        group_first: groups operations of a block in another way before.
        pays_alone: which operations make up for the call of native code alone.
    """
    _form(region, generates, leaves_alone, group_first, pays_alone)
    remove_dead_code(region)


def _form(
    region: Region, generates: Generates, leaves_alone: Generates, group_first: Callable[
        [Block], None
    ], pays_alone: Generates
) -> None:
    for operation in region.block.operations:
        if operation.name in CONTROL_FLOW and not leaves_alone(operation):
            for inner in operation.regions:
                _form(inner, generates, leaves_alone, group_first, pays_alone)
    if not _may_pay(region.block, pays_alone):
        return
    group_first(region.block)
    grouping = _Grouping(region.block, generates, pays_alone)
    fusions = grouping.fusions()
    if fusions:
        replace(region.block, fusions, grouping.users)


def _may_pay(block: Block, pays_alone: Generates) -> bool:
    """Whether a block holds what a fusion takes at least; else no code generator need be loaded."""
    return len(block.operations) > MIN_SMALL_OPERATIONS or any(
        pays_alone(operation)
        or any(is_plain_value(value) and _size(value) >= LARGE for value in _written_or_reduced(operation))
        for operation in block.operations
        if operation.name not in TERMINATORS
    )


def _written_or_reduced(operation: Operation) -> Sequence[Value]:
    """The values whose size tells how much an operation does."""
    return operation.operands if operation.name == "stablehlo.reduce" else operation.results


class FusionGroup:
    """Some operations of a block, by their positions.

    Attributes:
        size: elements of its results.
        level: see the module's text.
        owned: operations that nothing else needs, or whose results it hands on.
        copied: operations that are computed elsewhere too.
        operation_and_results: the results, and the fusion operation built for them, if one was.
    """

    def __init__(self, size: int, level: int, owned: Iterable[int]) -> None:
        self.size = size
        self.level = level
        self.owned = set(owned)
        self.copied: set[int] = set()
        self.operation_and_results: tuple[list[Value], Operation] | None = None

    @property
    def members(self) -> list[int]:
        """All operations in order."""
        return sorted(self.owned | self.copied)


class _Grouping:
    """Finds the fusions of one block."""

    def __init__(self, block: Block, generates: Generates, pays_alone: Generates) -> None:
        self.operations = block.operations
        self.pays_alone = pays_alone
        self.position = {operation: index for index, operation in enumerate(self.operations)}
        self.users = users_of(block)
        self.kinds: list[int] = []
        for operation in self.operations:
            self.kinds.append(self.kind(operation, generates))
        self.levels: list[int] = []
        self.groups = DisjointSet(0, MAX_OPERATIONS)
        self.separable: set[int] = set()

    def kind(self, operation: Operation, generates: Generates) -> int:
        """What an operation is to fusions."""
        if len(operation.results) != 1 or operation.regions or operation.name in TERMINATORS:
            return _OTHER
        if not is_plain(operation) or _size(operation.result) == 0:
            return _OTHER
        if operation.name == "stablehlo.constant":
            value = operation.attributes.get("value")
            return (
                _REMATERIALIZABLE
                if isinstance(value, DenseElementsAttribute) and is_single(value)
                else _OTHER
            )
        if operation.name == "stablehlo.iota":
            return _REMATERIALIZABLE
        if is_movement_op(operation):
            return _MOVEMENT
        if operation.name == "stablehlo.gather":
            return self.kind_of_gather(operation)
        shape = _shape(operation.result)
        if all(_shape(operand) in (shape, ()) for operand in operation.operands) and generates(operation):
            return _ELEMENTWISE
        return _OTHER

    def kind_of_gather(self, operation: Operation) -> int:
        """Whether a gather takes elements or lines."""
        if not is_traceable(operation):
            return _OTHER
        length = contiguous_length(operation)
        if length == 1:
            return _GATHER
        return _CONTIGUOUS_GATHER if length >= MIN_CONTIGUOUS else _SHORT_CONTIGUOUS_GATHER

    def producer(self, value: Value) -> int | None:
        """The position of the operation of this block that defines a value."""
        return self.position.get(value.owner) if isinstance(value.owner, Operation) else None

    def fusions(self) -> list[FusionGroup]:
        """The fusions that pay.

        Operations that share nothing but a constant are one fusion, which saves calls, unless that fusion
        has too many arrays, as where an optimizer updates many parameters of one shape.
        """
        candidates = self.candidates()
        self.separable = {
            index for group in candidates if self.has_too_many_arrays(group) for index in group.owned
        }
        if self.separable:
            candidates = self.candidates()
        return self.with_one_shape([group for group in candidates if self.pays(group)])

    def candidates(self) -> list[FusionGroup]:
        """All fusions, with what each takes in."""
        self.find_cores()
        cores: dict[int, FusionGroup] = {}
        for index, kind in enumerate(self.kinds):
            if kind in _CORES:
                root = self.groups.root(index)
                if root not in cores:
                    cores[root] = FusionGroup(_size(self.operations[index].result), self.levels[index], ())
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
        """The fusions that pay once each hands on values of one shape: the loops of a nest have one.

        An operation that a fusion copies may read a value inside another fusion, which then has to hand
        that value on as well. Where the value has another shape than the results there, the operation is not
        copied: its result is what the other fusion hands on.
        """
        result_shapes: dict[int, tuple[FusionGroup, tuple[int, ...]]] = {}
        for group in fusions:
            results = boundary(self.operations, group.owned, group.copied, self.users)[1]
            result_shapes.update(dict.fromkeys(group.owned, (group, _shape(results[0]))))
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
                if other is not group and _shape(operand) != shape:
                    return True
        return False

    def needed_copies(self, group: FusionGroup, copied: set[int]) -> set[int]:
        """Those of some copied operations that a fusion's own operations need, directly or not."""
        needed: set[int] = set()
        pending = list(group.owned)
        while pending:
            for producer in self.producers(pending.pop()):
                if producer in copied and producer not in needed:
                    needed.add(producer)
                    pending.append(producer)
        return needed

    def lone_movement_ops(self) -> list[FusionGroup]:
        """Moves of many elements that have to be made, because what uses them needs them in order."""
        candidates = []
        for index, kind in enumerate(self.kinds):
            operation = self.operations[index]
            if kind != _MOVEMENT or _size(operation.result) < LARGE:
                continue
            users = self.users.get(operation.result, [])
            if operation.name == "stablehlo.reshape":
                continue
            transposes = operation.name == "stablehlo.transpose"
            needed = any(self.needs_in_order(user, operation.result, transposes) for user in users)
            if operation.name in _JOINING_OPS or needed:
                candidates.append(FusionGroup(_size(operation.result), self.levels[index], [index]))
        return candidates

    def needs_in_order(self, user: int, value: Value, is_transposed: bool) -> bool:
        """Whether what uses a value needs it in memory, in order; of a reshape, where its result is."""
        operation = self.operations[user]
        if operation.name == "stablehlo.reshape":
            users = self.users.get(operation.result, [])
            return any(self.needs_in_order(one, operation.result, is_transposed) for one in users)
        is_array = operation.name == "stablehlo.gather" and operation.operands[0] is value
        copies = is_transposed and operation.name in _NEEDS_CONTIGUOUS_OPERAND
        return is_array or copies or operation.name in TERMINATORS

    def lone_contiguous_gathers(self) -> list[FusionGroup]:
        """Gathers of lines that may stay by themselves."""
        return [
            FusionGroup(_size(operation.result), self.levels[index], [index])
            for index, operation in enumerate(self.operations)
            if (
                self.kinds[index] in (_CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER)
                and not copies_contiguous_rows(operation)
            )
        ]

    def find_cores(self) -> None:
        """Set levels, and join the elementwise operations that belong together."""
        self.levels = [-1] * len(self.operations)
        self.groups = DisjointSet(len(self.operations), MAX_OPERATIONS)
        latest_effect = -1
        readers: dict[tuple[Value, int], int] = {}
        for index, operation in enumerate(self.operations):
            kind = self.kinds[index]
            if kind in _CORES:
                self.join(index, readers)
            elif kind != _REMATERIALIZABLE:
                values = used_values(operation)
                level = max([self.level_of(value) for value in values], default=-1)
                if kind == _OTHER and not has_no_effect(operation):
                    latest_effect = level = max(level, latest_effect)
                self.levels[index] = level

    def level_of(self, value: Value) -> int:
        """The level of what defines a value."""
        producer = self.producer(value)
        return -1 if producer is None else self.levels[producer]

    def join(self, index: int, readers: dict[tuple[Value, int], int]) -> None:
        """Set the level of a core, and join it with others of the same level and shape."""
        operation = self.operations[index]
        shape = _shape(operation.result)
        joinable: dict[int, int] = {}
        level = 0
        array = self.array_of(index)
        for operand in operation.operands:
            producer = self.producer(operand)
            is_elementwise_input = operand is not array and _shape(operand) == shape
            if is_elementwise_input and producer is not None and self.kinds[producer] in _CORES:
                joinable[self.groups.root(producer)] = self.levels[producer]
                level = max(level, self.levels[producer])
            else:
                level = max(level, self.level_of(operand) + 1)
        joined = [root for root, other in joinable.items() if other == level]
        if 1 + sum(self.groups.size(root) for root in joined) > MAX_OPERATIONS:
            level += 1
            joined = []
        self.levels[index] = level
        for root in joined:
            self.groups.unite(index, root)
        for operand in operation.operands:
            if _shape(operand) == shape and shape and operand is not array:
                if index in self.separable and self.is_uniform(operand):
                    continue
                other = readers.setdefault((operand, level), index)
                if _shape(self.operations[other].result) == shape:
                    self.groups.unite(index, other)

    def is_uniform(self, value: Value) -> bool:
        """Whether all elements of a value are one element, which each fusion can read anew."""
        producer = self.producer(value)
        if producer is None:
            return False
        operation = self.operations[producer]
        if operation.name == "stablehlo.constant":
            return self.kinds[producer] == _REMATERIALIZABLE
        return self.kinds[producer] == _MOVEMENT and _size(operation.operands[0]) == 1

    def absorb_producers(self, group: FusionGroup, fusion_of: dict[int, FusionGroup]) -> None:
        """Take in what a fusion's operands come from, latest first, so that all users are known."""
        pending = [-p for index in group.owned for p in self.producers(index)]
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
        """What an operation reads at indices: it has to be in memory, or a view."""
        return self.operations[index].operands[0] if self.kinds[index] in _INDEXED else None

    def is_view(self, value: Value) -> bool:
        """Whether a value can be read at indices without being in memory."""
        producer = self.producer(value)
        if producer is None or self.kinds[producer] != _MOVEMENT:
            return False
        return self.operations[producer].name in TRACEABLE_VIEWS

    def is_read_at_indices(self, value: Value, members: set[int]) -> bool:
        """Whether members of a fusion read a value, or a view of it, at indices."""
        for user in members.intersection(self.users.get(value, ())):
            result = self.operations[user].result
            if self.array_of(user) is value:
                return True
            if self.is_view(result) and self.is_read_at_indices(result, members):
                return True
        return False

    def producers(self, index: int) -> list[int]:
        """The operations that one operation's operands come from, but for what has to be in memory."""
        array = self.array_of(index)
        operands = self.operations[index].operands
        candidates = [self.producer(one) for one in operands if one is not array or self.is_view(one)]
        return [producer for producer in candidates if producer is not None]

    def fits(self, index: int, group: FusionGroup, is_sole_user: bool) -> bool:
        """Whether a fusion may compute an operation; `is_sole_user`: nothing else needs it."""
        kind, operation = self.kinds[index], self.operations[index]
        members = group.owned | group.copied
        if self.is_read_at_indices(operation.result, members):
            return self.is_view(operation.result)
        if kind == _REMATERIALIZABLE:
            return True
        if len(members) >= MAX_OPERATIONS:
            return False
        if kind == _MOVEMENT:
            return is_sole_user or operation.name not in _JOINING_OPS
        size = _size(operation.result)
        if kind in _INDEXED:
            return is_sole_user and size >= group.size and kind != _SHORT_CONTIGUOUS_GATHER
        if is_sole_user:
            return size >= group.size or size == 1 or operation.name not in _EXPENSIVE
        return size == 1 and operation.name not in _EXPENSIVE and len(group.copied) < MAX_COPIED

    def pays(self, group: FusionGroup) -> bool:
        """Whether a fusion is quicker than its operations one by one."""
        members = group.owned | group.copied
        if not group.owned or (len(members) == 1 and self.kinds[max(members)] == _ELEMENTWISE):
            return False
        operands, results = boundary(self.operations, group.owned, group.copied, self.users)
        if len(operands) + len(results) > MAX_ARRAYS or not results:
            return False
        computed = sum(self.kinds[index] in _CORES for index in group.owned)
        if group.size >= LARGE:
            return computed > 0 or self.kinds[max(group.owned)] in (_MOVEMENT, *_INDEXED)
        if any(self.kinds[index] in _INDEXED for index in group.owned):
            return True
        return (
            computed >= MIN_SMALL_OPERATIONS
            or any(map(self.pays_alone, [self.operations[k] for k in group.owned]))
        )

    def has_too_many_arrays(self, group: FusionGroup) -> bool:
        """Whether a fusion takes from outside and hands on more values than a loop nest takes."""
        parts = boundary(self.operations, group.owned, group.copied, self.users)
        return sum(map(len, parts)) > MAX_ARRAYS


def boundary(
    operations: list[Operation], owned: set[int], copied: set[int], users: dict[Value, list[int]]
) -> tuple[list[Value], list[Value]]:
    """What a fusion takes from outside and what it hands on, in order."""
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
    """The positions of the operations that use each value, by way of their regions too."""
    users: dict[Value, list[int]] = {}
    for index, operation in enumerate(block.operations):
        for value in used_values(operation):
            users.setdefault(value, []).append(index)
    return users


def replace(
    block: Block, fusions: list[FusionGroup], users: dict[Value, list[int]], name: str = FUSION
) -> None:
    """Put operations of that name in the place of what fusions own; `users`, of the block, is changed."""
    operations = block.operations
    # What a fusion copies has operands that another fusion may own.
    for group in fusions:
        for value in boundary(operations, group.owned, group.copied, users)[0]:
            users[value].append(max(group.owned))
    replaced: dict[Value, Value] = {}
    inserted: dict[int, Operation] = {}
    removed: set[int] = set()
    for group in fusions:
        operands, results = boundary(operations, group.owned, group.copied, users)
        if group.operation_and_results is not None and group.operation_and_results[0] == results:
            operation_and_results = group.operation_and_results[1]
        else:
            members = [operations[index] for index in group.members]
            operation_and_results = fusion_operation(members, operands, results, name)
        replaced.update(zip(results, operation_and_results.results, strict=True))
        inserted[max(group.owned)] = operation_and_results
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
    """The operation that stands for some others; equal ones have equal bodies."""
    members = order_by_use(members, results)
    outside = set(operands)
    inputs = _inputs(members, outside, separate_broadcasts=name != FUSION)
    operands = [value for value, _ in inputs]
    body = Block([operand.type for operand in operands])
    values: dict[Value, Value] = {}
    own: dict[Operation, Value] = {}
    for (value, by), argument in zip(inputs, body.arguments, strict=True):
        if by is None:
            values[value] = argument
        else:
            own[by] = argument
    builder = Builder(body)
    for operation in members:
        if operation in own:
            copied = builder.copy(operation, {operation.operands[0]: own[operation]})
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
    """What operations take from outside, in order, and which of them alone takes it there, if one does.

    `separate_broadcasts`: each broadcast of a value that several broadcasts read gets an argument of its own,
    since their dimensions may differ.
    """
    used = [(value, member) for member in members for value in used_values(member) if value in outside]
    if not separate_broadcasts:
        return list(dict.fromkeys([(value, None) for value, _ in used]))
    uses = Counter([value for value, _ in used])
    is_sole_user = [member.name == "stablehlo.broadcast_in_dim" and uses[value] > 1 for value, member in used]
    return list(
        dict.fromkeys(
            [(value, by if own else None) for (value, by), own in zip(used, is_sole_user, strict=True)]
        )
    )


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.shape


def _size(value: Value) -> int:
    assert isinstance(value.type, TensorType)
    return value.type.size


def is_single(value: DenseElementsAttribute) -> bool:
    """Whether all elements of a constant are held as one."""
    return value.type.category & PLAIN != 0 and (value.is_splat or value.array.size == 1)
