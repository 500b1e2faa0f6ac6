"""scatter: updates combined into slices of inputs, at places that an array holds (specification: scatter).

The updates are cut into *units* (`scatter_layout`), each a run of elements, or several, that begins where one
index vector says. Units are taken in the schedule's order, by default the lexicographic order of the updates'
index space:

1. the units are distributed to owners, each of which has a range of the places where units begin; a unit
   stays behind those before it;
2. each owner applies its units in their order. Where its range of places is a range of the result too, it
   first gives that its first values, so that what it works on is in the cache; rows that are not very short
   are made one after the other then, from the first value and all updates.

So each element of the result sees its updates in the schedule's order whatever the number of threads.
`scatter_ways` has other ways that keep it.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..launch.compilation import flat
from ..launch.prepared import AddressTable, ArrayParam, prepare_launches
from ..simd.monoids import MONOIDS, OVERWRITE, Combination, normalized
from ..simd.monoids import supports as _supports_monoid
from .copy import copied
from .index_arithmetic import UNSIGNED_BY_SIZE, index_items, row_major_steps
from .scatter_layout import DimensionNumbers, layout, windows
from .scatter_strategies import Arrays, Loops, Promises

COMBINERS = (OVERWRITE, *MONOIDS)
_LEAST_INDEX = -(2**63)
_NONE = np.empty(0, np.int64)
_NONE.flags.writeable = False


def supports(dtype: Any, combiner: str) -> bool:
    """Whether there are loops for this combiner on this element type."""
    if combiner == OVERWRITE:
        return np.dtype(dtype).itemsize in UNSIGNED_BY_SIZE
    return _supports_monoid(dtype, combiner)


def _combination(dtype: np.dtype, combiner: str) -> Combination:
    if not supports(dtype, combiner):
        raise ValueError(f"no kernel scatters {combiner} on {dtype}")
    if combiner == OVERWRITE:
        return Combination(np.dtype(UNSIGNED_BY_SIZE[dtype.itemsize]).name, OVERWRITE)
    return normalized(dtype, combiner)


def _is_dense(array: np.ndarray) -> bool:
    """Whether an array's elements lie one after the other, or are one for all."""
    return array.flags.c_contiguous or not any(array.strides)


