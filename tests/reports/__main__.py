"""``python -m tests.reports [FOLDER]``: says whether each program of a folder is right, in every mode.

With ``--backend jax:nimblehlo`` (and JAX_PLATFORMS=nimblehlo,cpu) they run through the JAX platform. With
``--new FILE`` it writes a program to begin with. Exit status 0 only if all are right, 1 if one is wrong or
there is none, 2 if the first lines of one do not say what is right.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from nimblehlo.checks.backends.isolation import IsolatedBackend
from nimblehlo.errors import counted

from .report import PROGRAMS, TEMPLATE, MalformedReport, reports_in

TIMEOUT: Final = 60.0
"""Seconds that a backend may take for a program."""


def main() -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.reports", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=PROGRAMS, help="of .mlir files")
    parser.add_argument("--backend", help="run on this backend, such as jax:nimblehlo or jax:cpu")
    parser.add_argument("--new", type=Path, metavar="FILE", help="write a new program, or add it to the file")
    options = parser.parse_args()
    if options.new is not None:
        separator = "// -----\n" if options.new.exists() else ""
        with options.new.open("a", encoding="utf-8") as file:
            file.write(separator + TEMPLATE)
        return 0
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder")
    try:
        reports = reports_in(options.folder)
    except MalformedReport as error:
        parser.error(str(error))
    if options.backend:
        chosen = IsolatedBackend(options.backend, TIMEOUT)  # a program may end the process
        wrong = [verdict for report in reports if (verdict := report.verdict_of(chosen)) is not None]
    else:
        wrong = [verdict for report in reports for verdict in report.verdicts()]
    for verdict in wrong:
        print(f"WRONG {verdict.splitlines()[0]}")
    print(f"{counted(len(reports), 'program')}, {len({text.partition(': ')[0] for text in wrong})} wrong")
    return 1 if wrong or not reports else 0


if __name__ == "__main__":
    sys.exit(main())
