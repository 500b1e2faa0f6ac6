"""Programs of tens of thousands of operations, in every mode.

    python -m tests.support.large_programs gpt2 --size 32
    python -m tests.support.large_programs humanoid --size 17

32 layers give a training step of a GPT-2 with some 27,000 operations, 17 steps a physics program with 19,600.
For each mode the command prints how long compiling and two calls take and how much memory the process has
taken, and it fails where results differ from those of references.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import nimblehlo
from tests.support.running import MODES, same_bits

WIDTH, HEADS, LENGTH, VOCABULARY, BATCH = 32, 4, 16, 64, 2
LINKS, STEP_SECONDS = 13, 1e-3


def normalised(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def block(x: Any, p: dict[str, Any]) -> Any:
    """A layer of a GPT-2: attention of several heads, then two matrices with a GELU between."""
    y = normalised(x, p["scale1"], p["shift1"])
    parts = (y @ p["qkv"] + p["qkv_bias"]).reshape(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS)
    q, k, v = (parts[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    attended = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH)
    x = x + attended @ p["out"] + p["out_bias"]
    y = normalised(x, p["scale2"], p["shift2"])
    return x + jax.nn.gelu(y @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def gpt2(layers: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A training step with Adam of a GPT-2 whose layers are unrolled, and its arguments."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return (rng.standard_normal(shape) * 0.05).astype(np.float32)

    def layer() -> dict[str, Any]:
        return {
            "scale1": 1 + drawn(WIDTH), "shift1": drawn(WIDTH),
            "scale2": 1 + drawn(WIDTH), "shift2": drawn(WIDTH),
            "qkv": drawn(WIDTH, 3 * WIDTH), "qkv_bias": drawn(3 * WIDTH), "out": drawn(WIDTH, WIDTH),
            "out_bias": drawn(WIDTH), "up": drawn(WIDTH, 4 * WIDTH), "up_bias": drawn(4 * WIDTH),
            "down": drawn(4 * WIDTH, WIDTH), "down_bias": drawn(WIDTH),
        }  # fmt: skip

    parameters = {
        "tokens": drawn(VOCABULARY, WIDTH),
        "positions": drawn(LENGTH, WIDTH),
        "layers": [layer() for _ in range(layers)],
    }
    tokens = rng.integers(0, VOCABULARY, (BATCH, LENGTH + 1)).astype(np.int32)

    def loss(parameters: Any, tokens: Any) -> Any:
        x = parameters["tokens"][tokens[:, :-1]] + parameters["positions"]
        for p in parameters["layers"]:
            x = block(x, p)
        logits = jax.nn.log_softmax(x @ parameters["tokens"].T)
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

    def step(parameters: Any, means: Any, squares: Any, count: Any, tokens: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, tokens)
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
        squares = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, squares, gradients)
        rate = 1e-3 * jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
        update = jax.tree.map(lambda m, s: rate * m / (jnp.sqrt(s) + 1e-8), means, squares)
        return jax.tree.map(jnp.subtract, parameters, update), means, squares, count + 1, value

    zeros = jax.tree.map(np.zeros_like, parameters)
    return step, (parameters, zeros, zeros, np.float32(1), tokens)


def rotated(q: Any, v: Any) -> Any:
    """A vector rotated by a quaternion."""
    t = 2 * jnp.cross(q[1:], v)
    return v + q[0] * t + jnp.cross(q[1:], t)


def quaternion_product(q: Any, r: Any) -> Any:
    """The product of quaternions."""
    vector = q[0] * r[1:] + r[0] * q[1:] + jnp.cross(q[1:], r[1:])
    return jnp.concatenate([(q[0] * r[0] - q[1:] @ r[1:])[None], vector])


def humanoid(steps: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Steps of a chain of links with joints, gravity, friction and contacts, unrolled, and its arguments."""
    rng = np.random.default_rng(0)
    parents = [max(0, link - 1 - link % 3) for link in range(LINKS)]
    offsets = (rng.standard_normal((LINKS, 3)) * 0.2).astype(np.float32)
    axes = rng.standard_normal((LINKS, 3)).astype(np.float32)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    masses = rng.random(LINKS).astype(np.float32) + 0.5

    def step(angles: Any, speeds: Any, torques: Any) -> Any:
        for _ in range(steps):
            places, rotations = [jnp.zeros(3, jnp.float32)], [jnp.array([1.0, 0, 0, 0], jnp.float32)]
            for link in range(1, LINKS):
                parent = parents[link]
                half = angles[link] / 2
                own = jnp.concatenate([jnp.cos(half)[None], jnp.sin(half) * axes[link]])
                rotations.append(quaternion_product(rotations[parent], own))
                places.append(places[parent] + rotated(rotations[parent], offsets[link]))
            centres = jnp.stack(places)
            heights = centres[:, 2] + 0.5
            contact = jnp.where(heights < 0, -1e3 * heights, 0.0)
            forces = contact - 9.81 * masses
            joints = zip(rotations, axes, places, strict=True)
            turning = jnp.stack([jnp.cross(rotated(q, a), c)[2] for q, a, c in joints])
            inertia = jnp.eye(LINKS) * 0.1 + jnp.outer(turning, turning) * masses
            factor = jnp.linalg.cholesky(inertia @ inertia.T + jnp.eye(LINKS))
            pushed = torques + forces * turning - 0.1 * speeds
            change = jax.scipy.linalg.cho_solve((factor, True), pushed)
            speeds = speeds + STEP_SECONDS * change
            angles = angles + STEP_SECONDS * speeds
        return angles, speeds

    drawn = (rng.standard_normal((3, LINKS)) * 0.3).astype(np.float32)
    return step, tuple(drawn)


def run(text: str, arguments: list[Any]) -> None:
    """Run a program in every mode; raises AssertionError where results differ."""
    first: list[Any] | None = None
    for mode, options in MODES.items():
        start = time.perf_counter()
        executable = nimblehlo.compile(text, options=options)
        compiled = time.perf_counter()
        calls = [executable(*arguments) for _ in range(2)]
        end = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        seconds = f"compile() {compiled - start:.1f} s, two calls {end - compiled:.1f} s"
        print(f"{mode}: {seconds}, {peak} MB", flush=True)
        first = first or calls[0]
        for results in calls:
            assert all(same_bits(a, b) for a, b in zip(results, first, strict=True)), mode


PROGRAMS = {"gpt2": gpt2, "humanoid": humanoid}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--size", type=int, required=True)
    options = parser.parse_args()
    function, arguments = PROGRAMS[options.program](options.size)
    text = jax.jit(function).lower(*arguments).as_text()
    print(f"{text.count(' = ')} operations", flush=True)
    run(text, jax.tree.leaves(arguments))


if __name__ == "__main__":
    main()
