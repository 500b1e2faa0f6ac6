"""Conversions of bfloat16 and float16, against NumPy's and ml_dtypes'."""

import ml_dtypes
import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from nimblehlo.kernels.simd import narrow_floats
from tests.support.running import same_bits


def compiled(convert, operand, result, stored):
    """A function of an array that converts its elements as `convert` does it with LLVM values.

    Args:
        operand, result: Numba's types of elements.
        stored: the result's element type.
    """

    @intrinsic
    def converted(context, value):
        def code(context, builder, signature, arguments):
            return convert(builder, arguments[0])

        return result(operand), code

    @njit
    def run(values, results):
        for number in range(len(values)):
            results[number] = converted(values[number])

    def call(values):
        results = np.empty(len(values), stored)
        run(values, results)
        return results

    return call


@pytest.fixture
def without_instructions(monkeypatch):
    monkeypatch.setattr(narrow_floats, "converts_halves", lambda: False)


@pytest.mark.usefixtures("without_instructions")
def test_halves_are_widened_without_instructions():
    widen = compiled(narrow_floats.widen_float16, types.uint16, types.float32, np.float32)
    halves = np.arange(1 << 16, dtype=np.uint16)
    assert same_bits(widen(halves), halves.view(np.float16).astype(np.float32))


@pytest.mark.usefixtures("without_instructions")
def test_halves_are_rounded_without_instructions():
    narrow = compiled(narrow_floats.narrow_float16, types.float32, types.uint16, np.uint16)
    numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    random = np.random.default_rng(1).integers(0, 1 << 32, 20_000, np.uint32).view(np.float32)
    beyond = np.array([65519.996, 65520, 65536, 1e30, 2.0**-24, 2.0**-25, 2.0**-26, 1e-42], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        between = (numbers[:-1] + numbers[1:]) / 2  # halfway between neighbours
        near = [np.nextafter(one, np.float32(to)) for one in (numbers, between) for to in (-np.inf, np.inf)]
        values = np.concatenate([numbers, between, *near, random, beyond, -beyond])
        expected = values.astype(np.float16)
    assert same_bits(narrow(values).view(np.float16), expected)


def test_doubles_are_rounded_once():
    """By way of float32, which would round a double near a tie of bfloat16 to the tie."""

    def convert(builder, value):
        return narrow_floats.narrow_bfloat16(builder, narrow_floats.round_to_odd(builder, value))

    ties = np.arange(0x7F7F, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)
    ties = (ties[:-1] + ties[1:]) / 2
    values = np.concatenate([ties, ties * (1 + 2.0**-40), -ties * (1 - 2.0**-40)])
    lower = np.arange(0x7F7E)
    expected = np.concatenate([lower + lower % 2, lower + 1, lower | 0x8000]).astype(np.uint16)
    assert (compiled(convert, types.float64, types.uint16, np.uint16)(values) == expected).all()
