"""Which gathers become part of fusions, and that programs keep their bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nimblehlo.compiler.plan.fusion_passes import fuse_operations
from nimblehlo.options import Options
from nimblehlo.program.ops.intermediate.fusion import FUSION
from nimblehlo.types import ELEMENT_TYPES
from tests.compiler.specialize.simplified import simplified
from tests.support.running import run_every_way

jax = pytest.importorskip("jax")
jnp = jax.numpy

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def indices(size: int, *shape: int) -> Array:
    """Indices within, below and above a dimension of that size."""
    return RANDOM.integers(-size - 9, size + 9, shape).astype(np.int32)


def windows(x: Any, starts: Any) -> Any:
    return jax.vmap(lambda start: jax.lax.dynamic_slice(x, (start[0], start[1]), (3, 4)))(starts)


X = floats(200, 210)
COUNT = 40_000
PAIR = (X, indices(200, COUNT), indices(210, COUNT))

GATHERS: dict[str, tuple[Callable[..., Any], Sequence[Any], Sequence[str]]] = {
    "elements": (lambda x, i, j: x[i, j], PAIR, ["gather"]),
    "elements, scaled": (lambda x, i, j: x[i, j] * 2 + 1, PAIR, ["gather", "multiply", "add"]),
    "computed indices": (lambda x, i, j: x[i * 2, j + 1], PAIR, ["multiply", "add", "gather"]),
    "outer": (
        lambda x, i, j: x[i[:, None], j[None, :]], (X, indices(200, 250), indices(210, 260)),
        ["broadcast_in_dim", "broadcast_in_dim", "gather"],
    ),
    "columns": (
        lambda x, i: x[i[:, 0], i[:, 1]], (X, indices(200, COUNT, 2)),
        ["slice", "slice", "reshape", "gather"],
    ),
    "two of one index": (
        lambda x, y, i: x[i] + y[i], (floats(300), floats(300), indices(300, COUNT)),
        ["gather", "gather", "add"],
    ),
    "along the last": (
        lambda x, i: jnp.take_along_axis(x, i, 1), (X, indices(210, 200, 220)), ["gather"],
    ),
    "along the first": (
        lambda x, i: -jnp.take_along_axis(x, i, 0), (X, indices(200, 300, 210)), ["gather", "negate"],
    ),
    "columns of a matrix": (
        lambda x, i: x[:, i], (X, indices(210, 300)), ["gather"],
    ),
    "rows, scaled": (
        lambda x, i, w: x[i] * w, (X, indices(200, 300), floats(210)),
        ["gather", "broadcast_in_dim", "multiply"],
    ),
    "rows": (lambda x, i: x[i], (X, indices(200, 300)), ["gather"]),
    "rows of part": (lambda x, i: x[i, 3:50], (X, indices(200, 900)), ["gather"]),
    "short rows": (lambda x, i: x[i], (floats(900, 3), indices(900, COUNT)), ["gather"]),
    "columns, side by side": (
        lambda x, i: jax.vmap(lambda n: x[:5, n])(i), (X, indices(210, COUNT)), ["gather"],
    ),
    "few elements": (lambda x, i: x[i + 1] * 2, (X[0], indices(210, 30)), ["gather", "multiply"]),
    "windows": (windows, (X, indices(200, 4000, 2)), ["slice", "slice", "reshape", "reshape", "gather"]),
    "filled rows": (
        lambda x, i: x.at[i].get(mode="fill", fill_value=5), (X, indices(200, 300)), ["gather"],
    ),
    "rows of equal elements": (
        lambda i: jnp.ones((300, 300))[i] * 2, (indices(300, 300),), ["gather", "multiply"],
    ),
    "elements of part": (
        lambda x, i, j: x[3::2, ::-1][i, j], (X, indices(98, COUNT), PAIR[2]), ["slice", "reverse", "gather"],
    ),
    "elements of a part that is needed too": (
        lambda x, i: x[2:, 3:][i, i] * 2 + x[2:, 3:].reshape(-1), (X, indices(198, 198 * 207)),
        ["slice", "gather", "multiply", "add"],
    ),
    "elements of part of what is computed": (
        lambda x, i, j: (x * 2)[3:, 4:][i, j], PAIR, ["slice", "gather"],
    ),
    "rows of repeated ones": (
        lambda x, i: jnp.broadcast_to(x[:, None, :], (200, 7, 210))[i, i] + 1, (X, indices(200, 300)),
        ["broadcast_in_dim", "gather", "add"],
    ),
    "elements of a transpose": (
        lambda x, i, j: x.T[i, j], (PAIR[0], PAIR[2], PAIR[1]), ["transpose", "gather"],
    ),
    "a gather of a gather": (
        lambda x, i, j: x[i][j], (floats(300), indices(300, COUNT), indices(COUNT, COUNT)), ["gather"],
    ),
    "long rows": (lambda x, i: x[i], (floats(200, 600), indices(200, 300)), ["gather"]),
    "what else is used": (
        lambda x, i: jnp.take_along_axis(x * 2, i, 1) + x * 2, (X, indices(210, 200, 210)),
        ["multiply", "gather", "add"],
    ),
}  # fmt: skip


def text_of(function: Callable[..., Any], arguments: Sequence[Any]) -> str:
    return str(jax.jit(function, keep_unused=True).lower(*arguments).as_text())


def formed(text: str) -> tuple[list[str], list[str]]:
    """The names of the operations in fusions, and of those outside; constants aside."""
    made = simplified(text)
    fuse_operations(made, Options())
    assert made.body is not None
    inside, outside = [], []
    for operation in made.body.block.operations[:-1]:
        if operation.name == FUSION:
            inside += [inner.name for inner in operation.regions[0].block.operations[:-1]]
        else:
            outside.append(operation.name)
    return short(inside), short(outside)


def short(names: Sequence[str]) -> list[str]:
    return [name.partition(".")[2] for name in names if not name.endswith("constant")]


@pytest.mark.parametrize("case", GATHERS)
def test_what_joins(case: str) -> None:
    function, arguments, expected = GATHERS[case]
    text = text_of(function, arguments)
    inside, outside = formed(text)
    assert set(inside) >= set(expected), (inside, outside)
    assert not any("gather" in name for name in outside)
    run_every_way(text, *arguments)


@pytest.mark.parametrize(
    ("order", "is_joined"), [((1, 0, 2), True), ((0, 2, 1), False), ((2, 0, 1), False)]
)
def test_elements_are_gathered_in_the_order_of_their_indices(order: Sequence[int], is_joined: bool) -> None:
    """Vectors gather where indices are neighbours, which a transposition would separate."""

    def gather(x: Any, i: Any) -> Any:
        return jnp.transpose(jnp.abs(x[i].reshape(40, 10, 100)), order)

    arguments = floats(300), indices(300, COUNT)
    text = text_of(gather, arguments)
    made = simplified(text)
    fuse_operations(made, Options())
    assert made.body is not None
    fusions = [operation for operation in made.body.block.operations if operation.name == FUSION]
    inside = [short([one.name for one in fusion.regions[0].block.operations]) for fusion in fusions]
    assert any("gather" in names and "transpose" in names for names in inside) == is_joined, inside
    assert any("gather" in names for names in inside)
    run_every_way(text, *arguments)


def test_short_lines_are_gathered_before_they_are_used() -> None:
    arguments = floats(900, 3), indices(900, COUNT)
    text = text_of(lambda x, i: x[i] * 2, arguments)
    made = simplified(text)
    fuse_operations(made, Options())
    assert made.body is not None
    bodies = [operation.regions[0].block for operation in made.body.block.operations if operation.regions]
    names = [short([operation.name for operation in body.operations[:-1]]) for body in bodies]
    kept = [[name for name in group if name in ("gather", "multiply")] for group in names]
    assert kept == [["gather"], ["multiply"]]
    run_every_way(text, *arguments)


@pytest.mark.parametrize("type", ["i1", "i8", "bf16", "f16", "f64", "complex<f32>"])
@pytest.mark.parametrize("index", ["int8", "int64", "uint8", "uint32"])
def test_element_and_index_types(type: str, index: str) -> None:
    dtype = ELEMENT_TYPES[type].dtype
    operand = RANDOM.integers(0, 2, (130, 110)).astype(dtype)
    limits = np.iinfo(index)
    chosen = RANDOM.integers(max(limits.min, -300), min(limits.max, 300), (130, 300)).astype(index)
    with jax.enable_x64(True):
        text = text_of(lambda x, i: jnp.take_along_axis(x, i, 1, mode="fill"), (operand, chosen))
    assert "gather" in formed(text)[0]
    run_every_way(text, operand, chosen)
