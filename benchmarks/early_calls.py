"""Counts the calls completed 1, 3, 10, 30 and 60 s after a module's text is there, beside XLA:CPU.

    python -m benchmarks.early_calls [--only NAME ...] [--seconds 1 3 10] [--json FILE] [--models]

The programs are those of `benchmarks.libraries`, or with `--models` the examples and the tests' models. Each
runs in four new processes, one after the other: both systems with an empty cache, and again with the cache
that the first has filled. The time includes compilation. A ratio above 1 means that NimbleHLO has completed
more calls.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .libraries.declaration import LibraryProgram, library_programs
from .measuring import figures, outcomes_of, stored_program
from .models import Model, examples, models

MARKS = (1.0, 3.0, 10.0, 30.0, 60.0)
"""Seconds after which calls are counted."""
CACHES = ("empty", "warm")

Counts = dict[str, dict[str, list[int]]]
"""The calls of both systems, by the state of the cache and the system."""


def lowered(program: LibraryProgram) -> Model:
    """A library's program as text, and its arguments; keys of random numbers as their data."""
    import jax

    with program.precision():
        module, arrays = program.lowered()
        is_key = [jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key) for array in arrays]
        inputs = [
            np.asarray(jax.random.key_data(array) if typed else array)
            for array, typed in zip(arrays, is_key, strict=True)
        ]
        return Model(program.name, module.as_text(), inputs)


def programs(names: list[str], is_of_models: bool) -> Iterator[Model]:
    """The programs of some names or libraries; all where there are none. Each is lowered at its turn."""
    if is_of_models:
        yield from (one for one in (*examples(), *models()) if not names or one.name in names)
        return
    for one in library_programs().values():
        if not names or one.name in names or one.library in names:
            yield lowered(one)


def counted(program: Model, marks: list[float]) -> Counts:
    """Count the calls of a program in new processes.

    Raises:
        RuntimeError: a process failed.
    """
    with stored_program(program.text, program.inputs) as (name, environment):
        command = [sys.executable, "-m", f"{__package__}.counted_calls"]
        return {
            cache: {
                system: figures([*command, system, name, *map(str, marks)], environment)
                for system in ("nimblehlo", "xla")
            }
            for cache in CACHES
        }


def ratio(ours: int, other: int) -> float | None:
    """How many times as many calls NimbleHLO has completed; None where neither has completed any."""
    return ours / other if other else (float("inf") if ours else None)


def row(name: str, counts: Counts) -> str:
    """A line of the table: calls and ratio for each mark, with an empty cache and with a warm one."""
    cells = []
    for cache in CACHES:
        for ours, other in zip(counts[cache]["nimblehlo"], counts[cache]["xla"], strict=True):
            times = ratio(ours, other)
            cells.append(f"{ours}/{other}={'-' if times is None else format(times, '.2f')}")
    return f"{name:38}" + "".join(f"{cell:>22}" for cell in cells)


def show(name: str, counts: Counts) -> None:
    """Print the line of the table."""
    print(row(name, counts), flush=True)


def summary(outcomes: dict[str, Counts]) -> str:
    """The last line: in how many pairs of program and time NimbleHLO is not behind, and the lowest ratio."""
    ratios = [
        times
        for counts in outcomes.values()
        for cache in CACHES
        for pair in zip(counts[cache]["nimblehlo"], counts[cache]["xla"], strict=True)
        if (times := ratio(*pair)) is not None
    ]
    if not ratios:
        return "no calls counted"
    ahead = sum(times >= 1 for times in ratios)
    return (
        f"{len(outcomes)} programs: at least XLA:CPU's calls in {ahead} of {len(ratios)} pairs "
        f"({ahead / len(ratios):.0%}), below half in {sum(times < 0.5 for times in ratios)}, "
        f"lowest ratio {min(ratios):.2f}"
    )


def main() -> int:
    """1 where a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="of programs or libraries")
    parser.add_argument("--models", action="store_true", help="the examples and the tests' models")
    parser.add_argument("--seconds", nargs="+", type=float, default=MARKS, help="when calls are counted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the counts")
    options = parser.parse_args()
    marks = sorted(options.seconds)
    titles = [f"{cache} {mark:g} s" for cache in CACHES for mark in marks]
    print(f"{'calls of NimbleHLO/XLA:CPU':38}" + "".join(f"{title:>22}" for title in titles), flush=True)
    chosen = programs(options.only, options.models)
    outcomes, failures = outcomes_of(chosen, lambda program: counted(program, marks), show)
    print(summary(outcomes) + (f", {failures} failed" if failures else ""))
    if options.json:
        stored: dict[str, Any] = {"seconds": marks, "programs": outcomes}
        options.json.write_text(json.dumps(stored, indent=1) + "\n")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
