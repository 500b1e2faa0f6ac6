"""Collectives that reduce values over the processes of a group.

THE TREE. The values of a group's processes, in the order of the group, are combined element by element by
adjacent pairs, level by level, an odd last one carried up as it is: the tree "blocked" of
`ops.reduction.reduction_tree` without an init value. Sums and products of floats narrower than f32 are
accumulated in f32 and rounded once, as reductions within a process are. The bits therefore depend on the
group alone, not on timing, nor on how values travel.

Source: specification, sections "all_reduce", "reduce_scatter", "collective_reduce".
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import DYNAMIC, Array, TensorType, Type
from ...ir import Region as IrRegion
from ..framework import constraints, rules
from ..framework.attribute_kinds import FLAG, I64
from ..framework.declaration import Attribute, Constraint, Evaluate, Operand, Region, Result, constraint
from ..reduction.reducer import Body
from .base import (
    TENSORS,
    Collective,
    Member,
    Rooted,
    Values,
    WithGlobalIds,
    global_ids_need_channel,
    ids_cover_range,
    unique_ids,
    zeros,
)
from .movement import resized
from .process_grid import Grid, GroupMode, ProcessId
from .replica_groups import REPLICA_GROUPS

CHUNK_ELEMENTS: Final = 1 << 15
"""Elements that are reduced at a time, so that the values of all levels of the tree stay in the cache."""


Node = tuple[int, int]
"""A node of the tree: its level, 0 for the values themselves, and its number within the level."""


def own_nodes(count: int, positions: Sequence[int]) -> dict[Node, list[int]]:
    """The highest nodes of the tree whose values are all at given positions, and those positions.

    Args:
        count: the number of values in the tree.
        positions: positions of values.
    """
    level, nodes = 0, {(0, position): [position] for position in positions}
    current = dict(nodes)
    while (count - 1) >> level:
        above: dict[Node, list[int]] = {}
        for index in range(((count - 1) >> (level + 1)) + 1):
            children = [(level, 2 * index), (level, 2 * index + 1)]
            if children[1][1] > (count - 1) >> level:
                children.pop()
            if all(child in current for child in children):
                above[level + 1, index] = [each for child in children for each in current[child]]
                for child in children:
                    nodes.pop(child, None)
        nodes.update(above)
        level, current = level + 1, above
    return nodes


class ProcessReduction(NamedTuple):
    """The reduction of one operand over processes.

    Attributes:
        body: the analyzed computation.
        function: evaluates it.
        type: the operand's type.
        accumulate: `Options.accumulate`.
    """

    body: Body
    function: Evaluate
    type: TensorType
    accumulate: str

    def reduce(
        self, nodes: Mapping[Node, Array], count: int, root: Node | None = None, out: Array | None = None
    ) -> Array:
        """Combine nodes of the tree, element by element.

        Args:
            nodes: flat arrays: operands at level 0, and above it results of this method with that `root`.
            count: the number of values in the whole tree.
            root: the node to compute, above level 0, without rounding to the result's type; None: the result.
            out: a flat array for the result; None: a new one.
        """
        reducer = self.body.reducer(self.function, self.accumulate)
        size = next(iter(nodes.values())).size
        dtype = self.body.element_types[0].dtype if root is None else reducer.dtypes[0]
        result = np.empty(size, dtype) if out is None else out
        top = root or (max(0, (count - 1).bit_length()), 0)
        for start in range(0, size, CHUNK_ELEMENTS):
            chunk = slice(start, start + CHUNK_ELEMENTS)

            def value(node: Node, chunk: slice = chunk) -> tuple[Array, ...]:
                level, index = node
                if node in nodes:
                    values = (nodes[node][chunk],)
                    return values if level else self.body.enter(values, (self.type,), reducer)
                left = value((level - 1, 2 * index), chunk)
                if (2 * index + 1) << (level - 1) >= count:
                    return left
                right = value((level - 1, 2 * index + 1), chunk)
                return reducer.combine(left, right)

            combined = value(top)
            (result[chunk],) = combined if root else self.body.leave(combined, reducer)
        return result


def computation_combines(name: str) -> Constraint:
    """The computation must combine two elements to one, to which those of each operand are promotable."""

    def check(view: Reducing) -> str | None:
        operands = [type for _, type in constraints.named_types(view, [name])]
        return rules.first(
            *(rules.body_type_is("computation", view.computation, [operand], []) for operand in operands)
        )

    return Constraint(
        check,
        "computation has type (tensor<E>, tensor<E>) -> tensor<E>, "
        "and is_promotable(element_type(operand), E)",
    )


def element_types_are(name: str) -> Constraint:
    """Each result must have the element type that the computation returns."""

    def check(view: Reducing) -> str | None:
        (returned,) = view.computation.type.results
        assert isinstance(returned, TensorType)
        results = constraints.named_types(view, [name])
        return rules.first(
            *(rules.same_element_type(*result, "the output of computation", returned) for result in results)
        )

    return Constraint(check, f"element_type({name}) = E")


class Reducing(Collective):
    """Base of collectives with a computation."""

    computation: Region[IrRegion]

    @functools.cached_property
    def body(self) -> Body:
        """The analyzed computation."""
        return Body(self.computation)

    def reduction(self, type: TensorType, computation: Evaluate) -> ProcessReduction:
        return ProcessReduction(self.body, computation, type, self.ordering.accumulate)

    def reduced(self, values: Sequence[Array], type: TensorType, computation: Evaluate) -> Array:
        """The values of processes, combined by the tree."""
        nodes = {(0, index): np.ascontiguousarray(value).reshape(-1) for index, value in enumerate(values)}
        return self.reduction(type, computation).reduce(nodes, len(values)).reshape(values[0].shape)

    def reduced_type(self, type: TensorType) -> TensorType:
        """The type of an operand's reduction."""
        (returned,) = self.computation.type.results
        assert isinstance(returned, TensorType)
        return TensorType(type.shape, returned.element_type)


