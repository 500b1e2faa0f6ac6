"""Checks of JAX without Shardy: on eight virtual devices, as text, and by XLA on eight host devices.

Runs in a process with ``JAX_PLATFORMS=nimblehlo,cpu NIMBLEHLO_JAX_DEVICES=8`` and eight host devices.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import nimblehlo
from tests.jax.children import run_checks

jax.config.update("jax_use_shardy_partitioner", False)

P = PartitionSpec
VALUES = np.arange(64, dtype=np.float32).reshape(8, 8)


def agree(
    make: Callable[[Mesh], Any], *inputs: Any, spec: PartitionSpec | None = None, open: bool = False
) -> None:
    """The function that is made for a mesh gives the same here and by XLA, on arrays and as text.

    Args:
        make: takes a mesh of 4 x 2 devices and returns a jitted function.
        inputs: what that takes.
        spec: how the inputs are divided; None: they are not on devices yet.
        open: whether propagation may choose how the results are divided.
    """
    wanted, *_ = on_mesh("cpu", make, inputs, spec)
    results, text = on_mesh("nimblehlo", make, inputs, spec)
    assert "mhlo.sharding" in text and "sdy." not in text
    whole = nimblehlo.execute(text, list(inputs))
    assert len(results) == len(wanted) == len(whole) > 0
    for result, of_text, expected in zip(results, whole, wanted, strict=True):
        # Before jax 0.9 the propagations of Shardy, which is used here, and of XLA may choose differently.
        assert open or jax.__version_info__ < (0, 9) or result.sharding.spec == expected.sharding.spec
        np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-5)
        np.testing.assert_allclose(of_text, np.asarray(expected), rtol=1e-5)


def on_mesh(
    platform: str, make: Callable[[Mesh], Any], inputs: Any, spec: PartitionSpec | None
) -> tuple[list[Any], str]:
    """Results on a platform's devices, and the text of the program."""
    mesh = Mesh(np.array(jax.devices(platform)).reshape(4, 2), ("x", "y"))
    function = make(mesh)
    if spec is not None:
        inputs = [jax.device_put(each, NamedSharding(mesh, spec)) for each in inputs]
    return jax.tree.leaves(function(*inputs)), function.lower(*inputs).as_text()


def mapped(body: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any, **options: Any) -> Any:
    """A jitted `shard_map`."""
    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options))


def check_shard_map() -> None:
    specs = P("x", "y"), P(None, "y")
    agree(lambda mesh: mapped(lambda s: jax.lax.psum(s, "x"), mesh, *specs), VALUES)
    agree(lambda mesh: mapped(lambda s: jax.lax.psum(s, "x"), mesh, *specs), VALUES, spec=specs[0])


def check_several_operands_and_results() -> None:
    def body(a: Any, b: Any) -> Any:
        return jax.lax.psum(a * b, "y"), a + jax.lax.axis_index("x")

    specs = (P("x", "y"), P(None, "y")), (P("x", None), P("x", "y"))
    agree(lambda mesh: mapped(body, mesh, *specs), VALUES, VALUES[:2])


def check_no_operands() -> None:
    def body() -> Any:
        return jax.lax.axis_index("x")[None] * 10

    agree(lambda mesh: mapped(body, mesh, (), P("x")))


def check_partial_manual_axes() -> None:
    def body(s: Any) -> Any:
        return jax.lax.ppermute(s, "x", [(i, (i + 1) % 4) for i in range(4)])

    agree(
        lambda mesh: mapped(body, mesh, P("x"), P("x"), axis_names={"x"}), VALUES, spec=P("x", "y"), open=True
    )


def check_nested() -> None:
    def inner(s: Any) -> Any:
        return s * jax.lax.psum(s.sum(), "y")

    def outer(s: Any) -> Any:
        mesh = jax.sharding.get_abstract_mesh()
        spec = P(None, "y")
        return jax.shard_map(inner, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"y"})(s)

    agree(lambda mesh: mapped(outer, mesh, P("x"), P("x"), axis_names={"x"}), VALUES)


