"""The loop schedule of a nest: collapsing, interchange, unrolling, and copies of whole slices."""

from __future__ import annotations

from collections.abc import Sequence

from ....program.ir.affine import AffineExpr
from ....types import ELEMENT_TYPES
from .emission_plan import is_transposition, transposed_loop
from .nest import (
    MAX_CONSTANT_STRIDE,
    Access,
    Apply,
    Constant,
    Gather,
    Iota,
    Load,
    Nest,
    Node,
    StartIndex,
    is_copy,
    operand_nodes,
)


def schedule_loops(nest: Nest) -> Nest:
    """The nest with the fewest loops, at least two.

    Results are contiguous along the innermost loop. A loop along which an operand is contiguous instead
    becomes the second innermost one, so that both can be tiled. An innermost loop that only copies short
    contiguous slices becomes `Nest.slice_length`; the shortest slices become integer elements. An innermost
    loop that computes few elements is unrolled.
    """
    nest = nest.with_order([d for d, size in enumerate(nest.sizes) if size != 1])
    nest = _unroll_innermost(_widen_elements(_collapse_loops(_copy_as_integers(nest))))
    if _copies_slices(nest):
        slice_length, sizes = nest.sizes[-1], nest.sizes[:-1]
        order = _longest_last(sizes) if is_copy(nest) else range(len(sizes))
        nest = nest.with_order(order)._replace(slice_length=slice_length)
    transposed = transposed_loop(nest)
    if transposed is not None:
        outer_dims = [d for d in range(len(nest.sizes) - 1) if d != transposed]
        nest = nest.with_order([*outer_dims, transposed, len(nest.sizes) - 1])
        if nest.sizes[-1] < MIN_INNERMOST_SIZE and not nest.gathers and not is_transposition(nest):
            nest = nest.with_order(_longest_last(nest.sizes))
    missing = max(0, 2 - len(nest.sizes))
    index_maps = [
        AffineExpr(index_map.offset, (0,) * missing + index_map.strides) for index_map in nest.all_maps
    ]
    return nest.with_loops((1,) * missing + nest.sizes, index_maps)


_BITS = {size: ELEMENT_TYPES[f"ui{8 * size}"] for size in (1, 2, 4, 8)}
"""Unsigned integer types by itemsize in bytes."""


def _copy_as_integers(nest: Nest) -> Nest:
    """The nest with integer element types where elements are only copied: conversions are dropped."""
    accesses = list(nest.accesses)
    operands = {other for node in nest.nodes for other in operand_nodes(node)}
    if len({access.array for access in nest.results}) < len(nest.stores):
        return nest
    for store, number in enumerate(nest.stores, len(accesses) - len(nest.stores)):
        node = nest.nodes[number]
        bits = _BITS.get(accesses[store].element_type.dtype.itemsize)
        if not isinstance(node, (Load, Gather)) or number in operands or bits is None:
            continue
        for access in (node.access, store):
            accesses[access] = accesses[access]._replace(element_type=bits)
    return nest._replace(accesses=tuple(accesses))


def _collapse_loops(nest: Nest) -> Nest:
    """Collapse adjacent loops through which each map has one stride."""
    sizes = list(nest.sizes)
    strides = [list(index_map.strides) for index_map in nest.all_maps]
    for d in reversed(range(len(sizes) - 1)):
        if all(map_strides[d] == map_strides[d + 1] * sizes[d + 1] for map_strides in strides):
            sizes[d : d + 2] = [sizes[d] * sizes[d + 1]]
            for map_strides in strides:
                del map_strides[d]
    index_maps = [
        AffineExpr(index_map.offset, tuple(map_strides))
        for index_map, map_strides in zip(nest.all_maps, strides, strict=True)
    ]
    return nest.with_loops(sizes, index_maps)


