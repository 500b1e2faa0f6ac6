"""Command: give native code inputs that it may not bear, in a process under malloc's checks.

    python -m tests.native_inputs [--families lapack products] [--share 10] [--memory malloc|guard|inherited]

Prints what was found and the counts. `malloc` is glibc's own check (MALLOC_CHECK_, MALLOC_PERTURB_); `guard`
lets blocks end at inaccessible pages (tests/poisoned/allocator.c); `inherited` leaves the environment as it
is, for `python tools/address_sanitizer.py -m tests.native_inputs --memory inherited`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .campaign import MEMORY, ROOT, run
from .cases import FAMILIES


def main() -> int:
    """Exit status 1 where something was found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.native_inputs", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="which operations"
    )
    parser.add_argument("--share", type=int, default=1, help="run one case of so many")
    parser.add_argument("--memory", choices=MEMORY, default="malloc", help="what checks the memory")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "native_inputs", help="for compiled code"
    )
    options = parser.parse_args()
    started = time.monotonic()
    tally = run(options.families, options.share, options.memory, options.folder)
    for line in tally.findings:
        print(line)
    print(f"{tally}, {time.monotonic() - started:.0f} s")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
