"""Predict how programs scale to more processors than this machine has, and check the prediction at those it
has.

    python -m benchmarks.scaling                      `benchmarks/programs`, and large models of libraries
    python -m benchmarks.scaling network_transformer transformers_gpt2_training
    python -m benchmarks.scaling --held 0.7           also what holds large programs below this efficiency
    python -m benchmarks.scaling --write              also writes the tables of docs/profiling.md

Each program runs in a process of its own, which plans for 128 threads, and records the tasks of each launch
on one thread (`nimblehlo.inspection.profiling.thread_simulation`). The table has the speed-up over one thread
by number of threads. The check compares, in another process that plans for this machine's threads, the
simulation with calls on these threads, in rounds (`simulation_check.py`): the table has the medians of steady
rounds, the median and the quartiles of their differences, and how many of the rounds were steady.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from typing import Any, NamedTuple

import nimblehlo
from nimblehlo.inspection.profiling.stored_machine import measured
from nimblehlo.inspection.profiling.thread_simulation import RecordedCall, is_shared, record, simulate
from nimblehlo.kernels.launch.threads import available_threads, usable_processors

from .libraries.declaration import library_programs
from .machine import measured_here
from .measuring import ROOT, figures, seconds, warm_up
from .programs import PROGRAMS, SIZES
from .simulation_check import Check, agreement, checked

THREADS = (2, 4, 8, 16, 32, 64, 128)
"""The simulated numbers of threads; plans are made for the last one."""
MODELS = (
    "transformers_bert_inference",
    "transformers_gpt2_training",
    "transformers_whisper_encoder",
    "haiku_resnet50_inference",
    "linen_vision_transformer_training",
    "linen_transformer_training",
    "keras_mobilenet_training",
)
"""The large models among the programs of libraries, which need these libraries."""
JUDGED_THREADS = 16
"""The number of threads at which programs are judged by `--held`."""
LARGE_SECONDS = 2e-3
"""A call of a large program takes at least so long on one thread."""
_WARM_UP_SECONDS, _RECORDED_SECONDS = 2.0, 1.0
_MIN_RECORDED, _MAX_RECORDED = 5, 40
"""Recorded calls."""
_REASONS_SHOWN = 4
DOCUMENT = ROOT / "docs" / "profiling.md"
BEGIN, END = "<!-- begin: benchmarks/scaling.py -->\n", "<!-- end: benchmarks/scaling.py -->\n"


class Prediction(NamedTuple):
    """What a process prints of a program.

    Attributes:
        seconds: of a call on one thread, as recorded.
        serial: of these, seconds that one thread takes whatever their number.
        predicted: seconds by number of threads, in the order of `THREADS`.
        held: what takes the time at `JUDGED_THREADS` that a perfect division would save: reasons with their
            shares of the call.
    """

    seconds: float
    serial: float
    predicted: list[float]
    held: list[tuple[str, float]]


def executable_of(name: str) -> tuple[nimblehlo.Executable, list[Any]]:
    """An executable and its inputs."""
    if name in PROGRAMS:
        inputs = PROGRAMS[name].inputs(SIZES[-1])
        return nimblehlo.compile(PROGRAMS[name].lowered(inputs).as_text()), inputs
    from .libraries.measurement import numpy_input

    program = library_programs()[name]
    with program.precision():
        lowered, arrays = program.lowered()
        return nimblehlo.compile(lowered), [numpy_input(array) for array in arrays]


def warm_executable(name: str) -> tuple[nimblehlo.Executable, list[Any]]:
    """The same after calls, so that all code is compiled."""
    executable, inputs = executable_of(name)
    warm_up(lambda: executable(*inputs), _WARM_UP_SECONDS)
    return executable, inputs


def predicted(name: str) -> Prediction:
    """Record a program in this process, and simulate it."""
    executable, inputs = warm_executable(name)
    calls = int(_RECORDED_SECONDS / max(seconds(lambda: executable(*inputs)), 1e-6))
    call = record(
        lambda: executable(*inputs),
        lambda: executable.profile(inputs),
        min(max(calls, _MIN_RECORDED), _MAX_RECORDED),
    )
    machine = measured(usable_processors())
    return Prediction(
        call.seconds,
        call.serial_seconds,
        [simulate(call, machine, threads)[0] for threads in THREADS],
        holding(call, machine),
    )


def check(name: str) -> Check:
    """Check the simulation of a program in this process."""
    executable, inputs = warm_executable(name)
    return checked(lambda: executable(*inputs), lambda: executable.profile(inputs))


def holding(call: RecordedCall, machine: Any) -> list[tuple[str, float]]:
    """What takes more than the share of each thread at `JUDGED_THREADS`, and how much of the call that is."""
    total, launches = simulate(call, machine, JUDGED_THREADS)
    lost: Counter[str] = Counter()
    lost["between launches: steps on one thread, the executor"] += call.after
    for launch, done in zip(call.launches, launches, strict=True):
        lost["between launches: steps on one thread, the executor"] += launch.before
        excess = done.seconds - launch.seconds / JUDGED_THREADS
        if not is_shared(launch):
            reason = "one task, or one thread"
        elif done.by_memory >= done.by_tasks:
            reason = "memory bandwidth"
        elif len(launch.tasks) < 2 * JUDGED_THREADS:
            reason = f"{len(launch.tasks)} tasks"
        else:
            reason = "waking, or unequal tasks"
        lost[f"{launch.operation or 'unknown step'} ({reason})"] += excess
    return [(reason, value / total) for reason, value in lost.most_common(_REASONS_SHOWN)]


def in_process(action: str, name: str, plan_threads: int) -> Any:
    """What `--predict` or `--check` prints of a program in a new process that plans for some threads.

    Raises:
        RuntimeError: the process failed.
    """
    command = [sys.executable, "-m", "benchmarks.scaling", action, name]
    return figures(command, {"NUMBA_NUM_THREADS": str(plan_threads), "JAX_PLATFORMS": "cpu"})


def row(name: str, one: Prediction, done: Check) -> str:
    """A line of the table."""
    speedups = " ".join(f"{one.seconds / value:6.2f}" for value in one.predicted)
    shares = [f"{100 * share:+6.1f}" for share in (done.difference, done.lower, done.upper)]
    return (
        f"{name:38} {one.seconds * 1e3:9.3f} {speedups}   {done.alone / done.timed:6.2f} "
        f"{done.timed * 1e3:9.3f} {done.simulated * 1e3:9.3f} {' '.join(shares)} "
        f"{done.steady:5d} {done.rejected:8d}"
    )


def markdown(predictions: dict[str, Prediction], checks: dict[str, Check], here: int) -> str:
    """The table as Markdown, below the machine and the versions."""
    counts = " | ".join(str(count) for count in THREADS)
    lines = [
        f"{measured_here()}\n",
        f"| program | 1 thread, ms | {counts} | at {here}, ms | simulated, ms | differs, % | rounds |",
        "|---" * (len(THREADS) + 6) + "|",
    ]
    for name, one in predictions.items():
        speedups = " | ".join(f"{one.seconds / value:.2f}" for value in one.predicted)
        done = checks[name]
        if math.isnan(done.timed):
            columns = "none steady | | "
        else:
            columns = (
                f"{done.timed * 1e3:.3f} | {done.simulated * 1e3:.3f} | {100 * done.difference:+.1f} "
                f"({100 * done.lower:+.1f} to {100 * done.upper:+.1f})"
            )
        rounds = f"{done.steady} of {done.steady + done.rejected}"
        lines.append(f"| {name} | {one.seconds * 1e3:.3f} | {speedups} | {columns} | {rounds} |")
    return "\n".join(lines) + "\n"


def print_held(held: float, predictions: dict[str, Prediction]) -> None:
    """List large programs below an efficiency, what they would reach were all other work divided perfectly,
    and what holds them there.
    """
    number = THREADS.index(JUDGED_THREADS)
    for name, one in predictions.items():
        efficiency = one.seconds / one.predicted[number] / JUDGED_THREADS
        if one.seconds >= LARGE_SECONDS and efficiency < held:
            most = one.seconds / (one.seconds + (JUDGED_THREADS - 1) * one.serial)
            print(
                f"{name}: {100 * efficiency:.0f} % at {JUDGED_THREADS} threads; at most {100 * most:.0f} %, "
                f"as {100 * one.serial / one.seconds:.1f} % of the call runs on one thread"
            )
            for reason, share in one.held:
                print(f"    {100 * share:5.1f} %  {reason}")


def main() -> int:
    """1 where a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs of the suite or of libraries")
    parser.add_argument("--held", type=float, metavar="SHARE", help="list what holds large programs below it")
    parser.add_argument("--write", action="store_true", help=f"write the table to {DOCUMENT.name}")
    parser.add_argument("--predict", metavar="NAME", help="record a program here, and print JSON")
    parser.add_argument("--check", metavar="NAME", help="check its simulation here, and print JSON")
    options = parser.parse_args()
    for action, name in ((predicted, options.predict), (check, options.check)):
        if name:
            print("FIGURES", json.dumps(action(name)))
            return 0
    here = min(available_threads(), usable_processors())
    # Figures on disk may be of an hour in which the machine had other work.
    measured(usable_processors(), again=True)
    heads = " ".join(f"{count:6d}" for count in THREADS)
    titles = f"{'timed':>6} {'ms':>9} {'simulated':>9} {'differ %':>8} {'quartiles':>11} steady rejected"
    print(f"{'speed-up, by threads':38} {'1, ms':>9} {heads}   {titles}, at {here}")
    predictions: dict[str, Prediction] = {}
    checks: dict[str, Check] = {}
    for name in options.names or [*PROGRAMS, *MODELS]:
        try:
            one = Prediction(*in_process("--predict", name, THREADS[-1]))
            checks[name] = Check(*in_process("--check", name, here))
        except RuntimeError as error:
            print(f"{name:38} FAILED {error}", flush=True)
            continue
        predictions[name] = one
        print(row(name, one, checks[name]), flush=True)
    if predictions:
        print(agreement(list(checks.values()), here))
    if options.write:
        text = f"{markdown(predictions, checks, here)}\n{agreement(list(checks.values()), here)}.\n"
        from tools.marked_text import replace_marked

        replace_marked(DOCUMENT, BEGIN, text, END)
    if options.held:
        print_held(options.held, predictions)
    return int(len(predictions) < len(options.names or [*PROGRAMS, *MODELS]))


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main())
