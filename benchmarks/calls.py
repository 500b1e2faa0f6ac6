"""Every program at every size: a call when warm, the first result, and memory."""

import nimblehlo

from .measuring import fresh_process, side_by_side, warm_up
from .peers import our_call
from .programs import PROGRAMS, SIZES


class Warm:
    """Calls of an executable that has run before."""

    params = (list(PROGRAMS), list(SIZES))
    param_names = ("program", "size")
    timeout = 120
    warmup_time = 0
    repeat = (3, 20, 0.5)

    def setup(self, name: str, size: str) -> None:
        """Make the executable and let it become as fast as it will."""
        program = PROGRAMS[name]
        self.call = our_call(program, program.inputs(size))

    def time_call(self, name: str, size: str) -> None:
        """One call."""
        self.call()


class Fresh:
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
        """Most memory beyond that of Python, NumPy and the inputs, in three calls."""
        return fresh_process(self.text, self.inputs, calls=3).peak_megabytes

    track_first_result.unit = "seconds"
    track_peak_memory.unit = "MB"


class Parallel:
    """What a second thread brings: programs at their largest size, with one thread and with all."""

    params = (list(PROGRAMS),)
    param_names = ("program",)
    timeout = 120
    unit = "times as fast"

    def track_threads(self, name: str) -> float:
        """How many times as fast as one thread all of them are."""
        program = PROGRAMS[name]
        inputs = program.inputs(SIZES[-1])
        text = program.lowered(inputs).as_text()
        executables = [nimblehlo.compile(text, options=nimblehlo.Options(threads=n)) for n in (None, 1)]
        for executable in executables:
            warm_up(lambda executable=executable: executable(*inputs))
        every, one = executables
        return side_by_side(lambda: every(*inputs), lambda: one(*inputs)).ratio
