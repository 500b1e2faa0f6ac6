"""Command: run programs on hosts that lack something, and print what the user sees.

A line that this machine cannot make, as without the right to mount folders, is skipped with the reason.
After an error the other lines run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from . import caches, interpreters, limits, surroundings
from .host import LINES, Failed, Skipped

MODULES = (limits, surroundings, interpreters, caches)
"""The modules that declare lines."""


def run(name: str) -> str:
    """Run a line and print what it yields; returns `ok`, `FAILED` or `skipped`."""
    with tempfile.TemporaryDirectory(prefix="nimblehlo-hosts-") as folder:
        start = time.monotonic()
        result, reason = "ok", ""
        try:
            for text in LINES[name](Path(folder)):
                print(f"  {name}: {text}", flush=True)
        except Skipped as error:
            result, reason = "skipped", f": {error}"
        except Failed as error:
            result, reason = "FAILED", f": {error}"
        except Exception as error:
            traceback.print_exc()
            result, reason = "FAILED", f": {type(error).__name__}: {error}"
    print(f"{result} {name}, {time.monotonic() - start:.1f} s{reason}", flush=True)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where a line failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.hosts", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *LINES], metavar="NAME", help="lines (default: all)")
    parser.add_argument("--list", action="store_true", help="print the names of all lines, and end")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(LINES))
        return 0
    results = [run(name) for name in options.names or LINES]
    print(", ".join(f"{results.count(result)} {result}" for result in ("ok", "skipped", "FAILED")))
    return 1 if "FAILED" in results else 0


if __name__ == "__main__":
    sys.exit(main())
