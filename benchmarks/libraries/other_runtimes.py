"""Compares networks with ONNX Runtime, OpenVINO, torch.compile and XLA:CPU, on the same parameters.

    python -m benchmarks.libraries.other_runtimes [NETWORK ...] [--without RUNTIME ...] [--json FILE]
                                                  [--processors N] [--processor-time]

Every runtime is given the parameters as constants of the program, and computes in f32. Each network runs in
a process of its own, in which all runtimes are called in turn. A runtime that is not installed is left out.
`--processors 1` leaves each runtime one thread. `--processor-time` prints the time that all threads of a call
are on a processor, which other programs on the machine disturb less than they disturb the time of a clock;
threads that wait by looking for work count as well.
Ratios above 1 mean that NimbleHLO is faster. Needs ``onnx`` and the libraries of the extra
``bench-libraries``; ``onnxruntime``, ``openvino`` and ``torch`` are the other runtimes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import nimblehlo
from nimblehlo.kernels.launch.threads import usable_processors
from tools.comparison import difference, no_telling_result

from ..measuring import figures, rounded, seconds, warm_up
from .declaration import Array, library_programs
from .onnx_graph import Network
from .onnx_images import TO_CHANNELS_LAST, keras_graph, resnet50
from .onnx_transformers import bert, gpt2

BOUND = 1e-3
"""Largest difference of the results, relative to the largest value."""
WARM_UP_SECONDS = 5.0
PAUSE_SECONDS = 0.1
"""Seconds before a runtime's calls: threads of the one before may look for work a while."""
CALLS, ROUNDS = 3, 15
"""Calls of a runtime after a pause, whose median counts, and rounds of all runtimes."""

Call = Callable[[], Array]


def _keras_network(make_model: str) -> Callable[..., Network]:
    """The graph of a model that a function of `keras_models` makes, with a program's parameters."""

    def build(trainable: Sequence[Array], other: Sequence[Array], *inputs: Array) -> Network:
        from . import keras_models

        model = getattr(keras_models, make_model)()
        variables = (*model.trainable_variables, *model.non_trainable_variables)
        for variable, value in zip(variables, (*trainable, *other), strict=True):
            variable.assign(value)
        return keras_graph(model, *inputs)

    return build


NETWORKS: dict[str, tuple[int, Callable[..., Network]]] = {
    "transformers_gpt2_inference": (1, gpt2),
    "transformers_bert_inference": (1, bert),
    "haiku_resnet50_inference": (1, resnet50),
    "keras_mobilenet_inference": (1, _keras_network("mobilenet")),
    "keras_diffusion_inference": (2, _keras_network("diffusion_network")),
}
"""How many of a program's last arguments are data, and how all of them become a graph of ONNX."""


def onnx_runtime(network: Network, threads: int) -> Call:
    """ONNX Runtime's CPU provider."""
    import onnxruntime

    graph, result = network
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(graph.model(result), options, providers=["CPUExecutionProvider"])
    return lambda: np.asarray(session.run(None, graph.feeds)[0])


def openvino(network: Network, threads: int) -> Call:
    """OpenVINO's CPU device; in f32, which is not its default on processors with instructions for bf16."""
    import openvino

    graph, result = network
    core = openvino.Core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
    }
    request = core.compile_model(core.read_model(graph.model(result)), "CPU", settings).create_infer_request()
    return lambda: np.asarray(request.infer(graph.feeds, share_inputs=True, share_outputs=True)[0])


def torch_compile(network: Network, threads: int) -> Call:
    """torch.compile with its default backend, of a module that is frozen."""
    import torch

    from .optional.torch_graph import GraphModule

    torch.set_num_threads(threads)
    torch._inductor.config.freezing = True
    compiled = torch.compile(GraphModule(network).eval())
    inputs = [torch.from_numpy(array) for array in network[0].feeds.values()]

    def call() -> Array:
        with torch.no_grad():
            result: Array = compiled(*inputs).numpy()
            return result

    return call


RUNTIMES: dict[str, Callable[[Network, int], Call]] = {
    "ONNX Runtime": onnx_runtime,
    "OpenVINO": openvino,
    "torch.compile": torch_compile,
}
"""How a graph becomes a call of a runtime with so many threads."""


def _own_calls(name: str, arguments: Sequence[Any], function: Callable[..., Any]) -> tuple[Call, Call]:
    """The calls of NimbleHLO and of XLA:CPU for a program whose parameters are constants."""
    count = NETWORKS[name][0]
    parameters, data = arguments[:-count], arguments[-count:]
    lowered = jax.jit(lambda *data: function(*parameters, *data)).lower(*data)
    executable, compiled = nimblehlo.compile(lowered), lowered.compile()
    inputs, arrays = [np.asarray(one) for one in data], [jax.device_put(one) for one in data]
    return (
        lambda: np.asarray(executable(*inputs)[0]),
        lambda: np.asarray(jax.block_until_ready(compiled(*arrays))),
    )


