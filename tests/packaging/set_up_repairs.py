"""Breaks the environment of a clone in every way that is known, and lets `make run` repair it.

    python -m tests.packaging.set_up_repairs [--folder FOLDER] [LINE ...]

A clone of the last commit is set up while `make` and all that it started are killed, or the set-up alone, at
each stage. Then, in turn: an extension is truncated; NumPy has another version; the C compiler is another
one; a build after a change of a source is killed. The next `make run` must say which work it does, do no
more than that, and end with the results of all examples; the one after it must do nothing.

It needs Linux, and takes minutes: the environment is made anew after most interruptions. CC="ccache gcc"
saves compile time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
TIMEOUT = 3600.0
"""Seconds until a stage of a set-up must have been reached, or a set-up have ended."""

EXTENSION = "runtime/execution/executor"
SOURCE = "runtime/execution/executor.pyx"
NEW, PROJECT, EXTENSIONS = "making the virtual", "installing the project", "building the extensions"
DONE, WAITING = "set-up done", "waiting for another process"
WORK = (NEW, PROJECT, EXTENSIONS)
"""What a set-up prints when it begins with a kind of work."""


class Stage(NamedTuple):
    """A stage of a set-up, which has begun once there is a file."""

    name: str
    pattern: str
    is_make_alone: bool = False
    """Whether only the process of set-up is killed: what it has started goes on."""


OBJECTS = "build/extensions/*/editable/temp/**/*.o"
STAGES = (
    Stage("the environment is made", ".venv/pyvenv.cfg"),
    Stage("pip installs", ".venv/lib/python*/site-packages/numpy"),
    Stage("Cython translates", "build/extensions/*/cython/**/*.c"),
    Stage("the compiler runs", OBJECTS),
    Stage("extensions are linked", "build/extensions/*/editable/lib/**/*.so"),
    Stage("extensions are copied", f"{EXTENSION}*.so"),
    Stage("the compiler runs, which goes on", OBJECTS, is_make_alone=True),
)


class Clone:
    """A clone of the last commit.

    Args:
        folder: where it lies; it must not exist.
        variables: of the environment, besides those of this process.
    """

    def __init__(self, folder: Path) -> None:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        self.folder = folder
        self.variables = dict(os.environ)

    def start(self, output: Path) -> subprocess.Popen[bytes]:
        """Start `make run` in a group of processes of its own; it prints to a file."""
        with output.open("wb") as file:
            return subprocess.Popen(
                ["make", "run"],
                cwd=self.folder,
                env=self.variables,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def run(self) -> str:
        """What `make run` prints, all of whose examples must agree."""
        output = self.folder.with_name("output")
        status = self.start(output).wait(TIMEOUT)
        text = output.read_text(errors="replace")
        if status or "FAILED" in text or "results agree" not in text:
            sys.exit(f"make run ended with status {status}:\n{text}")
        return text

    def python(self, *arguments: str) -> str:
        """What the environment's Python prints."""
        command = [str(self.folder / ".venv/bin/python"), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.folder).stdout

    def extension(self) -> Path:
        """The file of `EXTENSION`."""
        (path,) = self.folder.glob(f"{EXTENSION}.*.so")
        return path


def work_in(text: str) -> list[str]:
    """The kinds of work that a set-up did, by what it printed."""
    lines = text.splitlines()
    return [kind for kind in WORK if any(line.startswith(kind) for line in lines)]


def expect_work(clone: Clone, *kinds: str) -> str:
    """Run `make run`, which must do these kinds of work, and then once more, which must do none."""
    text = clone.run()
    if work_in(text) != list(kinds):
        sys.exit(f"set-up did {work_in(text)} instead of {kinds}:\n{text}")
    again = clone.run()
    if work_in(again) or DONE in again:
        sys.exit(f"a second set-up did some work:\n{again}")
    return "; ".join(line for line in text.splitlines() if line.startswith((WAITING, *WORK, DONE)))


