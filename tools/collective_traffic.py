"""A grid transport that counts the values which processes on separate machines would send each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from nimblehlo.execution.grid.transport import LocalTransport, Rendezvous, Values
from nimblehlo.program.ir import Operation
from nimblehlo.program.ops.collectives.process_grid import Grid, ProcessId


class Traffic(NamedTuple):
    """Joint executions of one kind.

    Attributes:
        operation: name of the operation.
        group_size: the number of processes that take part.
        operand_bytes: bytes of the operands of one process.
        result_bytes: bytes of the results of one process.
    """

    operation: str
    group_size: int
    operand_bytes: int
    result_bytes: int


class CountingTransport(LocalTransport):
    """Runs all processes here, and counts their joint executions and the values that they send.

    Args:
        grid: the grid.

    Attributes:
        traffic: how often each kind was executed, by one group each time.
    """

    def __init__(self, grid: Grid) -> None:
        super().__init__(grid)
        self.traffic: Counter[Traffic] = Counter()

    def execute(self, rendezvous: Rendezvous) -> None:
        super().execute(rendezvous)
        view, operands, pending = rendezvous.members[rendezvous.group[0]]
        self.traffic[Traffic(view.name, len(rendezvous.group), _bytes(operands), _bytes(pending.values))] += 1

    def send(self, route: Hashable, process: ProcessId, operation: Operation, values: Values) -> None:
        super().send(route, process, operation, values)
        self.traffic[Traffic(operation.name, 2, _bytes(values), _bytes(values))] += 1


def _bytes(values: Values) -> int:
    return sum(value.nbytes for value in values)
