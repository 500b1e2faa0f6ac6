"""How scatter cuts its updates into units, and where a unit's elements lie: plain integers, computed once."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .index_arithmetic import Dimension, index_vector_layout, merged, offsets, row_major_steps, total_size

_MOST_RUNS = 1024
_MOST_RUNS_OF_WINDOWS = 1 << 14
_FEW_UNITS = 64
_INDICES, _INPUT, _UPDATES, _MOVES = range(4)


class DimensionNumbers(NamedTuple):
    """The attributes of scatter that say how its arrays belong together, named as in the specification."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    input_batching_dims: Sequence[int]
    scatter_indices_batching_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    index_vector_dim: int
    """The rank of the indices where each component of the index vectors has an array of its own."""


class _Axis(NamedTuple):
    """A dimension of the updates, as a loop with steps (indices, input, updates, one a component of the
    indices).

    `kind` is "scatter" for a dimension of the indices, "slide" for a window dimension that component number
    `component` moves, "window" for another one.
    """

    kind: str
    loop: Dimension
    component: int = -1


class _Component(NamedTuple):
    """Of an index vector: its number, the size of its input dimension, that dimension's step, and what is
    added to a negative index before anything else."""

    number: int
    bound: int
    step: int
    added: int


class Batches(NamedTuple):
    """Neighbouring units that share a range of keys, and of the input, with no others: the number of batches,
    and what one has."""

    number: int
    units: int
    keys: int


class Layout(NamedTuple):
    """What the loops of scatter are given.

    `units` has a row (size, index step, input step, update step, and one a component) for each dimension of
    the units' space, `components` a row (number, bound, input step, added to a negative index) for each
    component that decides over whole units. Input steps count grains of `grain` elements: the number of the
    grain at which a unit begins, before it slides, is its *key*. Units of different keys share no element.

    A unit has a run at each row (input offset, update offset) of `runs`: `length` pieces of `piece` elements.
    Where `slide` is not None, one component moves the runs along a dimension, and the pieces out of its
    bounds are left out: (offset in the indices, least start that matters, bound).
    """

    units: np.ndarray
    components: np.ndarray
    slide: tuple[int, int, int, int] | None
    runs: np.ndarray
    length: int
    piece: int
    grain: int

    @property
    def unit_count(self) -> int:
        """The number of units."""
        return math.prod(self.units[:, 0].tolist())

    @property
    def unit_items(self) -> int:
        """The number of elements of a unit."""
        return len(self.runs) * self.length * self.piece

    @property
    def is_searchable(self) -> bool:
        """Whether one component alone says where a unit begins, and the units follow each other as their
        index vectors do: sorted index vectors mean ascending keys then."""
        has_one = self.slide is None and len(self.units) == len(self.components) == 1
        return has_one and not self.units[0, 1 + _INPUT] and not self.units[0, 1 + _MOVES]

    @property
    def source_step(self) -> int:
        """How far apart in the updates each two units begin that follow each other; 0 where it varies."""
        steps = self.units[:, 1 + _UPDATES].tolist()
        in_order = row_major_steps(self.units[:, 0].tolist())
        return steps[-1] if all(a == steps[-1] * b for a, b in zip(steps, in_order, strict=True)) else 0

    @property
    def last_key(self) -> int:
        """The largest key that a unit can have."""
        checked = sum((bound - 1) * step for _, bound, step, _ in self.components.tolist())
        return int(checked + sum((row[0] - 1) * row[2] for row in self.units.tolist()))

    @property
    def is_single_items(self) -> bool:
        """Whether a unit is one element, and the units follow each other in the updates."""
        sizes = self.units[:, 0].tolist()
        in_order = tuple(self.units[:, 1 + _UPDATES].tolist()) == row_major_steps(sizes)
        is_item = self.is_row and self.grain == self.piece == 1
        return is_item and (in_order or self.unit_count == 1)

    @property
    def is_row(self) -> bool:
        """Whether a unit is one run of neighbours within its grain, so that ranges of keys are ranges of the
        input."""
        return self.slide is None and len(self.runs) == 1 and self.piece <= self.grain

    def batches(self, input_size: int) -> Batches | None:
        """The batches into which the outermost dimension of the units cuts units and input, if it does."""
        number, _, keys, _, *moves = self.units[0].tolist()
        cuts = self.last_key - (number - 1) * keys < keys and number * keys * self.grain == input_size
        cuts = cuts and number > 1 and not any(moves)
        return Batches(number, self.unit_count // number, keys) if cuts else None


def layout(
    input_shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int],
    numbers: DimensionNumbers, scheduled: bool, added_to_negative: Sequence[int],
) -> Layout:  # fmt: skip
    """Cut the updates into units: where `scheduled`, each of one element, numbered as the updates' index
    space.

    The units' order keeps the lexicographic order of the updates of each element. Dimensions of windows can
    be left out of it where they lie inside all dimensions of the indices: of one window, an element gets one
    update at most.
    Raises ValueError where the shapes do not fit each other.
    """
    axes, components = _axes(input_shape, indices_shape, updates_shape, numbers, added_to_negative)
    scatter_axes = [
        number for number, axis in enumerate(axes) if axis.kind == "scatter" and axis.loop.size > 1
    ]
    first_inside = len(axes) if scheduled else max(scatter_axes, default=-1) + 1
    units = list(axes[:first_inside])
    inside = [axis for axis in axes[first_inside:] if axis.loop.size != 1]
    clipped, block = _clipped(inside, components)
    units += [axis for axis in inside if axis.kind == "slide" and axis is not clipped]
    if clipped is not None:
        inside = inside[: inside.index(clipped)]
    window = merged(axis.loop for axis in inside if axis.kind == "window")
    if clipped is None and window and window[-1].steps[_INPUT:_MOVES] == (1, 1):
        block = window.pop().size
    loops = [axis.loop for axis in units]
    while window and (total_size(window) > _MOST_RUNS or total_size(loops) < _FEW_UNITS):
        loops.append(window.pop(0))
    return _assembled(loops, window, components, clipped, block, math.prod(input_shape))