class AllReduce(Reducing, WithGlobalIds, name="stablehlo.all_reduce"):
    """Combines the values of each process of a group; all of its processes get the result."""

    size_label: ClassVar[str] = "C2"
    range_label: ClassVar[str] = "C3"

    operands = Operand(TENSORS, variadic=True)
    replica_groups = Attribute(REPLICA_GROUPS)
    channel_id = Attribute(I64, None, of="channel_handle", field="handle")
    use_global_device_ids = Attribute(FLAG, False)
    computation = Region()
    channel_type = Attribute(I64, None, of="channel_handle", field="type")
    results = Result(TENSORS, variadic=True)

    C1 = unique_ids()
    C2_C3 = ids_cover_range(may_be_ragged=True)
    C4 = global_ids_need_channel()
    C5 = computation_combines("operands")

    @constraint
    def C6(self) -> str | None:
        """shape(results...) = shape(operands...)"""
        return shapes_are(self.results, self.operands)

    C7 = element_types_are("results")

    def infer(self) -> list[Type]:
        return [self.reduced_type(type) for type in self.operands]

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        computation = regions["computation"]
        reduced = tuple(
            self.reduced(values, type, computation)
            for values, type in zip(zip(*payloads, strict=True), self.operands, strict=True)
        )
        return [reduced] * len(receivers)


def shapes_are(results: Sequence[TensorType], operands: Sequence[TensorType]) -> str | None:
    """Each result must have the shape of its operand."""
    pairs = enumerate(zip(results, operands, strict=False))
    return rules.length_is("results", len(results), len(operands), "the number of operands") or rules.first(
        *(
            rules.same_shape(f"results[{index}]", result, f"the shape of operands[{index}]", operand.shape)
            for index, (result, operand) in pairs
        )
    )


