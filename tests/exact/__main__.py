"""Command: compare every conversion and every exact operation on all bit patterns; a line a difference."""

from __future__ import annotations

import argparse
import sys
import time

from .comparison import differences, every_comparison


def main() -> int:
    """Returns 1 if something differs."""
    argparse.ArgumentParser(prog="python -m tests.exact", description=__doc__).parse_args()
    start, count = time.time(), 0
    for operands, lines in every_comparison():
        for difference in differences(operands, lines):
            print(difference, flush=True)
            count += 1
    print(f"{count} differences, {time.time() - start:.0f} s")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
