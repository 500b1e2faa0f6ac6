"""Schedules the operations of a block so that its peak of live bytes is low.

Two list schedulers, one from the block's beginning and one from its end, choose the operation that adds the
fewest live bytes. The best of both schedules and the original order is then improved: operations move away
from the peak.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

from ...ir.record import Record

MIN_BYTES = 1 << 11
"""A block with fewer live bytes at its peak keeps its order, because they fit in the L1 cache anyway."""

MAX_MOVES = 32
"""Maximum moves that are tried; each takes time linear in the number of statements."""

MAX_PEAK_GROWTH = 17 / 16
"""Maximum peak after a move, relative to the lowest: a move may lengthen the lifetimes of small arrays."""


class Statement(Record):
    """How an operation of a block uses memory. Arrays are identified by numbers.

    Attributes:
        reads: the arrays of the block that it reads.
        defines: the arrays that it defines.
        overwrites: those of `reads` whose memory its result can reuse.
        phases: (bytes of scratch, arrays that this or a later phase reads) of each phase of its code.
        predecessors: the statements that it must follow.
    """

    reads: frozenset[int]
    defines: frozenset[int]
    overwrites: frozenset[int]
    phases: tuple[tuple[int, frozenset[int]], ...]
    predecessors: frozenset[int]


def order_by_memory(
    statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]
) -> tuple[Sequence[int], list[int]]:
    """The order of a block's statements, and the peak of live bytes at each statement.

    Args:
        sizes: bytes of each array.
        returned: the arrays that the block returns.
    """
    block = _Block(statements, sizes, returned)
    order: Sequence[int] = range(len(statements))
    lowest_peak, position = block.peak(order)
    if lowest_peak < MIN_BYTES:
        return order, block.live_bytes(order)
    for candidate in (_forward(statements, sizes, returned), _backward(statements, sizes, returned)):
        needed, peak_position = block.peak(candidate)
        if needed < lowest_peak:
            order, lowest_peak, position = candidate, needed, peak_position
    order = block.improved(order, lowest_peak, position)
    return order, block.live_bytes(order)


class _Block:
    """The statements of a block; see `order_by_memory` for the arguments."""

    def __init__(
        self, statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]
    ) -> None:
        self.statements, self.sizes, self.returned = statements, sizes, returned

    def peak(self, order: Sequence[int]) -> tuple[int, int]:
        """The peak of live bytes of an order, and its position."""
        needed = self.live_bytes(order)
        peak = max(needed, default=0)
        return peak, needed.index(peak) if needed else 0

    def live_bytes(self, order: Sequence[int]) -> list[int]:
        """The peak of live bytes at each statement of an order."""
        sizes, returned = self.sizes, self.returned
        last = {array: number for number in order for array in self.statements[number].reads}
        live = 0
        needed = []
        for number in order:
            statement = self.statements[number]
            result_bytes = sum([sizes[array] for array in statement.defines])
            dying = [array for array in statement.reads if last[array] == number and array not in returned]
            occupied = live if statement.overwrites.intersection(dying) else live + result_bytes
            phases = [
                own - sum([sizes[array] for array in dying if array not in read])
                for own, read in statement.phases
            ]
            needed.append(occupied + max(phases, default=0))
            unread = [array for array in statement.defines if array not in last and array not in returned]
            live += result_bytes - sum([sizes[array] for array in (*dying, *unread)])
        return needed

    def improved(self, order: Sequence[int], lowest_peak: int, position: int) -> Sequence[int]:
        """An order with a lower peak, or the given order if moves of statements lead to none.

        A move that does not lower the peak is still made once, up to MAX_PEAK_GROWTH: later moves may profit.
        """
        best, past_moves = order, set[tuple[int, bool]]()
        moves = self.moves(order, position)
        for _ in range(MAX_MOVES):
            move, other = next(moves, (None, order))
            if move is None:
                break
            needed, peak_position = self.peak(other)
            if needed < lowest_peak:
                best, lowest_peak = other, needed
            elif needed > lowest_peak * MAX_PEAK_GROWTH or move in past_moves:
                continue
            past_moves.add(move)
            order, moves = other, self.moves(other, peak_position)
        return best

    def moves(
        self, order: Sequence[int], position: int
    ) -> Iterator[tuple[tuple[int, bool], Sequence[int]]]:
        """Orders in which an array that is live, but unused, at a position is no longer live there.

        Either the statement that defines it moves to its first reader, or its readers move before the
        position.
        """
        at = self.statements[order[position]]
        makers: dict[int, int] = {}
        first: dict[int, int] = {}
        later: dict[int, list[int]] = {}
        for index, number in enumerate(order):
            statement = self.statements[number]
            for array in statement.defines:
                if index < position:
                    makers[array] = index
            for array in statement.reads:
                if index > position:
                    later.setdefault(array, []).append(index)
                first.setdefault(array, index)
        idle = [array for array in makers if array in later and array not in at.reads]
        for array in sorted(idle, key=lambda array: -self.sizes[array]):
            if first[array] > position and self.sizes[array]:
                for other in self._move_later(order, makers[array], position):
                    yield (array, False), other
            if array not in self.returned and self.sizes[array]:
                for other in self._move_earlier(order, later[array], position):
                    yield (array, True), other

    def _move_later(self, order: Sequence[int], maker: int, position: int) -> Iterator[list[int]]:
        """Move a statement to right before its first successor, if that is behind a position."""
        number = order[maker]
        for index in range(maker + 1, len(order)):
            if number in self.statements[order[index]].predecessors:
                if index > position:
                    yield [*order[:maker], *order[maker + 1 : index], number, *order[index:]]
                return

    def _move_earlier(
        self, order: Sequence[int], readers: Sequence[int], position: int
    ) -> Iterator[list[int]]:
        """Move statements and their predecessors before the statement at a position."""
        needed = {order[index] for index in readers}
        for index in range(readers[-1], position - 1, -1):
            if order[index] in needed:
                needed |= self.statements[order[index]].predecessors
        if order[position] not in needed:
            later = order[position:]
            yield [
                *order[:position],
                *(number for number in later if number in needed),
                *(number for number in later if number not in needed),
            ]


def _forward(statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]) -> list[int]:
    """A list schedule from the beginning: next comes the statement after which the fewest bytes are live."""
    readers: dict[int, set[int]] = {}
    for number, statement in enumerate(statements):
        for array in statement.reads:
            readers.setdefault(array, set()).add(number)

    def growth(number: int) -> int:
        statement = statements[number]
        results = [array for array in statement.defines if array in readers or array in returned]
        dying = [array for array in statement.reads if len(readers[array]) == 1 and array not in returned]
        return sum(sizes[array] for array in results) - sum(sizes[array] for array in dying)

    def on_scheduled(number: int) -> list[int]:
        changed: list[int] = []
        for array in statements[number].reads:
            readers[array].discard(number)
            if len(readers[array]) == 1:
                changed += readers[array]
        return changed

    return _schedule([statement.predecessors for statement in statements], growth, on_scheduled)


def _backward(statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]) -> list[int]:
    """A list schedule from the end: next comes the statement before which the fewest bytes are live."""
    before: list[set[int]] = [set() for _ in statements]
    readers: dict[int, list[int]] = {}
    for number, statement in enumerate(statements):
        for other in statement.predecessors:
            before[other].add(number)
        for array in statement.reads:
            readers.setdefault(array, []).append(number)
    live = set(returned)

    def growth(number: int) -> int:
        statement = statements[number]
        needed = [array for array in statement.reads if array not in live]
        results = [array for array in statement.defines if array in live]
        return sum(sizes[array] for array in needed) - sum(sizes[array] for array in results)

    def on_scheduled(number: int) -> list[int]:
        statement = statements[number]
        new = statement.reads - live
        live.difference_update(statement.defines)
        live.update(new)
        return [reader for array in new for reader in readers[array]]

    # Ties keep the original order.
    count = len(statements)
    order = _schedule(
        [frozenset(count - 1 - other for other in before[count - 1 - number]) for number in range(count)],
        lambda number: growth(count - 1 - number),
        lambda number: [count - 1 - other for other in on_scheduled(count - 1 - number)],
    )
    return [count - 1 - number for number in reversed(order)]


def _schedule(
    predecessors: Sequence[frozenset[int]],
    growth: Callable[[int], int],
    on_scheduled: Callable[[int], Sequence[int]],
) -> list[int]:
    """A list schedule that always chooses the ready statement of minimal growth.

    Args:
        predecessors: the predecessors of each statement.
        growth: the live bytes that a statement would add.
        on_scheduled: called when a statement is scheduled; returns the statements whose growth changes.
    """
    missing = [len(others) for others in predecessors]
    followers: list[list[int]] = [[] for _ in predecessors]
    for number, others in enumerate(predecessors):
        for other in others:
            followers[other].append(number)
    ready = [(growth(number), number) for number, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    is_scheduled = [False] * len(predecessors)
    while ready:
        added, number = heapq.heappop(ready)
        # An entry with outdated growth has a newer entry.
        if is_scheduled[number] or added != growth(number):
            continue
        is_scheduled[number] = True
        order.append(number)
        changed = on_scheduled(number)
        for follower in followers[number]:
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, (growth(follower), follower))
        for other in changed:
            if not missing[other] and not is_scheduled[other]:
                heapq.heappush(ready, (growth(other), other))
    return order
