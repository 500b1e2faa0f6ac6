"""`reduce` and `map`: functions applied along dimensions.

THE TREE. The specification leaves the shape of the tree open, not the order of its leaves; this is the tree
here, for every element type and body. The n values of a result element, in row-major order of the reduced
dimensions, are folded by adjacent pairs, level by level: (v0 op v1), (v2 op v3), ..., an odd last one carried
up as it is, until one is left. The result is `body(init_value, total)`; without values, it is `init_value`.
Where the body is one addition or multiplication of floats narrower than f32, all of this happens in f32 and
is rounded once.

Source: specification, sections "reduce" and "map".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..ir import Region as IrRegion
from ..types import (
    COMPLEX,
    FLOAT,
    PLAIN,
    QUANTIZED_PER_TENSOR,
    ElementType,
    FunctionType,
    TensorType,
    Type,
)
from . import rules
from .attribute_kinds import DIMENSIONS
from .declaration import Array, Attribute, Evaluate, Op, Operand, Region, Result, constraint
from .numerics import carrier, converter, rounding
from .regions import is_elementwise, monoid, over_arrays

MOST_VALUES: Final = 1 << 16
"""Values that are folded at a time: few enough for the caches."""

MOST_COLUMNS: Final = 1 << 12
"""Result elements that are folded side by side where there are many values."""

Arrays = tuple[Array, ...]

_UFUNCS: Final[dict[str, np.ufunc]] = {
    "add": np.add,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class Fold:
    """A body as it combines whole arrays.

    Attributes:
        combine: takes two tuples of arrays of one shape, returns a tuple of such arrays.
        ufunc: the ufunc that `combine` applies, or None where it is no single one.
        is_exact: whether every order of combining gives the same bits.
        dtypes: in which the values are combined, one for each operand.
    """

    __slots__ = ("combine", "dtypes", "is_exact", "ufunc")

    def __init__(
        self,
        combine: Callable[[Arrays, Arrays], Arrays],
        dtypes: Sequence[np.dtype[Any]],
        ufunc: np.ufunc | None = None,
        is_exact: bool = False,
    ) -> None:
        self.combine = combine
        self.dtypes = dtypes
        self.ufunc = ufunc
        self.is_exact = is_exact


class Body:
    """What a reducing region computes, found once; `fold` then binds the function that evaluates it.

    Args:
        region: takes N pairs of 0-dimensional tensors and returns N.

    Attributes:
        element_types: the region's own element types E0, ..., EN-1.
        monoid: the operation that it applies and returns, or None (`regions.monoid`).
    """

    def __init__(self, region: IrRegion) -> None:
        self.element_types = rules.body_element_types(region)
        self.monoid = monoid(region)
        self.is_elementwise = is_elementwise(region)
        self._lifted = over_arrays(region)
        self._fold = self._of_ufunc()

    def _of_ufunc(self) -> Fold | None:
        """The fold by a ufunc.

        Minimum and maximum of floats have none: ufuncs do not order -0 and +0. Nor have products of complex
        numbers: a ufunc rounds them in some arrays otherwise than in others.
        """
        element_type = self.element_types[0]
        if self.monoid is None or not isinstance(element_type, ElementType):
            return None
        is_exact = element_type.category not in (FLOAT, COMPLEX)
        if not is_exact and self.monoid in ("minimum", "maximum"):
            return None
        if element_type.category == COMPLEX and self.monoid == "multiply":
            return None
        ufunc = _UFUNCS[self.monoid]
        return Fold(
            lambda left, right: (ufunc(left[0], right[0]),), (carrier(element_type),), ufunc, is_exact
        )

    @property
    def finds_extreme(self) -> bool:
        """Whether it is the minimum or maximum of floats."""
        return self.monoid in ("minimum", "maximum") and self.element_types[0].category == FLOAT

    def fold(self, function: Evaluate) -> Fold:
        """The fold in which `function` evaluates the region."""
        if self._fold is not None:
            return self._fold
        lifted = self._lifted
        dtypes = [element_type.dtype for element_type in self.element_types]
        return Fold(lambda left, right: lifted(function, *left, *right), dtypes, is_exact=self.finds_extreme)

    def enter(self, values: Sequence[Array], types: Sequence[TensorType], fold: Fold) -> Arrays:
        """Values of `types` converted to the body's types, in the form in which they are folded."""
        entered = []
        for array, type, target, dtype in zip(values, types, self.element_types, fold.dtypes, strict=True):
            if type.element_type != target:
                array = converter(type.element_type, target)(array)  # type: ignore[arg-type]
            entered.append(array if array.dtype == dtype else array.astype(dtype))
        return tuple(entered)

    def leave(self, values: Sequence[Array], fold: Fold) -> Arrays:
        """Folded values rounded to the body's types."""
        return tuple(
            [
                array if array.dtype == target.dtype else rounding(dtype, target)(array)  # type: ignore[arg-type]
                for array, target, dtype in zip(values, self.element_types, fold.dtypes, strict=True)
            ]
        )


