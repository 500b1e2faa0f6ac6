"""Cut the updates of a scatter into update slices and locate their elements: plain integers, computed once.

An example is the gradient of an embedding: an input of shape 4x3, indices of shape 5x1, each of which selects
a row of the input, and updates of shape 5x3. `cut_into_slices` makes each row of the updates a slice:

- `slice_space` has one row, for the dimension of the indices: SIZE 5 slices; from one to the next,
  INDEX_STRIDE 1 index and UPDATE_STRIDE 3 elements of the updates; INPUT_STRIDE 0 and COMPONENT_STRIDES (0,),
  as only the index tells where a slice begins in the input.
- `components` has one row, for the one component of the index vectors: NUMBER 0; its index is below BOUND 4;
  COMPONENT_INPUT_STRIDE 1: index i selects destination i, which is row i of `row_items` = 3 elements;
  ADDEND 0: negative indices are out of bounds.
- `runs` is ((0, 0),): the one run of a slice begins where the slice does, in the input and in the updates. It
  has one chunk (`chunk_count`) of 3 elements (`chunk_items`); nothing is clipped.

With the indices 2, 0, 2, 3, 9 the slices have the destinations 2, 0, 2, 3 and none: slices 0 and 2 update the
same row, in this order, and the last one is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..named_tuples import NamedTuple
from .index_arithmetic import Dimension, index_vector_layout, merged, offsets, row_major_strides, total_size

_MAX_RUNS = 1024
_MAX_WINDOW_RUNS = 1 << 14
_MIN_SLICES = 64
_INDICES, _INPUT, _UPDATES, _WINDOW_STRIDES = range(4)
"""The strides of the loop of an `_Axis`; the last is the first of as many as there are components."""
SIZE, INDEX_STRIDE, INPUT_STRIDE, UPDATE_STRIDE, COMPONENT_STRIDES = range(5)
"""The columns of `slice_space`, a row for each dimension: its size, and how far one step along it moves in
the indices, in the input, in the updates, and in each component of the index vectors; there are as many of
these last columns as components."""
NUMBER, BOUND, COMPONENT_INPUT_STRIDE, ADDEND, WINDOW_SIZE = range(5)
"""The columns of `components`, a row for each component of the index vectors: its number, the size of its
input dimension, how far an index of one more moves in the input, and what is added to a negative index.
WINDOW_SIZE, of a `WindowLayout` only, is the size of a window along that dimension."""
CLIPPED_NUMBER, MIN_START, CLIPPED_BOUND, CLIPPED_ADDEND = range(4)
"""The entries of `clipped_component`."""


class DimensionNumbers(NamedTuple):
    """The dimension attributes of scatter, named as in the specification."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    input_batching_dims: Sequence[int]
    scatter_indices_batching_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    index_vector_dim: int
    """The rank of the indices if each component of the index vectors has an array of its own."""


class _Axis(NamedTuple):
    """A dimension of the updates, as a loop with strides (indices, input, updates, one a component of the
    indices).

    `kind` is "scatter" for a dimension of the indices, "indexed" for a window dimension whose start is index
    component `component`, "window" for any other.
    """

    kind: str
    loop: Dimension
    component: int = -1


class _Component(NamedTuple):
    """A component of the index vectors: its number, the size and stride of its input dimension, and what is
    added to a negative index before anything else."""

    number: int
    bound: int
    stride: int
    addend: int


class Batches(NamedTuple):
    """Consecutive slices that share a range of destinations, and of the input, with no other batch."""

    batch_count: int
    slices_per_batch: int
    destinations_per_batch: int


