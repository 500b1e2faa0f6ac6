"""Processes on a host that lacks something, and the lines of the campaign that make such hosts."""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]

Line = Callable[[Path], Iterator[str]]
"""A line of the campaign: it takes an empty folder, and yields what the user sees."""

LINES: dict[str, Line] = {}

TIMEOUT = 600.0
"""Seconds that a process may take."""


class Skipped(Exception):
    """This machine cannot make such a host; the message says why."""


class Failed(Exception):
    """A process did not do what it had to."""


def line(function: Line) -> Line:
    """Declare a function as a line of the campaign, under its own name."""
    LINES[function.__name__] = function
    return function


class Ended(NamedTuple):
    """How a process ended: its status, and what it printed."""

    status: int
    output: str
    errors: str

    @property
    def report(self) -> dict[str, Any]:
        """What a process of `workload` saw.

        Raises:
            Failed: it did not end well, or printed something else.
        """
        if self.status or not self.output:
            raise Failed(f"status {self.status}: {self.errors.strip() or self.output.strip()}")
        if self.errors != "imported\n":
            raise Failed(f"printed {self.errors!r}")
        report: dict[str, Any] = json.loads(self.output)
        return report


class Host(NamedTuple):
    """What differs for a process from this one.

    Attributes:
        variables: of the environment; None: not set.
        before: shell commands in a mount namespace of its own; the process gets the shell's number.
        command: what starts the process, such as `setpriv`.
        python: options of Python.
    """

    variables: dict[str, str | None] = {}  # noqa: RUF012
    before: str = ""
    command: Sequence[str] = ()
    python: Sequence[str] = ()

    def run(self, *arguments: str, **options: Any) -> Ended:
        """Run Python with these arguments; `options` are those of `subprocess.run`."""
        command = [*self.command, sys.executable, *self.python, *arguments]
        if self.before:
            require_namespaces()
            script = f"set -e\n{self.before}\nexec {shlex.join(command)}"
            command = ["unshare", "--mount", "sh", "-c", script]
        variables = {**os.environ, "NIMBLEHLO_VERIFY": "off", "PYTHONPATH": str(ROOT), **self.variables}
        environment = {name: value for name, value in variables.items() if value is not None}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        child = subprocess.run(
            command, env=environment, text=True, timeout=TIMEOUT, **{"cwd": ROOT, **pipes, **options}
        )
        return Ended(child.returncode, child.stdout or "", child.stderr or "")

    def workload(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """What a process of `workload` saw, whose results are the bits of any other host.

        Raises:
            Failed: it ended with an error, warned, or has other results.
        """
        return checked(self.run("-m", "tests.hosts.workload", *arguments, **options).report)


def checked(report: dict[str, Any]) -> dict[str, Any]:
    """The same report.

    Raises:
        Failed: its results have other bits than those on a host that lacks nothing.
    """
    differing = {mode: bits for mode, bits in report["digests"].items() if bits != expected()}
    if differing:
        raise Failed(f"results are {differing}, not {expected()}")
    return report


@functools.cache
def expected() -> str:
    """The digest of the program's results here."""
    from .workload import digest

    return digest("never")


def expect(holds: bool, reason: str) -> None:
    """Raises Failed with a reason unless something holds."""
    if not holds:
        raise Failed(reason)


@functools.cache
def _namespace_error() -> str:
    if not sys.platform.startswith("linux"):
        return "only Linux has mount namespaces"
    try:
        command = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
        return subprocess.run(command, capture_output=True, text=True).stderr.strip()
    except OSError as error:
        return str(error)


def require_namespaces() -> None:
    """Raises Skipped where a process may not mount anything in a namespace of its own."""
    if _namespace_error():
        raise Skipped(f"no mount namespaces: {_namespace_error()}")


@contextmanager
def control_group(controller: str, settings: dict[str, str]) -> Generator[tuple[str, str]]:
    """A new control group, which is removed at the end; (its version, commands by which a shell joins it).

    Args:
        controller: of version 1, or `""` for version 2.
        settings: the content of its files, in the order of writing.

    Raises:
        Skipped: there is none that this process may make.
    """
    folder = Path("/sys/fs/cgroup", controller, f"nimblehlo-{os.getpid()}")
    try:
        folder.mkdir()
    except OSError as error:
        raise Skipped(f"no control group can be made: {error}") from None
    try:
        for name, value in settings.items():
            try:
                (folder / name).write_text(value)
            except OSError as error:
                raise Skipped(f"the control group has no {name}: {error}") from None
        yield "1" if controller else "2", f"echo $$ > {folder}/cgroup.procs"
    finally:
        folder.rmdir()