def measured(
    name: str, threads: int, without: Sequence[str], clock: Callable[[], float] = time.perf_counter
) -> dict[str, Any]:
    """The median milliseconds of each runtime for a network, the ratios, and what tells the results apart.

    Args:
        name: the network.
        threads: of each runtime.
        without: runtimes to leave out.
        clock: gives the seconds whose differences are times.
    """
    function, arguments = library_programs()[name].build()
    calls: dict[str, Call] = {}
    calls["NimbleHLO"], calls["XLA:CPU"] = _own_calls(name, arguments, function)
    network = NETWORKS[name][1](*jax.tree.map(np.asarray, arguments))
    failures: dict[str, str] = {}
    for runtime, prepare in RUNTIMES.items():
        if runtime in without:
            continue
        try:
            calls[runtime] = prepare(network, threads)
            calls[runtime]()
        except Exception as error:  # A runtime that is not installed or fails is no failure of the others.
            calls.pop(runtime, None)
            failures[runtime] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    expected = calls["NimbleHLO"]()
    for runtime, call in calls.items():
        reason = disagreement(expected, _channels_last(call(), expected))
        if reason is not None:
            failures[runtime] = f"DISAGREES: {reason}"
    for call in calls.values():
        warm_up(call, WARM_UP_SECONDS)
    times = np.array([[_seconds_after_pause(call, clock) for call in calls.values()] for _ in range(ROUNDS)])
    return {
        "milliseconds": dict(zip(calls, (np.median(times, axis=0) * 1e3).tolist(), strict=True)),
        "ratios": dict(zip(calls, np.median(times / times[:, :1], axis=0).tolist(), strict=True)),
        "failures": failures,
    }


def _channels_last(result: Array, expected: Array) -> Array:
    """Images of a graph, whose channels come first, with the dimensions of the program's."""
    return result if result.shape == expected.shape else result.transpose(TO_CHANNELS_LAST)


def disagreement(result: Array, expected: Array) -> str | None:
    """The difference of two results, or why there could be none; None if they agree."""
    return no_telling_result([expected], BOUND) or difference(result, expected, BOUND)


def _seconds_after_pause(action: Callable[[], Any], clock: Callable[[], float]) -> float:
    """The median time of calls after a pause."""
    time.sleep(PAUSE_SECONDS)
    return float(np.median([seconds(action, clock) for _ in range(CALLS)]))


def row(name: str, outcome: dict[str, Any]) -> str:
    """A line of the table: milliseconds and, for other runtimes, how many times as fast NimbleHLO is."""
    cells = [f"{name:30} {outcome['milliseconds']['NimbleHLO']:10.3f}"]
    for runtime in ("XLA:CPU", *RUNTIMES):
        if runtime in outcome["milliseconds"]:
            time, ratio = outcome["milliseconds"][runtime], outcome["ratios"][runtime]
            cells.append(f"{time:12.3f} {rounded(ratio):5.2f}")
        else:
            cells.append(f"{'-':>18}")
    reasons = [f"\n    {runtime}: {reason}" for runtime, reason in outcome["failures"].items()]
    return "".join([*cells, *reasons])


def _use_processors(count: int) -> None:
    """Let this process run on so many of its processors alone: runtimes make threads for those."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def _in_process(name: str, options: Sequence[str]) -> dict[str, Any] | str:
    """The outcome of a network, measured in a new process; why there is none where it failed."""
    command = [sys.executable, "-m", f"{__package__}.other_runtimes", "--here", name]
    try:
        outcome: dict[str, Any] = figures([*command, *options], {})
    except RuntimeError as error:
        return str(error)
    return outcome


def main() -> int:
    """Print a line for each network; 1 where one fails or results disagree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "names", nargs="*", choices=[*NETWORKS, []], help="networks; all where there are none"
    )
    parser.add_argument(
        "--without", action="append", default=[], choices=list(RUNTIMES), help="leave one out"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the figures")
    parser.add_argument("--processors", type=int, metavar="N", help="how many to use; all where not given")
    parser.add_argument("--processor-time", action="store_true", help="instead of the time of a clock")
    parser.add_argument("--here", action="store_true", help="measure in this process, and print JSON")
    options = parser.parse_args()
    if options.processors:
        _use_processors(options.processors)
    clock = time.process_time if options.processor_time else time.perf_counter
    if options.here:
        for name in options.names:
            outcome = measured(name, usable_processors(), options.without, clock)
            print("FIGURES", json.dumps(outcome), flush=True)
        return 0
    print(f"{'ms, and ratios':30} {'NimbleHLO':>10}{''.join(f'{one:>18}' for one in ('XLA:CPU', *RUNTIMES))}")
    passed_on = [f"--without={one}" for one in options.without]
    passed_on += ["--processor-time"] * options.processor_time
    outcomes = {}
    for name in options.names or NETWORKS:
        outcomes[name] = outcome = _in_process(name, passed_on)
        print(f"{name:30} FAILED {outcome}" if isinstance(outcome, str) else row(name, outcome), flush=True)
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1) + "\n")
    disagree = any(
        isinstance(one, str) or any("DISAGREES" in reason for reason in one["failures"].values())
        for one in outcomes.values()
    )
    return int(disagree)


if __name__ == "__main__":
    sys.exit(main())
