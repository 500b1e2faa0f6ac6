"""How many times as fast as others a call is, and what share of memory's speed it reaches.

More is better here, unlike in the other suites: asv.conf.json takes these out of asv's search
for regressions.
"""

from .peers import first_result_ratio, ratio
from .programs import PROGRAMS, SIZES, representatives

TIMES = "times as fast"


class Xla:
    """XLA:CPU."""

    params = (list(PROGRAMS), list(SIZES))
    param_names = ("program", "size")
    timeout = 120
    unit = TIMES

    def track_ratio(self, name: str, size: str) -> float | None:
        """A warm call of each."""
        return ratio("xla", PROGRAMS[name], size)


class XlaFirst:
    """XLA:CPU in a new process, one program of each family."""

    params = (representatives(),)
    param_names = ("program",)
    timeout = 120
    unit = TIMES

    def track_ratio(self, name: str) -> float:
        """From the import to the first results, at the smallest size."""
        return first_result_ratio(PROGRAMS[name], SIZES[0])


class NumPy:
    """The same written with NumPy, where that is a line or two."""

    params = ([name for name, program in PROGRAMS.items() if program.numpy], list(SIZES))
    param_names = ("program", "size")
    timeout = 120
    unit = TIMES

    def track_ratio(self, name: str, size: str) -> float | None:
        """A warm call of each."""
        return ratio("numpy", PROGRAMS[name], size)


class Interpreter:
    """StableHLO's reference interpreter, on what it runs within seconds."""

    params = ([name for name, program in PROGRAMS.items() if program.interpreted],)
    param_names = ("program",)
    timeout = 120
    unit = TIMES

    def track_ratio(self, name: str) -> float | None:
        """A warm call of each, at the smallest size."""
        return ratio("interpreter", PROGRAMS[name], SIZES[0])


class Memory:
    """The speed at which the machine's processors copy memory."""

    params = ([name for name, program in PROGRAMS.items() if program.streams],)
    param_names = ("program",)
    timeout = 120
    unit = "of a copy's speed"

    def track_share(self, name: str) -> float | None:
        """Bytes that must be moved a second, over those that a copy moves, at the largest size."""
        return ratio("memory", PROGRAMS[name], SIZES[-1])
