"""Collectives that move values between processes as they are.

Source: specification, sections "all_gather", "all_to_all", "collective_broadcast", "collective_permute".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....errors import counted
from ....types import DYNAMIC, Array, TensorType, Type
from ..framework import constraints, rules
from ..framework.attribute_kinds import FLAG, I64, PADDING
from ..framework.declaration import Attribute, Operand, Result, constraint
from .base import (
    TENSORS,
    Collective,
    CommunicatingOp,
    Member,
    Rooted,
    Values,
    WithGlobalIds,
    global_ids_need_channel,
    ids_cover_range,
    unique_ids,
    zeros,
)
from .process_grid import ONE_PROCESS, Grid, ProcessId
from .replica_groups import REPLICA_GROUPS


def scaled(size: int, factor: int | None) -> int:
    """A size times a factor, unknown where one of them is."""
    return DYNAMIC if size == DYNAMIC or factor is None else size * factor


def resized(type: TensorType, sizes: dict[int, int]) -> TensorType:
    """A type with other sizes of some dimensions."""
    return type.with_shape([sizes.get(axis, size) for axis, size in enumerate(type.shape)])


def types_are(results: Sequence[Type], expected: Sequence[Type]) -> str | None:
    """The results must have the expected types."""
    if len(results) != len(expected):
        return f"has {counted(len(results), 'result')}, but must have {len(expected)}"
    pairs = enumerate(zip(results, expected, strict=True))
    return rules.first(*(rules.type_is(f"results[{index}]", result, type) for index, (result, type) in pairs))


class AllGather(WithGlobalIds, name="stablehlo.all_gather"):
    """Concatenates the values of each process of a group."""

    size_label: ClassVar[str] = "C3"
    range_label: ClassVar[str] = "C4"

    operands = Operand(TENSORS, variadic=True)
    all_gather_dim = Attribute(I64)
    replica_groups = Attribute(REPLICA_GROUPS)
    channel_id = Attribute(I64, None, of="channel_handle", field="handle")
    use_global_device_ids = Attribute(FLAG, False)
    channel_type = Attribute(I64, None, of="channel_handle", field="type")
    results = Result(TENSORS, variadic=True)

    C1 = constraints.dimensions_of("all_gather_dim", "operands")
    C2 = unique_ids()
    C3_C4 = ids_cover_range()
    C5 = global_ids_need_channel()

    @constraint
    def C6(self) -> str | None:
        """type(results...) = type(operands...) except for dim(results..., all_gather_dim), which is
        dim(operands..., all_gather_dim) * dim(process_groups, 1)"""
        mismatch = types_are(self.results, self._gathered(self.process_group_size()))
        if mismatch is not None or self.process_group_size() is not None:
            return mismatch
        axis = self.all_gather_dim
        pairs = zip(self.operands, self.results, strict=True)
        sizes = [(operand.shape[axis], result.shape[axis]) for operand, result in pairs]
        for size, gathered in sizes:
            if DYNAMIC not in (size, gathered) and (gathered % size if size else gathered):
                return f"a result has size {gathered} in all_gather_dim, which is not a multiple of {size}"
        return None

    def _gathered(self, factor: int | None) -> list[Type]:
        axis = self.all_gather_dim
        return [resized(type, {axis: scaled(type.shape[axis], factor)}) for type in self.operands]

    def check_grid(self, grid: Grid) -> None:
        super().check_grid(grid)
        for group in self.groups(grid):
            reason = types_are(self.results, self._gathered(len(group)))
            if reason is not None:
                raise self.verify_error(f"{reason}: the grid is {grid}", "C6")

    def infer(self) -> list[Type]:
        return self._gathered(self.process_group_size())

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        axis = self.all_gather_dim
        gathered = tuple(np.concatenate(each, axis=axis) for each in zip(*payloads, strict=True))
        return [gathered] * len(receivers)


class AllToAll(Collective, name="stablehlo.all_to_all"):
    """Scatters blocks of each process's value to the processes of the group, which concatenate them."""

    size_label: ClassVar[str] = "C6"
    range_label: ClassVar[str] = "C7"

    operands = Operand(TENSORS, variadic=True)
    split_dimension = Attribute(I64)
    concat_dimension = Attribute(I64)
    split_count = Attribute(I64)
    replica_groups = Attribute(REPLICA_GROUPS)
    channel_id = Attribute(I64, None, of="channel_handle", field="handle")
    channel_type = Attribute(I64, None, of="channel_handle", field="type")
    results = Result(TENSORS, variadic=True)

    C1 = constraints.dimensions_of("split_dimension", "operands")
    C4 = constraints.positive("split_count")

    @constraint
    def C2(self) -> str | None:
        """dim(operands..., split_dimension) % split_count = 0"""
        for index, operand in enumerate(self.operands):
            size = operand.shape[self.split_dimension]
            if size != DYNAMIC and size % self.split_count:
                return (
                    f"operands[{index}] has size {size} in split_dimension, "
                    f"which split_count = {self.split_count} does not divide"
                )
        return None

    C3 = constraints.dimensions_of("concat_dimension", "operands")
    C5 = unique_ids()
    C6_C7 = ids_cover_range()

    @constraint
    def C8(self) -> str | None:
        """dim(replica_groups, 1) = split_count"""
        size = self.replica_groups.group_size
        if self.replica_groups.rows is None or size == self.split_count:
            return None
        ids = "other numbers of ids" if size is None else counted(size, "id")
        return f"replica_groups has groups of {ids}, but split_count is {self.split_count}"

    @constraint
    def C9(self) -> str | None:
        """type(results...) = type(operands...) but, where split_dimension != concat_dimension, for
        dim(results..., split_dimension) = dim(operands..., split_dimension) / split_count and
        dim(results..., concat_dimension) = dim(operands..., concat_dimension) * split_count"""
        return types_are(self.results, self.infer())

    def infer(self) -> list[Type]:
        return [self._exchanged(type) for type in self.operands]

    def _exchanged(self, type: TensorType) -> TensorType:
        split, concat = self.split_dimension, self.concat_dimension
        if split == concat:
            return type
        size = type.shape[split]
        divided = size if size == DYNAMIC else size // self.split_count
        return resized(type, {split: divided, concat: scaled(type.shape[concat], self.split_count)})

    def payload(self, member: Member, operands: Values, receivers: Sequence[int]) -> Values:
        """For each operand, in sequence, the block of each receiver."""
        split = [np.split(value, self.split_count, self.split_dimension) for value in operands]
        return tuple(blocks[receiver] for blocks in split for receiver in receivers)

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        count = len(receivers)
        return [
            tuple(
                np.concatenate([payload[first + index] for payload in payloads], axis=self.concat_dimension)
                for first in range(0, count * len(self.operands), count)
            )
            for index in range(count)
        ]


