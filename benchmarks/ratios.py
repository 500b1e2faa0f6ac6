"""asv suites: speed-ups of calls over other runtimes, shares of the bandwidth of memory copies, and of
bounds.

Higher is better, unlike in the other suites, so asv.conf.json excludes these from asv's search for
regressions.
"""

from .peers import bound_share, first_result_ratio, ratio
from .programs import PROGRAMS, SIZES, representatives

SPEED_UP_UNIT = "times as fast"


class Xla:
    """The speed-up over XLA:CPU."""

    params = (list(PROGRAMS), list(SIZES))
    param_names = ("program", "size")
    timeout = 120
    unit = SPEED_UP_UNIT

    def track_ratio(self, name: str, size: str) -> float | None:
        """A warm call of each."""
        return ratio("xla", PROGRAMS[name], size)


class XlaFirst:
    """The speed-up over XLA:CPU in a new process, for one program of each family."""

    params = (representatives(),)
    param_names = ("program",)
    timeout = 120
    unit = SPEED_UP_UNIT

    def track_ratio(self, name: str) -> float:
        """From the import to the first results, at the smallest size."""
        return first_result_ratio(PROGRAMS[name], SIZES[0])


class NumPy:
    """The speed-up over NumPy, for programs that are one or two lines of NumPy."""

    params = ([name for name, program in PROGRAMS.items() if program.numpy], list(SIZES))
    param_names = ("program", "size")
    timeout = 120
    unit = SPEED_UP_UNIT

    def track_ratio(self, name: str, size: str) -> float | None:
        """A warm call of each."""
        return ratio("numpy", PROGRAMS[name], size)


class Interpreter:
    """The speed-up over StableHLO's reference interpreter, for programs that it runs within seconds."""

    params = ([name for name, program in PROGRAMS.items() if program.interpreted],)
    param_names = ("program",)
    timeout = 120
    unit = SPEED_UP_UNIT

    def track_ratio(self, name: str) -> float | None:
        """A warm call of each, at the smallest size."""
        return ratio("interpreter", PROGRAMS[name], SIZES[0])


class Memory:
    """The share of the bandwidth at which all processors copy memory."""

    params = ([name for name, program in PROGRAMS.items() if program.streams],)
    param_names = ("program",)
    timeout = 120
    unit = "of a copy's speed"

    def track_share(self, name: str) -> float | None:
        """Bytes of arguments and results per second, relative to a copy, at the largest size."""
        return ratio("memory", PROGRAMS[name], SIZES[-1])


class Bound:
    """The share of the bound that a call reaches: 1 if nothing can be faster on this machine."""

    params = (list(PROGRAMS), list(SIZES))
    param_names = ("program", "size")
    timeout = 120
    unit = "of the bound"

    def track_share(self, name: str, size: str) -> float:
        """The fastest of some warm calls."""
        return bound_share(PROGRAMS[name], size)