class Windows(NamedTuple):
    """Windows that slide, for loops that take each whole.

    `units` has a row (size, index step, input step, update step) for each dimension of the windows' space,
    `components` a row (number, bound, input step, added to a negative index, the window's size) for each
    component of the index vectors. A window has a run of `items` neighbours at each row (input offset, update
    offset, steps along each component) of `runs`; if `inner` is no less than 0, the component of that number
    moves along the runs too, by `piece` elements each step.
    """

    units: np.ndarray
    components: np.ndarray
    runs: np.ndarray
    items: int
    inner: int
    piece: int


def windows(
    input_shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int],
    numbers: DimensionNumbers, added_to_negative: Sequence[int],
) -> Windows | None:  # fmt: skip
    """The same updates as windows that slide; None where none does, where windows do not lie inside all
    dimensions of the indices, or have very many runs."""
    axes, components = _axes(input_shape, indices_shape, updates_shape, numbers, added_to_negative)
    axes = [axis for axis in axes if axis.loop.size != 1]
    outside = [axis for axis in axes if axis.kind == "scatter"]
    inside = axes[len(outside) :]
    kinds = {axis.kind for axis in inside}
    clipped, piece = _clipped(inside, components)
    inner, items = -1, 1
    if clipped is not None:
        inner, items = clipped.component, clipped.loop.size * piece
        inside = inside[: inside.index(clipped)]
    elif inside and inside[-1].kind == "window" and inside[-1].loop.steps[_INPUT:_MOVES] == (1, 1):
        items = inside.pop().loop.size
    loops = [axis.loop for axis in inside]
    if "slide" not in kinds or "scatter" in kinds or total_size(loops) > _MOST_RUNS_OF_WINDOWS:
        return None
    sizes = [1] * len(components)
    for axis in axes:
        if axis.kind == "slide":
            sizes[axis.component] = axis.loop.size
    input_offsets = offsets(loops, _INPUT)
    moves = [offsets(loops, _MOVES + k) for k in range(len(components))]
    for component, along in zip(components, moves, strict=True):
        input_offsets = input_offsets + component.step * along
    space = merged(Dimension(axis.loop.size, axis.loop.steps[:_MOVES]) for axis in outside)
    return Windows(
        units=np.array([(loop.size, *loop.steps) for loop in space] or [(1, 0, 0, 0)], np.int64),
        components=np.array([(*one, size) for one, size in zip(components, sizes, strict=True)], np.int64),
        runs=np.stack([input_offsets, offsets(loops, _UPDATES), *moves], axis=1),
        items=items,
        inner=inner,
        piece=piece,
    )


