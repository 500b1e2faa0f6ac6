"""The programs: models, those of the benchmarks, the public conformance files, random ones, and loops."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nimblehlo import Options

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A program and what it is called with.

    Attributes:
        name: of the program.
        text: the program.
        inputs: its arguments.
        is_compiled: whether it is run with everything compiled too, which takes long.
        tells_nans_apart: whether results may hang on which NaN an operand is.
    """

    name: str
    text: str
    inputs: list[Array]
    is_compiled: bool = True
    tells_nans_apart: bool = False


class Selection(NamedTuple):
    """A selection of cases.

    Attributes:
        sources: names of `SOURCES`.
        count: the number of random programs.
        seed: the seed of the first random program; the others have the next seeds.
        eager_share: one of this number of random or conformance programs also runs eagerly; 0: none.
        names: only cases whose names contain this text.
    """

    sources: tuple[str, ...] = ("models", "conformance", "random", "large", "loops")
    count: int = 1000
    seed: int = 0
    eager_share: int = 10
    names: str = ""


MODES = {
    "never": Options(compile="never"),
    "auto": Options(),
    "eager, 1 thread": Options(compile="eager", threads=1),
    "eager, 3 threads": Options(compile="eager", threads=3),
}


def modes_of(case: Case) -> dict[str, Options]:
    """The modes in which a program runs."""
    runs_eagerly = case.is_compiled
    return {mode: options for mode, options in MODES.items() if runs_eagerly or options.compile != "eager"}


def cases(selection: Selection) -> Iterator[Case]:
    """The programs that are selected."""
    for source in selection.sources:
        for case in SOURCES[source](selection):
            if selection.names in case.name:
                yield case


def _is_compiled(selection: Selection, name: str) -> bool:
    return bool(selection.eager_share) and zlib.crc32(name.encode()) % selection.eager_share == 0


def _models(selection: Selection) -> Iterator[Case]:
    from tests.models import MODELS

    for name, model in sorted(MODELS.items()):
        if selection.names in f"model {name}":
            yield Case(f"model {name}", model.lowered().as_text(), model.inputs())


def _benchmarks(selection: Selection) -> Iterator[Case]:
    """The programs of the benchmarks at their smallest size."""
    from benchmarks.programs import PROGRAMS

    for name, program in sorted(PROGRAMS.items()):
        if selection.names in f"benchmark {name}":
            inputs = program.inputs("small")
            yield Case(f"benchmark {name}", program.lowered(inputs).as_text(), inputs)


def _conformance(selection: Selection) -> Iterator[Case]:
    from tests.conftest import conformance_folder
    from tests.support.dynamic_reference import inputs_of

    folder = conformance_folder()
    if folder is None:
        print("no conformance programs: set NIMBLEHLO_CONFORMANCE_DIR to a folder with them", file=sys.stderr)
        return
    for path in sorted(folder.rglob("*.mlir")):
        name, text = f"conformance {path.stem}", path.read_text()
        inputs = inputs_of(text, 3) if path.parent.name == "dynamic" else []
        yield Case(name, text, list(inputs), _is_compiled(selection, name), tells_nans_apart=True)


def _random(selection: Selection, large: bool = False) -> Iterator[Case]:
    from tests.checks.fuzzing.programs import random_program
    from tests.checks.fuzzing.rules import tells_nans_apart
    from tests.checks.fuzzing.variants import for_runtime

    for seed in range(selection.seed, selection.seed + selection.count):
        program = random_program(seed, large)
        module, inputs = for_runtime(program, program.results, {})
        name = f"{'large' if large else 'random'} {seed}"
        telling = any(map(tells_nans_apart, program.block.operations))
        yield Case(name, str(module), inputs, _is_compiled(selection, name), telling)


def _large(selection: Selection) -> Iterator[Case]:
    yield from _random(selection, large=True)


def _loops(selection: Selection) -> Iterator[Case]:
    from tests.checks.fuzzing.loops import LARGE_SIDES, SIDE, random_loop

    sides = (SIDE, SIDE, SIDE, *LARGE_SIDES)
    for seed in range(selection.seed, selection.seed + selection.count):
        text, inputs = random_loop(seed, sides[seed % len(sides)])
        yield Case(f"loop {seed}", text, inputs)


SOURCES = {
    "models": _models,
    "benchmarks": _benchmarks,
    "conformance": _conformance,
    "random": _random,
    "large": _large,
    "loops": _loops,
}
"""Maps the source of programs to the function that yields its cases."""
