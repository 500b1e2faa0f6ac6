"""Orders the operations of a block so that few bytes of arrays are live at the same time.

Two list schedules choose the operation that adds fewest live bytes, one from the block's beginning and one
from its end. Moves of operations away from the peak improve the best of these and of the order as written.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

from ...ir.record import Record

MIN_BYTES = 1 << 11
"""Live bytes at the peak below which a block keeps its order, as they are in the first-level cache anyway."""

MAX_MOVES = 32
"""Orders that are tried to lower the peak of the best one, each in time linear in the statements."""

MAX_RISE = 17 / 16
"""How high a peak may be after a move, relative to the lowest one: small arrays are alive a little longer."""


class Statement(Record):
    """How an operation of a block uses memory. Arrays have numbers.

    Attributes:
        reads: the arrays that it reads, those that no operation of the block makes left out.
        makes: the arrays that it makes.
        overwrites: those of `reads` whose memory the array that it makes can take.
        phases: of its code, one after the other: the bytes that it needs for itself, and the arrays that this
            or a later phase reads.
        after: numbers of the statements that it has to follow.
    """

    reads: frozenset[int]
    makes: frozenset[int]
    overwrites: frozenset[int]
    phases: tuple[tuple[int, frozenset[int]], ...]
    after: frozenset[int]


def order_by_memory(
    statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]
) -> tuple[Sequence[int], list[int]]:
    """The order of a block's statements, by their numbers, and the most bytes that are live at each of them.

    Args:
        sizes: bytes of each array.
        returned: the arrays that the block hands on.
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
        """The most bytes that are live at a statement of an order, and its position."""
        needed = self.live_bytes(order)
        peak = max(needed, default=0)
        return peak, needed.index(peak) if needed else 0

    def live_bytes(self, order: Sequence[int]) -> list[int]:
        """The most bytes that are live at each statement of an order."""
        sizes, returned = self.sizes, self.returned
        last = {array: number for number in order for array in self.statements[number].reads}
        live = 0
        needed = []
        for number in order:
            statement = self.statements[number]
            result_bytes = sum([sizes[array] for array in statement.makes])
            dying = [array for array in statement.reads if last[array] == number and array not in returned]
            occupied = live if statement.overwrites.intersection(dying) else live + result_bytes
            phases = [
                own - sum([sizes[array] for array in dying if array not in read])
                for own, read in statement.phases
            ]
            needed.append(occupied + max(phases, default=0))
            unread = [array for array in statement.makes if array not in last and array not in returned]
            live += result_bytes - sum([sizes[array] for array in (*dying, *unread)])
        return needed

    def improved(self, order: Sequence[int], lowest_peak: int, position: int) -> Sequence[int]:
        """An order with a lower peak, if moves of statements away from the peak lead to one.

        A move that does not lower the peak is made once, if it does not raise it by much: others may follow.
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
            elif needed > lowest_peak * MAX_RISE or move in past_moves:
                continue
            past_moves.add(move)
            order, moves = other, self.moves(other, peak_position)
        return best

    def moves(
        self, order: Sequence[int], position: int
    ) -> Iterator[tuple[tuple[int, bool], Sequence[int]]]:
        """The orders in which an array is not live at a position that is live there but not used.

        What makes the array comes right before its first reader, or its readers come before the position.
        """
        at = self.statements[order[position]]
        makers: dict[int, int] = {}
        first: dict[int, int] = {}
        later: dict[int, list[int]] = {}
        for index, number in enumerate(order):
            statement = self.statements[number]
            for array in statement.makes:
                if index < position:
                    makers[array] = index
            for array in statement.reads:
                if index > position:
                    later.setdefault(array, []).append(index)
                first.setdefault(array, index)
        idle = [array for array in makers if array in later and array not in at.reads]
        for array in sorted(idle, key=lambda array: -self.sizes[array]):
            if first[array] > position and self.sizes[array]:
                yield from (((array, False), other) for other in self._sunk(order, makers[array], position))
            if array not in self.returned and self.sizes[array]:
                yield from (((array, True), other) for other in self._hoisted(order, later[array], position))

    def _sunk(self, order: Sequence[int], maker: int, position: int) -> Iterator[list[int]]:
        """The order in which a statement comes right before the first that follows it, behind a position."""
        number = order[maker]
        for index in range(maker + 1, len(order)):
            if number in self.statements[order[index]].after:
                if index > position:
                    yield [*order[:maker], *order[maker + 1 : index], number, *order[index:]]
                return

    def _hoisted(self, order: Sequence[int], readers: Sequence[int], position: int) -> Iterator[list[int]]:
        """The order in which statements, and those that they follow, come before the one at a position."""
        needed = {order[index] for index in readers}
        for index in range(readers[-1], position - 1, -1):
            if order[index] in needed:
                needed |= self.statements[order[index]].after
        if order[position] not in needed:
            later = order[position:]
            yield [
                *order[:position],
                *(number for number in later if number in needed),
                *(number for number in later if number not in needed),
            ]


def _forward(statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]) -> list[int]:
    """The next statement is the one that leaves fewest bytes live."""
    readers: dict[int, set[int]] = {}
    for number, statement in enumerate(statements):
        for array in statement.reads:
            readers.setdefault(array, set()).add(number)

    def growth(number: int) -> int:
        statement = statements[number]
        results = [array for array in statement.makes if array in readers or array in returned]
        dying = [array for array in statement.reads if len(readers[array]) == 1 and array not in returned]
        return sum(sizes[array] for array in results) - sum(sizes[array] for array in dying)

    def touched(number: int) -> list[int]:
        changed: list[int] = []
        for array in statements[number].reads:
            readers[array].discard(number)
            if len(readers[array]) == 1:
                changed += readers[array]
        return changed

    return _schedule([statement.after for statement in statements], growth, touched)


def _backward(statements: Sequence[Statement], sizes: Sequence[int], returned: frozenset[int]) -> list[int]:
    """The statement before is the one that needs fewest bytes live before it."""
    before: list[set[int]] = [set() for _ in statements]
    readers: dict[int, list[int]] = {}
    for number, statement in enumerate(statements):
        for other in statement.after:
            before[other].add(number)
        for array in statement.reads:
            readers.setdefault(array, []).append(number)
    live = set(returned)

    def growth(number: int) -> int:
        statement = statements[number]
        needed = [array for array in statement.reads if array not in live]
        results = [array for array in statement.makes if array in live]
        return sum(sizes[array] for array in needed) - sum(sizes[array] for array in results)

    def touched(number: int) -> list[int]:
        statement = statements[number]
        new = statement.reads - live
        live.difference_update(statement.makes)
        live.update(new)
        return [reader for array in new for reader in readers[array]]

    # Of equal statements the last one comes last.
    count = len(statements)
    order = _schedule(
        [frozenset(count - 1 - other for other in before[count - 1 - number]) for number in range(count)],
        lambda number: growth(count - 1 - number),
        lambda number: [count - 1 - other for other in touched(count - 1 - number)],
    )
    return [count - 1 - number for number in reversed(order)]


def _schedule(
    after: Sequence[frozenset[int]], growth: Callable[[int], int], touched: Callable[[int], Sequence[int]]
) -> list[int]:
    """An order in which each next statement is the one of least growth of those that may follow.

    Args:
        after: of each statement those that it has to follow.
        growth: how much a statement would add.
        touched: called when a statement has its place; returns those whose growth changes.
    """
    missing = [len(others) for others in after]
    followers: list[list[int]] = [[] for _ in after]
    for number, others in enumerate(after):
        for other in others:
            followers[other].append(number)
    ready = [(growth(number), number) for number, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    is_placed = [False] * len(after)
    while ready:
        added, number = heapq.heappop(ready)
        # Entries whose growth has changed have newer ones.
        if is_placed[number] or added != growth(number):
            continue
        is_placed[number] = True
        order.append(number)
        changed = touched(number)
        for follower in followers[number]:
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, (growth(follower), follower))
        for other in changed:
            if not missing[other] and not is_placed[other]:
                heapq.heappush(ready, (growth(other), other))
    return order
