"""Starts the two processes and gathers what differs."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from .cases import Selection

ROOT = Path(__file__).resolve().parent.parent.parent
LEAST_PAGED_BYTES = 1 << 10
"""With pages as guards, blocks of so many bytes and more have some of their own."""


@dataclass
class Tally:
    """What came of a comparison.

    Attributes:
        programs: how many programs were run, by the first word of their names.
        runs: how many calls agreed.
        differences: which did not, and in which programs the process ended.
    """

    programs: collections.Counter[str] = field(default_factory=collections.Counter)
    runs: int = 0
    differences: list[str] = field(default_factory=list)


def is_available() -> bool:
    """Whether this system has what it takes: glibc, and a C compiler."""
    return sys.platform == "linux" and "CS_GNU_LIBC_VERSION" in os.confstr_names and _compiler() is not None


def _compiler() -> str | None:
    return shutil.which(os.environ.get("CC", "cc"))


def environment(folder: Path, guard: bool) -> dict[str, str]:
    """The variables of the process in which memory is poisoned.

    Args:
        folder: for the library and for compiled code.
        guard: whether blocks end at pages that may not be touched, instead of being used again.
    """
    source, library = Path(__file__).with_name("allocator.c"), folder / "allocator.so"
    folder.mkdir(parents=True, exist_ok=True)
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        compiler = _compiler()
        assert compiler is not None
        command = [compiler, "-shared", "-fPIC", "-O2", str(source), "-o", str(library), "-lpthread", "-ldl"]
        subprocess.run(command, check=True)
    variables = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "NIMBLEHLO_CACHE_DIR": str(folder / "cache"),
        "NIMBLEHLO_POISON_MEMORY": "exact" if guard else "1",
    }
    if guard:
        variables["POISON_PAGES"] = str(LEAST_PAGED_BYTES)
    return variables


def record(selection: Selection, path: Path) -> None:
    """Let a usual process write the cases with their results."""
    command = [sys.executable, "-m", "tests.poisoned.worker", "record", str(path), repr(tuple(selection))]
    subprocess.run(command, cwd=ROOT, check=True)


def compare(path: Path, folder: Path, guard: bool) -> Tally:
    """Run the recorded cases with poisoned memory."""
    return compared(["tests.poisoned.worker", "compare", str(path)], environment(folder, guard))


def compared(worker: list[str], variables: dict[str, str]) -> Tally:
    """Run a worker over all recorded cases. A process that ends is started anew behind its case.

    Args:
        worker: its module and arguments, to which the number of the first case is added.
        variables: its environment.
    """
    tally, start = Tally(), 0
    while True:
        command = [sys.executable, "-X", "faulthandler", "-m", *worker, str(start)]
        process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stderr is not None
        errors: list[str] = []
        reader = threading.Thread(target=errors.extend, args=(process.stderr,))
        reader.start()
        name = ""
        for line in process.stdout:
            number, kind, text = line.rstrip("\n").split(" ", 2)
            if kind == "begin":
                name, start = text, int(number) + 1
                tally.programs[text.split()[0]] += 1
            elif kind == "differs":
                tally.differences.append(text)
            else:
                tally.runs += int(text)
                name = ""
        reader.join()
        status = process.wait()
        if not status:
            return tally
        tally.differences.append(f"{name or 'no program'}: ended with status {status}: {_told(errors)}")
        if not name:
            return tally


def _told(errors: list[str]) -> str:
    """The lines that say why a process ended."""
    told = [line.strip() for line in errors if line.startswith(("poisoned:", "nimblehlo:"))]
    return " ".join(told or [line.strip() for line in errors[-30:]])
