"""Command: stop every model after every pass that changes it; a line for each pass and each difference."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import nimblehlo
from tests.models import MODELS

from .programs import PROGRAMS
from .stops import NONE, OPTIONAL, differences


def main() -> int:
    """Returns 1 if results differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.passes", description=__doc__)
    parser.add_argument("models", nargs="*", help="models of tests/models or programs.py; all without any")
    parser.add_argument("--list", action="store_true", help="print the models that each pass changes")
    arguments = parser.parse_args()
    changed: dict[str, list[str]] = {name: [] for name in (NONE, *OPTIONAL)}
    start, found = time.time(), Counter[str]()
    models = {**MODELS, **PROGRAMS}
    for name in arguments.models or models:
        model = models[name]
        for stop, difference in differences(nimblehlo.load(model.lowered()), model.inputs()):
            changed[stop].append(name)
            if difference is not None:
                found[stop] += 1
                print(f"{name}: {difference}", flush=True)
    for stop, names in changed.items():
        label = "no optional pass" if stop == NONE else stop
        print(f"{label}: {len(names)} models, {found[stop]} differences")
        if arguments.list:
            print("  " + " ".join(names))
    runs = sum(map(len, changed.values()))
    print(f"{runs} runs, {found.total()} differences, {time.time() - start:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
