"""`nimblehlo.ragged_all_to_all`: what specialization makes of JAX's custom call `ragged_all_to_all`.

The four vectors have an element for each slice that a process sends, as many for each receiver, in the order
of the group. Slice i is ``operand[input_offsets[i]:][:send_sizes[i]]``; its receiver writes it to
``output[output_offsets[i]:]``, where the offset is the sender's. `recv_sizes` says what sizes come in, in the
order of the senders. Elements that no sender writes keep the values of `output`. Where slices overlap, that
of the later sender, and of one sender the later slice, is kept.

Source: JAX, `jax.lax.ragged_all_to_all`; XLA's operation of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....errors import counted
from ....kernels.named_tuples import NamedTuple
from ....types import DYNAMIC, INTEGER, PLAIN, Array, TensorType, Type
from ..framework import rules
from ..framework.attribute_kinds import I64
from ..framework.declaration import Attribute, Operand, Result, constraint
from .base import Collective, Member, Values, ids_cover_range, unique_ids
from .replica_groups import REPLICA_GROUPS

_ARRAYS_PER_RECEIVER: Final = 3


class _Received(NamedTuple):
    """The data that one process sends to another one.

    Attributes:
        data: the concatenated slices.
        offsets: where each goes.
        sizes: the size of each.
    """

    data: Array
    offsets: Array
    sizes: Array


class RaggedAllToAll(Collective, name="nimblehlo.ragged_all_to_all"):
    """Sends slices of different sizes to the processes of the group, which write them into `output`."""

    size_label: ClassVar[str] = "C6"
    range_label: ClassVar[str] = "C7"

    operand = Operand(PLAIN)
    output = Operand(PLAIN)
    input_offsets = Operand(INTEGER)
    send_sizes = Operand(INTEGER)
    output_offsets = Operand(INTEGER)
    recv_sizes = Operand(INTEGER)
    replica_groups = Attribute(REPLICA_GROUPS)
    channel_id = Attribute(I64, None)
    result = Result(PLAIN)

    @constraint
    def C1(self) -> str | None:
        """rank(operand) >= 1, and type(output) = type(operand) except for dim(output, 0)"""
        operand, output = self.operand, self.output
        if not operand.rank or operand.rank != output.rank or operand.element_type != output.element_type:
            return f"operand is {operand}, output is {output}"
        pairs = zip(operand.shape[1:], output.shape[1:], strict=True)
        agree = all(rules.sizes_agree(a, b) for a, b in pairs)
        return None if agree else f"operand is {operand}, output is {output}"

    @constraint
    def C2(self) -> str | None:
        """type(result) = type(output)"""
        return rules.type_is("result", self.result, self.output)

    @constraint
    def C3(self) -> str | None:
        """input_offsets, send_sizes, output_offsets and recv_sizes are vectors of one type"""
        vectors = self._vectors()
        if all(vector == vectors[0] for vector in vectors) and vectors[0].rank == 1:
            return None
        return f"they are {rules.types_text(vectors)}"

    @constraint
    def C4(self) -> str | None:
        """dim(input_offsets, 0) is a multiple of dim(replica_groups, 1), which is the same for all groups"""
        if self.replica_groups.rows is None or not self.replica_groups.rows:
            return None
        size, count = self.replica_groups.group_size, self.input_offsets.shape[0]
        if size is None:
            return "replica_groups has groups of different sizes"
        if count != DYNAMIC and (count % size or not count):
            return f"has {counted(count, 'slice')} for groups of {size}"
        return None

    C5 = unique_ids()
    C6_C7 = ids_cover_range()

    def _vectors(self) -> list[TensorType]:
        return [self.input_offsets, self.send_sizes, self.output_offsets, self.recv_sizes]

    def infer(self) -> list[Type]:
        return [self.output]

    def payload(self, member: Member, operands: Values, receivers: Sequence[int]) -> Values:
        """The slices of each receiver with their offsets and sizes, then `output` and `recv_sizes`.

        The last two serve the process itself: others get none.
        """
        operand, output, inputs, sizes, outputs, recv_sizes = operands
        count = len(inputs) // member.group_size
        arrays: list[Array] = []
        for receiver in receivers:
            own = slice(receiver * count, (receiver + 1) * count)
            ranges = list(zip(inputs[own].tolist(), sizes[own].tolist(), strict=True))
            self._require_within("input_offsets", ranges, len(operand), "the operand")
            slices = [operand[first : first + size] for first, size in ranges]
            arrays += [np.concatenate([operand[:0], *slices]), outputs[own], sizes[own]]
        is_own = member.position in receivers
        return (*arrays, output if is_own else output[:0], recv_sizes if is_own else recv_sizes[:0])

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        results: list[Values] = []
        for index, receiver in enumerate(receivers):
            first = _ARRAYS_PER_RECEIVER * index
            received = [_Received(*arrays[first : first + _ARRAYS_PER_RECEIVER]) for arrays in payloads]
            *_, output, recv_sizes = payloads[receiver]
            results.append((self._written(np.array(output), received, recv_sizes),))
        return results

    def _written(self, result: Array, received: Sequence[_Received], recv_sizes: Array) -> Array:
        """An array with the slices of all senders written into it.

        Raises:
            ExecutionError: a size is not the one that is expected, or a slice does not lie within the array.
        """
        sent = np.concatenate([each.sizes for each in received])
        if not np.array_equal(sent, recv_sizes):
            raise self.execution_error(
                f"recv_sizes are {recv_sizes.tolist()}, but the sizes sent {sent.tolist()}", "C9"
            )
        for each in received:
            ranges = list(zip(each.offsets.tolist(), each.sizes.tolist(), strict=True))
            self._require_within("output_offsets", ranges, len(result), "the output")
            position = 0
            for first, size in ranges:
                result[first : first + size] = each.data[position : position + size]
                position += size
        return result

    def _require_within(self, name: str, ranges: Sequence[tuple[int, int]], size: int, what: str) -> None:
        """Slices must lie within an array.

        Raises:
            ExecutionError: one does not.
        """
        for first, count in ranges:
            if count < 0 or not 0 <= first <= size - count:
                reason = (
                    f"{name}: a slice "
                    f"of {count} from {first} on is not within {what}, which has {counted(size, 'row')}"
                )
                raise self.execution_error(reason, "C8")
