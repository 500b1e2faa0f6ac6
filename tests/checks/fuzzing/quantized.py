"""Random operations on quantized tensors, for comparing modes of execution: the interpreter has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from nimblehlo.checks.fuzzing.generator import CannotGenerate, Generator, Producers
from nimblehlo.checks.fuzzing.movement import require_small
from nimblehlo.checks.fuzzing.tensor_values import TensorValue as Value
from nimblehlo.program.ops.elementwise.comparison import ComparisonDirection
from nimblehlo.types import ELEMENT_TYPES, ElementType, QuantizedType, TensorType, storage_range

_STORAGES = ("i8", "i8", "ui8", "i4", "ui4", "i16", "ui16", "i32")
_UNARY = ("abs", "cbrt", "ceil", "cosine", "exponential", "floor", "log", "logistic", "negate", "sign")
_BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract")
_PRED = ELEMENT_TYPES["i1"]


def quantized_type(g: Generator, expressed: ElementType, storage: ElementType | None = None) -> QuantizedType:
    """A type per tensor; some leave out stored values at the ends, or have a zero point beyond zero."""
    storage = storage or ELEMENT_TYPES[g.random.choice(_STORAGES)]
    low, high = storage_range(storage)
    if g.chance(0.3):
        low, high = low + 1, high - 1
    scale = g.random.choice((1.0, 0.5, 0.1, 0.0375, 2.0, 3.0))
    return QuantizedType(storage, low, high, expressed, [scale], [_zero_point(g, low, high)])


def _zero_point(g: Generator, low: int, high: int) -> int:
    return g.random.choice((max(low, 0), max(low, 0), min(3, high), max(low, -7), low, high))


def _rescaled(g: Generator, type: QuantizedType) -> QuantizedType:
    """A type of the same baseline."""
    zero_point = _zero_point(g, type.storage_min, type.storage_max)
    scale = g.random.choice((type.scales[0], 0.25, 0.7))
    bounds = (type.storage, type.storage_min, type.storage_max, type.expressed)
    return QuantizedType(*bounds, [scale], [zero_point])


def quantized(g: Generator) -> None:
    """A float tensor is quantized, goes through some operations, and is dequantized."""
    expressed = ELEMENT_TYPES[g.random.choice(("f32", "f32", "f32", "f16", "bf16", "f64"))]
    type = TensorType(g.shape(), expressed)
    if type.rank and g.chance(0.2):
        _per_axis(g, type, g.operand(type))
    else:
        value = _quantize(g, g.operand(type), quantized_type(g, expressed))
        for _ in range(g.random.randrange(0, 5)):
            with suppress(CannotGenerate):
                value = g.random.choice(_STEPS)(g, value)
        _dequantize(g, value)


def _quantize(g: Generator, value: Value, type: QuantizedType) -> Value:
    return g.add("stablehlo.uniform_quantize", [value], [value.type.with_element_type(type)])[0]


def _dequantize(g: Generator, value: Value) -> None:
    g.add("stablehlo.uniform_dequantize", [value], [value.type.with_element_type(_type(value).expressed)])


def _type(value: Value) -> QuantizedType:
    type = value.type.element_type
    assert isinstance(type, QuantizedType)
    return type


def _per_axis(g: Generator, type: TensorType, value: Value) -> None:
    """Quantization with a scale for each slice, at times added to another tensor of the type."""
    axis = g.random.randrange(type.rank)
    count = type.shape[axis]
    storage = ELEMENT_TYPES[g.random.choice(("i8", "ui8", "i16"))]
    low, high = storage_range(storage)
    scales = [g.random.choice((0.5, 0.1, 1.0, 3.0)) for _ in range(count)]
    zero_points = [_zero_point(g, low, high) if g.chance(0.5) else 0 for _ in range(count)]
    expressed = type.element_type
    assert isinstance(expressed, ElementType)
    if not count:
        raise CannotGenerate("no slice")
    stored = _quantize(g, value, QuantizedType(storage, low, high, expressed, scales, zero_points, axis))
    if g.chance(0.5):
        (stored,) = g.add("stablehlo.add", [stored, stored], [stored.type])
    _dequantize(g, stored)


def _unary(g: Generator, value: Value) -> Value:
    result = value.type.with_element_type(_rescaled(g, _type(value)))
    return g.add(f"stablehlo.{g.random.choice(_UNARY)}", [value], [result])[0]


def _like(g: Generator, value: Value, shape: Sequence[int] | None = None) -> Value:
    """Another tensor of the same type."""
    shape = value.type.shape if shape is None else shape
    return _quantize(g, g.operand(TensorType(shape, _type(value).expressed)), _type(value))


def _binary(g: Generator, value: Value) -> Value:
    result = value.type.with_element_type(_rescaled(g, _type(value)))
    pair = [value, _like(g, value)]
    g.random.shuffle(pair)
    return g.add(f"stablehlo.{g.random.choice(_BINARY)}", pair, [result])[0]


def _choose(g: Generator, value: Value) -> Value:
    """A comparison, and a selection by it."""
    other = _like(g, value)
    direction = ComparisonDirection(g.random.choice(list(ComparisonDirection)))
    pred_type = value.type.with_element_type(_PRED)
    (pred,) = g.add("stablehlo.compare", [value, other], [pred_type], comparison_direction=direction)
    return g.add("stablehlo.select", [pred, value, other], [value.type])[0]


def _clamp(g: Generator, value: Value) -> Value:
    bounds = [_like(g, value, ()) for _ in range(2)]
    return g.add("stablehlo.clamp", [bounds[0], value, bounds[1]], [value.type])[0]


def _requantize(g: Generator, value: Value) -> Value:
    return _quantize(g, value, quantized_type(g, _type(value).expressed))


def _transpose(g: Generator, value: Value) -> Value:
    permutation = tuple(g.random.sample(range(value.type.rank), value.type.rank))
    result = TensorType([value.type.shape[d] for d in permutation], _type(value))
    return g.add("stablehlo.transpose", [value], [result], permutation=permutation)[0]


def _reverse(g: Generator, value: Value) -> Value:
    dimensions = tuple(d for d in range(value.type.rank) if g.chance(0.5))
    return g.add("stablehlo.reverse", [value], [value.type], dimensions=dimensions)[0]


def _concatenate(g: Generator, value: Value) -> Value:
    if not value.type.rank or value.type.size > g.largest // 2:
        raise CannotGenerate("rank 0, or large")
    dimension = g.random.randrange(value.type.rank)
    shape = list(value.type.shape)
    shape[dimension] *= 2
    pair = [value, _like(g, value)]
    return g.add("stablehlo.concatenate", pair, [TensorType(shape, _type(value))], dimension=dimension)[0]


def _pad(g: Generator, value: Value) -> Value:
    rank = value.type.rank
    low, high = (tuple([g.random.choice((0, 0, 1, 2)) for _ in range(rank)]) for _ in range(2))
    shape = [a + size + b for a, size, b in zip(low, value.type.shape, high, strict=True)]
    require_small(g, shape)
    attributes = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": (0,) * rank}
    result = TensorType(shape, _type(value))
    return g.add("stablehlo.pad", [value, _like(g, value, ())], [result], **attributes)[0]


def _reduce(g: Generator, value: Value) -> Value:
    """A reduction whose body is on quantized scalars."""
    type = _type(value)
    scalar = TensorType((), type)
    name = g.random.choice(("add", "maximum", "minimum"))
    dimensions = tuple(d for d in range(value.type.rank) if g.chance(0.4))
    result_shape = [size for d, size in enumerate(value.type.shape) if d not in dimensions]
    region = g.region([scalar, scalar], lambda a, b: g.add(f"stablehlo.{name}", [a, b], [scalar]))
    operands = [value, _like(g, value, ())]
    result_type = TensorType(result_shape, type)
    return g.add("stablehlo.reduce", operands, [result_type], [region], dimensions=dimensions)[0]


def _product(g: Generator, value: Value) -> Value:
    """A product of matrices of bytes."""
    type, shape = _type(value), value.type.shape
    if not shape or type.storage.width > 8 or type.storage_min > 0:
        raise CannotGenerate("no product of bytes")
    columns = g.random.choice((1, 5, 16))
    symmetric = QuantizedType(
        type.storage, type.storage_min, type.storage_max, type.expressed, type.scales, [0]
    )
    rhs = _quantize(g, g.operand(TensorType((shape[-1], columns), type.expressed)), symmetric)
    wide = ELEMENT_TYPES["i32"]
    result = QuantizedType(wide, *storage_range(wide), type.expressed, [type.scales[0] ** 2], [0])
    (product,) = g.add(
        "stablehlo.dot_general",
        [value, rhs],
        [TensorType([*shape[:-1], columns], result)],
        lhs_batching_dimensions=(),
        rhs_batching_dimensions=(),
        lhs_contracting_dimensions=(len(shape) - 1,),
        rhs_contracting_dimensions=(0,),
    )
    return _quantize(g, product, type)


_STEPS: list[Callable[[Generator, Value], Value]] = [
    _unary,
    _unary,
    _binary,
    _binary,
    _choose,
    _clamp,
    _requantize,
    _transpose,
    _reverse,
    _concatenate,
    _pad,
    _reduce,
    _product,
]

PRODUCERS: Producers = [(1.5, quantized)]
"""The operation producers of this module, with their relative frequencies."""
