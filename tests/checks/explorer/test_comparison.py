"""Distances between values of every element type, against counting the values between them."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.checks.explorer.comparison import NO_DISTANCE, Comparison, Range, compare, difference_at
from nimblehlo.checks.explorer.schedules import Schedule
from nimblehlo.types import COMPLEX, ELEMENT_TYPES, FLOAT, TensorType

FLOATS = [name for name, type in ELEMENT_TYPES.items() if type.category & FLOAT]
SCHEDULES = (Schedule("lexicographic", "blocked"), Schedule("reverse", "right"))


@pytest.mark.parametrize("name", [name for name in FLOATS if ELEMENT_TYPES[name].width <= 8])
def test_all_values_of_small_floats(name: str, is_campaign: bool) -> None:
    """Each value beside some, in a campaign beside each."""
    element_type = ELEMENT_TYPES[name]
    bits = np.arange(1 << element_type.width, dtype=np.uint8)
    values = bits.view(element_type.dtype)
    wide = values.astype(np.float64)
    ranks = {value: rank for rank, value in enumerate(np.unique(wide[~np.isnan(wide)]))}
    type = TensorType((), element_type)
    numbers = range(len(values))
    # An odd number of steps: they reach both signs, even and odd values, zeros, infinities and NaNs.
    some = numbers if is_campaign else sorted({*numbers[::9], *numbers[-3:], *numbers[126:131], 0, 1})
    for one, x in zip(values[some], wide[some], strict=True):
        for other, y in zip(values, wide, strict=True):
            found = compare(np.asarray(one), np.asarray(other), type)
            if one.tobytes() == other.tobytes() or (np.isnan(x) and np.isnan(y)):
                assert found is None
            elif np.isnan(x) or np.isnan(y):
                assert found is not None and found.distance == NO_DISTANCE
            else:
                assert found is not None and found.distance == abs(ranks[x] - ranks[y])


@given(st.data(), st.sampled_from([(np.float32, np.uint32, "f32"), (np.float64, np.uint64, "f64")]))
def test_wide_floats(data: st.DataObject, types: tuple[Any, Any, str]) -> None:
    dtype, unsigned, name = types
    maximum = int(np.iinfo(unsigned).max)
    near = data.draw(st.integers(0, maximum))
    bits = [near, data.draw(st.integers(0, maximum) | st.integers(max(0, near - 9), min(maximum, near + 9)))]
    one, other = (np.array([value], unsigned).view(dtype) for value in bits)
    found = compare(one, other, TensorType((1,), ELEMENT_TYPES[name]))
    assert (found is None) == (bits[0] == bits[1] or bool(np.isnan(one[0]) and np.isnan(other[0])))
    if found is not None and not np.isnan(one[0]) and not np.isnan(other[0]):
        half = (maximum + 1) // 2
        steps = [value if value < half else half - value for value in bits]
        assert found.distance == abs(steps[0] - steps[1])


def test_neighbours_are_one_apart() -> None:
    values = np.array([1.0, -1.0, 0.0, 1e-45, 3e38], np.float32)
    above = np.nextafter(values, np.float32(np.inf))
    for one, other in zip(values, above, strict=True):
        found = compare(np.asarray(one), np.asarray(other), TensorType((), ELEMENT_TYPES["f32"]))
        assert found is not None and found.distance == 1
    half = np.array(1, ml_dtypes.bfloat16)
    found = compare(half, np.nextafter(half, ml_dtypes.bfloat16(2)), TensorType((), ELEMENT_TYPES["bf16"]))
    assert found is not None and found.distance == 1


def test_zeros_differ_by_nothing() -> None:
    type = TensorType((2,), ELEMENT_TYPES["f32"])
    arrays = np.array([0.0, 1.0], "f"), np.array([-0.0, 1.0], "f")
    found = compare(*arrays, type)
    assert found is not None and (found.positions.tolist(), found.first, found.distance) == ([0], 0, 0)
    assert difference_at(0, found, type, SCHEDULES).distance == 0


@pytest.mark.parametrize("name", ["complex<f32>", "complex<f64>"])
def test_complex_numbers_take_the_greater_part(name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    assert element_type.category & COMPLEX
    one = np.array([1 + 2j, 3, np.nan], element_type.dtype)
    other = one.copy()
    part = one.real.dtype.type
    other[0] = complex(1, np.nextafter(np.nextafter(part(2), part(3)), part(3)))
    found = compare(one, other, TensorType((3,), element_type))
    assert found is not None and (found.positions.tolist(), found.first, found.distance) == ([0], 0, 2)


@pytest.mark.parametrize(
    "name", [name for name, one in ELEMENT_TYPES.items() if name.lstrip("u").startswith("i")]
)
def test_integers_differ_by_numbers(name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    if name == "i1":
        one, other, wanted = [False, True], [True, True], 1
    else:
        signed = not name.startswith("u")
        low = -(1 << (element_type.width - 1)) if signed else 0
        one, other, wanted = [low, 0], [low + (1 << element_type.width) - 1, 0], (1 << element_type.width) - 1
    held = np.uint64 if name == "ui64" else np.int64
    arrays = tuple([np.array(values, held).astype(element_type.dtype) for values in (one, other)])
    found = compare(*arrays, TensorType((2,), element_type))
    assert found is not None and (found.positions.tolist(), found.largest) == ([0], 0)
    assert difference_at(0, found, TensorType((2,), element_type), SCHEDULES).distance == wanted
    assert found.distance == wanted


@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "i32"])
def test_ranges_hold_the_extremes_without_nans(name: str) -> None:
    element_type = ELEMENT_TYPES[name]
    type = TensorType((2, 2), element_type)
    baseline = np.array([[1, 2], [3, 4]]).astype(element_type.dtype)
    found = Range(baseline, type)
    assert found.elements == 0 and found.minimum is None
    for values in ([[1, 5], [3, 4]], [[1, -7], [3, 4]], [[1, 2], [3, 6]]):
        other = np.array(values).astype(element_type.dtype)
        comparison = compare(baseline, other, type)
        assert comparison is not None
        found.add(comparison)
    if element_type.category & FLOAT:
        other = np.array([[1, np.nan], [3, 4]]).astype(element_type.dtype)
        comparison = compare(baseline, other, type)
        assert comparison is not None and comparison.distance == NO_DISTANCE
        found.add(comparison)
    assert found.elements == 2 and found.minimum is not None and found.maximum is not None
    assert found.minimum.tolist() == [1, -7, 3, 4] and found.maximum.tolist() == [1, 5, 3, 6]


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 1.0])
def test_many_values_are_compared_as_few_are(name: str, share: float) -> None:
    dtype = ELEMENT_TYPES[name].dtype
    generator = np.random.default_rng(int(share * 10))
    size = 5000
    type = TensorType((size,), ELEMENT_TYPES[name])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 1, -1], dtype)
    baseline = generator.standard_normal(size).astype(dtype)
    baseline[::7] = np.resize(special, baseline[::7].size)
    elements = generator.permutation(size).astype(np.int32)
    ranges = Range(baseline, type), Range(baseline, type)
    for scale in (0.0, 1e-7, 1e-6, 2.0):
        other = baseline.copy()
        changed = np.flatnonzero(generator.random(size) < share)
        with np.errstate(all="ignore"):
            other[changed] *= 1 + dtype.type(scale)
        other[changed[::5]] = generator.permutation(np.resize(special, changed[::5].size))
        found = compare(baseline, other, type, elements)
        parts = []
        for begin in range(0, size, 500):
            part = slice(begin, begin + 500)
            one = compare(baseline[part], other[part], type, elements[part])
            if one is not None:
                parts.append((one.distance, -one.element(one.largest), one.element(one.first)))
                small = Comparison((baseline, other), one.positions + begin, 0, 0, 0)
                ranges[1].add(small)
        assert (found is None) == (not parts)
        if found is not None:
            differing = np.count_nonzero(
                baseline.view(f"u{dtype.itemsize}") != other.view(f"u{dtype.itemsize}")
            )
            assert (found.positions is None) == (differing >= size // 8)
            assert (found.distance, -found.element(found.largest)) == max(parts)[:2]
            assert found.element(found.first) == min([first for *_, first in parts])
            ranges[0].add(Comparison(found.values, found.positions, 0, 0, 0))
    assert ranges[0].elements == ranges[1].elements
    for one, other in ((ranges[0].minimum, ranges[1].minimum), (ranges[0].maximum, ranges[1].maximum)):
        assert (one is None and other is None) or one.tobytes() == other.tobytes()


def test_some_elements_are_compared_as_all_are() -> None:
    type = TensorType((2, 3), ELEMENT_TYPES["f32"])
    baseline = np.arange(6, dtype=np.float32).reshape(2, 3)
    elements = [np.array(some, np.int32) for some in ([4, 1, 3], [5, 0, 4])]
    changes: list[tuple[int | None, list[float]]] = [
        (0, [4.5, 9, 3]), (None, [8, 1, 2, 3, 4, 5]), (1, [-5, 0, 4]), (0, [4, 1, -3]), (1, [5, 0, np.nan]),
    ]  # fmt: skip
    for order in itertools.permutations(changes):
        ranges = Range(baseline, type), Range(baseline, type)
        for number, values in order:
            some = None if number is None else elements[number]
            own = baseline.reshape(-1) if some is None else baseline.reshape(-1)[some]
            comparison = compare(own, np.array(values, np.float32), type, some)
            assert comparison is not None
            other = baseline.copy()
            other.reshape(-1)[slice(None) if some is None else some] = values
            wanted = compare(baseline, other, type)
            assert wanted is not None and comparison.distance == wanted.distance
            for place, whole in ((comparison.first, wanted.first), (comparison.largest, wanted.largest)):
                assert comparison.element(place) == whole
                found = difference_at(place, comparison, type, SCHEDULES)
                assert str(found) == str(difference_at(whole, wanted, type, SCHEDULES))
            for one, added in zip(ranges, (comparison, wanted), strict=True):
                one.add(added)
        minimum, maximum = [0, 1, 2, -3, 4, -5], [8, 9, 2, 3, 4.5, 5]
        for one in ranges:
            assert one.minimum is not None and one.maximum is not None
            assert (one.minimum.tolist(), one.maximum.tolist(), one.elements) == (minimum, maximum, 5)


def test_empty_arrays_are_equal() -> None:
    for name in ("f32", "bf16", "complex<f64>", "i4"):
        array = np.empty((0, 3), ELEMENT_TYPES[name].dtype)
        assert compare(array, array.copy(), TensorType((0, 3), ELEMENT_TYPES[name])) is None