class SliceLayout(NamedTuple):
    """The update slices, as the kernels see them.

    `slice_space` has a row (size, index stride, input stride, update stride, and one a component) for each
    dimension of the slices' iteration space, `components` a row (number, bound, input stride, added to a
    negative index) for each component that moves complete slices. Input strides count rows of `row_items`
    elements: the row at which a slice begins, without the clipped component, is its *destination*. Slices of
    different destinations share no element.

    A slice has a run at each row (input offset, update offset) of `runs`: `chunk_count` chunks of
    `chunk_items` elements. If `clipped_component` is not None, one component moves the runs along a
    dimension, and chunks out of its bounds are skipped: (component, least start that matters, bound, added to
    a negative index).
    """

    slice_space: np.ndarray
    components: np.ndarray
    clipped_component: tuple[int, int, int, int] | None
    runs: np.ndarray
    chunk_count: int
    chunk_items: int
    row_items: int

    @property
    def slice_count(self) -> int:
        """The number of update slices."""
        return math.prod(self.slice_space[:, SIZE].tolist())

    @property
    def slice_items(self) -> int:
        """The number of elements of an update slice."""
        return len(self.runs) * self.chunk_count * self.chunk_items

    @property
    def is_searchable(self) -> bool:
        """Whether destinations ascend if index vectors are sorted: one component alone gives them, in the
        slices' order."""
        has_one = self.clipped_component is None and len(self.slice_space) == len(self.components) == 1
        return has_one and not self.slice_space[0, [INPUT_STRIDE, COMPONENT_STRIDES]].any()

    @property
    def update_stride(self) -> int:
        """The distance in the updates between consecutive slices; 0 if it varies."""
        strides = self.slice_space[:, UPDATE_STRIDE].tolist()
        in_order = row_major_strides(self.slice_space[:, SIZE].tolist())
        return strides[-1] if all(a == strides[-1] * b for a, b in zip(strides, in_order, strict=True)) else 0

    @property
    def last_destination(self) -> int:
        checked = sum((bound - 1) * stride for _, bound, stride, _ in self.components.tolist())
        return int(checked + sum((row[SIZE] - 1) * row[INPUT_STRIDE] for row in self.slice_space.tolist()))

    @property
    def is_single_items(self) -> bool:
        """Whether a slice is one element, and slices are consecutive in the updates."""
        sizes = self.slice_space[:, SIZE].tolist()
        in_order = tuple(self.slice_space[:, UPDATE_STRIDE].tolist()) == row_major_strides(sizes)
        is_item = self.is_row and self.row_items == self.chunk_items == 1
        return is_item and (in_order or self.slice_count == 1)

    @property
    def is_row(self) -> bool:
        """Whether a slice is one contiguous run within its row, so that ranges of destinations are ranges of
        the input."""
        return self.clipped_component is None and len(self.runs) == 1 and self.chunk_items <= self.row_items

    def batches(self, input_size: int) -> Batches | None:
        """The batches along the outermost dimension of the slices' space, if they divide the input too."""
        number, _, width, _, *window_strides = self.slice_space[0].tolist()
        divides = (
            self.last_destination - (number - 1) * width < width
            and number * width * self.row_items == input_size
        )
        divides = divides and number > 1 and not any(window_strides)
        return Batches(number, self.slice_count // number, width) if divides else None


def cut_into_slices(
    input_shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int],
    numbers: DimensionNumbers, scheduled: bool, added_to_negative: Sequence[int],
) -> SliceLayout:  # fmt: skip
    """Cut the updates into slices; if `scheduled`, of one element each, numbered as the updates' index space.

    The slices' order keeps the lexicographic order of the updates of each element. Window dimensions inside
    all dimensions of the indices need no order: a window updates an element at most once. Raises ValueError
    if the shapes do not fit each other.
    """
    axes, components = _axes(input_shape, indices_shape, updates_shape, numbers, added_to_negative)
    scatter_axes = [
        number for number, axis in enumerate(axes) if axis.kind == "scatter" and axis.loop.size > 1
    ]
    first_window_axis = len(axes) if scheduled else max(scatter_axes, default=-1) + 1
    slice_axes = list(axes[:first_window_axis])
    window_axes = [axis for axis in axes[first_window_axis:] if axis.loop.size != 1]
    clipped_axis, block = _clipped(window_axes, components)
    slice_axes += [axis for axis in window_axes if axis.kind == "indexed" and axis is not clipped_axis]
    if clipped_axis is not None:
        window_axes = window_axes[: window_axes.index(clipped_axis)]
    window = merged(axis.loop for axis in window_axes if axis.kind == "window")
    if clipped_axis is None and window and window[-1].strides[_INPUT:_WINDOW_STRIDES] == (1, 1):
        block = window.pop().size
    loops = [axis.loop for axis in slice_axes]
    # Outer window dimensions become dimensions of the slices' space, one after the other, until a slice has
    # few enough runs for a table of them, and there are enough slices to divide among tasks.
    while window and (total_size(window) > _MAX_RUNS or total_size(loops) < _MIN_SLICES):
        loops.append(window.pop(0))
    return _assembled(loops, window, components, clipped_axis, block, math.prod(input_shape))


