"""scatter: updates combined into slices of inputs, at indices that an array holds (specification: scatter).

`scatter_layout` cuts the updates into *update slices*. A slice is one or several contiguous runs of elements,
and one index vector gives its destination. Slices are applied in the schedule's order, by default the
lexicographic order of the updates' index space:

- Each task has a range of destinations, and applies the slices of its range in order.
- If a range of destinations is contiguous in the result, the task first initializes that range, which brings
  it into the cache. Large rows are reduced in sequence, from the initial value and all updates.

So each element of the result receives its updates in the schedule's order, whatever the number of threads.
`scatter_strategies` has further strategies, which keep this order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..launch.compilation import flat
from ..launch.no_kernel import NoKernel
from ..launch.prepared import AddressTable, ArrayParam, prepare_launches
from ..named_tuples import NamedTuple
from ..simd.monoids import MONOIDS, OVERWRITE, Combination, normalized
from ..simd.monoids import supports as _supports_monoid
from .copy import copied
from .index_arithmetic import UNSIGNED_BY_SIZE, index_items, row_major_strides
from .scatter_layout import DimensionNumbers as DimensionNumbers
from .scatter_layout import cut_into_slices, cut_into_windows
from .scatter_strategies import Arrays, ScatterStrategy
from .scatter_strategies import Promises as Promises

COMBINERS = (OVERWRITE, *MONOIDS)
_MIN_INDEX = -(2**63)
_NO_PROMISES = Promises()
_NONE = np.empty(0, np.int64)
_NONE.flags.writeable = False


def supports(dtype: Any, combiner: str) -> bool:
    """Whether kernels exist for this combiner on this element type."""
    if combiner == OVERWRITE:
        return np.dtype(dtype).itemsize in UNSIGNED_BY_SIZE
    return _supports_monoid(dtype, combiner)


def _combination(dtype: np.dtype, combiner: str) -> Combination:
    if not supports(dtype, combiner):
        raise NoKernel(f"no kernel scatters {combiner} on {dtype}")
    if combiner == OVERWRITE:
        return Combination(np.dtype(UNSIGNED_BY_SIZE[dtype.itemsize]).name, OVERWRITE)
    return normalized(dtype, combiner)


def _is_dense(array: np.ndarray) -> bool:
    """Whether an array is C-contiguous or a broadcast scalar."""
    return array.flags.c_contiguous or not any(array.strides)


class PreparedScatter:
    """A scatter for given shapes; `prepare` makes it."""

    def __init__(
        self, shapes: tuple[tuple[int, ...], ...], dtypes: Sequence[np.dtype], indices: _Indices,
        strategies: Sequence[ScatterStrategy], schedule: np.ndarray, threads: int | None,
    ) -> None:  # fmt: skip
        self._shapes = shapes
        self._dtypes = dtypes
        self._indices = indices
        self._strategies = strategies
        self._schedule = schedule
        self._threads = threads
        self._functions: dict[tuple[int, int, bool], Callable[..., Any]] = {}

    def __call__(
        self, inputs: Sequence[np.ndarray], index_components: Sequence[np.ndarray],
        updates: Sequence[np.ndarray], *, in_place: bool = False, out: Sequence[np.ndarray] | None = None,
    ) -> list[np.ndarray]:  # fmt: skip
        """Scatter `updates` into `inputs` and return the results.

        Args:
            index_components: the index arrays: one array of index vectors, or one for each component of the
                index vectors.
            in_place: write the results into `inputs`.
            out: C-contiguous arrays for the results.

        Raises ValueError if an array does not have the prepared shape and type, or cannot be written.
        """
        self._check(inputs, index_components, updates)
        results = inputs if in_place else out
        if results is None:
            results = [np.empty(array.shape, array.dtype) for array in inputs]
        else:
            self._check_written(results)
        indices = index_components if self._indices.is_native else [
            index_items(component) for component in index_components
        ]
        for number, (array, result) in enumerate(zip(inputs, results, strict=True)):
            if self._strategies:
                self._run(number, indices, array, updates[number], result)
            elif array is not result:
                copied(array, result, self._threads)
        return list(results)

    def _run(
        self, input_number: int, indices: Sequence[np.ndarray], array: np.ndarray, values: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        initial_size = 0
        if array is not result and self._initialize_result[input_number] and _is_dense(array):
            initial_size = array.size if array.flags.c_contiguous else 1
        elif array is not result:
            copied(array, result, self._threads)
        is_broadcast = self._strategies[input_number].by_items and values.size > 1 and not any(values.strides)
        key = (input_number, initial_size, is_broadcast)
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = self._function(*key)
        operands = [*indices, values.reshape(-1)[:1] if is_broadcast else values]
        if initial_size:
            operands.append(array if initial_size == array.size else array.reshape(-1)[:1])
        function(*operands, out=(result,))

    @functools.cached_property
    def _initialize_result(self) -> list[bool]:
        """For each input, whether its kernels copy the input into the result."""
        return [one.initializes_result(self._threads) for one in self._strategies]

    def _function(self, input_number: int, initial_size: int, is_broadcast: bool) -> Callable[..., Any]:
        """A function from indices, updates and optionally initial values to result `input_number`. If
        `is_broadcast`, one update element stands for all updates."""
        strategy, (shape, _, updates_shape) = self._strategies[input_number], self._shapes
        storage, indices = strategy.storage, self._indices
        size, update_size = math.prod(shape), 1 if is_broadcast else math.prod(updates_shape)
        launches = strategy.launches(initial_size > 0, self._threads)
        count = len(indices.bytes)
        result = count + 1 + (initial_size > 0)
        arrays = Arrays(
            indices.addresses,
            indices.index_dtype_tag,
            indices.min_index,
            ArrayParam(count, update_size, storage, is_written=False),
            int(not is_broadcast),
            self._schedule,
            ArrayParam(count + 1, initial_size, storage, is_written=False),
            ArrayParam(result, size, storage),
        )
        scratch = [
            ArrayParam(parameter, *array) for parameter, array in enumerate(launches.scratch, result + 1)
        ]
        sizes = [update_size, initial_size] if initial_size else [update_size]
        return prepare_launches(
            lambda: launches.calls(arrays, *scratch),
            [*indices.bytes, *[items * storage.itemsize for items in sizes]],
            [(shape, self._dtypes[input_number])],
            launches.scratch,
            self._threads,
        )

    def _check_written(self, written: Sequence[np.ndarray]) -> None:
        for array, dtype in zip(written, self._dtypes, strict=True):
            fits = array.shape == self._shapes[0] and array.dtype == dtype
            if not (fits and array.flags.c_contiguous and array.flags.writeable):
                raise ValueError("results need C-contiguous, writeable arrays of the inputs' shape and types")

    def _check(
        self, inputs: Sequence[np.ndarray], index_components: Sequence[np.ndarray],
        updates: Sequence[np.ndarray],
    ) -> None:  # fmt: skip
        indices = self._indices
        for name, arrays, shape, dtypes in (
            ("inputs", inputs, self._shapes[0], self._dtypes),
            ("indices", index_components, self._shapes[1], (indices.dtype,) * len(indices.bytes)),
            ("updates", updates, self._shapes[2], self._dtypes),
        ):
            fits = len(arrays) == len(dtypes)
            for array, dtype in zip(arrays, dtypes, strict=False):
                fits = fits and array.shape == shape and array.dtype == dtype
            if not fits:
                actual = [(array.shape, array.dtype) for array in arrays]
                raise ValueError(f"{name} are {actual}, but {shape} and {dtypes} were prepared for")


class _Indices(NamedTuple):
    """The format in which the kernels receive indices.

    Attributes:
        dtype: their element type.
        is_native: whether they are passed unchanged; otherwise through `index_arithmetic.index_items`.
        bytes: the size of each index array.
        addresses: of the first index of each component.
        index_dtype_tag: an empty array of the type that kernels read.
        min_index: indices below it are out of bounds.
    """

    dtype: np.dtype
    is_native: bool
    bytes: list[int]
    addresses: AddressTable
    index_dtype_tag: np.ndarray
    min_index: int


def _indices(
    shape: tuple[int, ...], dtype: np.dtype, component_count: int, index_vector_dim: int
) -> _Indices:
    """The indices in one array of index vectors or, if `index_vector_dim` is the rank, in one array a
    component."""
    index_dtype_tag = index_items(np.empty(0, dtype))
    size = math.prod(shape) * index_dtype_tag.itemsize
    addresses = tuple([(component, 0) for component in range(component_count)])
    if index_vector_dim < len(shape):
        stride = row_major_strides(shape)[index_vector_dim] * index_dtype_tag.itemsize
        addresses = tuple([(0, component * stride) for component in range(component_count)])
    sizes = [size] * (1 if index_vector_dim < len(shape) else component_count)
    min_index = 0 if dtype == np.uint64 else _MIN_INDEX
    is_native = len(shape) > 0 and dtype.kind in "iu" and dtype.isnative
    return _Indices(dtype, is_native, sizes, AddressTable(addresses), index_dtype_tag, min_index)


def prepare(
    input_shape: Sequence[int],
    scatter_indices_shape: Sequence[int],
    updates_shape: Sequence[int],
    dtypes: Sequence[Any],
    index_dtype: Any,
    combiner: str | Sequence[str],
    dimension_numbers: DimensionNumbers,
    *,
    added_to_negative: Sequence[int] | None = None,
    promises: Promises = _NO_PROMISES,
    schedule: np.ndarray | None = None,
    threads: int | None = None,
) -> PreparedScatter:
    """Decide how to scatter arrays of these shapes; nothing is compiled yet.

    The dimension numbers are the specification's, and are taken to meet its constraints.

    Args:
        input_shape, scatter_indices_shape, updates_shape: sizes of each input, of the index array and of each
            array of updates. Where `index_vector_dim` is the rank of the indices, each component of the index
            vectors has an array of `scatter_indices_shape`.
        dtypes: the element type of each input.
        index_dtype: the integer type of the indices.
        combiner: one of COMBINERS, for all inputs or for each.
        dimension_numbers: as the operation's attribute.
        added_to_negative: for each index component the number that is added to negative indices first.
        promises: about the indices. If a promise does not hold, updates may be lost, and any update of an
            element may come last.
        schedule: the order in which updates are applied, an int64 permutation of the lexicographic numbers of
            the updates' index space; None: lexicographic order.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: shapes that do not fit, a combiner that `supports` denies, or a schedule of another size.

    Source: specification, section "scatter".
    """
    shapes = (tuple(input_shape), tuple(scatter_indices_shape), tuple(updates_shape))
    types = [np.dtype(dtype) for dtype in dtypes]
    combiners = [combiner] * len(types) if isinstance(combiner, str) else list(combiner)
    combinations = [_combination(dtype, name) for dtype, name in zip(types, combiners, strict=True)]
    order = _NONE if schedule is None else flat(np.asarray(schedule, np.int64))
    component_count = len(dimension_numbers.scatter_dims_to_operand_dims)
    strategies: list[ScatterStrategy] = []
    if math.prod(updates_shape) and math.prod(input_shape):
        _check_schedule(schedule, math.prod(updates_shape))
        addends = added_to_negative or (0,) * component_count
        slice_layout = cut_into_slices(*shapes, dimension_numbers, schedule is not None, addends)
        window_layout = None if schedule is not None else cut_into_windows(
            *shapes, dimension_numbers, addends
        )
        sizes = (math.prod(input_shape), math.prod(updates_shape))
        strategies = [
            ScatterStrategy(slice_layout, window_layout, kind, promises, schedule is not None, sizes)
            for kind in combinations
        ]
    indices = _indices(shapes[1], np.dtype(index_dtype), component_count, dimension_numbers.index_vector_dim)
    return PreparedScatter(shapes, types, indices, strategies, order, threads)


def _check_schedule(schedule: np.ndarray | None, size: int) -> None:
    if schedule is None:
        return
    order = np.asarray(schedule).reshape(-1)
    if order.size != size or not np.array_equal(np.sort(order), np.arange(size)):
        raise ValueError(f"schedule must be a permutation of the numbers below {size}")
