"""From a cluster's block to the loop nests that compute it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen.nests.loop_schedule import merge_interleaved_stores
from ...codegen.nests.nest import (
    Access,
    AffineMap,
    Apply,
    Constant,
    Gather,
    GatherIndex,
    Iota,
    Load,
    Nest,
    Node,
    StartIndex,
)
from ...ir import Block, DenseElementsAttribute, Operation, Value
from ...ops.framework.verify import view_of
from ...specialize.fusion.gather_index_map import GATHERS, Gathered, gathered, read_through
from ...specialize.fusion.movement_index_map import MOVES, Box, Inseparable, Place, Split, range_of, source
from ...types import SIGNED, ElementType, TensorType
from ..tiering.tiers import NoCode

MOST_NESTS = 16

_Point = tuple[Value, tuple[Place, ...]]
"""An element of a value, by its places."""

_NARROW = 1 << 31
"""Elements of an array from which on places in it do not fit 32 bits."""

_MOVES = frozenset(move.name for move in MOVES)


def nests_of(block: Block, box: Box | None = None) -> list[Nest]:
    """The nests that together compute what a block returns.

    Args:
        block: constants of one element, iotas, moves (`nimblehlo.specialize.fusion.movement_index_map`),
            elementwise operations, and gathers from arguments of the block or views of them; all
            results have one shape.
        box: which of the results' elements; None: all.

    Raises:
        NoCode: it would take too many nests, elements are chosen by more than one loop, or the results have
            several shapes.
    """
    results = block.terminator.operands
    shape = _type(results[0]).shape
    if any(_type(result).shape != shape for result in results):
        raise NoCode("its results have several shapes")
    if 0 in shape:
        return []
    waiting: list[Box] = [box or tuple([(0, size) for size in shape])]
    nests: list[Nest] = []
    while waiting:
        box = waiting.pop()
        try:
            nests.append(_Boxed(block, box).nest)
        except Split as cut:
            first, stop = box[cut.loop]
            waiting.append((*box[: cut.loop], (cut.index, stop), *box[cut.loop + 1 :]))
            waiting.append((*box[: cut.loop], (first, cut.index), *box[cut.loop + 1 :]))
        except Inseparable as error:
            raise NoCode(str(error)) from error
        if len(nests) + len(waiting) > MOST_NESTS:
            raise NoCode(f"it takes more than {MOST_NESTS} loop nests")
    return merge_interleaved_stores(nests)


class _Boxed:
    """Makes the nest of one box of the results' elements."""

    def __init__(self, block: Block, box: Box) -> None:
        self.box = box
        self.arguments = {value: number for number, value in enumerate(block.arguments)}
        self.nodes: list[Node] = []
        self.numbers: dict[Any, int] = {}
        self.accesses: list[Access] = []
        self.iota_maps: list[AffineMap] = []
        self.start_indices: list[StartIndex] = []
        results = block.terminator.operands
        loops = len(box)
        here = [Place(0, tuple([int(d == loop) for loop in range(loops)])) for d in range(loops)]
        stores = [self.number_of(result, tuple(here)) for result in results]
        for number, result in enumerate(results, len(block.arguments)):
            self.add_access(number, result, here)
        self.nest = Nest(
            tuple([stop - first for first, stop in box]),
            tuple(self.accesses),
            tuple(self.iota_maps),
            tuple(self.nodes),
            tuple(stores),
            tuple(self.start_indices),
        )

    def number_of(self, value: Value, places: tuple[Place, ...]) -> int:
        """The node of an element; enters it and all that it needs."""
        waiting = [(value, places)]
        while waiting:
            point = waiting[-1]
            needed = [] if point in self.numbers else self.operands(point)
            missing = [other for other in needed if other not in self.numbers]
            if missing:
                waiting += reversed(missing)
                continue
            if point not in self.numbers:
                self.numbers[point] = self.enter(point, needed)
            waiting.pop()
        return self.numbers[value, places]

    def operands(self, point: _Point) -> list[_Point]:
        """The elements that an element is made from."""
        value, places = point
        owner = value.owner
        if value in self.arguments or not isinstance(owner, Operation):
            return []
        if owner.name in _MOVES:
            number, moved = source(view_of(owner), places, self.box)
            return [(owner.operands[number], moved)]
        if owner.name in GATHERS:
            return _needed(gathered(owner, places, len(self.box)))
        return [(operand, places if _type(operand).shape else ()) for operand in owner.operands]

    def enter(self, point: _Point, operands: Sequence[_Point]) -> int:
        """The node of an element whose operands have nodes."""
        value, places = point
        if value in self.arguments:
            return self.node(Load(self.add_access(self.arguments[value], value, places)))
        operation = value.owner
        assert isinstance(operation, Operation)
        if operation.name in _MOVES:
            return self.numbers[operands[0]]
        if operation.name in GATHERS:
            return self.gather(operation, gathered(operation, places, len(self.box)))
        element_type = _element_type(value)
        if operation.name == "stablehlo.constant":
            return self.node(Constant(element_type, _only_element(operation)))
        if operation.name == "stablehlo.iota":
            place = places[view_of(operation).iota_dimension]  # type: ignore[attr-defined]
            self.iota_maps.append(self.within_box(place))
            return self.node(Iota(len(self.iota_maps) - 1, element_type))
        return self.node(Apply(operation, tuple([self.numbers[operand] for operand in operands])))

    def gather(self, operation: Operation, found: Gathered) -> int:
        """The node of a gather's element."""
        array, places = read_through(operation.operands[0], found, self.box, self.arguments)
        loops = len(self.box)
        whole = self.place_in(array, places, loops + len(found.moving))
        place = self.within_box(Place(whole.offset, whole.strides[:loops]))
        moving: list[GatherIndex] = []
        for index, stride in zip(found.moving, whole.strides[loops:], strict=True):
            number = self.numbers[index.value, index.places]
            known = self.known_place(number, index.largest)
            if known is None:
                self.start_indices.append(StartIndex(index.largest, index.added, stride))
                moving.append(GatherIndex(number, _element_type(index.value), len(self.start_indices) - 1))
            else:
                place = AffineMap(*Place(*place).plus(known.scaled(stride)))
        self.accesses.append(Access(self.arguments[array], _element_type(array), place))
        access = len(self.accesses) - 1
        if not moving:
            return self.node(Load(access))
        fill = None if found.fill is None else self.numbers[found.fill, ()]
        return self.node(Gather(access, tuple(moving), fill, _type(array).size < _NARROW))

    def known_place(self, number: int, largest: int) -> Place | None:
        """An index that counts, or never changes, and always lies within a dimension; None for others."""
        node = self.nodes[number]
        loops = len(self.box)
        if isinstance(node, Constant):
            index = int(node.value)
            return Place(index, (0,) * loops) if 0 <= index <= largest else None
        if not isinstance(node, Iota):
            return None
        place = Place(*self.iota_maps[node.index_map])
        least, greatest = range_of(place, [(0, stop - first) for first, stop in self.box])
        width = node.element_type.width - (node.element_type.category == SIGNED)
        return place if least >= 0 and greatest <= largest and greatest < 1 << width else None

    def node(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def add_access(self, array: int, value: Value, places: Sequence[Place]) -> int:
        """A place in an array that lies in row-major order."""
        place = self.place_in(value, places, len(self.box))
        self.accesses.append(Access(array, _element_type(value), self.within_box(place)))
        return len(self.accesses) - 1

    def place_in(self, value: Value, places: Sequence[Place], loops: int) -> Place:
        """A place in the elements of an array, which lie in row-major order, over so many loops."""
        shape = _type(value).shape
        place = Place(0, (0,) * loops)
        for d, own in enumerate(places):
            place = place.plus(own.scaled(math.prod(shape[d + 1 :])))
        return place

    def within_box(self, place: Place) -> AffineMap:
        """A place with the loops counted from the box's corner."""
        offset = place.offset
        for stride, (first, _) in zip(place.strides, self.box, strict=True):
            offset += stride * first
        return AffineMap(offset, place.strides)


def _type(value: Value) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


def _element_type(value: Value) -> ElementType:
    element_type = _type(value).element_type
    assert isinstance(element_type, ElementType)
    return element_type


def _needed(found: Gathered) -> list[_Point]:
    """The elements that the place of a gather's element depends on, and what may take its place."""
    points: list[_Point] = [(index.value, index.places) for index in found.moving]
    return points if found.fill is None else [*points, (found.fill, ())]


def _only_element(constant: Operation) -> np.generic:
    """The element of a constant that has one, or one many times."""
    value = constant.attributes["value"]
    assert isinstance(value, DenseElementsAttribute)
    element: np.generic = value.array[(0,) * value.array.ndim]
    return element