class WindowLayout(NamedTuple):
    """Windows placed by an index, for kernels that apply one window at a time.

    `slice_space` has a row (size, index stride, input stride, update stride) for each dimension of the
    windows' space, `components` a row (number, bound, input stride, added to a negative index, window size)
    for each component of the index vectors. A window has a run of `items` contiguous elements at each row
    (input offset, update offset, coordinate along each component) of `runs`; if `inner` >= 0, that component
    also runs along the elements of a run, `chunk_items` elements a coordinate.
    """

    slice_space: np.ndarray
    components: np.ndarray
    runs: np.ndarray
    items: int
    inner: int
    chunk_items: int


def cut_into_windows(
    input_shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int],
    numbers: DimensionNumbers, added_to_negative: Sequence[int],
) -> WindowLayout | None:  # fmt: skip
    """The updates as windows placed by an index. None if no component moves a window, if window dimensions
    are not inside all dimensions of the indices, or if a window has more than _MAX_WINDOW_RUNS runs."""
    axes, components = _axes(input_shape, indices_shape, updates_shape, numbers, added_to_negative)
    axes = [axis for axis in axes if axis.loop.size != 1]
    scatter_axes = [axis for axis in axes if axis.kind == "scatter"]
    window_axes = axes[len(scatter_axes) :]
    axis_kinds = {axis.kind for axis in window_axes}
    clipped_axis, chunk_items = _clipped(window_axes, components)
    inner, items = -1, 1
    if clipped_axis is not None:
        inner, items = clipped_axis.component, clipped_axis.loop.size * chunk_items
        window_axes = window_axes[: window_axes.index(clipped_axis)]
    elif window_axes and window_axes[-1].kind == "window" and window_axes[-1].loop.strides[
        _INPUT:_WINDOW_STRIDES
    ] == (1, 1):
        items = window_axes.pop().loop.size
    window_dims = [axis.loop for axis in window_axes]
    if "indexed" not in axis_kinds or "scatter" in axis_kinds or total_size(window_dims) > _MAX_WINDOW_RUNS:
        return None
    sizes = [1] * len(components)
    for axis in axes:
        if axis.kind == "indexed":
            sizes[axis.component] = axis.loop.size
    input_offsets = offsets(window_dims, _INPUT)
    window_offsets = [offsets(window_dims, _WINDOW_STRIDES + k) for k in range(len(components))]
    for component, along in zip(components, window_offsets, strict=True):
        input_offsets = input_offsets + component.stride * along
    space = merged(Dimension(axis.loop.size, axis.loop.strides[:_WINDOW_STRIDES]) for axis in scatter_axes)
    return WindowLayout(
        slice_space=np.array([(loop.size, *loop.strides) for loop in space] or [(1, 0, 0, 0)], np.int64),
        components=np.array([(*one, size) for one, size in zip(components, sizes, strict=True)], np.int64),
        runs=np.stack([input_offsets, offsets(window_dims, _UPDATES), *window_offsets], axis=1),
        items=items,
        inner=inner,
        chunk_items=chunk_items,
    )


