"""Templates of elementwise operations, conversions and constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ....program.ir import DenseElementsAttribute, FloatAttribute, IntegerAttribute
from ....program.ops.chlo.broadcast import BroadcastBinary
from ....program.ops.elementwise.base import Elementwise
from ....program.ops.elementwise.comparison import ComparisonDirection, ComparisonType
from ....program.ops.framework.declaration import Op
from ....types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    QUANTIZED,
    AnyElementType,
    ElementType,
    QuantizedType,
    TensorType,
    storage_range,
)
from ..template import (
    PER_TENSOR,
    SYMMETRIC,
    Generate,
    Template,
    constant,
    make,
    name_of,
    per_axis,
    sizes_text,
    templates_of,
    tensor,
)
from ..values import common_numbers, crossed, edge_pool

SHAPES: Final = (
    *((), (0,), (1,), (7,), (2, 0, 3), (1, 1), (3, 5)),
    *((2, 1, 3, 2), (1, 2, 3, 1, 2), (2, 3, 1, 2, 1, 2)),
)
"""Shapes with sizes of zero, one and odd numbers, of every rank up to 6."""


def generic(declaration: type[Op]) -> Generate | None:
    """The templates of an elementwise operation without attributes of its own; None for other operations."""
    if issubclass(declaration, BroadcastBinary):
        return lambda element_type: _broadcasting(declaration, element_type)
    if issubclass(declaration, Elementwise):
        return lambda element_type: _elementwise(declaration, element_type)
    return None


def _elementwise(declaration: type[Elementwise], element_type: AnyElementType) -> Iterator[Template]:
    count, result = len(declaration.declared_operands), _result_type(declaration, element_type)
    yield from _on_edges(declaration.name, count, element_type, result)
    for shape in SHAPES:
        operands = [tensor(element_type, *shape)] * count
        yield make(declaration.name, f"shape_{sizes_text(shape)}", operands, [tensor(result, *shape)])


def _on_edges(
    name: str, count: int, element_type: AnyElementType, result: AnyElementType, **attributes: Any
) -> Iterator[Template]:
    """The operation on edge values, of which each meets every other one."""
    if isinstance(element_type, QuantizedType):
        types = [tensor(element_type, 7)] * count
        yield make(name, "edges", types, [tensor(result, 7)], is_basic=True, **attributes)
        return
    arrays = crossed(element_type, count)
    type = tensor(element_type, len(arrays[0]))
    yield make(
        name,
        "edges",
        [type] * count,
        [type.with_element_type(result)],
        inputs=dict(enumerate(arrays)),
        is_basic=True,
        **attributes,
    )


def _result_type(declaration: type[Elementwise], element_type: AnyElementType) -> AnyElementType:
    (result,) = declaration.declared_results
    if isinstance(element_type, QuantizedType) and result.categories & QUANTIZED:
        return element_type
    plain = element_type.expressed if isinstance(element_type, QuantizedType) else element_type
    try:
        return declaration.result_element_type(plain)
    except (KeyError, ValueError, AssertionError):
        return element_type


_BROADCASTS: Final[Sequence[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]] = (
    ((), (3,), (3,)),
    ((2, 1), (3,), (2, 3)),
    ((0,), (1,), (0,)),
    ((), (), ()),
    ((2, 1, 3), (4, 1), (2, 4, 3)),
    ((3, 1, 2), (2, 1, 2, 1), (2, 3, 2, 2)),
    ((2, 1, 1, 2, 1), (3, 1, 2), (2, 1, 3, 2, 2)),
    ((2, 3, 1, 2, 1, 2), (2, 2, 1), (2, 3, 1, 2, 2, 2)),
)
"""Shapes of two operands, and of the result to which both are broadcast."""


def _broadcasting(declaration: type[BroadcastBinary], element_type: AnyElementType) -> Iterator[Template]:
    name, result = declaration.name, _result_type(declaration.elementwise, element_type)
    required: dict[str, Any] = {}
    if any(one.name == "comparison_direction" for one in declaration.declared_attributes):
        required, result = {"comparison_direction": ComparisonDirection.LT}, ELEMENT_TYPES["i1"]
    yield from _on_edges(name, 2, element_type, result, **required)
    for lhs, rhs, shape in _BROADCASTS:
        operands = [tensor(element_type, *lhs), tensor(element_type, *rhs)]
        variant = f"{sizes_text(lhs)}_with_{sizes_text(rhs)}"
        yield make(name, variant, operands, [tensor(result, *shape)], edges=True, **required)
    operands = [tensor(element_type, 2), tensor(element_type, 2, 3)]
    dimensions = (0,)
    yield make(
        name, "dimensions", operands, [tensor(result, 2, 3)], broadcast_dimensions=dimensions, **required
    )


@templates_of("stablehlo.compare")
def _compare(element_type: AnyElementType) -> Iterator[Template]:
    name = "stablehlo.compare"
    kinds = {FLOAT: ["FLOAT", "TOTALORDER"], COMPLEX: ["FLOAT"]}.get(element_type.category, ["NOTYPE"])
    for direction in ComparisonDirection:
        for kind in kinds:
            for template in _on_edges(
                name,
                2,
                element_type,
                ELEMENT_TYPES["i1"],
                comparison_direction=direction,
                compare_type=ComparisonType(kind),
            ):
                yield _renamed(template, f"edges_{direction}_{kind}", is_basic=direction in ("LT", "EQ"))
    for shape in SHAPES:
        operands = [tensor(element_type, *shape)] * 2
        yield make(
            name,
            f"shape_{sizes_text(shape)}",
            operands,
            [tensor("i1", *shape)],
            comparison_direction=ComparisonDirection.GE,
        )


def _renamed(template: Template, variant: str, *, is_basic: bool) -> Template:
    return replace(template, variant=variant, is_basic=is_basic, each_type=True)


@templates_of("stablehlo.select")
def _select(element_type: AnyElementType) -> Iterator[Template]:
    yield from _selections("stablehlo.select", element_type)


@templates_of("chlo.broadcast_select")
def _broadcast_select(element_type: AnyElementType) -> Iterator[Template]:
    name = "chlo.broadcast_select"
    yield from _selections(name, element_type)
    operands = [tensor("i1", 3), tensor(element_type, 2, 1), tensor(element_type)]
    yield make(name, "broadcast", operands, [tensor(element_type, 2, 3)], edges=True)
    for lhs, rhs, shape in _BROADCASTS[4:]:
        operands = [tensor("i1", shape[-1]), tensor(element_type, *lhs), tensor(element_type, *rhs)]
        variant = f"broadcast_to_{sizes_text(shape)}"
        yield make(name, variant, operands, [tensor(element_type, *shape)], edges=True)


def _selections(name: str, element_type: AnyElementType) -> Iterator[Template]:
    type = tensor(element_type, 40)
    yield make(name, "edges", [tensor("i1", 40), type, type], [type], edges=True, is_basic=True)
    for value in (False, True):
        yield make(name, f"scalar_{value}", [tensor("i1"), type, type], [type], inputs={0: value}, edges=True)
    for shape in SHAPES:
        sized = tensor(element_type, *shape)
        yield make(name, f"shape_{sizes_text(shape)}", [tensor("i1", *shape), sized, sized], [sized])


@templates_of("stablehlo.clamp")
def _clamp(element_type: AnyElementType) -> Iterator[Template]:
    name = "stablehlo.clamp"
    if isinstance(element_type, ElementType):
        low, operand, high = crossed(element_type, 3)
        type = tensor(element_type, len(low))
        inputs = {0: low, 1: operand, 2: high}
        yield make(name, "edges", [type] * 3, [type], inputs=inputs, is_basic=True)
    for shape in SHAPES:
        sized, scalar = tensor(element_type, *shape), tensor(element_type)
        yield make(name, f"shape_{sizes_text(shape)}", [sized] * 3, [sized])
        bounds = {0: common_numbers(scalar, 0), 2: common_numbers(scalar, 0)}
        yield make(name, f"scalars_{sizes_text(shape)}", [scalar, sized, scalar], [sized], inputs=bounds)


@templates_of("stablehlo.convert")
def _convert(element_type: AnyElementType) -> Iterator[Template]:
    if not isinstance(element_type, ElementType):
        return
    for target in ELEMENT_TYPES.values():
        for template in _on_edges("stablehlo.convert", 1, element_type, target):
            is_basic = target.name in ("f32", "i32", "f16")
            yield _renamed(template, f"to_{target.name}", is_basic=is_basic)
    for shape in SHAPES:
        type = tensor(element_type, *shape)
        yield make("stablehlo.convert", f"shape_{sizes_text(shape)}", [type], [tensor("f32", *shape)])


_STORAGES: Final = ("i4", "i16", "i32", "ui4", "ui8", "ui16", "ui32")
"""Types of stored integers beside i8."""


def _quantized(storage: str = "i8", expressed: ElementType = ELEMENT_TYPES["f32"]) -> QuantizedType:
    """An element type with the scale of `PER_TENSOR` and a zero point that each storage has."""
    integers = ELEMENT_TYPES[storage]
    return QuantizedType(integers, *storage_range(integers), expressed, PER_TENSOR.scales, (3,))


@templates_of("stablehlo.uniform_quantize")
def _quantize(element_type: AnyElementType) -> Iterator[Template]:
    for shape in SHAPES:
        type = tensor(element_type, *shape)
        yield make(
            "stablehlo.uniform_quantize",
            f"shape_{sizes_text(shape)}",
            [type],
            [tensor(PER_TENSOR, *shape)],
            is_basic=shape == (7,),
        )
    for axis in range(2):
        types = [tensor(element_type, 2, 2)], [tensor(per_axis(axis), 2, 2)]
        yield make("stablehlo.uniform_quantize", f"axis_{axis}", *types)
    # On and beside the middle of two multiples of the scale, and beyond the range.
    halves = (np.arange(-3, 4) + 0.5) / 2
    numbers = np.concatenate([halves, halves + 2.0**-13, halves - 2.0**-13, [1e3, -1e3]])
    types = [tensor(element_type, numbers.size)], [tensor(PER_TENSOR, numbers.size)]
    yield make("stablehlo.uniform_quantize", "halfway", *types, inputs={0: numbers})
    if element_type.category & FLOAT and isinstance(element_type, ElementType):
        expressed = _quantized(expressed=element_type)
        types = [tensor(element_type, 7)], [tensor(expressed, 7)]
        yield replace(make("stablehlo.uniform_quantize", "of_its_type", *types), each_type=True)
    for name in _STORAGES:
        types = [tensor(element_type, numbers.size)], [tensor(_quantized(name), numbers.size)]
        yield make("stablehlo.uniform_quantize", f"to_{name}", *types, inputs={0: numbers})
    rows = np.stack([numbers, numbers / 4])
    types = [tensor(element_type, *rows.shape)], [tensor(per_axis(0), *rows.shape)]
    yield make("stablehlo.uniform_quantize", "halfway_axis_0", *types, inputs={0: rows})


@templates_of("stablehlo.uniform_dequantize")
def _dequantize(element_type: AnyElementType) -> Iterator[Template]:
    for shape in SHAPES:
        type = tensor(element_type, *shape)
        yield make(
            "stablehlo.uniform_dequantize",
            f"shape_{sizes_text(shape)}",
            [type],
            [tensor("f32", *shape)],
            is_basic=shape == (7,),
        )
    if element_type == PER_TENSOR:
        for axis in range(2):
            types = [tensor(per_axis(axis), 2, 2)], [tensor("f32", 2, 2)]
            yield make("stablehlo.uniform_dequantize", f"axis_{axis}", *types)
        for expressed in (one for one in ELEMENT_TYPES.values() if one.category & FLOAT):
            types = [tensor(_quantized(expressed=expressed), 7)], [tensor(expressed, 7)]
            yield make("stablehlo.uniform_dequantize", f"to_{expressed.name}", *types)
        for name in _STORAGES:
            types = [tensor(_quantized(name), 7)], [tensor("f32", 7)]
            yield make("stablehlo.uniform_dequantize", f"of_{name}", *types)


@templates_of("stablehlo.reduce_precision")
def _reduce_precision(element_type: AnyElementType) -> Iterator[Template]:
    for exponent_bits, mantissa_bits in ((8, 7), (5, 10), (5, 2), (4, 3), (2, 0), (1, 1), (11, 52), (8, 23)):
        for template in _on_edges(
            "stablehlo.reduce_precision",
            1,
            element_type,
            element_type,
            exponent_bits=exponent_bits,
            mantissa_bits=mantissa_bits,
        ):
            variant = f"exponent_{exponent_bits}_mantissa_{mantissa_bits}"
            yield _renamed(template, variant, is_basic=exponent_bits in (8, 5))
    for shape in SHAPES:
        type = tensor(element_type, *shape)
        variant = "empty" if shape == (0,) else f"shape_{sizes_text(shape)}"
        yield make("stablehlo.reduce_precision", variant, [type], [type], exponent_bits=5, mantissa_bits=10)


@templates_of("stablehlo.bitcast_convert")
def _bitcast_convert(element_type: AnyElementType) -> Iterator[Template]:
    if not isinstance(element_type, ElementType):
        yield from _bitcasts_of_stored_values(element_type)
        return
    width, pool = element_type.width, edge_pool(element_type)
    for target in ELEMENT_TYPES.values():
        if (target.category == COMPLEX) != (element_type.category == COMPLEX):
            continue
        source_shape: tuple[int, ...] = (len(pool),)
        target_shape: tuple[int, ...] = (len(pool),)
        inputs: dict[int, Any] = {0: pool}
        if target.width < width and width % target.width == 0:
            target_shape = (len(pool), width // target.width)
        elif target.width > width and target.width % width == 0:
            count = target.width // width
            rows = max(len(pool) // count, 1)
            source_shape, target_shape = (rows, count), (rows,)
            inputs = {0: pool[np.arange(rows * count) % len(pool)]}
        elif target.width != width:
            continue
        template = make(
            "stablehlo.bitcast_convert",
            "to",
            [tensor(element_type, *source_shape)],
            [tensor(target, *target_shape)],
            inputs=inputs,
        )
        yield _renamed(template, f"to_{target.name}", is_basic=target.name in ("i32", "ui8"))
    same = next(one for one in ELEMENT_TYPES.values() if one.width == width)
    for shape in SHAPES:
        types = [tensor(element_type, *shape)], [tensor(same, *shape)]
        yield make("stablehlo.bitcast_convert", f"shape_{sizes_text(shape)}", *types)


def _bitcasts_of_stored_values(element_type: QuantizedType) -> Iterator[Template]:
    """The bits of a quantized element are those of the stored integer, of eight bits."""
    quantized, name = tensor(element_type, 2, 4), "stablehlo.bitcast_convert"
    for target in (tensor("i8", 2, 4), tensor("ui8", 2, 4), tensor("i32", 2), tensor(SYMMETRIC, 2, 4)):
        kind = name_of(target.element_type)
        template = make(name, "to", [quantized], [target])
        yield _renamed(template, f"to_{kind}", is_basic=kind in ("i8", "quantized"))
    for source in (tensor("i8", 2, 4), tensor("i32", 2)):
        template = make(name, "from", [source], [quantized], edges=True)
        yield _renamed(template, f"from_{name_of(source.element_type)}", is_basic=False)


@templates_of("stablehlo.iota")
def _iota(element_type: AnyElementType) -> Iterator[Template]:
    for shape in ((1,), (0,), (5,), (3, 4), (2, 1, 3), *SHAPES[-3:]):
        for dimension in range(len(shape)):
            yield make(
                "stablehlo.iota",
                f"{sizes_text(shape)}_dimension_{dimension}",
                [],
                [tensor(element_type, *shape)],
                iota_dimension=dimension,
                is_basic=shape == (5,),
            )


@templates_of("stablehlo.constant")
def _constant(element_type: AnyElementType) -> Iterator[Template]:
    yield from _constants("stablehlo.constant", element_type)


@templates_of("chlo.constant")
def _chlo_constant(element_type: AnyElementType) -> Iterator[Template]:
    yield from _constants("chlo.constant", element_type)


def _constants(name: str, element_type: AnyElementType) -> Iterator[Template]:
    for shape in ((), (0,), (1,), (3, 5), (2, 1, 3), *SHAPES[-3:]):
        type = tensor(element_type, *shape)
        value = DenseElementsAttribute(type, common_numbers(type, 1))
        yield make(name, sizes_text(shape), [], [type], value=value)
    if isinstance(element_type, ElementType):
        pool = edge_pool(element_type)
        type = TensorType((len(pool),), element_type)
        yield make(name, "edges", [], [type], value=constant(type, pool), is_basic=True)


@templates_of("chlo.constant_like")
def _constant_like(element_type: AnyElementType) -> Iterator[Template]:
    if not isinstance(element_type, ElementType) or not element_type.category & (BOOLEAN | INTEGER | FLOAT):
        return
    is_float = element_type.category == FLOAT
    value: Any = FloatAttribute(1.5, element_type) if is_float else IntegerAttribute(1, element_type)
    for shape in SHAPES:
        types = [tensor("f32", *shape)], [tensor(element_type, *shape)]
        is_basic = shape == (7,)
        yield make("chlo.constant_like", f"shape_{sizes_text(shape)}", *types, value=value, is_basic=is_basic)
