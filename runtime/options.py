"""The knobs of compilation and execution."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Options:
    """How a program is compiled and run. Of these, results depend on `seed` alone.

    Attributes:
        compile: ``"auto"``: a step is compiled once the time that it has cost exceeds what compiling
            it costs; ``"eager"``: at the first call; ``"never"``: reference steps only.
        threads: most threads that a kernel may use; None: all that the machine has.
        seed: of the numbers that ``stablehlo.rng`` draws, from 0 to 2^64 - 1. What a call draws is fixed by
            the seed and by how many draws there were before in the same call.
        probe_directory: the folder into which ``interpreter.probe`` writes; None: there is none, and a
            probe fails. Each call that probes writes a new index, so that calls must not overlap.
        max_steps: most steps that a call may take, those of regions and each iteration of a loop counted;
            None: any number.
        max_bytes: most bytes that the arrays which a call makes, temporaries and results, may hold at the same
            time; None: any number. Inputs and constants do not count.
        timeout: seconds after which a call is stopped, None: never. It is judged between steps, so that the
            step which is running ends first.
        donate: numbers of the inputs that a call may consume, or ``"all"``: it may overwrite them, and results
            may lie in their memory. What such an input holds afterwards is not known. Inputs that share their
            memory with another one, or are not C-contiguous and writeable, are left as they are.

    A call that exceeds a limit ends with an ExecutionError; the Executable can be called again.

    Raises:
        ValueError: for a value that is none of these.
    """

    compile: Literal["auto", "eager", "never"] = "auto"
    threads: int | None = None
    seed: int = 0
    probe_directory: str | os.PathLike[str] | None = None
    max_steps: int | None = None
    max_bytes: int | None = None
    timeout: float | None = None
    donate: tuple[int, ...] | Literal["all"] = ()

    def __post_init__(self) -> None:
        if self.compile not in ("auto", "eager", "never"):
            raise ValueError(f"compile is {self.compile!r}, but must be 'auto', 'eager' or 'never'")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise ValueError(f"threads is {self.threads!r}, but must be None or a positive integer")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**64:
            raise ValueError(f"seed is {self.seed!r}, but must be an integer from 0 to 2^64 - 1")
        if not isinstance(self.probe_directory, (str, os.PathLike, type(None))):
            raise ValueError(f"probe_directory is {self.probe_directory!r}, but must be None or a path")
        for name in ("max_steps", "max_bytes"):
            limit = getattr(self, name)
            if limit is not None and (not isinstance(limit, int) or limit < 0):
                raise ValueError(f"{name} is {limit!r}, but must be None or an integer that is not negative")
        if self.timeout is not None and not (isinstance(self.timeout, (int, float)) and self.timeout >= 0):
            raise ValueError(f"timeout is {self.timeout!r}, but must be None or seconds that are not negative")
        self._check_donate()

    def _check_donate(self) -> None:
        if self.donate == "all":
            return
        numbers = tuple(self.donate) if isinstance(self.donate, (tuple, list, set, range)) else None
        if numbers is None or not all(isinstance(number, int) and number >= 0 for number in numbers):
            raise ValueError(f"donate is {self.donate!r}, but must be 'all' or numbers of inputs")
        object.__setattr__(self, "donate", numbers)
