"""A loop nest over elements as data: what one native function computes, before it becomes LLVM IR.

All places of a nest, in arrays and of iotas, are affine in the loops' indices. The values of one element
form a list of nodes, each made from earlier ones. Sizes, strides and offsets are arguments of the native
function, so that nests which differ in nothing else share their code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..ir import Operation
from ..ir.printer import Printer
from ..kernels.processor import read_ahead_bytes
from ..types import ELEMENT_TYPES, ElementType, TensorType
from .elementwise import is_long
from .lines import may_be_filled
from .streaming import CACHE_LINE, LEAST_BYTES, LEAST_COMPUTED_BYTES, LEAST_ROW_BYTES
from .transposition import WIDEST, lanes_of


class Affine(NamedTuple):
    """`offset + sum(index * stride)` over the loops, outermost first."""

    offset: int
    strides: tuple[int, ...]


class Access(NamedTuple):
    """A place in an array, in elements; operands are numbered before results."""

    array: int
    element_type: ElementType
    place: Affine


class Load(NamedTuple):
    """The element of an access."""

    access: int


class Index(NamedTuple):
    """A place as a number, converted to an element type."""

    place: int
    element_type: ElementType


class Constant(NamedTuple):
    """An element that is known."""

    element_type: ElementType
    value: np.generic


class Apply(NamedTuple):
    """What an elementwise operation makes of the elements of earlier nodes."""

    operation: Operation
    operands: tuple[int, ...]


class Start(NamedTuple):
    """How far an index moves what is gathered.

    Attributes:
        largest: the greatest index that is taken as it is.
        added: to an index that is negative, before anything else.
        stride: elements of the array to each step.
    """

    largest: int
    added: int
    stride: int


class Moving(NamedTuple):
    """An index that moves what is gathered: the node of that element type, and the number of its start."""

    node: int
    element_type: ElementType
    start: int


class Gather(NamedTuple):
    """The element of an access that indices move.

    Attributes:
        access: the place where all indices are 0.
        moving: the indices; at least one.
        fill: the node of what takes the place of an element that would be moved; None: they are moved.
        is_narrow: whether all places in the array fit 32 bits.
    """

    access: int
    moving: tuple[Moving, ...]
    fill: int | None
    is_narrow: bool


Node = Load | Index | Constant | Apply | Gather


class Nest(NamedTuple):
    """A loop nest.

    Attributes:
        sizes: of the loops, outermost first; none is 0.
        accesses: places in arrays; the last ones belong to `stores`, one each.
        indices: places that nodes take as numbers.
        nodes: what is computed for each element, in order.
        stores: numbers of the nodes that are written.
        starts: what nodes that gather know of their indices.
        line: how many neighbours are loaded and stored for one element; strides count single ones.
    """

    sizes: tuple[int, ...]
    accesses: tuple[Access, ...]
    indices: tuple[Affine, ...]
    nodes: tuple[Node, ...]
    stores: tuple[int, ...]
    starts: tuple[Start, ...] = ()
    line: int = 1

    @property
    def places(self) -> list[Affine]:
        """Those of all accesses and indices."""
        return [*(access.place for access in self.accesses), *self.indices]

    def with_loops(self, sizes: Sequence[int], places: Sequence[Affine]) -> Nest:
        """The nest with other loops."""
        pairs = zip(self.accesses, places[: len(self.accesses)], strict=True)
        accesses = tuple([access._replace(place=place) for access, place in pairs])
        return self._replace(
            sizes=tuple(sizes), accesses=accesses, indices=tuple(places[len(self.accesses) :])
        )

    def with_order(self, order: Sequence[int]) -> Nest:
        """The nest with those of its loops, in that order; the others must have size 1."""
        places = [Affine(place.offset, tuple([place.strides[d] for d in order])) for place in self.places]
        return self.with_loops([self.sizes[d] for d in order], places)


def arranged(nest: Nest) -> Nest:
    """The nest with the fewest loops, at least two.

    The innermost runs along the results. Where an operand runs along another loop instead, that one comes
    next to it, so that both can be cut into tiles. Where all results are short lines of elements that lie
    side by side elsewhere, lines take the place of the innermost loop.
    """
    nest = nest.with_order([d for d, size in enumerate(nest.sizes) if size != 1])
    nest = _collapsed(_moving_bits(nest))
    if _moves_lines(nest):
        line = nest.sizes[-1]
        nest = nest.with_order(range(len(nest.sizes) - 1))._replace(line=line)
    crossing = crossing_loop(nest)
    if crossing is not None:
        others = [d for d in range(len(nest.sizes) - 1) if d != crossing]
        nest = nest.with_order([*others, crossing, len(nest.sizes) - 1])
    missing = max(0, 2 - len(nest.sizes))
    places = [Affine(place.offset, (0,) * missing + place.strides) for place in nest.places]
    return nest.with_loops((1,) * missing + nest.sizes, places)


_BITS = {size: ELEMENT_TYPES[f"ui{8 * size}"] for size in (1, 2, 4, 8)}
"""Integers by their bytes."""


def _moving_bits(nest: Nest) -> Nest:
    """The nest with integers for elements that are only moved, which need not be understood."""
    accesses = list(nest.accesses)
    needed = {other for node in nest.nodes for other in nodes_needed(node)}
    for place, number in enumerate(nest.stores, len(accesses) - len(nest.stores)):
        node = nest.nodes[number]
        bits = _BITS.get(accesses[place].element_type.dtype.itemsize)
        if not isinstance(node, (Load, Gather)) or number in needed or bits is None:
            continue
        if isinstance(node, Load) or node.fill is None:
            for access in (node.access, place):
                accesses[access] = accesses[access]._replace(element_type=bits)
    return nest._replace(accesses=tuple(accesses))


def _collapsed(nest: Nest) -> Nest:
    """Let adjacent loops that all places run through as through one be one."""
    sizes = list(nest.sizes)
    strides = [list(place.strides) for place in nest.places]
    for d in reversed(range(len(sizes) - 1)):
        if all(own[d] == own[d + 1] * sizes[d + 1] for own in strides):
            sizes[d : d + 2] = [sizes[d] * sizes[d + 1]]
            for own in strides:
                del own[d]
    places = [Affine(place.offset, tuple(own)) for place, own in zip(nest.places, strides, strict=True)]
    return nest.with_loops(sizes, places)


MOST_LINE_BYTES = 1 << 11
"""Longer lines are left to loops."""


def _moves_lines(nest: Nest) -> bool:
    """Whether all that the innermost loop does is to copy short lines."""
    if not nest.sizes or not any(isinstance(node, Gather) for node in nest.nodes):
        return False
    moved = set(nest.stores)
    needed = {other for node in nest.nodes for other in nodes_needed(node)}
    for number, node in enumerate(nest.nodes):
        if isinstance(node, (Load, Gather)):
            access = nest.accesses[node.access]
            if access.place.strides[-1] != (number in moved):
                return False
            if isinstance(node, Gather) and node.fill is not None and not may_be_filled(access.element_type):
                return False
        elif number in moved or (isinstance(node, Index) and nest.indices[node.place].strides[-1]):
            return False
    results = nest.accesses[len(nest.accesses) - len(nest.stores) :]
    widest = max([access.element_type.dtype.itemsize for access in results])
    in_lines = all(access.place.strides[-1] == 1 for access in results)
    return in_lines and not moved & needed and nest.sizes[-1] * widest <= MOST_LINE_BYTES


def nodes_needed(node: Node) -> tuple[int, ...]:
    """The nodes that a node is made from."""
    if isinstance(node, Apply):
        return node.operands
    if isinstance(node, Gather):
        fill = () if node.fill is None else (node.fill,)
        return (*[moving.node for moving in node.moving], *fill)
    return ()


def crossing_loop(nest: Nest) -> int | None:
    """The loop along which an operand lies in memory while the innermost strides or jumps through it; None:
    there is none."""
    if nest.line > 1:
        return None
    jumping = _jumping(nest)
    for number, access in enumerate(nest.accesses):
        strides = access.place.strides
        if strides and (abs(strides[-1]) > 1 or number in jumping):
            for d, stride in enumerate(strides[:-1]):
                if abs(stride) == 1 and nest.sizes[d] > 1:
                    return d
    return None


def _jumping(nest: Nest) -> set[int]:
    """The accesses that only indices move along the innermost loop."""
    gathered = [node.access for node in nest.nodes if isinstance(node, Gather)]
    return {number for number in gathered if nest.accesses[number].place.strides[-1:] == (0,)}


def is_transposition(nest: Nest) -> bool:
    """Whether an arranged nest copies elements from an array that lies along its middle loop to one that lies
    along the inner one."""
    if nest.line > 1 or nest.nodes != (Load(0),) or nest.stores != (0,) or len(nest.accesses) != 2:
        return False
    source, target = nest.accesses
    return (
        source.element_type.dtype.itemsize <= WIDEST
        and source.place.strides[-2] == 1
        and abs(source.place.strides[-1]) > 1
        and target.place.strides[-1] == 1
    )


def streams(nest: Nest) -> bool:
    """Whether an arranged nest writes its results past the caches, where these begin at lines of cache: they
    are large, and written by whole lines of cache, or by halves of them side by side."""
    if nest.line == 1 and not is_transposition(nest):
        return False
    elements = math.prod(nest.sizes) * nest.line
    for access in nest.accesses[len(nest.accesses) - len(nest.stores) :]:
        itemsize = access.element_type.dtype.itemsize
        width = (nest.line if nest.line > 1 else lanes_of(itemsize)) * itemsize
        piece = CACHE_LINE // 2 if nest.line > 1 and 2 * width == CACHE_LINE else CACHE_LINE
        steps = [step * itemsize for step in access.place.strides if step != 1 or nest.line > 1]
        if elements * itemsize < LEAST_BYTES or any(step % piece for step in (width, *steps)):
            return False
    return True


def is_buffered(nest: Nest) -> bool:
    """Whether an arranged nest computes its results in buffers, and writes them past the caches from there:
    they are large, lie along the innermost loop, and take longer to write than to find or compute."""
    if nest.line > 1 or is_transposition(nest) or crossing_loop(nest) is not None:
        return False
    if any(isinstance(node, Gather) for node in nest.nodes):
        return False
    if is_long([node.operation for node in nest.nodes if isinstance(node, Apply)]):
        return False
    elements = math.prod(nest.sizes)
    for access in nest.accesses[len(nest.accesses) - len(nest.stores) :]:
        itemsize = access.element_type.dtype.itemsize
        if access.place.strides[-1] != 1 or elements * itemsize < LEAST_COMPUTED_BYTES:
            return False
        if nest.sizes[-1] * itemsize < LEAST_ROW_BYTES:
            return False
    return True


def read_in_order(nest: Nest) -> list[int]:
    """The accesses of an arranged nest that are read along the innermost loop."""
    jumping = _jumping(nest)
    operands = range(len(nest.accesses) - len(nest.stores))
    return [n for n in operands if nest.accesses[n].place.strides[-1] == 1 and n not in jumping]


LEAST_READ_AHEAD_BYTES = 1 << 20
"""Size of an operand that is fetched ahead; smaller ones stay in the caches."""


def reads_ahead(nest: Nest) -> bool:
    """Whether an arranged nest asks for what it reads in order before it does: some processors do not look
    past a page, and elements that indices choose leave them little to wait with."""
    if nest.line > 1 or not any(isinstance(node, Gather) for node in nest.nodes):
        return False
    if crossing_loop(nest) is not None or not read_ahead_bytes():
        return False
    read = [nest.accesses[number].element_type.dtype.itemsize for number in read_in_order(nest)]
    widest = max(read, default=0)
    is_large = math.prod(nest.sizes) * widest >= LEAST_READ_AHEAD_BYTES
    return is_large and nest.sizes[-1] * widest >= LEAST_ROW_BYTES


TILE_BYTES = 64
"""Extent of a tile in both directions: a cache line."""
TILES = 4
"""How many tiles that are transposed in registers a block has in both directions."""
JUMPS = 1 << 8
"""How many lines of cache a block reads where indices choose them."""
UNIT_ELEMENTS = 1 << 13
"""About how many elements the two inner loops go through at a time."""


class Blocks(NamedTuple):
    """How the two inner loops are cut: indices that a block has along the outer and along the inner one."""

    middle: int
    inner: int


def blocks_of(nest: Nest) -> Blocks:
    """How an arranged nest is cut: by its shape alone."""
    middle, inner = nest.sizes[-2:]
    if is_transposition(nest):
        extent = TILES * lanes_of(nest.accesses[0].element_type.dtype.itemsize)
        return Blocks(min(extent, middle), min(extent, inner))
    if crossing_loop(nest) is not None:
        extent = max(8, TILE_BYTES // max(access.element_type.dtype.itemsize for access in nest.accesses))
        jumps = any(abs(nest.accesses[number].place.strides[-2]) == 1 for number in _jumping(nest))
        return Blocks(min(extent, middle), min(JUMPS if jumps else extent, inner))
    most = max(1, UNIT_ELEMENTS // nest.line)
    along = min(inner, most)
    return Blocks(min(middle, max(1, most // along)), along)


def units_of(nest: Nest, blocks: Blocks) -> int:
    """The number of blocks."""
    middle, inner = (-(-size // extent) for size, extent in zip(nest.sizes[-2:], blocks, strict=True))
    return math.prod(nest.sizes[:-2]) * middle * inner


def stride_kind(stride: int) -> str:
    """What code must know of an innermost stride: 0, 1, -1, or "s", any other."""
    return str(stride) if abs(stride) <= 1 else "s"


def access_kind(place: Affine) -> str:
    """What code must know of a place: "." where it never moves, else the kind of its innermost stride."""
    return stride_kind(place.strides[-1]) if any(place.strides) else "."


def description(nest: Nest) -> str:
    """All that the code of an arranged nest depends on, as text."""
    lines = [f"loops {len(nest.sizes)}" + (" transposition" if is_transposition(nest) else "")]
    lines.append(f"line {nest.line}" + (" buffered" if is_buffered(nest) else ""))
    lines.append("streamed" if streams(nest) else "")
    lines.append("reads ahead" if reads_ahead(nest) else "")
    lines += [f"access {access.element_type} {access_kind(access.place)}" for access in nest.accesses]
    lines += [f"index {access_kind(place)}" for place in nest.indices]
    lines += [f"start {stride_kind(start.stride)} {start.added != 0}" for start in nest.starts]
    lines += map(_node_text, nest.nodes)
    lines.append(f"stores {nest.stores}")
    return "\n".join(lines)


def _node_text(node: Node) -> str:
    if isinstance(node, Apply):
        operation = node.operation
        kept = {name: value for name, value in operation.attributes.items() if "." not in name}
        types = [_element_text(value.type) for value in (*operation.operands, *operation.results)]
        return f"{operation.name} {node.operands} {Printer().dictionary(kept)} {' '.join(types)}"
    if isinstance(node, Gather):
        moving = " ".join([f"{node} {type} {start}" for node, type, start in node.moving])
        return f"gather {node.access} by {moving} else {node.fill} {'narrow' if node.is_narrow else 'wide'}"
    if isinstance(node, Constant):
        return f"constant {node.element_type} {node.value.tobytes().hex()}"
    return f"index {node.place} {node.element_type}" if isinstance(node, Index) else f"load {node.access}"


def _element_text(type: object) -> str:
    assert isinstance(type, TensorType)
    return str(type.element_type)