class Layout(NamedTuple):
    """How an operand is seen as [outer, n, inner], n being the reduced values of a result element in order.

    Attributes:
        permutation: dimensions transposed first, or None.
        sizes: outer, n and inner.
        kept: shape of the result.
    """

    permutation: tuple[int, ...] | None
    sizes: tuple[int, int, int]
    kept: tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def layout(shape: tuple[int, ...], dimensions: tuple[int, ...]) -> Layout:
    """The layout of an operand of `shape` whose `dimensions` are reduced."""
    kept = [axis for axis in range(len(shape)) if axis not in dimensions]
    kept_shape = tuple([shape[axis] for axis in kept])
    reduced = sorted(dimensions)
    count = math.prod(shape[axis] for axis in reduced)
    large = [axis for axis in range(len(shape)) if shape[axis] != 1]
    run = [axis for axis in large if axis in dimensions]
    if not run or not any(run[0] < axis < run[-1] for axis in large if axis not in dimensions):
        first, last = (run[0], run[-1]) if run else (len(shape), len(shape))
        outer = math.prod(shape[axis] for axis in kept if axis < first)
        inner = math.prod(shape[axis] for axis in kept if axis > last)
        return Layout(None, (outer, count, inner), kept_shape)
    size = math.prod(kept_shape)
    if large[-1] in dimensions:
        return Layout((*kept, *reduced), (size, count, 1), kept_shape)
    return Layout((*reduced, *kept), (1, count, size), kept_shape)


