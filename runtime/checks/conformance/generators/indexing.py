"""Templates of gathers and scatters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ....program.ir import Region
from ....types import BOOLEAN, AnyElementType, QuantizedType, TensorType
from ..template import Template, applied, constant, make, region, templates_of, tensor


@dataclass(frozen=True)
class Windows:
    """Dimension numbers of a gather and of a scatter with the same windows.

    Attributes:
        variant: what distinguishes them.
        shape: of the operand.
        indices: the index vectors.
        indices_shape: their shape.
        updates_shape: the shape of the scatter's updates, and of the gather's result.
        slice_sizes: of the gather.
        window_dims: the dimensions of `updates_shape` that belong to windows.
        dropped_dims: the dimensions of the operand without one in `updates_shape`.
        index_map: the dimensions of the operand to which index vectors refer.
        index_vector_dim: the dimension of the index vectors.
        batching: the batching dimensions of the operand.
        indices_batching: those of the indices.
    """

    variant: str
    shape: tuple[int, ...]
    indices: Any
    indices_shape: tuple[int, ...]
    updates_shape: tuple[int, ...]
    slice_sizes: tuple[int, ...]
    window_dims: tuple[int, ...]
    dropped_dims: tuple[int, ...]
    index_map: tuple[int, ...]
    index_vector_dim: int
    batching: tuple[int, ...] = field(default=())
    indices_batching: tuple[int, ...] = field(default=())


WINDOWS: Final = (
    Windows("rows", (4, 3), [0, 3, 1], (3,), (3, 3), (1, 3), (1,), (0,), (0,), 1),
    Windows("duplicates", (4, 3), [2, 2, 2, 0], (4,), (4, 3), (1, 3), (1,), (0,), (0,), 1),
    Windows("out_of_bounds", (4, 3), [-1, 4, 100, 3], (4,), (4, 3), (1, 3), (1,), (0,), (0,), 1),
    Windows("elements", (3, 4), [[0, 0], [2, 3], [1, -7]], (3, 2), (3,), (1, 1), (), (0, 1), (0, 1), 1),
    Windows("swapped_map", (3, 4), [[3, 0], [1, 2]], (2, 2), (2,), (1, 1), (), (0, 1), (1, 0), 1),
    Windows("vectors_first", (3, 4), [[0, 2], [3, 1]], (2, 2), (2,), (1, 1), (), (0, 1), (0, 1), 0),
    Windows("windows", (5, 6), [[0, 0], [4, 5], [2, 1]], (3, 2), (2, 3, 3), (2, 3), (0, 2), (), (0, 1), 1),
    Windows("no_indices", (4, 3), [], (0,), (0, 3), (1, 3), (1,), (0,), (0,), 1),
    Windows("of_one_shape", (3,), [1, 1, 0], (3,), (3,), (1,), (), (0,), (0,), 1),
    Windows("one_window", (5,), [3], (1,), (2,), (2,), (0,), (), (0,), 0),
    Windows("no_index_map", (3, 2), [[], []], (2, 0), (2, 3, 2), (3, 2), (1, 2), (), (), 1),
    Windows(
        "batching",
        (2, 2, 4, 5),
        [[[1, 0], [3, 4]], [[0, 2], [-1, 9]]],
        (2, 2, 2),
        (2, 2, 2),
        (1, 1, 1, 2),
        (2,),
        (2,),
        (2, 3),
        2,
        (0, 1),
        (0, 1),
    ),
    Windows(
        "rank_6",
        (2, 3, 1, 2, 1, 2),
        [[1, 2], [0, 0]],
        (2, 2),
        (2, 1, 2, 1, 2),
        (1, 1, 1, 2, 1, 2),
        (1, 2, 3, 4),
        (0, 1),
        (0, 1),
        1,
    ),
    Windows("rank_3", (2, 3, 4), [[2, 1], [0, 3]], (2, 2), (2, 1, 2), (1, 2, 1), (1, 2), (0,), (0, 2), 1),
    Windows("rank_4", (3, 2, 1, 4), [2, 0], (2,), (2, 2, 1, 3), (1, 2, 1, 3), (1, 2, 3), (0,), (0,), 1),
    Windows(
        "rank_5",
        (2, 1, 3, 2, 2),
        [[1, 2], [0, 1], [1, 0]],
        (3, 2),
        (1, 3, 2, 2),
        (1, 1, 1, 2, 2),
        (0, 2, 3),
        (0, 2),
        (0, 2),
        1,
    ),
)


def _gather_dimensions(one: Windows) -> dict[str, Any]:
    """The dimension numbers of a gather of these windows."""
    return {
        "offset_dims": one.window_dims,
        "collapsed_slice_dims": one.dropped_dims,
        "operand_batching_dims": one.batching,
        "start_indices_batching_dims": one.indices_batching,
        "start_index_map": one.index_map,
        "index_vector_dim": one.index_vector_dim,
    }


@templates_of("stablehlo.gather")
def _gather(element_type: AnyElementType) -> Iterator[Template]:
    for one in WINDOWS:
        for is_sorted in (False, True) if one.variant == "vectors_first" else (False,):
            for index_type in ("i32", "i64", "i8", "ui32") if one.variant == "rows" else ("i32",):
                yield make(
                    "stablehlo.gather",
                    f"{one.variant}_{index_type}{'_sorted' * is_sorted}",
                    [tensor(element_type, *one.shape), tensor(index_type, *one.indices_shape)],
                    [tensor(element_type, *one.updates_shape)],
                    inputs={1: one.indices},
                    edges=True,
                    **_gather_dimensions(one),
                    slice_sizes=one.slice_sizes,
                    indices_are_sorted=is_sorted,
                    is_basic=one.variant in ("out_of_bounds", "windows", "batching"),
                )


@templates_of("stablehlo.dynamic_gather")
def _dynamic_gather(element_type: AnyElementType) -> Iterator[Template]:
    for one in WINDOWS:
        sizes = constant(tensor("i32", len(one.slice_sizes)), one.slice_sizes)
        yield make(
            "stablehlo.dynamic_gather",
            one.variant,
            [tensor(element_type, *one.shape), tensor("i32", *one.indices_shape), sizes],
            [tensor(element_type, *one.updates_shape)],
            inputs={1: one.indices},
            edges=True,
            **_gather_dimensions(one),
            indices_are_sorted=False,
            is_basic=one.variant == "out_of_bounds",
        )


def _replaced(scalar: TensorType) -> Region:
    return region([scalar, scalar], lambda _, values: [values[1]])


@templates_of("stablehlo.scatter")
def _scatter(element_type: AnyElementType) -> Iterator[Template]:
    scalar = tensor(element_type)
    is_boolean = element_type.category == BOOLEAN
    bodies = [("replace", _replaced(scalar)), ("add", applied("stablehlo.add", scalar))]
    bodies += [("maximum", applied("stablehlo.maximum", scalar))]
    if is_boolean:
        bodies = [("replace", _replaced(scalar)), ("or", applied("stablehlo.or", scalar))]
    for one in WINDOWS:
        for name, body in bodies:
            if one.variant == "duplicates" and name == "replace":
                continue
            yield _scatter_of(one, element_type, 1, f"{one.variant}_{name}", body)
    two = [scalar, scalar, scalar, scalar]
    pair = region(
        two,
        lambda builder, values: [
            builder.create("stablehlo.add", [values[0], values[2]], [scalar]).result,
            builder.create("stablehlo.maximum", [values[1], values[3]], [scalar]).result,
        ],
    )
    yield _scatter_of(WINDOWS[0], element_type, 2, "two_inputs", pair)


def _scatter_of(
    one: Windows, element_type: AnyElementType, count: int, variant: str, body: Region
) -> Template:
    inputs, updates = (
        [tensor(element_type, *one.shape)] * count,
        [tensor(element_type, *one.updates_shape)] * count,
    )
    return make(
        "stablehlo.scatter",
        variant,
        [*inputs, tensor("i32", *one.indices_shape), *updates],
        inputs,
        regions=[body],
        inputs={count: one.indices},
        update_window_dims=one.window_dims,
        inserted_window_dims=one.dropped_dims,
        input_batching_dims=one.batching,
        scatter_indices_batching_dims=one.indices_batching,
        scatter_dims_to_operand_dims=one.index_map,
        index_vector_dim=one.index_vector_dim,
        indices_are_sorted=False,
        unique_indices=False,
        is_basic=variant in ("out_of_bounds_add", "windows_add", "batching_replace", "duplicates_add"),
    )


@templates_of("stablehlo.torch_index_select")
def _torch_index_select(element_type: AnyElementType) -> Iterator[Template]:
    for variant, shape, index_shape, index, dim, batch_dims, result in (
        ("rows", (4, 3), (2,), [3, 0], 0, 0, (2, 3)),
        ("columns", (4, 3), (2, 2), [[2, 0], [1, 1]], 1, 0, (4, 2, 2)),
        ("clamped", (4,), (3,), [9, -1, 2], 0, 0, (3,)),
        ("batching", (2, 3, 4), (2, 2), [[0, 2], [1, 1]], 1, 1, (2, 2, 4)),
        ("nothing", (4,), (0,), [], 0, 0, (0,)),
        ("of_one_shape", (3,), (3,), [1, 1, 0], 0, 0, (3,)),
        ("rank_4", (2, 3, 1, 4), (2,), [3, 1], 3, 0, (2, 3, 1, 2)),
        ("rank_5", (2, 1, 3, 2, 2), (2, 1), [[2], [0]], 2, 1, (2, 1, 1, 2, 2)),
        ("rank_6", (2, 3, 1, 2, 1, 2), (3,), [0, 2, 1], 1, 0, (2, 3, 1, 2, 1, 2)),
    ):
        yield make(
            "stablehlo.torch_index_select",
            variant,
            [tensor(element_type, *shape), tensor("i32", *index_shape)],
            [tensor(element_type, *result)],
            inputs={1: index},
            edges=not isinstance(element_type, QuantizedType),
            dim=dim,
            batch_dims=batch_dims,
            is_basic=variant == "rows",
        )