class ReduceScatter(Reducing, WithGlobalIds, name="stablehlo.reduce_scatter"):
    """Combines the values of each process of a group; each of its processes gets one slice of the result."""

    size_label: ClassVar[str] = "C4"
    range_label: ClassVar[str] = "C5"

    operand = Operand(TENSORS)
    scatter_dimension = Attribute(I64)
    replica_groups = Attribute(REPLICA_GROUPS)
    channel_id = Attribute(I64, None, of="channel_handle", field="handle")
    use_global_device_ids = Attribute(FLAG, False)
    computation = Region()
    channel_type = Attribute(I64, None, of="channel_handle", field="type")
    result = Result(TENSORS)

    C2 = constraints.dimensions_of("scatter_dimension", "operand")

    @constraint
    def C1(self) -> str | None:
        """dim(operand, scatter_dimension) % dim(process_groups, 1) = 0"""
        return self._divides(self.process_group_size())

    C3 = unique_ids()
    C4_C5 = ids_cover_range()
    C6 = global_ids_need_channel()
    C7 = computation_combines("operand")

    @constraint
    def C8(self) -> str | None:
        """shape(result) = shape(operand) except for dim(result, scatter_dimension), which is
        dim(operand, scatter_dimension) / dim(process_groups, 1)"""
        return self._shape_mismatch(self.process_group_size())

    C9 = element_types_are("result")

    def _divides(self, group_size: int | None) -> str | None:
        size = self.operand.shape[self.scatter_dimension]
        if group_size == 0:
            return "replica_groups has groups without ids, so there are no slices of the result"
        if group_size is None or size == DYNAMIC or not size % group_size:
            return None
        return f"operand has size {size} in scatter_dimension, which groups of {group_size} do not divide"

    def _scattered(self, group_size: int | None) -> TensorType:
        axis = self.scatter_dimension
        size = self.operand.shape[axis]
        divided = size // group_size if group_size and size != DYNAMIC else DYNAMIC
        return resized(self.reduced_type(self.operand), {axis: divided})

    def _shape_mismatch(self, group_size: int | None) -> str | None:
        return rules.shape_is("result", self.result, self._scattered(group_size).shape)

    def check_grid(self, grid: Grid) -> None:
        super().check_grid(grid)
        for group in self.groups(grid):
            for label, reason in (
                ("C1", self._divides(len(group))),
                ("C8", self._shape_mismatch(len(group))),
            ):
                if reason is not None:
                    raise self.verify_error(f"{reason}: the grid is {grid}", label)

    def infer(self) -> list[Type]:
        return [self._scattered(self.process_group_size())]

    def payload(self, member: Member, operands: Values, receivers: Sequence[int]) -> Values:
        split = np.split(operands[0], member.group_size, self.scatter_dimension)
        return tuple(split[receiver] for receiver in receivers)

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        computation = regions["computation"]
        return [(self.reduced(values, self.operand, computation),) for values in zip(*payloads, strict=True)]


class CollectiveReduce(Reducing, Rooted, name="stablehlo.collective_reduce"):
    """Combines the values of each process of a group; its root gets the result, the others zeros."""

    operands = Operand(TENSORS, variadic=True)
    replica_groups = Attribute(REPLICA_GROUPS)
    channel_id = Attribute(I64, None, of="channel_handle", field="handle")
    has_dynamic_root = Attribute(FLAG, False)
    computation = Region()
    channel_type = Attribute(I64, None, of="channel_handle", field="type")
    use_global_device_ids = Attribute(FLAG, False)
    results = Result(TENSORS, variadic=True)

    @property
    def mode(self) -> GroupMode:
        """The dialect has flattened ids here as well, which the specification does not list."""
        return GroupMode.FLATTENED_IDS if self.use_global_device_ids else super().mode

    C1 = unique_ids()

    @constraint
    def C2(self) -> str | None:
        """0 <= replica_groups < N, the number of ids of the group mode"""
        return rules.at_least(0, "replica_groups", self.replica_groups.ids)

    @constraint
    def C3(self) -> str | None:
        """shape(results...) = shape(operands...), without the last operand where has_dynamic_root = true,
        which names a root for each of the others"""
        mismatch = self.roots_mismatch() if self.has_dynamic_root else None
        return mismatch or shapes_are(self.results, self.data_operands)

    C4 = computation_combines("data_operands")

    def infer(self) -> list[Type]:
        return [self.reduced_type(type) for type in self.data_operands]

    def payload(self, member: Member, operands: Values, receivers: Sequence[int]) -> Values:
        """All operands where a receiver may be a root."""
        return operands if self.has_dynamic_root or 0 in receivers else ()

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        types = self.data_operands
        results = {receiver: list(self.results_outside(ProcessId(0, 0))) for receiver in receivers}
        roots = self.roots(payloads[0], len(payloads), "C3") if payloads[0] else []
        for index, (root, type) in enumerate(zip(roots, types, strict=False)):
            if root in results:
                values = [operands[index] for operands in payloads]
                results[root][index] = self.reduced(values, type, regions["computation"])
        return [tuple(results[receiver]) for receiver in receivers]

    def results_outside(self, process: ProcessId) -> Values:
        return tuple(zeros(self.reduced_type(type)) for type in self.data_operands)
