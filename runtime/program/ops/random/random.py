"""Random numbers: `rng_bit_generator` and `rng`.

What the specification leaves to the implementation of `rng_bit_generator` is as in XLA:CPU, to the bit: how
the generators count, how their words fill the output, and that DEFAULT is PHILOX.

Source: specification, sections "rng" and "rng_bit_generator"; Salmon et al., "Parallel random numbers: as
easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import (
    BOOLEAN,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    SIGNED,
    UNSIGNED,
    Array,
    ElementType,
    TensorType,
    Type,
)
from ..framework import constraints
from ..framework.attribute_kinds import Enum
from ..framework.call_state import call_state, uses_call_state
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.facts import OpenOrder
from ..numerics.element_types import converter
from ..shape.run_time_sizes import RunTimeShaped, is_result_shape

_BLOCK: Final = 1 << 14
"""Number of counters encrypted at a time, so that their words stay in the second-level cache."""
_MASK: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)


class RngAlgorithm(enum.StrEnum):
    """The generator of `rng_bit_generator`."""

    DEFAULT = "DEFAULT"
    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


class RngDistribution(enum.StrEnum):
    """The distribution of `rng`."""

    UNIFORM = "UNIFORM"
    NORMAL = "NORMAL"


class RngBitGeneratorRules(Op):
    """The constraints of `rng_bit_generator`, which hold whatever says the output's shape."""

    rng_algorithm: Any
    initial_state: Any

    @constraint
    def I2(self) -> str | None:
        """initial_state is a 1-dimensional tensor of type ui64"""
        element_type = self.initial_state.plain_element_type
        return None if element_type.name == "ui64" else f"initial_state has elements {element_type}"

    C1 = constraints.same_type("output_state", "initial_state")

    @constraint
    def C2(self) -> str | None:
        """size(initial_state) is 2 for THREE_FRY, 2 or 3 for PHILOX and DEFAULT"""
        allowed = (2,) if self.rng_algorithm == RngAlgorithm.THREE_FRY else (2, 3)
        (size,) = self.initial_state.shape
        if not self.initial_state.is_static or size in allowed:
            return None
        sizes = " or ".join(map(str, allowed))
        return f"initial_state has size {size}, but {self.rng_algorithm} takes {sizes}"


class RngBitGenerator(
    RngBitGeneratorRules,
    name="stablehlo.rng_bit_generator",
    assembly="$initial_state , algorithm = $rng_algorithm attr-dict : functional-type",
):
    """Fills a tensor with uniform random bits and advances the generator's state."""

    kernel = "kernels.rng_bit_generator"

    rng_algorithm = Attribute(Enum("rng_algorithm", RngAlgorithm))
    initial_state = Operand(UNSIGNED, rank=1)
    output_state = Result(UNSIGNED, rank=1)
    output = Result(INTEGER | FLOAT)

    def verify(self) -> None:
        super().verify()
        if not self.output.is_static:
            raise self.unsupported(f"output is {self.output}, but must have a static shape")

    def reference(self, initial_state: Array) -> tuple[Array, Array]:
        return self.generate(_REFERENCES, initial_state)

    def generate(self, generators: Generators, initial_state: Array) -> tuple[Array, Array]:
        """The results, from the words of some generators."""
        return _random_bits(generators, self.rng_algorithm, initial_state, self.output)


WordGenerator = Callable[..., Array]


class Generators(NamedTuple):
    """Functions that generate 32-bit words from a key, the words of the first counter, lowest first, and a
    count.

    Attributes:
        three_fry: Threefry2x32: two words a counter of 64 bits.
        philox: Philox4x32: four words a counter of 128 bits.
    """

    three_fry: WordGenerator
    philox: WordGenerator


