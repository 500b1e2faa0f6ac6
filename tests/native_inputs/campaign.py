"""Starts the process that runs the cases, anew behind each case that ended it, and counts what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.poisoned.campaign import environment as poisoned_environment

ROOT = Path(__file__).resolve().parent.parent.parent
MEMORY = ("malloc", "guard", "inherited")
MAX_CASE_SECONDS = 300.0
"""A case that takes longer hangs, and its process is ended: a call may take 6 s, a case has up to some 40."""


@dataclass
class Tally:
    """What came of a campaign.

    Attributes:
        cases, calls, operands: how many there were.
        types: the element types among the operands.
        rejected: programs that do not verify, such as functions that are not defined for their type.
        kinds: findings by kind.
        findings: a line for each.
    """

    cases: int = 0
    calls: int = 0
    operands: int = 0
    rejected: int = 0
    types: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def add(self, kind: str, text: str) -> None:
        self.kinds[kind] += 1
        self.findings.append(f"{kind.upper()} {text}")

    def __str__(self) -> str:
        kinds = self.kinds
        return (
            f"{self.cases} programs ({self.rejected} of them invalid), {self.calls} calls, "
            f"{self.operands} operands, {len(self.types)} element types; {kinds['ended']} processes ended, "
            f"{kinds['stopped']} calls stopped by the time limit, "
            f"{kinds['late']} calls beyond the time limit plus a second, {kinds['wrong']} wrong, "
            f"{kinds['internal']} internal errors"
        )


def environment(memory: str, folder: Path) -> dict[str, str]:
    """The variables of the process, which check its memory."""
    if memory == "inherited":
        return dict(os.environ)
    if memory == "guard":
        return poisoned_environment(folder, guard=True)
    library = "libc_malloc_debug.so.0"
    return {
        **os.environ,
        "LD_PRELOAD": library,
        "MALLOC_CHECK_": "3",
        "MALLOC_PERTURB_": "165",
        "NIMBLEHLO_CACHE_DIR": str(folder / "cache"),
    }


def run(
    families: Sequence[str], share: int, memory: str, folder: Path, seconds: float = 5.0, delay: float = 1.0
) -> Tally:
    """Run the cases of some families.

    Args:
        families, share: see `cases.cases`.
        memory: one of MEMORY.
        folder: for compiled code.
        seconds: the time limit of each call.
        delay: seconds after that at which it must have ended.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tally, start = Tally(), 0
    while True:
        arguments = [",".join(families), *map(str, (share, start, seconds, delay))]
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.native_inputs.worker", *arguments]
        variables, pipe = environment(memory, folder), subprocess.PIPE
        process = subprocess.Popen(command, cwd=ROOT, env=variables, text=True, stdout=pipe, stderr=pipe)
        name, next_start, errors = _watched(process, tally)
        if process.returncode == 0:
            return tally
        tally.add("ended", f"{name or 'no program'}: status {process.returncode}: {errors[-400:]}")
        if next_start <= start:
            return tally
        start = next_start


def _watched(process: subprocess.Popen[str], tally: Tally) -> tuple[str, int, str]:
    """Read what the process says until it ends: its case, the number of the next one, its errors."""
    assert process.stdout is not None and process.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=errors.extend, args=(process.stderr,))
    reader.start()
    name, next_start = "", 0
    timer = threading.Timer(MAX_CASE_SECONDS, process.kill)
    timer.start()
    for line in process.stdout:
        number, kind, text = line.rstrip("\n").split(" ", 2)
        if kind == "begin":
            timer.cancel()
            timer = threading.Timer(MAX_CASE_SECONDS, process.kill)
            timer.start()
            name, next_start = text, int(number) + 1
            tally.cases += 1
        elif kind == "done":
            calls, operands, types = text.split(" ")
            tally.calls += int(calls)
            tally.operands += int(operands)
            tally.rejected += calls == "0"
            tally.types |= {type for type in types.split(",") if type}
            name = ""
        elif kind == "stopped":
            tally.kinds[kind] += 1
        else:
            tally.add(kind, text)
    timer.cancel()
    reader.join()
    process.wait()
    return name, next_start, "".join(errors)
