"""Messages with arrays between the ranks of an MPI communicator.

A message is a pickled header and the arrays' bytes: behind the header where they are few, otherwise as
messages of their own from and to the arrays' memory. Messages of one run from one rank to another arrive in
order. All ranks open the same runs in the same order, so that a run is known by its number; messages of a run
that is not open here yet wait until it is.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...types import Array, DType
from .liveness import RankMonitor

ArrayType = tuple[DType, tuple[int, ...]]
"""Element type and shape of an array."""

Deliver = Callable[[int, Any, tuple[Array, ...]], None]
"""A function of the sending rank, the content and the arrays of a message."""

Allocate = Callable[[int, Any, Sequence[ArrayType]], Sequence[Array]]
"""A function of rank, content and array types that returns contiguous arrays to receive into."""

MAX_INLINE_BYTES: Final = 1 << 14
"""Maximum bytes of arrays that are sent with the header: MPI itself copies messages of that size."""

MAX_SCRATCH_BYTES: Final = 1 << 28
"""Bytes of scratch that a communicator keeps between runs."""

_HEADER_TAG: Final = 1
_ARRAY_TAG: Final = 2

_ABANDONED: Final[list[object]] = []
"""Memory that messages of failed runs may still use."""


class _Incoming:
    """A message whose arrays are being received."""

    def __init__(self, source: int, run: int, content: object, is_counted: bool) -> None:
        self.source = source
        self.run = run
        self.content = content
        self.is_counted = is_counted
        self.arrays: tuple[Array, ...] = ()
        self.requests: list[Any] = []


class Scratch:
    """A pool of arrays that receive short-lived values."""

    def __init__(self) -> None:
        self._free: dict[ArrayType, list[Array]] = {}
        self._bytes = 0

    def take(self, types: Sequence[ArrayType]) -> list[Array]:
        """Uninitialized arrays of these types."""
        arrays = []
        for dtype, shape in types:
            free = self._free.get((dtype, shape))
            if free:
                arrays.append(free.pop())
                self._bytes -= arrays[-1].nbytes
            else:
                arrays.append(np.empty(shape, dtype))
        return arrays

    def release(self, arrays: Sequence[Array]) -> None:
        """Return unused arrays to the pool, up to `MAX_SCRATCH_BYTES`."""
        for array in arrays:
            if self._bytes + array.nbytes <= MAX_SCRATCH_BYTES:
                self._free.setdefault((array.dtype, array.shape), []).append(array)
                self._bytes += array.nbytes


class Mailbox:
    """The endpoint of one run for messages.

    Args:
        messenger: that of the communicator.
        run: the number of the run.
        deliver: is called for each message that has come in, in the order of each sender.
        allocate: provides the memory for the arrays of a message.

    Attributes:
        sent, received: the numbers of messages, without those sent with `is_counted=False`.
    """

    def __init__(self, messenger: Messenger, run: int, deliver: Deliver, allocate: Allocate) -> None:
        self.messenger = messenger
        self.run = run
        self.deliver = deliver
        self.allocate = allocate
        self.sent = self.received = 0

    def send(
        self, target: int, content: object, arrays: Sequence[Array] = (), *, is_counted: bool = True
    ) -> None:
        """Send a message; the arrays must not change before it has arrived.

        Args:
            target: the rank.
            content: anything that can be pickled.
            arrays: arrays of any element type.
            is_counted: whether `sent` and, there, `received` count it.
        """
        self.messenger.send(target, self.run, content, arrays, is_counted)
        self.sent += is_counted

    def close(self) -> None:
        """End the run; later messages for it are dropped."""
        self.messenger.mailboxes.pop(self.run, None)


class Messenger:
    """Sends and receives the messages of all runs over a communicator, without waiting.

    Args:
        communicator: an ``mpi4py.MPI.Comm`` that nothing else uses.
        monitor: tells of ranks that have ended.

    Attributes:
        mailboxes: the open runs by their numbers.
        scratch: memory for what comes in.
    """

    def __init__(self, communicator: Any, monitor: RankMonitor) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._communicator = communicator
        self._status = MPI.Status()
        self._outgoing: deque[tuple[Any, object]] = deque()
        self._incoming: list[_Incoming] = []
        self._opened = 0
        self.monitor = monitor
        self.mailboxes: dict[int, Mailbox] = {}
        self.scratch = Scratch()

    @property
    def rank(self) -> int:
        return int(self._communicator.Get_rank())

    @property
    def rank_count(self) -> int:
        return int(self._communicator.Get_size())

    def open(self, deliver: Deliver, allocate: Allocate) -> Mailbox:
        """Begin a run; see `Mailbox`."""
        self._opened += 1
        mailbox = Mailbox(self, self._opened, deliver, allocate)
        self.mailboxes[mailbox.run] = mailbox
        return mailbox

    def send(self, target: int, run: int, content: object, arrays: Sequence[Array], is_counted: bool) -> None:
        """Send a message; see `Mailbox.send`."""
        payload = [np.ascontiguousarray(array) for array in arrays]
        types: list[ArrayType] = [(array.dtype, array.shape) for array in payload]
        size = sum(array.nbytes for array in payload)
        is_inline = size <= MAX_INLINE_BYTES
        inline = [array.tobytes() for array in payload] if is_inline else None
        header = pickle.dumps((run, content, types, inline, is_counted), pickle.HIGHEST_PROTOCOL)
        self._start(header, target, _HEADER_TAG)
        if not is_inline:
            for array in payload:
                if array.nbytes:
                    self._start(_bytes_of(array), target, _ARRAY_TAG)

    def _start(self, buffer: Any, target: int, tag: int) -> None:
        request = self._communicator.Isend([buffer, self._mpi.BYTE], target, tag)
        self._outgoing.append((request, buffer))

    def poll(self) -> bool:
        """Receive all available messages; returns whether one was complete."""
        while self._outgoing and self._outgoing[0][0].Test():
            self._outgoing.popleft()
        while True:
            message = self._communicator.Improbe(self._mpi.ANY_SOURCE, _HEADER_TAG, self._status)
            if message is None:
                break
            self._receive(message)
        delivered = False
        waiting: set[tuple[int, int]] = set()
        for incoming in list(self._incoming):
            sequence = incoming.source, incoming.run
            if (
                incoming.run > self._opened
                or sequence in waiting
                or not self._mpi.Request.Testall(incoming.requests)
            ):
                waiting.add(sequence)
                continue
            self._incoming.remove(incoming)
            mailbox = self.mailboxes.get(incoming.run)
            if mailbox is not None:
                mailbox.received += incoming.is_counted
                mailbox.deliver(incoming.source, incoming.content, incoming.arrays)
                delivered = True
        return delivered

    def _receive(self, message: Any) -> None:
        """Receive a header, and start to receive its arrays."""
        source = self._status.Get_source()
        header = bytearray(self._status.Get_count(self._mpi.BYTE))
        message.Recv([header, self._mpi.BYTE])
        run, content, types, inline, is_counted = pickle.loads(header)
        mailbox = self.mailboxes.get(run)
        incoming = _Incoming(source, run, content, is_counted)
        if mailbox is None:
            incoming.arrays = new_arrays(types)
        else:
            incoming.arrays = tuple(mailbox.allocate(source, content, types))
        if inline is not None:
            for array, data in zip(incoming.arrays, inline, strict=True):
                array[...] = np.frombuffer(data, array.dtype).reshape(array.shape)
        else:
            incoming.requests = [
                self._communicator.Irecv([_bytes_of(array), self._mpi.BYTE], source, _ARRAY_TAG)
                for array in incoming.arrays
                if array.nbytes
            ]
        self._incoming.append(incoming)

    @property
    def has_outgoing(self) -> bool:
        """Whether MPI still reads the memory of outgoing messages."""
        return bool(self._outgoing)

    @property
    def is_transferring(self) -> bool:
        """Whether arrays are in transit, so that MPI needs frequent calls."""
        return bool(self._outgoing or any(incoming.requests for incoming in self._incoming))

    def abandon(self) -> None:
        """Stop receiving; MPI may still use the memory of messages in transit."""
        _ABANDONED.append((self._outgoing, self._incoming))


def new_arrays(types: Sequence[ArrayType]) -> tuple[Array, ...]:
    """Uninitialized arrays."""
    return tuple([np.empty(shape, dtype) for dtype, shape in types])


def _bytes_of(array: Array) -> Array:
    """The memory of a contiguous array as bytes: MPI has no name for most element types."""
    return array.reshape(-1).view(np.uint8)