def _assembled(
    loops: list[Dimension],
    window: list[Dimension],
    components: list[_Component],
    clipped_axis: _Axis | None,
    block: int,
    input_size: int,
) -> SliceLayout:
    unclipped = [k for k in range(len(components)) if clipped_axis is None or k != clipped_axis.component]
    columns = [*range(_WINDOW_STRIDES), *(_WINDOW_STRIDES + k for k in unclipped)]
    rows = [(loop.size, *(loop.strides[m] for m in columns)) for loop in loops]
    nest = merged(Dimension(row[0], row[1:]) for row in rows) or [Dimension(1, (0,) * len(columns))]
    clipped_component = None
    if clipped_axis is not None:
        number, bound, _, addend = components[clipped_axis.component]
        clipped_component = (number, -clipped_axis.loop.size, bound, addend)
    slice_space = np.array([(loop.size, *loop.strides) for loop in nest], np.int64)
    component_rows = np.array([components[k] for k in unclipped], np.int64).reshape(len(unclipped), 4)
    input_strides = slice_space[:, INPUT_STRIDE], component_rows[:, COMPONENT_INPUT_STRIDE]
    row_items = math.gcd(*input_strides[0].tolist(), *input_strides[1].tolist()) or input_size
    for column in input_strides:
        column //= row_items
    return SliceLayout(
        slice_space=slice_space,
        components=component_rows,
        clipped_component=clipped_component,
        runs=np.stack([offsets(window, _INPUT), offsets(window, _UPDATES)], axis=1),
        chunk_count=1 if clipped_axis is None else clipped_axis.loop.size,
        chunk_items=block,
        row_items=row_items,
    )


def _clipped(window_axes: list[_Axis], components: list[_Component]) -> tuple[_Axis | None, int]:
    """The dimension whose runs can be clipped to the input's bounds, and the elements that one coordinate
    along it covers."""
    indexed_axes = [number for number, axis in enumerate(window_axes) if axis.kind == "indexed"]
    if not indexed_axes:
        return None, 1
    axis = window_axes[indexed_axes[-1]]
    within = merged(other.loop for other in window_axes[indexed_axes[-1] + 1 :])
    block = total_size(within)
    contiguous = len(within) <= 1 and all(loop.strides[_INPUT:_WINDOW_STRIDES] == (1, 1) for loop in within)
    if contiguous and components[axis.component].stride == axis.loop.strides[_UPDATES] == block:
        return axis, block
    return None, 1


def _axes(
    input_shape: Sequence[int],
    indices_shape: Sequence[int],
    updates_shape: Sequence[int],
    numbers: DimensionNumbers,
    added_to_negative: Sequence[int],
) -> tuple[list[_Axis], list[_Component]]:
    """The dimensions of the updates, and the components of the index vectors."""
    sizes, index_strides, length, _ = index_vector_layout(indices_shape, numbers.index_vector_dim)
    scattered = list(numbers.scatter_dims_to_operand_dims)
    if len(scattered) != length and numbers.index_vector_dim < len(indices_shape):
        raise ValueError(
            f"scatter_dims_to_operand_dims has {len(scattered)} elements, but index vectors have {length}"
        )
    input_strides, update_strides = row_major_strides(input_shape), row_major_strides(updates_shape)
    batching = {
        axis - (axis > numbers.index_vector_dim): input_strides[dim]
        for dim, axis in zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    }
    removed = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    window_dims = [dim for dim in range(len(input_shape)) if dim not in removed]
    axes: list[_Axis] = []
    scatter_axis = window_axis = 0
    for axis, (size, update_stride) in enumerate(zip(updates_shape, update_strides, strict=True)):
        if axis not in numbers.update_window_dims:
            strides = (index_strides[scatter_axis], batching.get(scatter_axis, 0), update_stride)
            axes.append(_Axis("scatter", Dimension(size, strides + (0,) * len(scattered))))
            expected_size, scatter_axis = sizes[scatter_axis], scatter_axis + 1
        else:
            dim = window_dims[window_axis]
            axes.append(_window_axis(dim, size, input_strides[dim], update_stride, scattered))
            expected_size, window_axis = min(size, input_shape[dim]), window_axis + 1
        if size != expected_size:
            raise ValueError(f"updates of shape {tuple(updates_shape)} do not fit along dimension {axis}")
    components = [
        _Component(k, input_shape[dim], input_strides[dim], addend)
        for k, (dim, addend) in enumerate(zip(scattered, added_to_negative, strict=True))
    ]
    return axes, components


def _window_axis(dim: int, size: int, input_stride: int, update_stride: int, scattered: list[int]) -> _Axis:
    if dim not in scattered:
        return _Axis("window", Dimension(size, (0, input_stride, update_stride, *[0] * len(scattered))))
    component = scattered.index(dim)
    component_strides = [int(k == component) for k in range(len(scattered))]
    return _Axis("indexed", Dimension(size, (0, 0, update_stride, *component_strides)), component)
