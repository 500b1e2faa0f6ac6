"""asv suites: warm calls, first results and memory of every program at every size."""

import nimblehlo

from .measuring import fresh_process, side_by_side, warm_up
from .peers import our_call
from .programs import PROGRAMS, SIZES


class WarmCalls:
    """Calls of an executable that has run before."""

    params = (list(PROGRAMS), list(SIZES))
    param_names = ("program", "size")
    timeout = 120
    warmup_time = 0
    # At least 10 and at most 200 calls, for half a second, in each of asv's two processes.
    repeat = (10, 200, 0.5)

    def setup(self, name: str, size: str) -> None:
        """Compile the program, and call it until its code is compiled.

        asv calls this before each timed call, in a process that measures one program: a second of warm-up
        before each would take hours.
        """
        if not hasattr(self, "call"):
            program = PROGRAMS[name]
            self.call = our_call(program, program.inputs(size))

    def time_call(self, name: str, size: str) -> None:
        """One call."""
        self.call()


class FirstResults:
    """A new process with an empty folder of compiled code."""

    params = (list(PROGRAMS), list(SIZES))
    param_names = ("program", "size")
    timeout = 120

    def setup(self, name: str, size: str) -> None:
        """Lower the program: the new process loads no JAX."""
        program = PROGRAMS[name]
        self.inputs = program.inputs(size)
        self.text = program.lowered(self.inputs).as_text()

    def track_first_result(self, name: str, size: str) -> float:
        """From importing nimblehlo to the results of the first call."""
        return fresh_process(self.text, self.inputs, calls=1).first_result

    def track_peak_memory(self, name: str, size: str) -> float | None:
        """Peak memory of three calls, without that of Python, NumPy and the inputs."""
        return fresh_process(self.text, self.inputs, calls=3).peak_megabytes

    track_first_result.unit = "seconds"
    track_peak_memory.unit = "MB"


class ParallelCalls:
    """The speed-up of all threads over one thread, at the largest size."""

    params = (list(PROGRAMS),)
    param_names = ("program",)
    timeout = 120
    unit = "times as fast"

    def track_threads(self, name: str) -> float:
        """The time with one thread divided by the time with all."""
        program = PROGRAMS[name]
        inputs = program.inputs(SIZES[-1])
        text = program.lowered(inputs).as_text()
        executables = [nimblehlo.compile(text, options=nimblehlo.Options(threads=n)) for n in (None, 1)]
        for executable in executables:
            warm_up(lambda executable=executable: executable(*inputs))
        every, one = executables
        return side_by_side(lambda: every(*inputs), lambda: one(*inputs)).ratio
