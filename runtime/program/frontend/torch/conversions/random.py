"""Random numbers: PyTorch's distributions, from the Philox generator of StableHLO.

Each call of a program draws one seed from PyTorch's generator, so that ``torch.manual_seed`` decides the
numbers. They are not those that PyTorch's own generator gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .....types import ELEMENT_TYPES, ElementType, TensorType
from ....ir import Value
from ..emitter import F32, F64, I64, UI64, Number, element_type, is_complex, real_type, shape_of
from ..table import NodeEmitter, converts, unsupported
from .reductions import cumulative
from .searching import positions
from .sorting import sort_with_indices

_UI32 = ELEMENT_TYPES["ui32"]


def random_bits(e: NodeEmitter, shape: Sequence[int], type: ElementType) -> Value:
    """Uniform random bits; each call takes another key."""
    types = [TensorType((2,), UI64), TensorType(shape, type)]
    return e.create("stablehlo.rng_bit_generator", [e.seed()], types, rng_algorithm="PHILOX")[1]


def uniform_floats(e: NodeEmitter, shape: Sequence[int], type: ElementType) -> Value:
    """Uniform numbers in [0, 1), multiples of 2^-24, of 2^-53 in double precision."""
    wide = type is F64
    bits = random_bits(e, shape, UI64 if wide else _UI32)
    used = 53 if wide else min(24, _digits(type))
    shifted = e.binary("stablehlo.shift_right_logical", bits, e.like(bits, element_type(bits).width - used))
    computed = F64 if wide else F32
    floats = e.convert(shifted, computed)
    return e.convert(e.multiply(floats, e.like(floats, 2.0**-used)), type)


def _digits(type: ElementType) -> int:
    """Significant bits of a float type."""
    return {"bf16": 8, "f16": 11}.get(type.name, 24)


def normal_floats(e: NodeEmitter, shape: Sequence[int], type: ElementType) -> Value:
    """Standard normal numbers, by the inverse of the error function."""
    computed = F64 if type is F64 else F32
    uniform = uniform_floats(e, shape, computed)
    # In (-1, 1): the centres of the intervals that the uniform numbers stand for.
    half = 2.0 ** -(54 if computed is F64 else 25)
    centred = e.subtract(
        e.multiply(e.add(uniform, e.like(uniform, half)), e.like(uniform, 2)), e.like(uniform, 1)
    )
    limit = 1 - 2.0 ** -(53 if computed is F64 else 24)
    bounded = e.binary("stablehlo.minimum", centred, e.like(centred, limit))
    normal = e.multiply(e.unary("chlo.erf_inv", bounded), e.like(bounded, math.sqrt(2)))
    return e.convert(normal, type)


@converts("aten.rand.default", "aten.rand_like.default", "aten.rand.generator")
def rand(e: NodeEmitter, *args: object, **options: object) -> Value:
    _without_generator(options)
    return uniform_floats(e, e.type.shape, e.element)


@converts("aten.randn.default", "aten.randn_like.default", "aten.randn.generator")
def randn(e: NodeEmitter, *args: object, **options: object) -> Value:
    _without_generator(options)
    if not is_complex(e.element):
        return normal_floats(e, e.type.shape, e.element)
    parts = [normal_floats(e, e.type.shape, real_type(e.element)) for _ in range(2)]
    halves = [e.multiply(part, e.like(part, math.sqrt(0.5))) for part in parts]
    return e.one("stablehlo.complex", halves, e.type.shape, e.element)


@converts("aten.randint.low", "aten.randint_like.low_dtype")
def randint_low(e: NodeEmitter, low: int | Value, high: int, *args: object, **options: object) -> Value:
    _without_generator(options)
    if isinstance(low, Value):
        low, high = high, args[0]  # type: ignore[assignment]
    bits = random_bits(e, e.type.shape, UI64)
    rest = e.binary("stablehlo.remainder", bits, e.like(bits, max(high - low, 1)))
    return e.convert(e.add(e.convert(rest, I64), e.full(low, e.type.shape, I64)), e.element)


@converts("aten.randint.default", "aten.randint_like.default")
def randint(e: NodeEmitter, first: int | Value, *args: object, **options: object) -> Value:
    high = args[0] if isinstance(first, Value) else first
    assert isinstance(high, int)
    return randint_low(e, 0, high, **options)


@converts("aten.randperm.default")
def randperm(e: NodeEmitter, n: int, **options: object) -> Value:
    _without_generator(options)
    order = sort_with_indices(e, random_bits(e, (n,), UI64), 0, descending=False)[1]
    return e.convert(order, e.element)


@converts("aten.bernoulli.p", "aten.bernoulli.Tensor")
def bernoulli_p(e: NodeEmitter, x: Value, p: Number | Value, **options: object) -> Value:
    _without_generator(options)
    uniform = uniform_floats(e, shape_of(x), F64)
    return e.convert(e.compare("LT", uniform, e.as_value(p, F64, shape_of(x))), e.element)


@converts("aten.bernoulli.default")
def bernoulli(e: NodeEmitter, x: Value, **options: object) -> Value:
    return bernoulli_p(e, x, x, **options)


@converts("aten.uniform.default")
def uniform(e: NodeEmitter, x: Value, low: float = 0.0, high: float = 1.0, **options: object) -> Value:
    _without_generator(options)
    values = uniform_floats(e, shape_of(x), element_type(x))
    return e.add(e.multiply(values, e.like(values, high - low)), e.like(values, low))


@converts("aten.normal_functional.default")
def normal(e: NodeEmitter, x: Value, mean: float = 0.0, std: float = 1.0, **options: object) -> Value:
    _without_generator(options)
    values = normal_floats(e, shape_of(x), element_type(x))
    return e.add(e.multiply(values, e.like(values, std)), e.like(values, mean))


@converts("aten.native_dropout.default")
def native_dropout(e: NodeEmitter, x: Value, p: float, train: bool | None) -> list[Value]:
    if train is False or p == 0:
        return [x, e.full(True, shape_of(x), ELEMENT_TYPES["i1"])]
    uniform = uniform_floats(e, shape_of(x), F32)
    kept = e.compare("GE", uniform, e.like(uniform, p))
    scaled = e.multiply(x, e.like(x, 1 / (1 - p) if p < 1 else 0.0))
    return [e.select(kept, scaled, e.like(x, 0)), kept]


def _without_generator(options: object) -> None:
    if isinstance(options, dict) and options.get("generator") is not None:
        raise unsupported("takes a torch.Generator of its own; use the default one and torch.manual_seed")


@converts("prims.normal.default")
def prims_normal(
    e: NodeEmitter, shape: Sequence[int], *, mean: Number, std: Number, **options: object
) -> Value:
    _without_generator(options)
    values = normal_floats(e, shape, e.element)
    return e.add(e.multiply(values, e.like(values, std)), e.like(values, mean))


@converts("aten.multinomial.default")
def multinomial(
    e: NodeEmitter, x: Value, num_samples: int, replacement: bool = False, **options: object
) -> Value:
    """Indices drawn by weights along the last dimension: by cumulated weights, or by exponential races."""
    _without_generator(options)
    weights = e.convert(x, F64)
    last, shape = len(shape_of(x)) - 1, shape_of(x)
    if replacement:
        cumulated = cumulative(e, "stablehlo.add", weights, last)
        total = e.broadcast_in_dim(
            e.slice(cumulated, last, shape[last] - 1, shape[last]), e.type.shape, range(last + 1)
        )
        drawn = e.multiply(uniform_floats(e, e.type.shape, F64), total)
        return positions(e, cumulated, drawn, right=True)
    uniform = uniform_floats(e, shape, F64)
    times = e.unary(
        "stablehlo.negate", e.unary("stablehlo.log_plus_one", e.unary("stablehlo.negate", uniform))
    )
    order = sort_with_indices(e, e.divide(times, weights), last, descending=False)[1]
    return e.slice(order, last, 0, num_samples)


@converts("aten.rrelu_with_noise_functional.default")
def rrelu(
    e: NodeEmitter,
    x: Value,
    noise: Value,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: object = None,
) -> list[Value]:
    """Negative elements times random slopes, which are the second result."""
    _without_generator({"generator": generator})
    slope = e.like(x, (lower + upper) / 2)
    is_negative = e.compare("LE", x, e.like(x, 0))
    if training:
        drawn = uniform_floats(e, shape_of(x), element_type(x))
        slope = e.add(e.multiply(drawn, e.like(x, upper - lower)), e.like(x, lower))
        noise = e.select(is_negative, slope, e.like(x, 1))
    return [e.select(is_negative, e.multiply(x, slope), x), noise]
