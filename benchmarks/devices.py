"""Compares ten `shard_map` programs on eight devices of one process with XLA:CPU on eight host devices.

    python -m benchmarks.devices [NAME ...]

Each is called in three ways in turn: `nimblehlo.compile` on whole arrays, JAX's platform of NimbleHLO on
arrays that its virtual devices hold, and JAX's CPU backend on arrays that its host devices hold. Results are
compared before anything is timed; the last line has the geometric means.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

# JAX looks at these when it is imported.
os.environ["NIMBLEHLO_JAX_DEVICES"] = "8"
os.environ["JAX_PLATFORMS"] = "nimblehlo,cpu"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import nimblehlo

from .measuring import Action, side_by_side, warm_up

P = PartitionSpec
DEVICES = 8
BOUND = 1e-3
"""How far results may lie apart, relative to the largest value: sums are in other orders."""
WARM_UP_SECONDS = 0.3


class Program(NamedTuple):
    """A function for one device.

    Attributes:
        body: takes and returns what a device holds; the axis is "x".
        in_specs, out_specs: how the whole arrays are divided.
        shapes: those of the whole arrays, which are f32.
    """

    body: Callable[..., Any]
    in_specs: tuple[PartitionSpec, ...]
    out_specs: PartitionSpec
    shapes: tuple[tuple[int, ...], ...]


def _rotated(a: Any) -> Any:
    return jax.lax.ppermute(a, "x", [(device, (device + 1) % DEVICES) for device in range(DEVICES)])


def _training_step(inputs: Any, first: Any, second: Any) -> Any:
    hidden = jnp.tanh(inputs @ first)
    return second - 0.1 * jax.lax.psum(hidden.T @ (hidden @ second), "x")


def _tensor_parallel(inputs: Any, first: Any, second: Any) -> Any:
    return jax.lax.psum(jax.nn.gelu(inputs @ first) @ second, "x")


def _summed_in_a_loop(a: Any) -> Any:
    return jax.lax.fori_loop(0, 10, lambda _, value: jax.lax.psum(value, "x") * 0.125, a)


PROGRAMS = {
    "psum 4 KB": Program(lambda a: jax.lax.psum(a, "x"), (P("x"),), P(), ((8 << 10,),)),
    "psum 4 MB": Program(lambda a: jax.lax.psum(a, "x"), (P("x"),), P(), ((8 << 20,),)),
    "all_gather": Program(
        lambda a: jax.lax.all_gather(a, "x", tiled=True) * 2, (P("x"),), P(), ((1 << 20,),)
    ),
    "ppermute": Program(_rotated, (P("x"),), P("x"), ((8 << 20,),)),
    "all_to_all": Program(
        lambda a: jax.lax.all_to_all(a, "x", 1, 0, tiled=True), (P("x"),), P("x"), ((1024, 1024),)
    ),
    "psum_scatter": Program(
        lambda a: jax.lax.psum_scatter(a, "x", tiled=True), (P(None),), P("x"), ((1 << 20,),)
    ),
    "data parallel": Program(_training_step, (P("x"), P(), P()), P(), ((1024, 256), (256, 256), (256, 128))),
    "tensor parallel": Program(
        _tensor_parallel, (P(), P(None, "x"), P("x")), P(), ((256, 512), (512, 2048), (2048, 512))
    ),
    "softmax": Program(
        lambda a: jax.nn.softmax(a - jax.lax.pmax(a.max(), "x")), (P("x"),), P("x"), ((4096, 512),)
    ),
    "loop of psum": Program(_summed_in_a_loop, (P("x"),), P("x"), ((8 * 4096,),)),
}


def placed(program: Program, platform: str, arrays: list[Any]) -> tuple[Any, list[Any]]:
    """The jitted function on a platform's devices, and its inputs as these hold them."""
    mesh = Mesh(np.array(jax.devices(platform)), ("x",))
    mapped = jax.shard_map(
        program.body, mesh=mesh, in_specs=program.in_specs, out_specs=program.out_specs, check_vma=False
    )
    inputs = [
        jax.device_put(array, NamedSharding(mesh, spec))
        for array, spec in zip(arrays, program.in_specs, strict=True)
    ]
    return jax.jit(mapped), inputs


def actions(program: Program) -> tuple[Action, Action, Action]:
    """Calls on whole arrays, by the plugin, and by XLA; all agree."""
    generator = np.random.default_rng(0)
    arrays = [generator.random(shape, np.float32) for shape in program.shapes]
    function, inputs = placed(program, "cpu", arrays)
    plugin_function, plugin_inputs = placed(program, "nimblehlo", arrays)
    executable = nimblehlo.compile(function.lower(*inputs))
    expected = np.asarray(function(*inputs))
    from tools.comparison import no_telling_result

    weak = no_telling_result([expected], BOUND)
    if weak is not None:
        raise ValueError(weak)
    for result in (executable(*arrays)[0], np.asarray(plugin_function(*plugin_inputs))):
        if np.abs(result - expected).max() > BOUND * np.abs(expected).max():
            raise ValueError("the results differ from XLA's")
    return (
        lambda: executable(*arrays),
        lambda: jax.block_until_ready(plugin_function(*plugin_inputs)),
        lambda: jax.block_until_ready(function(*inputs)),
    )


def main() -> int:
    """Print how many times as fast as XLA each program is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of programs; all where there are none")
    names = parser.parse_args().names or list(PROGRAMS)
    logarithms = []
    for name in names:
        *ours, xla = actions(PROGRAMS[name])
        for action in (*ours, xla):
            warm_up(action, WARM_UP_SECONDS)
        found = [side_by_side(action, xla) for action in ours]
        logarithms.append([math.log(each.ratio) for each in found])
        print(
            f"{name:16} XLA {found[0].other * 1e3:8.2f} ms, "
            f"whole arrays {found[0].ours * 1e3:8.2f} ms, {found[0].ratio:5.2f} times as fast, "
            f"plugin {found[1].ours * 1e3:8.2f} ms, {found[1].ratio:5.2f} times as fast",
            flush=True,
        )
    means = np.exp(np.mean(logarithms, axis=0))
    whole, plugin = [f"{mean:.2f}" for mean in means]
    print(f"{len(names)} programs: geometric mean {whole} on whole arrays, {plugin} by the plugin")
    return 0


if __name__ == "__main__":
    sys.exit(main())
