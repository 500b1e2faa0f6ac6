"""Random gathers and scatters of small arrays, and scatters as the specification states them, an element at
a time."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Geometry:
    """Shapes and dimension numbers of a gather; read the other way round, those of a scatter."""

    operand_shape: tuple[int, ...]
    indices_shape: tuple[int, ...]
    slices_shape: tuple[int, ...]
    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int
    slice_sizes: tuple[int, ...]

    def gather_attributes(self) -> dict[str, Any]:
        """The attributes of gather."""
        names = (
            "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
            "start_index_map", "index_vector_dim", "slice_sizes",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def scatter_attributes(self) -> dict[str, Any]:
        """The attributes of scatter for updates of the shape `slices_shape`."""
        return {
            "update_window_dims": self.offset_dims,
            "inserted_window_dims": self.collapsed_slice_dims,
            "input_batching_dims": self.operand_batching_dims,
            "scatter_indices_batching_dims": self.start_indices_batching_dims,
            "scatter_dims_to_operand_dims": self.start_index_map,
            "index_vector_dim": self.index_vector_dim,
        }

    def places(self, indices: np.ndarray) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Index in the slices and index in the operand, for each element of the slices in lexicographic
        order."""
        rank = len(self.operand_shape)
        window_dims = [
            d for d in range(rank) if d not in (*self.collapsed_slice_dims, *self.operand_batching_dims)
        ]
        result = []
        for index in np.ndindex(self.slices_shape):
            batch_index = [c for axis, c in enumerate(index) if axis not in self.offset_dims]
            full = [0] * rank
            for number, dim in enumerate(self.start_index_map):
                where = list(batch_index)
                if self.index_vector_dim < len(self.indices_shape):
                    where.insert(self.index_vector_dim, number)
                full[dim] += int(indices[tuple(where)])
            batching = zip(self.operand_batching_dims, self.start_indices_batching_dims, strict=True)
            for dim, axis in batching:
                full[dim] += batch_index[axis - (axis > self.index_vector_dim)]
            for dim, axis in zip(window_dims, self.offset_dims, strict=True):
                full[dim] += index[axis]
            result.append((index, tuple(full)))
        return result


@st.composite
def geometries(draw: st.DrawFn, least_size: int = 0) -> Geometry:
    """Any dimension numbers that the specification's constraints allow, with small sizes."""
    sizes = st.integers(least_size, 4)
    kinds = draw(st.permutations(draw(st.sampled_from(_KINDS))))
    operand_shape = tuple(max(1, draw(sizes)) if kind in "cC" else draw(sizes) for kind in kinds)
    slice_sizes = tuple(
        {"c": 1, "C": 1, "b": min(1, size)}.get(
            kind, draw(st.integers(least_size and 1, size)) if size else 0
        )
        for kind, size in zip(kinds, operand_shape, strict=True)
    )
    batching = [d for d, kind in enumerate(kinds) if kind == "b"]
    collapsed = tuple(d for d, kind in enumerate(kinds) if kind in "cC")
    start_index_map = draw(st.permutations([d for d, kind in enumerate(kinds) if kind in "cw"]))
    free = [draw(sizes) for _ in range(draw(st.integers(0, 2)))]
    batch = draw(st.permutations([(operand_shape[d], d) for d in batching] + [(size, -1) for size in free]))
    is_implicit = len(start_index_map) == 1 and draw(st.booleans())
    index_vector_dim = len(batch) if is_implicit else draw(st.integers(0, len(batch)))
    indices_shape = [size for size, _ in batch]
    if not is_implicit:
        indices_shape.insert(index_vector_dim, len(start_index_map))
    axis_of = {
        d: axis + (axis >= index_vector_dim and not is_implicit)
        for axis, (_, d) in enumerate(batch)
        if d >= 0
    }
    window = [slice_sizes[d] for d, kind in enumerate(kinds) if kind in "wp"]
    rank = len(batch) + len(window)
    offset_dims = draw(st.sampled_from(list(itertools.combinations(range(rank), len(window)))))
    rest, inside = iter([size for size, _ in batch]), iter(window)
    return Geometry(
        operand_shape=operand_shape,
        indices_shape=tuple(indices_shape),
        slices_shape=tuple(next(inside) if axis in offset_dims else next(rest) for axis in range(rank)),
        offset_dims=offset_dims,
        collapsed_slice_dims=collapsed,
        operand_batching_dims=tuple(batching),
        start_indices_batching_dims=tuple(axis_of[d] for d in batching),
        start_index_map=tuple(start_index_map),
        index_vector_dim=index_vector_dim,
        slice_sizes=slice_sizes,
    )


# b: batching; c, C: collapsed, moved by the indices or not; w, p: kept, moved by the indices or not.
_KINDS = [
    "".join(letters)
    for length in range(5)
    for letters in itertools.combinations_with_replacement("bcCwp", length)
    if letters.count("b") <= 2
]


def random_indices(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Indices in and out of bounds of small dimensions, with duplicates and with the extremes of their
    type."""
    limits = np.iinfo(dtype)
    near = rng.integers(max(-3, limits.min), 6, shape).astype(dtype)
    extremes = rng.choice(np.array([limits.min, limits.max, limits.max // 2 + 1], dtype), shape)
    return np.where(rng.random(shape) < 0.15, extremes, near).astype(dtype)


def scattered(
    operand: np.ndarray, indices: np.ndarray, updates: np.ndarray, geometry: Geometry,
    combine: Callable[[Any, Any], Any], schedule: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """scatter as the specification states it, in the schedule's order."""
    result = operand.copy()
    places = geometry.places(indices)
    for number in range(len(places)) if schedule is None else schedule:
        index, place = places[number]
        if all(0 <= c < size for c, size in zip(place, operand.shape, strict=True)):
            result[place] = combine(result[place], updates[index])
    return result


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays are equal bit by bit; any NaN is as good as any other."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    left, right = np.atleast_1d(left), np.atleast_1d(right)
    if left.dtype.kind == "c":
        real = left.real.dtype
        return same_bits(left.view(real), right.view(real))
    equal = left.view(f"u{left.itemsize}") == right.view(f"u{left.itemsize}")
    return bool((equal | ((left != left) & (right != right))).all())
