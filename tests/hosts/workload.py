"""What a process of a host does: it runs a program in every mode, and prints what it saw as a line of JSON.

python -m tests.hosts.workload [program | rules | memory BYTES | pools]
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import NimbleError, Options
from nimblehlo.kernels.launch.cache_files import usage
from nimblehlo.kernels.launch.threads import available_threads

MODES = ("never", "auto", "eager")

PROGRAM = """
func.func @main(%x: tensor<300x200xf32>, %w: tensor<200x64xf32>, %to: tensor<300x1xi32>)
    -> (tensor<300xf32>, tensor<300x64xf32>, tensor<300x64xf32>, tensor<20x64xf32>, tensor<300x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<20x64xf32>
  %product = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<300x200xf32>, tensor<200x64xf32>) -> tensor<300x64xf32>
  %tanh = stablehlo.tanh %product : tensor<300x64xf32>
  %sum = stablehlo.add %tanh, %product : tensor<300x64xf32>
  %total = stablehlo.reduce(%sum init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<300x64xf32>, tensor<f32>) -> tensor<300xf32>
  %sorted = "stablehlo.sort"(%sum) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<300x64xf32>) -> tensor<300x64xf32>
  %scattered = "stablehlo.scatter"(%zeros, %to, %sum) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %both = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %both : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
      : (tensor<20x64xf32>, tensor<300x1xi32>, tensor<300x64xf32>) -> tensor<20x64xf32>
  %sums = "stablehlo.reduce_window"(%sum, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %both = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %both : tensor<f32>
  }) {window_dimensions = array<i64: 1, 64>, padding = dense<[[0, 0], [63, 0]]> : tensor<2x2xi64>}
      : (tensor<300x64xf32>, tensor<f32>) -> tensor<300x64xf32>
  return %total, %sum, %sorted, %scattered, %sums
      : tensor<300xf32>, tensor<300x64xf32>, tensor<300x64xf32>, tensor<20x64xf32>, tensor<300x64xf32>
}
"""
"""It needs generated loops, a loop of Numba's, and native products and sorts."""

INVALID = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.reverse %a, dims = [0, 0] : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""

LARGE = """
func.func @main(%a: tensor<f32>) -> tensor<SIZExf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<SIZExf32>
  %1 = stablehlo.iota dim = 0 : tensor<SIZExf32>
  %2 = stablehlo.add %0, %1 : tensor<SIZExf32>
  return %2 : tensor<SIZExf32>
}
"""


def _inputs() -> list[Any]:
    generator = np.random.default_rng(0)
    floats = [generator.random(shape, dtype=np.float32) for shape in ((300, 200), (200, 64))]
    return [*floats, generator.integers(0, 20, (300, 1), dtype=np.int32)]


INPUTS = _inputs()


def digest(mode: str = "auto") -> str:
    """A digest of the program's results."""
    hasher = hashlib.sha256()
    for result in nimblehlo.execute(PROGRAM, INPUTS, options=Options(compile=mode)):  # type: ignore[arg-type]
        hasher.update(result)
    return hasher.hexdigest()[:16]


def program() -> dict[str, Any]:
    """The results in every mode, an error, the number of threads, and what the cache holds."""
    digests = {mode: digest(mode) for mode in MODES}
    cache = usage()
    return {
        "digests": digests,
        "error": _end(lambda: str(nimblehlo.execute(INVALID, [np.zeros(2, np.float32)]))),
        "threads": available_threads(),
        "cache": str(cache.path),
        "refusal": cache.refusal,
        "files": sum(count for count, _ in cache.kinds.values()),
    }


def rules() -> dict[str, Any]:
    """A digest of the rules of all declared constraints, and how many have a text."""
    from nimblehlo.program.ops.framework.declaration import declarations

    texts = [constraint.rule for op in declarations() for constraint in op.declared_constraints]
    return {"rules": len(texts), "digest": hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]}


def memory(size: int) -> dict[str, Any]:
    """How a call ends that makes an array of `size` bytes, and then small programs in each mode."""
    large = LARGE.replace("SIZE", str(size // 4))
    ends = {mode: _end(lambda mode=mode: digest(mode)) for mode in MODES}
    ends["large"] = _end(lambda: f"a result of {nimblehlo.execute(large, [np.float32(1)])[0].nbytes} bytes")
    ends["afterwards"] = _end(digest)
    return {"end": ends.pop("large"), "digests": ends}


def _end(run: Callable[[], str]) -> str:
    try:
        return run()
    except NimbleError as error:
        return f"{type(error).__name__}: {error}"


def pools() -> dict[str, Any]:
    """The results in processes that each start method makes while this process has threads."""
    digests = {"here": digest("eager")}
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(2) as pool:
            for number, result in enumerate(pool.map(digest, ["eager", "auto"])):
                digests[f"{method} {number}"] = result
    return {"digests": digests}


def main() -> None:
    name, *arguments = sys.argv[1:] or ["program"]
    print("imported", file=sys.stderr, flush=True)
    functions: dict[str, Any] = {"program": program, "rules": rules, "memory": memory, "pools": pools}
    print(json.dumps(functions[name](*map(int, arguments))), flush=True)


if __name__ == "__main__":
    main()