class PreparedScatter:
    """What `prepare` returns."""

    def __init__(
        self, shapes: tuple[tuple[int, ...], ...], dtypes: Sequence[np.dtype], indices: "_Indices",
        loops: Sequence[Loops], schedule: np.ndarray, threads: int | None,
    ) -> None:  # fmt: skip
        self._shapes = shapes
        self._dtypes = dtypes
        self._indices = indices
        self._loops = loops
        self._schedule = schedule
        self._threads = threads
        self._functions: dict[tuple[int, int, bool], Callable[..., Any]] = {}

    def __call__(
        self, inputs: Sequence[np.ndarray], columns: Sequence[np.ndarray], updates: Sequence[np.ndarray], *,
        in_place: bool = False, out: Sequence[np.ndarray] | None = None,
    ) -> list[np.ndarray]:  # fmt: skip
        """The results. `in_place` writes them into `inputs`, `out` into other arrays, C-contiguous ones.

        `columns` are the arrays of indices: one, or one for each component of the index vectors.
        Raises ValueError where an array has not the shape and type prepared for, or cannot be written.
        """
        self._check(inputs, columns, updates)
        results = inputs if in_place else out
        if results is None:
            results = [np.empty(array.shape, array.dtype) for array in inputs]
        else:
            self._check_written(results)
        indices = columns if self._indices.is_native else [index_items(column) for column in columns]
        for number, (array, result) in enumerate(zip(inputs, results, strict=True)):
            if self._loops:
                self._run(number, indices, array, updates[number], result)
            elif array is not result:
                copied(array, result, self._threads)
        return list(results)

    def _run(
        self, number: int, indices: Sequence[np.ndarray], array: np.ndarray, values: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        initial_size = 0
        if array is not result and self._starts_ranges[number] and _is_dense(array):
            initial_size = array.size if array.flags.c_contiguous else 1
        elif array is not result:
            copied(array, result, self._threads)
        is_one = self._loops[number].by_items and values.size > 1 and not any(values.strides)
        key = (number, initial_size, is_one)
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = self._function(*key)
        operands = [*indices, values.reshape(-1)[:1] if is_one else values]
        if initial_size:
            operands.append(array if initial_size == array.size else array.reshape(-1)[:1])
        function(*operands, out=(result,))

    @functools.cached_property
    def _starts_ranges(self) -> list[bool]:
        """For each input, whether its loops give the result its first values."""
        return [loops.starts_ranges(self._threads) for loops in self._loops]

    def _function(self, number: int, initial_size: int, is_one: bool) -> Callable[..., Any]:
        """A function from indices, updates and, if there are any, first values to the result number `number`;
        `is_one`: one update stands for all."""
        loops, (shape, _, updates_shape) = self._loops[number], self._shapes
        storage, indices = loops.storage, self._indices
        size, update_size = math.prod(shape), 1 if is_one else math.prod(updates_shape)
        steps = loops.steps(initial_size > 0, self._threads)
        count = len(indices.bytes)
        result = count + 1 + (initial_size > 0)
        arrays = Arrays(
            indices.addresses,
            indices.sample,
            indices.least,
            ArrayParam(count, update_size, storage, is_written=False),
            int(not is_one),
            self._schedule,
            ArrayParam(count + 1, initial_size, storage, is_written=False),
            ArrayParam(result, size, storage),
        )
        given = [ArrayParam(place, *room) for place, room in enumerate(steps.scratch, result + 1)]
        sizes = [update_size, initial_size] if initial_size else [update_size]
        return prepare_launches(
            lambda: steps.calls(arrays, *given),
            [*indices.bytes, *[items * storage.itemsize for items in sizes]],
            [(shape, self._dtypes[number])],
            steps.scratch,
            self._threads,
        )

    def _check_written(self, written: Sequence[np.ndarray]) -> None:
        for array, dtype in zip(written, self._dtypes, strict=True):
            fits = array.shape == self._shapes[0] and array.dtype == dtype
            if not (fits and array.flags.c_contiguous and array.flags.writeable):
                raise ValueError("results need C-contiguous, writeable arrays of the inputs' shape and types")

    def _check(
        self, inputs: Sequence[np.ndarray], columns: Sequence[np.ndarray], updates: Sequence[np.ndarray]
    ) -> None:
        indices = self._indices
        for name, arrays, shape, dtypes in (
            ("inputs", inputs, self._shapes[0], self._dtypes),
            ("indices", columns, self._shapes[1], (indices.dtype,) * len(indices.bytes)),
            ("updates", updates, self._shapes[2], self._dtypes),
        ):
            fits = len(arrays) == len(dtypes)
            for array, dtype in zip(arrays, dtypes, strict=False):
                fits = fits and array.shape == shape and array.dtype == dtype
            if not fits:
                found = [(array.shape, array.dtype) for array in arrays]
                raise ValueError(f"{name} are {found}, but {shape} and {dtypes} were prepared for")


class _Indices(NamedTuple):
    """How indices are given to loops.

    Attributes:
        dtype: their element type.
        is_native: whether they are given as they are; otherwise as `indexing.index_items`.
        bytes: of each array of them.
        addresses: of the first index of each component.
        sample: an empty array of the type that loops see.
        least: the least index that counts.
    """

    dtype: np.dtype
    is_native: bool
    bytes: list[int]
    addresses: AddressTable
    sample: np.ndarray
    least: int


def _indices(shape: tuple[int, ...], dtype: np.dtype, components: int, index_vector_dim: int) -> _Indices:
    """Of one array with index vectors, or where their dimension is the rank of one array a component."""
    sample = index_items(np.empty(0, dtype))
    size = math.prod(shape) * sample.itemsize
    places = tuple([(component, 0) for component in range(components)])
    if index_vector_dim < len(shape):
        step = row_major_steps(shape)[index_vector_dim] * sample.itemsize
        places = tuple([(0, component * step) for component in range(components)])
    sizes = [size] * (1 if index_vector_dim < len(shape) else components)
    least = 0 if dtype == np.uint64 else _LEAST_INDEX
    is_native = len(shape) > 0 and dtype.kind in "iu" and dtype.isnative
    return _Indices(dtype, is_native, sizes, AddressTable(places), sample, least)


def prepare(
    input_shape: Sequence[int],
    scatter_indices_shape: Sequence[int],
    updates_shape: Sequence[int],
    dtypes: Sequence[Any],
    index_dtype: Any,
    combiner: str | Sequence[str],
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    input_batching_dims: Sequence[int],
    scatter_indices_batching_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int,
    added_to_negative: Sequence[int] | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    schedule: np.ndarray | None = None,
    threads: int | None = None,
) -> PreparedScatter:
    """Decide how to scatter arrays of these shapes; nothing is compiled yet.

    `dtypes` has the element type of each input, `combiner` one of COMBINERS for all inputs or for each. The
    attributes are the specification's, and are taken to meet its constraints. Where `index_vector_dim` is the
    rank of the indices, each component of the index vectors has an array of that shape, a column; to a
    negative index `added_to_negative` of its component is added before anything else. `schedule` is the order
    in which updates are applied, an int64 permutation of the numbers of the updates' index space in
    lexicographic order; None is that order itself. With `unique_indices` the promise is relied upon: if it
    does not hold, which update of an element comes last is not known, nor is every update counted. So it is
    with `indices_are_sorted`: if that does not hold, some updates may not be applied.
    Raises ValueError for shapes that do not fit, a combiner that `supports` denies, or a schedule of another
    size.
    """
    shapes = (tuple(input_shape), tuple(scatter_indices_shape), tuple(updates_shape))
    types = [np.dtype(dtype) for dtype in dtypes]
    combiners = [combiner] * len(types) if isinstance(combiner, str) else list(combiner)
    kinds = [_combination(dtype, name) for dtype, name in zip(types, combiners, strict=True)]
    order = _NONE if schedule is None else flat(np.asarray(schedule, np.int64))
    numbers = DimensionNumbers(
        update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
        scatter_dims_to_operand_dims, index_vector_dim,
    )  # fmt: skip
    components = len(scatter_dims_to_operand_dims)
    loops: list[Loops] = []
    if math.prod(updates_shape) and math.prod(input_shape):
        _check_schedule(schedule, math.prod(updates_shape))
        added = added_to_negative or (0,) * components
        plan = layout(*shapes, numbers, schedule is not None, added)
        sliding = None if schedule is not None else windows(*shapes, numbers, added)
        sizes = (math.prod(input_shape), math.prod(updates_shape))
        promises = Promises(indices_are_sorted, unique_indices)
        loops = [Loops(plan, sliding, kind, promises, schedule is not None, sizes) for kind in kinds]
    indices = _indices(shapes[1], np.dtype(index_dtype), components, index_vector_dim)
    return PreparedScatter(shapes, types, indices, loops, order, threads)


def _check_schedule(schedule: np.ndarray | None, size: int) -> None:
    if schedule is None:
        return
    order = np.asarray(schedule).reshape(-1)
    if order.size != size or not np.array_equal(np.sort(order), np.arange(size)):
        raise ValueError(f"schedule must be a permutation of the numbers below {size}")
