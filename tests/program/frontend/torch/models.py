"""Runs models of torchvision and transformers with random weights: inference and training steps.

    python -m tests.program.frontend.torch.models [NAME ...] [--steps N] [--judged N] [--times]
        [--beside eager inductor] [--journal FILE] [--table] [--list]

Inference goes through torch.export and torch.compile, training through torch.compile. PyTorch's results of
the graphs of inference, and of the loss and the gradients of the first training steps (``--judged``), must
lie within the bounds of `nimblehlo.accuracy`. Rounding errors grow from step to step. So the distance of
losses and parameters from those in double precision, after all steps, is compared with that of PyTorch's
runs: it must be within six standard deviations. Random numbers, such as dropout's, are the same for all.
``--table`` writes the journal's outcomes to docs/torch.md.
Needs the extra ``torch``, torchvision and transformers.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import math
import statistics
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch

import nimblehlo
from nimblehlo.checks.error_bounds.ulps import SIGMAS
from nimblehlo.errors import NimbleError
from tests.program.frontend.torch.drawn_numbers import SameNumbers
from tests.program.frontend.torch.judging import Judge, largest_error, relative_error
from tests.program.frontend.torch.library_models import MODELS, Inputs
from tests.program.frontend.torch.timing import OTHERS, OWN, agreement, cells, surroundings, times_of
from tools.marked_text import replace_marked

LEARNING_RATE: Final = 0.01
PYTORCH_RUNS: Final = 8
"""PyTorch's runs of the same training with other roundings."""
INFERENCE_BOUND: Final = 1e-4
"""The accepted error of an exported model's result, relative to the largest value."""

DOCUMENT: Final = Path(__file__).resolve().parents[4] / "docs" / "torch.md"
BEGIN: Final = "<!-- models: python -m tests.program.frontend.torch.models --table -->\n"
END: Final = "<!-- end of models -->\n"


def model_of(name: str) -> tuple[Any, Inputs]:
    """A model with random weights, also where its library starts with zeros, and its inputs."""
    torch.manual_seed(0)
    torch._dynamo.config.allow_rnn = True
    model, inputs = MODELS[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.normal_(std=0.02)
    return model, inputs


def inference_error(model: Any, inputs: Inputs) -> float:
    """The error of an exported model's result."""
    model.eval()
    with torch.no_grad():
        executable = nimblehlo.compile(torch.export.export(model, inputs))
        return relative_error(executable(*inputs), model(*inputs))


def judged_inference(model: Any, inputs: Inputs, judge: Judge) -> None:
    """Judge the graph of a model that is not trained."""
    model.eval()
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(model, backend=judge, fullgraph=True)(*inputs)


def trained(
    model: Any, run: Callable[..., Any], inputs: Inputs, steps: int, *, lifted: bool = False
) -> list[torch.Tensor]:
    """The losses of training steps, and the parameters and averages after them.

    Args:
        model: it is changed.
        run: computes the model's result.
        inputs: its arguments, in each step.
        steps: the number of steps.
        lifted: whether random numbers are inputs of what runs, and not PyTorch's to draw.
    """
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=LEARNING_RATE)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        with contextlib.nullcontext() if lifted else SameNumbers():
            loss = run(*inputs).square().mean()
            loss.backward()
        optimizer.step()
        history.append(loss.detach())
    state = [each.detach() for each in (*model.parameters(), *model.buffers())]
    return [torch.stack(history), *(each for each in state if each.is_floating_point())]


def training_errors(model: Any, inputs: Inputs, steps: int, judge: Judge) -> tuple[float, float]:
    """How far losses, parameters and averages after training steps are from those in double precision.

    Returns:
        The largest error of this runtime, and the root mean square of the largest errors of PyTorch, run with
        parameters that differ in their last digit: these are other roundings of the same training.
    """
    model.train()
    exact = copy.deepcopy(model).double()
    wide = [each.double() if torch.is_tensor(each) and each.is_floating_point() else each for each in inputs]
    true = trained(exact, exact, tuple(wide), steps)
    errors = []
    for number in range(PYTORCH_RUNS):
        other = rounded_again(model, number)
        errors.append(largest_error(trained(other, other, inputs, steps), true))
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=judge, fullgraph=True)
    own = largest_error(trained(model, compiled, inputs, steps, lifted=True), true)
    return own, math.sqrt(statistics.fmean(error * error for error in errors))


def rounded_again(model: Any, number: int) -> Any:
    """A copy of a model whose parameters differ in their last digit; the first copy's do not."""
    other = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(number)
    with torch.no_grad():
        for parameter in other.parameters() if number else ():
            unit = torch.finfo(parameter.dtype).eps
            random = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(parameter.double() * (1 + unit * (2 * random - 1)))
    return other


