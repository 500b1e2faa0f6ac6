"""How far programs with faults are reduced: ``python -m tests.checks.minimizer``."""

from __future__ import annotations

import argparse
import random

from nimblehlo.checks.minimizer import minimize

from .faults import FAULTS, program, shown_by

LENGTHS = (200, 400, 800, 1500, 2400)


def main() -> None:
    """Reduce programs, and print what is left of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.checks.minimizer", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="programs (default: 20)")
    parser.add_argument("--seed", type=int, default=1, help="of the first program (default: 1)")
    parser.add_argument("--longest", type=int, default=3000, help="operations that are not exceeded")
    options = parser.parse_args()
    numbers = random.Random(options.seed)
    seed, small = options.seed, 0
    for number in range(options.count):
        while True:
            fault, length = FAULTS[number % len(FAULTS)], numbers.choice(LENGTHS)
            module, fails = program(seed, length), shown_by(fault.change)
            seed += 1
            size = sum(not one.name.endswith(("constant", "return")) for one in module.walk())
            if 200 <= size <= options.longest and fails(module):
                break
        reduced = minimize(module, fails)
        small += reduced.operations <= 3
        print(
            f"seed {seed - 1}: {fault.name}: {reduced.operations_before} operations before, "
            f"{reduced.operations} after, {reduced.trials} trials, {reduced.seconds:.1f} s",
            flush=True,
        )
    print(f"{small} of {options.count} have at most 3 operations")


if __name__ == "__main__":
    main()
