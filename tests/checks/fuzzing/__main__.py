"""Command: run a campaign, print what came of it, and write the programs that failed to a folder."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

from .campaign import BATCH, Campaign, Tally

LONG_THREADS = (1, 2, 3, 5)
"""On how many threads long programs are run."""


def main() -> int:
    """Exit status 1 where a program failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.checks.fuzzing", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="program i has the seed SEED * 1000000 + i")
    parser.add_argument("--eager-share", type=int, default=20, help="compile one program of so many; 0: none")
    parser.add_argument(
        "--large", action="store_true", help="larger programs, one mode against the others alone"
    )
    parser.add_argument(
        "--thresholds", action="store_true", help="sizes and operands on which fast paths hang"
    )
    parser.add_argument(
        "--operations",
        type=int,
        default=0,
        help="programs of at least so many operations, compared as with --large",
    )
    parser.add_argument("--output", type=Path, default=Path("build/fuzzing"), help="folder for failures")
    options = parser.parse_args()
    if options.operations:
        return run_long(options)
    campaign = Campaign(options.eager_share, options.large, options.thresholds)
    start, first = time.time(), options.seed * 1_000_000
    seeds = range(first, first + options.count)
    for begin in range(0, options.count, BATCH):
        tally = campaign.run(seeds[begin : begin + BATCH])
        if sys.stderr.isatty():
            print(f"\r{tally.programs} programs, {len(tally.failures)} failed", end="", file=sys.stderr)
    campaign.interpreter.stop()
    report(campaign.tally, options.output, time.time() - start)
    return 1 if campaign.tally.failures else 0


def run_long(options: argparse.Namespace) -> int:
    """The same for programs of many operations."""
    # Numbers of threads beyond that of the processors are modes, too.
    os.environ.setdefault("NUMBA_NUM_THREADS", str(max(LONG_THREADS)))
    from nimblehlo.kernels.launch.native import assume_processors

    from .long_campaign import LongCampaign

    assume_processors(max(LONG_THREADS))
    campaign = LongCampaign(options.operations, options.eager_share)
    start, first = time.time(), options.seed * 1_000_000
    for seed in range(first, first + options.count):
        tally = campaign.run([seed])
        print(f"{tally.programs} programs, {len(tally.failures)} failed", file=sys.stderr, flush=True)
    report(campaign.tally, options.output, time.time() - start)
    judged = sum(campaign.tally.operations.values())
    print(
        f"{judged} operations; {campaign.not_finite} of {campaign.results} results of floats are not finite"
    )
    return 1 if campaign.tally.failures else 0


def report(tally: Tally, folder: Path, seconds: float) -> None:
    """Print a summary and write the failures, those of one kind beside each other."""
    print("operation                                   judged  differing within its rule")
    for name, count in sorted(tally.operations.items()):
        print(f"{name:42} {count:7}  {tally.differing[name] or '':9}")
    for reason, count in tally.without_answer.most_common():
        print(f"no answer from the interpreter, {count} programs: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    for failure in sorted(tally.failures, key=lambda failure: failure.kind):
        kind = failure.kind.replace(":", "").replace(" ", "_")
        path = folder / f"{kind}_{failure.seed}.mlir"
        comment = "\n".join(f"// {line}" for line in failure.reason.splitlines())
        path.write_text(f"{comment}\n{failure.text}")
        if failure.inputs:
            np.savez(
                path.with_suffix(".npz"),
                *[np.asarray(one).view(np.uint8) if one.dtype.kind == "V" else one for one in failure.inputs],
            )
        print(f"FAILED {failure.kind}, seed {failure.seed}: {failure.reason.splitlines()[0][:300]} ({path})")
    print(f"{tally.programs} programs in {seconds:.0f} s, {len(tally.failures)} failed")


if __name__ == "__main__":
    sys.exit(main())
