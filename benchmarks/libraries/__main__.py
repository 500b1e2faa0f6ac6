"""Compare programs of public libraries with XLA:CPU, each in a new process.

    python -m benchmarks.libraries [NAME ...] [--json FILE] [--timeout SECONDS]
    python -m benchmarks.libraries [NAME ...] --steps

Every process starts with an empty folder of compiled code. Ratios above 1 mean that NimbleHLO is faster.
`bound` is the share of the least time of a call on this machine; a program within 5 % of that counts as won.
With `--steps` nothing is compared: the loops that run as steps are listed, and the steps that take long.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nimblehlo.inspection.profiling import stored_machine

from ..measuring import ROOT
from .declaration import LibraryProgram, library_programs
from .measurement import Measurement, measure
from .steps import remaining_steps

_PREFIX = "MEASUREMENT "


def measured_in_process(program: LibraryProgram, timeout: float) -> Measurement | str:
    """Measure a program in a new process; the last line of the output if the process fails."""
    lines = printed_in_process(program, timeout, "--here")
    return lines if isinstance(lines, str) else Measurement(**json.loads(lines[-1]))


def printed_in_process(program: LibraryProgram, timeout: float, *options: str) -> list[str] | str:
    """What a new process prints of a program, after the prefix; its last line if the process fails.

    Args:
        options: the process's command line beside the program's name.
    """
    with tempfile.TemporaryDirectory() as folder:
        _keep_machine(Path(folder))
        environment = {**os.environ, "NIMBLEHLO_CACHE_DIR": folder, "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-m", __package__, *options, program.name]
        try:
            finished = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return f"takes longer than {timeout:.0f} s"
    lines = [line for line in finished.stdout.splitlines() if line.startswith(_PREFIX)]
    if lines:
        return [line.removeprefix(_PREFIX) for line in lines]
    said = finished.stderr.strip().splitlines()
    return said[-1][:300] if said else f"ended with status {finished.returncode}"


def _keep_machine(folder: Path) -> None:
    """Copy the figures of this machine, measured once, to an empty cache folder."""
    stored_machine.measured()
    stored = stored_machine.stored_path()
    if stored is not None and stored.exists():
        target = folder / stored.parent.name
        target.mkdir(mode=0o700)
        shutil.copy(stored, target)


def print_steps(programs: Iterable[LibraryProgram], timeout: float) -> int:
    """Print what of each program still runs as steps; 1 where a program failed."""
    failures = 0
    for one in programs:
        lines = printed_in_process(one, timeout, "--here", "--steps")
        failures += isinstance(lines, str)
        print(f"{one.library} {one.name}{f' FAILED {lines}' if isinstance(lines, str) else ''}")
        for line in () if isinstance(lines, str) else json.loads(lines[-1]):
            print(f"    {line}", flush=True)
    return bool(failures)


def row(program: LibraryProgram, outcome: Measurement | str) -> str:
    """A line of the table."""
    title = f"{program.library:13} {program.name:38}"
    if isinstance(outcome, str):
        return f"{title} FAILED {outcome}"
    agrees = "" if outcome.disagreement is None else f"  DISAGREES: {outcome.disagreement}"
    return (
        f"{title}{outcome.operations:7d}"
        f"{outcome.warm * 1e3:11.3f}{outcome.xla_warm * 1e3:11.3f}{outcome.ratio:7.2f}"
        f"{100 * outcome.bound_share:7.0f}%"
        f"{outcome.first * 1e3:9.0f}{outcome.xla_first * 1e3:9.0f}{outcome.first_ratio:7.2f}"
        f"{outcome.temporaries / 1e6:10.2f}{outcome.xla_temporaries / 1e6:10.2f}{agrees}"
    )


def summary(outcomes: dict[str, Measurement | str]) -> str:
    """The last line: means, and how many programs are slower, disagree or fail."""
    measured = [one for one in outcomes.values() if isinstance(one, Measurement)]
    if not measured:
        return f"0 programs measured, {len(outcomes)} failed"
    means = [
        math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        for ratios in ([one.ratio for one in measured], [one.first_ratio for one in measured])
    ]
    return (
        f"{len(measured)} programs: warm geometric mean {means[0]:.2f}, "
        f"{sum(one.ratio < 1 for one in measured)} below 1 "
        f"({sum(not one.is_won for one in measured)} of these not within 5 % of their bounds); "
        f"first results {means[1]:.2f}, {sum(one.first_ratio < 1 for one in measured)} below 1; "
        f"{sum(one.disagreement is not None for one in measured)} disagree, "
        f"{len(outcomes) - len(measured)} failed"
    )


def main() -> int:
    """1 where a program failed or disagrees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of programs or libraries; all where there are none")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store the measurements")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one program (default: 600)")
    parser.add_argument("--here", action="store_true", help="measure in this process, and print JSON")
    parser.add_argument("--steps", action="store_true", help="list what runs as steps, and compare nothing")
    options = parser.parse_args()
    programs = [
        one
        for one in library_programs().values()
        if not options.names or one.name in options.names or one.library in options.names
    ]
    if options.here:
        for one in programs:
            found = remaining_steps(one) if options.steps else asdict(measure(one))
            print(_PREFIX + json.dumps(found), flush=True)
        return 0
    if options.steps:
        return print_steps(programs, options.timeout)
    print(
        f"{'library':13} {'program':38}{'ops':>7}{'ours ms':>11}{'XLA ms':>11}{'warm x':>7}{'bound':>8}"
        f"{'ours ms':>9}{'XLA ms':>9}{'first x':>7}{'ours MB':>10}{'XLA MB':>10}"
    )
    outcomes: dict[str, Measurement | str] = {}
    for one in programs:
        outcomes[one.name] = measured_in_process(one, options.timeout)
        print(row(one, outcomes[one.name]), flush=True)
    print(summary(outcomes))
    if options.json:
        stored: dict[str, Any] = {
            name: {"failure": outcome} if isinstance(outcome, str) else asdict(outcome)
            for name, outcome in outcomes.items()
        }
        options.json.write_text(json.dumps(stored, indent=1) + "\n")
    failures = [one for one in outcomes.values() if isinstance(one, str) or one.disagreement is not None]
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
