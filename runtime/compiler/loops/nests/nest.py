"""A loop nest over elements as data: the computation of one native function, before it becomes LLVM IR.

All array accesses and iotas of a nest are affine maps of the loop indices. The computation of one element is
a list of nodes in topological order. Sizes, strides and offsets are arguments of the native function: nests
that differ in nothing else share their code (`nest_description`). `loop_schedule` transforms nests, and
`emission_plan` decides how a scheduled nest is emitted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Operation
from ....program.ir.affine import AffineExpr
from ....types import ElementType

MAX_CONSTANT_STRIDE = 7
"""Innermost strides up to this one are constants in the code: LLVM then loads whole vectors and shuffles."""


class Access(NamedTuple):
    """An access to an array; `index_map` is in elements. Operands are numbered before results."""

    array: int
    element_type: ElementType
    index_map: AffineExpr


class Load(NamedTuple):
    """The element of an access."""

    access: int


class Iota(NamedTuple):
    """The value of an affine map (its number in `Nest.iota_maps`), converted to an element type."""

    index_map: int
    element_type: ElementType


class Constant(NamedTuple):
    element_type: ElementType
    value: np.generic


class Apply(NamedTuple):
    """An elementwise operation applied to earlier nodes."""

    operation: Operation
    operands: tuple[int, ...]


class StartIndex(NamedTuple):
    """How a start index of a gather becomes an offset into the array.

    Attributes:
        max_index: the largest index in bounds; larger ones are clamped to it.
        stride: of the indexed dimension, in elements.
    """

    max_index: int
    stride: int


class GatherIndex(NamedTuple):
    """An index operand of a gather: its node, its element type, and the number of its `StartIndex`."""

    node: int
    element_type: ElementType
    start_index: int


class Gather(NamedTuple):
    """The element of an access whose address depends on index values.

    Attributes:
        access: the access for indices of 0.
        indices: at least one.
        fits_i32: whether all offsets into the array fit 32 bits.
    """

    access: int
    indices: tuple[GatherIndex, ...]
    fits_i32: bool


Node = Load | Iota | Constant | Apply | Gather


class Nest(NamedTuple):
    """A loop nest.

    Attributes:
        sizes: of the loops, outermost first; none is 0.
        accesses: of arrays; the last ones belong to `stores`, one each.
        iota_maps: affine maps of the `Iota` nodes.
        nodes: the computation of one element, in topological order.
        stores: numbers of the nodes that are written.
        start_indices: of the `Gather` nodes.
        slice_length: contiguous elements copied at each index of the loops; strides count single elements.
    """

    sizes: tuple[int, ...]
    accesses: tuple[Access, ...]
    iota_maps: tuple[AffineExpr, ...]
    nodes: tuple[Node, ...]
    stores: tuple[int, ...]
    start_indices: tuple[StartIndex, ...] = ()
    slice_length: int = 1

    @property
    def all_maps(self) -> list[AffineExpr]:
        """The maps of all accesses and iotas."""
        return [*(access.index_map for access in self.accesses), *self.iota_maps]

    @property
    def results(self) -> tuple[Access, ...]:
        """The accesses that are written."""
        return self.accesses[len(self.accesses) - len(self.stores) :]

    @property
    def gathers(self) -> bool:
        """Whether a node is a `Gather`."""
        return any(isinstance(node, Gather) for node in self.nodes)

    def with_loops(self, sizes: Sequence[int], all_maps: Sequence[AffineExpr]) -> Nest:
        pairs = zip(self.accesses, all_maps[: len(self.accesses)], strict=True)
        accesses = tuple([access._replace(index_map=index_map) for access, index_map in pairs])
        return self._replace(
            sizes=tuple(sizes), accesses=accesses, iota_maps=tuple(all_maps[len(self.accesses) :])
        )

    def with_order(self, order: Sequence[int]) -> Nest:
        """The nest with those of its loops, in that order; the others must have size 1."""
        all_maps = [
            AffineExpr(index_map.offset, tuple([index_map.strides[d] for d in order]))
            for index_map in self.all_maps
        ]
        return self.with_loops([self.sizes[d] for d in order], all_maps)


def is_copy(nest: Nest) -> bool:
    """Whether a nest copies an operand to its one result."""
    return nest.nodes == (Load(0),) and nest.stores == (0,)


def operand_nodes(node: Node) -> tuple[int, ...]:
    if isinstance(node, Apply):
        return node.operands
    if isinstance(node, Gather):
        return tuple([index.node for index in node.indices])
    return ()


def stride_class(stride: int) -> str:
    """The part of an innermost stride that the code depends on: a constant one, or "s" for any other."""
    return str(stride) if abs(stride) <= MAX_CONSTANT_STRIDE else "s"


def map_stride_class(index_map: AffineExpr) -> str:
    """The part of a map that the code depends on: "." if constant, else the class of its innermost stride."""
    return stride_class(index_map.strides[-1]) if any(index_map.strides) else "."
