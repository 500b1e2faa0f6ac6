"""Detects ranks that end without notice.

MPI does not report that a rank has died: waiting for its message never ends. Each rank therefore holds a
connection to rank 0 on which no values travel. The system closes it with the process, whatever ended that;
rank 0 sees it and tells the others, and all see the end of rank 0. A rank that is busy is not taken for dead,
as it would be by a heartbeat. Keep-alive probes of TCP notice a machine that is gone. At the end of the
process each rank waits here for the others rather than in ``MPI_Finalize``, which would wait for a dead rank
for ever.

Source: RFC 9293, section 3.8.4 (keep-alives); specification of MPI 4.1, section 9.3 (error handling).
"""

from __future__ import annotations

import atexit
import os
import secrets
import select
import socket
import sys
import time
from typing import Any, Final

from ...errors import ExecutionError

CONNECT_SECONDS: Final = 5.0
"""Seconds that ranks try to connect; ranks that cannot connect are not watched."""

_KEEPALIVE_SECONDS: Final = 1
_KEEPALIVE_PROBES: Final = 3
_TOKEN_BYTES: Final = 16
_LEFT: Final = "left"
"""A rank's line to rank 0, and rank 0's to the others: its program has ended."""
_ALL_LEFT: Final = "all-left"
"""Rank 0's line to the others: the programs of all ranks have ended."""
_OTHER_LEFT: Final = "other-left"
_OTHER_DIED: Final = "other-died"
"""Rank 0's lines about the end of another rank, followed by a colon and the reason."""
_POLL_SECONDS: Final = 0.01
_MONITORS: Final[list[RankMonitor]] = []


class RankMonitor:
    """Detects that a rank of a communicator has ended.

    Args:
        communicator: an ``mpi4py.MPI.Comm``; all its ranks make a monitor at the same time.

    Attributes:
        lost: says which rank has ended; "" while none has.
        has_died: whether it ended without leaving, so that MPI cannot be finalized.
    """

    def __init__(self, communicator: Any) -> None:
        self._rank: int = communicator.Get_rank()
        self._connections: dict[int, socket.socket] = {}
        self._poller = select.poll()
        self._ranks: dict[int, int] = {}
        self._partial: dict[int, str] = {}
        self._left: set[int] = set()
        self.lost = ""
        self.has_died = False
        if communicator.Get_size() > 1:
            self._connect(communicator)
        for rank, connection in self._connections.items():
            _keep_alive(connection)
            connection.setblocking(False)
            self._poller.register(connection, select.POLLIN)
            self._ranks[connection.fileno()] = rank
        if not _MONITORS:
            atexit.register(_leave)
        _MONITORS.append(self)

    @classmethod
    def of(cls, communicator: Any) -> RankMonitor:
        """The monitor of a communicator; all its ranks ask at the same time."""
        monitor = communicator.Get_attr(_keyval())
        if monitor is None:
            monitor = cls(communicator)
            communicator.Set_attr(_keyval(), monitor)
        assert isinstance(monitor, RankMonitor)
        return monitor

    def _connect(self, communicator: Any) -> None:
        """Connect each rank with rank 0; if one cannot connect, all connections are closed."""
        hosts = communicator.allgather(socket.gethostname())
        is_local = len(set(hosts)) == 1
        listener, address, token = None, None, secrets.token_bytes(_TOKEN_BYTES)
        if self._rank == 0:
            try:
                listener = socket.create_server(("127.0.0.1" if is_local else "", 0), backlog=len(hosts))
                host = "127.0.0.1" if is_local else socket.gethostbyname(socket.gethostname())
                address = host, listener.getsockname()[1]
            except OSError:
                pass
        address, token = communicator.bcast((address, token))
        if listener is not None:
            with listener:
                self._connections = _accepted(listener, token, len(hosts) - 1)
        elif address is not None:
            try:
                connection = socket.create_connection(address, CONNECT_SECONDS)
                connection.sendall(token + self._rank.to_bytes(4, "little"))
                self._connections = {0: connection}
            except OSError:
                pass
        expected = 1 if self._rank else len(hosts) - 1
        if not all(communicator.allgather(len(self._connections) == expected)):
            for connection in self._connections.values():
                connection.close()
            self._connections = {}

    def check(self) -> None:
        """Check that no rank has ended.

        Raises:
            ExecutionError: a rank has ended; the message names it.
        """
        if not self.lost:
            self._poll_connections()
        if self.lost:
            raise ExecutionError(self.lost)

    def _poll_connections(self) -> None:
        """Read the messages of all connections."""
        for file, _ in self._poller.poll(0):
            rank = self._ranks[file]
            try:
                report = self._connections[rank].recv(4096).decode()
            except BlockingIOError:
                continue
            except OSError:
                report = ""
            *lines, self._partial[rank] = (self._partial.get(rank, "") + report).split("\n")
            for line in lines:
                self._record_line(rank, line)
            if not report:
                self._record_end(rank)

    def _record_line(self, rank: int, line: str) -> None:
        """Handle a line from a rank: that it leaves, or, from rank 0, the fate of the others."""
        kind, _, reason = line.partition(":")
        if kind == _ALL_LEFT or (kind == _LEFT and self._rank == 0):
            self._left.add(rank)
        if kind == _LEFT:
            self._record_loss(_OTHER_LEFT, f"rank {rank} has left: its program has ended")
        elif kind != _ALL_LEFT:
            self._record_loss(kind, reason)

    def _record_end(self, rank: int) -> None:
        """Record that a rank's connection has ended."""
        self._poller.unregister(self._connections[rank])
        if rank not in self._left:
            reason = "its process has died, or its machine cannot be reached"
            self._record_loss(_OTHER_DIED, f"rank {rank} has left: {reason}")

    def _record_loss(self, kind: str, reason: str) -> None:
        """Record the end of a rank; rank 0 forwards it to the others."""
        self.has_died = self.has_died or kind == _OTHER_DIED
        self.lost = self.lost or reason
        if self._rank == 0:
            self._send(f"{kind}:{reason}")

    def _send(self, line: str) -> None:
        for connection in self._connections.values():
            try:
                connection.sendall(f"{line}\n".encode())
            except OSError:
                continue

    def leave(self) -> None:
        """Notify the other ranks that this rank sends no more messages."""
        self._send(_LEFT)

    def has_ended(self) -> bool:
        """Whether all ranks have left, or one has died; to be called after `leave`.

        Each rank notifies rank 0, and rank 0 notifies the others.
        """
        self._poll_connections()
        if not self.has_died and len(self._left) < len(self._connections):
            return False
        if self._rank == 0 and not self.has_died:
            self._send(_ALL_LEFT)
        return True

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


