"""Times of models beside PyTorch, measured in turn in one process."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch

from tests.program.frontend.torch.library_models import Inputs

RUNS: Final = ("nimblehlo", "eager", "inductor")
"""This runtime, PyTorch without a compiler, and PyTorch's default compiler."""

MIN_ROUNDS: Final = 15
MAX_ROUNDS: Final = 1000
SECONDS: Final = 1.0
"""The time for each run, unless its shortest number of rounds takes longer."""

Times = Mapping[str, Mapping[str, float]]
"""The shortest and the median time in milliseconds by run; what failed is missing."""


def measured(functions: Mapping[str, Callable[[], object]]) -> dict[str, dict[str, float]]:
    """The times of functions, called in turn.

    They are of the processor, so that other processes on the machine do not count.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    limit = time.perf_counter() + SECONDS * len(functions)
    gc.collect()
    for number in range(MAX_ROUNDS):
        if number >= MIN_ROUNDS and time.perf_counter() > limit:
            break
        for name, function in functions.items():
            start = time.process_time()
            function()
            times[name].append(1e3 * (time.process_time() - start))
    return {
        name: {"shortest": min(each), "median": statistics.median(each), "rounds": len(each)}
        for name, each in times.items()
    }


def working(functions: Mapping[str, Callable[[], object]]) -> dict[str, Callable[[], object]]:
    """The functions that return, called twice; what PyTorch cannot compile is told.

    Raises:
        Exception: this runtime cannot.
    """
    returning: dict[str, Callable[[], object]] = {}
    for name, function in functions.items():
        try:
            function()
            function()
            returning[name] = function
        except Exception as error:
            if name == RUNS[0]:
                raise
            print(f"{name} fails: {type(error).__name__}: {error}"[:1000], file=sys.stderr, flush=True)
    return returning


def _runs(model: Any) -> dict[str, Any]:
    """The model as each of `RUNS`, all on one thread.

    PyTorch's threads wait for each other, so that other processes on the machine would decide its times.
    """
    torch._dynamo.reset()
    torch.set_num_threads(1)
    options = {"compile": "eager", "threads": 1}
    own = torch.compile(model, backend="nimblehlo", options=options, fullgraph=True)
    return dict(zip(RUNS, (own, model, torch.compile(model, fullgraph=True)), strict=True))


def inference_times(model: Any, inputs: Inputs) -> dict[str, dict[str, float]]:
    """The times of a call of a model that is not trained."""
    model.eval()
    with torch.no_grad():
        return measured(working({name: lambda run=run: run(*inputs) for name, run in _runs(model).items()}))


def training_times(model: Any, inputs: Inputs) -> dict[str, dict[str, float]]:
    """The times of a loss and its gradients."""
    model.train()

    def step(run: Any) -> None:
        model.zero_grad()
        run(*inputs).square().mean().backward()

    return measured(working({name: lambda run=run: step(run) for name, run in _runs(model).items()}))


def times_of(model: Any, inputs: Inputs) -> dict[str, Times]:
    """The times of a model by kind."""
    return {"inference": inference_times(model, inputs), "training": training_times(model, inputs)}


def cells(times: Times) -> list[str]:
    """This runtime's shortest time, and its ratio to the others'; nothing where nothing was measured."""
    if not times:
        return [""] * len(RUNS)
    return [f"{times[RUNS[0]]['shortest']:.3g} ms", *map(_ratio, ratios(times, "shortest"))]


def _ratio(ratio: float | None) -> str:
    return "fails" if ratio is None else f"{ratio:.2f}"


def ratios(times: Times, statistic: str) -> list[float | None]:
    """This runtime's time, divided by the other ones'; None where these failed."""
    own = times[RUNS[0]][statistic]
    return [own / times[name][statistic] if name in times else None for name in RUNS[1:]]


def agreement(all_times: Sequence[Times]) -> str:
    """How far ratios of medians are from ratios of the shortest times, in words."""
    changes = [
        median / shortest
        for times in all_times
        for shortest, median in zip(ratios(times, "shortest"), ratios(times, "median"), strict=True)
        if shortest is not None and median is not None
    ]
    near = sum(0.9 <= change <= 1.1 for change in changes)
    return (
        f"Ratios of medians are {min(changes):.2f} to {max(changes):.2f} times those of the shortest times "
        f"in the table; {near} of {len(changes)} within a tenth."
    )
