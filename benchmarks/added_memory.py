"""Measures what a program adds to the memory of a new process: see `benchmarks.process_memory`.

    python -m benchmarks.added_memory {nimblehlo,xla} FOLDER SECONDS

FOLDER holds what `counted_calls.write_program` has written. The memory that the process has before the
program is compiled, with the runtime imported and the inputs placed, is subtracted from every figure. Linux
only: the figures are the kernel's, from `/proc`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .counted_calls import CALLS, read_program
from .measuring import warm_up

MIN_CALLS = 30
"""Calls until the steady state."""
_SAMPLING_SECONDS = 0.01
"""Seconds between two looks at the processes that compile."""
_PROCESS = Path("/proc/self")


def kilobytes(status: Path, field: str) -> int:
    """A figure of a process's file `status` or `smaps_rollup`, in KiB."""
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field))


def resident() -> int:
    """The resident memory of this process in KiB, counted exactly: `status` may be off by some 100 KiB."""
    return kilobytes(_PROCESS / "smaps_rollup", "Rss:")


def _descendants(process: Path = _PROCESS) -> Iterator[Path]:
    """The processes that a process has started, and those that these have."""
    with suppress(OSError):
        for thread in (process / "task").iterdir():
            for number in (thread / "children").read_text().split():
                yield Path(f"/proc/{number}")
                yield from _descendants(Path(f"/proc/{number}"))


def _of_others() -> tuple[int, int]:
    """The KiB of other processes: anonymous pages, and pages of files.

    Pages that processes share count once, in equal shares. Those of files are in the system's cache of files
    in any case: this process has those of Python, too, and all that compile have those of LLVM's library.
    """
    anonymous = files = 0
    own = (_PROCESS / "cmdline").read_bytes()
    for process in _descendants():
        with suppress(OSError, StopIteration):
            if (process / "cmdline").read_bytes() == own:
                # Until it runs its program, it has the memory of this process, which counts already.
                continue
            anonymous += kilobytes(process / "smaps_rollup", "Pss_Anon:")
            files += kilobytes(process / "smaps_rollup", "Pss_File:")
    return anonymous, files


class PeakMemory:
    """The most memory since `restart`, of this process and of those that it starts."""

    def __init__(self) -> None:
        self.of_both = 0
        self.of_children = self.files_of_children = 0
        threading.Thread(target=self._sample, daemon=True).start()
        self.restart()

    def restart(self) -> None:
        """Forget the peak so far."""
        self.of_both = self.of_children = self.files_of_children = 0
        # Resets VmHWM to the resident memory; see proc_pid_clear_refs(5).
        (_PROCESS / "clear_refs").write_text("5")

    def _sample(self) -> None:
        wait = threading.Event()
        while not wait.wait(_SAMPLING_SECONDS):
            children, files = _of_others()
            if children:
                self.files_of_children = max(self.files_of_children, files)
                self.of_children = max(self.of_children, children)
                self.of_both = max(self.of_both, children + kilobytes(_PROCESS / "status", "VmRSS:"))

    def kilobytes(self) -> int:
        """The peak: the kernel's of this process, or a larger sample that child processes are part of.

        It is at least what is resident now, since the kernel's is not exact.
        """
        self.of_both = max(self.of_both, kilobytes(_PROCESS / "status", "VmHWM:"), resident())
        return self.of_both


def added(system: str, folder: Path, seconds: float) -> dict[str, int]:
    """The figures of a program in bytes.

    `first`, `peak`, `steady`, `steady_anonymous`; `compilers`: anonymous pages of the processes that compile,
    and `compilers_files`: their pages of files, which no other figure has.
    """
    prepare = CALLS[system](*read_program(folder))
    peak = PeakMemory()
    gc.collect()
    before = resident()
    anonymous = kilobytes(_PROCESS / "smaps_rollup", "Anonymous:")
    peak.restart()
    call = prepare()
    call()
    first = peak.kilobytes() - before
    warm_up(call, seconds, MIN_CALLS)
    steady = resident() - before
    figures = {
        "first": first,
        "peak": max(steady, peak.kilobytes() - before),
        "steady": steady,
        "steady_anonymous": kilobytes(_PROCESS / "smaps_rollup", "Anonymous:") - anonymous,
        "compilers": peak.of_children,
        "compilers_files": peak.files_of_children,
    }
    return {name: 1024 * max(0, figure) for name, figure in figures.items()}


def main() -> None:
    """Print the figures."""
    system, folder, seconds = sys.argv[1:]
    print("FIGURES", json.dumps(added(system, Path(folder), float(seconds))), flush=True)
    # Threads of XLA's that end later than Python would be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