class CollectiveBroadcast(Rooted, name="stablehlo.collective_broadcast"):
    """Hands the values of one process of each group to all of its processes."""

    operands = Operand(TENSORS, variadic=True)
    replica_groups = Attribute(REPLICA_GROUPS)
    channel_id = Attribute(I64, None, of="channel_handle", field="handle")
    has_dynamic_root = Attribute(FLAG, False)
    channel_type = Attribute(I64, None, of="channel_handle", field="type")
    results = Result(TENSORS, variadic=True)

    C1 = unique_ids()

    @constraint
    def C2(self) -> str | None:
        """0 <= replica_groups < N, the number of ids of the group mode"""
        if self.replica_groups.is_ragged:
            return "replica_groups has the id -1"
        return rules.at_least(0, "replica_groups", self.replica_groups.ids)

    @constraint
    def C3(self) -> str | None:
        """If has_dynamic_root = false, size(operands) >= 1 and type(results[j]) = type(operands[j])"""
        if self.has_dynamic_root:
            return None
        return types_are(self.results[: len(self.operands)], self.operands[: len(self.results)]) or (
            None if self.operands else "operands is empty"
        )

    @constraint
    def C4(self) -> str | None:
        """If has_dynamic_root = true, size(operands) >= 2, the last operand is a
        tensor<[size(operands)-1]xi32> and type(results[j]) = type(operands[j]) for the others"""
        if not self.has_dynamic_root:
            return None
        return self.roots_mismatch() or types_are(
            self.results[: len(self.operands) - 1], self.data_operands[: len(self.results)]
        )

    @constraint
    def C5(self) -> str | None:
        """size(results) = size(operands) - (has_dynamic_root ? 1 : 0)"""
        return rules.length_is(
            "results", len(self.results), len(self.data_operands), "the number of values sent"
        )

    def infer(self) -> list[Type]:
        return [*self.data_operands]

    def payload(self, member: Member, operands: Values, receivers: Sequence[int]) -> Values:
        """All operands of a process that may be a root."""
        return operands if self.has_dynamic_root or member.position == 0 else ()

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        if not self.has_dynamic_root:
            return [tuple(payloads[0])] * len(receivers)
        return [
            tuple(
                payloads[root][index]
                for index, root in enumerate(self.roots(payloads[receiver], len(payloads), "C6"))
            )
            for receiver in receivers
        ]

    def results_outside(self, process: ProcessId) -> Values:
        return tuple(map(zeros, self.data_operands))


