"""The arrangement of a loop nest: which loops it has, in which order, and what is moved as one."""

from __future__ import annotations

from collections.abc import Sequence

from ...types import ELEMENT_TYPES
from .contiguous_copy import may_be_filled
from .nest import (
    MOST_KNOWN_STRIDE,
    Access,
    Affine,
    Apply,
    Constant,
    Gather,
    Index,
    Load,
    Nest,
    Node,
    Start,
    crossing_loop,
    is_transposition,
    moves_only,
    nodes_needed,
)


def arranged(nest: Nest) -> Nest:
    """The nest with the fewest loops, at least two.

    The innermost runs along the results. Where an operand runs along another loop instead, that one comes
    next to it, so that both can be cut into tiles. Where all results are short lines of elements that lie
    side by side elsewhere, lines take the place of the innermost loop; the shortest become elements. An
    innermost loop over few elements that are computed is unrolled.
    """
    nest = nest.with_order([d for d, size in enumerate(nest.sizes) if size != 1])
    nest = _unrolled(_moving_together(_collapsed(_moving_bits(nest))))
    if _moves_lines(nest):
        line, sizes = nest.sizes[-1], nest.sizes[:-1]
        order = _longest_last(sizes) if moves_only(nest) else range(len(sizes))
        nest = nest.with_order(order)._replace(line=line)
    crossing = crossing_loop(nest)
    if crossing is not None:
        others = [d for d in range(len(nest.sizes) - 1) if d != crossing]
        nest = nest.with_order([*others, crossing, len(nest.sizes) - 1])
        if nest.sizes[-1] < LEAST_INNERMOST and not nest.gathers and not is_transposition(nest):
            nest = nest.with_order(_longest_last(nest.sizes))
    missing = max(0, 2 - len(nest.sizes))
    places = [Affine(place.offset, (0,) * missing + place.strides) for place in nest.places]
    return nest.with_loops((1,) * missing + nest.sizes, places)


_BITS = {size: ELEMENT_TYPES[f"ui{8 * size}"] for size in (1, 2, 4, 8)}
"""Integers by their bytes."""


def _moving_bits(nest: Nest) -> Nest:
    """The nest with integers for elements that are only moved, which need not be understood."""
    accesses = list(nest.accesses)
    needed = {other for node in nest.nodes for other in nodes_needed(node)}
    if len({access.array for access in nest.results}) < len(nest.stores):
        return nest
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


