"""Groups operations of a block into fusions, each of which can become one native loop nest.

A fusion is built around *cores*: elementwise operations on tensors of one shape, and gathers of single
elements. Two cores join if one uses the other's result, or if both use the same value, and if no other
operation has to run between them (see `levels`).

A fusion then absorbs the producers of its operands if computing them again costs nothing: constants, iotas
and movement operations. It also absorbs elementwise operations of other shapes and gathers that nothing else
uses. The array that a gather indexes is an operand of the fusion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ...program.ir import Block, Operation, Region, Value, tensor_type, used_values
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.traits import Movement
from ...program.ops.shape.layout import Transpose
from ..specialize.framework.operation_classes import is_control_flow, is_gather, is_reduction, is_view
from ..specialize.framework.rewriter import has_static_unquantized_types, is_static_unquantized
from .gather_index_map import (
    MIN_CONTIGUOUS,
    contiguous_length,
    gathers_elements,
    has_gather_map,
)
from .groups import (
    FusionGroup,
    OperationPredicate,
    boundary,
    is_rematerializable,
    replace,
    results_of,
    users_of,
)
from .levels import LevelGrouping
from .movement_index_map import is_movement_op
from .operation_kinds import OperationKinds

if TYPE_CHECKING:
    from .refusals import Refusal, Refusals

MAX_MEMBERS: Final = 200
"""Operations of a fusion, which bounds the time to compile it."""
MAX_ARRAYS: Final = 40
"""Operands and results of a fusion together."""
MAX_DIVISIONS: Final = 3
"""How often fusions of too many arrays are divided in two."""
MIN_LARGE_SIZE: Final = 1 << 15
"""Elements of a result from which on one operation gains from threads and from fewer passes over memory."""
MIN_SMALL_OPERATIONS: Final = 3
"""Elementwise operations on small tensors that cost as much as one call of native code."""
MAX_COPIED: Final = 16
"""Operations on single elements that a fusion may compute although another operation computes them too."""

_READ_THROUGH: Final = [movement for movement in Movement if movement.keeps_rows]
"""Movements through which a gather may read."""

(
    _ELEMENTWISE, _MOVEMENT, _REMATERIALIZABLE, _GATHER, _CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER, _OTHER,
) = range(7)  # fmt: skip
"""`_GATHER` gathers single elements. The other two kinds gather contiguous slices; short slices are copied
fastest by a loop nest of their own."""
_CORES: Final = (_ELEMENTWISE, _GATHER)
_INDEXED: Final = (_GATHER, _CONTIGUOUS_GATHER, _SHORT_CONTIGUOUS_GATHER)


def fusible_blocks(
    region: Region,
    stays_unfused: OperationPredicate = lambda _: False,
    pays_alone: OperationPredicate = lambda _: False,
) -> Iterator[Block]:
    """The blocks of a region and of its control flow with enough work for fusions, inner ones first.

    Args:
        stays_unfused: tells which control flow keeps its regions unfused.
        pays_alone: tells which operations are worth a call of native code by themselves.
    """
    for operation in region.block.operations:
        if is_control_flow(operation) and not stays_unfused(operation):
            for inner in operation.regions:
                yield from fusible_blocks(inner, stays_unfused, pays_alone)
    if _may_pay(region.block, pays_alone):
        yield region.block


def form_fusions(
    block: Block,
    has_emitter: OperationPredicate,
    pays_alone: OperationPredicate = lambda _: False,
    refusals: Refusals | None = None,
    kinds: OperationKinds | None = None,
) -> None:
    """Group the elementwise operations, moves and gathers of a block, in place.

    Operations whose results become unused stay.

    Args:
        has_emitter: whether native code can be generated for an operation, by its name and element types.
        pays_alone: tells which operations are worth a call of native code by themselves.
        refusals: where it is noted why operations are not fused.
        kinds: those of the block's operations, if they are shared with other passes.
    """
    grouping = _ElementwiseGrouping(block, has_emitter, pays_alone, kinds or OperationKinds())
    fusions = grouping.fusions()
    if refusals is not None:
        grouping.note_refusals(refusals, fusions)
    if fusions:
        replace(block, fusions, grouping.users, refusals=refusals)


def _may_pay(block: Block, pays_alone: OperationPredicate) -> bool:
    """Whether a block has enough work for any fusion; if not, no code generator is loaded."""
    return len(block.operations) > MIN_SMALL_OPERATIONS or any(
        pays_alone(operation)
        or any(
            is_static_unquantized(value) and tensor_type(value).size >= MIN_LARGE_SIZE
            for value in _written_or_reduced(operation)
        )
        for operation in block.operations
        if not declaration_of(operation).is_terminator
    )


def _written_or_reduced(operation: Operation) -> Sequence[Value]:
    """The values whose sizes estimate the work of an operation."""
    return operation.operands if declaration_of(operation).reduces else operation.results


class _ElementwiseGrouping(LevelGrouping):
    """Finds the fusions of one block."""

    def __init__(
        self,
        block: Block,
        has_emitter: OperationPredicate,
        pays_alone: OperationPredicate,
        kinds: OperationKinds,
    ) -> None:
        super().__init__(block, MAX_MEMBERS)
        self.has_emitter = has_emitter
        self.pays_alone = pays_alone
        self.users = users_of(block)
        self.kinds = list(map(kinds.by_kind(self.kind), self.operations))
        self.indexed = self.indexed_values()
        self.separable: set[int] = set()
        self.readers: dict[tuple[Value, int], int] = {}

    def kind(self, operation: Operation) -> int:
        """The role of an operation in fusions, such as `_ELEMENTWISE`."""
        if len(operation.results) != 1 or operation.regions or declaration_of(operation).is_terminator:
            return _OTHER
        if not has_static_unquantized_types(operation) or tensor_type(operation.result).size == 0:
            return _OTHER
        if is_rematerializable(operation):
            return _REMATERIALIZABLE
        if operation.is_constant:
            return _OTHER
        if is_movement_op(operation):
            return _MOVEMENT
        if is_gather(operation):
            return self.kind_of_gather(operation)
        shapes = (tensor_type(operation.result).shape, ())
        has_one_shape = all(tensor_type(value).shape in shapes for value in operation.operands)
        if has_one_shape and self.has_emitter(operation):
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
        fusion has too many arrays, as in an optimizer that updates many parameters of one shape. A fusion
        that still has too many is divided: as none, each of its operations would be a step.
        """
        candidates = self.candidates()
        self.separable = {
            index for group in candidates if self.has_too_many_arrays(group) for index in group.owned
        }
        if self.separable:
            candidates = self.candidates()
        for _ in range(MAX_DIVISIONS):
            divided = [group for group in candidates if self.has_too_many_arrays(group)]
            if not divided:
                break
            for group in divided:
                self.max_sizes.update(dict.fromkeys(group.owned, (len(group.owned) + 1) // 2))
            candidates = self.candidates()
        return self.with_one_shape([group for group in candidates if self.pays(group)])

    def candidates(self) -> list[FusionGroup]:
        """All possible fusions, with the operations that each absorbs.

        The order of the steps matters:

        1. `find_levels` joins cores: each is in one fusion.
        2. Moves whose results are needed in memory, and gathers of slices, become fusions of their own.
        3. From the last fusion to the first, each absorbs producers, after all users of these are decided. It
           may take them, cores included, away from other fusions. A fusion that loses all its operations
           stays in the list, empty, and does not pay.
        4. That may make a value of another shape a result of the fusion that lost its user. Once no fusion
           absorbs any more, `drop_other_shapes` takes such operations out again; cores always stay.
        """
        self.readers = {}
        self.find_levels()
        cores: dict[int, FusionGroup] = {}
        for index, kind in enumerate(self.kinds):
            if kind in _CORES:
                root = self.groups.root(index)
                if root not in cores:
                    size = tensor_type(self.operations[index].result).size
                    cores[root] = FusionGroup(size, self.levels[index], (), self.groups.max_size(root))
                cores[root].owned.add(index)
        candidates = [*cores.values(), *self.lone_movement_ops(), *self.lone_contiguous_gathers()]
        candidates.sort(key=lambda group: (group.level, max(group.owned)), reverse=True)
        fusion_of = {index: group for group in candidates for index in group.owned}
        formed_around = [(group, frozenset(group.owned)) for group in candidates]
        for group in candidates:
            self.absorb_producers(group, fusion_of)
        for group, initial_cores in formed_around:
            self.drop_other_shapes(group, initial_cores)
        return candidates

    def drop_other_shapes(self, group: FusionGroup, initial_cores: Collection[int]) -> None:
        """Remove the operations that are used outside and have another shape than the cores.

        A fusion absorbs the operations that only its cores use. If another fusion then takes over the user
        of an absorbed operation, the operation's result becomes a result of the first fusion, whose results
        need one shape. The producers of a removed operation are removed too, except cores: the fusion may use
        the operation's result, which then must not depend on the fusion. No path leads from a core over
        another shape to a core of the same fusion.

        Args:
            group: changed in place.
            initial_cores: the cores around which it was formed; it may have lost some, or all.
        """
        if not group.owned:
            return
        last_core = max(group.owned.intersection(initial_cores), default=max(group.owned))
        shape = tensor_type(self.operations[last_core].result).shape
        pending = [
            index
            for index in group.owned
            if tensor_type(self.operations[index].result).shape != shape
            and not group.owned.issuperset(self.users.get(self.operations[index].result, ()))
        ]
        while pending:
            index = pending.pop()
            if index in group.owned and index not in initial_cores:
                group.owned.discard(index)
                producers = map(self.producer, used_values(self.operations[index]))
                pending += [producer for producer in producers if producer is not None]

    def with_one_shape(self, fusions: list[FusionGroup]) -> list[FusionGroup]:
        """The fusions that still pay once all results of each have one shape, as a loop nest requires.

        An operation that a fusion copies may read a value inside another fusion, which makes that value a
        result of the other fusion. If the value's shape differs from the other results', the operation is
        not copied, and its own result becomes a result of the other fusion instead.
        """
        result_shapes: dict[int, tuple[FusionGroup, tuple[int, ...]]] = {}
        for group in fusions:
            results = results_of(self.operations, group, self.users)
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
            movement = declaration_of(operation).movement
            if movement is Movement.RESHAPE:
                continue
            transposes = movement is Movement.TRANSPOSE
            needed = any(self.needs_in_order(user, operation.result, transposes) for user in users)
            if movement is Movement.JOIN or needed:
                size = tensor_type(operation.result).size
                candidates.append(FusionGroup(size, self.levels[index], [index]))
        return candidates

    def needs_in_order(self, user: int, value: Value, is_transposed: bool) -> bool:
        """Whether a user of a value needs it contiguous in memory; for a reshape, whether its users do."""
        operation = self.operations[user]
        facts = declaration_of(operation)
        if facts.movement is Movement.RESHAPE:
            users = self.users.get(operation.result, [])
            return any(self.needs_in_order(one, operation.result, is_transposed) for one in users)
        is_array = facts.gathers and operation.operands[0] is value
        copies = is_transposed and facts.copies_strided_operands
        return is_array or copies or facts.is_terminator

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
        if self.kinds[producer] not in _CORES or operand is self.array_of(index):
            return False
        return tensor_type(operand).shape == tensor_type(self.operations[index].results[0]).shape

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

    def refusal(self, index: int, operand: Value, producer: int, group: FusionGroup | None) -> Refusal | None:
        from .refusals import Gate, Refusal, cannot_compute

        pair = [self.operations[position] for position in (producer, index)]
        others = [self.operations[one] for one in (producer, index) if self.kinds[one] == _OTHER]
        if len(others) == 2 or any(map(is_reduction, pair)) or any(map(is_view, others)):
            return None
        if others:
            return cannot_compute("a loop on elements", others[0])
        joins = self.kinds[index] in _CORES and self.may_join(index, operand, producer)
        if joins and self.groups.root(index) != self.groups.root(producer):
            return self.level_refusal(index, producer)
        if group is None:
            return Refusal(Gate.PAYS, "one loop for both would not be faster than their steps")
        if not self.fits(producer, group, group.owned.issuperset(self.users[operand])):
            if operand is self.array_of(index):
                return Refusal(Gate.LOOPS, "it is read at indices, for which it has to be in memory")
            if group.owned.issuperset(self.users[operand]):
                return Refusal(Gate.PAYS, "its elements would be computed more than once")
            return Refusal(Gate.PAYS, "other steps read it too, and computing it twice takes longer")
        return self.level_refusal(index, producer)

    def is_uniform(self, value: Value) -> bool:
        """Whether all elements of a value are equal, so that each fusion can read the element again."""
        producer = self.producer(value)
        if producer is None:
            return False
        operation = self.operations[producer]
        if operation.is_constant:
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
        return declaration_of(self.operations[producer]).movement in _READ_THROUGH

    def indexed_values(self) -> set[Value]:
        """The values that operations of the block index, themselves or through views."""
        indexed: set[Value] = set()
        for index, kind in enumerate(self.kinds):
            if kind not in _INDEXED:
                continue
            value = self.operations[index].operands[0]
            indexed.add(value)
            while self.is_view(value):
                value = self.operations[self.producer_of[value]].operands[0]
                indexed.add(value)
        return indexed

    def is_read_at_indices(self, value: Value, members: set[int]) -> bool:
        """Whether members of a fusion index a value or a view of it."""
        if value not in self.indexed:  # before its users are visited: a constant may have thousands of them
            return False
        for user in members.intersection(self.users.get(value, ())):
            result = self.operations[user].result
            if self.array_of(user) is value:
                return True
            if self.is_view(result) and self.is_read_at_indices(result, members):
                return True
        return False

    def is_transposed(self, value: Value, members: set[int]) -> bool:
        """Whether a fusion reads a value along another dimension than its innermost one: loops gather by
        vectors only along that.
        """
        pending, left = [value], set(members)
        while pending:
            users = left.intersection(self.users.get(pending.pop(), ()))
            left -= users
            for operation in [self.operations[user] for user in users]:
                if declaration_of(operation).movement is Movement.TRANSPOSE:
                    permutation = Transpose.of(operation).permutation
                    if permutation[-1] != len(permutation) - 1:
                        return True
                pending += operation.results
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
        if operation.result in self.indexed and self.is_read_at_indices(
            operation.result, group.owned | group.copied
        ):
            return self.is_view(operation.result)
        if kind == _REMATERIALIZABLE:
            return True
        if len(group.owned) + len(group.copied) >= (group.max_members or MAX_MEMBERS):
            return False
        if kind == _MOVEMENT:
            return is_sole_user or is_view(operation)
        size = tensor_type(operation.result).size
        if kind in _INDEXED:
            members = group.owned | group.copied
            if kind == _GATHER and size >= MIN_LARGE_SIZE and self.is_transposed(operation.result, members):
                return False
            return is_sole_user and size >= group.size and kind != _SHORT_CONTIGUOUS_GATHER
        is_recomputed = declaration_of(operation).cost.is_recomputed
        if is_sole_user:
            return size >= group.size or size == 1 or is_recomputed
        return size == 1 and is_recomputed and len(group.copied) < MAX_COPIED

    def pays(self, group: FusionGroup) -> bool:
        """Whether a fusion is faster than its operations one by one."""
        members = group.owned | group.copied
        if not group.owned or (len(members) == 1 and self.kinds[max(members)] == _ELEMENTWISE):
            return False
        operands, results = boundary(self.operations, group, self.users)
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
        members = [self.operations[index] for index in group.owned | group.copied]
        if sum([len(member.operands) + len(member.results) for member in members]) <= MAX_ARRAYS:
            return False
        operands, results = boundary(self.operations, group, self.users)
        return len(operands) + len(results) > MAX_ARRAYS
