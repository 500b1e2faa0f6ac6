"""Command: compare what the frontend and jaxlib's parser accept, over the `.mlir` files of other projects.

Each file is split at ``// -----``. Both sides parse and verify each program. What only one side accepts is
printed with the reason from `tests.program.frontend.acceptance_reasons`, or as unexplained.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import nimblehlo
from nimblehlo.errors import NimbleError
from nimblehlo.program.frontend import split

from .acceptance_reasons import UNEXPLAINED, is_foreign, refused_here, refused_there

SECONDS_PER_PROGRAM: Final = 20
"""A program that either side reads for longer counts as one that ended the process."""
MAX_BYTES: Final = 2_000_000
"""Longer programs are left out: they hold constants, not forms."""
ENDED: Final = "the process ended"


@dataclass
class Verdict:
    """How one program fared.

    Attributes:
        file, line: where it begins.
        here: why the frontend refuses it; None if it accepts it.
        there: the same of jaxlib.
        foreign: whether it has operations of dialects that the runtime does not offer.
    """

    file: str
    line: int
    here: str | None
    there: str | None
    foreign: bool

    @property
    def outcome(self) -> str:
        """Who accepts it."""
        accepts = {(True, True): "both", (True, False): "only the frontend", (False, True): "only jaxlib"}
        return accepts.get((self.here is None, self.there is None), "neither")

    @property
    def reason(self) -> str:
        """Why only one side accepts it; empty if the sides agree."""
        if self.outcome == "only the frontend":
            return refused_there(self.there or "")
        if self.outcome == "only jaxlib":
            return refused_here(self.here or "", self.foreign)
        return ""


def jaxlib_context() -> Any:
    """A context of jaxlib with the dialects that the frontend reads and no others of StableHLO's programs."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, sdy, stablehlo

    context = ir.Context()
    context.enable_multithreading(False)
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in (chlo, sdy, stablehlo):
        dialect.register_dialect(context)
    context.load_all_available_dialects()
    return context


def refused_by_jaxlib(text: str, context: Any) -> str | None:
    """jaxlib's first error for a program; None if it accepts it."""
    from jaxlib.mlir import ir

    try:
        ir.Module.parse(text, context=context)
    except ir.MLIRError as error:
        return " ".join(str(error).split())
    except UnicodeError as error:
        return str(error)
    return None


def refused_by_frontend(text: str) -> str | None:
    """The frontend's error for a program; None if it accepts it."""
    try:
        nimblehlo.load(text + "\n")
    except NimbleError as error:
        return " ".join(str(error).split())
    except Exception as error:
        return f"internal error {type(error).__name__}: {error}"
    return None


def programs_of(files: Sequence[Path]) -> Iterator[tuple[Path, int, str]]:
    """(file, line, text) of each different program in `files` that has an operation."""
    seen: set[str] = set()
    for file in files:
        text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        for line, program in split(text):
            code = "\n".join(each for each in program.splitlines() if not each.lstrip().startswith("//"))
            if code.strip() and code not in seen and len(program) <= MAX_BYTES:
                seen.add(code)
                yield file, line + 1, program


def compare(programs: Sequence[tuple[Path, int, str]]) -> list[Verdict]:
    """Compare both sides on every program, in child processes: jaxlib may end the process."""
    verdicts: list[Verdict] = []
    while len(verdicts) < len(programs):
        verdicts += _run_child(programs[len(verdicts) :])
        if len(verdicts) < len(programs):
            file, line, text = programs[len(verdicts)]
            here = refused_by_frontend(text)
            verdicts.append(Verdict(str(file), line, here, ENDED, is_foreign(text)))
    return verdicts


def _run_child(programs: Sequence[tuple[Path, int, str]]) -> list[Verdict]:
    """The verdicts of a child process, up to the program that ends it."""
    verdicts: list[Verdict] = []
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_verdicts, args=(programs, sender))
    process.start()
    sender.close()
    try:
        while True:
            verdicts.append(receiver.recv())
    except EOFError:
        process.join()
    return verdicts


def _send_verdicts(programs: Sequence[tuple[Path, int, str]], sender: Connection) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    context = jaxlib_context()
    for file, line, text in programs:
        signal.alarm(SECONDS_PER_PROGRAM)
        there = refused_by_jaxlib(text, context)
        sender.send(Verdict(str(file), line, refused_by_frontend(text), there, is_foreign(text)))


def report(verdicts: Sequence[Verdict], examples: int) -> int:
    """Print the counts both ways and the reasons; the number of unexplained differences."""
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    print(f"{len(verdicts)} programs: " + ", ".join(f"{outcomes[key]} {key}" for key in sorted(outcomes)))
    for outcome in ("only the frontend", "only jaxlib"):
        differing = [verdict for verdict in verdicts if verdict.outcome == outcome]
        print(f"\naccepted by {outcome}: {len(differing)}")
        for reason, count in Counter(verdict.reason for verdict in differing).most_common():
            print(f"  {count:5} {reason}")
            shown = [verdict for verdict in differing if verdict.reason == reason]
            limit = len(shown) if reason == UNEXPLAINED else examples
            for verdict in shown[:limit]:
                print(f"        {verdict.file}:{verdict.line}: {(verdict.here or verdict.there or '')[:300]}")
    return sum(verdict.reason == UNEXPLAINED for verdict in verdicts)


def main() -> int:
    """Exit status 1 if a difference has no explanation."""
    parser = argparse.ArgumentParser(prog="python -m tests.program.frontend.acceptance", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="files, or folders with .mlir files")
    parser.add_argument("--examples", type=int, default=1, help="programs shown for each reason")
    parser.add_argument("--json", type=Path, help="write all verdicts to this file")
    options = parser.parse_args()
    files = [
        file
        for path in options.paths
        for file in ([path] if path.is_file() else sorted(path.rglob("*.mlir")))
    ]
    verdicts = compare(list(programs_of(files)))
    if options.json:
        options.json.write_text(json.dumps([asdict(verdict) for verdict in verdicts], indent=1))
    return 1 if report(verdicts, options.examples) else 0


if __name__ == "__main__":
    sys.exit(main())