def check_a_loop_and_a_gradient() -> None:
    def make(mesh: Mesh) -> Any:
        spec = P("x", "y")
        step = jax.shard_map(
            lambda s: s + jax.lax.psum(s, ("x", "y")) * 1e-3, mesh=mesh, in_specs=spec, out_specs=spec
        )
        return jax.jit(jax.grad(lambda a: jax.lax.fori_loop(0, 3, lambda _, c: step(c * c), a).sum()))

    agree(make, VALUES / 64, spec=P("x", "y"))


def check_shardings_and_constraints() -> None:
    def make(mesh: Mesh) -> Any:
        def named(*axes: Any) -> NamedSharding:
            return NamedSharding(mesh, P(*axes))

        return jax.jit(
            lambda a, b: jax.lax.with_sharding_constraint(a @ b, named("y", None)),
            in_shardings=(named("x", None), named(None, ("x", "y"))),
            out_shardings=named(("y", "x")),
        )

    agree(make, VALUES, VALUES.T.copy())
    unconstrained = P(P.UNCONSTRAINED, "y")
    agree(
        lambda mesh: jax.jit(
            lambda a: jax.lax.with_sharding_constraint(a * 2, NamedSharding(mesh, unconstrained))
        ),
        VALUES,
        spec=P("x"),
    )


def check_pmap() -> None:
    def on(platform: str) -> Any:
        function = jax.pmap(lambda a: a / jax.lax.psum(a, "i"), axis_name="i", devices=jax.devices(platform))
        return function(VALUES + 1)

    np.testing.assert_allclose(np.asarray(on("nimblehlo")), np.asarray(on("cpu")), rtol=1e-6)


def check_ragged_all_to_all() -> None:
    """XLA:CPU has no such collective: NumPy says what comes out, with and without Shardy."""
    generator = np.random.default_rng(0)
    size, slices, rows = 4, 2, 32
    sizes = generator.integers(0, 4, (size, size * slices), np.int32)
    received = np.swapaxes(sizes.reshape(size, size, slices), 0, 1).reshape(size, -1)
    starts, received_starts = np.cumsum(sizes, 1) - sizes, np.cumsum(received, 1) - received
    targets = np.swapaxes(received_starts.reshape(size, size, slices), 0, 1).reshape(size, -1)
    operand = generator.random((size, rows, 3)).astype(np.float32)
    wanted = np.full((size, rows, 3), -1, np.float32)
    for sender, index in np.ndindex(sizes.shape):
        count, start, target = (each[sender, index] for each in (sizes, starts, targets))
        wanted[index // slices, target : target + count] = operand[sender, start : start + count]

    def body(operand: Any, output: Any, *vectors: Any) -> Any:
        return jax.lax.ragged_all_to_all(operand, output, *[v.reshape(-1) for v in vectors], axis_name="x")

    mesh = Mesh(np.array(jax.devices("nimblehlo")).reshape(4, 2), ("x", "y"))
    inputs = [each.reshape(-1, 3) for each in (operand, np.full_like(wanted, -1))]
    inputs += [each.astype(np.int32) for each in (starts, sizes, targets, received)]
    for uses_shardy in (False, True):
        with jax._src.config.use_shardy_partitioner(uses_shardy):
            function = mapped(body, mesh, (P("x"),) * 6, P("x"))
            np.testing.assert_array_equal(np.asarray(function(*inputs)), wanted.reshape(-1, 3))
            text = function.lower(*map(jnp.asarray, inputs)).as_text()
        assert ("sdy." in text) is uses_shardy
        np.testing.assert_array_equal(nimblehlo.execute(text, inputs)[0], wanted.reshape(-1, 3))


if __name__ == "__main__":
    sys.exit(run_checks(globals()))
