"""Templates of operations whose sizes are operands, and of slices that start where operands say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ....program.ops.shape.slicing import padded_size
from ....types import AnyElementType
from ..template import OperandSpec, Template, constant, make, sizes_text, templates_of, tensor
from .movement import PADDINGS, SLICES, sliced_shape

_SIZES: Final = tensor("i64", 3)


@templates_of("stablehlo.dynamic_reshape")
def _dynamic_reshape(element_type: AnyElementType) -> Iterator[Template]:
    for source, target in (
        ((6,), (2, 3)),
        ((0, 2), (0,)),
        ((1,), (1, 1)),
        ((24,), (2, 3, 1, 2, 1, 2)),
        ((2, 6), (6, 2)),
        ((2, 3, 1, 4), (2, 1, 3, 2, 2)),
        ((2, 1, 3, 2, 2), (2, 3, 1, 4)),
        ((2, 3, 1, 2, 1, 2), (2, 3, 4)),
    ):
        shape = constant(tensor("i64", len(target)), target)
        operands: list[OperandSpec] = [tensor(element_type, *source), shape]
        name = "_".join(map(str, target))
        result = [tensor(element_type, *target)]
        is_basic = source == (6,)
        yield make("stablehlo.dynamic_reshape", f"to_{name}", operands, result, edges=True, is_basic=is_basic)


@templates_of("stablehlo.dynamic_broadcast_in_dim")
def _dynamic_broadcast_in_dim(element_type: AnyElementType) -> Iterator[Template]:
    for variant, expanding, nonexpanding in (
        ("plain", (), ()),
        ("expanding", (0,), ()),
        ("nonexpanding", (), (1,)),
        ("both", (0,), (1,)),
    ):
        yield make(
            "stablehlo.dynamic_broadcast_in_dim",
            variant,
            [tensor(element_type, 1, 3), constant(_SIZES, (2, 3, 4))],
            [tensor(element_type, 2, 3, 4)],
            broadcast_dimensions=(0, 1),
            edges=True,
            is_basic=variant == "plain",
            known_expanding_dimensions=expanding,
            known_nonexpanding_dimensions=nonexpanding,
        )
    yield make(
        "stablehlo.dynamic_broadcast_in_dim",
        "empty",
        [tensor(element_type, 0), constant(tensor("i32", 2), (2, 0))],
        [tensor(element_type, 2, 0)],
        broadcast_dimensions=(1,),
    )
    for source, dimensions, target in (
        ((), (), ()),
        ((1, 2, 3), (1, 0, 3), (2, 4, 1, 3)),
        ((2, 1, 3, 2), (0, 2, 4, 3), (2, 2, 1, 2, 3)),
        ((1, 2, 1, 3, 2), (1, 0, 2, 4, 3), (2, 3, 1, 2, 3)),
        ((2, 3, 1, 2, 1, 2), (5, 1, 2, 3, 4, 0), (2, 3, 4, 2, 1, 2)),
    ):
        yield make(
            "stablehlo.dynamic_broadcast_in_dim",
            f"{sizes_text(source)}_to_{sizes_text(target)}",
            [tensor(element_type, *source), constant(tensor("i64", len(target)), target)],
            [tensor(element_type, *target)],
            broadcast_dimensions=dimensions,
        )


_IOTAS: Final = (((2, 1, 3), 2), ((2, 3, 1, 4), 1), ((2, 1, 3, 2, 2), 2))
"""Shapes of ranks 3 to 5, and the dimension along which numbers rise."""


@templates_of("stablehlo.dynamic_iota")
def _dynamic_iota(element_type: AnyElementType) -> Iterator[Template]:
    for shape, dimension in (((5,), 0), ((2, 3), 1), ((0, 2), 0), ((2, 3, 1, 2, 1, 2), 3), *_IOTAS):
        sizes = constant(tensor("i64", len(shape)), shape)
        yield make(
            "stablehlo.dynamic_iota",
            f"{'x'.join(map(str, shape))}_dimension_{dimension}",
            [sizes],
            [tensor(element_type, *shape)],
            iota_dimension=dimension,
            is_basic=shape == (5,),
        )


@templates_of("stablehlo.dynamic_pad")
def _dynamic_pad(element_type: AnyElementType) -> Iterator[Template]:
    for variant, shape, low, high, interior in PADDINGS:
        sizes = [padded_size(*column) for column in zip(shape, low, high, interior, strict=True)]
        type = tensor("i64", len(shape))
        amounts = [constant(type, column) for column in (low, high, interior)]
        yield make(
            "stablehlo.dynamic_pad",
            variant,
            [tensor(element_type, *shape), tensor(element_type), *amounts],
            [tensor(element_type, *sizes)],
            edges=True,
            is_basic=variant == "edges_and_interior",
        )


@templates_of("stablehlo.real_dynamic_slice")
def _real_dynamic_slice(element_type: AnyElementType) -> Iterator[Template]:
    for variant, shape, start, limit, stride in SLICES:
        type = tensor("i64", len(shape))
        yield make(
            "stablehlo.real_dynamic_slice",
            variant,
            [tensor(element_type, *shape), *[constant(type, column) for column in (start, limit, stride)]],
            [tensor(element_type, *sliced_shape(start, limit, stride))],
            edges=True,
            is_basic=variant == "strided",
        )


@templates_of("stablehlo.get_dimension_size")
def _get_dimension_size(element_type: AnyElementType) -> Iterator[Template]:
    for dimension in range(3):
        yield make(
            "stablehlo.get_dimension_size",
            f"dimension_{dimension}",
            [tensor(element_type, 2, 0, 5)],
            [tensor("i32")],
            dimension=dimension,
            is_basic=dimension == 0,
        )
    for shape in ((3,), (2, 3), (2, 3, 1, 4), (2, 1, 3, 2, 2), (2, 3, 1, 2, 1, 2)):
        yield make(
            "stablehlo.get_dimension_size",
            f"{'x'.join(map(str, shape))}_dimension_{len(shape) - 1}",
            [tensor(element_type, *shape)],
            [tensor("i32")],
            dimension=len(shape) - 1,
        )


@templates_of("stablehlo.set_dimension_size")
def _set_dimension_size(element_type: AnyElementType) -> Iterator[Template]:
    for dimension, size in ((0, 2), (1, 3)):
        yield make(
            "stablehlo.set_dimension_size",
            f"dimension_{dimension}",
            [tensor(element_type, 2, 3), constant(tensor("i32"), size)],
            [tensor(element_type, 2, 3)],
            dimension=dimension,
            is_basic=dimension == 0,
        )
    for shape in ((3,), (2, 1, 3), (2, 3, 1, 4), (2, 1, 3, 2, 2), (2, 3, 1, 2, 1, 2)):
        yield make(
            "stablehlo.set_dimension_size",
            f"{'x'.join(map(str, shape))}_dimension_{len(shape) - 1}",
            [tensor(element_type, *shape), constant(tensor("i32"), shape[-1])],
            [tensor(element_type, *shape)],
            dimension=len(shape) - 1,
        )


_STARTS: Final = (("inside", (1, 2)), ("clamped_high", (9, 3)), ("clamped_low", (-3, 0)), ("zero", (0, 0)))
"""Start indices of slices of three by four elements."""
_PARTS: Final[Sequence[tuple[tuple[int, ...], tuple[int, ...]]]] = (
    ((), ()),
    ((3,), (0,)),
    ((0,), (0,)),
    ((2, 3, 1, 2, 1, 2), (1, 2, 1, 1, 1, 2)),
    ((3, 1, 4), (2, 1, 2)),
    ((2, 3, 1, 4), (1, 2, 1, 3)),
    ((2, 1, 3, 2, 2), (1, 1, 2, 2, 1)),
)
"""Shapes of operands and of slices of them that start at operands."""


@templates_of("stablehlo.dynamic_slice")
def _dynamic_slice(element_type: AnyElementType) -> Iterator[Template]:
    for index_type in ("i32", "i64", "i8", "ui8"):
        for variant, starts in _STARTS:
            inputs = {1: starts[0], 2: starts[1]}
            template = make(
                "stablehlo.dynamic_slice",
                f"{variant}_{index_type}",
                [tensor(element_type, 3, 4), tensor(index_type), tensor(index_type)],
                [tensor(element_type, 2, 2)],
                inputs={} if index_type == "ui8" and min(starts) < 0 else inputs,
                slice_sizes=(2, 2),
                edges=True,
            )
            yield replace(template, is_basic=index_type == "i32" and variant.startswith("clamped"))
    for shape, sizes in _PARTS:
        operands = [tensor(element_type, *shape), *[tensor("i32") for _ in shape]]
        yield make(
            "stablehlo.dynamic_slice",
            f"{'x'.join(map(str, shape))}_sizes_{'x'.join(map(str, sizes))}",
            operands,
            [tensor(element_type, *sizes)],
            slice_sizes=sizes,
        )


@templates_of("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(element_type: AnyElementType) -> Iterator[Template]:
    for index_type in ("i32", "i64", "i8"):
        for variant, starts in _STARTS:
            template = make(
                "stablehlo.dynamic_update_slice",
                f"{variant}_{index_type}",
                [
                    tensor(element_type, 3, 4),
                    tensor(element_type, 2, 2),
                    tensor(index_type),
                    tensor(index_type),
                ],
                [tensor(element_type, 3, 4)],
                inputs={2: starts[0], 3: starts[1]},
                edges=True,
            )
            yield replace(template, is_basic=index_type == "i32" and variant.startswith("clamped"))
    for shape, sizes in _PARTS:
        operands = [tensor(element_type, *shape), tensor(element_type, *sizes)]
        yield make(
            "stablehlo.dynamic_update_slice",
            f"{'x'.join(map(str, shape))}_sizes_{'x'.join(map(str, sizes))}",
            [*operands, *[tensor("i32") for _ in shape]],
            [tensor(element_type, *shape)],
        )