class PairwiseOperation(CommunicatingOp):
    """Base of operations whose processes send along pairs of a source and a target."""

    source_target_pairs: Attribute[Any]
    range_label: ClassVar[str] = "C4"

    def routes(self, grid: Grid) -> list[tuple[ProcessId, ProcessId]]:
        """The pairs of processes of which the first sends to the second."""
        groups = self.mode.groups(self.source_target_pairs or (), grid)
        return [(source, target) for source, target in groups]

    def check_grid(self, grid: Grid) -> None:
        name, count = self.mode.id_count(grid)
        reason = rules.in_range("source_target_pairs", self._ids(), 0, count, name)
        if reason is not None:
            raise self.verify_error(f"{reason}: the grid is {grid}", self.range_label)

    def _ids(self) -> list[int]:
        return [identifier for pair in self.source_target_pairs or () for identifier in pair]

    @constraint
    def C1(self) -> str | None:
        """dim(source_target_pairs, 1) = 2"""
        for pair in self.source_target_pairs or ():
            if len(pair) != 2:
                return f"source_target_pairs has rows of {counted(len(pair), 'id')}, but must have rows of 2"
        return None

    @constraint
    def C2(self) -> str | None:
        """is_unique(source_target_pairs[:, 0])"""
        return self._unique_in_column(0)

    @constraint
    def C3(self) -> str | None:
        """is_unique(source_target_pairs[:, 1])"""
        return self._unique_in_column(1)

    @constraint
    def C4(self) -> str | None:
        """0 <= source_target_pairs < N, the number of ids of the group mode"""
        return rules.at_least(0, "source_target_pairs", self._ids())

    def _unique_in_column(self, column: int) -> str | None:
        """Why an id is a source (column 0) or a target (column 1) twice, or None."""
        ids = [pair[column] for pair in self.source_target_pairs or ()]
        return rules.unique(f"source_target_pairs[:, {column}]", ids)


class CollectivePermute(PairwiseOperation, name="stablehlo.collective_permute"):
    """Sends the value of each source process to its target process."""

    operand = Operand(TENSORS)
    source_target_pairs = Attribute(PADDING)
    channel_id = Attribute(I64, None, of="channel_handle", field="handle")
    channel_type = Attribute(I64, None, of="channel_handle", field="type")
    result = Result(TENSORS)

    C5 = constraints.same_type("result", "operand")

    def infer(self) -> list[Type]:
        return [self.operand]

    def reference(self, operand: Array) -> Array:
        """The operation on a grid of one process."""
        return operand if self.routes(ONE_PROCESS) else zeros(self.result)