def outcome_of(name: str, steps: int, judged: int = 1) -> dict[str, Any]:
    """How far a model's results are from PyTorch's; of the first `judged` training steps, graph by graph."""
    model, inputs = model_of(name)
    judge = Judge(judged)
    outcome: dict[str, Any] = {"model": name, "inference": inference_error(model, inputs)}
    judged_inference(model, inputs, judge)
    if steps:
        outcome["training"], outcome["pytorch"] = training_errors(model, inputs, steps, judge)
    outcome |= {"judged": judge.judged, "violations": judge.violations}
    within = outcome["inference"] <= INFERENCE_BOUND and not judge.violations
    outcome["passed"] = within and outcome.get("training", 0) <= SIGMAS * outcome.get("pytorch", 0)
    return outcome


def line_of(outcome: Mapping[str, Any]) -> str:
    """An outcome in words."""
    if "error" in outcome:
        return f"{outcome['model']:20} {outcome['error'][:400]}"
    violations = len(outcome["violations"])
    line = f"{outcome['model']:20} {outcome['judged']} calls, {violations} beyond their bounds"
    line += f"  inference {outcome['inference']:.1e}"
    if "training" in outcome:
        line += f"  training {outcome['training']:.1e} (PyTorch {outcome['pytorch']:.1e})"
    for kind, times in outcome.get("times", {}).items():
        own, eager, inductor = cells(times)
        line += f"  {kind}: {own}, / eager {eager}, / inductor {inductor}"
    return line if outcome["passed"] else f"{line}  FAILED {outcome['violations'][:2]}"


def table(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """The outcomes of a journal as a table, and what times of the journal say of the table's."""
    rows = [
        "| model | inference: error | time | / eager | / inductor | training: error | PyTorch's own | time "
        "| / eager | / inductor |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in outcomes:
        times = each.get("times", {})
        row = [each["model"], f"{each['inference']:.1e}", *cells(times.get("inference", {}))]
        row += [f"{each['training']:.1e}", f"{each['pytorch']:.1e}", *cells(times.get("training", {}))]
        rows.append(f"| {' | '.join(row)} |")
    timed = [each for each in outcomes if each.get("times")]
    all_times = [times for each in timed for times in each["times"].values()]
    where = [each.get("surroundings", "a version and a machine that were not noted") for each in timed]
    after = [textwrap.fill(agreement(all_times, where), 120), ""] if all_times else []
    return "\n".join(["", *rows, "", *after, ""])


def last_outcomes(journal: Path) -> dict[str, Any]:
    """The last outcome of each model in a journal."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return {outcome["model"]: outcome for outcome in map(json.loads, lines)}


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all models are within the bounds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--judged", type=int, default=1, help="training steps whose graphs are judged")
    parser.add_argument("--times", action="store_true", help="measure times beside PyTorch")
    parser.add_argument(
        "--beside", nargs="*", choices=OTHERS, default=list(OTHERS), help="how PyTorch runs the models"
    )
    parser.add_argument("--journal", type=Path, help="a file for the outcomes; what it has is not run again")
    parser.add_argument("--table", action="store_true", help="write the journal to the document, run nothing")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        print("\n".join(MODELS))
        return 0
    outcomes = last_outcomes(chosen.journal) if chosen.journal else {}
    if chosen.table:
        ordered = [outcomes[name] for name in MODELS if outcomes.get(name, {}).get("passed")]
        replace_marked(DOCUMENT, BEGIN, table(ordered), END)
        return 0
    warnings.simplefilter("ignore")
    for name in chosen.names or MODELS:
        outcome = outcomes.get(name, {})
        times = outcome.get("times", {}).get("training", {})
        unmeasured = chosen.times and not {OWN, *chosen.beside} <= times.keys()
        if "passed" in outcome and not unmeasured:
            continue
        start = time.perf_counter()
        try:
            if "passed" not in outcome:
                outcome |= outcome_of(name, chosen.steps, chosen.judged)
            if unmeasured:
                times = times_of(*model_of(name), chosen.beside)
                outcome |= {"times": times, "surroundings": surroundings()}
        except (NimbleError, RuntimeError) as error:
            outcome = {"model": name, "passed": False, "error": f"{type(error).__name__}: {error}"}
        outcomes[name] = outcome
        print(f"{line_of(outcome)}  ({time.perf_counter() - start:.0f} s)", flush=True)
        if chosen.journal:
            with chosen.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome) + "\n")
    passed = [outcome["passed"] for outcome in outcomes.values()]
    print(f"{sum(passed)} of {len(passed)} models are within the bounds")
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