def _assembled(
    loops: list[Dimension],
    window: list[Dimension],
    components: list[_Component],
    clipped: _Axis | None,
    block: int,
    input_size: int,
) -> Layout:
    kept = [k for k in range(len(components)) if clipped is None or k != clipped.component]
    members = [*range(_MOVES), *(_MOVES + k for k in kept)]
    rows = [(loop.size, *(loop.steps[m] for m in members)) for loop in loops]
    nest = merged(Dimension(row[0], row[1:]) for row in rows) or [Dimension(1, (0,) * len(members))]
    slide = None
    if clipped is not None:
        number, bound, _, added = components[clipped.component]
        slide = (number, -clipped.loop.size, bound, added)
    units = np.array([(loop.size, *loop.steps) for loop in nest], np.int64)
    bounds = np.array([components[k] for k in kept], np.int64).reshape(len(kept), 4)
    grain = math.gcd(*units[:, 1 + _INPUT].tolist(), *bounds[:, 2].tolist()) or input_size
    units[:, 1 + _INPUT] //= grain
    bounds[:, 2] //= grain
    return Layout(
        units=units,
        components=bounds,
        slide=slide,
        runs=np.stack([offsets(window, _INPUT), offsets(window, _UPDATES)], axis=1),
        length=1 if clipped is None else clipped.loop.size,
        piece=block,
        grain=grain,
    )


def _clipped(inside: list[_Axis], components: list[_Component]) -> tuple[_Axis | None, int]:
    """The dimension whose runs can be clipped to the input's bounds, and how many elements a step along it
    covers."""
    slid = [number for number, axis in enumerate(inside) if axis.kind == "slide"]
    if not slid:
        return None, 1
    axis = inside[slid[-1]]
    within = merged(other.loop for other in inside[slid[-1] + 1 :])
    block = total_size(within)
    contiguous = len(within) <= 1 and all(loop.steps[_INPUT:_MOVES] == (1, 1) for loop in within)
    if contiguous and components[axis.component].step == axis.loop.steps[_UPDATES] == block:
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
    sizes, index_steps, length, _ = index_vector_layout(indices_shape, numbers.index_vector_dim)
    scattered = list(numbers.scatter_dims_to_operand_dims)
    if len(scattered) != length and numbers.index_vector_dim < len(indices_shape):
        raise ValueError(
            f"scatter_dims_to_operand_dims has {len(scattered)} elements, but index vectors have {length}"
        )
    input_steps, update_steps = row_major_steps(input_shape), row_major_steps(updates_shape)
    batching = {
        axis - (axis > numbers.index_vector_dim): input_steps[dim]
        for dim, axis in zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    }
    removed = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    window_dims = [dim for dim in range(len(input_shape)) if dim not in removed]
    axes: list[_Axis] = []
    scatter_axis = window_axis = 0
    for axis, (size, update_step) in enumerate(zip(updates_shape, update_steps, strict=True)):
        if axis not in numbers.update_window_dims:
            steps = (index_steps[scatter_axis], batching.get(scatter_axis, 0), update_step)
            axes.append(_Axis("scatter", Dimension(size, steps + (0,) * len(scattered))))
            expected, scatter_axis = sizes[scatter_axis], scatter_axis + 1
        else:
            dim = window_dims[window_axis]
            axes.append(_window_axis(dim, size, input_steps[dim], update_step, scattered))
            expected, window_axis = min(size, input_shape[dim]), window_axis + 1
        if size != expected:
            raise ValueError(f"updates of shape {tuple(updates_shape)} do not fit along dimension {axis}")
    bounds = [
        _Component(k, input_shape[dim], input_steps[dim], added)
        for k, (dim, added) in enumerate(zip(scattered, added_to_negative, strict=True))
    ]
    return axes, bounds


def _window_axis(dim: int, size: int, input_step: int, update_step: int, scattered: list[int]) -> _Axis:
    if dim not in scattered:
        return _Axis("window", Dimension(size, (0, input_step, update_step, *[0] * len(scattered))))
    component = scattered.index(dim)
    moves = [int(k == component) for k in range(len(scattered))]
    return _Axis("slide", Dimension(size, (0, 0, update_step, *moves)), component)
