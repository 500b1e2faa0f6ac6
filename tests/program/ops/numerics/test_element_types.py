"""Carriers, conversions and orders of values, against plain Python numbers."""

from __future__ import annotations

import itertools
import math
import struct
from fractions import Fraction

import numpy as np
import pytest

from nimblehlo.program.ops.numerics import element_types
from nimblehlo.types import COMPLEX, ELEMENT_TYPES, FLOAT, INTEGER
from tests.program.ops.oracles import (
    BYTE_FLOATS,
    FLOATS,
    INTEGERS,
    all_values,
    float_values,
    integer_values,
    nearest,
    same,
    wrapped,
)

I64 = ELEMENT_TYPES["i64"]
SIGNED_ZERO_FLOATS = [name for name in FLOATS if element_types.has_negative_zero(ELEMENT_TYPES[name])]


def convert(source: str, target: str, values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        result = element_types.converter(ELEMENT_TYPES[source], ELEMENT_TYPES[target])(values)
    assert result.dtype == ELEMENT_TYPES[target].dtype
    return result


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integers_wrap(source: str, target: str) -> None:
    values = integer_values(source)
    expected = [wrapped(int(value), target) for value in values]
    assert [int(value) for value in convert(source, target, values)] == expected


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_floats_truncate_and_saturate(source: str, target: str) -> None:
    values = float_values(source)
    low, high = element_types.storage_range(ELEMENT_TYPES[target])

    def expected(value: float) -> int:
        if math.isnan(value):
            return 0
        return (
            int(min(max(value, low), high)) if math.isinf(value) else min(max(math.trunc(value), low), high)
        )

    assert [int(value) for value in convert(source, target, values)] == [expected(float(v)) for v in values]


@pytest.mark.parametrize("target", BYTE_FLOATS)
@pytest.mark.parametrize("source", ["f64", "f32", "f16", "bf16"])
def test_narrowing_rounds_to_nearest_even(source: str, target: str) -> None:
    finite = sorted({float(v) for v in all_values(target) if math.isfinite(float(v)) and float(v) > 0})
    midpoints = [(a + b) / 2 for a, b in itertools.pairwise(finite)]
    nudges = (1.0, 1 + 2.0**-40, 1 - 2.0**-40, 1 + 2.0**-9, 1 - 2.0**-8)
    numbers = np.array([m * nudge for m in midpoints for nudge in nudges] + finite)
    with np.errstate(all="ignore"):
        values = numbers.astype(ELEMENT_TYPES[source].dtype)
    kept = np.isfinite(values.astype(np.float64)) & (values.astype(np.float64) > 0)
    got = convert(source, target, values[kept])
    for value, result in zip(values[kept], got, strict=True):
        exact = float(value)
        assert same(float(result), nearest(Fraction(exact), target)), exact


def test_f64_to_bf16_rounds_once() -> None:
    tie = 1 + 2.0**-8
    values = np.array([tie, tie + 2.0**-40, tie - 2.0**-40, -tie - 2.0**-40, 1e300, -1e300, 3.4e38, math.inf])
    got = [float(value) for value in convert("f64", "bf16", values)]
    after = 1 + 2.0**-7
    assert got == [1.0, after, 1.0, -after, math.inf, -math.inf, math.inf, math.inf]


@pytest.mark.parametrize("source", ["i32", "ui32", "i64", "ui64"])
def test_integers_to_bf16_round_once(source: str) -> None:
    bits = ELEMENT_TYPES[source].width - 1
    numbers = [(1 << bits - 1) + (1 << bits - 9) + nudge for nudge in (-1, 0, 1)]
    got = [float(value) for value in convert(source, "bf16", np.array(numbers, ELEMENT_TYPES[source].dtype))]
    low, high = 2.0 ** (bits - 1), 2.0 ** (bits - 1) + 2.0 ** (bits - 8)
    assert got == [low, low, high]


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", ["f32", "f64"])
def test_integers_to_floats(source: str, target: str) -> None:
    values = integer_values(source)
    code = "f" if target == "f32" else "d"
    expected = []
    for value in values:
        exact = int(value)
        if target == "f64" or abs(exact) < 1 << 24:
            expected.append(struct.unpack(code, struct.pack(code, float(exact)))[0])
        else:
            shift = abs(exact).bit_length() - 24
            half = (abs(exact) >> shift, abs(exact) & ((1 << shift) - 1), 1 << (shift - 1))
            up = half[1] > half[2] or (half[1] == half[2] and half[0] & 1)
            expected.append(math.copysign((half[0] + up) * 2.0**shift, exact))
    assert [float(value) for value in convert(source, target, values)] == expected


@pytest.mark.parametrize("source", list(ELEMENT_TYPES))
def test_to_boolean_and_back(source: str) -> None:
    declared = ELEMENT_TYPES[source]
    if declared.category == COMPLEX:
        values = np.array([0, 1j, 1, complex(-0.0, 2), math.nan], declared.dtype)
        expected = [False, False, True, False, True]
    else:
        few = declared.category & (INTEGER | FLOAT)
        values = (
            (integer_values if declared.category & INTEGER else float_values)(source)
            if few
            else np.array([False, True])
        )
        expected = [float(value) != 0 for value in values]
    assert convert(source, "i1", values).tolist() == expected
    back = convert("i1", source, np.array([False, True]))
    assert back[1] == np.array(1).astype(declared.dtype)
    if source != "f8E8M0FNU":
        assert complex(back[0]) == 0


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_complex(name: str) -> None:
    values = np.array([1.5 + 2j, complex(math.nan, 1), complex(-300.7, 5)], ELEMENT_TYPES[name].dtype)
    assert convert(name, "i8", values).tolist() == [1, 0, -128]
    assert convert("i32", name, np.array([3, -4], np.int32)).tolist() == [3 + 0j, -4 + 0j]
    assert convert(name, "complex<f32>", values[:1])[0] == 1.5 + 2j


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_total_order(name: str) -> None:
    declared = ELEMENT_TYPES[name]
    ordered = [-math.inf, -1.5, -1e-7, -0.0, 0.0, 1e-7, 1.5, math.inf]
    values = np.array(ordered).astype(declared.dtype)
    quiet = np.array([math.nan]).astype(declared.dtype)
    unsigned = f"u{declared.dtype.itemsize}"
    sign = np.array([1 << (declared.width - 1)], unsigned)
    positive = (quiet.view(unsigned) & ~sign).view(declared.dtype)
    negative = (quiet.view(unsigned) | sign).view(declared.dtype)
    keys = element_types.total_order(declared)(np.concatenate([negative, values, positive])).tolist()
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("name", [name for name in SIGNED_ZERO_FLOATS if name in BYTE_FLOATS])
def test_total_order_of_narrow_floats(name: str) -> None:
    values = [value for value in all_values(name) if not math.isnan(float(value))]
    values.sort(key=lambda value: (float(value), math.copysign(1, float(value))))
    keys = element_types.total_order(ELEMENT_TYPES[name])(np.array(values)).tolist()
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("name", INTEGERS)
def test_unsigned_bits(name: str) -> None:
    values = integer_values(name)
    to_bits, from_bits = element_types.unsigned_bits(ELEMENT_TYPES[name])
    bits = to_bits(values)
    assert bits.tolist() == [int(value) % (1 << ELEMENT_TYPES[name].width) for value in values]
    assert from_bits(bits).tolist() == values.tolist()


@pytest.mark.parametrize("name", list(ELEMENT_TYPES))
def test_carriers_hold_every_value(name: str) -> None:
    declared = ELEMENT_TYPES[name]
    for dtype in (element_types.carrier(declared), element_types.wide_carrier(declared)):
        values = (
            integer_values(name) if declared.category & INTEGER else np.array([0, 1]).astype(declared.dtype)
        )
        if declared.category == FLOAT:
            values = float_values(name)
            values = values[~np.isnan(values.astype(np.float64))]
        assert values.astype(dtype).astype(declared.dtype).tobytes() == values.tobytes()
    if declared.category == COMPLEX:
        assert element_types.complex_type(element_types.real_type(declared)) is declared
    else:
        assert element_types.real_type(declared) is declared
