"""Code of elementwise operations for any rows and columns of a matrix: the epilogues of kernels.

Rows are the indices along all dimensions of the result but the last, in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ....kernels.launch.block_code import BlockCode
from ....program.ir import Block
from ....program.ir.affine import AffineExpr
from ...cost_model import estimate
from ...implementation import NoCode
from .nest_code import NestCode

if TYPE_CHECKING:
    from .nest import Nest

_MAX_ACCESSES: Final = 24
"""Maximum accesses to arrays: each takes three of the 96 arguments that `epilogue.h` has memory for."""
_SIZES: Final = (8, 256)
"""Maximum rows and columns by which the code is chosen: it is called for blocks that the caches hold."""


def matrix_nest(block: Block) -> Nest:
    """The nest of a block with one loop over rows and one over columns.

    Args:
        block: see `nests_of`; it returns one value.

    Raises:
        NoCode: there are several nests, the address of an element is not affine in its row and column, or the
            value depends on these.
    """
    nests = NestCode(block, None).nests.unscheduled
    if len(nests) != 1:
        raise NoCode("several loop nests")
    nest: Nest = nests[0]
    if nest.iota_maps or nest.gathers or len(nest.accesses) > _MAX_ACCESSES:
        raise NoCode("elements depend on their indices, or on too many arrays")
    *outer, columns = nest.sizes
    rows = [(d, size) for d, size in enumerate(outer) if size != 1]
    maps = [_matrix_map(access.index_map, rows) for access in nest.accesses]
    row_count = 1
    for _, size in rows:
        row_count *= size
    return nest.with_loops([min(row_count, _SIZES[0]), min(columns, _SIZES[1])], maps)


def _matrix_map(index_map: AffineExpr, rows: Sequence[tuple[int, int]]) -> AffineExpr:
    """A map of the loops as one of a row and a column, given the loops over rows, with their sizes."""
    strides = index_map.strides
    if any(strides[outer] != strides[inner] * size for (outer, _), (inner, size) in pairwise(rows)):
        raise NoCode("rows of an array have several distances")
    if strides[-1] not in (0, 1):
        raise NoCode("columns of an array are not contiguous")
    return AffineExpr(index_map.offset, (strides[rows[-1][0]] if rows else 0, strides[-1]))


def block_code(block: Block) -> BlockCode:
    """The compiled code of a block that has a `matrix_nest`."""
    from ..llvm.machine import function_address, key_of
    from .emission_plan import BlockShape
    from .nest_description import nest_description
    from .nest_emitter import NAME, integer_args, nest_ir

    nest = matrix_nest(block)
    # Rows of a block may be short: a loop that computes several vectors at a time leaves much of them over.
    key = key_of(f"one vector at a time\n{nest_description(nest)}")
    address = function_address(key, NAME, lambda: nest_ir(nest, vectors=1))
    accesses, strides = [], []
    for access in nest.accesses:
        itemsize, index_map = access.element_type.dtype.itemsize, access.index_map
        row, column = index_map.strides
        accesses.append((access.array, index_map.offset * itemsize))
        strides.append((row * itemsize, column * itemsize))
    seconds = estimate(block).native_seconds_per_element
    # The kernel replaces the integers that depend on sizes.
    integers = integer_args(nest, BlockShape(1, 1), 1)
    return BlockCode(address, tuple(accesses), tuple(strides), integers, seconds)
