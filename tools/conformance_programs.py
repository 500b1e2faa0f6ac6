"""Finds the programs of the conformance suite that break one constraint each, and stores them.

    python tools/conformance_programs.py [OPERATION ...]

It changes the templates of an operation until exactly one constraint is violated
(`nimblehlo.checks.conformance.broken`), which takes some minutes for all operations. A stored program stays
while it still breaks its constraint, so that the suite does not change without need.
"""

from __future__ import annotations

import argparse

from nimblehlo.checks.conformance import broken, illegal
from nimblehlo.checks.conformance.suite import operations
from nimblehlo.errors import VerifyError
from nimblehlo.program.loading import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", help="search again for these; default: what is missing")
    chosen = parser.parse_args().operations
    known = illegal.stored() if illegal.FILE.exists() else {}
    programs = dict(known)
    for declaration in operations():
        name = declaration.name
        labels = [one.label for one in declaration.declared_constraints]
        kept = {one.label: one for one in known.get(name, ()) if still_breaks(name, one)}
        if name in chosen or set(kept) != set(labels):
            for one in broken.broken_programs(name):
                if name in chosen or one.label not in kept:
                    kept[one.label] = one
            missing = [label for label in labels if label not in kept]
            print(f"{name}: {len(kept)} of {len(labels)}", *missing, flush=True)
        programs[name] = [kept[label] for label in labels if label in kept]
        illegal.FILE.write_text(illegal.text_of(programs), encoding="utf-8")


def still_breaks(operation: str, program: broken.Broken) -> bool:
    """Whether verification still refuses a stored program for its constraint."""
    try:
        load(program.text)
    except VerifyError as error:
        return (error.operation, error.label) == (operation, program.label)
    return False


if __name__ == "__main__":
    main()