def _moving_together(nest: Nest) -> Nest:
    """The nest with neighbours that only move together as one element, if there is one of their size."""
    if not moves_only(nest) or not nest.sizes:
        return nest
    count, accesses = nest.sizes[-1], nest.accesses
    bits = _BITS.get(count * accesses[0].element_type.dtype.itemsize)
    steps = [step for _, _, place in accesses for step in (place.offset, *place.strides[:-1])]
    if bits is None or any(access.place.strides[-1] != 1 for access in accesses):
        return nest
    if any(step % count for step in steps):
        return nest
    widened = [
        Access(array, bits, Affine(place.offset // count, tuple([s // count for s in place.strides[:-1]])))
        for array, _, place in accesses
    ]
    return nest._replace(sizes=nest.sizes[:-1], accesses=tuple(widened))


MOST_UNROLLED_NODES = 96
"""Of a nest, after a loop was unrolled."""


def _unrolled(nest: Nest) -> Nest:
    """The nest without its innermost loop if that is over few elements, side by side in all results."""
    if len(nest.sizes) < 2 or nest.gathers or moves_only(nest):
        return nest
    size = nest.sizes[-1]
    if not 1 < size <= MOST_KNOWN_STRIDE or nest.sizes[-2] < LEAST_INNERMOST:
        return nest
    if any(access.place.strides[-2:] != (size, 1) for access in nest.results):
        return nest
    if size * len(nest.nodes) > MOST_UNROLLED_NODES:
        return nest
    parts = []
    for index in range(size):
        places = [
            Affine(place.offset + index * place.strides[-1], place.strides[:-1]) for place in nest.places
        ]
        parts.append(nest.with_loops(nest.sizes[:-1], places))
    return _collapsed(_side_by_side(parts))


MOST_LINE_BYTES = 1 << 11
"""Longer lines are left to loops."""
MOST_MOVED_BYTES = 1 << 7
"""The same where no index moves them: loops know as much of these then."""


LEAST_INNERMOST = 8
"""Shorter loops are not the innermost one only for what lies along them."""


def _longest_last(sizes: Sequence[int]) -> list[int]:
    """The order of loops that has the longer one of the last two innermost."""
    order = list(range(len(sizes)))
    if len(sizes) > 1 and sizes[-1] < sizes[-2]:
        order[-2:] = order[:-3:-1]
    return order


def _moves_lines(nest: Nest) -> bool:
    """Whether all that the innermost loop does is to copy short lines."""
    if len(nest.sizes) < 2 - nest.gathers or not (nest.gathers or moves_only(nest)):
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
    widest = max([access.element_type.dtype.itemsize for access in nest.results])
    in_lines = all(access.place.strides[-1] == 1 for access in nest.results)
    most = MOST_LINE_BYTES if nest.gathers else MOST_MOVED_BYTES
    return in_lines and not moved & needed and nest.sizes[-1] * widest <= most


def joined_lines(nests: Sequence[Nest]) -> list[Nest]:
    """The nests, with one in place of those that together write lines of few neighbours, one of these each:
    what is written together is written as whole vectors."""
    lines: dict[object, list[Nest]] = {}
    for nest in nests:
        lines.setdefault(_line_of(nest) or id(nest), []).append(nest)
    found: list[Nest] = []
    for together in lines.values():
        ordered = sorted(together, key=lambda nest: nest.accesses[-1].place.offset)
        width = ordered[0].accesses[-1].place.strides[-2] if len(ordered) > 1 else 0
        first = ordered[0].accesses[-1].place.offset
        offsets = [nest.accesses[-1].place.offset for nest in ordered]
        if len(ordered) == width and offsets == list(range(first, first + width)):
            found.append(_side_by_side(ordered))
        else:
            found += together
    return found


def _line_of(nest: Nest) -> object:
    """What nests have in common that write one element each of the same short lines; None: it does not."""
    place = nest.accesses[-1].place
    if len(nest.stores) > 1 or len(nest.sizes) < 2 or nest.sizes[-1] > 1 or place.strides[-1] != 1:
        return None
    width = place.strides[-2]
    return (nest.sizes, place.strides, place.offset // width) if 1 < width <= MOST_KNOWN_STRIDE else None


def _side_by_side(nests: Sequence[Nest]) -> Nest:
    """One nest that does what several with the same loops do, and what these have in common once."""
    accesses: dict[Access, int] = {}
    indices: dict[Affine, int] = {}
    starts: dict[Start, int] = {}
    nodes: list[Node] = []
    places: dict[object, int] = {}
    stores: list[int] = []
    for nest in nests:
        numbers: list[int] = []
        for node in nest.nodes:
            same = _renumbered(node, nest, numbers, accesses, indices, starts)
            # Zeros of both signs are equal, and a NaN is not.
            known = (same.element_type, same.value.tobytes()) if isinstance(same, Constant) else same
            numbers.append(places.setdefault(known, len(nodes)))
            if numbers[-1] == len(nodes):
                nodes.append(same)
        stores += [numbers[number] for number in nest.stores]
    written = [access for nest in nests for access in nest.results]
    return Nest(
        nests[0].sizes,
        (*accesses, *written),
        tuple(indices),
        tuple(nodes),
        tuple(stores),
        tuple(starts),
    )


def _renumbered(
    node: Node,
    nest: Nest,
    numbers: Sequence[int],
    accesses: dict[Access, int],
    indices: dict[Affine, int],
    starts: dict[Start, int],
) -> Node:
    """A node of a nest with the numbers that the nodes before it, and what it knows, have elsewhere."""
    if isinstance(node, Load):
        return Load(accesses.setdefault(nest.accesses[node.access], len(accesses)))
    if isinstance(node, Index):
        return node._replace(place=indices.setdefault(nest.indices[node.place], len(indices)))
    if isinstance(node, Apply):
        return node._replace(operands=tuple([numbers[number] for number in node.operands]))
    if isinstance(node, Gather):
        moving = [
            index._replace(
                node=numbers[index.node],
                start=starts.setdefault(nest.starts[index.start], len(starts)),
            )
            for index in node.moving
        ]
        return node._replace(
            access=accesses.setdefault(nest.accesses[node.access], len(accesses)),
            moving=tuple(moving),
            fill=None if node.fill is None else numbers[node.fill],
        )
    return node
