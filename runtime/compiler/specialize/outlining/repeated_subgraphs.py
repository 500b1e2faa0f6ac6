"""Finds repeated subgraphs: runs of operations that differ only in their operands, such as a model's layers.

They become calls of one function (`outlined_calls`), so that rewrites, fusion and the plan process one of
them instead of all. A subgraph begins at a large matrix product or convolution, which is never fused with the
operations before it, and where the fewest live elements cross from one subgraph to the next. So outlining
hardly changes how operations are fused, and a subgraph has the same steps as without it.

In large blocks subgraphs are less bounded, but inlined again (`fused_calls`) once rewrites and the fusion of
rows have processed one of them.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Final

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Operation, Value, captured_values, used_values
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.traits import Memory
from ....types import TensorType
from ..framework.cleanup import OperationKeys
from ..framework.operation_classes import has_no_effect, is_control_flow
from ..framework.rewriter import has_static_unquantized_types

MIN_REPEATS: Final = 3
MIN_SUBGRAPH_OPERATIONS: Final = 16
"""Operations of a subgraph at least."""
MIN_SAVED_OPERATIONS: Final = 200
"""Operations that need not be compiled again, at least: compiling fewer takes a few milliseconds."""
MIN_PRODUCT_SIZE: Final = 1 << 20
"""Multiplications, about, of a product at which a subgraph may begin."""
MIN_LARGE_BLOCK: Final = 10_000
"""Operations of a block in which subgraphs may begin at any product and keep values for later: compiling so
many takes a second and more."""

MAX_PERIODS: Final = 64
"""Maximum later products of the same kind that are tried as the start of the next subgraph."""
MAX_COMPARISONS: Final = 4000
"""Comparisons of subgraphs, after which the search ends."""


class RepeatedSubgraph(NamedTuple):
    """Operations in their order, and the outside values that they use, in the order of first use."""

    operations: Sequence[Operation]
    outside: Sequence[Value]


class _Signature(NamedTuple):
    """The key that subgraphs share if they differ only in their operands.

    Attributes:
        operands: for each operand of each operation the number of its value: outside values count from 0 in
            the order of first use, results within the subgraph from -1 downwards.
        types: of the outside values.
    """

    operands: tuple[int, ...]
    types: tuple[object, ...]


class _RepeatedRun(NamedTuple):
    """A range of operations whose kinds repeat: first operation, operations in a period, and end."""

    first: int
    period: int
    end: int


def is_repeated_by_users(value: Value) -> bool:
    """Whether a value is defined by a constant or data movement, which each user can repeat."""
    owner = value.owner
    if not isinstance(owner, Operation) or not is_recomputed_by_users(owner):
        return False
    return has_static_unquantized_types(owner)


class KindNumbers:
    """The number of each operation's kind, which operations share that differ only in their operands."""

    def __init__(self) -> None:
        self._key_of = OperationKeys().key_of
        self._numbers: dict[Hashable, int] = {}
        self._number_of: dict[Operation, int] = {}

    def of(self, operation: Operation) -> int:
        """The number of an operation's kind."""
        number = self._number_of.get(operation)
        if number is None:
            number = self._numbers.setdefault(self._key_of(operation), len(self._numbers))
            self._number_of[operation] = number
        return number


def repeated_subgraphs(
    operations: Sequence[Operation], kind_numbers: KindNumbers, *, keeps_values: bool = False
) -> list[RepeatedSubgraph]:
    """The first run of equal subgraphs of a block that is worth a function; empty where there is none.

    Args:
        operations: those of the block.
        kind_numbers: of the block's operations.
        keeps_values: whether subgraphs may begin at any product, and keep values for later than the next
            subgraph, such as activations for a gradient. Such values are best computed where they are used,
            and small products are fused with the operations before them, which calls prevent: the functions
            of these subgraphs are inlined again (`fused_calls`).
    """
    min_size = 0 if keeps_values else MIN_PRODUCT_SIZE**2
    products = [number for number, one in enumerate(operations) if _size_of_product(one) >= min_size]
    if len(products) < MIN_REPEATS:
        return []
    kinds = list(map(kind_numbers.of, operations))
    sources = _sources(operations)
    for run in _runs(kinds, products):
        start = _best_start(operations, sources, run, products)
        ends = range(start + run.period, run.end + 1, run.period)
        equal_subgraphs = _longest_equal_run([operations[end - run.period : end] for end in ends])
        pays = (
            _pays(len(equal_subgraphs), run.period)
            and all(map(_may_be_outlined, equal_subgraphs[0].operations))
        )
        if pays and (keeps_values or _passes_values_to_next(operations, sources, equal_subgraphs)):
            return equal_subgraphs
    return []


