"""Models of which devices compute shards: a training step, and a block of a transformer.

    python -m tests.execution.mpi.models

prints how the results on a grid of 8 processes, and on 2 and 4 ranks, compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

DEVICES = 8
AXIS = "d"


class Model(NamedTuple):
    """A model as a program.

    Attributes:
        text: the program for all devices, which take and return whole arrays.
        text_of_one: the same for one device.
        inputs: the arrays.
    """

    text: str
    text_of_one: str
    inputs: list[Any]


def _generated(*shapes: tuple[int, ...]) -> list[Any]:
    generator = np.random.default_rng(0)
    return [0.3 * generator.standard_normal(shape).astype(np.float32) for shape in shapes]


def convolutional_step() -> Model:
    """A step of gradient descent of a convolutional network; devices have shares of the batch."""
    import jax
    from jax import numpy as jnp
    from jax.sharding import PartitionSpec

    def loss(filters: Any, weights: Any, images: Any, labels: Any) -> Any:
        hidden = jax.lax.conv_general_dilated(
            images, filters, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        hidden = jax.nn.relu(hidden)
        scores = hidden.reshape(hidden.shape[0], -1) @ weights
        return jnp.sum((jax.nn.log_softmax(scores) - labels) ** 2) / (2 * DEVICES)

    def step(reduce: Callable[[Any], Any]) -> Callable[..., Any]:
        def stepped(filters: Any, weights: Any, images: Any, labels: Any) -> Any:
            value, gradients = jax.value_and_grad(loss, (0, 1))(filters, weights, images, labels)
            filter_step, weight_step = reduce(gradients)
            return reduce(value), filters - 0.1 * filter_step, weights - 0.1 * weight_step

        return stepped

    whole, shares = PartitionSpec(), PartitionSpec(AXIS)
    inputs = _generated((3, 3, 2, 4), (64, 5), (2 * DEVICES, 8, 8, 2), (2 * DEVICES, 5))
    return _lowered(step, inputs, (whole, whole, shares, shares), (whole, whole, whole))


def transformer_block() -> Model:
    """A block of a transformer; devices have shares of its heads and hidden units."""
    import jax
    from jax import numpy as jnp
    from jax.sharding import PartitionSpec

    def block(reduce: Callable[[Any], Any]) -> Callable[..., Any]:
        def computed(x: Any, query: Any, key: Any, value: Any, out: Any, first: Any, second: Any) -> Any:
            def normalized(rows: Any) -> Any:
                centered = rows - rows.mean(-1, keepdims=True)
                return centered / jnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)

            rows = normalized(x)
            heads = [jnp.einsum("td,dhk->thk", rows, weights) for weights in (query, key, value)]
            weights = jax.nn.softmax(jnp.einsum("thk,shk->hts", heads[0], heads[1]) / 2, axis=-1)
            x = x + reduce(jnp.einsum("hts,shk,hkd->td", weights, heads[2], out))
            return x + reduce(jax.nn.gelu(normalized(x) @ first) @ second)

        return computed

    heads = PartitionSpec(None, AXIS)
    rows = PartitionSpec(AXIS)
    inputs = _generated((12, 32), *[(32, DEVICES, 4)] * 3, (DEVICES, 4, 32), (32, 64), (64, 32))
    specs = (PartitionSpec(), heads, heads, heads, rows, heads, rows)
    return _lowered(block, inputs, specs, PartitionSpec())


def _lowered(
    function: Callable[[Callable[[Any], Any]], Callable[..., Any]], inputs: list[Any], specs: Any, out: Any
) -> Model:
    """The programs of a function that is given what sums over devices."""
    import jax

    mesh = jax.sharding.AbstractMesh((DEVICES,), (AXIS,), axis_types=(jax.sharding.AxisType.Auto,))
    mapped = jax.shard_map(
        function(lambda tree: jax.lax.psum(tree, AXIS)),
        mesh=mesh,
        in_specs=specs,
        out_specs=out,
        check_vma=False,
    )
    arguments = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in inputs]
    texts = [
        jax.jit(each).trace(*arguments).lower(lowering_platforms=("cpu",)).as_text()
        for each in (mapped, function(lambda tree: tree))
    ]
    return Model(texts[0], texts[1], inputs)


MODELS: Mapping[str, Callable[[], Model]] = {
    "convolutional training step": convolutional_step,
    "transformer block": transformer_block,
}


def main() -> None:
    """Print the comparison."""
    from tempfile import TemporaryDirectory

    from tests.execution.mpi.test_models import compared

    with TemporaryDirectory() as folder:
        for line in compared(folder):
            print(line)


if __name__ == "__main__":
    main()
