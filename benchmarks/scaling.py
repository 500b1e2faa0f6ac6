"""Predict how programs scale to more processors than this machine has, and check the prediction at those it
has.

    python -m benchmarks.scaling                      `benchmarks/programs`, and large models of libraries
    python -m benchmarks.scaling network_transformer transformers_gpt2_training
    python -m benchmarks.scaling --held 0.7           also what holds large programs below this efficiency
    python -m benchmarks.scaling --write              also writes the tables of docs/profiling.md

Each program runs in a process of its own, which plans for 128 threads, and records the tasks of each launch
on one thread (`nimblehlo.inspection.profiling.thread_simulation`). The table has the speed-up over one thread
by number of threads. The check compares, in another process that plans for this machine's threads, the
simulation with calls on these threads, by the fastest of several.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import nimblehlo
from nimblehlo.inspection.profiling.stored_machine import measured
from nimblehlo.inspection.profiling.thread_simulation import RecordedCall, is_shared, record, simulate
from nimblehlo.kernels.launch.threads import available_threads, usable_processors

from .libraries.declaration import library_programs
from .machine import measured_here
from .measuring import ROOT, figures, seconds, warm_up
from .programs import PROGRAMS, SIZES

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
_WARM_UP_SECONDS, _RECORDED_SECONDS, _TIMED_SECONDS = 2.0, 1.0, 0.6
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
        timed: seconds of the fastest call on all threads of this machine; None if it was not timed.
        timed_alone: the same on one thread.
        simulated: seconds that the simulation gives for all threads of this machine.
        held: what takes the time at `JUDGED_THREADS` that a perfect division would save: reasons with their
            shares of the call.
    """

    seconds: float
    serial: float
    predicted: list[float]
    timed: float | None
    timed_alone: float | None
    simulated: float
    held: list[tuple[str, float]]


def executable_of(name: str, threads: int | None) -> tuple[nimblehlo.Executable, list[Any]]:
    """An executable and its inputs."""
    options = nimblehlo.Options(threads=threads)
    if name in PROGRAMS:
        inputs = PROGRAMS[name].inputs(SIZES[-1])
        return nimblehlo.compile(PROGRAMS[name].lowered(inputs).as_text(), options=options), inputs
    from .libraries.measurement import numpy_input

    program = library_programs()[name]
    with program.precision():
        lowered, arrays = program.lowered()
        return nimblehlo.compile(lowered, options=options), [numpy_input(array) for array in arrays]


def predicted(name: str, *, timed: bool) -> Prediction:
    """Record a program in this process, and simulate it."""
    executable, inputs = executable_of(name, None)
    warm_up(lambda: executable(*inputs), _WARM_UP_SECONDS)
    calls = int(_RECORDED_SECONDS / max(seconds(lambda: executable(*inputs)), 1e-6))
    call = record(
        lambda: executable(*inputs),
        lambda: executable.profile(inputs),
        min(max(calls, _MIN_RECORDED), _MAX_RECORDED),
    )
    machine = measured(usable_processors())
    here = machine.measured_threads[-1]
    times: tuple[float | None, float | None] = (None, None)
    if timed:
        alone, _ = executable_of(name, 1)
        warm_up(lambda: alone(*inputs), _WARM_UP_SECONDS)
        times = fastest(lambda: executable(*inputs)), fastest(lambda: alone(*inputs))
    return Prediction(
        call.seconds,
        call.serial_seconds,
        [simulate(call, machine, threads)[0] for threads in THREADS],
        *times,
        simulate(call, machine, here)[0],
        holding(call, machine),
    )


def fastest(call: Callable[[], object]) -> float:
    """Seconds of the fastest of some calls."""
    times: list[float] = []
    warm_up(lambda: times.append(seconds(call)), _TIMED_SECONDS, 10)
    return min(times)


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


