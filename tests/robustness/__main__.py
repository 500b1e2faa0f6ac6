"""``python -m tests.robustness --count 1000000 --seed 1 --jobs 2``: tries mutants and says what came of them.

Exit status 0 only where nothing was found. A finding's number with ``--only`` prints that mutant and tries it
here.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections import defaultdict
from pathlib import Path

from nimblehlo import Options

from .comparison import compare
from .corpus import programs
from .mutation import Mutator
from .seeds import TARGETS, seeds
from .supervisor import Finding, Limits, Summary, Trial, run
from .trial import Phase, attempt


def main() -> int:
    """Run the command; the exit status."""
    options = _arguments()
    texts = list(programs(not options.own))
    if options.target:
        texts = [text for target in options.target for text in seeds(target, not options.own)]
    if not texts:
        print("no programs to start from")
        return 1
    how = Options(compile=options.compile)
    compared: Trial = functools.partial(compare, outcomes={})
    trial: Trial = compared if options.target else lambda text, enter: attempt(text, how, enter)
    if options.only is not None:
        text = Mutator(texts).mutant(options.seed, options.only)
        print(text)
        print("//", trial(text, lambda phase: None))
        return 0
    started = time.monotonic()
    limits = Limits(options.seconds, options.bytes)
    shown = _Progress(options.count)
    summary = run(
        texts, options.count, options.seed, options.jobs, trial, limits, first=options.first, progress=shown
    )
    _print(summary, time.monotonic() - started, texts, options)
    return 1 if summary.findings else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.robustness", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--count", type=int, default=100_000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which series of mutants")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--compile", choices=("auto", "eager", "never"), default="never", help="as Options has it"
    )
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="processor time of one mutant")
    parser.add_argument("--bytes", type=int, default=Limits.bytes, help="memory of one mutant")
    parser.add_argument("--own", action="store_true", help="without the conformance programs")
    parser.add_argument(
        "--target",
        nargs="+",
        choices=TARGETS,
        help="mutate programs of these kinds of replacements, and compare the results of every mode",
    )
    parser.add_argument("--only", type=int, help="print this mutant and try it in this process")
    parser.add_argument("--keep", type=Path, help="folder for one mutant of each kind of finding")
    return parser.parse_args()


class _Progress:
    """A line now and then."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.started = self.last = time.monotonic()

    def __call__(self, summary: Summary) -> None:
        now = time.monotonic()
        if now - self.last > 10:
            self.last = now
            rate = summary.tried / (now - self.started)
            print(f"{summary.tried}/{self.count}, {rate:.0f}/s, {len(summary.findings)} findings", flush=True)


def _print(summary: Summary, seconds: float, texts: list[str], options: argparse.Namespace) -> None:
    rate = summary.tried / seconds
    print(f"{summary.tried} mutants of {len(texts)} programs in {seconds:.0f} s: {rate:.0f}/s")
    reached = {phase: summary.phases[phase] for phase in Phase}
    print(f"rejected when loaded: {reached[Phase.LOAD]}, when compiled: {reached[Phase.COMPILE]}, ", end="")
    print(f"when run: {reached[Phase.RUN]}; fine: {reached[Phase.DONE]}")
    if summary.repeated:
        print(f"the same program as an earlier one: {summary.repeated}, not run again")
    slow, index, phase = summary.slowest
    print(f"slowest: number {index}, {slow:.2f} s of processor time, got to {phase.name}")
    print(f"runs that were ended: {len(summary.stopped)} {summary.stopped[:10]}")
    print(f"greatest memory beyond the start: {summary.peak >> 20} MB")
    for cause, number in sorted(summary.failures.items()):
        print(f"a step failed with {cause}: number {number}")
    kinds: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in summary.findings:
        kinds[finding.phase.name, finding.what].append(finding)
    for (phase_name, what), found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        numbers = ", ".join(str(finding.index) for finding in found[:6])
        print(f"FOUND {len(found)} x in {phase_name}: {what}: {numbers}")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            text = Mutator(texts).mutant(options.seed, found[0].index)
            (options.keep / f"{found[0].index}.mlir").write_text(text + f"\n// {found[0].detail}", "utf-8")
    if not kinds:
        print("nothing found")


if __name__ == "__main__":
    sys.exit(main())
