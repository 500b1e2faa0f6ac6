"""``python -m tests.messages --count 30000``: lists the templates of provoked messages, and their faults.

Exit status 0 only if no message has a fault.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
from collections import Counter

from .provoked import of_mutants, of_texts, of_wrong_inputs, rejected_programs, template
from .wording import faults

MEMORY = 4 << 30
"""Bytes that the process may address."""


def main() -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.messages", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=30_000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which series of mutants")
    parser.add_argument("--own", action="store_true", help="without the conformance programs")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a mutant may ask for any size
    templates: Counter[str] = Counter()
    found: dict[str, str] = {}
    for message in itertools.chain(
        of_texts(rejected_programs()),
        of_wrong_inputs(),
        of_mutants(range(options.count), options.seed, not options.own),
    ):
        templates[template(message)] += 1
        for fault in faults(message):
            found.setdefault(fault, message)
    for text, number in sorted(templates.items()):
        print(f"{number:6} {text}")
    print(f"{sum(templates.values())} messages of {len(templates)} templates; {len(found)} faults")
    for fault, message in sorted(found.items()):
        print(f"FOUND {fault}\n    {message.splitlines()[0]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
