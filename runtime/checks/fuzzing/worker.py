"""A process that runs random programs: ``python -m nimblehlo.checks.fuzzing.worker BACKEND MINIMIZES``."""

from __future__ import annotations

import os
import sys

from ..backends.isolation import receive, send
from .campaign import Fuzzer


def main(against: str, minimizes: bool) -> None:
    """Answer seeds, and titles of findings that are reported already, on the standard input with outcomes.

    Args:
        against: the name of a backend.
        minimizes: whether programs of findings are made smaller.
    """
    # Printed output must not be mixed with the messages.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    fuzzer = Fuzzer(against, minimizes)
    while (request := receive(sys.stdin.buffer)) is not None:
        seeds, titles = request
        fuzzer.reported_titles.update(titles)
        send(answers, [fuzzer.outcome(seed) for seed in seeds])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "1")
