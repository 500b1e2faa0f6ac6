"""The differences between two arrays of one type."""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

from ...kernels.exploration import array_differences
from ...program.ir.record import IdentityRecord, Record
from ...types import BOOLEAN, COMPLEX, FLOAT, Array, ElementType, QuantizedType, TensorType
from .schedules import Schedule

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class ElementDifference(Record):
    """An element of a result that has different values under two schedules.

    Attributes:
        index: the index of the element.
        values: its value under each of the two schedules.
        schedules: the two schedules.
        distance: the distance of the values: for floats in ulps, where both zeros are one value; for complex
            numbers the larger one of both components; for integers, and for the stored values of quantized
            types, the difference. None if one of them is NaN.
    """

    index: tuple[int, ...]
    values: tuple[Any, Any]
    schedules: tuple[Schedule, Schedule]
    distance: int | None


class Extremes(Protocol):
    """The first and the largest difference of two arrays of values, as in `Comparison`."""

    @property
    def first(self) -> int: ...
    @property
    def largest(self) -> int: ...
    @property
    def distance(self) -> int: ...
    def element(self, position: int) -> int: ...
    def values_at(self, position: int) -> tuple[Any, Any]: ...


class Comparison(IdentityRecord):
    """The differences between two arrays of values.

    Attributes:
        values: the two arrays, flattened.
        positions: the positions at which they differ, ascending; None: too many to list.
        first: the position of the first element that differs.
        largest: the position of the first of those that differ most; NaN and a number differ most.
        distance: of these, as in `ElementDifference`, but NO_DISTANCE for NaN.
        elements: the number of the element at each position; None: the position.
    """

    values: tuple[Array, Array]
    positions: Array | None
    first: int
    largest: int
    distance: int
    elements: Array | None = None

    def element(self, position: int) -> int:
        return position if self.elements is None else int(self.elements[position])

    def values_at(self, position: int) -> tuple[Any, Any]:
        return self.values[0][position], self.values[1][position]

    def over_all_elements(self, baseline: Array) -> Comparison:
        """The comparison of all elements; those that were not compared have the values of `baseline`."""
        if self.elements is None:
            return self
        values = [with_values(baseline, self.elements, array) for array in self.values]
        positions = None if self.positions is None else self.elements[self.positions].astype(np.int64)
        first, largest = self.element(self.first), self.element(self.largest)
        return Comparison((values[0], values[1]), positions, first, largest, self.distance)


NO_DISTANCE: Final = 2**64 - 1


def compare(
    first: Array, second: Array, type: TensorType, elements: Array | None = None
) -> Comparison | None:
    """The differences in the bits of two arrays, all NaNs being equal; None if there are none.

    Args:
        first, second: two arrays of one shape.
        type: a type with their element type.
        elements: of arrays of f32 or f64 the number of the element at each position; None: the position.
    """
    values, other_values = flat(first), flat(second)
    if array_differences.supports(values.dtype):
        extremes = array_differences.compare(values, other_values, elements)
        return None if extremes is None else Comparison((values, other_values), *extremes, elements)
    positions = np.flatnonzero(_differing_bits(values, other_values))
    a, b = values[positions], other_values[positions]
    nan_a, nan_b = _is_nan(a, type), _is_nan(b, type)
    different = ~(nan_a & nan_b)
    positions = positions[different]
    if not positions.size:
        return None
    distances = _distances(a[different], b[different], type)
    distances[(nan_a | nan_b)[different]] = NO_DISTANCE
    largest = int(np.argmax(distances))
    return Comparison(
        (values, other_values), positions, int(positions[0]), int(positions[largest]), int(distances[largest])
    )


def flat(array: Array) -> Array:
    """An array as a contiguous one of one dimension."""
    return np.ascontiguousarray(array).reshape(-1)


def with_values(baseline: Array, elements: Array, values: Array) -> Array:
    """The flattened elements of `baseline`, with some values replaced."""
    result = flat(baseline).astype(values.dtype)
    result[elements] = values
    return result


