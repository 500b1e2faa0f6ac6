"""Recursive halving and doubling between neighbours: how many ranks reduce values with few messages each.

THE BITS. The ranks of an exchange are numbered in the order of the group; rank i has the node i of one level
of the reduction tree (`ops.collectives.reduction`). In each step, every block of ranks and the block beside
it combine their nodes to the node above: first single ranks, then pairs, then fours. A rank keeps half of the
elements that it has, and sends the other half to a rank of the neighbouring block, so that after all steps
each rank has a share of the elements of the root. Values are therefore combined as in any other transport.
For `all_reduce` the steps are then taken backwards: ranks exchange what they have until all have everything.

SHARES. Elements are divided into one share for each rank. After `level` steps, a rank of a full block has the
shares of the ranks whose numbers end in the same `level` bits as its own, its *class*. The shares lie in the
order of the reversed bits of their numbers, so that a class is a range, and its halves in the next step are
the halves of that range. A last block with fewer ranks than the others has as many classes as they, so that
some of its ranks have several. A block without a neighbour waits for the next step; the tree carries its node
up as well.

Source: Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005),
there with the farthest rank first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from ...kernels.named_tuples import NamedTuple
from ...types import Array

Combine = Callable[[int, int, Sequence[Array], Sequence[Array]], Sequence[Array]]
"""A function of a level and a block there, and the values of its halves, that returns those of the block."""

Message = tuple[int, int, tuple[Array, ...]]
"""The number of a step, the receiving rank's number, and arrays."""


def owner(count: int, level: int, block: int, residue: int) -> int:
    """The rank of a block of up to 2^level ranks that has a class after `level` steps.

    Args:
        count: the number of ranks.
        level: how many steps there were.
        block: the number of the block.
        residue: of the class: the last `level` bits of its shares' numbers.
    """
    for bit in range(level - 1, -1, -1):
        block = 2 * block + (residue >> bit & 1)
        if block << bit >= count:
            block -= 1
    return block


@functools.lru_cache(maxsize=64)
def _share_offsets(count: int) -> tuple[int, ...]:
    """For each rank how many shares lie before its own: those of smaller reversed bits."""
    levels = (count - 1).bit_length()
    ranks = sorted(range(count), key=lambda rank: int(f"{rank:0{max(levels, 1)}b}"[::-1], 2))
    offsets = [0] * count
    for offset, rank in enumerate(ranks):
        offsets[rank] = offset
    return tuple(offsets)


def share_order(count: int) -> list[int]:
    """The ranks in the order in which their shares lie."""
    return sorted(range(count), key=_share_offsets(count).__getitem__)


