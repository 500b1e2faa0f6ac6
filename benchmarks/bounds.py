"""Print the time of each program, XLA:CPU's, and the share of the bound that the time reaches.

    python -m benchmarks.bounds                        the suite of `benchmarks/programs`, large and small
    python -m benchmarks.bounds reduce_all --sizes large
    python -m benchmarks.bounds --alone                without XLA:CPU
    python -m benchmarks.bounds --cases FILE           the programs of another file: CASES maps names to
                                                       (family, function, a function that makes its arguments)

The bound is the least time of a call on this machine, whatever the implementation (`nimblehlo machine` prints
the rates, `nimblehlo/inspection/profiling/bound.py` says what is counted). A program within 5 % of its bound
counts as won, whatever the ratio. A time below its bound, by more than noise, shows that the bound is wrong:
these are listed at the end, and the command then fails. The share is that of the fastest call, times are
medians.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

import nimblehlo
from nimblehlo.inspection.profiling.bound import WON, Bound

from .measuring import Action, seconds, side_by_side, warm_up
from .programs import PROGRAMS, SIZES

NOISE = 1.1
"""A bound that exceeds the fastest call by this factor is wrong; clocks and other load differ by less."""
_CALLS, _SECONDS = 10, 0.3
"""Least number of calls without XLA:CPU, and their seconds."""


@dataclass(frozen=True)
class Case:
    """A program that is measured.

    Attributes:
        name: its name, with its size if it has several.
        make: returns the lowered program and its inputs.
    """

    name: str
    make: Callable[[], tuple[jax.stages.Lowered, list[Any]]]


@dataclass(frozen=True)
class Row:
    """The figures of a case.

    Attributes:
        name: that of the case.
        ours, other: median seconds of a call, here and by XLA:CPU; the latter None if it was not called.
        ratio: how many times as fast as XLA:CPU a call is.
        fastest: seconds of the fastest call here.
        bound: the least time.
    """

    name: str
    ours: float
    other: float | None
    ratio: float | None
    fastest: float
    bound: Bound

    @property
    def share(self) -> float:
        """The share of the bound that the fastest call reaches."""
        return self.bound.share(self.fastest)

    @property
    def is_won(self) -> bool:
        """Whether it is faster than XLA:CPU, or so close to the bound that nothing can be much faster."""
        return self.share >= WON or (self.ratio is not None and self.ratio >= 1)

    @property
    def is_beaten(self) -> bool:
        """Whether the bound is wrong: the call took less."""
        return self.share > NOISE

    def __str__(self) -> str:
        other = "" if self.other is None else f"{self.other * 1e6:12.1f} {self.ratio:7.2f}"
        partial = " (loops of unknown length not counted)" if self.bound.is_partial else ""
        won = "won: at its bound" if self.share >= WON else ""
        return (
            f"{self.name:44} {self.ours * 1e6:12.1f}{other} {self.bound.seconds * 1e6:12.1f} "
            f"{100 * self.share:5.0f} %  {self.bound.limit:10} {won}{partial}"
        ).rstrip()


def suite(names: list[str], sizes: list[str]) -> Iterator[Case]:
    """The programs of `benchmarks/programs`."""
    for program in PROGRAMS.values():
        if not names or program.name in names:
            for size in sizes:

                def make(program: Any = program, size: str = size) -> tuple[jax.stages.Lowered, list[Any]]:
                    inputs = program.inputs(size)
                    return program.lowered(inputs), inputs

                yield Case(f"{program.name} {size}", make)


def cases_of(path: Path, names: list[str]) -> Iterator[Case]:
    """The cases of a file of Python, which has CASES."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, (_, function, build) in module.CASES.items():
        if not names or name in names:

            def make(function: Any = function, build: Any = build) -> tuple[jax.stages.Lowered, list[Any]]:
                arguments = build()
                return jax.jit(function, keep_unused=True).lower(*arguments), jax.tree.leaves(arguments)

            yield Case(name, make)


def measured(case: Case, *, alone: bool) -> Row:
    """Measure a case, warm, in turn with XLA:CPU."""
    lowered, arrays = case.make()
    executable = nimblehlo.compile(lowered.as_text())
    inputs = [np.asarray(array) for array in arrays]
    bound = executable.bound(inputs)
    times: list[float] = []

    def ours() -> None:
        times.append(seconds(lambda: executable(*inputs)))

    warm_up(ours)
    times.clear()
    if alone:
        warm_up(ours, _SECONDS, _CALLS)
        return Row(case.name, float(np.median(times)), None, None, min(times), bound)
    compiled = lowered.compile()
    other: Action = lambda: jax.block_until_ready(compiled(*arrays))  # noqa: E731
    other()
    compared = side_by_side(ours, other)
    return Row(case.name, float(np.median(times)), compared.other, compared.ratio, min(times), bound)


def summary(rows: list[Row]) -> str:
    """How many are won, and which bounds are wrong."""
    beaten = [row for row in rows if row.is_beaten]
    lines = [
        f"{len(rows)} programs: {sum(row.share >= WON for row in rows)} within 5 % of their bounds, "
        f"{sum(row.is_won for row in rows)} won, {len(beaten)} below their bounds"
    ]
    lines += [f"below its bound, by more than noise: {row}" for row in beaten]
    return "\n".join(lines)


def main() -> int:
    """1 where a bound is wrong, or a program fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of programs; all where there are none")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=[SIZES[-1], SIZES[0]])
    parser.add_argument("--alone", action="store_true", help="do not call XLA:CPU")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="a file with other programs")
    options = parser.parse_args()
    cases = cases_of(options.cases, options.names) if options.cases else suite(options.names, options.sizes)
    other = "" if options.alone else f"{'XLA us':>12} {'x':>7}"
    print(f"{'program':44} {'ours us':>12}{other} {'bound us':>12} {'share':>7}  limit")
    rows, has_failed = [], False
    for case in cases:
        try:
            rows.append(measured(case, alone=options.alone))
            print(rows[-1], flush=True)
        except Exception as error:
            has_failed = True
            print(f"{case.name:44} FAILED {type(error).__name__}: {str(error)[:160]}", flush=True)
    print(summary(rows))
    return bool(has_failed or any(row.is_beaten for row in rows))


if __name__ == "__main__":
    sys.exit(main())