def _widen_elements(nest: Nest) -> Nest:
    """The copy of a whole innermost loop as one integer element, if there is an integer of its size."""
    if not is_copy(nest) or not nest.sizes:
        return nest
    count, accesses = nest.sizes[-1], nest.accesses
    bits = _BITS.get(count * accesses[0].element_type.dtype.itemsize)
    offsets = [
        stride for _, _, index_map in accesses for stride in (index_map.offset, *index_map.strides[:-1])
    ]
    if bits is None or any(access.index_map.strides[-1] != 1 for access in accesses):
        return nest
    if any(stride % count for stride in offsets):
        return nest
    wide_accesses = [
        Access(array, bits, AffineExpr(old.offset // count, tuple([s // count for s in old.strides[:-1]])))
        for array, _, old in accesses
    ]
    return nest._replace(sizes=nest.sizes[:-1], accesses=tuple(wide_accesses))


MAX_UNROLLED_NODES = 96
"""Nodes of a nest after unrolling."""


def _unroll_innermost(nest: Nest) -> Nest:
    """The nest with its innermost loop unrolled if that is short and contiguous in all results.

    A copy is unrolled if it repeats an element; others have code for slices or tiles.
    """
    if len(nest.sizes) < 2 or nest.gathers or (is_copy(nest) and nest.accesses[0].index_map.strides[-1]):
        return nest
    size = nest.sizes[-1]
    if not 1 < size <= MAX_CONSTANT_STRIDE or nest.sizes[-2] < MIN_INNERMOST_SIZE:
        return nest
    if any(access.index_map.strides[-2:] != (size, 1) for access in nest.results):
        return nest
    if size * len(nest.nodes) > MAX_UNROLLED_NODES:
        return nest
    iterations = []
    for index in range(size):
        index_maps = [
            AffineExpr(old.offset + index * old.strides[-1], old.strides[:-1]) for old in nest.all_maps
        ]
        iterations.append(nest.with_loops(nest.sizes[:-1], index_maps))
    return _collapse_loops(_merge_nests(iterations))


MAX_SLICE_BYTES = 1 << 15
"""Bytes of the longest slice that a gather copies without an innermost loop."""
MAX_AFFINE_SLICE_BYTES = 1 << 7
"""Bytes of the longest slice that a copy without a gather copies without an innermost loop."""


MIN_INNERMOST_SIZE = 8
"""A shorter loop is not made the innermost one only because an array is contiguous along it."""


def _longest_last(sizes: Sequence[int]) -> list[int]:
    """The loop order with the longer one of the last two innermost."""
    order = list(range(len(sizes)))
    if len(sizes) > 1 and sizes[-1] < sizes[-2]:
        order[-2:] = order[:-3:-1]
    return order


def _copies_slices(nest: Nest) -> bool:
    """Whether the innermost loop only copies short contiguous slices."""
    if len(nest.sizes) < 2 - nest.gathers or not (nest.gathers or is_copy(nest)):
        return False
    stored = set(nest.stores)
    operands = {other for node in nest.nodes for other in operand_nodes(node)}
    for number, node in enumerate(nest.nodes):
        if isinstance(node, (Load, Gather)):
            access = nest.accesses[node.access]
            if access.index_map.strides[-1] != (number in stored):
                return False
        elif number in stored or (isinstance(node, Iota) and nest.iota_maps[node.index_map].strides[-1]):
            return False
    widest = max([access.element_type.dtype.itemsize for access in nest.results])
    are_contiguous = all(access.index_map.strides[-1] == 1 for access in nest.results)
    max_bytes = MAX_SLICE_BYTES if nest.gathers else MAX_AFFINE_SLICE_BYTES
    return are_contiguous and not stored & operands and nest.sizes[-1] * widest <= max_bytes


def merge_interleaved_stores(nests: Sequence[Nest]) -> list[Nest]:
    """The nests; those whose stores interleave without gaps become one: LLVM then stores whole vectors."""
    groups: dict[object, list[Nest]] = {}
    for nest in nests:
        groups.setdefault(_interleaving_key(nest) or id(nest), []).append(nest)
    merged: list[Nest] = []
    for group in groups.values():
        ordered = sorted(group, key=lambda nest: nest.accesses[-1].index_map.offset)
        width = ordered[0].accesses[-1].index_map.strides[-2] if len(ordered) > 1 else 0
        first = ordered[0].accesses[-1].index_map.offset
        offsets = [nest.accesses[-1].index_map.offset for nest in ordered]
        if len(ordered) == width and offsets == list(range(first, first + width)):
            merged.append(_merge_nests(ordered))
        else:
            merged += group
    return merged


def _interleaving_key(nest: Nest) -> object:
    """A key that nests with interleaving stores share; None for a nest without such a store."""
    index_map = nest.accesses[-1].index_map
    if len(nest.stores) > 1 or len(nest.sizes) < 2 or nest.sizes[-1] > 1 or index_map.strides[-1] != 1:
        return None
    width = index_map.strides[-2]
    return (
        (nest.sizes, index_map.strides, index_map.offset // width)
        if 1 < width <= MAX_CONSTANT_STRIDE
        else None
    )


def _merge_nests(nests: Sequence[Nest]) -> Nest:
    """Merge nests with the same loops into one that computes common nodes once."""
    accesses: dict[Access, int] = {}
    iota_maps: dict[AffineExpr, int] = {}
    start_indices: dict[StartIndex, int] = {}
    nodes: list[Node] = []
    node_numbers: dict[object, int] = {}
    stores: list[int] = []
    for nest in nests:
        numbers: list[int] = []
        for node in nest.nodes:
            renumbered = _renumber_node(node, nest, numbers, accesses, iota_maps, start_indices)
            # Compare constants by their bits: zeros of both signs are equal, and a NaN is not.
            structural_key = (
                (renumbered.element_type, renumbered.value.tobytes())
                if isinstance(renumbered, Constant)
                else renumbered
            )
            numbers.append(node_numbers.setdefault(structural_key, len(nodes)))
            if numbers[-1] == len(nodes):
                nodes.append(renumbered)
        stores += [numbers[number] for number in nest.stores]
    written = [access for nest in nests for access in nest.results]
    return Nest(
        nests[0].sizes,
        (*accesses, *written),
        tuple(iota_maps),
        tuple(nodes),
        tuple(stores),
        tuple(start_indices),
    )


def _renumber_node(
    node: Node,
    nest: Nest,
    numbers: Sequence[int],
    accesses: dict[Access, int],
    iota_maps: dict[AffineExpr, int],
    start_indices: dict[StartIndex, int],
) -> Node:
    """A node with its references to nodes, accesses and maps renumbered for the merged nest."""
    if isinstance(node, Load):
        return Load(accesses.setdefault(nest.accesses[node.access], len(accesses)))
    if isinstance(node, Iota):
        return node._replace(index_map=iota_maps.setdefault(nest.iota_maps[node.index_map], len(iota_maps)))
    if isinstance(node, Apply):
        return node._replace(operands=tuple([numbers[number] for number in node.operands]))
    if isinstance(node, Gather):
        indices = [
            index._replace(
                node=numbers[index.node],
                start_index=start_indices.setdefault(
                    nest.start_indices[index.start_index], len(start_indices)
                ),
            )
            for index in node.indices
        ]
        return node._replace(
            access=accesses.setdefault(nest.accesses[node.access], len(accesses)), indices=tuple(indices)
        )
    return node
