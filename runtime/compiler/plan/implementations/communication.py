"""The implementation of operations by which processes communicate, which `nimblehlo.execution.grid` runs."""

from __future__ import annotations

from ....program.ops.collectives.base import CommunicatingOp
from ...implementation import Implementation, ImplementationKind, Runnable


class Communication(Implementation):
    """An operation that the grid runs.

    Attributes:
        view: the operation.
    """

    __slots__ = ("view",)

    kind = ImplementationKind.COMMUNICATION
    reason = "the grid runs it"

    def __init__(self, view: CommunicatingOp) -> None:
        self.view = view

    def prepare(self) -> Runnable:
        return self.view.reference
