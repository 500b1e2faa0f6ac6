"""Templates of operations that move elements by static attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from ....program.ops.shape.slicing import padded_size
from ....types import AnyElementType
from ..template import Template, make, sizes_text, templates_of, tensor

_WIDE: Final = (2, 3, 1, 2, 1, 2)
"""A shape of rank 6."""
_FOUR: Final = (2, 3, 1, 4)
_FIVE: Final = (2, 1, 3, 2, 2)
"""Shapes of ranks 4 and 5, of the same size."""


@templates_of("stablehlo.reshape")
def _reshape(element_type: AnyElementType) -> Iterator[Template]:
    for source, target in (
        ((6,), (2, 3)),
        ((), ()),
        ((), (1, 1)),
        ((1,), ()),
        ((0,), (3, 0, 2)),
        ((2, 3), (3, 2)),
        (_WIDE, (24,)),
        ((4, 6), _WIDE),
        ((2, 6), (6, 2)),
        ((2, 6), (2, 3, 2)),
        (_FOUR, _FIVE),
        (_FIVE, _FOUR),
    ):
        types = [tensor(element_type, *source)], [tensor(element_type, *target)]
        variant = f"{sizes_text(source)}_to_{sizes_text(target)}"
        yield make("stablehlo.reshape", variant, *types, edges=True, is_basic=source == (6,))


@templates_of("stablehlo.broadcast_in_dim")
def _broadcast_in_dim(element_type: AnyElementType) -> Iterator[Template]:
    for source, dimensions, target in (
        ((2, 3), (2, 0), (3, 4, 2)),
        ((), (), ()),
        ((), (), (3,)),
        ((1,), (0,), (3,)),
        ((2, 1), (0, 1), (2, 3)),
        ((0,), (1,), (2, 0)),
        ((1,), (0,), (0,)),
        ((3, 2), (1, 0), (2, 3)),
        ((3, 1), (1, 4), _WIDE),
        ((2, 2), (0, 1), (2, 2)),
        ((3, 1, 1), (1, 0, 2), (1, 3, 2, 2)),
        ((2, 1, 3, 2), (0, 2, 4, 3), (2, 2, 1, 2, 3)),
        ((1, 2, 1, 3, 2), (1, 0, 2, 4, 3), (2, 3, 1, 2, 3)),
        (_WIDE, (5, 1, 2, 3, 4, 0), (2, 3, 4, 2, 1, 2)),
    ):
        yield make(
            "stablehlo.broadcast_in_dim",
            f"{sizes_text(source)}_to_{sizes_text(target)}_at_{sizes_text(dimensions)}",
            [tensor(element_type, *source)],
            [tensor(element_type, *target)],
            broadcast_dimensions=dimensions,
            edges=True,
            is_basic=source == (2, 3),
        )


_BROADCASTS: Final[Sequence[tuple[tuple[int, ...], tuple[int, ...]]]] = (
    ((2, 3), (4,)),
    ((), ()),
    ((), (3,)),
    ((2,), (0, 3)),
    ((1, 2), (2, 1, 3, 2)),
    ((2, 3, 1), (4,)),
    ((2, 1, 3, 2), (4,)),
    ((1, 2, 3, 1, 2), (4,)),
    (_WIDE, ()),
)
"""Shapes of operands, and the sizes that come before theirs."""


@templates_of("stablehlo.broadcast")
def _broadcast(element_type: AnyElementType) -> Iterator[Template]:
    for source, sizes in _BROADCASTS:
        yield make(
            "stablehlo.broadcast",
            f"{sizes_text(source)}_sizes_{sizes_text(sizes)}",
            [tensor(element_type, *source)],
            [tensor(element_type, *sizes, *source)],
            broadcast_sizes=sizes,
            edges=True,
            is_basic=source == (2, 3),
        )


@templates_of("stablehlo.concatenate")
def _concatenate(element_type: AnyElementType) -> Iterator[Template]:
    for shapes, dimension in (
        (((2, 3), (1, 3), (2, 3)), 0),
        (((2, 3), (2, 4)), 1),
        (((3,),), 0),
        (((0,), (2,), (0,)), 0),
        (((0,), (0,)), 0),
        ((_WIDE, (2, 3, 3, 2, 1, 2)), 2),
        ((_WIDE, _WIDE), 5),
        (((1, 2, 3), (1, 1, 3)), 1),
        ((_FOUR, (2, 3, 1, 1)), 3),
        ((_FIVE, (1, 1, 3, 2, 2)), 0),
    ):
        yield make(
            "stablehlo.concatenate",
            f"{'_'.join(map(sizes_text, shapes))}_dimension_{dimension}",
            [tensor(element_type, *shape) for shape in shapes],
            dimension=dimension,
            edges=True,
            is_basic=dimension == 0 and len(shapes) == 3,
        )


@templates_of("stablehlo.reverse")
def _reverse(element_type: AnyElementType) -> Iterator[Template]:
    for shape, dimensions in (
        ((3, 4), (1,)),
        ((3, 4), (0,)),
        ((3, 4), (1, 0)),
        ((3, 4), ()),
        ((), ()),
        ((0, 2), (0,)),
        ((1,), (0,)),
        (_WIDE, (0, 3, 5)),
        ((2, 1, 3), (2, 0)),
        (_FOUR, (1, 3)),
        (_FIVE, (0, 2, 4)),
    ):
        yield make(
            "stablehlo.reverse",
            f"{sizes_text(shape)}_dimensions_{sizes_text(dimensions)}",
            [tensor(element_type, *shape)],
            dimensions=dimensions,
            edges=True,
            is_basic=dimensions == (1,),
        )


@templates_of("stablehlo.transpose")
def _transpose(element_type: AnyElementType) -> Iterator[Template]:
    cases: list[tuple[Sequence[int], Sequence[int]]] = [
        ((2, 3, 4), permutation) for permutation in itertools.permutations(range(3))
    ]
    cases += [
        ((), ()),
        ((3,), (0,)),
        ((2, 2), (1, 0)),
        ((0, 2), (1, 0)),
        ((5, 7), (1, 0)),
        (_WIDE, (5, 0, 3, 1, 4, 2)),
        (_FOUR, (3, 1, 0, 2)),
        (_FIVE, (2, 0, 4, 1, 3)),
    ]
    for shape, permutation in cases:
        yield make(
            "stablehlo.transpose",
            f"{sizes_text(shape)}_permutation_{sizes_text(permutation)}",
            [tensor(element_type, *shape)],
            [tensor(element_type, *[shape[d] for d in permutation])],
            permutation=tuple(permutation),
            edges=True,
            is_basic=tuple(permutation) == (2, 0, 1),
        )


PADDINGS: Final[Sequence[tuple[str, Sequence[int], Sequence[int], Sequence[int], Sequence[int]]]] = (
    ("edges_and_interior", (2, 3), (1, 0), (2, 3), (1, 2)),
    ("none", (3,), (0,), (0,), (0,)),
    ("scalar", (), (), (), ()),
    ("negative_low", (5,), (-2,), (0,), (0,)),
    ("negative_high", (5,), (0,), (-1,), (0,)),
    ("negative_both", (2, 5), (-1, 2), (0, -3), (0, 0)),
    ("negative_into_interior", (4,), (-2,), (-1,), (2,)),
    ("negative_removes_all", (3,), (-1,), (-2,), (0,)),
    ("negative_and_positive", (3,), (-5,), (7,), (1,)),
    ("empty_operand", (0,), (2,), (1,), (3,)),
    ("empty_stays_empty", (0, 2), (0, 1), (0, 0), (0, 1)),
    ("one_with_interior", (1,), (0,), (0,), (4,)),
    ("rank_6", _WIDE, (1, 0, 0, -1, 0, 0), (0, 1, 0, 0, 2, 0), (0, 1, 0, 0, 0, 1)),
    ("rank_3", (2, 1, 3), (1, 0, -1), (0, 2, 1), (0, 0, 2)),
    ("rank_4", _FOUR, (0, -1, 1, 0), (2, 0, 0, -2), (1, 0, 0, 1)),
    ("rank_5", _FIVE, (-1, 0, 0, 1, 0), (1, 0, -1, 0, 0), (0, 3, 1, 0, 1)),
)
"""Variants of padding: operand shape, low, high and interior amounts."""


@templates_of("stablehlo.pad")
def _pad(element_type: AnyElementType) -> Iterator[Template]:
    for variant, shape, low, high, interior in PADDINGS:
        sizes = [padded_size(*column) for column in zip(shape, low, high, interior, strict=True)]
        yield make(
            "stablehlo.pad",
            variant,
            [tensor(element_type, *shape), tensor(element_type)],
            [tensor(element_type, *sizes)],
            edge_padding_low=tuple(low),
            edge_padding_high=tuple(high),
            interior_padding=tuple(interior),
            edges=True,
            is_basic=variant in ("edges_and_interior", "negative_into_interior"),
        )


SLICES: Final[Sequence[tuple[str, Sequence[int], Sequence[int], Sequence[int], Sequence[int]]]] = (
    ("strided", (5, 7), (1, 0), (5, 6), (2, 3)),
    ("whole", (3, 4), (0, 0), (3, 4), (1, 1)),
    ("scalar", (), (), (), ()),
    ("nothing", (4,), (2,), (2,), (1,)),
    ("nothing_at_the_end", (4,), (4,), (4,), (1,)),
    ("empty_operand", (0, 3), (0, 1), (0, 2), (1, 1)),
    ("one", (5,), (4,), (5,), (1,)),
    ("stride_beyond_the_end", (5,), (1,), (5,), (9,)),
    ("stride_to_the_last", (7,), (0,), (7,), (3,)),
    ("rank_6", _WIDE, (0, 1, 0, 0, 0, 1), (2, 3, 1, 2, 1, 2), (1, 2, 1, 1, 1, 1)),
    ("rank_3", (3, 1, 4), (1, 0, 0), (3, 1, 3), (1, 1, 2)),
    ("rank_4", _FOUR, (0, 1, 0, 1), (1, 3, 1, 4), (1, 1, 1, 2)),
    ("rank_5", _FIVE, (1, 0, 0, 0, 1), (2, 1, 3, 2, 2), (1, 1, 2, 1, 1)),
)
"""Variants of slices: operand shape, start and limit indices, strides."""


@templates_of("stablehlo.slice")
def _slice(element_type: AnyElementType) -> Iterator[Template]:
    for variant, shape, start, limit, stride in SLICES:
        yield make(
            "stablehlo.slice",
            variant,
            [tensor(element_type, *shape)],
            [tensor(element_type, *sliced_shape(start, limit, stride))],
            start_indices=tuple(start),
            limit_indices=tuple(limit),
            strides=tuple(stride),
            edges=True,
            is_basic=variant == "strided",
        )


def sliced_shape(start: Sequence[int], limit: Sequence[int], stride: Sequence[int]) -> list[int]:
    """The shape of a slice."""
    return [-((low - high) // step) for low, high, step in zip(start, limit, stride, strict=True)]