def _random_bits(
    generators: Generators, algorithm: RngAlgorithm, state: Array, output: TensorType
) -> tuple[Array, Array]:
    """The state after drawing, and a tensor of random bits.

    Args:
        generators: what makes the words.
        algorithm: the generator.
        state: key and counter: two ui64, or three where the counter has 128 bits.
        output: the tensor's type. Types narrower than 32 bits take the low bits of a word each.
    """
    shape, size, element_type = output.shape, output.size, cast(ElementType, output.element_type)
    is_three_fry, is_wide = algorithm == RngAlgorithm.THREE_FRY, element_type.width == 64
    if is_three_fry:
        new_state, bits = (_three_fry_64 if is_wide else _three_fry_32)(generators.three_fry, state, shape)
    else:
        new_state, random_words = _philox(generators.philox, state, -(-size // (2 if is_wide else 4)))
        random_words = random_words.view("<u8") if is_wide else random_words
        bits = random_words.reshape(-1)[:size].reshape(shape)
    return new_state, _as_elements(bits, element_type)


def _as_elements(bits: Array, element_type: ElementType) -> Array:
    """Words as elements: the lowest bits of each."""
    dtype = element_type.dtype
    if element_type.width >= 32:
        return bits.view(dtype)
    if element_type.width in (8, 16):
        return bits.astype(f"u{dtype.itemsize}").view(dtype)
    low = (bits & ((1 << element_type.width) - 1)).astype(np.uint8)
    if element_type.category == FLOAT:
        return low.view(dtype)
    if element_type.category == SIGNED:
        sign = np.uint8(1 << (element_type.width - 1))
        return ((low ^ sign) - sign).view(np.int8).astype(dtype)
    return low.astype(dtype)


def _three_fry_64(generator: WordGenerator, state: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """One 64-bit word for each counter."""
    new_state, pairs = _three_fry(generator, state, math.prod(shape))
    return new_state, pairs.view("<u8").reshape(shape)


def _three_fry_32(generator: WordGenerator, state: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Two 32-bit words a counter.

    They are neighbours along one dimension: the first one of even size, or the first of the largest ones.
    """
    if not shape:
        new_state, pairs = _three_fry(generator, state, 1)
        return new_state, pairs[0, 0]
    even = [dimension for dimension, size in enumerate(shape) if size % 2 == 0]
    split = even[0] if even else shape.index(max(shape))
    before, after = shape[:split], shape[split + 1 :]
    half = -(-shape[split] // 2)
    new_state, pairs = _three_fry(generator, state, math.prod((*before, half, *after)))
    random_words = pairs.reshape(math.prod(before), half, math.prod(after), 2).swapaxes(-1, -2)
    random_words = random_words.reshape(*before, 2 * half, *after)
    if 2 * half != shape[split]:
        random_words = random_words[(slice(None),) * split + (slice(0, shape[split]),)]
    return new_state, np.ascontiguousarray(random_words)


def _three_fry(generator: WordGenerator, state: Array, count: int) -> tuple[Array, Array]:
    """The next state, and the words of the counters from state[1] on under the key state[0]."""
    key, counter = state
    random_words = generator(key, counter, count)
    return np.array([key, counter + np.uint64(count)], np.uint64), random_words


def _three_fry_words(key: object, counter: object, count: int) -> Array:
    """Threefry2x32: shape (count, 2)."""
    keys = [_low(key), _high(key)]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))

    def encrypt(counters: Array, random_words: Array) -> None:
        x = _low(counters) + keys[0]
        y = _high(counters) + keys[1]
        for injection in range(5):
            for distance in (13, 15, 26, 6) if injection % 2 == 0 else (17, 29, 16, 24):
                x += y
                y = (y << np.uint32(distance)) | (y >> np.uint32(32 - distance))
                y ^= x
            x += keys[(injection + 1) % 3]
            y += keys[(injection + 2) % 3] + np.uint32(injection + 1)
        random_words[:, 0], random_words[:, 1] = x, y

    return _encrypt_blocks(encrypt, counter, count, 2)


def _philox(generator: WordGenerator, state: Array, count: int) -> tuple[Array, Array]:
    """The next state, and the words of the 128-bit counters from state[1:] on under the key state[0]."""
    key, counter = state[0], state[1]
    high = state[2] if len(state) == 3 else key
    random_words = generator(key, counter, high, count)
    next_counter = counter + np.uint64(count)
    next_state = [key, next_counter, high + np.uint64(next_counter < counter)]
    return np.array(next_state[: len(state)], np.uint64), random_words


def _philox_words(key: Any, counter: Any, high: Any, count: int) -> Array:
    """Philox4x32: shape (count, 4)."""

    def encrypt(counters: Array, random_words: Array) -> None:
        highs = high + (counters < counter)
        x = [counters & _MASK, counters >> _SHIFT, highs & _MASK, highs >> _SHIFT]
        key_0, key_1 = key & _MASK, key >> _SHIFT
        for _ in range(10):
            product_0, product_1 = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
            x = [
                (product_1 >> _SHIFT) ^ x[1] ^ key_0,
                product_1 & _MASK,
                (product_0 >> _SHIFT) ^ x[3] ^ key_1,
                product_0 & _MASK,
            ]
            key_0 = (key_0 + np.uint64(0x9E3779B9)) & _MASK
            key_1 = (key_1 + np.uint64(0xBB67AE85)) & _MASK
        for position, word in enumerate(x):
            random_words[:, position] = word

    return _encrypt_blocks(encrypt, counter, count, 4)


def _low(value: Any) -> Any:
    return (value & _MASK).astype(np.uint32)


def _high(value: Any) -> Any:
    return (value >> _SHIFT).astype(np.uint32)


def _encrypt_blocks(encrypt: Callable[[Array, Array], None], counter: Any, count: int, width: int) -> Array:
    """The words of `count` counters from `counter` on, `width` each, block by block."""
    random_words = np.empty((count, width), "<u4")
    for start in range(0, count, _BLOCK):
        block = random_words[start : start + _BLOCK]
        encrypt(counter + np.arange(start, start + len(block), dtype=np.uint64), block)
    return random_words


_REFERENCES: Final = Generators(_three_fry_words, _philox_words)


@uses_call_state
class Rng(
    RunTimeShaped,
    name="stablehlo.rng",
    assembly="$a , $b , $shape , distribution = $rng_distribution attr-dict : functional-type",
    pure=False,
):
    """Draws random numbers: 64-bit words of PHILOX, the first of which has the state (seed, 0, draw).

    `seed` is that of the options, and `draw` counts the draws of the present call from 0. UNIFORM takes each
    word modulo the size of the interval or, for floats, its upper 53 bits as a fraction of the interval;
    NORMAL takes the quantile of that fraction.
    """

    partition = "refuse"
    open_order = OpenOrder.DRAWS
    depends_on_digits = True

    a = Operand(INTEGER | BOOLEAN | FLOAT, rank=0)
    b = Operand(INTEGER | BOOLEAN | FLOAT, rank=0)
    shape = Operand(SIGNED, rank=1)
    rng_distribution = Attribute(Enum("rng_distribution", RngDistribution))
    result = Result(INTEGER | BOOLEAN | FLOAT)

    C1 = constraints.same_element_type("a", "b", "result")

    @constraint
    def C2(self) -> str | None:
        """if rng_distribution = NORMAL, then is_float(a)"""
        if self.rng_distribution != RngDistribution.NORMAL or self.a.category == FLOAT:
            return None
        return f"rng_distribution is NORMAL, but a has elements {self.a.element_type}"

    C3 = is_result_shape("shape")

    def infer(self) -> list[Type] | None:
        shape = self.sizes("shape")
        return None if shape is None else [self.result.with_shape(shape)]

    def reference(self, a: Array, b: Array, shape: Array) -> Array:
        sizes = self.at_run_time(a, b, shape).required_integers("shape")
        call = call_state()
        state = np.array([call.options.seed, 0, call.draws], np.uint64)
        call.draws += 1
        drawn = TensorType(tuple(sizes), ELEMENT_TYPES["ui64"])
        random_words = _random_bits(_REFERENCES, RngAlgorithm.PHILOX, state, drawn)[1]
        if self.rng_distribution == RngDistribution.NORMAL:
            return _normal(random_words, a, b, self.result.plain_element_type)
        if a >= b:
            raise self.undefined(f"the interval from a = {a} to b = {b} is empty")
        draw = _uniform_floats if self.a.category == FLOAT else _uniform_integers
        return draw(random_words, a, b, self.result.plain_element_type)


def _uniform_integers(random_words: Array, a: Array, b: Array, element_type: ElementType) -> Array:
    """Integers or booleans at least a and less than b."""
    low, high = int(a), int(b)
    values = (random_words % np.uint64(high - low) + np.uint64(low % 2**64)).view(np.int64)
    return values.astype(f"i{element_type.dtype.itemsize}").astype(element_type.dtype)


def _uniform_floats(random_words: Array, a: Array, b: Array, element_type: ElementType) -> Array:
    """Floats at least a and less than b."""
    low, high = float(a), float(b)
    fraction = (random_words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    values = converter(ELEMENT_TYPES["f64"], element_type)(low * (1 - fraction) + high * fraction)
    values = np.maximum(values, a)
    return np.where(values >= b, np.nextafter(b, a), values)


def _normal(random_words: Array, mean: Array, deviation: Array, element_type: ElementType) -> Array:
    """Floats around a mean."""
    from scipy.special import ndtri

    fraction = ((random_words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    values = float(mean) + float(deviation) * ndtri(fraction)
    return np.asarray(converter(ELEMENT_TYPES["f64"], element_type)(values))
