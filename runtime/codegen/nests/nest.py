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

from ...ir import Operation
from ...ir.printer import Printer
from ...kernels.launch.processor import kept_bytes
from ...types import ElementType, TensorType
from ..elementwise.elementwise import is_long
from .nontemporal_stores import CACHE_LINE, LEAST_COMPUTED_BYTES, LEAST_ROW_BYTES
from .transposition import WIDEST, lanes_of

MOST_KNOWN_STRIDE = 7
"""Code knows strides up to this one: elements so near each other are read as whole vectors."""


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

    @property
    def results(self) -> tuple[Access, ...]:
        """The accesses that are written."""
        return self.accesses[len(self.accesses) - len(self.stores) :]

    @property
    def gathers(self) -> bool:
        """Whether indices choose elements."""
        return any(isinstance(node, Gather) for node in self.nodes)

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


def moves_only(nest: Nest) -> bool:
    """Whether one result is elements of an operand, whose places are known."""
    return nest.nodes == (Load(0),) and nest.stores == (0,)


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
    if nest.line > 1 or not moves_only(nest):
        return False
    source, target = nest.accesses
    return (
        source.element_type.dtype.itemsize <= WIDEST
        and source.place.strides[-2] == 1
        and abs(source.place.strides[-1]) > 1
        and target.place.strides[-1] == 1
    )


class ShortSide(NamedTuple):
    """The shorter one of a transposition's two loops, along which one array's elements lie side by side, and
    then those at the next index of the longer one.

    Attributes:
        size: of the loop, less than a tile's extent.
        is_inner: whether it is the inner loop, and the result's elements lie so; else the operand's do.
    """

    size: int
    is_inner: bool


def short_side(nest: Nest) -> ShortSide | None:
    """The short loop of an arranged nest that is a transposition, if it has one."""
    if not is_transposition(nest):
        return None
    source, target = nest.accesses
    lanes = lanes_of(source.element_type.dtype.itemsize)
    middle, inner = nest.sizes[-2:]
    if 1 < inner < lanes and target.place.strides[-2] == inner:
        return ShortSide(inner, True)
    if 1 < middle < lanes and source.place.strides[-1] == middle:
        return ShortSide(middle, False)
    return None


def streams(nest: Nest) -> bool:
    """Whether an arranged nest writes its results past the caches, where these begin at lines of cache: they
    are large, and written by whole lines of cache, or by halves of them side by side."""
    if nest.line == 1 and not is_transposition(nest):
        return False
    elements = math.prod(nest.sizes) * nest.line
    kept = kept_bytes(gathered=nest.gathers)
    short = short_side(nest)
    for access in nest.results:
        itemsize = access.element_type.dtype.itemsize
        width = (nest.line if nest.line > 1 else lanes_of(itemsize)) * itemsize
        piece = CACHE_LINE // 2 if nest.line > 1 and 2 * width == CACHE_LINE else CACHE_LINE
        strides = access.place.strides[:-2] if short and short.is_inner else access.place.strides
        steps = [step * itemsize for step in strides if step != 1 or nest.line > 1]
        if elements * itemsize < kept or any(step % piece for step in (width, *steps)):
            return False
    return True


def is_buffered(nest: Nest) -> bool:
    """Whether an arranged nest computes its results in buffers, and writes them past the caches from there:
    they are large, lie along the innermost loop, and take longer to write than to find or compute."""
    if nest.line > 1 or is_transposition(nest) or crossing_loop(nest) is not None:
        return False
    if nest.gathers:
        return False
    if is_long([node.operation for node in nest.nodes if isinstance(node, Apply)]):
        return False
    elements = math.prod(nest.sizes)
    for access in nest.results:
        itemsize = access.element_type.dtype.itemsize
        if access.place.strides[-1] != 1 or elements * itemsize < LEAST_COMPUTED_BYTES:
            return False
        if nest.sizes[-1] * itemsize < LEAST_ROW_BYTES:
            return False
    return True


def turned_accesses(nest: Nest) -> list[int]:
    """The operands of an arranged nest that lie along its middle loop, whose tiles are turned on their side
    before anything is computed from them."""
    operands = range(len(nest.accesses) - len(nest.stores))
    if nest.line > 1 or nest.gathers or is_transposition(nest) or min(nest.sizes[-2:]) < tile_extent(nest):
        return []
    if any(access.place.strides[-1] != 1 for access in nest.results):
        return []
    found = []
    for number in operands:
        middle, inner = nest.accesses[number].place.strides[-2:]
        if middle == 1 and abs(inner) > 1 and nest.accesses[number].element_type.dtype.itemsize <= WIDEST:
            found.append(number)
    return found


