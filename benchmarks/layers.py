"""Compares compilation, first results and warm calls of transformers with XLA:CPU, by number of layers.

    python -m benchmarks.layers [--width 768] [--sequence 256] [LAYERS ...]

Each number of layers in a process of its own, with an empty folder of compiled code. The text has all layers,
as exporters write it: with attention, normalisations, gelu, and weights that are arguments.
"""

import argparse
import json
import math
import sys
import tempfile
from typing import Any

import jax
import numpy as np

import nimblehlo

from .measuring import Array, figures, seconds
from .models import Model, compare_calls, compare_first_results

HEAD = 64
"""Width of a head of the attention."""


def transformer(layers: int, width: int, sequence: int) -> Model:
    """The program, with random weights."""
    random = np.random.default_rng(0)
    heads = max(1, width // HEAD)

    def weights(*shape: int) -> Array:
        return (random.standard_normal(shape) / math.sqrt(shape[0])).astype(np.float32)

    def normalised(x: Any, gain: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias

    def attended(x: Any, query: Any, key: Any, value: Any, out: Any) -> Any:
        projected = [(x @ one).reshape(sequence, heads, -1).transpose(1, 0, 2) for one in (query, key, value)]
        scores = projected[0] @ projected[1].transpose(0, 2, 1) / np.float32(math.sqrt(width // heads))
        mixed = jax.nn.softmax(scores, -1) @ projected[2]
        return mixed.transpose(1, 0, 2).reshape(sequence, width) @ out

    def run(x: Any, parameters: Any) -> Any:
        for one in parameters:
            x = x + attended(normalised(x, *one["before"]), *one["attention"])
            up, up_bias, down, down_bias = one["feed"]
            x = x + jax.nn.gelu(normalised(x, *one["between"]) @ up + up_bias) @ down + down_bias
        return x

    parameters = [
        {
            "before": (weights(width) + 1, weights(width)),
            "attention": tuple(weights(width, width) for _ in range(4)),
            "between": (weights(width) + 1, weights(width)),
            "feed": (
                weights(width, 4 * width),
                weights(4 * width),
                weights(4 * width, width),
                weights(width),
            ),
        }
        for _ in range(layers)
    ]
    arguments = (weights(sequence, width), parameters)
    text = jax.jit(run).lower(*arguments).as_text()
    return Model(f"transformer_{layers}", text, [np.asarray(one) for one in jax.tree.leaves(arguments)])


class Ready:
    """Until a transformer can be called, in a process that has made one before."""

    params = (3, 12, 48)
    param_names = ("layers",)

    def setup(self, layers: int) -> None:
        """Make the text, of which one is compiled first."""
        self.text = transformer(layers, 256, 64).text
        nimblehlo.compile(self.text)

    def time_compile(self, layers: int) -> None:
        """From the text to the executable."""
        nimblehlo.compile(self.text)


def measured(layers: int, width: int, sequence: int) -> dict[str, float]:
    """The figures of one number of layers, in seconds, and how many times as fast as XLA:CPU we are."""
    program = transformer(layers, width, sequence)
    first, warm = compare_first_results(program), compare_calls(program)
    ready = seconds(lambda: nimblehlo.compile(program.text))
    return {
        "ready": ready,
        "first": first.ours,
        "other_first": first.other,
        "first_ratio": first.ratio,
        "warm": warm.ours,
        "warm_ratio": warm.ratio,
    }


def main() -> None:
    """Print a line for each number of layers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("layers", nargs="*", type=int, default=[3, 12, 24], help="numbers of layers")
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--here", action="store_true", help="measure in this process, and print as JSON")
    options = parser.parse_args()
    sizes = (options.width, options.sequence)
    if options.here:
        print("FIGURES", json.dumps([measured(layers, *sizes) for layers in options.layers]))
        return
    for layers in options.layers:
        command = [sys.executable, "-m", "benchmarks.layers", "--here", str(layers)]
        command += ["--width", str(options.width), "--sequence", str(options.sequence)]
        with tempfile.TemporaryDirectory() as folder:
            (found,) = figures(command, {"NIMBLEHLO_CACHE_DIR": folder})
        print(
            f"{layers:3} layers: ready {found['ready'] * 1e3:6.1f} ms, "
            f"first result {found['first'] * 1e3:7.1f} ms, "
            f"XLA:CPU {found['other_first'] * 1e3:7.1f} ms ({found['first_ratio']:.2f} times as fast), "
            f"warm {found['warm'] * 1e3:7.1f} ms ({found['warm_ratio']:.2f} times)",
            flush=True,
        )


if __name__ == "__main__":
    main()
