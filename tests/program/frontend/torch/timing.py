"""Times of models beside PyTorch, measured in turn in one process."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import torch

from nimblehlo.inspection.profiling.machine import processor_name
from tests.program.frontend.torch.library_models import Inputs

OWN: Final = "nimblehlo"
OTHERS: Final = ("eager", "inductor")
"""PyTorch without a compiler, and PyTorch's default compiler."""

MIN_ROUNDS: Final = 15
MAX_ROUNDS: Final = 1000
SECONDS: Final = 0.5
"""The processor time for each run, unless `MIN_ROUNDS` take longer."""

Times = Mapping[str, Mapping[str, float]]
"""The shortest and the median time in milliseconds and the number of rounds by run; nothing if it failed."""


def measured(functions: Mapping[str, Callable[[], object]]) -> dict[str, dict[str, float]]:
    """The times of functions, called in turn; nothing for one that fails.

    They are of the processor, so that other processes on the machine do not count.
    """
    names, functions = list(functions), working(functions)
    times: dict[str, list[float]] = {name: [] for name in functions}
    gc.collect()
    limit = time.process_time() + SECONDS * len(functions)
    for number in range(MAX_ROUNDS):
        if number >= MIN_ROUNDS and time.process_time() > limit:
            break
        for name, function in functions.items():
            start = time.process_time()
            function()
            times[name].append(1e3 * (time.process_time() - start))
    return {name: {} for name in names} | {
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
            if name == OWN:
                raise
            print(f"{name} fails: {type(error).__name__}: {error}"[:1000], file=sys.stderr, flush=True)
    return returning


def _runs(model: Any, others: Sequence[str]) -> dict[str, Any]:
    """The model as this runtime and others run it, all on one thread.

    PyTorch's threads wait for each other, so that other processes on the machine would decide its times.
    """
    torch._dynamo.reset()
    torch.set_num_threads(1)
    options = {"compile": "eager", "threads": 1}
    own = torch.compile(model, backend="nimblehlo", options=options, fullgraph=True)
    compiled = {"eager": model, "inductor": torch.compile(model, fullgraph=True)}
    return {OWN: own, **{name: compiled[name] for name in others}}


def inference_times(model: Any, inputs: Inputs, others: Sequence[str]) -> dict[str, dict[str, float]]:
    """The times of a call of a model that is not trained."""
    model.eval()
    with torch.no_grad():
        return measured({name: lambda run=run: run(*inputs) for name, run in _runs(model, others).items()})


def training_times(model: Any, inputs: Inputs, others: Sequence[str]) -> dict[str, dict[str, float]]:
    """The times of a loss and its gradients."""
    model.train()

    def step(run: Any) -> None:
        model.zero_grad()
        run(*inputs).square().mean().backward()

    return measured({name: lambda run=run: step(run) for name, run in _runs(model, others).items()})


def times_of(model: Any, inputs: Inputs, others: Sequence[str]) -> dict[str, Times]:
    """The times of a model by kind, of this runtime and of `others`."""
    return {
        "inference": inference_times(model, inputs, others),
        "training": training_times(model, inputs, others),
    }


def surroundings() -> str:
    """What the times of a process depend on apart from this project, in words."""
    return f"PyTorch {torch.__version__.partition('+')[0]} on one thread of {processor_name()}"


def cells(times: Times) -> list[str]:
    """This runtime's shortest time, and its ratio to the others'; nothing where nothing was measured."""
    if not times:
        return [""] * (1 + len(OTHERS))
    own = times[OWN]["shortest"]
    return [f"{own:.3g} ms", *(_ratio(own, times.get(name)) for name in OTHERS)]


def _ratio(own: float, other: Mapping[str, float] | None) -> str:
    if other is None:
        return ""
    return f"{own / other['shortest']:.2f}" if other else "fails"


def _changes(times: Times) -> Iterator[float]:
    """The ratios of medians, divided by those of the shortest times."""
    for name in OTHERS:
        if "median" in times.get(name, {}):  # journals of earlier versions have none
            shortest, median = (times[OWN][each] / times[name][each] for each in ("shortest", "median"))
            yield median / shortest


def agreement(all_times: Sequence[Times], where: Iterable[str]) -> str:
    """Where times were measured, and how far ratios of medians are from those of the shortest times.

    Args:
        all_times: the times of each model and kind.
        where: the `surroundings` of each model's.
    """
    changes = [change for times in all_times for change in _changes(times)]
    near = sum(0.9 <= change <= 1.1 for change in changes)
    return (
        f"Times are of {', and of '.join(sorted(set(where)))}. Ratios of medians are {min(changes):.2f} to "
        f"{max(changes):.2f} times those of the shortest times in the table; {near} of {len(changes)} within "
        f"a tenth."
    )
