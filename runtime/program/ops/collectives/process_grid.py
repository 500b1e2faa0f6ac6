"""The process grid and the groups into which collective operations split it.

Source: specification, sections "Parallel execution" and "Collective ops".
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....kernels.named_tuples import NamedTuple


class ProcessId(NamedTuple):
    """The position of a process in the grid."""

    replica: int
    partition: int

    def __str__(self) -> str:
        return f"({self.replica}, {self.partition})"


ProcessGroup = tuple[ProcessId, ...]


@dataclass(frozen=True)
class Grid:
    """A grid of processes that run at the same time.

    Source: specification, section "Parallel execution".

    Attributes:
        replicas, partitions: the size of the grid along its two dimensions, each at least 1.

    Raises:
        ValueError: a size is not a positive integer.
    """

    replicas: int = 1
    partitions: int = 1

    def __post_init__(self) -> None:
        for name, size in (("replicas", self.replicas), ("partitions", self.partitions)):
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise ValueError(f"{name} is {size!r}, but must be a positive integer")

    @property
    def size(self) -> int:
        """The number of processes."""
        return self.replicas * self.partitions

    @property
    def processes(self) -> Iterator[ProcessId]:
        """All processes in the order of their flattened ids, ``replica * partitions + partition``."""
        for replica in range(self.replicas):
            for partition in range(self.partitions):
                yield ProcessId(replica, partition)

    def process(self, flattened_id: int) -> ProcessId:
        """The process with a flattened id."""
        return ProcessId(*divmod(flattened_id, self.partitions))

    def flattened_id(self, process: ProcessId) -> int:
        """The number of a process: its position in row-major order of the grid."""
        return process.replica * self.partitions + process.partition

    def __str__(self) -> str:
        return f"{self.replicas} x {self.partitions} (replicas x partitions)"


class GroupMode(enum.StrEnum):
    """The strategies by which the specification splits a grid into process groups."""

    CROSS_REPLICA = "cross_replica"
    CROSS_PARTITION = "cross_partition"
    CROSS_REPLICA_AND_PARTITION = "cross_replica_and_partition"
    FLATTENED_IDS = "flattened_ids"

    def id_count(self, grid: Grid) -> tuple[str, int]:
        """The number of ids in groups of this mode, after the specification's name for it."""
        if self is GroupMode.CROSS_PARTITION:
            return "num_partitions", grid.partitions
        if self is GroupMode.FLATTENED_IDS:
            return "num_processes", grid.size
        return "num_replicas", grid.replicas

    def groups(self, ids: Sequence[Sequence[int]], grid: Grid) -> tuple[ProcessGroup, ...]:
        """The process groups for groups of ids, all of which the grid has."""
        replicas, partitions = range(grid.replicas), range(grid.partitions)
        if self is GroupMode.CROSS_REPLICA:
            return tuple(
                tuple(ProcessId(replica, partition) for replica in row)
                for row in ids
                for partition in partitions
            )
        if self is GroupMode.CROSS_PARTITION:
            return tuple(
                tuple(ProcessId(replica, partition) for partition in row)
                for row in ids
                for replica in replicas
            )
        if self is GroupMode.CROSS_REPLICA_AND_PARTITION:
            return tuple(
                tuple(ProcessId(replica, partition) for partition in partitions for replica in row)
                for row in ids
            )
        return tuple(tuple(grid.process(flattened_id) for flattened_id in row) for row in ids)


ONE_PROCESS = Grid()
"""The grid of a program that runs by itself."""
