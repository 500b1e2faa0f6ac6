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

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .compilation import flat
from .copying import copied
from .indexing import UNSIGNED_BY_SIZE, index_items, row_major_steps
from .monoids import MONOIDS, OVERWRITE, Combination, normalized
from .monoids import supports as _supports_monoid
from .scatter_layout import DimensionNumbers, layout, windows
from .scatter_ways import Arrays, Loops, Promises

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
        self, shapes: tuple[tuple[int, ...], ...], dtypes: Sequence[np.dtype], index_dtype: np.dtype,
        components: int, component_step: int | None, loops: Sequence[Loops], schedule: np.ndarray,
        threads: int | None,
    ) -> None:  # fmt: skip
        self._shapes = shapes
        self._dtypes = dtypes
        self._index_dtype = index_dtype
        self._components = components
        self._component_step = component_step
        self._loops = loops
        self._schedule = schedule
        self._threads = threads

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
        indices = [index_items(column) for column in columns]
        for number, (array, result) in enumerate(zip(inputs, results, strict=True)):
            if self._loops:
                self._run(self._loops[number], indices, array, updates[number], result)
            elif array is not result:
                copied(array, result, self._threads)
        return list(results)

    def _run(
        self, loops: Loops, indices: list[np.ndarray], array: np.ndarray, values: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        is_one = loops.by_items and values.size > 1 and not any(values.strides)
        items = flat(values.reshape(-1)[:1] if is_one else values, loops.storage)
        written = result.reshape(-1).view(loops.storage)
        initial = flat(written[:0])
        if array is not result and loops.starts_ranges(self._threads) and _is_dense(array):
            initial = flat(array if array.flags.c_contiguous else array.reshape(-1)[:1], loops.storage)
        elif array is not result:
            copied(array, result, self._threads)
        least_index = 0 if self._index_dtype == np.uint64 else _LEAST_INDEX
        indexed = (self._addresses(indices), indices[0][:0], least_index)
        arrays = Arrays(*indexed, items, int(not is_one), self._schedule, initial, written)
        loops.run(arrays, self._threads)

    def _addresses(self, indices: list[np.ndarray]) -> np.ndarray:
        """Where the indices of each component begin."""
        starts = np.array([column.__array_interface__["data"][0] for column in indices], np.int64)
        if self._component_step is None:
            return starts
        return starts + np.arange(self._components) * (self._component_step * indices[0].itemsize)

    def _check_written(self, written: Sequence[np.ndarray]) -> None:
        for array, dtype in zip(written, self._dtypes, strict=True):
            fits = array.shape == self._shapes[0] and array.dtype == dtype
            if not (fits and array.flags.c_contiguous and array.flags.writeable):
                raise ValueError("results need C-contiguous, writeable arrays of the inputs' shape and types")

    def _check(
        self, inputs: Sequence[np.ndarray], columns: Sequence[np.ndarray], updates: Sequence[np.ndarray]
    ) -> None:
        for name, arrays, shape in (
            ("inputs", inputs, self._shapes[0]),
            ("updates", updates, self._shapes[2]),
        ):
            found = [(array.shape, array.dtype) for array in arrays]
            if found != [(shape, dtype) for dtype in self._dtypes]:
                raise ValueError(f"{name} are {found}, but {shape} and {self._dtypes} were prepared for")
        count = self._components if self._component_step is None else 1
        wanted = [(self._shapes[1], self._index_dtype)] * count
        given = [(column.shape, column.dtype) for column in columns]
        if given != wanted:
            raise ValueError(f"indices are {given}, but {wanted} were prepared for")


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
    has_vectors = index_vector_dim < len(shapes[1])
    step = row_major_steps(shapes[1])[index_vector_dim] if has_vectors else None
    return PreparedScatter(shapes, types, np.dtype(index_dtype), components, step, loops, order, threads)


def _check_schedule(schedule: np.ndarray | None, size: int) -> None:
    if schedule is None:
        return
    order = np.asarray(schedule).reshape(-1)
    if order.size != size or not np.array_equal(np.sort(order), np.arange(size)):
        raise ValueError(f"schedule must be a permutation of the numbers below {size}")