def _accepted(listener: socket.socket, token: bytes, count: int) -> dict[int, socket.socket]:
    """The connections of `count` ranks, or of those that connect in time."""
    connections: dict[int, socket.socket] = {}
    deadline = time.monotonic() + CONNECT_SECONDS
    while len(connections) < count and time.monotonic() < deadline:
        listener.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            connection, _ = listener.accept()
            connection.settimeout(CONNECT_SECONDS)
            greeting = connection.recv(_TOKEN_BYTES + 4, socket.MSG_WAITALL)
        except OSError:
            continue
        if secrets.compare_digest(greeting[:_TOKEN_BYTES], token):
            connections[int.from_bytes(greeting[_TOKEN_BYTES:], "little")] = connection
        else:
            connection.close()
    return connections


def _keep_alive(connection: socket.socket) -> None:
    """Enable TCP keepalive, with short intervals if the system supports them."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_SECONDS),
        ("TCP_KEEPINTVL", _KEEPALIVE_SECONDS),
        ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
    ):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _leave() -> None:
    """At the end of the process: tell the other ranks, and wait for them; end without MPI where one has died.

    All monitors are looked at in turn: their ranks 0 may be different ones, which wait for each other.
    """
    for monitor in _MONITORS:
        monitor.leave()
    running = list(_MONITORS)
    while running and not any(monitor.has_died for monitor in _MONITORS):
        running = [monitor for monitor in running if not monitor.has_ended()]
        if running:
            time.sleep(_POLL_SECONDS)
    for monitor in _MONITORS:
        monitor.close()
    if any(monitor.has_died for monitor in _MONITORS):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


_KEYVALS: Final[list[int]] = []


def _keyval() -> int:
    """MPI's name of the attribute that holds a communicator's monitor."""
    if not _KEYVALS:
        from mpi4py import MPI

        _KEYVALS.append(MPI.Comm.Create_keyval())
    return _KEYVALS[0]
