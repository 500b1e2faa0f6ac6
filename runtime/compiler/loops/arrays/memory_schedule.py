"""Schedules the operations of a block so that its peak of live bytes is low.

Operations move away from the peak, both in the program's order and in that of a list scheduler, which begins
at the end and chooses the operation that adds the fewest live bytes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from ....program.ir.record import Record

MIN_BYTES = 1 << 11
"""A block with fewer live bytes at its peak keeps its order, because they fit in the L1 cache anyway."""

MAX_MOVES = 16
"""Maximum moves that are tried from each order; each takes time linear in the number of statements."""

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
    if block.peak(order)[0] >= MIN_BYTES:
        orders = [block.improved(order), block.improved(_backward(statements, sizes, returned))]
        order = min(orders, key=lambda candidate: block.peak(candidate)[0])
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

    def improved(self, order: Sequence[int]) -> Sequence[int]:
        """An order with a lower peak, or the given order if moves of statements lead to none.

        A move that does not lower the peak is still made once, up to MAX_PEAK_GROWTH: later moves may profit.
        """
        lowest_peak, position = self.peak(order)
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

    def moves(self, order: Sequence[int], position: int) -> Iterator[tuple[tuple[int, bool], Sequence[int]]]:
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


def _backward(statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]) -> list[int]:
    """A list schedule from the end: next comes the statement before which the fewest bytes are live."""
    followers = [0] * len(statements)
    readers: dict[int, list[int]] = {}
    for number, statement in enumerate(statements):
        for other in statement.predecessors:
            followers[other] += 1
        for array in statement.reads:
            readers.setdefault(array, []).append(number)
    live = set(returned)

    def growth(number: int) -> int:
        statement = statements[number]
        needed = [array for array in statement.reads if array not in live]
        results = [array for array in statement.defines if array in live]
        return sum(sizes[array] for array in needed) - sum(sizes[array] for array in results)

    # Ties keep the original order.
    ready = [(growth(number), -number) for number, count in enumerate(followers) if not count]
    heapq.heapify(ready)
    order: dict[int, None] = {}
    while ready:
        added, negated = heapq.heappop(ready)
        number = -negated
        # An entry with outdated growth has a newer entry.
        if number in order or added != growth(number):
            continue
        order[number] = None
        changed = [reader for array in statements[number].reads - live for reader in readers[array]]
        live.difference_update(statements[number].defines)
        live.update(statements[number].reads)
        for other in statements[number].predecessors:
            followers[other] -= 1
            if not followers[other]:
                heapq.heappush(ready, (growth(other), -other))
        for other in changed:
            if not followers[other] and other not in order:
                heapq.heappush(ready, (growth(other), -other))
    return [*reversed(order)]
