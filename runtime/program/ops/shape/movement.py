"""Maps each result element of a data-movement operation to the operand element that it copies.

Each operation declares it once (`MovementOp.movement_maps`), as affine functions of the result's indices, for
loop fusion, code for small arrays, sharding and bounds of integers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....types import TensorType
from ...ir.affine import AffineExpr, identity_map
from ...ir.record import Record
from ..framework.declaration import Op


class MovementMap(Record):
    """A box of a result whose elements are copies of one operand's elements.

    Attributes:
        operand: its number.
        starts, sizes, strides: of the box, by dimension of the result: the indices `starts + k * strides` for
            k in [0, sizes).
        indices: along each dimension of the operand, affine in k.
    """

    operand: int
    indices: tuple[AffineExpr, ...]
    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def result_indices(self) -> tuple[AffineExpr, ...]:
        """The index along each dimension of the result, affine in k."""
        identity = identity_map(len(self.sizes))
        boxes = zip(identity, self.strides, self.starts, strict=True)
        return tuple([index.scaled(stride, start) for index, stride, start in boxes])

    @property
    def result_dims(self) -> list[int | None]:
        """The dimension of the result that has the same index, for each dimension of the operand; None for a
        constant index.

        Raises:
            ValueError: an index is another function.
        """
        identity = identity_map(len(self.sizes))
        return [identity.index(index) if any(index.strides) else None for index in self.indices]

    def depends_on(self, dimension: int) -> list[int]:
        """The operand's dimensions whose index depends on the index along a dimension of the result."""
        return [d for d, index in enumerate(self.indices) if index.strides[dimension]]


def full_result_map(operand: int, indices: Sequence[AffineExpr], result: TensorType) -> MovementMap:
    """The map of an operand that fills the whole result."""
    return MovementMap(operand, tuple(indices), result.shape, (0,) * result.rank, (1,) * result.rank)


class MovementOp(Op):
    """Base of operations whose result consists of elements of operands, whatever their values."""

    moved_operands = slice(1)
    block_rule = "scalars.movement.MOVE"

    def movement_maps(self) -> list[MovementMap] | None:
        """The positions of the result's elements in the operands; None if they are not affine functions.

        Where boxes overlap, the first map counts. All types are static.
        """
        raise NotImplementedError

    def only_map(self) -> MovementMap:
        """The map of an operation whose result consists of elements of one operand."""
        maps = self.movement_maps()
        assert maps is not None
        (movement_map,) = maps
        return movement_map

    def element_map(self, indices: Sequence[AffineExpr]) -> list[MovementMap]:
        """The one map of an operation whose result copies its first operand's elements at `indices`."""
        return [full_result_map(0, indices, self.result)]  # type: ignore[attr-defined]


def reshape_groups(
    shape: Sequence[int], result_shape: Sequence[int]
) -> list[tuple[list[int], list[int]]] | None:
    """The smallest groups of a reshape's operand dimensions, each with the result dimensions that it becomes.

    Dimensions of size 1 are in no group. None if a size of 0 allows for several groupings.
    """
    groups: list[tuple[list[int], list[int]]] = []
    left = [d for d, size in enumerate(shape) if size != 1]
    right = [d for d, size in enumerate(result_shape) if size != 1]
    while left and right:
        group = [left.pop(0)], [right.pop(0)]
        size, result_size = shape[group[0][0]], result_shape[group[1][0]]
        while size != result_size:
            rest = left if size < result_size else right
            if not rest:
                return None
            if rest is left:
                group[0].append(left.pop(0))
                size *= shape[group[0][-1]]
            else:
                group[1].append(right.pop(0))
                result_size *= result_shape[group[1][-1]]
        groups.append(group)
    return None if left or right else groups


def dims_through_reshape(shape: Sequence[int], result_shape: Sequence[int]) -> dict[int, int] | None:
    """The result dimension of each operand dimension under a reshape that only adds or drops unit dimensions.

    Dimensions of size 1 are left out. None for any other reshape.
    """
    groups = reshape_groups(shape, result_shape)
    if groups is None or any(len(dims) > 1 or len(result_dims) > 1 for dims, result_dims in groups):
        return None
    return {dims[0]: result_dims[0] for dims, result_dims in groups}
