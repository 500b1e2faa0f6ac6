"""Point-to-point and streaming communication, and the position of a process.

Source: specification, sections "send", "recv", "infeed", "outfeed", "replica_id", "partition_id".
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....errors import ExecutionError
from ....types import ELEMENT_TYPES, TENSOR, TOKEN, UNSIGNED, Array, TensorType, TokenType, Type
from ..framework.attribute_kinds import ATTRIBUTE, BOOL, CHANNEL_PAIRS, I64, STRING
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from .base import CommunicatingOp
from .movement import PairwiseOperation
from .process_grid import Grid


class ChannelType(enum.IntEnum):
    """The kinds of endpoints of a channel."""

    DEVICE_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    HOST_TO_DEVICE = 3


PROCESS_ID: Final = TensorType((), ELEMENT_TYPES["ui32"])


class ReplicaId(Op, name="stablehlo.replica_id", assembly="attr-dict : type($result)"):
    """The replica id of the process."""

    partition = "refuse"
    may_be_folded = False

    result = Result(UNSIGNED, rank=0)

    def infer(self) -> list[Type]:
        return [PROCESS_ID]

    def reference(self) -> Array:
        """The operation on a grid of one process."""
        return np.zeros((), np.uint32)


class PartitionId(ReplicaId, name="stablehlo.partition_id"):
    """The partition id of the process."""

    result = Result(UNSIGNED, rank=0)


class Channel(PairwiseOperation):
    """Base of `send` and `recv`."""

    channel_type: int | None
    is_host_transfer: bool
    allowed_host_types: ClassVar[Sequence[ChannelType]]

    def check_channel_type(self) -> str | None:
        """Why the channel's type does not fit, or None."""
        allowed = self.allowed_host_types if self.is_host_transfer else (ChannelType.DEVICE_TO_DEVICE,)
        if self.channel_type is None or self.channel_type in allowed:
            return None
        named = " or ".join(type.name for type in allowed)
        return (
            f"channel_type is {self.channel_type}, but must be {named} where "
            f"is_host_transfer = {str(self.is_host_transfer).lower()}"
        )

    def check_grid(self, grid: Grid) -> None:
        if self.is_host_transfer:
            return
        if not self.source_target_pairs:
            raise self.verify_error(
                "without source_target_pairs a transfer between devices is undefined behavior"
            )
        super().check_grid(grid)


class Send(Channel, name="stablehlo.send"):
    """Sends values to a channel."""

    allowed_host_types: ClassVar[Sequence[ChannelType]] = (ChannelType.DEVICE_TO_HOST,)

    inputs = Operand(TENSOR, variadic=True)
    token = Operand(TOKEN)
    channel_id = Attribute(I64, of="channel_handle", field="handle")
    channel_type = Attribute(I64, of="channel_handle", field="type")
    is_host_transfer = Attribute(BOOL, False)
    source_target_pairs = Attribute(CHANNEL_PAIRS, None)
    result = Result(TOKEN)

    @constraint
    def C5(self) -> str | None:
        """channel_type is DEVICE_TO_HOST where is_host_transfer = true, DEVICE_TO_DEVICE otherwise"""
        return self.check_channel_type()

    def infer(self) -> list[Type]:
        return [TokenType()]

    def reference(self, *operands: Any) -> Any:
        raise no_peer_error(self)


class Recv(Channel, name="stablehlo.recv"):
    """Receives values from a channel."""

    allowed_host_types: ClassVar[Sequence[ChannelType]] = (
        ChannelType.HOST_TO_DEVICE,
        ChannelType.DEVICE_TO_HOST,
    )

    token = Operand(TOKEN)
    channel_id = Attribute(I64, of="channel_handle", field="handle")
    channel_type = Attribute(I64, of="channel_handle", field="type")
    is_host_transfer = Attribute(BOOL, False)
    source_target_pairs = Attribute(CHANNEL_PAIRS, None)
    results = Result(TENSOR | TOKEN, variadic=True)

    @constraint
    def C5(self) -> str | None:
        """channel_type is that of a transfer with the host where is_host_transfer = true (the text of the
        specification says DEVICE_TO_HOST, its dialect HOST_TO_DEVICE), DEVICE_TO_DEVICE otherwise"""
        return self.check_channel_type()

    def infer(self) -> None:
        reason = token_comes_last(self.results)
        if reason is not None:
            raise self.verify_error(reason)

    def reference(self, token: Any) -> Any:
        raise no_peer_error(self)


class Infeed(CommunicatingOp, name="stablehlo.infeed"):
    """Reads values from the infeed."""

    token = Operand(TOKEN)
    infeed_config = Attribute(STRING, "")
    layout = Attribute(ATTRIBUTE, None)
    results = Result(TENSOR | TOKEN, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """0 < size(results)"""
        return None if self.results else "there are no results"

    @constraint
    def C2(self) -> str | None:
        """is_empty(results[:-1]) or is_tensor(type(results[:-1]))"""
        return payload_is_tensors(self.results)

    @constraint
    def C3(self) -> str | None:
        """is_token(type(results[-1]))"""
        return token_comes_last(self.results)

    def reference(self, token: Any) -> Any:
        raise no_peer_error(self)


class Outfeed(CommunicatingOp, name="stablehlo.outfeed"):
    """Writes values to the outfeed."""

    inputs = Operand(TENSOR, variadic=True)
    token = Operand(TOKEN)
    outfeed_config = Attribute(STRING, "")
    result = Result(TOKEN)

    def infer(self) -> list[Type]:
        return [TokenType()]

    def reference(self, *operands: Any) -> Any:
        raise no_peer_error(self)


def payload_is_tensors(results: Sequence[Type]) -> str | None:
    """All results but the last must be tensors."""
    for index, type in enumerate(results[:-1]):
        if not isinstance(type, TensorType):
            return f"results[{index}] is {type}, but must be a tensor"
    return None


def token_comes_last(results: Sequence[Type]) -> str | None:
    """The last result must be a token, the others tensors."""
    if not results:
        return "there are no results, but the last one must be a token"
    if not isinstance(results[-1], TokenType):
        return f"the last result is {results[-1]}, but must be a token"
    return payload_is_tensors(results)


def no_peer_error(op: Op) -> ExecutionError:
    """The error for communication of a process that runs outside of a grid."""
    return ExecutionError(
        "has no peer: the program does not run on a grid", operation=op.name, location=op.operation.location
    )