def children(process: int) -> list[int]:
    """The processes that a process has started and that have not ended."""
    return [int(text) for text in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def kill_set_up(make: subprocess.Popen[bytes]) -> None:
    """Kill `make` and the process of tools/set_up.py, and leave what that has started alone."""
    descendants = [make.pid, *children(make.pid)]
    descendants += [child for process in descendants[1:] for child in children(process)]
    for process in descendants:
        if process == make.pid or b"tools/set_up.py" in Path(f"/proc/{process}/cmdline").read_bytes():
            os.kill(process, signal.SIGKILL)
    make.wait()


def has_begun(folder: Path, stage: Stage, since: float) -> bool:
    """Whether a set-up that was started at a time has come to a stage; files may vanish meanwhile."""
    try:
        return any(path.stat().st_mtime >= since for path in folder.glob(stage.pattern))
    except OSError:
        return False


def interrupt(clone: Clone, stage: Stage) -> str:
    """Start `make run`, and kill it at a stage; what it had done."""
    started = time.time()
    output = clone.folder.with_name("output")
    make = clone.start(output)
    while not has_begun(clone.folder, stage, started):
        if make.poll() is not None or time.time() > started + TIMEOUT:
            text = output.read_text(errors="replace")
            sys.exit(f"not reached: {stage.name}, status {make.poll()}:\n{text}")
        time.sleep(0.05)
    if stage.is_make_alone:
        kill_set_up(make)
    else:
        os.killpg(make.pid, signal.SIGKILL)
        make.wait()
    did = ", ".join(work_in(output.read_text(errors="replace")))
    return f"killed while {stage.name}, after {time.time() - started:.0f} s: {did}"


def interruptions(clone: Clone) -> Iterator[str]:
    """Kill the first set-up at each stage; the compilers that outlive the last one make the next one wait."""
    for stage in STAGES:
        yield interrupt(clone, stage)
    text = expect_work(clone, NEW, PROJECT)
    if WAITING not in text:
        sys.exit(f"set-up did not wait for the compilers of the one before:\n{text}")
    yield text


def truncated_extension(clone: Clone) -> Iterator[str]:
    """Half of an extension is lost."""
    path = clone.extension()
    complete = path.read_bytes()
    path.write_bytes(complete[: len(complete) // 2])
    yield expect_work(clone, EXTENSIONS)
    if path.read_bytes() != complete:
        sys.exit(f"{path} is another one than before")


def other_numpy(clone: Clone) -> Iterator[str]:
    """The environment has the NumPy of the version before; then again the former one."""
    former = clone.python("-c", "import numpy; print(numpy.__version__)").strip()
    minor = former.rpartition(".")[0]
    for requirement in (f"numpy<{minor}", f"numpy=={former}"):
        clone.python("-m", "pip", "install", "-qq", requirement)
        yield f"{requirement}: {expect_work(clone, EXTENSIONS)}"


def other_compiler(clone: Clone) -> Iterator[str]:
    """CC names another command; then again the former one."""
    compiler = clone.folder.with_name("compiler")
    command = clone.variables.get("CC", "cc")
    compiler.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    compiler.chmod(0o755)
    former, clone.variables = clone.variables, {**clone.variables, "CC": str(compiler)}
    yield f"CC={compiler}: {expect_work(clone, EXTENSIONS)}"
    clone.variables = former
    yield f"CC={command}: {expect_work(clone, EXTENSIONS)}"


def interrupted_build(clone: Clone) -> Iterator[str]:
    """A source has changed, and the build is killed; then the source is the former one again."""
    source = clone.folder / SOURCE
    former = source.read_bytes()
    source.write_bytes(former + b"\ncdef int another_name\n")
    yield interrupt(clone, Stage("the compiler runs", "build/extensions/*/cython/**/executor.c"))
    source.write_bytes(former)
    yield expect_work(clone, EXTENSIONS)


LINES: dict[str, Callable[[Clone], Iterator[str]]] = {
    line.__name__: line
    for line in (interruptions, truncated_extension, other_numpy, other_compiler, interrupted_build)
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the lines that the command line names; a failure ends the program with what was printed."""
    parser = argparse.ArgumentParser(prog="python -m tests.packaging.set_up_repairs", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *LINES], metavar="LINE", help="(default: all)")
    parser.add_argument("--folder", type=Path, help="where the clone is made (default: a temporary folder)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nimblehlo-set-up-", dir=options.folder) as folder:
        clone = Clone(Path(folder) / "clone")
        names = options.names or list(LINES)
        if names[0] != interruptions.__name__:
            clone.run()
        for name in names:
            for text in LINES[name](clone):
                print(f"{name}: {text}", flush=True)
        shutil.rmtree(clone.folder)
    print("every set-up was repaired")


if __name__ == "__main__":
    main()
