"""Division by way of a reciprocal rounds as division does."""

import numpy as np
import pytest

from nimblehlo.codegen.elementwise.floats import divide_by, reciprocal
from nimblehlo.types import ELEMENT_TYPES
from tests.codegen.loops import looped
from tests.running import same_bits

F32 = ELEMENT_TYPES["f32"]
_NUMBERS = "0 1e-45 3e-45 1e-38 1.1754944e-38 1 1.0000001 1.5 3 7 16777215 3.4e38 inf nan"
EDGES = np.array(_NUMBERS.split(), np.float32)


def quotients(lhs, rhs):
    def emit(builder, left, right):
        return (divide_by(builder, left[0], reciprocal(builder, right[0])),)

    return looped(emit, [F32, F32], F32)(lhs, rhs)


def check(lhs, rhs):
    with np.errstate(all="ignore"):
        assert same_bits(quotients(lhs, rhs), lhs / rhs)


def test_edges():
    values = np.concatenate([EDGES, -EDGES])
    check(*[column.ravel() for column in np.meshgrid(values, values)])


@pytest.mark.parametrize("seed", range(4))
def test_any_bits(seed):
    bits = np.random.default_rng(seed).integers(0, 1 << 32, (2, 1_000_000), dtype=np.uint32)
    check(*bits.view(np.float32))


def test_quotients_close_to_the_middle_between_floats():
    """Divisors and middles of 25 bits: the float next to their product gives such a quotient."""
    random = np.random.default_rng(9)
    divisor = random.integers(1 << 23, 1 << 24, 1_000_000).astype(np.float64)
    middle = random.integers(1 << 23, 1 << 24, divisor.size) + 0.5
    check((middle * divisor).astype(np.float32), divisor.astype(np.float32))


def test_ties_among_subnormal_quotients():
    """Odd multiples of half the least subnormal, by divisors that have no exact reciprocal."""
    divisor = np.repeat(np.float32([3, 5, 7, 11, 1000001, 2**22 + 1]), 200)
    odd = np.tile(2 * np.arange(200) + 1, 6)
    check((odd * divisor.astype(np.float64) * 2.0**-150).astype(np.float32), divisor)


def test_products_of_short_numbers():
    """Quotients that are exact, and ties that are: of any two numbers whose product has 24 bits."""
    random = np.random.default_rng(10)
    divisor = random.integers(1, 1 << 12, 1_000_000) * np.exp2(random.integers(-8, 8, 1_000_000))
    quotient = random.integers(-(1 << 12), 1 << 12, divisor.size).astype(np.float64)
    for exponent in (-150, -149, -140, 0, 90):
        check((quotient * divisor * 2.0**exponent).astype(np.float32), divisor.astype(np.float32))