def in_process(name: str, plan_threads: int, *, timed: bool) -> Prediction:
    """`predicted` in a new process that plans for some threads.

    Raises:
        RuntimeError: the process failed.
    """
    command = [sys.executable, "-m", "benchmarks.scaling", "--here", name, *(["--timed"] if timed else [])]
    environment = {"NUMBA_NUM_THREADS": str(plan_threads), "JAX_PLATFORMS": "cpu"}
    return Prediction(*figures(command, environment))


def row(name: str, wide: Prediction, narrow: Prediction) -> str:
    """A line of the table."""
    speedups = " ".join(f"{wide.seconds / value:6.2f}" for value in wide.predicted)
    assert narrow.timed is not None and narrow.timed_alone is not None
    difference = narrow.simulated / narrow.timed - 1
    return (
        f"{name:38} {wide.seconds * 1e3:9.3f} {speedups}   {narrow.timed_alone / narrow.timed:6.2f} "
        f"{narrow.timed * 1e3:9.3f} {narrow.simulated * 1e3:9.3f} {100 * difference:+6.1f} %"
    )


def markdown(predictions: dict[str, Prediction], narrow: dict[str, Prediction], here: int) -> str:
    """The table as Markdown, below the machine and the versions."""
    counts = " | ".join(str(count) for count in THREADS)
    lines = [
        f"{measured_here()}\n",
        f"| program | 1 thread, ms | {counts} | at {here} timed, ms | simulated, ms |",
        "|---" * (len(THREADS) + 4) + "|",
    ]
    for name, one in predictions.items():
        speedups = " | ".join(f"{one.seconds / value:.2f}" for value in one.predicted)
        timed, simulated = narrow[name].timed, narrow[name].simulated
        assert timed is not None
        lines.append(
            f"| {name} | {one.seconds * 1e3:.3f} | {speedups} | {timed * 1e3:.3f} | {simulated * 1e3:.3f} |"
        )
    return "\n".join(lines) + "\n"


def agreement(narrow: dict[str, Prediction], here: int) -> str:
    """How far the simulation of this machine's threads is from the times."""
    differences = []
    for one in narrow.values():
        assert one.timed is not None
        differences.append(abs(one.simulated / one.timed - 1))
    within = sum(one <= 0.05 for one in differences)
    return (
        f"{len(differences)} programs: the simulation of {here} threads differs from the time by "
        f"{100 * float(np.median(differences)):.1f} % in the median, by at most 5 % for {within}"
    )


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
    parser.add_argument("--here", metavar="NAME", help="record a program in this process, and print JSON")
    parser.add_argument("--timed", action="store_true", help="with --here: also time calls on all threads")
    options = parser.parse_args()
    if options.here:
        print("FIGURES", json.dumps(predicted(options.here, timed=options.timed)))
        return 0
    here = min(available_threads(), usable_processors())
    # Figures on disk may be of an hour in which the machine had other work.
    measured(usable_processors(), again=True)
    heads = " ".join(f"{count:6d}" for count in THREADS)
    titles = f"{'timed':>6} {'ms':>9} {'simulated':>9} at {here}"
    print(f"{'speed-up, by threads':38} {'1, ms':>9} {heads}   {titles}")
    predictions: dict[str, Prediction] = {}
    narrow: dict[str, Prediction] = {}
    for name in options.names or [*PROGRAMS, *MODELS]:
        try:
            narrow[name] = in_process(name, here, timed=True)
            predictions[name] = in_process(name, THREADS[-1], timed=False)
        except RuntimeError as error:
            narrow.pop(name, None)
            print(f"{name:38} FAILED {error}", flush=True)
            continue
        print(row(name, predictions[name], narrow[name]), flush=True)
    if predictions:
        print(agreement(narrow, here))
    if options.write:
        text = f"{markdown(predictions, narrow, here)}\n{agreement(narrow, here)}.\n"
        from tools.marked_text import replace_marked

        replace_marked(DOCUMENT, BEGIN, text, END)
    if options.held:
        print_held(options.held, predictions)
    return int(len(predictions) < len(options.names or [*PROGRAMS, *MODELS]))


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main())