def tile_extent(nest: Nest) -> int:
    """Extent of a nest's tiles: its widest elements fill vectors."""
    widest = max([access.element_type.dtype.itemsize for access in nest.accesses])
    return lanes_of(min(widest, WIDEST))


def tiles_together(nest: Nest) -> int:
    """How many tiles along the inner loop are turned before what is computed from them: several, unless many
    elements would be left over."""
    extent, inner = tile_extent(nest), nest.sizes[-1]
    for count in (TILES, TILES // 2):
        if inner % (count * extent) == 0 or inner >= TILES * count * extent:
            return count
    return 1


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
    if nest.line > 1 or not nest.gathers or crossing_loop(nest) is not None:
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
    short = short_side(nest)
    if short is not None:
        lanes = lanes_of(nest.accesses[0].element_type.dtype.itemsize)
        extent = UNIT_ELEMENTS // short.size // lanes * lanes
        return Blocks(min(extent, middle), min(extent, inner))
    if is_transposition(nest) or turned_accesses(nest):
        extent = TILES * tile_extent(nest)
        return Blocks(min(extent, middle), min(extent, inner))
    if crossing_loop(nest) is not None:
        extent = max(8, TILE_BYTES // max(access.element_type.dtype.itemsize for access in nest.accesses))
        jumps = any(abs(nest.accesses[number].place.strides[-2]) == 1 for number in _jumping(nest))
        if jumps:
            return Blocks(min(extent, middle), min(JUMPS, inner))
        return Blocks(
            min(extent if inner >= extent else UNIT_ELEMENTS // inner, middle),
            min(extent if middle >= extent else UNIT_ELEMENTS // middle, inner),
        )
    most = max(1, UNIT_ELEMENTS // nest.line)
    along = min(inner, most)
    return Blocks(min(middle, max(1, most // along)), along)


def units_of(nest: Nest, blocks: Blocks) -> int:
    """The number of blocks."""
    middle, inner = (-(-size // extent) for size, extent in zip(nest.sizes[-2:], blocks, strict=True))
    return math.prod(nest.sizes[:-2]) * middle * inner


def writes_lines(nest: Nest) -> bool:
    """Whether an arranged nest writes all neighbours of the same short lines of each result."""
    lines: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for array, _, place in nest.results:
        lines.setdefault((array, place.strides), []).append(place.offset)
    arrays = {array for array, _ in lines}
    return len(arrays) == len(lines) and all(
        1 < len(offsets) == strides[-1] and offsets == list(range(offsets[0], offsets[0] + len(offsets)))
        for (_, strides), offsets in lines.items()
    )


class Neighbour(NamedTuple):
    """An access beside which another one lies at each index, so many elements behind it."""

    access: int
    distance: int


def neighbour_of(nest: Nest, number: int) -> Neighbour | None:
    """The first access of an arranged nest that reads, or writes, the same short lines as this one, if there
    is one before it: vectors then hold what both read, or write."""
    results = len(nest.accesses) - len(nest.stores)
    array, element_type, place = nest.accesses[number]
    if not 1 < abs(place.strides[-1]) <= MOST_KNOWN_STRIDE or (number >= results and not writes_lines(nest)):
        return None
    for other in range(0 if number < results else results, number):
        distance = place.offset - nest.accesses[other].place.offset
        found = Access(array, element_type, place._replace(offset=place.offset - distance))
        if nest.accesses[other] == found and abs(distance) < abs(place.strides[-1]):
            return Neighbour(other, distance)
    return None


def stride_kind(stride: int) -> str:
    """What code must know of an innermost stride: a short one, or "s", any other."""
    return str(stride) if abs(stride) <= MOST_KNOWN_STRIDE else "s"


def access_kind(place: Affine) -> str:
    """What code must know of a place: "." where it never moves, else the kind of its innermost stride."""
    return stride_kind(place.strides[-1]) if any(place.strides) else "."


def description(nest: Nest) -> str:
    """All that the code of an arranged nest depends on, as text."""
    lines = [f"loops {len(nest.sizes)}" + (" transposition" if is_transposition(nest) else "")]
    short = short_side(nest)
    lines.append("" if short is None else f"short {'inner' if short.is_inner else 'middle'} {short.size}")
    lines.append(f"line {nest.line}" + (" buffered" if is_buffered(nest) else ""))
    lines.append("streamed" if streams(nest) else "")
    lines.append("writes lines" if writes_lines(nest) else "")
    turned = turned_accesses(nest)
    lines.append(f"turned {turned} {tiles_together(nest)}" if turned else "")
    lines.append("reads ahead" if reads_ahead(nest) else "")
    for number, access in enumerate(nest.accesses):
        lines.append(
            f"access {access.element_type} {access_kind(access.place)} {neighbour_of(nest, number) or ''}"
        )
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
