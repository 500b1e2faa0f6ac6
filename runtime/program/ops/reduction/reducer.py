"""Reducers: functions that combine arrays as the body of a reduction combines scalars.

Source: specification, sections "reduce", "reduce_window" and "select_and_scatter".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ....types import COMPLEX, FLOAT, Array, DType, ElementType, TensorType
from ...ir import Region as IrRegion
from ..framework import rules
from ..framework.declaration import Evaluate, Op, lookup
from ..numerics.broadcast_shapes import broadcast_shape
from ..numerics.element_types import FLOAT64, carrier, rounding
from ..numerics.quantization import conversion
from .bodies import monoid, vectorize_region

Arrays = tuple[Array, ...]

UFUNCS: Final[dict[str, np.ufunc]] = {
    "add": np.add,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def accumulator(element_type: ElementType, name: str, accumulate: str) -> DType:
    """The NumPy type in which values are reduced by the monoid `name` under `Options(accumulate=...)`."""
    if element_type.category in (FLOAT, COMPLEX) and name in ("add", "multiply"):
        if accumulate == "float64":
            return FLOAT64 if element_type.category == FLOAT else np.dtype(np.complex128)
        if accumulate == "declared":
            return element_type.dtype
    return carrier(element_type)


class Reducer:
    """A function that combines whole arrays as the body of a reduction combines scalars.

    Attributes:
        combine: takes two tuples of arrays of one shape, returns a tuple of such arrays.
        ufunc: the ufunc that `combine` applies, or None if it is not a single ufunc.
        is_exact: whether every order of combining gives the same bits.
        dtypes: in which the values are combined, one for each operand.
    """

    __slots__ = ("combine", "dtypes", "is_exact", "ufunc")

    def __init__(
        self,
        combine: Callable[[Arrays, Arrays], Arrays],
        dtypes: Sequence[DType],
        ufunc: np.ufunc | None = None,
        is_exact: bool = False,
    ) -> None:
        self.combine = combine
        self.dtypes = dtypes
        self.ufunc = ufunc
        self.is_exact = is_exact

    def swapped(self) -> Reducer:
        """The reducer with the operands of `combine` swapped; ufuncs are commutative."""
        combine = self.combine
        return Reducer(lambda left, right: combine(right, left), self.dtypes, self.ufunc, self.is_exact)


class Body:
    """The analysis of a reducing region; `reducer` binds the function that evaluates it.

    Args:
        region: takes N pairs of 0-dimensional tensors and returns N.

    Attributes:
        element_types: the region's own element types E0, ..., EN-1.
        monoid: the operation that it applies and returns, or None (`bodies.monoid`).
    """

    def __init__(self, region: IrRegion) -> None:
        self.element_types = rules.body_element_types(region)
        self.monoid = monoid(region)
        self._vectorized = vectorize_region(region)
        self._reducers: dict[str, Reducer | None] = {}

    def monoid_reducer(self, accumulate: str) -> Reducer | None:
        """The reducer of the body's monoid; None if the region's function must be called."""
        if accumulate not in self._reducers:
            self._reducers[accumulate] = self._of_monoid(accumulate)
        return self._reducers[accumulate]

    def _of_monoid(self, accumulate: str) -> Reducer | None:
        """A reducer by a NumPy function.

        Minimum and maximum of floats have none: ufuncs do not order -0 and +0. Products of complex numbers
        have no ufunc: it rounds them in some arrays otherwise than in others.
        """
        element_type = self.element_types[0]
        if self.monoid is None or not isinstance(element_type, ElementType):
            return None
        if element_type.category in (FLOAT, COMPLEX) and self.monoid in ("minimum", "maximum"):
            return None
        declaration = lookup(f"stablehlo.{self.monoid}") or Op
        is_exact = bool(declaration.any_order_on & element_type.category)
        dtypes = (accumulator(element_type, self.monoid, accumulate),)
        if element_type.category == COMPLEX and self.monoid == "multiply":
            return Reducer(lambda left, right: (_complex_product(left[0], right[0]),), dtypes)
        ufunc = UFUNCS[self.monoid]
        return Reducer(lambda left, right: (ufunc(left[0], right[0]),), dtypes, ufunc, is_exact)

    def wider_reducer(self, accumulate: str, types: Sequence[TensorType]) -> Reducer | None:
        """The reducer of the body's monoid where it does not accumulate in the element types of `types`."""
        reducer = self.monoid_reducer(accumulate)
        is_wider = reducer is not None and list(reducer.dtypes) != [type.dtype for type in types]
        return reducer if is_wider else None

    @property
    def is_float_minmax(self) -> bool:
        """Whether the region is the minimum or maximum of floats."""
        return self.monoid in ("minimum", "maximum") and self.element_types[0].category == FLOAT

    @property
    def is_exact(self) -> bool:
        """Whether the region is known to be associative and commutative to the bit; NaNs count as equal."""
        reducer = self.monoid_reducer("declared")
        return self.is_float_minmax or (reducer is not None and reducer.is_exact)

    def reducer(self, function: Evaluate, accumulate: str = "wide") -> Reducer:
        """The reducer in which `function` evaluates the region; `accumulate` is the option of that name."""
        monoid_reducer = self.monoid_reducer(accumulate)
        if monoid_reducer is not None:
            return monoid_reducer
        vectorized = self._vectorized
        dtypes = [element_type.dtype for element_type in self.element_types]
        return Reducer(
            lambda left, right: vectorized(function, *left, *right), dtypes, is_exact=self.is_float_minmax
        )

    def specified_reducer(self, function: Evaluate, accumulate: str) -> Reducer:
        """The reducer of references, which calls the region's function for each node, unless sums or products
        of floats are accumulated in a wider type than the region's.
        """
        reducer = self.monoid_reducer(accumulate)
        dtypes = [element_type.dtype for element_type in self.element_types]
        is_inexact = self.element_types[0].category in (FLOAT, COMPLEX)
        if reducer is not None and is_inexact and list(reducer.dtypes) != dtypes:
            return reducer
        return Reducer(lambda left, right: function(*left, *right), dtypes)

    def enter(self, values: Sequence[Array], types: Sequence[TensorType], reducer: Reducer) -> Arrays:
        """Convert values of `types` to the body's types and to the NumPy types of the reducer."""
        entered = []
        for array, type, target, dtype in zip(values, types, self.element_types, reducer.dtypes, strict=True):
            if type.element_type != target:
                array = conversion(type.element_type, target)(array)
            entered.append(array if array.dtype == dtype else array.astype(dtype))
        return tuple(entered)

    def leave(self, values: Sequence[Array], reducer: Reducer) -> Arrays:
        """Round reduced values to the body's types."""
        return tuple(
            [
                array if array.dtype == target.dtype else rounding(dtype, target)(array)  # type: ignore[arg-type]
                for array, target, dtype in zip(values, self.element_types, reducer.dtypes, strict=True)
            ]
        )


def _complex_product(left: Array, right: Array) -> Array:
    """The product by its definition; each operation is rounded."""
    product = np.empty(broadcast_shape(left, right), left.dtype)
    product.real = left.real * right.real - left.imag * right.imag
    product.imag = left.real * right.imag + left.imag * right.real
    return product