def fold_adjacent(values: Arrays, fold: Fold) -> Arrays:
    """Fold the middle axis of [outer, n, inner] arrays, n > 0, by THE TREE, without init values.

    Aligned blocks of 2^k values are subtrees: where there are many values, blocks are folded one by one.

    Returns:
        Arrays of shape [outer, inner].
    """
    outer, count, inner = values[0].shape
    if outer * count * inner <= MOST_VALUES:
        return _fold_levels(values, fold)
    for axis, size, most in ((0, outer, MOST_VALUES // (count * inner)), (2, inner, MOST_COLUMNS)):
        if size > max(1, most):
            parts = [fold_adjacent(part, fold) for part in _cut(values, axis, max(1, most))]
            return _join(parts, axis // 2)
    block = 1 << max(1, (MOST_VALUES // inner).bit_length() - 1)
    totals = [_fold_levels(part, fold) for part in _cut(values, 1, block)]
    return _fold_levels(tuple([array[np.newaxis] for array in _join(totals, 0)]), fold)


def _fold_levels(values: Arrays, fold: Fold) -> Arrays:
    """Fold the middle axis by adjacent pairs, level by level."""
    count = values[0].shape[1]
    while count > 1:
        paired = count - count % 2
        left = tuple([array[:, 0:paired:2] for array in values])
        folded = fold.combine(left, tuple([array[:, 1:paired:2] for array in values]))
        if paired < count:
            folded = _join([folded, tuple([array[:, paired:] for array in values])], 1)
        values, count = folded, (count + 1) // 2
    return tuple([array[:, 0] for array in values])


def _cut(values: Arrays, axis: int, size: int) -> list[Arrays]:
    """The arrays in parts of so many values along an axis."""
    before = (slice(None),) * axis
    starts = range(0, values[0].shape[axis], size)
    return [tuple([array[(*before, slice(start, start + size))] for array in values]) for start in starts]


def _join(parts: Sequence[Arrays], axis: int) -> Arrays:
    """For each operand, its parts one after another."""
    return tuple([np.concatenate(arrays, axis) for arrays in zip(*parts, strict=True)])


def extreme(name: str, values: Array, dimensions: tuple[int, ...]) -> Array:
    """Minimum or maximum of floats along dimensions that are not empty; NaN wins and -0 is less than +0."""
    found: Array = np.asarray(_UFUNCS[name].reduce(values, axis=dimensions))
    zero = found == 0
    if zero.any():
        signs = np.logical_or if name == "minimum" else np.logical_and
        negative = signs.reduce(np.signbit(values), axis=dimensions)
        found = np.where(zero, np.where(negative, found.dtype.type(-0.0), found.dtype.type(0)), found)
    return found


class Reduce(Op, name="stablehlo.reduce", assembly="custom(reduce)"):
    """Combines the values along dimensions by a body. Source: specification, section "reduce"."""

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    init_values = Operand(PLAIN | QUANTIZED_PER_TENSOR, rank=0, variadic=True)
    dimensions = Attribute(DIMENSIONS)
    body = Region()
    results = Result(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """same(shape(inputs...))"""
        return same_shapes("inputs", self.inputs)

    @constraint
    def C2(self) -> str | None:
        """element_type(inputs...) = element_type(init_values...)"""
        return same_element_types(self.inputs, self.init_values)

    @constraint
    def C3(self) -> str | None:
        """0 < size(inputs) = size(init_values) = size(results) = N"""
        return same_positive_counts(self)

    @constraint
    def C4(self) -> str | None:
        """0 <= dimensions < rank(inputs[0])"""
        rank = self.inputs[0].rank
        return rules.in_range("dimensions", self.dimensions, 0, rank, "the rank of inputs")

    @constraint
    def C5(self) -> str | None:
        """is_unique(dimensions)"""
        return rules.unique("dimensions", self.dimensions)

    @constraint
    def C6(self) -> str | None:
        """body combines N pairs of tensor<Ei>, and is_promotable(element_type(inputs[i]), Ei)"""
        return rules.body_type_is("body", self.body, [type.element_type for type in self.inputs])

    @constraint
    def C7(self) -> str | None:
        """shape(results...) = shape(inputs...) without dimensions"""
        kept = self._result_shape()
        return rules.first(
            *(
                rules.same_shape(f"results[{index}]", type, "the shape of inputs without dimensions", kept)
                for index, type in enumerate(self.results)
            )
        )

    @constraint
    def C8(self) -> str | None:
        """element_type(results[i]) = Ei"""
        return results_have_types_of("results", self.results, self.body)

    def _result_shape(self) -> tuple[int, ...]:
        return tuple([size for axis, size in enumerate(self.inputs[0].shape) if axis not in self.dimensions])

    def infer(self) -> list[Type]:
        shape = self._result_shape()
        return [TensorType(shape, element_type) for element_type in rules.body_element_types(self.body)]

    @functools.cached_property
    def analysis(self) -> Body:
        """What the body computes."""
        return Body(self.body)

    def reference(self, *operands: Array, body: Evaluate) -> Arrays:
        analysis = self.analysis
        fold = analysis.fold(body)
        count = len(operands) // 2
        init_values = analysis.enter(operands[count:], self.init_values, fold)
        inputs = analysis.enter(operands[:count], self.inputs, fold)
        placed = layout(inputs[0].shape, self.dimensions)
        if not placed.sizes[1]:
            results = tuple([np.broadcast_to(value, placed.kept) for value in init_values])
        elif fold.ufunc is not None:
            results = (fold.ufunc(init_values[0], self._totals(inputs, placed, fold)[0]),)
        else:
            initial = tuple([np.broadcast_to(value, placed.kept) for value in init_values])
            results = fold.combine(initial, self._totals(inputs, placed, fold))
        return analysis.leave(results, fold)

    def _totals(self, inputs: Arrays, placed: Layout, fold: Fold) -> Arrays:
        """The inputs folded along the dimensions, without init values."""
        if fold.ufunc is not None and fold.is_exact:
            array = inputs[0]
            return (fold.ufunc.reduce(array, axis=self.dimensions, dtype=array.dtype),)
        if self.analysis.finds_extreme:
            assert self.analysis.monoid is not None
            dtype = carrier(self.analysis.element_types[0])  # type: ignore[arg-type]
            found = extreme(self.analysis.monoid, inputs[0].astype(dtype, copy=False), self.dimensions)
            return (found.astype(inputs[0].dtype, copy=False),)
        ordered = inputs if placed.permutation is None else [x.transpose(placed.permutation) for x in inputs]
        values = tuple([np.ascontiguousarray(array).reshape(placed.sizes) for array in ordered])
        return tuple([array.reshape(placed.kept) for array in fold_adjacent(values, fold)])


def same_shapes(name: str, types: Sequence[TensorType]) -> str | None:
    """All types must have the same shape."""
    return rules.first(
        *(
            rules.same_shape(f"{name}[{index}]", type, f"the shape of {name}[0]", types[0].shape)
            for index, type in enumerate(types)
        )
    )


def same_element_types(inputs: Sequence[TensorType], init_values: Sequence[TensorType]) -> str | None:
    """Each init value must have the element type of its input."""
    pairs = enumerate(zip(inputs, init_values, strict=False))
    return rules.first(
        *(
            rules.same_element_type(f"init_values[{index}]", init_value, f"inputs[{index}]", input)
            for index, (input, init_value) in pairs
        )
    )


def function_type_is(
    name: str, region: IrRegion, inputs: Sequence[Type], results: Sequence[Type]
) -> str | None:
    """A region must have these types of inputs and results."""
    expected = FunctionType(inputs, results)
    actual = region.type
    if rules.all_types_agree(actual.inputs, inputs) and rules.all_types_agree(actual.results, results):
        return None
    return f"{name} is {actual}, but must be {expected}"


def same_positive_counts(operation: Any) -> str | None:
    """``0 < size(inputs) = size(init_values) = size(results)``."""
    count = len(operation.inputs)
    if not count:
        return "inputs is empty"
    return rules.first(
        rules.length_is("init_values", operation.init_values, count, "the number of inputs"),
        rules.length_is("results", operation.results, count, "the number of inputs"),
    )


def results_have_types_of(name: str, results: Sequence[TensorType], body: IrRegion) -> str | None:
    """Each result must have the element type that the body returns for it."""
    for index, (result, expected) in enumerate(zip(results, body.type.results, strict=False)):
        if isinstance(expected, TensorType) and result.element_type != expected.element_type:
            return f"{name}[{index}] is {result}, but the body returns {expected}"
    return None


class Map(Op, name="stablehlo.map"):
    """Applies a computation to each position of its inputs. Source: specification, section "map"."""

    inputs = Operand(PLAIN | QUANTIZED_PER_TENSOR, variadic=True)
    dimensions = Attribute(DIMENSIONS)
    computation = Region()
    result = Result(PLAIN | QUANTIZED_PER_TENSOR)

    @constraint
    def C1(self) -> str | None:
        """shape(inputs...) = shape(result)"""
        return rules.first(
            *(
                rules.same_shape(f"inputs[{index}]", type, "the shape of result", self.result.shape)
                for index, type in enumerate(self.inputs)
            )
        )

    @constraint
    def C2(self) -> str | None:
        """0 < size(inputs) = N"""
        return None if self.inputs else "inputs is empty"

    @constraint
    def C3(self) -> str | None:
        """dimensions = range(rank(inputs[0]))"""
        rank = self.inputs[0].rank
        if list(self.dimensions) == list(range(rank)):
            return None
        return f"dimensions = {list(self.dimensions)}, but must be {list(range(rank))}"

    @constraint
    def C4(self) -> str | None:
        """computation has type (tensor<E0>, ..., tensor<EN-1>) -> tensor<E'>, Ei = element_type(inputs[i]),
        E' = element_type(result)"""
        inputs = [TensorType((), type.element_type) for type in self.inputs]
        return function_type_is(
            "computation", self.computation, inputs, [TensorType((), self.result.element_type)]
        )

    @functools.cached_property
    def lifted(self) -> Any:
        """The computation, applied to whole arrays."""
        return over_arrays(self.computation)

    def reference(self, *inputs: Array, computation: Evaluate) -> Array:
        (result,) = self.lifted(computation, *inputs)
        return np.asarray(result)
