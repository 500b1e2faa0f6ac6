"""Meshes, axes and shardings as data."""

import pytest

from nimblehlo.program.ir.sharding import (
    AxisRef,
    DimensionSharding,
    Mesh,
    MeshAxis,
    SubAxis,
    TensorSharding,
    append_axis,
)
from nimblehlo.program.ir.sharding_rules import factor_name
from nimblehlo.types import DYNAMIC

MESH = Mesh((MeshAxis("x", 8), MeshAxis("y", 3)))


def axis(name: str, pre_size: int = 0, size: int = 0) -> AxisRef:
    return AxisRef(name, SubAxis(pre_size, size) if size else None)


X, Y = axis("x"), axis("y")
FIRST, MIDDLE, LAST = axis("x", 1, 2), axis("x", 2, 2), axis("x", 4, 2)
FIRST_FOUR, LAST_FOUR = axis("x", 1, 4), axis("x", 2, 4)


def test_meshes() -> None:
    assert MESH.total_size == 24
    assert not MESH.is_empty and not MESH.is_maximal
    empty, maximal = Mesh(()), Mesh((), (3,))
    assert empty.is_empty and not empty.is_maximal and empty.total_size == 1
    assert maximal.is_maximal and not maximal.is_empty
    assert str(Mesh((MeshAxis('a"b', 2),), (1, 0))) == '#sdy.mesh<["a\\22b"=2], device_ids=[1, 0]>'


def test_sizes_of_axes() -> None:
    assert [each.size(MESH) for each in (X, Y, FIRST, LAST_FOUR)] == [8, 3, 2, 4]
    assert [each.pre_size for each in (X, FIRST, LAST_FOUR)] == [1, 1, 2]
    assert [each.next_pre_size(MESH) for each in (X, FIRST, LAST_FOUR)] == [8, 2, 8]


@pytest.mark.parametrize(
    ("left", "right", "contains", "overlaps", "is_suffix"),
    [
        (X, X, True, True, True),
        (X, Y, False, False, False),
        (X, MIDDLE, True, True, False),
        (X, LAST, True, True, True),
        (MIDDLE, X, False, True, False),
        (FIRST, FIRST, True, True, True),
        (FIRST, MIDDLE, False, False, False),
        (FIRST_FOUR, LAST_FOUR, False, True, False),
        (LAST_FOUR, FIRST_FOUR, False, True, False),
        (FIRST_FOUR, MIDDLE, True, True, True),
        (FIRST_FOUR, FIRST, True, True, False),
        (LAST_FOUR, axis("y", 2, 2), False, False, False),
    ],
)
def test_parts_of_axes(
    left: AxisRef, right: AxisRef, contains: bool, overlaps: bool, is_suffix: bool
) -> None:
    assert left.contains(right) is contains
    assert left.overlaps(right) is overlaps
    assert right.overlaps(left) is overlaps
    assert right.is_suffix_of(left, MESH) is is_suffix


def test_what_is_left_without_a_suffix() -> None:
    assert X.without_suffix(LAST) == FIRST_FOUR
    assert FIRST_FOUR.without_suffix(MIDDLE) == FIRST
    assert X.without_suffix(X) is None
    assert LAST_FOUR.without_suffix(LAST_FOUR) is None


def test_neighbours_become_one() -> None:
    assert FIRST.can_merge(MIDDLE)
    assert FIRST.merged(MIDDLE, MESH) == FIRST_FOUR
    assert FIRST.merged(LAST_FOUR, MESH) == X
    assert not MIDDLE.can_merge(FIRST)
    assert not X.can_merge(LAST) and not FIRST.can_merge(axis("y", 2, 2))
    axes = [Y]
    for each in (FIRST, MIDDLE, Y, LAST):
        append_axis(axes, each, MESH)
    assert axes == [Y, FIRST_FOUR, Y, LAST]


def test_the_order_of_a_mesh() -> None:
    assert MESH.sorted_and_merged([Y, LAST, FIRST]) == (FIRST, LAST, Y)
    assert MESH.sorted_and_merged([LAST, Y, MIDDLE, FIRST]) == (X, Y)
    assert MESH.sorted_and_merged([]) == ()
    assert sorted([axis("w"), Y, X, LAST, FIRST], key=MESH.sort_key) == [FIRST, X, LAST, Y, axis("w")]


def test_shapes_of_shards() -> None:
    sharding = TensorSharding(
        "mesh", (DimensionSharding((Y, FIRST)), DimensionSharding(()), DimensionSharding((LAST,)))
    )
    assert sharding.local_shape((12, 5, DYNAMIC), MESH) == (2, 5, DYNAMIC)
    assert sharding.local_shape((13, 0, 3), MESH) == (3, 0, 2)
    assert sharding.global_shape((2, 5, DYNAMIC), MESH) == (12, 5, DYNAMIC)
    assert sharding.restricted_to({"y"}).local_shape((12, 5, 4), MESH) == (4, 5, 4)
    maximal = TensorSharding("one", ())
    assert (
        maximal.local_shape((3, 4), Mesh((), (0,))) == maximal.global_shape((3, 4), Mesh((), (0,))) == (3, 4)
    )


def test_axes_of_a_sharding() -> None:
    sharding = TensorSharding(MESH, (DimensionSharding((X,), False, 2),), (FIRST,), (Y,), "max")
    assert list(sharding.axes()) == [X, FIRST, Y]
    assert sharding.restricted_to({"y"}) == TensorSharding(
        MESH, (DimensionSharding((), False, 2),), (), (Y,), "max"
    )
    assert not sharding.is_fully_replicated
    assert sharding.restricted_to(()).is_fully_replicated
    assert str(sharding) == (
        '#sdy.sharding<mesh<["x"=8, "y"=3]>, [{"x", ?}p2], replicated={"x":(1)2}, unreduced=max{"y"}>'
    )


def test_names_of_factors() -> None:
    assert [factor_name(factor) for factor in (0, 16, 17, 18, 27)] == ["i", "y", "z", "z_1", "z_10"]