def _differing_bits(first: Array, second: Array) -> Array:
    size = first.dtype.itemsize
    if size in _UNSIGNED:
        different: Array = first.view(_UNSIGNED[size]) != second.view(_UNSIGNED[size])
        return different
    words = first.view(np.uint64).reshape(-1, size // 8) != second.view(np.uint64).reshape(-1, size // 8)
    differs: Array = words.any(axis=1)
    return differs


def _is_nan(values: Array, type: TensorType) -> Array:
    if not type.category & (FLOAT | COMPLEX):
        return np.zeros(values.shape, np.bool_)
    return np.isnan(values)


def _distances(a: Array, b: Array, type: TensorType) -> Array:
    element_type = type.element_type
    if type.category & COMPLEX:
        component_distances = [
            _ulps(getattr(a, component), getattr(b, component), None) for component in ("real", "imag")
        ]
        return np.asarray(np.maximum(*component_distances))
    if type.category & FLOAT:
        assert isinstance(element_type, ElementType)
        return _ulps(a, b, element_type)
    if type.category & BOOLEAN:
        return np.ones(a.shape, np.uint64)
    storage = element_type.storage if isinstance(element_type, QuantizedType) else element_type
    wide = np.uint64 if storage.name == "ui64" else np.int64
    low, high = np.minimum(a.astype(wide), b.astype(wide)), np.maximum(a.astype(wide), b.astype(wide))
    return high.astype(np.uint64) - low.astype(np.uint64)


def _ulps(a: Array, b: Array, element_type: ElementType | None) -> Array:
    """Steps between two floats; `element_type` None: of C's own types."""
    width = 8 * a.dtype.itemsize if element_type is None else element_type.width
    if element_type is not None and element_type.name == "f8E8M0FNU":
        return np.asarray(np.maximum(_bits(a), _bits(b)) - np.minimum(_bits(a), _bits(b)))
    sign = np.uint64(1 << (width - 1))
    sizes = [_bits(values) & (sign - np.uint64(1)) for values in (a, b)]
    negative = [(_bits(values) & sign) != 0 for values in (a, b)]
    low, high = np.minimum(*sizes), np.maximum(*sizes)
    return np.asarray(np.where(negative[0] == negative[1], high - low, low + high))


def _bits(values: Array) -> Array:
    bits = np.ascontiguousarray(values).view(_UNSIGNED[values.dtype.itemsize])
    return bits.astype(np.uint64)


def difference_at(
    position: int, comparison: Extremes, type: TensorType, schedules: tuple[Schedule, Schedule]
) -> ElementDifference:
    """The difference at a position of a comparison of two arrays of this type."""
    index = tuple([int(i) for i in np.unravel_index(comparison.element(position), type.shape)])
    values = comparison.values_at(position)
    value_comparison = compare(np.asarray(values[0]), np.asarray(values[1]), type)
    distance = 0 if value_comparison is None else value_comparison.distance
    is_nan = any(bool(_is_nan(np.asarray(value), type)) for value in values)
    return ElementDifference(index, values, schedules, None if is_nan else distance)


class Range:
    """The values that each element of a result has under all schedules."""

    def __init__(self, baseline: Array, type: TensorType) -> None:
        self._baseline = baseline
        self._is_complex = bool(type.category & COMPLEX)
        self._differs: Array | None = None
        self._elements: Array | None = None
        self._minimum: Array | None = None
        self._maximum: Array | None = None

    @property
    def elements(self) -> int:
        """The number of elements that differ under some schedule."""
        return 0 if self._differs is None else int(np.count_nonzero(self._differs))

    @property
    def minimum(self) -> Array | None:
        """The smallest value of each element except NaN, in the result's type or f64; None as long as nothing
        differs, and for complex numbers."""
        return self._of_all(self._minimum)

    @property
    def maximum(self) -> Array | None:
        """The largest value of each element, likewise."""
        return self._of_all(self._maximum)

    def _of_all(self, bound: Array | None) -> Array | None:
        if bound is None or self._elements is None:
            return bound
        return with_values(self._baseline, self._elements, bound)

    def add(self, comparison: Comparison) -> None:
        """Add the values of another schedule, by their comparison with the baseline run's."""
        if self._differs is None:
            self._begin(comparison)
        elif self._elements is not comparison.elements:
            self._widen_to_all()
            comparison = comparison.over_all_elements(self._baseline)
        assert self._differs is not None
        if self._minimum is None or self._maximum is None:
            self._differs[comparison.positions] = 1
            return
        values = comparison.values[1].astype(self._minimum.dtype, copy=False)
        baseline = values if comparison.positions is not None else comparison.values[0]
        array_differences.widen(
            baseline, values, comparison.positions, self._differs, self._minimum, self._maximum
        )

    def take(self, elements: Array, differs: Array, minimum: Array, maximum: Array) -> None:
        """Begin with the ranges of some elements, the only ones that may differ."""
        self._elements, self._differs, self._minimum, self._maximum = elements, differs, minimum, maximum

    def _begin(self, comparison: Comparison) -> None:
        """Track the range of each compared element."""
        baseline = comparison.values[0]
        self._elements = comparison.elements
        self._differs = np.zeros(baseline.size, np.uint8)
        if not self._is_complex:
            # f32 and f64 are compared directly, other types as f64.
            is_compared_as_is = array_differences.supports(baseline.dtype)
            self._minimum = baseline.copy() if is_compared_as_is else baseline.astype(np.float64)
            self._maximum = self._minimum.copy()

    def _widen_to_all(self) -> None:
        """Track the ranges of all elements from here on."""
        if self._elements is not None and self._differs is not None:
            differs = np.zeros(self._baseline.size, np.uint8)
            differs[self._elements] = self._differs
            self._minimum, self._maximum = self.minimum, self.maximum
            self._differs, self._elements = differs, None
