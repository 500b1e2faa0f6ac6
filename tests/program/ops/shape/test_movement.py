"""The index maps of operations that move elements, against their references on numbered elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.program.frontend import parse
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.verify import verify
from nimblehlo.program.ops.shape.movement import MovementOp, reshape_groups
from tests.program.ops.texts import array, tensor

SHAPES = st.lists(st.integers(0, 4), max_size=4)


def view(name: str, operands: Any, result: Any, attributes: str) -> MovementOp:
    types = [tensor(shape, "i64") for shape in operands]
    names = ", ".join([f"%{number}" for number in range(len(types))])
    module = parse(
        f"""func.func @main({", ".join(f"%{k}: {type}" for k, type in enumerate(types))}) {{
          %r = "stablehlo.{name}"({names}) {{ {attributes} }}
            : ({", ".join(types)}) -> {tensor(result, "i64")}
          return
        }}"""
    )
    verify(module)
    operation = module.functions["main"].body.block.operations[0]  # type: ignore[union-attr]
    viewed = Op.of(operation)
    assert isinstance(viewed, MovementOp)
    return viewed


def assert_maps_agree(viewed: MovementOp) -> None:
    """What the maps say of each element of the result is what the reference does with numbered elements."""
    operands, first = [], 0
    for operand in viewed.operation.operands:
        shape = operand.type.shape  # type: ignore[union-attr]
        size = int(np.prod(shape))
        operands.append(np.arange(first, first + size).reshape(shape))
        first += size
    expected = viewed.reference(*operands)
    moved = np.full(expected.shape, -1)
    maps = viewed.movement_maps()
    assert maps is not None
    for one in reversed(maps):
        target = tuple([index.values(one.sizes) for index in one.result_indices])
        moved[target] = operands[one.operand][tuple([index.values(one.sizes) for index in one.indices])]
    np.testing.assert_array_equal(moved, expected)


@given(SHAPES, st.data())
def test_of_one_operand(shape: list[int], data: Any) -> None:
    rank = len(shape)
    order = data.draw(st.permutations(range(rank)))
    transposed = view("transpose", [shape], [shape[d] for d in order], f"permutation = {array(*order)}")
    assert_maps_agree(transposed)
    dims = data.draw(st.lists(st.sampled_from(range(rank)), unique=True)) if rank else []
    assert_maps_agree(view("reverse", [shape], shape, f"dimensions = {array(*dims)}"))
    sizes = data.draw(st.lists(st.integers(0, 3), max_size=2))
    assert_maps_agree(view("broadcast", [shape], [*sizes, *shape], f"broadcast_sizes = {array(*sizes)}"))
    starts = [data.draw(st.integers(0, size)) for size in shape]
    limits = [data.draw(st.integers(start, size)) for start, size in zip(starts, shape, strict=True)]
    strides = [data.draw(st.integers(1, 3)) for _ in shape]
    ranges = zip(starts, limits, strides, strict=True)
    result = [-((start - limit) // stride) for start, limit, stride in ranges]
    text = f"start_indices = {array(*starts)}, limit_indices = {array(*limits)}, strides = {array(*strides)}"
    assert_maps_agree(view("slice", [shape], result, text))


@given(SHAPES, st.data())
def test_of_broadcast_in_dim(result: list[int], data: Any) -> None:
    count = data.draw(st.integers(0, len(result)))
    dims = data.draw(st.permutations(range(len(result))))[:count]
    shape = [data.draw(st.sampled_from([1, result[d]])) for d in dims]
    assert_maps_agree(view("broadcast_in_dim", [shape], result, f"broadcast_dimensions = {array(*dims)}"))


@given(SHAPES.filter(bool), st.data())
def test_of_several_operands(shape: list[int], data: Any) -> None:
    dimension = data.draw(st.sampled_from(range(len(shape))))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    inputs = [[*shape[:dimension], size, *shape[dimension + 1 :]] for size in sizes]
    result = [*shape[:dimension], sum(sizes), *shape[dimension + 1 :]]
    assert_maps_agree(view("concatenate", inputs, result, f"dimension = {dimension} : i64"))


@given(SHAPES, st.data())
def test_of_pad(shape: list[int], data: Any) -> None:
    interior = [data.draw(st.integers(0, 2)) for _ in shape]
    inner = [size + max(size - 1, 0) * more for size, more in zip(shape, interior, strict=True)]
    low = [data.draw(st.integers(-size, 3)) for size in inner]
    high = [data.draw(st.integers(-size - before, 3)) for size, before in zip(inner, low, strict=True)]
    result = [a + b + c for a, b, c in zip(inner, low, high, strict=True)]
    amounts = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    text = ", ".join([f"{name} = {array(*values)}" for name, values in amounts.items()])
    assert_maps_agree(view("pad", [shape, []], result, text))


@pytest.mark.parametrize(
    ("shape", "result", "groups"),
    [
        ([6], [2, 3], [([0], [0, 1])]),
        ([2, 3], [6], [([0, 1], [0])]),
        ([1, 8, 6], [8, 1, 2, 3], [([1], [0]), ([2], [2, 3])]),
        ([4, 6], [8, 3], [([0, 1], [0, 1])]),
        ([], [1, 1], []),
        ([0, 3], [0, 3], [([0], [0]), ([1], [1])]),
        ([0, 3], [3, 0], None),
    ],
)
def test_groups_of_reshape(shape: list[int], result: list[int], groups: Any) -> None:
    assert reshape_groups(shape, result) == groups
    viewed = view("reshape", [shape], result, "")
    if groups is not None and 0 not in shape and all(len(dims) == 1 for dims, _ in groups):
        assert_maps_agree(viewed)
    else:
        assert viewed.movement_maps() is None
