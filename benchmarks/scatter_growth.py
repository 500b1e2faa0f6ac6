"""Measures the time and memory of a scatter by its number of updates.

    python -m benchmarks.scatter_growth [--operand 1000000] [--max-updates 30000000]

Random updates with duplicates, each number of them in a process of its own: the median of the later half of
its calls. Beside it stands what NumPy takes to read as many random elements of the operand, and their bytes:
a scatter whose time grows as that does pays for the caches alone. With `--operand 0` the operand grows with
the updates.
"""

import argparse
import time

import numpy as np

from .measuring import fresh_process
from .programs import PROGRAMS, RandomArrays

PROGRAM = "scatter_add_elements"
COUNTS = (10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7, 3 * 10**7)


def random_access(operand: np.ndarray, indices: np.ndarray) -> float:
    """Seconds that NumPy takes to read these elements, the minimum of some attempts."""
    rows, result = indices.astype(np.intp), np.empty(len(indices), operand.dtype)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        np.take(operand, rows, out=result, mode="clip")
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    """Print a line for each number of updates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--operand", type=int, default=1_000_000, help="its elements; 0: as many as updates")
    parser.add_argument("--max-updates", type=int, default=30_000_000, help="the largest number of updates")
    program = PROGRAMS[PROGRAM]
    options = parser.parse_args()
    print(f"{program.name}, {options.operand:,} elements" if options.operand else program.name)
    print(
        f"{'updates':>12} {'ns an update':>14} {'NumPy reads, ns':>16} {'first call, s':>14} {'peak MB':>9} "
        f"{'bytes an update':>16}"
    )
    for updates in COUNTS:
        if updates > options.max_updates:
            break
        draw, size = RandomArrays(), options.operand or updates
        operand = draw.floats(size)
        inputs = [operand, draw.integers(size, updates), draw.floats(updates)]
        measured = fresh_process(program.lowered(inputs).as_text(), inputs, calls=9, for_seconds=4)
        settled = measured.later[len(measured.later) // 2 :]
        each = float(np.median(settled)) / updates * 1e9
        read = random_access(operand, np.asarray(inputs[1])) / updates * 1e9
        line = f"{updates:12,} {each:14.2f} {read:16.2f} {measured.first_result:14.2f}"
        if measured.peak_megabytes is not None:
            line += f" {measured.peak_megabytes:9.0f} {measured.peak_megabytes * 1e6 / updates:16.1f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
