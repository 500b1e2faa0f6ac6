"""Messages with arrays between the ranks of an MPI communicator.

A message is a pickled header and the arrays' bytes: behind the header where they are few, otherwise as
messages of their own from and to the arrays' memory. Messages from one rank to another arrive in order.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Deliver = Callable[[int, Any, tuple[Array, ...]], None]
"""Takes the rank that sent a message, its content and its arrays."""

MAX_INLINE_BYTES: Final = 1 << 14
"""Bytes of arrays up to which they travel with the header: MPI itself copies messages of that size."""

_HEADER_TAG: Final = 1
_ARRAY_TAG: Final = 2

_GIVEN_UP: Final[list[object]] = []
"""Memory that messages of failed runs may still use."""


class _Incoming:
    """A message whose arrays are on their way."""

    def __init__(
        self, source: int, content: Any, arrays: tuple[Array, ...], requests: list[Any], counts: bool
    ) -> None:
        self.source = source
        self.content = content
        self.arrays = arrays
        self.requests = requests
        self.counts = counts


class Messages:
    """Sends and receives messages without waiting.

    Args:
        communicator: an ``mpi4py.MPI.Comm`` that nothing else uses.
        deliver: is called for each message that has come in, in the order of each sender.

    Attributes:
        sent, received: how many messages, those that `send` is told not to count apart.
        bytes_sent: bytes of arrays.
    """

    def __init__(self, communicator: Any, deliver: Deliver) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._communicator = communicator
        self._deliver = deliver
        self._status = MPI.Status()
        self._outgoing: deque[tuple[Any, object]] = deque()
        self._incoming: list[_Incoming] = []
        self.sent = self.received = self.bytes_sent = 0

    def send(self, target: int, content: Any, arrays: Sequence[Array] = (), *, counts: bool = True) -> None:
        """Send a message; the arrays must not change before it has arrived.

        Args:
            target: the rank.
            content: anything that can be pickled.
            arrays: arrays of any element type.
            counts: whether `sent` and, there, `received` count it.
        """
        payload = [np.ascontiguousarray(array) for array in arrays]
        forms = [(array.dtype, array.shape) for array in payload]
        size = sum(array.nbytes for array in payload)
        is_inline = size <= MAX_INLINE_BYTES
        inline = [array.tobytes() for array in payload] if is_inline else None
        header = pickle.dumps((content, forms, inline, counts), pickle.HIGHEST_PROTOCOL)
        self._start(header, target, _HEADER_TAG)
        if not is_inline:
            for array in payload:
                if array.nbytes:
                    self._start(_bytes_of(array), target, _ARRAY_TAG)
        self.sent += counts
        self.bytes_sent += size

    def _start(self, buffer: Any, target: int, tag: int) -> None:
        request = self._communicator.Isend([buffer, self._mpi.BYTE], target, tag)
        self._outgoing.append((request, buffer))

    def poll(self) -> bool:
        """Receive what has come in; whether there was a message whose arrays are complete."""
        while self._outgoing and self._outgoing[0][0].Test():
            self._outgoing.popleft()
        while True:
            message = self._communicator.Improbe(self._mpi.ANY_SOURCE, _HEADER_TAG, self._status)
            if message is None:
                break
            self._receive(message)
        delivered = False
        waiting: set[int] = set()
        for incoming in list(self._incoming):
            if incoming.source in waiting or not self._mpi.Request.Testall(incoming.requests):
                waiting.add(incoming.source)
                continue
            self._incoming.remove(incoming)
            self.received += incoming.counts
            self._deliver(incoming.source, incoming.content, incoming.arrays)
            delivered = True
        return delivered

    def _receive(self, message: Any) -> None:
        """Receive a header, and start to receive its arrays."""
        source = self._status.Get_source()
        header = bytearray(self._status.Get_count(self._mpi.BYTE))
        message.Recv([header, self._mpi.BYTE])
        content, forms, inline, counts = pickle.loads(header)
        if inline is not None:
            pairs = zip(inline, forms, strict=True)
            arrays = [np.frombuffer(bytearray(part), dtype).reshape(shape) for part, (dtype, shape) in pairs]
            requests = []
        else:
            arrays = [np.empty(shape, dtype) for dtype, shape in forms]
            requests = [
                self._communicator.Irecv([_bytes_of(array), self._mpi.BYTE], source, _ARRAY_TAG)
                for array in arrays
                if array.nbytes
            ]
        self._incoming.append(_Incoming(source, content, tuple(arrays), requests, counts))

    @property
    def has_outgoing(self) -> bool:
        """Whether messages are on their way of which MPI still needs the memory."""
        return bool(self._outgoing)

    def give_up(self) -> None:
        """Receive no more; MPI may still use the memory of what is on its way."""
        _GIVEN_UP.append((self._outgoing, self._incoming))


def _bytes_of(array: Array) -> Array:
    """The memory of a contiguous array as bytes: MPI has no name for most element types."""
    return array.reshape(-1).view(np.uint8)