def class_range(count: int, level: int, residue: int, size: int) -> slice:
    """The elements of a class, of `size` elements."""
    members = -(-(count - residue) // (1 << level)) if residue < count else 0
    if not members:
        return slice(0, 0)
    first = _share_offsets(count)[residue]  # the shares of a class follow the one whose other bits are zeros
    return slice(size * first // count, size * (first + members) // count)


class Step(NamedTuple):
    """A step of halving.

    Attributes:
        level: how many steps precede it.
        block: the number of the rank's block.
        classes: the classes that the rank has before the step; each is halved.
        peers: for each of these the rank of the neighbouring block that has the same class; empty: there is
            no such block.
    """

    level: int
    block: int
    classes: tuple[int, ...]
    peers: tuple[int, ...]

    def own_half(self, residue: int) -> int:
        """The half of a class that the rank has after the step: the class of its side."""
        return residue | (self.block & 1) << self.level

    def peer_half(self, residue: int) -> int:
        """The half of a class that the peer has after the step."""
        return residue | (~self.block & 1) << self.level

    def of_peers(self) -> Iterator[tuple[int, list[int]]]:
        """Each peer, and the classes that both have."""
        shared: dict[int, list[int]] = {}
        for residue, peer in zip(self.classes, self.peers, strict=False):
            shared.setdefault(peer, []).append(residue)
        yield from sorted(shared.items())


def steps_of(count: int, rank: int) -> list[Step]:
    """The steps of a rank."""
    steps: list[Step] = []
    classes: tuple[int, ...] = (0,)
    for level in range((count - 1).bit_length()):
        block = rank >> level
        if (block ^ 1) << level < count:
            peers = tuple([owner(count, level, block ^ 1, residue) for residue in classes])
            steps.append(Step(level, block, classes, peers))
            classes = tuple([steps[-1].own_half(residue) for residue in classes])
        else:
            steps.append(Step(level, block, classes, ()))
            classes = (*classes, *[residue | 1 << level for residue in classes])
    return steps


class Halving:
    """The state of one rank in an exchange.

    Args:
        count: the number of ranks.
        rank: this one's number, in the order of the group.
        values: this rank's node of the tree for each operand, flat.
        combine: combines halves of a block.
        results: the flat arrays of `all_reduce`, in which elements are exchanged after halving; None: for
            `reduce_scatter`.

    Attributes:
        shares: for each operand this rank's share of the root, once halving has ended.
        has_ended: whether this rank needs no more messages.
    """

    def __init__(
        self,
        count: int,
        rank: int,
        values: Sequence[Array],
        combine: Combine,
        results: Sequence[Array] | None,
    ) -> None:
        self.count, self.rank, self.combine, self.results = count, rank, combine, results
        self.sizes = [value.size for value in values]
        self.steps = steps_of(count, rank)
        self.shares: Sequence[Array] = ()
        self.has_ended = False
        # The values of each class: of the rank's highest node so far.
        self._values: dict[int, Sequence[Array]] = {0: values}
        self._received: dict[int, dict[int, tuple[Array, ...]]] = {}
        self._next = 0

    @property
    def step_count(self) -> int:
        """Steps of the exchange."""
        return len(self.steps) * (1 if self.results is None else 2)

    def start(self) -> list[Message]:
        """The messages of the first step."""
        return [*self._messages(0), *self._advanced()]

    def receive(self, step: int, peer: int, arrays: tuple[Array, ...]) -> list[Message]:
        """Take a message, which may be of a later step; returns the messages that follow from it."""
        self._received.setdefault(step, {})[peer] = arrays
        return self._advanced()

    def _range(self, level: int, residue: int, operand: int) -> slice:
        return class_range(self.count, level, residue, self.sizes[operand])

    def _has_elements(self, level: int, residues: Sequence[int]) -> bool:
        """Whether a message of some classes has elements; it is not sent otherwise."""
        for residue in residues:
            for operand in range(len(self.sizes)):
                elements = self._range(level, residue, operand)
                if elements.start < elements.stop:
                    return True
        return False

    def _expected(self, number: int) -> set[int]:
        """The ranks whose messages a step needs."""
        step, is_halving = self._step(number)
        half_of = step.own_half if is_halving else step.peer_half
        return {
            peer
            for peer, classes in step.of_peers()
            if self._has_elements(step.level + 1, [half_of(residue) for residue in classes])
        }

    def _step(self, number: int) -> tuple[Step, bool]:
        """The step of a number, and whether it halves."""
        if number < len(self.steps):
            return self.steps[number], True
        return self.steps[2 * len(self.steps) - 1 - number], False

    def _messages(self, number: int) -> Iterator[Message]:
        """What this rank sends in a step."""
        step, is_halving = self._step(number)
        for peer, classes in step.of_peers():
            sent = [(step.peer_half if is_halving else step.own_half)(residue) for residue in classes]
            if self._has_elements(step.level + 1, sent):
                arrays = [
                    array
                    for residue, half in zip(classes, sent, strict=True)
                    for array in self._sent(step, residue, half, is_halving)
                ]
                yield number, peer, tuple(arrays)

    def _sent(self, step: Step, residue: int, half: int, is_halving: bool) -> Iterator[Array]:
        """For each operand the elements of a half of a class."""
        for operand in range(len(self.sizes)):
            elements = self._range(step.level + 1, half, operand)
            if is_halving:
                yield self._half(step, residue, half, operand)
            else:
                assert self.results is not None
                yield self.results[operand][elements]

    def _half(self, step: Step, residue: int, half: int, operand: int) -> Array:
        """The elements of a half among those of a class that this rank has."""
        of_class = self._range(step.level, residue, operand)
        of_half = self._range(step.level + 1, half, operand)
        values = self._values[residue][operand]
        if of_half.start == of_half.stop:
            return values[:0]
        return values[of_half.start - of_class.start : of_half.stop - of_class.start]

    def _advanced(self) -> list[Message]:
        """Take all steps whose messages are there."""
        sent: list[Message] = []
        while not self.has_ended and self._expected(self._next) <= self._received.get(self._next, {}).keys():
            received = self._received.pop(self._next, {})
            step, is_halving = self._step(self._next)
            (self._halve if is_halving else self._double)(step, received)
            self._next += 1
            if self._next == len(self.steps):
                self._finish_halving()
            self.has_ended = self._next == self.step_count
            if not self.has_ended:
                sent += self._messages(self._next)
        return sent

    def _halve(self, step: Step, received: Mapping[int, tuple[Array, ...]]) -> None:
        """Combine this rank's halves with those of the peers."""
        values: dict[int, Sequence[Array]] = {}
        operands = range(len(self.sizes))
        if not step.peers:
            for residue in step.classes:
                for half in (step.own_half(residue), step.peer_half(residue)):
                    values[half] = [self._half(step, residue, half, operand) for operand in operands]
            self._values = values
            return
        for peer, classes in step.of_peers():
            arrays = iter(received.get(peer, ()))
            for residue in classes:
                half = step.own_half(residue)
                own = [self._half(step, residue, half, operand) for operand in operands]
                others = [next(arrays, array[:0]) for array in own]
                pair = (own, others) if step.block % 2 == 0 else (others, own)
                values[half] = self.combine(step.level + 1, step.block >> 1, *pair)
        self._values = values

    def _finish_halving(self) -> None:
        (self.shares,) = [values for residue, values in self._values.items() if residue == self.rank]
        self._values = {}
        if self.results is not None:
            for operand, result in enumerate(self.results):
                result[self._range(len(self.steps), self.rank, operand)] = self.shares[operand]

    def _double(self, step: Step, received: Mapping[int, tuple[Array, ...]]) -> None:
        """Store what the peers have."""
        assert self.results is not None
        for peer, classes in step.of_peers():
            arrays = iter(received.get(peer, ()))
            for residue in classes:
                for operand, result in enumerate(self.results):
                    array = next(arrays, None)
                    if array is not None:
                        result[self._range(step.level + 1, step.peer_half(residue), operand)] = array


class Traffic(NamedTuple):
    """What a rank sends in an exchange.

    Attributes:
        messages: their number.
        elements: of all messages.
        depth: steps, one after the other.
    """

    messages: int
    elements: int
    depth: int


def traffic_of(count: int, rank: int, size: int, *, doubles: bool) -> Traffic:
    """What a rank sends of so many elements, in halving and, for `all_reduce`, in doubling.

    Args:
        count: the number of ranks.
        rank: this one's number.
        size: the elements.
        doubles: whether doubling follows.
    """
    messages = elements = 0
    steps = steps_of(count, rank)
    for step in steps:
        for _, classes in step.of_peers():
            for half_of in [step.peer_half, step.own_half] if doubles else [step.peer_half]:
                ranges = [class_range(count, step.level + 1, half_of(residue), size) for residue in classes]
                sent = sum([one.stop - one.start for one in ranges])
                messages += sent > 0
                elements += sent
    return Traffic(messages, elements, len(steps) * (2 if doubles else 1))