def _runs(kinds: Sequence[int], products: Sequence[int]) -> Iterator[_RepeatedRun]:
    """The ranges, beginning at a product, in which kinds of operations repeat."""
    products_by_kind = defaultdict(list)
    for number in products:
        products_by_kind[kinds[number]].append(number)
    followers = {
        number: numbers[index + 1 : index + 1 + MAX_PERIODS]
        for numbers in products_by_kind.values()
        for index, number in enumerate(numbers)
    }
    resume_at = comparisons = 0
    for first in products:
        if first < resume_at:
            continue
        for next_match in followers[first]:
            period = next_match - first
            if period < MIN_SUBGRAPH_OPERATIONS or kinds[first + 1] != kinds[next_match + 1]:
                continue
            comparisons += 1
            if comparisons > MAX_COMPARISONS:
                return
            if kinds[first:next_match] != kinds[next_match : next_match + period]:
                continue
            end = next_match + period
            while end < len(kinds) and kinds[end] == kinds[end - period]:
                end += 1
            if _pays((end - first) // period, period):
                yield _RepeatedRun(first, period, end)
                resume_at = end
                break


def _pays(subgraphs: int, operations: int) -> bool:
    """Whether equal subgraphs with that many operations each are worth a function."""
    return subgraphs >= MIN_REPEATS and (subgraphs - 1) * operations >= MIN_SAVED_OPERATIONS


def _best_start(
    operations: Sequence[Operation],
    sources: Mapping[Value, Value],
    run: _RepeatedRun,
    products: Sequence[int],
) -> int:
    """The product of the first period at which the fewest live elements cross into the next period."""
    changes = [0] * (len(operations) + 1)
    for defined_at, last_used_at, size in _lives(operations, sources):
        changes[defined_at + 1] += size
        changes[last_used_at + 1] -= size
    live = list(itertools.accumulate(changes))
    starts = [product for product in products if run.first <= product < run.first + run.period]
    # The first period may follow operations that no other period has.
    return min(starts, key=lambda product: live[product + run.period])


def _lives(operations: Sequence[Operation], sources: Mapping[Value, Value]) -> Iterator[tuple[int, int, int]]:
    """Definition, last use and elements of each value that is not rematerialized."""
    last: dict[Value, int] = {}
    for number, operation in enumerate(operations):
        for operand in operation.operands:
            last[sources.get(operand, operand)] = number
    for number, operation in enumerate(operations):
        for result in operation.results:
            if result in last and result not in sources and isinstance(result.type, TensorType):
                yield number, last[result], result.type.size


def _sources(operations: Sequence[Operation]) -> dict[Value, Value]:
    """The value whose elements each data movement of a block copies; constants map to themselves."""
    sources: dict[Value, Value] = {}
    for operation in operations:
        if is_recomputed_by_users(operation):
            source_value = (*operation.operands, operation.result)[0]
            sources[operation.result] = sources.get(source_value, source_value)
    return sources


def is_recomputed_by_users(operation: Operation) -> bool:
    """Whether an operation costs so little that each of its users computes it again."""
    declaration = declaration_of(operation)
    movement = declaration.movement
    return declaration.memory is Memory.CREATES or (movement is not None and movement.has_one_source)


def _size_of_product(operation: Operation) -> int:
    """About the square of the multiplications of a product or a convolution; -1 for other operations."""
    if declaration_of(operation).product is None or not has_static_unquantized_types(operation):
        return -1
    values = (*operation.operands, operation.result)
    return math.prod([value.type.size for value in values if isinstance(value.type, TensorType)])


def _may_be_outlined(operation: Operation) -> bool:
    """Whether an operation may be part of an outlined subgraph."""
    if is_control_flow(operation) or not has_static_unquantized_types(operation):
        return False
    if not has_no_effect(operation):
        return False
    return not operation.regions or not captured_values(operation.regions)


def _longest_equal_run(subgraphs: Sequence[Sequence[Operation]]) -> list[RepeatedSubgraph]:
    """The longest run of consecutive subgraphs with equal signatures."""
    runs = [list(run) for _, run in itertools.groupby(map(_signature, subgraphs), key=lambda pair: pair[0])]
    return [subgraph for _, subgraph in max(runs, key=len)]


def _passes_values_to_next(
    operations: Sequence[Operation], sources: Mapping[Value, Value], subgraphs: Sequence[RepeatedSubgraph]
) -> bool:
    """Whether each result of a subgraph is used by the next subgraph alone, after the last one, or returned.

    Values that are kept for later, such as activations for a gradient, are best computed where they are used,
    which a call prevents.
    """
    subgraph_of = {
        operation: index for index, subgraph in enumerate(subgraphs) for operation in subgraph.operations
    }
    for operation in operations:
        if is_recomputed_by_users(operation) or declaration_of(operation).is_terminator:
            continue
        user_index = subgraph_of.get(operation, len(subgraphs))
        for value in used_values(operation):
            owner = sources.get(value, value).owner
            producer_index = subgraph_of.get(owner) if isinstance(owner, Operation) else None
            if producer_index is not None and user_index - producer_index > 1:
                return False
    return True


def _signature(operations: Sequence[Operation]) -> tuple[_Signature, RepeatedSubgraph]:
    inside: dict[Value, int] = {}
    outside: dict[Value, int] = {}
    operands = []
    for operation in operations:
        for value in operation.operands:
            number = inside.get(value)
            operands.append(outside.setdefault(value, len(outside)) if number is None else number)
        for result in operation.results:
            inside[result] = -1 - len(inside)
    signature = _Signature(tuple(operands), tuple([value.type for value in outside]))
    return signature, RepeatedSubgraph(operations, list(outside))
