"""How a scatter's time and memory grow with the number of its updates.

    python -m benchmarks.scatter_growth [--operand 1000000] [--most 30000000]

Random updates with duplicates, each number of them in a process of its own: the median of the later half of
its calls. A curve that stays flat is linear.
"""

import argparse

import numpy as np

from .measuring import fresh_process
from .programs import PROGRAMS, Draw

PROGRAM = "scatter_add_elements"


def main() -> None:
    """Print a line for each number of updates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--operand", type=int, default=1_000_000, help="elements of the operand")
    parser.add_argument("--most", type=int, default=30_000_000, help="the largest number of updates")
    program = PROGRAMS[PROGRAM]
    options = parser.parse_args()
    print(f"{program.name}, {options.operand:,} elements")
    print(
        f"{'updates':>12} {'ns an update':>14} {'first call, s':>14} {'peak MB':>9} {'bytes an update':>16}"
    )
    for updates in (10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7, 3 * 10**7):
        if updates > options.most:
            break
        draw = Draw()
        operand = draw.floats(options.operand)
        inputs = [operand, draw.integers(options.operand, updates), draw.floats(updates)]
        measured = fresh_process(program.lowered(inputs).as_text(), inputs, calls=9, for_seconds=4)
        settled = measured.later[len(measured.later) // 2 :]
        each = float(np.median(settled)) / updates * 1e9
        line = f"{updates:12,} {each:14.2f} {measured.first_result:14.2f}"
        if measured.peak_megabytes is not None:
            line += f" {measured.peak_megabytes:9.0f} {measured.peak_megabytes * 1e6 / updates:16.1f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
