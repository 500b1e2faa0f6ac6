"""`chlo.ragged_dot`, against sums of products in Python, group by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.program.ops.chlo import ragged_dot as chlo_ragged_dot
from nimblehlo.program.ops.chlo.ragged_dot import RaggedDot
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.program.ops.texts import elements, tensor

Array = np.ndarray[Any, Any]
Dimensions = Sequence[Sequence[int]]

FIELDS = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting", "lhs_ragged", "rhs_group")


def ragged_dot(
    lhs: str, rhs: str, group_sizes: str, result: str, dimensions: Dimensions, more: str = ""
) -> str:
    fields = ", ".join(
        f"{name}_dimensions = [{', '.join(map(str, values))}]"
        for name, values in zip(FIELDS, dimensions, strict=True)
    )
    attributes = f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{fields}>{more}"
    return program("chlo.ragged_dot", [lhs, rhs, group_sizes], [result], attributes)


ROWS: Dimensions = ([], [], [1], [1], [0], [0])
STACKED_ROWS: Dimensions = ([1], [2], [3], [0], [2], [1])
"""lhs [x, b, m, k], rhs [k, g, b, n]."""
COLUMNS: Dimensions = ([], [], [1], [0], [1], [])
STACKED_COLUMNS: Dimensions = ([2], [1], [1, 3], [0, 2], [3], [])
"""lhs [m, c, b, k], rhs [c, b, k, n]."""
BATCHES: Dimensions = ([0, 1], [2, 0], [2], [1], [1], [])
"""lhs [a, b, k, m], rhs [b, k, a, n]."""

CASES = {
    "rows": (ROWS, (5, 2), (3, 2, 4), (3,)),
    "stacked rows": (STACKED_ROWS, (2, 3, 5, 2), (2, 3, 3, 4), (3,)),
    "stacked rows, each divided": (STACKED_ROWS, (2, 3, 5, 2), (2, 3, 3, 4), (3, 2, 3)),
    "columns": (COLUMNS, (2, 5), (5, 4), (3,)),
    "stacked columns": (STACKED_COLUMNS, (4, 2, 3, 5), (2, 3, 5, 2), (3,)),
    "stacked columns, each divided": (STACKED_COLUMNS, (4, 2, 3, 5), (2, 3, 5, 2), (3, 2, 3)),
    "batches": (BATCHES, (2, 4, 3, 2), (4, 3, 2, 2), (2, 3)),
    "no groups": (COLUMNS, (2, 5), (5, 4), (0,)),
    "no rows": (ROWS, (0, 2), (3, 2, 4), (3,)),
}


def group_of(group_sizes: Array, position: int) -> int | None:
    """The group that a position belongs to."""
    for group, end in enumerate(np.cumsum(group_sizes)):
        if position < end:
            return group
    return None


def expected(lhs: Array, rhs: Array, group_sizes: Array, dimensions: Dimensions) -> Array:
    """What the definition says, one product of two numbers after another."""
    lb, rb, lc, rc, (ragged,), rg = dimensions
    lhs_rest = [d for d in range(lhs.ndim) if d not in (*lb, *lc)]
    rhs_rest = [d for d in range(rhs.ndim) if d not in (*rb, *rc, *rg)]
    kind = list(lc) if ragged in lc else [] if ragged in lb else lhs_rest
    before = list(lb)[: list(lb).index(ragged)] if ragged in lb else [*lb, *kind[: kind.index(ragged)]]
    shape = [lhs.shape[d] for d in (*lb, *lhs_rest)] + [rhs.shape[d] for d in rhs_rest]
    groups = [group_sizes.shape[-1]] if ragged in lc else []
    result = np.zeros(groups + shape, np.int64)
    inner = [lhs.shape[d] for d in lc]
    for index in np.ndindex(*shape):
        for position in np.ndindex(*inner):
            at = dict(zip((*lb, *lhs_rest), index, strict=False)) | dict(zip(lc, position, strict=True))
            sizes = group_sizes if group_sizes.ndim == 1 else group_sizes[tuple(at[d] for d in before)]
            group = group_of(sizes, at[ragged])
            if group is None and ragged not in lb:
                continue
            other = dict(zip(rb, index, strict=False)) | dict(zip(rc, position, strict=True))
            other |= dict(zip(rhs_rest, index[len(lb) + len(lhs_rest) :], strict=True))
            other |= dict.fromkeys(rg, group)
            factor = int(lhs[tuple(at[d] for d in range(lhs.ndim))])
            product = factor * int(rhs[tuple(other[d] for d in range(rhs.ndim))])
            result[((group, *index) if ragged in lc else index)] += product
    return result


def divided(shape: Sequence[int], size: int, seed: int) -> Array:
    """Group sizes that sum to at most `size`, some of them zero."""
    random = np.random.default_rng(seed)
    count = shape[-1]
    cuts = np.sort(random.integers(0, size + 1, (math.prod(shape[:-1]), count)), axis=1)
    return np.diff(cuts, axis=1, prepend=0).reshape(shape).astype(np.int32)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_modes(case: str, seed: int) -> None:
    dimensions, lhs_shape, rhs_shape, groups_shape = CASES[case]
    random = np.random.default_rng(seed)
    lhs = random.integers(-3, 4, lhs_shape, np.int32)
    rhs = random.integers(-3, 4, rhs_shape, np.int32)
    group_sizes = divided(groups_shape, lhs_shape[dimensions[4][0]], seed)
    wanted = expected(lhs, rhs, group_sizes, dimensions)
    types = [tensor(array.shape, "i32") for array in (lhs, rhs, group_sizes, wanted)]
    (result,) = evaluate(ragged_dot(*types, dimensions), lhs, rhs, group_sizes)
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("name", [name for name in ELEMENT_TYPES if name != "f8E8M0FNU"])
def test_element_types(name: str) -> None:
    lhs, rhs = elements((3, 2), name), elements((2, 2, 2), name)
    types = tensor((3, 2), name), tensor((2, 2, 2), name), "tensor<2xi64>", tensor((3, 2), name)
    (result,) = evaluate(ragged_dot(*types, ROWS), lhs, rhs, np.array([1, 1]))
    dot = program("stablehlo.dot", [tensor((1, 2), name), tensor((2, 2), name)], [tensor((1, 2), name)])
    for row, group in enumerate([0, 1]):
        (product,) = evaluate(dot, lhs[row : row + 1], rhs[group])
        assert result[row].tobytes() == product.tobytes()
    assert not result[2].astype(np.complex128).any()


def test_rows_of_other_groups_do_not_matter() -> None:
    lhs = np.array([[1], [2]], np.float32)
    rhs = np.array([[[np.nan]], [[3]]], np.float32)
    types = "tensor<2x1xf32>", "tensor<2x1x1xf32>", "tensor<2xi32>", "tensor<2x1xf32>"
    for sizes, wanted in (([0, 2], [[3], [6]]), ([0, 1], [[3], [0]])):
        (result,) = evaluate(ragged_dot(*types, ROWS), lhs, rhs, np.array(sizes, np.int32))
        np.testing.assert_array_equal(result, wanted)


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    random = np.random.default_rng(2)
    lhs = random.standard_normal((11, 5)).astype(np.float32)
    rhs = random.standard_normal((3, 5, 7)).astype(np.float32)
    group_sizes = np.array([4, 2, 3], np.int32)
    wanted = jax.lax.ragged_dot(lhs, rhs, group_sizes)
    types = [tensor(array.shape) for array in (lhs, rhs)] + ["tensor<3xi32>", tensor(wanted.shape)]
    (result,) = evaluate(ragged_dot(*types, ROWS), lhs, rhs, group_sizes)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_unknown_sizes() -> None:
    text = """func.func @main(%a: tensor<?x2xf32>, %b: tensor<?x2x?xf32>, %n: tensor<?xi32>)
        -> tensor<?x?xf32> {
      %0 = "chlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<
        lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}
        : (tensor<?x2xf32>, tensor<?x2x?xf32>, tensor<?xi32>) -> tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }"""
    ones = np.ones((3, 2), np.float32), np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    (result,) = nimblehlo.execute(text, [*ones, np.array([1, 2], np.int32)])
    np.testing.assert_array_equal(result, [[2, 4], [10, 12], [10, 12]])


M, G, N = "tensor<4x2xf32>", "tensor<3x2x5xf32>", "tensor<3xi64>"
LEGAL = ragged_dot(M, G, N, "tensor<4x5xf32>", ROWS)


def changed(*changes: tuple[int, Sequence[int]], types: Sequence[str] = (M, G, N, "tensor<4x5xf32>")) -> str:
    """The legal program with other dimension numbers or types."""
    dimensions = list(ROWS)
    for field, values in changes:
        dimensions[field] = values
    return ragged_dot(types[0], types[1], types[2], types[3], dimensions)


REJECTED: dict[type[Op], dict[str, str]] = {
    RaggedDot: {
        "C1": changed((0, [0])),
        "C2": changed((2, [])),
        "C3": changed((2, [1, 1]), (3, [1, 2])),
        "C4": changed((2, [0, 1]), (3, [1, 1])),
        "C5": changed((0, [2]), (1, [2])),
        "C6": changed((2, [2])),
        "C7": changed((0, [0]), (1, [3])),
        "C8": changed((3, [-1])),
        "C9": changed((0, [0]), (1, [2])),
        "C10": changed((3, [2])),
        "C11": ragged_dot(
            M, G, N, "tensor<4x5xf32>", ROWS, ", precision_config = [#chlo<precision DEFAULT>]"
        ),
        "C12": changed((4, [])),
        "C13": changed((4, [2])),
        "C14": changed(types=(M, G, "tensor<4x3xi64>", "tensor<4x5xf32>")),
        "C15": changed((5, [3])),
        "C16": changed((5, [1])),
        "C17": changed((5, [])),
        "C18": changed(types=(M, G, "tensor<2xi64>", "tensor<4x5xf32>")),
        "C19": changed(types=(M, G, N, "tensor<3x4x5xf32>")),
        "C20": changed(types=(M, "tensor<3x2x5xi32>", N, "tensor<4x5xf32>")),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, chlo_ragged_dot)


def test_inputs() -> None:
    assert_inputs_rejected(LEGAL)
