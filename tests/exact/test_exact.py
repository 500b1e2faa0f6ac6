"""Conversions and exact operations, compared with fractions; ``python -m tests.exact`` compares all bits."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.types import ELEMENT_TYPES
from tests.exact.comparison import (
    all_codes,
    array_of,
    binary_operations,
    codes_of,
    conversions,
    dequantizations,
    differences,
    edge_codes,
    few_codes,
    paired,
    quantizations,
    unary_operations,
)
from tests.exact.formats import FLOATS, FORMATS

NUMERIC = [name for name in FORMATS if name != "i1"]


def sample(name: str, count: int) -> list[int]:
    """All codes of a narrow type, some of a wide one."""
    codes = all_codes(name) if FORMATS[name].width <= 16 else edge_codes(name)
    edges = few_codes(name, 40) if len(codes) > count else []
    return sorted({*codes[:: max(1, len(codes) // count)], *edges})


@pytest.mark.parametrize("name", FORMATS)
def test_conversions(name: str) -> None:
    codes = sample(name, 2000)
    assert differences([(name, codes)], conversions(name, codes)) == []


@pytest.mark.parametrize("name", NUMERIC)
def test_unary_operations(name: str) -> None:
    codes = sample(name, 500)
    assert differences([(name, codes)], unary_operations(name, codes)) == []


@pytest.mark.parametrize("name", NUMERIC)
def test_binary_operations(name: str) -> None:
    lhs, rhs = paired(all_codes(name) if FORMATS[name].width < 8 else few_codes(name, 40))
    assert differences([(name, lhs), (name, rhs)], binary_operations(name, lhs, rhs)) == []


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_quantization(name: str) -> None:
    codes = sample(name, 2000)
    assert differences([(name, codes)], quantizations(name, codes)) == []


@pytest.mark.parametrize("name", ["i4", "ui4", "i8", "ui8", "i16", "ui16", "i32"])
def test_dequantization(name: str) -> None:
    codes = sample(name, 500)
    assert differences([(name, codes)], dequantizations(name, codes)) == []


@pytest.mark.parametrize("name", [name for name in FLOATS if name not in ("f32", "f64")])
def test_numbers_of_codes_are_those_of_ml_dtypes(name: str) -> None:
    format, codes = FLOATS[name], all_codes(name)
    with np.errstate(invalid="ignore"):
        numbers = array_of(name, codes).astype(np.float64).tolist()
    assert all(
        float(format.decode(code)) == number or number != number
        for code, number in zip(codes, numbers, strict=True)
    )
    assert ml_dtypes.finfo(ELEMENT_TYPES[name].dtype).max == float(format.decode(format.greatest))


def test_differences_are_found() -> None:
    codes = [0, 1, 2, 3]
    assert codes_of("i4", array_of("i4", codes)) == codes
    lines = unary_operations("i4", codes)
    lines[0].expected[2] = 7
    references, compiled = differences([("i4", codes)], lines)
    assert references == "abs of i4 (references): 1 of 4 differ; of 2: 0x2, not 0x7"
    assert "(compiled)" in compiled


def test_ties_go_to_even_codes() -> None:
    format = FLOATS["f8E5M2"]
    one = format.encode(Fraction(1))
    assert [format.encode(Fraction(8 + k, 8)) - one for k in range(5)] == [0, 0, 1, 2, 2]
    assert format.encode(Fraction(2**16) - 2**12) == format.greatest + 1
    assert FLOATS["f8E4M3FN"].encode(Fraction(464)) == FLOATS["f8E4M3FN"].greatest
